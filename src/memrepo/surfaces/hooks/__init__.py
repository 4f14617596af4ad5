"""What agent hosts tell memrepo while an agent works, and what it answers: `memrepo hook HOST EVENT`.

`entry` runs one event, `codecs/` translate between a host's JSON and our values, `decide` holds the rules, `act` does
what they say. Nothing here may break an agent: a failure of ours is an empty answer and a line in a log.
Contract and limits: docs/hooks.md.
"""
