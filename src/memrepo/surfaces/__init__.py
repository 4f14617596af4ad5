"""The faces of memrepo: what a person, an agent host or a browser meets.

Only here is anything printed, and only here (and in `git/process`, which cleans it) is the environment read. A surface
turns what it was given into calls of `memrepo.app`, and what came back into words and numbers; it holds no rule about
memory. `present` is the one table from errors to exit statuses.
"""
