"""Putting memrepo into agent hosts: which files, which entries, and how they come out again.

`hosts` is the table of hosts; `plan` decides (bytes in, bytes out); `apply` reads and writes. A plan is a value that
is shown before anything is written.
"""
