"""MemoryRepo: the library's front door. It wires the parts of one memory repo and holds no rule of its own.

    with MemoryRepo.open() as repo:
        repo.remember("Prefers tabs", TaskContext.for_user())

Each part is made when it is first asked for, so that listing files loads neither git, nor the private store, nor the
settings' schema. What only reads is in `reader`, what comes in or leaves in `exchange`. Where the folder may be is
decided by `files.roots`, what the settings mean by `settings`.
"""

from __future__ import annotations

import datetime as dt
import os
import shlex
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from memrepo.errors import NotFound
from memrepo.exchange import MemoryExchange, check_root
from memrepo.files.paths import check_repo_path
from memrepo.model import MEMORY_FILE, Origin
from memrepo.profiles import (
    DEFAULT_PROFILE,
    check_profile,
    find_default_root,
    find_sessions_folder,
    find_settings_file,
)
from memrepo.settings_file import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memrepo.approvals import ForgetOutcome, Request
    from memrepo.dream.models import Model
    from memrepo.dream.runner import Dreams
    from memrepo.git.client import GitClient
    from memrepo.health import HealthRow, Patient
    from memrepo.history import CompactResult, History
    from memrepo.model import (
        Candidate,
        CandidateFields,
        ContentHash,
        Locations,
        Ref,
        RepoPath,
        TaskContext,
        Workspace,
        WriteResult,
    )
    from memrepo.private import PrivateMemory
    from memrepo.service import MemoryRepoService
    from memrepo.sessions import Caller, SessionLedger
    from memrepo.settings import Settings
    from memrepo.statistics import Week
    from memrepo.swarm import Member, Swarms
    from memrepo.sync.engine import Sync
    from memrepo.writer import Writer


class MemoryRepo(MemoryExchange):
    """One memory repo of one profile, opened. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        root: Path,
        *,
        settings: Settings,
        locations: Locations,
        profile: str,
        home: Path,
        read_only: bool,
        clock: Callable[[], dt.datetime],
    ) -> None:
        super().__init__(root, settings=settings, locations=locations, profile=profile, home=home)
        self.was_created = False
        self._read_only = read_only
        self._clock = clock

    @classmethod
    def open(
        cls,
        *,
        locations: Locations | None = None,
        home: Path | None = None,
        profile: str = DEFAULT_PROFILE,
        path: Path | None = None,
        read_only: bool = False,
        create: bool = True,
        may_be_missing: bool = False,
        origin: Origin = Origin.CLI,
        clock: Callable[[], dt.datetime] = lambda: dt.datetime.now().astimezone(),
    ) -> Self:
        """Opens the memory repo at `path`, else where the settings say, else at the profile's own place.

        `create` makes it when the folder is missing or empty; otherwise that is NotFound, unless `may_be_missing`
        (`memrepo doctor` looks at what is not there). Without `locations` settings, store and cache are where this
        system keeps such things; `find_locations(FOLDER)` puts them under one folder, as MEMREPO_HOME does for the
        program. `clock` tells the time with its zone; an entry gets its day.
        Errors: SettingsError, PathRefused, NotFound, DiskFault, GitFailed. Changes: nothing but a new repo.
        """
        home = Path.home() if home is None else home
        if locations is None:
            from memrepo.locations import find_locations

            locations = find_locations(None)
        settings = read_settings(find_settings_file(locations, check_profile(profile)), cache=locations.cache)
        root = check_root(
            path or settings.path or find_default_root(locations, home, profile),
            locations=locations,
            home=home,
            workspaces=settings.workspaces,
            is_memory_repo=_looks_like_repo if read_only else None,
        )
        repo = cls(
            root, settings=settings, locations=locations, profile=profile, home=home, read_only=read_only, clock=clock
        )
        if repo.is_missing and create and not read_only:
            repo.create(origin=origin)
        elif repo.is_missing and not may_be_missing:
            raise NotFound(
                f"there is no memory folder at {root}",
                hint="to make one: memrepo init" + (f" --path {shlex.quote(str(root))}" if path is not None else ""),
                what="memory folder",
                name=str(root),
            )
        return repo

    @property
    def is_missing(self) -> bool:
        """Whether there is no repo yet: a folder that may be a root and has no `MEMORY.md` is missing or empty."""
        return not os.path.lexists(self.root / MEMORY_FILE)

    def create(self, *, origin: Origin = Origin.CLI) -> None:
        """Makes the repo if it is missing. Errors: DiskFault, GitFailed. Changes: the folder, or nothing."""
        if self.is_missing:
            from memrepo.creation import create_repo

            self.was_created = create_repo(self.root, has_git=_has_git_program(self.root), origin=origin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> bool:
        """Ends writing in bounded time and closes the store; False when a write did not end in time."""
        service = self.__dict__.get("service")
        is_done = service.close() if service is not None else True
        if service is not None and is_done:
            self._pack_history()
        self.close_reading()
        return is_done

    def _pack_history(self) -> None:
        from memrepo.errors import Busy, GitFailed

        with suppress(Busy, GitFailed):  # nothing is lost by packing later, and the work of this process is done
            self._writer.pack_if_due()

    # The parts

    @property
    def has_git(self) -> bool:
        """Whether changes get a history: git is there, and the folder was not made without it."""
        return self._writer.git is not None

    @property
    def has_git_program(self) -> bool:
        """Whether git is there at all."""
        return _has_git_program(self.root)

    @cached_property
    def service(self) -> MemoryRepoService:
        """The only door that changes the repo."""
        from memrepo.service import MemoryRepoService

        return MemoryRepoService(
            self._writer,
            store=self.store,
            clock=self._clock,
            is_enabled=self.settings.enabled,
            purge_derived=self.purge_index,
        )

    @cached_property
    def private(self) -> PrivateMemory:
        """What the private store holds: facts, commitments, the archive."""
        from memrepo.private import PrivateMemory

        return PrivateMemory(self.store, clock=self._clock)

    @cached_property
    def history(self) -> History:
        """Log, diff, undo, compact."""
        from memrepo.history import History

        return History(self._writer, store=self.store)

    @cached_property
    def sync(self) -> Sync:
        """The sync with the private remote of the settings; off for a folder that is not this profile's own."""
        from memrepo.sync.engine import Sync

        return Sync(
            self._writer,
            url=self.settings.remote_url if self.is_own_folder else None,
            is_confirmed=self.settings.remote_confirmed_private,
            clock=self._clock,
            purge_derived=self.purge_index,
        )

    @property
    def is_own_folder(self) -> bool:
        """Whether this is the folder of the profile, and not another that was opened by its path."""
        own = self.settings.path or find_default_root(self.locations, self._home, self.profile)
        return os.path.realpath(own) == os.path.realpath(self.root)

    @cached_property
    def dreams(self) -> Dreams:
        """Dreams: run one, list them, settle what waits (`dreams.reviews`)."""
        from memrepo.dream.review import Reviews
        from memrepo.dream.runner import Dreams

        return Dreams(
            self._writer,
            Reviews(self._writer, self.history, clock=self._clock),
            clock=self._clock,
            home=self._home,
            ledger=self.sessions,
            find_workspace=self._find_session_workspace,
            workspaces=self.workspaces,
            is_on=self.settings.dream and self.settings.enabled,
            list_team_texts=self._list_team_texts,
            pull=lambda: self.sync.run_quietly(pushes=False),
        )

    def _list_team_texts(self) -> list[str]:
        """What the team repos say that can be read; a dream need not say it again."""
        from memrepo.reading import iter_entries
        from memrepo.team import list_team_files

        readable = [state.repo for state in self.look_at_teams() if not state.why]
        return [one.entry.text for repo in readable for one in iter_entries(repo.path, list_team_files(repo))]

    def make_dream_model(self, find_key: Callable[[str], str | None]) -> Model | None:
        """The model that the settings name, None when they name none; `find_key` reads a variable of the environment.

        Errors: InvalidInput for a model, an address or a variable that cannot be used.
        """
        from memrepo.errors import InvalidInput

        settings = self.settings
        if settings.dream_model is None:
            return None
        from memrepo.dream.models import make_model

        key = find_key(settings.dream_key_variable) if settings.dream_key_variable else None
        if settings.dream_key_variable and not key:
            raise InvalidInput(
                f"the variable {settings.dream_key_variable} is not set, and it should hold the model's key",
                hint=f"export {settings.dream_key_variable}=..., or: memrepo settings unset dream_key_variable",
                key="dream_key_variable",
            )
        return make_model(settings.dream_model, url=settings.dream_url, api_key=key)

    @cached_property
    def _writer(self) -> Writer:
        from memrepo.lock import WriteLock
        from memrepo.writer import Writer

        lock = WriteLock(self.root / ".git")
        return Writer(self.root, git=self.find_git(), lock=lock, read_only=self._read_only)

    def find_git(self) -> GitClient | None:
        """The git verbs of this repo; None without git, and for a folder that was made without it."""
        from memrepo.git.client import GitClient, find_memory_branch

        branch = find_memory_branch(self.root)
        return (
            GitClient(self.root, memory_branch=branch)
            if _has_git_program(self.root) and not is_without_history(self.root)
            else None
        )

    def compact(self, task: TaskContext, *, texts: Iterable[str] = ()) -> CompactResult:
        """Replaces the history, proves it, and empties the search index; what waits in dreams is given up.

        Errors: those of `History.compact`; LockBusy while a dream is under way.
        """
        from memrepo.dream.records import drop_waiting, hold_dream_lock
        from memrepo.planning.curation import require_user

        require_user(task, "compact history")
        git_folder = self._writer.git_folder
        with hold_dream_lock(git_folder) if self.has_git else nullcontext():
            if self.has_git:
                with self._writer.hold():
                    pass  # what cannot be compacted now costs no review
                drop_waiting(git_folder)
            result = self.history.compact(task, texts=texts)
        self.purge_index()
        return replace(result, checked=(*result.checked, "search index (emptied)"))

    # Writing: `service` holds the rules

    def remember(self, fact: str | Candidate, task: TaskContext, **fields: Unpack[CandidateFields]) -> WriteResult:
        """Writes one fact, given as its text and the fields of a Candidate, or as a Candidate; says what became of it.

        Errors: DiskFault, GitFailed, StoreFault; what a rule turns away is a result, not an error.
        """
        from memrepo.model import Candidate

        if isinstance(fact, str):
            fact = Candidate(fact, **fields)
        elif fields:
            fact = replace(fact, **fields)
        return self.service.remember(fact, task)

    def edit(
        self, ref: Ref | str, text: str, task: TaskContext, *, expect_hash: ContentHash | None = None
    ) -> WriteResult:
        """Puts a new text in the place of an entry's. Errors: those of `MemoryRepoService.edit`, InvalidInput."""
        return self.service.edit(_read_ref(ref), text, task, expect_hash=expect_hash)

    def pin(self, ref: Ref | str, task: TaskContext, *, expect_hash: ContentHash | None = None) -> WriteResult:
        """Moves an entry to MEMORY.md. Errors: those of `MemoryRepoService.pin`, InvalidInput."""
        return self.service.pin(_read_ref(ref), task, expect_hash=expect_hash)

    def move(
        self, ref: Ref | str, target: str, task: TaskContext, *, expect_hash: ContentHash | None = None
    ) -> WriteResult:
        """Moves an entry to another file of the repo. Errors: those of `MemoryRepoService.move`, PathRefused."""
        return self.service.move(_read_ref(ref), check_repo_path(target), task, expect_hash=expect_hash)

    def forget(
        self, ref: Ref | str, task: TaskContext, *, expect_hash: ContentHash | None = None, is_approved: bool = False
    ) -> WriteResult:
        """Removes an entry; an agent only what its own task wrote, unless the user approved it.

        Errors: those of `MemoryRepoService.forget`, InvalidInput.
        """
        return self.service.forget(_read_ref(ref), task, expect_hash=expect_hash, is_approved=is_approved)

    def request_forget(
        self,
        ref: Ref | str,
        task: TaskContext,
        *,
        expect_hash: ContentHash | None = None,
        ask: Callable[[str], bool | None] = lambda _: None,
    ) -> ForgetOutcome:
        """Removes an entry for an agent: at once, after `ask` said yes, or once the user grants the request it leaves.

        Errors: those of `approvals.forget_with_approval`, InvalidInput.
        """
        from memrepo.approvals import forget_with_approval

        return forget_with_approval(self.service, self.store, _read_ref(ref), task, expect_hash=expect_hash, ask=ask)

    def list_requests(self) -> tuple[Request, ...]:
        """What agents asked to forget and nobody has answered, oldest first. Errors: StoreFault."""
        from memrepo.approvals import list_requests

        return list_requests(self.root, self.store)

    def grant_request(self, request_id: int, task: TaskContext) -> ForgetOutcome:
        """The user's yes: forgets the entry. Errors: those of `approvals.grant`."""
        from memrepo.approvals import grant

        return grant(self.service, self.store, request_id, task)

    def deny_request(self, request_id: int) -> Request:
        """The user's no: the entry stays. Errors: NotFound, StoreFault."""
        from memrepo.approvals import deny

        return deny(self.root, self.store, request_id)

    def compute_statistics(self, *, weeks: int = 8) -> tuple[Week, ...]:
        """What happened in the last weeks, this one last: `statistics.Week`. Changes: nothing.

        Errors: GitMissing without a history, and those of reading it; StoreFault.
        """
        from memrepo.errors import GitMissing
        from memrepo.git.line_changes import iter_line_changes, list_sizes
        from memrepo.statistics import compute_weeks, find_tasks

        git = self.find_git()
        if git is None:
            raise GitMissing("this memory has no history to count in", hint="memrepo doctor", invariant="git")
        commits = tuple(iter_line_changes(git))
        store = self.store.find()
        events = store.events.list() if store else ()
        return compute_weeks(
            commits,
            find_tasks(self.sessions.iter_sessions(), commits, events),
            events,
            now=self._clock(),
            count=weeks,
            find_sizes=lambda commit: list_sizes(git, commit),
        )

    # Health

    def check_health(self) -> tuple[HealthRow, ...]:
        """Runs every check; also on a repo that is not there. Changes: nothing."""
        from memrepo.health import check_health

        return check_health(self._as_patient())

    def fix(self, *, foreign: str | None = None) -> tuple[str, ...]:
        """Mends what is safe to mend and says what it did; `foreign` is `add` or `ignore`, see `health.Foreign`."""
        from memrepo.health import Foreign, fix

        try:
            return fix(self._as_patient(), foreign=Foreign(foreign) if foreign else None)
        finally:  # what was made for the folder as it was before
            for part in ("_writer", "service", "history", "sync", "dreams"):
                self.__dict__.pop(part, None)

    def _as_patient(self) -> Patient:
        from memrepo.health import Patient

        return Patient(
            root=self.root,
            writer=self._writer,
            service=self.service,
            store=self.store,
            store_file=self.store.file,
            finds_git=self.has_git_program,
            now=self._clock(),
            teams=tuple((state.repo.name, state.why) for state in self.look_at_teams()),
            is_synced=self.sync.is_on,
            describe_dreams=self.dreams.describe_health,
        )

    # Sessions of agents

    @cached_property
    def sessions(self) -> SessionLedger:
        """What hooks told of the sessions of this profile, and who makes a call."""
        from memrepo.sessions import SessionLedger

        return SessionLedger(find_sessions_folder(self.locations, self.profile), clock=self._clock)

    def make_task(
        self,
        caller: Caller | None,
        *,
        trust: bool = False,
        workspace_folder: Path | None = None,
        user_confirmed: bool = False,
    ) -> TaskContext:
        """The task of an agent's call. Without a caller nothing is known of it: no quotes, taint unknown.

        `trust`: the user takes unknown for clean; never what is tainted, nor what cannot be read. Changes: nothing.
        """
        from memrepo.errors import InvalidInput
        from memrepo.model import Role, Taint, TaskContext

        session = None if caller is None else caller.session
        taint = Taint.UNKNOWN if session is None else session.taint
        if trust and taint is Taint.UNKNOWN and not (session is not None and session.is_damaged):
            taint = Taint.CLEAN
        workspace = None
        folder = (session.folder if session is not None else None) or workspace_folder
        if folder is not None:
            with suppress(InvalidInput):  # the home folder, the memory folder, or gone
                workspace = self.find_workspace(str(folder), current_folder=folder)
        return TaskContext(
            task_id=None if session is None else session.id,
            workspace=workspace,
            role=Role.SUB_AGENT if caller is not None and caller.is_sub_agent else Role.MAIN,
            taint=taint,
            user_messages=() if session is None else session.user_messages,
            no_memory=session is not None and session.no_memory,
            user_confirmed=user_confirmed,
        )

    def make_member(self, caller: Caller | None) -> Member | None:
        """An agent's call as a swarm sees it: its name, and the tasks whose swarm it may be in. Changes: nothing."""
        from memrepo.swarm import ROOT_NAME, Member

        if caller is None:
            return None
        line = self.sessions.list_line(caller.session)
        name = caller.agent_id or (caller.session.id if caller.session.parent else ROOT_NAME)
        return Member(name, tuple(one.id for one in line), tuple(sorted(line[-1].sub_agents)))

    @cached_property
    def swarms(self) -> Swarms:
        """Agents that work on one goal, and what they note for each other."""
        from memrepo.swarm import Swarms

        return Swarms(self.root, service=lambda: self.service, clock=self._clock, is_enabled=self.settings.enabled)

    # Workspaces

    @property
    def workspaces(self) -> Sequence[Workspace]:
        """The workspaces that the settings know."""
        return self.settings.workspaces

    def find_workspace(self, argument: str, *, current_folder: Path) -> Workspace:
        """The workspace that an id or a folder names. Errors: InvalidInput."""
        from memrepo.workspace_resolution import resolve_workspace

        return resolve_workspace(
            argument,
            known=self.workspaces,
            home=self._home,
            current_folder=current_folder,
            memory_root=self.root,
            find_by_id=self._find_named_workspace,
        )

    def get_workspace_file(self, workspace_id: str) -> RepoPath:
        """The file of a workspace. Errors: NotFound."""
        from memrepo.workspaces import WorkspaceFiles

        path = WorkspaceFiles(self.root).find(workspace_id)
        if path is None:
            raise NotFound(
                f"no file names workspace {workspace_id}",
                hint="see the files: memrepo ls",
                what="workspace",
                name=workspace_id,
            )
        return path

    def _find_session_workspace(self, folder: str) -> Workspace | None:
        """The workspace that a session ran in, None where that cannot be told."""
        from memrepo.errors import InvalidInput

        try:
            return self.find_workspace(folder, current_folder=Path(folder))
        except InvalidInput:  # the home folder, the memory folder, or gone
            return next((one for one in self.workspaces if one.root and Path(folder).is_relative_to(one.root)), None)

    def _find_named_workspace(self, workspace_id: str) -> Workspace | None:
        """A workspace that no settings know but a file names, as when the repo came from another machine."""
        from memrepo.model import Workspace

        path = None if self.is_missing else self._context_builder.find_workspace_path(workspace_id)
        return None if path is None else Workspace(workspace_id, Path(path).stem)


def _read_ref(ref: Ref | str) -> Ref:
    if not isinstance(ref, str):
        return ref
    from memrepo.format.refs import parse_ref

    return parse_ref(ref)


def is_without_history(root: Path) -> bool:
    """Whether this memory repo was made while git was missing: a `.git` folder for the lock and the journal alone."""
    git_folder = root / ".git"
    return not os.path.lexists(git_folder / "HEAD") and not os.path.lexists(git_folder / "objects")


def _looks_like_repo(_: Path) -> bool:
    """Stands in for git where nothing is written: reading files needs no fit repository."""
    return True


def _has_git_program(root: Path) -> bool:
    from memrepo.git.process import find_program

    return find_program(root) is not None
