"""Files of the memory root: which paths may be used, and the only way in which their bytes change.

`paths` decides about names, `roots` about the folder itself, `folder` owns one open directory and makes every call that
changes it, `atomic` reads and replaces whole files on top. Knows nothing of Markdown, git or settings.
"""
