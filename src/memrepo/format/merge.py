"""Three-way merge of one memory file, by entry and not by position.

Two machines add, change and remove lines of the same list all the time; what stands next to what says nothing. So the
entries of the three versions are sets: what either side added stays, what either side removed and the other left as it
was goes, and so a forgotten line never comes back. Lines that are no entries are merged as text, and where both sides
changed them, both stay. Pure. Source: memory sync design (seed 2) §1, §5.

Laws (tests/property/test_merge_laws.py): no side's addition is lost; the sides may be swapped; merging a side in again
changes nothing; the result is read back with exactly the entries that were decided on.
"""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memrepo.errors import MergeConflict
from memrepo.format.document import Document, find_continuation, find_entry
from memrepo.format.entries import content_hash, subject_key
from memrepo.model import Author

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from memrepo.model import ContentHash, Entry


class Member(NamedTuple):
    """What belongs to a set, so that its place does not matter: an entry by its hash, a link of its own by its target.

    `number` tells a second one of the same name from the first.
    """

    kind: str
    name: str
    number: int


Key = Member | str
"""A member, or a line of text as it is."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What is merged as one: an entry with the lines that go on with it, a link of its own, or any other line.

    `lines` are pairs of a line's text and its end.
    """

    key: Key
    lines: tuple[tuple[str, str], ...]
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the file as pieces. `members`: those that belong to a set; `counts`: how often each name."""

    document: Document
    pieces: tuple[Piece, ...]
    keys: tuple[Key, ...]
    members: Mapping[Member, Piece]
    counts: Mapping[tuple[str, str], int]


def merge_files(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    *,
    path: str,
    banned: Collection[ContentHash] = frozenset(),
    read: Callable[[bytes], Version] | None = None,
) -> bytes:
    """Returns the merge of two versions of a file that both came from `base` (empty when there was none).

    The order of the two sides means nothing. Entries of a `banned` hash are left out, whatever the versions say.
    `read` is `read_version`, or a caller's own that remembers what it read.
    Errors: MergeConflict when the result would not be read back as what was decided, as when one side opened a code
    block around the lines of the other.
    """
    if not banned and (ours in (base, theirs) or theirs == base):
        return theirs if ours == base else ours
    first, second = sorted((ours, theirs))
    old, one, other = map(read or read_version, (base, first, second))
    kept = _without_rivals(_choose_members(old, one, other, banned), old, one, other)
    order = [piece for piece in _merge_order(old, one, other) if isinstance(piece.key, str) or piece.key in kept]
    order = _with_missing(_without_repeats(order), kept, (one, other, old))
    merged = _render([kept[piece.key] if isinstance(piece.key, Member) else piece for piece in order], old, one, other)
    _check(merged, kept, path)
    return merged


def read_version(data: bytes) -> Version:
    """Reads a file as `merge_files` compares it."""
    document = Document.parse(data)
    pieces = tuple(_split(document))
    members = {piece.key: piece for piece in pieces if isinstance(piece.key, Member)}
    counts = Counter((key.kind, key.name) for key in members)
    return Version(document, pieces, tuple(piece.key for piece in pieces), members, counts)


def _split(doc: Document) -> Iterator[Piece]:
    lines = list(zip(doc.lines, doc.ends, strict=True))
    links = {link.line: link.target for link in doc.links if link.alone}
    seen: Counter[tuple[str, str]] = Counter()
    at = 0
    while at < len(lines):
        entry = find_entry(doc, at + 1)
        if entry is None and at + 1 not in links:
            yield Piece(lines[at][0], (lines[at],))
            at += 1
            continue
        size = 1 if entry is None else 1 + len(find_continuation(doc, at + 1))
        name = ("link", links[at + 1]) if entry is None else ("entry", content_hash(entry.text))
        yield Piece(Member(*name, seen[name]), tuple(lines[at : at + size]), entry)
        seen[name] += 1
        at += size


def _choose_members(old: Version, one: Version, other: Version, banned: Collection[ContentHash]) -> dict[Member, Piece]:
    """The members that the merged file has, each as the version that counts has it.

    Whether one stays is asked of its name and not of each line that says it: what a side no longer says at all is
    forgotten, however often the other still says it.
    """
    kept: dict[Member, Piece] = {}
    for name in dict.fromkeys((key.kind, key.name) for version in (old, one, other) for key in version.members):
        before, here, there = (version.counts.get(name, 0) for version in (old, one, other))
        if name[1] in banned or (before and not (here and there)):
            continue
        count = min(max(1, here + there - before), max(here, there))
        for number in range(count):
            key = Member(*name, number)
            kept[key] = _choose(*(version.members.get(key) for version in (old, one, other)))
    return kept


def _choose(before: Piece | None, here: Piece | None, there: Piece | None) -> Piece:
    """The version of a piece that counts: the one that was changed; of two changes the user's, then the newer."""
    if here is None or there is None:
        found = here or there or before
        assert found is not None  # noqa: S101 - the key came from one of them
        return found
    if before is not None and here.lines == before.lines:
        return there
    if before is not None and there.lines == before.lines:
        return here
    return max(here, there, key=lambda piece: (_rank(piece.entry), piece.lines))


def _rank(entry: Entry | None) -> tuple[bool, str]:
    return (False, "") if entry is None else (entry.by is Author.USER, entry.value("added") or "")


def _without_rivals(kept: dict[Member, Piece], old: Version, one: Version, other: Version) -> dict[Member, Piece]:
    """Of two values that the sides gave one subject the user's stays, then the newer; of equals both."""
    new_values: dict[tuple[str, str], list[Member]] = {}
    for key, piece in kept.items():
        subject = piece.entry.value("subject") if piece.entry is not None else None
        if piece.entry is not None and subject and (key.kind, key.name) not in old.counts:
            named = (piece.entry.value("workspace") or "", subject_key(subject))
            new_values.setdefault(named, []).append(key)
    lost: set[Member] = set()
    for keys in new_values.values():
        is_contested = any(key not in other.members for key in keys) and any(key not in one.members for key in keys)
        best = max(_rank(kept[key].entry) for key in keys)
        lost |= {key for key in keys if is_contested and _rank(kept[key].entry) < best}
    return {key: piece for key, piece in kept.items() if key not in lost}


def _merge_order(old: Version, one: Version, other: Version) -> list[Piece]:
    """All pieces that a merge of text would leave, in its order. Members in it may be too many or too few."""
    in_one, in_other = _match(old.keys, one.keys), _match(old.keys, other.keys)
    shared = [at for at in range(len(old.keys)) if at in in_one and at in in_other]
    result: list[Piece] = []
    start = (0, 0, 0)
    for at in shared:
        stop = (at, in_one[at], in_other[at])
        result += _merge_chunk(*_cut(old, one, other, start, stop))
        result.append(_choose(old.pieces[at], one.pieces[in_one[at]], other.pieces[in_other[at]]))
        start = (stop[0] + 1, stop[1] + 1, stop[2] + 1)
    end = (len(old.keys), len(one.keys), len(other.keys))
    return result + _merge_chunk(*_cut(old, one, other, start, end))


def _cut(
    old: Version, one: Version, other: Version, start: tuple[int, int, int], stop: tuple[int, int, int]
) -> tuple[tuple[Piece, ...], tuple[Piece, ...], tuple[Piece, ...]]:
    return (
        old.pieces[start[0] : stop[0]],
        one.pieces[start[1] : stop[1]],
        other.pieces[start[2] : stop[2]],
    )


def _match(old: Sequence[Key], new: Sequence[Key]) -> dict[int, int]:
    """Which place of the old sequence became which place of the new one; places only grow."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    found = {at: at for at in range(head)}
    inner = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for block in inner.get_matching_blocks():
        found.update((head + block.a + step, head + block.b + step) for step in range(block.size))
    found.update((len(old) - back, len(new) - back) for back in range(tail, 0, -1))
    return found


def _merge_chunk(old: Sequence[Piece], one: Sequence[Piece], other: Sequence[Piece]) -> list[Piece]:
    """Merges what stands between two lines that all three share; where both sides changed it, both stay."""
    old_keys, one_keys, other_keys = ([piece.key for piece in pieces] for pieces in (old, one, other))
    if one_keys in (old_keys, other_keys):
        return list(other)
    if other_keys == old_keys:
        return list(one)
    before, here, there = Counter(old_keys), Counter(one_keys), Counter(other_keys)
    # What was there and one side took out goes, as often as that; what is new on one side stays.
    left = {key: min(max(0, here[key] + there[key] - before[key]), max(here[key], there[key])) for key in before}
    result = []
    for piece in _unite(one, other, one_keys, other_keys):
        if piece.key in left:
            if not left[piece.key]:
                continue
            left[piece.key] -= 1
        result.append(piece)
    return result


def _unite(
    one: Sequence[Piece], other: Sequence[Piece], one_keys: Sequence[Key], other_keys: Sequence[Key]
) -> Iterator[Piece]:
    """Both sequences, what they share once."""
    matcher = difflib.SequenceMatcher(None, one_keys, other_keys, autojunk=False)
    for tag, start, stop, other_start, other_stop in matcher.get_opcodes():
        yield from one[start:stop]
        if tag != "equal":
            yield from other[other_start:other_stop]


def _without_repeats(order: Sequence[Piece]) -> list[Piece]:
    """The same, each member once."""
    seen: set[Key] = set()
    result = []
    for piece in order:
        if isinstance(piece.key, str) or piece.key not in seen:
            result.append(piece)
        seen.add(piece.key)
    return result


def _with_missing(order: list[Piece], kept: Mapping[Member, Piece], versions: Sequence[Version]) -> list[Piece]:
    """Adds the members that the merge of text dropped, each below what stood above it."""
    placed = {piece.key for piece in order}
    for key, piece in kept.items():
        if key in placed:
            continue
        version = next(version for version in versions if key in version.members)
        above = set(version.keys[: version.keys.index(key)])
        place = next((at for at in range(len(order), 0, -1) if order[at - 1].key in above), 0)
        order.insert(place, piece)
    return order


def _render(order: Sequence[Piece], old: Version, one: Version, other: Version) -> bytes:
    lines = [line for piece in order for line in piece.lines]
    newline = next((version.document.newline for version in (old, one, other) if version.pieces), "\n")
    last = len(lines) - 1
    ends = tuple(end if end or at == last else newline for at, (_, end) in enumerate(lines))
    mark = one.document.mark if one.document.mark != old.document.mark else other.document.mark
    return Document(tuple(text for text, _ in lines), ends, mark).to_bytes()


def _check(merged: bytes, kept: Mapping[Member, Piece], path: str) -> None:
    found = Counter(content_hash(entry.text) for entry in Document.parse(merged).entries)
    wanted = Counter(key.name for key in kept if key.kind == "entry")
    if found != wanted:
        raise MergeConflict(
            f"{path}: the changes of both sides cannot be put together line by line",
            hint=f"open {path} and settle it by hand",
            paths=(path,),
        )
