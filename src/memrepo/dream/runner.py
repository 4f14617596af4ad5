"""One dream from beginning to end, and what may be asked about dreams: gate, sessions, files, model, changes, record.

Order: the dream lock, a look that the repo can be written at all, the gate, then the call, and only then the write
lock again for the moment of writing. What was read of the sessions is noted last, so a dream that failed reads the same
again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memrepo.dream.catalogue import build_catalogue, order_paths
from memrepo.dream.classify import classify
from memrepo.dream.gate import TOKENS_PER_DAY, Gate, check_budget, check_due, spent_tokens
from memrepo.dream.operations import Change, parse_answer, resolve
from memrepo.dream.prompt import build_prompt
from memrepo.dream.records import (
    Record,
    end_cut_off,
    find_record,
    hold_dream_lock,
    list_records,
    make_id,
    read_cursor,
    save_record,
    write_cursor,
)
from memrepo.dream.sources import Cursor, News, collect_news
from memrepo.dream.tidy import tidy
from memrepo.errors import MemrepoError, Refused
from memrepo.files.atomic import read_file
from memrepo.files.paths import list_markdown
from memrepo.format.document import Document, find_workspace_id
from memrepo.format.token_estimate import estimate_tokens
from memrepo.model import Privacy, RepoPath, Workspace

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from memrepo.dream.catalogue import Catalogue
    from memrepo.dream.models import Model
    from memrepo.dream.prompt import Prompt
    from memrepo.dream.review import Reviews
    from memrepo.sessions import SessionLedger
    from memrepo.writer import Writer

TIDY = "tidy"
_ANSWER_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did: the record of a dream, or the gate that kept it from running. `waiting` sessions still run."""

    record: Record | None = None
    gate: Gate = field(default_factory=Gate)
    waiting_sessions: int = 0


@dataclass(frozen=True, slots=True)
class DreamStatus:
    """Where dreaming stands. `waiting` counts changes that wait for the user."""

    is_on: bool
    last: Record | None
    waiting: int
    spent_tokens: int
    tokens_per_day: int
    gate: Gate


class Dreams:
    """The dreams of one memory root."""

    def __init__(
        self,
        writer: Writer,
        reviews: Reviews,
        *,
        clock: Callable[[], dt.datetime],
        home: Path,
        ledger: SessionLedger | None,
        find_workspace: Callable[[str], Workspace | None],
        workspaces: Sequence[Workspace] = (),
        is_on: bool = False,
        list_team_texts: Callable[[], Sequence[str]] = lambda: (),
        pull: Callable[[], object] = lambda: None,
    ) -> None:
        """`pull` takes in what other machines know, where it can: before a dream, and without pushing."""
        self._writer = writer
        self.reviews = reviews
        self._clock = clock
        self._home = home
        self._ledger = ledger
        self._find_workspace = find_workspace
        self._closed = {
            one.id for one in workspaces if not one.memory_enabled or one.privacy is not Privacy.NORMAL
        }  # fmt: skip
        self._is_on = is_on
        self._list_team_texts = list_team_texts
        self._pull = pull
        self._git_folder = writer.git_folder

    def run(self, model: Model | None, *, if_due: bool = False) -> Outcome:
        """Dreams once; without a model it tidies by rule. `if_due`: only when it is on, and time, and there is news.

        Errors: LockBusy while another process dreams; those of `Writer.hold` before anything is read or paid for;
        Refused when the day's budget does not hold it; ModelFailed, AnswerRefused, and then a record says so.
        Changes: see `Reviews.apply`; the record, and how far the sessions were read.
        """
        with hold_dream_lock(self._git_folder):
            if self._is_on or not if_due:
                self._pull()
            with self._writer.hold():
                pass  # a repo that cannot be written to now is told before a model is paid
            end_cut_off(self._git_folder)
            records, now = list_records(self._git_folder), self._clock()
            news = self._collect() if model is not None else News((), Cursor())
            if if_due:
                gate = self._check_due(records, now, has_news=bool(news.talks))
                if not gate.is_open:
                    return Outcome(gate=gate, waiting_sessions=news.waiting)
            record = Record(
                id=make_id(now, records), at=now, model=model.name if model else TIDY, sessions=len(news.talks)
            )
            team = self._list_team_texts() if model is not None else ()
            files = self._read_files(self._find_paths(news)) if model is not None else ()
            catalogue = build_catalogue(files, also_known=team)
            prompt = build_prompt(catalogue, news.talks, today=now.date().isoformat(), team=team)
            if model is not None and not (gate := self._check_budget(records, now, prompt)).is_open:
                return self._refuse(gate, if_due=if_due)
            try:
                if model is None:
                    record = self._decide(record, tidy(self._read_files((), is_whole=True)), news)
                else:
                    record = self._ask(model, record, prompt, catalogue, news)
                record = self.reviews.apply(record)
            except MemrepoError as error:
                kept = find_record(self._git_folder, record.id) or record
                save_record(self._git_folder, kept.fail(error.message))
                raise
            if model is not None:
                write_cursor(self._git_folder, news.cursor)
            return Outcome(record, waiting_sessions=news.waiting)

    def list_all(self) -> tuple[Record, ...]:
        """All dreams, the newest first. Changes: nothing."""
        return list_records(self._git_folder)

    def status(self) -> DreamStatus:
        """Where dreaming stands; whether there is news is not looked at. Changes: nothing."""
        records, now = list_records(self._git_folder), self._clock()
        return DreamStatus(
            is_on=self._is_on,
            last=records[0] if records else None,
            waiting=sum(len(record.waiting) for record in records),
            spent_tokens=spent_tokens(records, now),
            tokens_per_day=TOKENS_PER_DAY,
            gate=check_due(records, now, is_on=self._is_on, has_news=True, has_changed=True),
        )

    def describe_health(self) -> tuple[bool, str, str]:
        """Whether dreams are well, what is seen of them, and the next step when there is one. Changes: nothing."""
        records = list_records(self._git_folder)
        if not records:
            return True, "nothing was dreamt yet", ""
        branches = {name for name, _ in self._writer.git.branches()} if self._writer.git is not None else set()
        lost = next((one for one in records if one.waiting and one.branch not in branches), None)
        if lost is not None:
            return False, f"what waits of dream {lost.id} has lost its branch", f"memrepo dream reject {lost.id}"
        if records[0].status == "failed":
            return False, f"the last dream failed: {records[0].failure}", "memrepo dream now"
        waiting = sum(len(record.waiting) for record in records)
        detail = (
            f"{waiting} {'change waits' if waiting == 1 else 'changes wait'} for your review" if waiting else "settled"
        )
        return True, detail, "memrepo dream diff" if waiting else ""

    def _check_due(self, records: Sequence[Record], now: dt.datetime, *, has_news: bool) -> Gate:
        head = self._writer.git.head() if self._writer.git is not None else None
        last = next((one for one in records if one.head), None)
        has_changed = last is None or last.head != head
        return check_due(records, now, is_on=self._is_on, has_news=has_news, has_changed=has_changed)

    def _check_budget(self, records: Sequence[Record], now: dt.datetime, prompt: Prompt) -> Gate:
        needed = estimate_tokens(prompt.system) + estimate_tokens(prompt.user) + _ANSWER_TOKENS
        return check_budget(records, now, needed_tokens=needed)

    def _ask(self, model: Model, record: Record, prompt: Prompt, catalogue: Catalogue, news: News) -> Record:
        """The record with what the call cost, kept before the answer is looked at, and with the changes of it."""
        completion = model.complete(prompt)
        used = {"input_tokens": completion.input_tokens, "output_tokens": completion.output_tokens}
        record = save_record(self._git_folder, record.model_copy(update=used))
        resolved = resolve(parse_answer(completion.text), catalogue)
        return self._decide(record.model_copy(update={"dropped": resolved.dropped}), resolved.changes, news)

    def _decide(self, record: Record, changes: Sequence[Change], news: News) -> Record:
        decided = classify(changes, paths=list_markdown(self._writer.root), talks=news.talks)
        return save_record(self._git_folder, record.model_copy(update={"changes": decided}))

    @staticmethod
    def _refuse(gate: Gate, *, if_due: bool) -> Outcome:
        if if_due:
            return Outcome(gate=gate)
        raise Refused(
            gate.reason,
            hint="try again tomorrow, or without a model: memrepo dream now --tidy",
            rule=f"dream-{gate.code}",
            action="dream",
        )

    def _collect(self) -> News:
        return collect_news(
            read_cursor(self._git_folder),
            home=self._home,
            ledger=self._ledger,
            find_workspace=self._find_workspace,
            now_s=self._clock().timestamp(),
        )

    def _read_files(self, first: Collection[RepoPath], *, is_whole: bool = False) -> list[tuple[RepoPath, bytes]]:
        """The files that a dream may see, in their order; workspaces whose memory is off or strict are none of them.

        `is_whole`: closed ones too, for rules that must know that a file is there.
        """
        found = []
        for path in order_paths(list_markdown(self._writer.root), first):
            data = read_file(self._writer.root, path).data
            if data is not None and (is_whole or not self._is_closed(data)):
                found.append((path, data))
        return found

    def _is_closed(self, data: bytes) -> bool:
        return bool(self._closed) and find_workspace_id(Document.parse(data)) in self._closed

    def _find_paths(self, news: News) -> frozenset[RepoPath]:
        wanted = {found.id for talk in news.talks if talk.folder and (found := self._find_workspace(talk.folder))}
        named = {path for path, data in self._read_files(()) if find_workspace_id(Document.parse(data)) in wanted}
        return frozenset(named) if wanted else frozenset()
