"""Swarms: agents that work on one goal and leave notes for each other in `swarms/<slug>/` of the memory root.

The user starts and ends a swarm and names the task that is its root; its members are that task and every agent that
works for it. A member writes notes and is shown its own swarm, whatever it may see of personal memory; nobody else is.
Notes are written through the service, under its lock, screened like facts; unlike facts they are not kept when the repo
cannot take them. Source: DESIGN section 13.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput, MemrepoError, NotFound, Refused
from memrepo.files.atomic import read_file
from memrepo.files.paths import list_markdown
from memrepo.format.clean import clean_value
from memrepo.format.slug import choose_slug
from memrepo.model import (
    SWARMS_FOLDER,
    Actor,
    Author,
    ContextBlock,
    Fact,
    Message,
    Origin,
    Privacy,
    Reason,
    RepoPath,
    Role,
    Trailers,
    WriteResult,
    WriteStatus,
)
from memrepo.planning.curation import require_user
from memrepo.planning.intake import screen_text, task_source
from memrepo.planning.swarms import (
    NoteKind,
    Swarm,
    find_slugs,
    make_note_meta,
    plan_end,
    plan_note,
    plan_remove,
    plan_start,
    read_swarm,
)
from memrepo.policy.injection import decide_injection
from memrepo.policy.redaction import redact
from memrepo.policy.screen import has_no_memory
from memrepo.policy.swarm_block import ShownNote, render_swarm

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memrepo.model import TaskContext
    from memrepo.planning.draft import Draft, Planned
    from memrepo.planning.swarms import Note
    from memrepo.policy.injection import Decision
    from memrepo.service import MemoryRepoService

ROOT_NAME = "root"
USER_NAME = "user"
SOURCES_LIMIT = 5
_SOURCE_LIMIT_CHARS = 300
_SLUG_WORDS = 6


@dataclass(frozen=True, slots=True)
class Member:
    """An agent as a swarm knows it: its name, and the ids of its task and of those it works for, nearest first.

    `others` are the names of agents that are known to work for the same root.
    """

    name: str
    tasks: tuple[str, ...]
    others: tuple[str, ...] = ()


class Swarms:
    """The swarms of one memory root. Reading needs neither lock nor service."""

    def __init__(
        self,
        root: Path,
        *,
        service: Callable[[], MemoryRepoService],
        clock: Callable[[], dt.datetime],
        is_enabled: bool = True,
    ) -> None:
        self._root = root
        self._service = service
        self._clock = clock
        self._is_enabled = is_enabled

    # Reading

    def list(self) -> tuple[Swarm, ...]:
        """All swarms, by slug; a folder whose README names no goal, or cannot be read, is none. Changes: nothing."""
        if not os.path.lexists(self._root / SWARMS_FOLDER):
            return ()
        found = (self._find(slug) for slug in find_slugs(self._list_paths()))
        return tuple(swarm for swarm in found if swarm is not None)

    def get(self, slug: str) -> Swarm:
        """One swarm. Errors: NotFound. Changes: nothing."""
        swarm = next((one for one in self.list() if one.slug == slug), None)
        if swarm is None:
            raise NotFound(
                f"there is no swarm {slug!r}", hint="see the swarms: memrepo swarm list", what="swarm", name=slug
            )
        return swarm

    def list_of_task(self, task_id: str) -> tuple[Swarm, ...]:
        """The swarms whose root is a task, ended ones too. Changes: nothing."""
        return tuple(swarm for swarm in self.list() if swarm.root == task_source(task_id))

    def find(self, member: Member | None) -> Swarm | None:
        """The swarm of a member that goes on: the one whose root is nearest to it. Changes: nothing."""
        swarms = {swarm.root: swarm for swarm in self.list() if not swarm.ended} if member else {}
        tasks = member.tasks if member else ()
        return next((swarms[source] for one in tasks if (source := task_source(one)) in swarms), None)

    def block(self, member: Member | None, task: TaskContext) -> ContextBlock:
        """What a member's prompt holds of its swarm: empty without one, and where the session's memory is off.

        A sub-agent and a verifier are shown it, though they are shown nothing of personal memory. Changes: nothing.
        """
        decision = self._decide(task)
        if not decision.is_allowed:
            return ContextBlock(reason=decision.reason)
        swarm = self.find(member)
        return ContextBlock(text=render(swarm, member)) if swarm else ContextBlock()

    # Changing

    def start(self, goal: str, task: TaskContext, *, root_task: str) -> Swarm:
        """Makes the folder of a swarm for the agents of one task, in one commit.

        Errors: Refused for an agent; InvalidInput for a goal that cannot be one, and for a task that has a swarm that
        goes on; TooLarge; those of `Writer.hold`.
        """
        require_user(task, "start a swarm")
        screened = screen_text(goal)
        if isinstance(screened, WriteResult):
            raise InvalidInput(
                f"that is no goal: {screened.detail or screened.reason}", hint="say in one sentence what it is for"
            )
        if not root_task.strip():
            raise InvalidInput("a swarm needs the task of its root", hint="name it: --task ID", key="--task")
        text = screened[0]

        def plan(draft: Draft) -> str:
            standing = self.find(Member("", (root_task,)))
            if standing is not None:
                raise InvalidInput(
                    f"that task has a swarm already: {standing.slug}",
                    hint=f"end it first: memrepo swarm end {standing.slug}",
                    key="--task",
                )
            paths = self._list_paths()
            taken = {path.split("/")[1] for path in paths if path.startswith(f"{SWARMS_FOLDER}/")}
            slug = choose_slug(" ".join(text.split()[:_SLUG_WORDS]), taken)
            plan_start(draft, slug, text, root_task=root_task, today=self._clock().date())
            return slug

        slug = self._service().apply_plan(plan, lambda slug: _message(f"Start swarm {slug}", task))[0]
        return self.get(slug)

    def note(
        self,
        swarm: Swarm,
        text: str,
        task: TaskContext,
        *,
        kind: NoteKind = NoteKind.FINDING,
        member: str = USER_NAME,
        sources: Sequence[str] = (),
        question: str | None = None,
    ) -> WriteResult:
        """Writes one note, or says why not; whether the task is a member was asked before (`find`).

        Errors: InvalidInput, NotFound for a question that is not there, those of `Writer.hold`. Changes: one file.
        """
        refusal = self._find_refusal(text, task)
        if refusal is not None:
            return refusal
        screened = screen_text(text)
        if isinstance(screened, WriteResult):
            return screened
        by = Author.USER if task.actor is Actor.USER else Author.AGENT
        meta = make_note_meta(
            kind, task, by=by, member=clean_value(member), sources=_clean_sources(sources), today=self._clock().date()
        )
        fact = Fact(screened[0], meta, screened[1])

        def plan(draft: Draft) -> Planned:
            if (now := self._find(swarm.slug)) is None or now.ended:
                raise Refused(
                    f"swarm {swarm.slug} takes no more notes: it has ended",
                    hint="tell the user what you found",
                    rule="swarm-ended",
                    actor=str(task.actor),
                    action="note",
                    target=swarm.slug,
                )
            return plan_note(draft, swarm.slug, fact, kind, question=question)

        planned, applied = self._service().apply_plan(plan, lambda _: _message(f"Note {kind}: {swarm.slug}", task))
        result = planned.result()
        return replace(result, commit=applied.commit) if result.status is WriteStatus.WRITTEN else result

    def end(self, slug: str, task: TaskContext, *, removes: bool = False) -> Swarm:
        """Ends a swarm: it takes no more notes and is shown to nobody; `removes`: its files go too, in one commit.

        Errors: NotFound; Refused for an agent; those of `Writer.hold`.
        """
        require_user(task, "end a swarm")
        swarm = self.get(slug)

        def plan(draft: Draft) -> None:
            if removes:
                plan_remove(draft, slug, self._list_paths())
            else:
                plan_end(draft, slug, today=self._clock().date())

        word = "Remove" if removes else "End"
        self._service().apply_plan(plan, lambda _: _message(f"{word} swarm {slug}", task))
        return swarm if removes else self.get(slug)

    def _find_refusal(self, text: str, task: TaskContext) -> WriteResult | None:
        """Why this task writes no note, if it does not. What a strict workspace learns never goes to the repo."""
        if has_no_memory((text,)):
            return _skip(Reason.NO_MEMORY, "the <no-memory> marker is set")
        if task.actor is Actor.USER:
            return None
        decision = self._decide(task)
        if not decision.is_allowed:
            return _skip(Reason.MEMORY_DISABLED, decision.why)
        if task.workspace is not None and task.workspace.privacy is not Privacy.NORMAL:
            return _skip(Reason.PRIVATE, "what is learned in a strict workspace does not go to the memory folder")
        return None

    def _decide(self, task: TaskContext) -> Decision:
        return decide_injection(replace(task, role=Role.MAIN), is_enabled=self._is_enabled)

    def _find(self, slug: str) -> Swarm | None:
        try:
            return read_swarm(slug, lambda path: read_file(self._root, path).data)
        except MemrepoError:
            return None

    def _list_paths(self) -> tuple[RepoPath, ...]:
        return list_markdown(self._root)


def render(swarm: Swarm, member: Member | None = None) -> str:
    """The block of a swarm, as a member is shown it."""
    names = [ROOT_NAME, *((member.name, *member.others) if member else ()), *swarm.authors]
    members = tuple(dict.fromkeys(name for name in names if name and name != USER_NAME))
    findings = [_as_shown(note) for note in swarm.findings]
    answers = [_as_shown(replace(answer, text=f"{asked.text} {answer.text}")) for asked, answer in swarm.answers]
    return render_swarm(swarm.goal, members, findings, answers, [_as_shown(note) for note in swarm.open_questions])


def _as_shown(note: Note) -> ShownNote:
    label = "ruled out" if note.kind == NoteKind.RULED_OUT else note.question
    return ShownNote(label, note.text, note.member, note.sources, is_unverified=bool(note.taint))


def _clean_sources(sources: Sequence[str]) -> list[str]:
    if len(sources) > SOURCES_LIMIT:
        raise InvalidInput(f"a note names at most {SOURCES_LIMIT} sources", hint="name the main ones", key="sources")
    cleaned = [clean_value(redact(clean_value(source)).text) for source in sources]
    if any(len(source) > _SOURCE_LIMIT_CHARS for source in cleaned):
        raise InvalidInput(f"a source has at most {_SOURCE_LIMIT_CHARS} characters", key="sources")
    return [source for source in cleaned if source]


def _message(subject: str, task: TaskContext) -> Message:
    return Message(subject, Trailers(Origin.SWARM, task.task_id))


def _skip(reason: Reason, detail: str) -> WriteResult:
    return WriteResult(WriteStatus.SKIPPED, reason=reason, detail=detail)
