"""What stands in a word for what only the shell can know; private characters, which no command holds."""

from __future__ import annotations

STAR, ONE, ANYTHING, DEEP = "\ue000", "\ue001", "\ue002", "\ue007"
"""`*`; `?` or a class; what is not known at all; `**`. The last two also cross `/`."""

WILD = STAR + ONE + ANYTHING + DEEP
