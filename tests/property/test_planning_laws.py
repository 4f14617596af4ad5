"""Laws of planning: limits hold, other lines keep their bytes, refs point at their lines, undo takes back no more."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import assume, example, given
from hypothesis import strategies as st

from memrepo.errors import MergeConflict, TooLarge
from memrepo.files.atomic import digest_bytes
from memrepo.format.clean import clean_text, clean_value
from memrepo.format.document import Document, find_continuation, find_entry
from memrepo.format.entries import content_hash
from memrepo.model import (
    ME_FILE,
    MEMORY_FILE,
    WORKSPACE_INDEX_FILE,
    Actor,
    Fact,
    Reason,
    Ref,
    RepoPath,
    Taint,
    TaskContext,
    WriteAction,
    WriteResult,
    WriteStatus,
)
from memrepo.planning.curation import Move, plan_edit, plan_forget, plan_move
from memrepo.planning.draft import Draft
from memrepo.planning.file_draft import limit_of
from memrepo.planning.undo import undo_change

USER = TaskContext(actor=Actor.USER, taint=Taint.CLEAN)
NOTES = RepoPath("notes/plan.md")
PATHS = (MEMORY_FILE, ME_FILE, NOTES)

_LINES = st.sampled_from(
    [b"# Title", b"## Index", b"## Other", b"- [[me]]", b"- [[workspaces/a]]", b"- One", b"- Two [by: agent]",
     b"  - In", b"* Three [subject: home]", b"- Four [by: agent; subject: Home; x: y]", b"```", b"<!--", b"-->",
     b"---", b"", b"  ", b"A paragraph", b"    code", b"\xff\xfe", "- Grüße 日本".encode(), b"- " + b"x" * 480]
)  # fmt: skip
_ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])
_WHOLE_LINES = st.lists(st.tuples(_LINES, _ENDS).map(b"".join), max_size=14).map(b"".join)
DOCUMENTS = st.one_of(
    _WHOLE_LINES,
    st.builds(bytes.__add__, _WHOLE_LINES, _LINES),
    st.binary(max_size=80),
    # Near the limit of MEMORY.md.
    st.integers(3_900, 4_200).map(lambda size: (b"# Memory\n" + b"- " + b"y" * 97 + b"\n") * 40 + b"z" * (size % 100)),
)
FILES = st.dictionaries(st.sampled_from([*PATHS, WORKSPACE_INDEX_FILE]), DOCUMENTS)
_SUBJECTS = st.sampled_from(["home", "Home ", "editor", None])
_TEXTS = st.one_of(
    st.sampled_from(["One", "two.", "A fact", "Another fact", "x" * 500, "- bullet [by: user]", "Grüße [[me]]"]),
    st.text(max_size=30),
)


def make_fact(text: str, by: str, subject: str | None) -> Fact:
    pairs = (("by", by), ("subject", subject and clean_value(subject)))
    return Fact(text, tuple((key, value) for key, value in pairs if value))


FACTS = st.builds(make_fact, _TEXTS.map(clean_text).filter(bool), st.sampled_from(["user", "agent"]), _SUBJECTS)


@dataclass(frozen=True)
class Read:
    data: bytes | None
    digest: str | None


def make_draft(files: dict[RepoPath, bytes]) -> Draft:
    def read(path: RepoPath) -> Read:
        data = files.get(path)
        return Read(data, None if data is None else digest_bytes(data))

    return Draft(read)


def apply(files: dict[RepoPath, bytes], draft: Draft) -> dict[RepoPath, bytes]:
    """The files after the plan; its digests must be those of what it read."""
    after = dict(files)
    for change in draft.changes():
        old = files.get(change.path)
        assert change.before == (None if old is None else digest_bytes(old))
        if change.data is None:
            del after[change.path]
        else:
            after[change.path] = change.data
    return after


def lines_of(data: bytes) -> list[bytes]:
    return re.split(rb"\r\n|\r|\n", data)


def is_subsequence(short: list[bytes], long: list[bytes]) -> bool:
    rest = iter(long)
    return all(line in rest for line in short)


def assert_limits(before: dict[RepoPath, bytes], after: dict[RepoPath, bytes]) -> None:
    for path, data in after.items():
        assert len(data) <= max(limit_of(path), len(before.get(path, b""))), (path, len(data))


def assert_points_at(result: WriteResult, fact: Fact, files: dict[RepoPath, bytes]) -> None:
    assert result.ref is not None
    entry = find_entry(Document.parse(files[result.ref.path]), result.ref.line)
    assert entry is not None, result
    assert content_hash(entry.text) == content_hash(fact.text) == result.hash


@given(files=FILES, facts=st.lists(st.tuples(FACTS, st.sampled_from(PATHS)), min_size=1, max_size=5))
@example(
    files={ME_FILE: b"## Index\n- Two [by: agent]\n"},
    facts=[(make_fact("One", "user", None), ME_FILE), (make_fact("two.", "user", None), ME_FILE)],
)
def test_remembering_keeps_the_limits_points_at_its_lines_and_is_reinforced_the_second_time(
    files: dict[RepoPath, bytes], facts: list[tuple[Fact, RepoPath]]
) -> None:
    draft = make_draft(files)
    planned = [draft.remember(fact, path) for fact, path in facts]
    after = apply(files, draft)
    assert_limits(files, after)
    results = [plan.result() for plan in planned]
    again = make_draft(after)
    for (fact, path), result in zip(facts, results, strict=True):
        if result.status is WriteStatus.WRITTEN and not _was_replaced_later(fact, path, facts):
            assert_points_at(result, fact, after)
            assert again.remember(fact, path).action is WriteAction.REINFORCED
        else:
            assert result.reason in {None, Reason.TOO_LARGE, Reason.OUTRANKED}
    assert again.changes() == ()


def _was_replaced_later(fact: Fact, path: RepoPath, facts: list[tuple[Fact, RepoPath]]) -> bool:
    """A later fact of the call with the subject of its line may have taken the line."""
    later = facts[facts.index((fact, path)) + 1 :]
    return any(other.subject and target == path for other, target in later)


@given(files=FILES, fact=FACTS, path=st.sampled_from(PATHS))
def test_remembering_leaves_every_other_line_as_it_is(files: dict[RepoPath, bytes], fact: Fact, path: RepoPath) -> None:
    draft = make_draft(files)
    result = draft.remember(fact, path)
    after = apply(files, draft)
    for name, data in files.items():
        kept = lines_of(data)
        if kept[-1] == b"":
            kept.pop()
        if name == path and result.action is WriteAction.REPLACED:
            assert len(lines_of(after[name])) <= len(lines_of(data))
            assert sum((Counter(kept) - Counter(lines_of(after[name]))).values()) >= 1
        elif name in {MEMORY_FILE, WORKSPACE_INDEX_FILE}:  # links may move from the one to the other
            kept = [line for line in kept if b"[[workspaces/" not in line]
            assert is_subsequence(kept, lines_of(after[name]))
        else:
            assert is_subsequence(kept, lines_of(after[name]))


@given(files=FILES, fact=FACTS, name=st.sampled_from(["a", "b", "größe", "x]y", "index-workspace"]))
def test_an_index_link_never_makes_a_write_fail(files: dict[RepoPath, bytes], fact: Fact, name: str) -> None:
    path = RepoPath(f"workspaces/{name}.md")
    draft = make_draft(files)
    planned = draft.remember(fact, path)
    after = apply(files, draft)
    assert planned.result().action is WriteAction.INSERTED
    assert_points_at(planned.result(), fact, after)
    assert_limits(files, after)


@given(files=FILES, path=st.sampled_from(PATHS), number=st.integers(0, 20), data=st.data())
def test_forgetting_editing_and_moving_touch_their_own_line_alone(
    files: dict[RepoPath, bytes], path: RepoPath, number: int, data: st.DataObject
) -> None:
    files = {**files, path: b"- First of all\n" + files.get(path, b"")}  # so that there always is an entry
    entries = Document.parse(files[path]).entries
    entry = entries[number % len(entries)]
    ref, wanted = Ref(path, entry.line), content_hash(entry.text)
    act = data.draw(st.sampled_from(["forget", "edit", "move"]))
    draft = make_draft(files)
    target = ME_FILE if path != ME_FILE else NOTES
    if act == "forget":
        plan_forget(draft, ref, USER, expect_hash=wanted, is_approved=False)
    elif act == "edit":
        text = "A new text that stands nowhere"
        try:
            planned = plan_edit(draft, ref, text, USER, expect_hash=wanted, redactions=())
        except TooLarge:
            return
    else:
        assume(len(entry.text) <= 500)
        planned = plan_move(draft, Move(ref, target, expect_hash=wanted), USER)
    after = apply(files, draft)
    assert_limits(files, after)
    document = Document.parse(files[path])
    # What a hand wrote under an entry, indented, belongs to it.
    own = {document.lines[line - 1] for line in (entry.line, *find_continuation(document, entry.line))}
    lost = Counter(document.lines) - Counter(Document.parse(after[path]).lines)
    if act == "move" and not planned.is_placed:
        assert after.get(path) == files[path]
    assert [line for line in lost if line.strip() and line not in own and "[[workspaces/" not in line] == []
    if act == "edit":
        assert_points_at(planned.result(), Fact("A new text that stands nowhere", ()), after)
    if act == "move" and planned.is_placed and planned.result().status is WriteStatus.WRITTEN:
        assert_points_at(planned.result(), Fact(entry.text, ()), after)


# Undo

_UNDO_LINES = st.sampled_from([b"a", b"b", b"c", b"- d", b"- e [by: user]", b"# f", b"", b"g", b"h", b"i", b"j"])
_TEXT = st.lists(st.tuples(_UNDO_LINES, st.sampled_from([b"\n", b"\n", b"\r\n"])).map(b"".join), max_size=9)
FILE_BYTES = st.one_of(st.none(), st.builds(bytes.__add__, _TEXT.map(b"".join), st.sampled_from([b"", b"end"])))


@given(before=FILE_BYTES, after=FILE_BYTES)
def test_undoing_the_last_change_gives_the_bytes_before_it(before: bytes | None, after: bytes | None) -> None:
    assert undo_change("me.md", before=before, after=after, current=after) == before


@given(before=FILE_BYTES, after=FILE_BYTES, current=FILE_BYTES)
@example(before=b"a\n", after=b"a\na\n", current=b"a\nb\n")
@example(before=b"- d\nend", after=b"end", current=b"a\nend")
def test_undo_loses_no_line_that_the_undone_change_did_not_write(
    before: bytes | None, after: bytes | None, current: bytes | None
) -> None:
    try:
        result = undo_change("me.md", before=before, after=after, current=current)
    except MergeConflict:
        return
    written = Counter(filled(after)) - Counter(filled(before))
    lost = Counter(filled(current)) - Counter(filled(result))
    assert not lost - written, (lost, written)


@given(before=FILE_BYTES, after=FILE_BYTES, current=FILE_BYTES)
def test_undo_adds_no_line_but_those_that_the_undone_change_took_out(
    before: bytes | None, after: bytes | None, current: bytes | None
) -> None:
    try:
        result = undo_change("me.md", before=before, after=after, current=current)
    except MergeConflict:
        return
    taken = Counter(filled(before)) - Counter(filled(after))
    added = Counter(filled(result)) - Counter(filled(current))
    assert not added - taken, (added, taken)


@given(
    facts=st.lists(st.integers(0, 9), min_size=1, max_size=8, unique=True),
    undone=st.integers(0, 7),
    later=st.lists(st.integers(10, 19), max_size=4, unique=True),
    forgotten=st.sets(st.integers(0, 19)),
)
def test_undo_of_one_remembered_line_takes_out_that_line_and_no_other(
    facts: list[int], undone: int, later: list[int], forgotten: set[int]
) -> None:
    def render(numbers: list[int]) -> bytes:
        return b"# About me\n\n" + b"".join(b"- Fact %d [by: user]\n" % number for number in numbers)

    states = [render(facts[:count]) for count in range(len(facts) + 1)]
    before, after = list(pairwise(states))[undone % len(facts)]
    fact = facts[undone % len(facts)]
    current = [number for number in [*facts, *later] if number not in forgotten]
    result = undo_change("me.md", before=before, after=after, current=render(current))
    assert result == render([number for number in current if number != fact])


def filled(data: bytes | None) -> list[bytes]:
    """The lines that say something; blank ones are nobody's."""
    return [line for line in lines_of(data or b"") if line.strip()]
