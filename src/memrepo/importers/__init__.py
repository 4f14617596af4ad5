"""Memory that other programs wrote, brought to the inbox.

A source is read within stated bounds (`reading`), its format is found out (`formats`), a pure parser per format makes
candidate facts of its texts, and `plan` decides what of them the inbox gets. Nothing of a source is changed, and
nothing of it counts as the user's word until they keep it.
"""
