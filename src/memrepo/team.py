"""Team memory: which repos of colleagues are read beside the user's own, by which task, and what is wrong with one.

Owns the rules for their folders and for who sees them. Reads their files through the same code as the user's own; never
writes into one, and starts no git there. Invariants: a folder that breaks a rule now is not read now, whatever it was
when it was added; of a repo that a task may not see, not even the name is told.
Source: sync and team memory (seed 2) §2, §4.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memrepo.errors import DiskFault, InvalidInput, NotFound, PathRefused
from memrepo.model import MARKDOWN_FILES_LIMIT, MEMORY_FILE, Actor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memrepo.model import Locations, RepoPath, TaskContext, Workspace
    from memrepo.settings import TeamRepo

_NO_NAME = re.compile(r"[^\w.-]+")
_ENDS = ".-"
_CLONE = "clone the team's repo into a folder of its own, then: memrepo team add FOLDER"
_KEPT_HINTS = frozenset({"not-absolute", "parent", "symlink"})


class TeamState(NamedTuple):
    """A team repo of the settings and why it is not read now; "" when it is. `hint` is the next step."""

    repo: TeamRepo
    why: str = ""
    hint: str = ""


class TeamRules(NamedTuple):
    """What the folders of team repos are held against."""

    root: Path
    home: Path
    locations: Locations
    workspaces: Sequence[Workspace]


def check_team_root(
    path: Path, rules: TeamRules, *, others: Sequence[Path] = (), is_repository: Callable[[Path], bool]
) -> Path:
    """Returns the folder when it may be read as a team repo: the rules of the memory folder, and a repo that is there.

    `is_repository` says whether git takes it for the top level of a repository. Errors: PathRefused; rules as of
    `validate_root`, `own-folder` and `missing`. Changes: nothing.
    """
    from memrepo.files.roots import validate_root

    locations = rules.locations
    try:
        place = validate_root(
            path,
            home=rules.home,
            config=locations.config,
            data=locations.data,
            workspaces=rules.workspaces,
            is_memory_repo=is_repository,
            others=(rules.root, *others),
        )
    except PathRefused as error:
        why = error.message.replace("be the memory folder:", "be a team repo:", 1)
        kept = error.hint if error.facts["rule"] in _KEPT_HINTS else _CLONE
        facts = {"path": str(path), "rule": error.facts["rule"]}
        raise PathRefused(why.replace("overlaps the memory folder", "overlaps"), hint=kept, **facts) from error
    own = (locations.config, locations.data, locations.cache)
    if any(Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder)) for folder in own):
        raise _refuse(place, "own-folder", "memrepo keeps its own files around it")
    if not os.path.lexists(place / MEMORY_FILE) or not os.path.lexists(place / ".git" / "HEAD"):
        raise _refuse(place, "missing", f"there is no git repository with a {MEMORY_FILE}")
    return place


def choose_name(path: Path, name: str | None) -> str:
    """The name of a team repo that was given none: its folder's, as far as a ref can hold it. Errors: InvalidInput."""
    chosen = name if name is not None else _NO_NAME.sub("-", path.name).strip(_ENDS)
    if not chosen:
        raise InvalidInput(
            f"the folder {path.name!r} gives the team repo no name", hint="give it one: --name NAME", key="--name"
        )
    return chosen


def list_team_files(repo: TeamRepo) -> tuple[RepoPath, ...]:
    """The Markdown files of a team repo, sorted; no more than a memory folder may have. Errors: DiskFault."""
    from memrepo.files.paths import list_markdown

    return list_markdown(repo.path)[:MARKDOWN_FILES_LIMIT]


class Teams:
    """The team repos of one profile. One object serves one thread."""

    __slots__ = ("_faults", "_is_repository", "_repos", "_rules")

    def __init__(
        self,
        repos: Sequence[TeamRepo],
        rules: TeamRules,
        *,
        is_repository: Callable[[Path], bool] = lambda _: True,
    ) -> None:
        """Without `is_repository` git's opinion is not asked: reading files needs no fit repository."""
        self._repos = tuple(repos)
        self._rules = rules
        self._is_repository = is_repository
        self._faults: dict[str, tuple[object, TeamState]] = {}

    def look(self) -> tuple[TeamState, ...]:
        """All team repos as their folders are now. Changes: nothing."""
        return tuple(self._look(repo, self._repos[:at]) for at, repo in enumerate(self._repos))

    def find_serving(self, workspace_id: str | None) -> tuple[TeamState, ...]:
        """Those that belong into a task of this workspace."""
        return tuple(state for state in self.look() if state.repo.serves(workspace_id))

    def find_visible(self, task: TaskContext) -> tuple[TeamState, ...]:
        """Those that a task may look into, if it sees memory at all: a person into every one."""
        if task.actor is Actor.USER:
            return self.look()
        return self.find_serving(task.workspace.id if task.workspace else None)

    def get(self, name: str, task: TaskContext) -> TeamRepo:
        """The team repo of that name. Errors: NotFound, also where the task may not see it; PathRefused."""
        state = next((state for state in self.find_visible(task) if state.repo.name == name), None)
        if state is None:
            raise NotFound(
                f"there is no team repo {name[:80]!r} here", hint="memrepo team list", what="team repo", name=name
            )
        if state.why:
            raise PathRefused(state.why, hint=state.hint, path=str(state.repo.path), rule="team-repo")
        return state.repo

    def _look(self, repo: TeamRepo, before: Sequence[TeamRepo]) -> TeamState:
        """Looks at the folder anew when it is another one than the last time."""
        stamp = _find_stamp(repo.path)
        known = self._faults.get(repo.name)
        if known is not None and known[0] == stamp:
            return known[1]
        state = TeamState(repo)
        try:
            others = [other.path for other in before]
            check_team_root(repo.path, self._rules, others=others, is_repository=self._is_repository)
        except (PathRefused, DiskFault) as error:
            state = TeamState(repo, error.message, error.hint)
        self._faults[repo.name] = (stamp, state)
        return state


def _find_stamp(folder: Path) -> tuple[object, ...]:
    """What the folder, its history and its first file are: another file, or none, where it was shows."""
    found: list[object] = []
    for place in (folder, folder / ".git", folder / ".git" / "HEAD", folder / MEMORY_FILE):
        try:
            look = place.lstat()
        except (OSError, ValueError):
            found.append(None)
        else:
            found.append((look.st_dev, look.st_ino, look.st_mode))
    return tuple(found)


def _refuse(place: Path, rule: str, why: str) -> PathRefused:
    return PathRefused(f"{str(place)!r} cannot be a team repo: {why}", hint=_CLONE, path=str(place), rule=rule)
