"""Text and values: what a memory file means and how it is changed, line by line. Pure; bytes in, bytes out.

The contract on disk is `docs/format.md`. Nothing here knows a file, a clock, randomness, the environment or git.
"""
