"""The derived search index of one memory root: terms, ranking, freshness, and what is kept in the cache folder.

`tokens` says what a text is searched by, `ranking` which lines answer best, `freshness` what the files say now and
`changes` how that differs from the index; `engine` owns the index on disk, `vectors` the optional vectors; `repo_index`
joins them. Nothing here writes to the root.
"""
