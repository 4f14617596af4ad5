"""Everything that the user owns as one export, and a memory made whole again from it.

`package` says what an export holds and what is refused in one (pure), `containers` are its three forms on disk,
`leaving` makes one, `returning` makes a memory from one. The form is specified in docs/leaving.md, so that it can be
read without memrepo.
"""
