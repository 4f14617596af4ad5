"""What a dream may propose, and how the text of a model becomes that. Pure.

An answer is `{"operations": [...]}` in JSON. It is taken whole or not at all: text that is no JSON, more than 40
operations, an operation of another form, a line that was not shown or is named twice, or a path that may not be used,
and nothing of it is applied. A single text that the screen turns away (a secret, too long) drops its operation alone.
Source: memory repo design (seed 1) §10.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from memrepo.errors import AnswerRefused, PathRefused
from memrepo.files.paths import check_repo_path
from memrepo.format.clean import clean_value
from memrepo.format.entries import content_hash
from memrepo.model import (
    ENTRY_LIMIT_CHARS,
    INBOX_FILE,
    LESSONS_FILE,
    ME_FILE,
    WORKSPACE_INDEX_FILE,
    Kind,
    RepoPath,
    WriteResult,
)
from memrepo.planning.intake import SUBJECT_LIMIT_CHARS, screen_text
from memrepo.policy.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memrepo.dream.catalogue import Catalogue

OPERATIONS_LIMIT = 40
ANSWER_LIMIT_CHARS = 200_000
_REASON_LIMIT_CHARS = 200
_FAULT_LIMIT_CHARS = 200
_FENCE = re.compile(r"\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
# Commitments stay out of the repo, outcomes go to the archive: a dream writes neither.
KINDS = (Kind.PREFERENCE, Kind.IDENTITY, Kind.RULE, Kind.PROJECT_FACT, Kind.DECISION, Kind.CORRECTION, Kind.INSIGHT)


class Op(StrEnum):
    """What is done with lines."""

    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"
    MERGE = "merge"
    MOVE = "move"
    PROMOTE = "promote"
    DISCARD = "discard"
    # Only the rules of `tidy` propose these: a link to a file in the index, and one less to a file that is gone.
    LINK = "link"
    UNLINK = "unlink"


class Operation(BaseModel):
    """One operation as a model says it; what it does not need is left out."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    op: Literal["add", "update", "remove", "merge", "move", "promote", "discard"]
    line: str = ""
    lines: list[str] = []
    text: str = ""
    file: str = ""
    kind: str = ""
    subject: str = ""
    evidence: str = ""
    reason: str = ""


class Answer(BaseModel):
    """The whole answer."""

    model_config = ConfigDict(strict=True, extra="ignore")

    operations: list[Operation]


class Line(BaseModel):
    """A line as the dream saw it: where it stood, and the hash by which it is found again."""

    model_config = ConfigDict(frozen=True)

    path: str
    line: int
    hash: str
    text: str
    by: str
    meta: str = ""


class Change(BaseModel):
    """An operation whose lines are known. `mode` is `auto` or `review`, and `why` says what decided that."""

    model_config = ConfigDict(frozen=True)

    number: int
    op: Op
    lines: tuple[Line, ...] = ()
    text: str = ""
    file: str = ""
    kind: str = ""
    subject: str = ""
    evidence: str = ""
    source: str = ""
    reason: str = ""
    mode: Literal["auto", "review"] = "review"
    why: str = ""
    state: Literal["open", "applied", "rejected", "stale", "dropped"] = "open"


class Resolved(BaseModel):
    """The changes of an answer, and what was dropped of it, each with the reason."""

    changes: tuple[Change, ...]
    dropped: tuple[str, ...] = ()


def parse_answer(text: str) -> tuple[Operation, ...]:
    """Reads a model's answer; a code fence around it does not count. Errors: AnswerRefused."""
    if len(text) > ANSWER_LIMIT_CHARS:
        raise _refused([f"it has {len(text):,} characters; at most {ANSWER_LIMIT_CHARS:,}"])
    fenced = _FENCE.fullmatch(text)
    try:
        raw = json.loads(fenced[1] if fenced else text)
        operations = Answer.model_validate(raw).operations
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise _refused([f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found]) from None
    except (ValueError, RecursionError):
        raise _refused(["it is not JSON"]) from None
    if len(operations) > OPERATIONS_LIMIT:
        raise _refused([f"it has {len(operations)} operations; at most {OPERATIONS_LIMIT}"])
    return tuple(operations)


def resolve(operations: Iterable[Operation], catalogue: Catalogue) -> Resolved:
    """Finds the lines of each operation and cleans its texts. Errors: AnswerRefused, with all faults."""
    faults: list[str] = []
    dropped: list[str] = []
    changes: list[Change] = []
    taken: set[str] = set()
    for number, operation in enumerate(operations, start=1):
        where = f"operation {number} ({operation.op})"
        aliases = [alias.strip() for alias in (operation.line, *operation.lines) if alias.strip()]
        aliases = list(dict.fromkeys(aliases))
        found = _find_faults(operation, aliases, catalogue, taken)
        taken.update(aliases)
        if found:
            faults += [f"{where}: {fault}" for fault in found]
            continue
        change = _make_change(number, operation, [catalogue.lines[alias] for alias in aliases])
        why = change if isinstance(change, str) else _find_idle(change, catalogue)
        if why:
            dropped.append(f"{where}: {why}")
        elif not isinstance(change, str):
            changes.append(change)
    if faults:
        raise _refused(faults)
    return Resolved(changes=tuple(changes), dropped=tuple(dropped))


def _find_faults(operation: Operation, aliases: list[str], catalogue: Catalogue, taken: set[str]) -> list[str]:
    op = Op(operation.op)
    faults = [f"{alias[:12]!r} is no line that was shown" for alias in aliases if alias not in catalogue.lines]
    faults += [f"line {alias} has an operation already" for alias in aliases if alias in taken]
    wanted = {Op.ADD: (0, 0), Op.MERGE: (2, OPERATIONS_LIMIT)}.get(op, (1, 1))
    if not wanted[0] <= len(aliases) <= wanted[1]:
        faults.append(f"it names {len(aliases)} lines")
    if op in {Op.ADD, Op.UPDATE, Op.MERGE} and not operation.text.strip():
        faults.append("it has no text")
    if operation.kind and operation.kind not in KINDS:
        faults.append(f"{operation.kind[:20]!r} is no kind that a dream writes")
    if op is Op.MOVE and not operation.file:
        faults.append("it names no file")
    if operation.file and (fault := _find_path_fault(operation.file)):
        faults.append(fault)
    return faults


def _find_path_fault(raw: str) -> str:
    try:
        path = check_repo_path(raw)
    except PathRefused as error:
        return f"the file may not be used ({error.facts.get('rule', 'path')})"
    folders = path.casefold().split("/")
    if not path.endswith(".md") or len(folders) > 2 or folders[0] == "swarms":
        return "the file is none that a dream may write"
    if path in {INBOX_FILE, WORKSPACE_INDEX_FILE}:
        return f"nothing is moved to {path}"
    return ""


def _make_change(number: int, operation: Operation, lines: list[Line]) -> Change | str:
    """The change, or why it is dropped."""
    op = Op(operation.op)
    text = ""
    if op in {Op.ADD, Op.UPDATE, Op.MERGE}:
        screened = screen_text(operation.text)
        if isinstance(screened, WriteResult):
            return screened.detail
        text, kinds = screened
        if kinds:
            return f"its text holds a secret ({', '.join(kinds)})"
        if len(text) > ENTRY_LIMIT_CHARS:
            return f"its text has {len(text)} characters; an entry holds at most {ENTRY_LIMIT_CHARS}"
    subject = clean_value(redact(operation.subject).text)
    return Change(
        number=number,
        op=op,
        lines=tuple(lines),
        text=text,
        file=_choose_file(op, operation),
        kind=operation.kind,
        subject=subject if len(subject) <= SUBJECT_LIMIT_CHARS else "",
        evidence=operation.evidence[: 2 * ENTRY_LIMIT_CHARS],
        reason=clean_value(redact(operation.reason).text)[:_REASON_LIMIT_CHARS],
    )


def _choose_file(op: Op, operation: Operation) -> str:
    """Where an added line goes when the model does not say: by its kind, as any write."""
    if op not in {Op.ADD, Op.MOVE, Op.PROMOTE}:
        return ""
    if operation.file or op is Op.PROMOTE:
        return operation.file
    return LESSONS_FILE if operation.kind in {Kind.INSIGHT, Kind.RULE} else ME_FILE


def _find_idle(change: Change, catalogue: Catalogue) -> str:
    """Why a change would do nothing that is wanted, or ""."""
    first = change.lines[0] if change.lines else None
    if change.op is Op.ADD and content_hash(change.text) in catalogue.hashes:
        return "memory says that already"
    if change.op is Op.UPDATE and first is not None and content_hash(change.text) == first.hash:
        return "it changes nothing"
    if first is not None and change.file and RepoPath(change.file) == first.path:
        return "the line is in that file already"
    return ""


def _refused(faults: list[str]) -> AnswerRefused:
    return AnswerRefused(
        "the model's answer cannot be used, and nothing was changed",
        hint="dream again, or choose another model: memrepo settings set dream_model MODEL",
        rule="dream-answer",
        action="dream",
        faults=tuple(fault[:_FAULT_LIMIT_CHARS] for fault in faults[:OPERATIONS_LIMIT]),
    )
