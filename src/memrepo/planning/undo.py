"""Taking one commit back from a file that has changed since: line by line, never by position.

`git revert` merges by context, so that undoing one remembered line conflicts as soon as a neighbour was written after
it. Memory files are lists of independent lines: a line that the commit added is taken out wherever it stands now, a
line that it removed is put back beside its old neighbour, a line that it replaced is replaced back. Only a replaced
line that was changed again is a conflict. Pure.
"""

from __future__ import annotations

import difflib
import re

from memrepo.errors import MergeConflict
from memrepo.format.document import WORKSPACE_ENTRY, Document, remove_lines

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")


def undo_change(path: str, *, before: bytes | None, after: bytes | None, current: bytes | None) -> bytes | None:
    """Returns what `current` is without the change from `before` to `after`; None means that the file goes.

    Errors: MergeConflict when a line that the change replaced was changed again since, or its file was removed.
    """
    if current == after:
        return before
    if current is None:
        if before is None:
            return None
        raise _conflict(path, "the file was removed since")
    if before is None:  # the file has more by now: its frame (title, the entry that names its workspace) stays
        before = _without_facts(after or b"")
    lines = _split(current)
    old_lines, new_lines = _split(before or b""), _split(after or b"")
    matcher = difflib.SequenceMatcher(None, _keys(old_lines), _keys(new_lines), autojunk=False)
    # From the last to the first, so that what stands above keeps its place.
    for tag, i1, i2, j1, j2 in reversed(matcher.get_opcodes()):
        if tag == "equal":
            continue
        old, new = old_lines[i1:i2], new_lines[j1:j2]
        if not new:
            _put_back(lines, old, above=new_lines[:j1], below=new_lines[j1:], near=j1)
        elif not old:
            _take_out(lines, new, near=j1)
        else:
            place = _find_block(lines, new, near=j1)
            if place is None:
                raise _conflict(path, "a line that this change wrote was changed again")
            lines[place : place + len(new)] = _ended(old, like=lines)
    return b"".join(lines)


def _without_facts(data: bytes) -> bytes:
    document = Document.parse(data)
    facts = {entry.line for entry in document.entries if entry.text != WORKSPACE_ENTRY}
    return remove_lines(document, facts).to_bytes()


def _put_back(lines: list[bytes], old: list[bytes], *, above: list[bytes], below: list[bytes], near: int) -> None:
    held = set(_keys(lines))
    missing = [line for line in old if not line.strip() or line.rstrip(b"\r\n") not in held]
    if not any(line.strip() for line in missing):
        return
    anchor = _find_block(lines, above[-1:], near=near - 1) if above else None
    if anchor is not None:
        place = anchor + 1
    else:
        found = _find_block(lines, below[:1], near=near) if below else None
        place = len(lines) if found is None else found
    if place and not lines[place - 1].endswith((b"\n", b"\r")):
        lines[place - 1] += _newline(lines)
    lines[place:place] = _ended(missing, like=lines)


def _take_out(lines: list[bytes], new: list[bytes], *, near: int) -> None:
    place = _find_block(lines, new, near=near)
    if place is not None:
        del lines[place : place + len(new)]
        return
    for offset, line in reversed(list(enumerate(new))):
        if line.strip():  # a blank line alone is nobody's
            found = _find_block(lines, [line], near=near + offset)
            if found is not None:
                del lines[found]


def _find_block(lines: list[bytes], block: list[bytes], *, near: int) -> int | None:
    """Where the block stands, the place nearest to `near` when there are several."""
    keys, wanted = _keys(lines), _keys(block)
    places = [start for start in range(len(keys) - len(wanted) + 1) if keys[start : start + len(wanted)] == wanted]
    return min(places, key=lambda start: abs(start - near), default=None) if block else None


def _split(data: bytes) -> list[bytes]:
    return _LINE.findall(data)


def _keys(lines: list[bytes]) -> list[bytes]:
    return [line.rstrip(b"\r\n") for line in lines]


def _ended(block: list[bytes], *, like: list[bytes]) -> list[bytes]:
    newline = _newline(like)
    return [line if line.endswith((b"\n", b"\r")) else line + newline for line in block]


def _newline(lines: list[bytes]) -> bytes:
    first = next((line for line in lines if line.endswith((b"\n", b"\r"))), b"\n")
    return first[len(first.rstrip(b"\r\n")) :]


def _conflict(path: str, why: str) -> MergeConflict:
    return MergeConflict(
        f"{path}: {why}; nothing was written",
        hint=f"see what stands there with: memrepo show {path}",
        paths=(path,),
    )
