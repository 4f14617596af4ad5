"""The reading side of a memory repo: files, search, and what agents are shown of it.

It needs neither git nor the write lock nor the service, and changes nothing but derived state: the search index in the
cache and counts of what was read. `app.MemoryRepo` is a reader that can also write; they are two modules because most
processes (hooks, the prompt block, an agent's reading tools) only ever read.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from memrepo.errors import DiskFault, Refused
from memrepo.files.atomic import read_file
from memrepo.files.paths import list_markdown
from memrepo.model import SWARMS_FOLDER, Actor, TaskContext
from memrepo.profiles import make_store_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from memrepo.context import ContextBuilder, TeamMemory
    from memrepo.index.freshness import Notice
    from memrepo.index.repo_index import Progress, RepoIndex
    from memrepo.lines import GrepAnswer, ShownFile, ShownLine
    from memrepo.model import ContextBlock, EntryFilter, Locations, Ref, RepoPath
    from memrepo.policy.access import AccessDecision, Operation
    from memrepo.policy.injection import Decision
    from memrepo.reading import LocatedEntry
    from memrepo.recall import RecallResult, RepoLane
    from memrepo.settings import Settings, TeamRepo
    from memrepo.store.opener import StoreOpener
    from memrepo.team import TeamRules, Teams, TeamState

_MEMBERS_ONLY = "notes of a swarm are shown to its members only"


class MemoryReader:
    """One memory root of one profile, to read from. One object serves one thread at a time."""

    def __init__(self, root: Path, *, settings: Settings, locations: Locations, profile: str, home: Path) -> None:
        self.root = root
        self.settings = settings
        self.locations = locations
        self.profile = profile
        self._home = home
        self._repo_lane: RepoLane | None = None
        self._team_lanes: dict[TeamRepo, RepoLane] = {}

    def close_reading(self) -> None:
        """Closes the indexes and the store as far as they were opened."""
        for lane in (self._repo_lane, *self._team_lanes.values()):
            if lane is not None:
                lane.close()
        if "store" in self.__dict__:
            self.store.close()

    @cached_property
    def store(self) -> StoreOpener:
        """What never goes to the repo, or not yet; opened when it is needed."""
        from memrepo.store.opener import StoreOpener

        return StoreOpener(self.settings.store_url or make_store_url(self.locations, self.profile))

    # Team memory

    @cached_property
    def teams(self) -> Teams:
        """The team repos that are read beside this one, as their folders are."""
        from memrepo.team import Teams

        return Teams(self.settings.team_repos, self.team_rules)

    @property
    def team_rules(self) -> TeamRules:
        """What the folders of team repos are held against."""
        from memrepo.team import TeamRules

        return TeamRules(self.root, self._home, self.locations, self.settings.workspaces)

    def look_at_teams(self) -> tuple[TeamState, ...]:
        """The team repos with what is wrong with one, in git's opinion too. Changes: nothing."""
        if not self.settings.team_repos:
            return ()
        from memrepo.git.gate import is_repository
        from memrepo.team import Teams

        return Teams(self.settings.team_repos, self.team_rules, is_repository=is_repository).look()

    def _find_visible_teams(self, task: TaskContext) -> tuple[TeamState, ...]:
        return self.teams.find_visible(task) if self.settings.team_repos else ()

    def _find_readable_teams(self, task: TaskContext) -> tuple[TeamRepo, ...]:
        return tuple(state.repo for state in self._find_visible_teams(task) if not state.why)

    def _find_root(self, team: str | None, task: TaskContext) -> Path:
        """The folder of a team's files, or of the user's own. Errors: NotFound, PathRefused."""
        return self.root if team is None else self.teams.get(team, task).path

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
        from dataclasses import replace

        from memrepo.recall import DEFAULT_SCOPES, Detail, make_store_lanes, open_repo_lane, recall

        if self._repo_lane is None:
            self._repo_lane = open_repo_lane(self.root, self.locations.cache, progress=progress)
        is_on = task.actor is Actor.USER or self.decide_injection(task).is_allowed
        team_lanes, notices = self._find_team_lanes(task) if is_on else ((), ())
        result = recall(
            query,
            task=task,
            lanes=(self._repo_lane, *team_lanes, *make_store_lanes(self.store.find)),
            is_memory_on=is_on,
            scopes=DEFAULT_SCOPES if scopes is None else scopes,
            limit=limit,
            detail=Detail(detail),
        )
        self._record_read(task, "recall", len(result.hits))
        return replace(result, warnings=(*result.warnings, *notices)) if notices else result

    def _find_team_lanes(self, task: TaskContext) -> tuple[tuple[RepoLane, ...], tuple[Notice, ...]]:
        """The lanes of the team repos that a task may see, and a warning for each that cannot be read.

        They are searched by words alone: a model by meaning is held once, for the user's own memory.
        """
        from memrepo.index.freshness import Notice
        from memrepo.recall import open_repo_lane

        lanes: list[RepoLane] = []
        notices: list[Notice] = []
        for repo, why, _ in self._find_visible_teams(task):
            if why:
                notices.append(Notice("team-not-read", f"team:{repo.name}", f"team repo {repo.name}: {why}"))
                continue
            if repo not in self._team_lanes:
                self._team_lanes[repo] = open_repo_lane(
                    repo.path, self.locations.cache, use_meaning=False, team=repo.name
                )
            lanes.append(self._team_lanes[repo])
        return tuple(lanes), tuple(notices)

    def open_index(self) -> RepoIndex:
        """The search index of this root: `status`, `rebuild`, `purge`."""
        from memrepo.recall import open_index

        return open_index(self.root, self.locations.cache)

    def purge_index(self) -> None:
        """Removes what the cache holds of this root's texts; the next search makes it anew.

        Errors: LockBusy while another process writes the index: the files have forgotten, the index has not.
        """
        from memrepo.errors import Busy, LockBusy

        if self._repo_lane is not None:
            self._repo_lane.close()
            self._repo_lane = None
        try:
            purge_cached(self.root, self.locations.cache)
        except Busy as error:
            raise LockBusy(
                "the entry is forgotten, but another process writes the search index, which still holds it",
                hint="when that process is done: memrepo index rebuild",
            ) from error

    # Reading, without git, lock or store

    def list_files(self, *, team: str | None = None) -> tuple[RepoPath, ...]:
        """The Markdown files, sorted; with `team` those of a team repo. Errors: NotFound, PathRefused."""
        if team is None:
            return list_markdown(self.root)
        from memrepo.team import list_team_files

        return list_team_files(self.teams.get(team, TaskContext.for_user()))

    def read_file(self, path: RepoPath, *, team: str | None = None) -> bytes | None:
        """The bytes of a file, None when it is absent. Errors: PathRefused, TooLarge, DiskFault; as `list_files`."""
        return read_file(self._find_root(team, TaskContext.for_user()), path).data

    def iter_entries(
        self, paths: Iterable[RepoPath] | None = None, *, team: str | None = None
    ) -> Iterator[LocatedEntry]:
        """Streams entries as the files hold them now. Errors: as `list_files`."""
        from memrepo.reading import iter_entries

        return iter_entries(self._find_root(team, TaskContext.for_user()), paths, team=team)

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
        from dataclasses import replace

        from memrepo.model import ContextBlock

        decision = self.decide_injection(task)
        if not decision.is_allowed:
            return ContextBlock(reason=decision.reason)
        workspace_id = task.workspace.id if task.workspace else None
        teams, warnings = self._find_block_teams(workspace_id) if self.settings.team_repos else ((), ())
        block = self._context_builder.build(workspace_id=workspace_id, teams=teams, exclude_hashes=exclude_hashes)
        return replace(block, warnings=(*block.warnings, *warnings)) if warnings else block

    def _find_block_teams(self, workspace_id: str | None) -> tuple[tuple[TeamMemory, ...], tuple[tuple[str, str], ...]]:
        from memrepo.context import TeamMemory

        serving = self.teams.find_serving(workspace_id)
        return (
            tuple(TeamMemory(state.repo.name, state.repo.path) for state in serving if not state.why),
            tuple((f"team:{state.repo.name}", state.why) for state in serving if state.why),
        )

    @cached_property
    def _context_builder(self) -> ContextBuilder:
        from memrepo.context import ContextBuilder

        return ContextBuilder(self.root)

    def read_lines(self, refs: Iterable[Ref], task: TaskContext) -> tuple[ShownLine, ...]:
        """What stands at these refs now. Errors: Refused where memory is off for an agent. Changes: a count."""
        from memrepo.lines import ShownLine, read_lines

        self.require_memory(task)
        roots: dict[str | None, Path] = {None: self.root}
        roots |= {repo.name: repo.path for repo in self._find_readable_teams(task)}
        lines = tuple(
            line if self._may_show(line.ref.path, task) else ShownLine(line.ref, "", why=_MEMBERS_ONLY)
            for line in read_lines(roots, refs)
        )
        self._record_read(task, "lines", sum(1 for line in lines if line.text))
        return lines

    def read_section(self, ref: Ref, task: TaskContext) -> ShownLine:
        """The entry at a ref and the section around it. Errors: NotFound, Refused as `read_lines`. Changes: a count."""
        from memrepo.lines import read_section

        self.require_memory(task)
        self._require_shown(ref.path, task)
        line = read_section({ref.team: self._find_root(ref.team, task)}, ref)
        self._record_read(task, "lines", 1)
        return line

    def list_shown_files(self, task: TaskContext) -> tuple[RepoPath, ...]:
        """The Markdown files, sorted, for a task. Errors: Refused as `read_lines`. Changes: nothing."""
        self.require_memory(task)
        return tuple(path for path in self.list_files() if self._may_show(path, task))

    def list_shown_team_files(self, task: TaskContext) -> tuple[tuple[str, RepoPath], ...]:
        """The files of the team repos that a task may see, each `(team, path)`; none of one that cannot be listed.

        Errors: Refused as `read_lines`. Changes: nothing.
        """
        from memrepo.team import list_team_files

        self.require_memory(task)
        found: list[tuple[str, RepoPath]] = []
        for repo in self._find_readable_teams(task):
            with suppress(DiskFault):
                found += [(repo.name, path) for path in list_team_files(repo) if self._may_show(path, task)]
        return tuple(found)

    def read_shown_file(self, path: RepoPath, task: TaskContext, *, team: str | None = None) -> ShownFile:
        """A whole file as agents see it. Errors: NotFound, Refused as `read_lines`. Changes: a count."""
        from memrepo.lines import read_shown_file

        self.require_memory(task)
        self._require_shown(path, task)
        shown = read_shown_file(self._find_root(team, task), path, team=team)
        self._record_read(task, "lines", len(shown.entries))
        return shown

    def grep(
        self,
        pattern: str,
        task: TaskContext,
        *,
        is_regex: bool = False,
        ignores_case: bool = False,
        limit: int = 200,
        team: str | None = None,
    ) -> GrepAnswer:
        """The lines of all files that hold the pattern, the user's own first; with `team` of that team's alone.

        Errors: InvalidInput, Refused, NotFound for the team. Changes: a count.
        """
        from memrepo.format.patterns import compile_pattern
        from memrepo.lines import GrepAnswer, grep
        from memrepo.team import list_team_files

        self.require_memory(task)
        matches = compile_pattern(pattern, is_regex=is_regex, ignores_case=ignores_case)
        if team is None:
            answer = grep(self.root, matches, self.list_shown_files(task), limit=limit)
            teams = self._find_readable_teams(task)
        else:
            answer, teams = GrepAnswer(()), (self.teams.get(team, task),)
        for repo in teams:
            try:
                paths = [path for path in list_team_files(repo) if self._may_show(path, task)]
            except DiskFault as error:
                answer = answer.joined(GrepAnswer((), ((f"team:{repo.name}", error.message),)))
                continue
            answer = answer.joined(grep(repo.path, matches, paths, limit=limit - len(answer.lines), team=repo.name))
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

        teams = self.settings.team_repos
        places = resolve_reach(path, base=base, home=self._home, roots=[self.root, *(team.path for team in teams)])
        is_readable = self.decide_injection(task).is_allowed
        workspace_id = task.workspace.id if task.workspace else None
        guarded = [
            GuardedRoot(
                team.path, is_readable and team.serves(workspace_id), f"the team repo {team.name}", is_team=True
            )
            for team in teams
        ]
        return decide_access(places, operation, roots=[GuardedRoot(self.root, is_readable), *guarded])

    def require_memory(self, task: TaskContext) -> None:
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

    @staticmethod
    def _may_show(path: RepoPath, task: TaskContext) -> bool:
        """Notes of a swarm are no memory: a person may look, an agent only as a member, at its own (`swarm`)."""
        return task.actor is Actor.USER or not path.casefold().startswith(f"{SWARMS_FOLDER}/")

    def _require_shown(self, path: RepoPath, task: TaskContext) -> None:
        if not self._may_show(path, task):
            raise Refused(
                f"{path}: {_MEMBERS_ONLY}",
                hint="a member sees them with the tool swarm_note",
                rule="swarm-members-only",
                actor="agent",
                action="read",
                target=str(path),
            )

    def _record_read(self, task: TaskContext, lane: str, amount: int) -> None:
        from memrepo.attribution import record_read

        record_read(self.store, task, lane=lane, amount=amount)


def purge_cached(root: Path, cache: Path) -> None:
    """Removes what the cache holds of a root's texts, if anything. Errors: Busy while another process writes it."""
    from memrepo.index.cache_folder import index_folder
    from memrepo.recall import open_index

    if index_folder(cache, root).exists():
        with open_index(root, cache) as index:
            index.purge()
