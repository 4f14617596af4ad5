"""The git door: the only folder that starts a process, and the only one that knows git's words.

`process` runs the program, `hardening` and `audit` are the rules as data, `gate` stands before every command, `status`
and `commits` turn output into frozen values, `client` has the typed verbs, `compaction` replaces history and searches
what is left. Nothing here decides what is remembered.
"""
