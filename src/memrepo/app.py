"""MemoryRepo: the library's front door. It wires the parts of one memory repo and holds no rule of its own.

    with MemoryRepo.open(locations=find_locations()) as repo:
        repo.service.remember(Candidate("Prefers tabs"), TaskContext(...))

Each part is made when it is first asked for, so that listing files loads neither git, nor the private store, nor the
settings' schema. Where the folder may be is decided by `files.roots`, what the settings mean by `settings`.
"""

from __future__ import annotations

import datetime as dt
import os
import shlex
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from memrepo.errors import NotFound, Refused
from memrepo.files.atomic import read_file
from memrepo.files.paths import list_markdown
from memrepo.model import MEMORY_FILE, Actor, Origin
from memrepo.profiles import DEFAULT_PROFILE, check_profile, find_default_root, find_settings_file, make_store_url
from memrepo.settings_file import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from memrepo.context import ContextBuilder
    from memrepo.git.client import GitClient
    from memrepo.health import HealthRow, Patient
    from memrepo.history import CompactResult, History
    from memrepo.index.repo_index import Progress, RepoIndex
    from memrepo.lines import GrepAnswer, ShownLine
    from memrepo.model import ContextBlock, EntryFilter, Locations, Ref, RepoPath, TaskContext, Workspace
    from memrepo.policy.access import AccessDecision, Operation
    from memrepo.policy.injection import Decision
    from memrepo.reading import LocatedEntry
    from memrepo.recall import RecallResult, RepoLane
    from memrepo.service import MemoryRepoService
    from memrepo.settings import Settings
    from memrepo.store.opener import StoreOpener
    from memrepo.writer import Writer


class MemoryRepo:
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
        self.root = root
        self.settings = settings
        self.locations = locations
        self.profile = profile
        self.was_created = False
        self._repo_lane: RepoLane | None = None
        self._home = home
        self._read_only = read_only
        self._clock = clock

    @classmethod
    def open(
        cls,
        *,
        locations: Locations,
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
        (`memrepo doctor` looks at what is not there). `clock` tells the time with its zone; an entry gets its day.
        Errors: SettingsError, PathRefused, NotFound, DiskFault, GitFailed. Changes: nothing but a new repo.
        """
        home = Path.home() if home is None else home
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
        if self._repo_lane is not None:
            self._repo_lane.close()
        if "store" in self.__dict__:
            self.store.close()
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
    def store(self) -> StoreOpener:
        """What never goes to the repo, or not yet; opened when it is needed."""
        from memrepo.store.opener import StoreOpener

        return StoreOpener(self.settings.store_url or make_store_url(self.locations, self.profile))

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
    def history(self) -> History:
        """Log, diff, undo, compact."""
        from memrepo.history import History

        return History(self._writer, store=self.store)

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
        """Replaces the history, proves it, and empties the search index. Errors: those of `History.compact`."""
        result = self.history.compact(task, texts=texts)
        self.purge_index()
        return replace(result, checked=(*result.checked, "search index (emptied)"))

    # Searching

    def recall(
        self,
        query: str,
        task: TaskContext,
        *,
        scopes: Collection[str] | None = None,
        limit: int = 10,
        detail: str = "line",
        progress: Callable[[Progress], None] | None = None,
    ) -> RecallResult:
        """The entries that answer a query, best first, with why. Errors: InvalidInput.

        An agent sees nothing where its memory layer is off. Changes: at most the index in the cache, and a count.
        """
        from memrepo.recall import DEFAULT_SCOPES, Detail, make_store_lanes, open_repo_lane, recall

        if self._repo_lane is None:
            self._repo_lane = open_repo_lane(self.root, self.locations.cache, progress=progress)
        result = recall(
            query,
            task=task,
            lanes=(self._repo_lane, *make_store_lanes(self.store.find)),
            is_memory_on=task.actor is Actor.USER or self.decide_injection(task).is_allowed,
            scopes=DEFAULT_SCOPES if scopes is None else scopes,
            limit=limit,
            detail=Detail(detail),
        )
        self._record_read(task, "recall", len(result.hits))
        return result

    def open_index(self) -> RepoIndex:
        """The search index of this root: `status`, `rebuild`, `purge`."""
        from memrepo.recall import open_index

        return open_index(self.root, self.locations.cache)

    def purge_index(self) -> None:
        """Removes what the cache holds of this root's texts; the next search makes it anew.

        Errors: LockBusy while another process writes the index: the files have forgotten, the index has not.
        """
        from memrepo.errors import Busy, LockBusy
        from memrepo.index.cache_folder import index_folder

        if self._repo_lane is not None:
            self._repo_lane.close()
            self._repo_lane = None
        if not index_folder(self.locations.cache, self.root).exists():
            return
        try:
            with self.open_index() as index:
                index.purge()
        except Busy as error:
            raise LockBusy(
                "the entry is forgotten, but another process writes the search index, which still holds it",
                hint="when that process is done: memrepo index rebuild",
            ) from error

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
            for part in ("_writer", "service", "history"):
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
        )

    # Reading, without git, lock or store

    def list_files(self) -> tuple[RepoPath, ...]:
        """The Markdown files, sorted."""
        return list_markdown(self.root)

    def read_file(self, path: RepoPath) -> bytes | None:
        """The bytes of a file, None when it is absent. Errors: PathRefused, TooLarge, DiskFault."""
        return read_file(self.root, path).data

    def iter_entries(self, paths: Iterable[RepoPath] | None = None) -> Iterator[LocatedEntry]:
        """Streams entries as the files hold them now."""
        from memrepo.reading import iter_entries

        return iter_entries(self.root, paths)

    def iter_matching(self, wanted: EntryFilter) -> Iterator[LocatedEntry]:
        """Streams the entries that a filter means, as `service.forget_where` would find them."""
        from memrepo.planning.curation import matches

        for located in self.iter_entries():
            if (wanted.path is None or located.ref.path == wanted.path) and matches(located.entry, wanted):
                yield located

    # What agents see: cleaned, redacted, and only where the task may

    def decide_injection(self, task: TaskContext) -> Decision:
        """Whether the task sees personal memory, and by which rule not."""
        from memrepo.policy.injection import decide_injection

        return decide_injection(task, is_enabled=self.settings.enabled)

    def context(self, task: TaskContext, *, exclude_hashes: Collection[str] = ()) -> ContextBlock:
        """The prompt block of a task with what its workspace knows; empty, with the reason, where memory is off.

        Changes: nothing.
        """
        from memrepo.model import ContextBlock

        decision = self.decide_injection(task)
        if not decision.is_allowed:
            return ContextBlock(reason=decision.reason)
        workspace_id = task.workspace.id if task.workspace else None
        return self._context_builder.build(workspace_id=workspace_id, exclude_hashes=exclude_hashes)

    @cached_property
    def _context_builder(self) -> ContextBuilder:
        from memrepo.context import ContextBuilder

        return ContextBuilder(self.root)

    def read_lines(self, refs: Iterable[Ref], task: TaskContext) -> tuple[ShownLine, ...]:
        """What stands at these refs now. Errors: Refused where memory is off for an agent. Changes: a count."""
        from memrepo.lines import read_lines

        self._require_memory(task)
        lines = read_lines({None: self.root}, refs)
        self._record_read(task, "lines", sum(1 for line in lines if line.text))
        return lines

    def read_section(self, ref: Ref, task: TaskContext) -> ShownLine:
        """The entry at a ref and the section around it. Errors: NotFound, Refused as `read_lines`. Changes: a count."""
        from memrepo.lines import read_section

        self._require_memory(task)
        line = read_section({None: self.root}, ref)
        self._record_read(task, "lines", 1)
        return line

    def grep(
        self, pattern: str, task: TaskContext, *, is_regex: bool = False, ignores_case: bool = False, limit: int = 200
    ) -> GrepAnswer:
        """The lines of all files that hold the pattern. Errors: InvalidInput, Refused. Changes: a count."""
        from memrepo.format.patterns import compile_pattern
        from memrepo.lines import grep

        self._require_memory(task)
        matches = compile_pattern(pattern, is_regex=is_regex, ignores_case=ignores_case)
        answer = grep(self.root, matches, self.list_files(), limit=limit)
        self._record_read(task, "grep", len(answer.lines))
        return answer

    def mark_used(self, refs: Iterable[str], task: TaskContext) -> int:
        """Counts the entries that an answer made use of. Changes: at most one event in a store that is there."""
        from memrepo.attribution import mark_used

        return mark_used(self.store, task, refs)

    def decide_access(self, path: str | Path, operation: Operation, task: TaskContext, *, base: Path) -> AccessDecision:
        """Whether a file tool of this task may touch a path; `base` is where relative ones start. Changes: nothing."""
        from memrepo.files.reach import resolve_reach
        from memrepo.policy.access import GuardedRoot, decide_access

        places = resolve_reach(path, base=base, home=self._home, roots=[self.root])
        is_readable = self.decide_injection(task).is_allowed
        return decide_access(places, operation, roots=[GuardedRoot(self.root, is_readable)])

    def _require_memory(self, task: TaskContext) -> None:
        """A person may always look; an agent where its memory layer is on. Errors: Refused."""
        decision = self.decide_injection(task)
        if task.actor is Actor.AGENT and not decision.is_allowed:
            raise Refused(
                f"memory is not available here: {decision.why}",
                hint="go on without memory",
                rule="memory_repo_unavailable",
                actor="agent",
                action="read",
                target=str(decision.reason),
            )

    def _record_read(self, task: TaskContext, lane: str, amount: int) -> None:
        from memrepo.attribution import record_read

        record_read(self.store, task, lane=lane, amount=amount)

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

    def _find_named_workspace(self, workspace_id: str) -> Workspace | None:
        """A workspace that no settings know but a file names, as when the repo came from another machine."""
        from memrepo.model import Workspace

        path = None if self.is_missing else self._context_builder.find_workspace_path(workspace_id)
        return None if path is None else Workspace(workspace_id, Path(path).stem)


def check_root(
    path: Path | str,
    *,
    locations: Locations,
    home: Path,
    workspaces: Sequence[Workspace],
    is_memory_repo: Callable[[Path], bool] | None = None,
) -> Path:
    """Returns the folder when it may hold a memory repo; git is asked unless `is_memory_repo` answers for it.

    Errors: PathRefused naming the rule.
    """
    from memrepo.files.roots import validate_root

    if is_memory_repo is None:
        from memrepo.git.gate import is_repository

        is_memory_repo = is_repository
    return validate_root(
        path,
        home=home,
        config=locations.config,
        data=locations.data,
        workspaces=workspaces,
        is_memory_repo=is_memory_repo,
    )


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
