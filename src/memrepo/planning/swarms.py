"""A swarm in its folder: what its files say, and how a start, a note and an end change them. Pure.

`swarms/<slug>/README.md` names the goal and the task that is the swarm's root, `findings.md` holds findings and what
was ruled out, `questions.md` questions and answers; each note is one entry. Nothing links to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput, NotFound, TooLarge
from memrepo.format.document import Document
from memrepo.format.entries import content_hash
from memrepo.model import SWARMS_FOLDER, Author, Fact, Ref, RepoPath, Taint, WriteAction
from memrepo.planning.curation import require_user, with_value
from memrepo.planning.draft import Draft, Planned
from memrepo.planning.file_draft import too_long
from memrepo.planning.intake import task_source

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Sequence

    from memrepo.model import Entry, TaskContext

GOAL = "goal"
_README, _FINDINGS, _QUESTIONS = "README.md", "findings.md", "questions.md"
FILES = (_README, _FINDINGS, _QUESTIONS)


class NoteKind(StrEnum):
    """What a note is. An answer names the question that it answers."""

    FINDING = "finding"
    RULED_OUT = "ruled_out"
    QUESTION = "question"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Note:
    """One note. `kind` is as the file has it; `question` is the number (`q3`) of a question, or of the one answered.

    `taint` is "" when its author was known to have read nothing untrusted.
    """

    ref: Ref
    text: str
    kind: str
    by: Author
    member: str = ""
    taint: str = ""
    sources: str = ""
    question: str = ""
    added: str = ""


@dataclass(frozen=True, slots=True)
class Swarm:
    """A swarm as its files tell it. `root` is the source of its root task; `ended` its last day, "" before it."""

    slug: str
    goal: str
    root: str
    started: str = ""
    ended: str = ""
    findings: tuple[Note, ...] = ()
    questions: tuple[Note, ...] = ()

    @property
    def open_questions(self) -> tuple[Note, ...]:
        """The questions that no note answers, oldest first."""
        answered = {note.question for note in self.questions if note.kind == NoteKind.ANSWER}
        return tuple(
            note for note in self.questions if note.kind == NoteKind.QUESTION and note.question not in answered
        )

    @property
    def answers(self) -> tuple[tuple[Note, Note], ...]:
        """Questions with their answers, the oldest answer first."""
        asked = {note.question: note for note in self.questions if note.kind == NoteKind.QUESTION}
        answers = (note for note in self.questions if note.kind == NoteKind.ANSWER)
        return tuple((asked[note.question], note) for note in answers if note.question in asked)

    @property
    def authors(self) -> tuple[str, ...]:
        """Who wrote notes, each once."""
        return tuple(dict.fromkeys(note.member for note in (*self.findings, *self.questions) if note.member))


def make_path(slug: str, name: str) -> RepoPath:
    """The path of one of a swarm's files; the slug is one that was made or found."""
    return RepoPath(f"{SWARMS_FOLDER}/{slug}/{name}")


def find_slugs(paths: Iterable[RepoPath]) -> tuple[str, ...]:
    """The slugs of the swarms among the paths of a root, in order."""
    parts = (path.split("/") for path in paths)
    return tuple(one[1] for one in parts if len(one) == 3 and one[0] == SWARMS_FOLDER and one[2] == _README)


def read_swarm(slug: str, read: Callable[[RepoPath], bytes | None]) -> Swarm | None:
    """The swarm of a folder; None when its README names no goal. Errors: those of `read`."""
    goal = next((entry for entry in _entries(read(make_path(slug, _README))) if _is_goal(entry)), None)
    if goal is None:
        return None
    return Swarm(
        slug=slug,
        goal=goal.text,
        root=goal.value("source") or "",
        started=goal.value("added") or "",
        ended=goal.value("ended") or "",
        findings=_read_notes(make_path(slug, _FINDINGS), read, NoteKind.FINDING),
        questions=_read_notes(make_path(slug, _QUESTIONS), read, NoteKind.QUESTION),
    )


def plan_start(draft: Draft, slug: str, goal: str, *, root_task: str, today: dt.date) -> None:
    """Plans the files of a new swarm. Errors: TooLarge for a long goal."""
    if refusal := too_long(goal):
        raise refusal
    meta = (("by", "user"), ("kind", GOAL), ("source", task_source(root_task)), ("added", today.isoformat()))
    for name, title in zip(FILES, (slug, "Findings", "Questions"), strict=True):
        file = draft.file(make_path(slug, name), title=title)
        if name == _README:
            file.add(Fact(goal, meta))


def plan_note(draft: Draft, slug: str, fact: Fact, kind: NoteKind, *, question: str | None) -> Planned:
    """Plans one note: inserted, or reinforced when the file says it already; refused when there is no room.

    Errors: InvalidInput for a question that is missing or not asked for, NotFound for one that is not there.
    """
    if (question is None) == (kind is NoteKind.ANSWER):
        why = "an answer names its question" if question is None else "only an answer names a question"
        raise InvalidInput(why, hint="give the question's number, such as q1, with kind answer", key="question")
    if refusal := too_long(fact.text):
        return Planned.refused(fact, refusal)
    is_finding = kind in {NoteKind.FINDING, NoteKind.RULED_OUT}
    file = draft.file(make_path(slug, _FINDINGS if is_finding else _QUESTIONS))
    if not is_finding:
        asked = [entry.value("question") for entry in file.document.entries if entry.value("kind") == NoteKind.QUESTION]
        if question is not None and question not in asked:
            raise NotFound(
                "this swarm has no question of that number",
                hint="see its open questions: memrepo swarm show",
                what="question",
                name=question,
            )
        number = question or f"q{_find_last(asked) + 1}"
        fact = Fact(fact.text, with_value(fact.meta, "question", number), fact.redactions, fact.detail)
    slot = file.holds(content_hash(fact.text))
    if slot is not None:
        file.reinforced.add(slot)
        return Planned(fact, file, slot, WriteAction.REINFORCED)
    try:
        return Planned(fact, file, file.add(fact), WriteAction.INSERTED)
    except TooLarge as refusal:
        return Planned.refused(fact, refusal)


def make_note_meta(
    kind: NoteKind, task: TaskContext, *, by: Author, member: str, sources: Sequence[str], today: dt.date
) -> tuple[tuple[str, str], ...]:
    """The metadata of a note. What an agent writes that is not known to be clean carries its taint."""
    is_marked = by is Author.AGENT and task.taint is not Taint.CLEAN
    pairs = (
        ("by", str(by)),
        ("kind", str(kind)),
        ("source", task_source(task.task_id) if task.task_id else ""),
        ("added", today.isoformat()),
        ("member", member),
        ("sources", ", ".join(sources)),
        ("taint", str(task.taint) if is_marked else ""),
    )
    return tuple((key, value) for key, value in pairs if value)


def plan_end(draft: Draft, slug: str, *, today: dt.date) -> None:
    """Plans that a swarm takes no more notes; its files stay."""
    file = draft.file(make_path(slug, _README))
    for entry in file.document.entries:
        if _is_goal(entry):
            file.replace(entry.line, Fact(entry.text, with_value(entry.meta, "ended", today.isoformat())))
            return


def plan_remove(draft: Draft, slug: str, paths: Iterable[RepoPath]) -> tuple[Ref, ...]:
    """Plans the removal of every Markdown file in a swarm's folder; where its entries stood."""
    gone: list[Ref] = []
    for path in paths:
        if path.startswith(f"{SWARMS_FOLDER}/{slug}/"):
            file = draft.file(path)
            file.is_deleted = True
            gone += [Ref(path, entry.line) for entry in file.document.entries]
    return tuple(gone)


def plan_remove_of_task(draft: Draft, paths: Sequence[RepoPath], task_id: str, task: TaskContext) -> tuple[Ref, ...]:
    """Plans the removal of the swarms whose root is a task. Errors: Refused for an agent when there are any."""
    gone: list[Ref] = []
    for slug in find_slugs(paths):
        entries = draft.file(make_path(slug, _README)).document.entries
        if any(_is_goal(entry) and entry.value("source") == task_source(task_id) for entry in entries):
            require_user(task, "remove a swarm")
            gone += plan_remove(draft, slug, paths)
    return tuple(gone)


def _read_notes(path: RepoPath, read: Callable[[RepoPath], bytes | None], usual: NoteKind) -> tuple[Note, ...]:
    return tuple(
        Note(
            ref=Ref(path, entry.line),
            text=entry.text,
            kind=entry.value("kind") or usual,
            by=entry.by,
            member=entry.value("member") or "",
            taint=entry.value("taint") or "",
            sources=entry.value("sources") or "",
            question=entry.value("question") or "",
            added=entry.value("added") or "",
        )
        for entry in _entries(read(path))
    )


def _entries(data: bytes | None) -> tuple[Entry, ...]:
    return () if data is None else tuple(Document.parse(data).entries)


def _is_goal(entry: Entry) -> bool:
    return entry.value("kind") == GOAL


def _find_last(numbers: Iterable[str | None]) -> int:
    digits = [number[1:] for number in numbers if number and number.startswith("q") and len(number) < 9]
    return max((int(one) for one in digits if one.isascii() and one.isdigit()), default=0)
