"""Whether memory keeps its promises when agents, pages and planted files try to break them.

Each case plays one attack in a folder of its own, through the doors that real agents use (hooks and tools), and says
what it saw when a promise did not hold. Prints nothing; keeps nothing.
Source: memory repo design (seed 1) §11, the seven cases; the others are the ways around them that are known.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from memrepo.errors import InvalidInput
from memrepo.model import TaskContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memrepo.app import MemoryRepo

HOST = "claude-code"
USER = TaskContext.for_user()
_HOST_NAMES = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "before-tool": "PreToolUse",
    "after-tool": "PostToolUse",
    "sub-agent-start": "SubagentStart",
}


class SafetyDoors(Protocol):
    """How a case gets at memory: what an agent host and its agent would call, for the memory of one home folder."""

    def open_repo(self, home: Path) -> MemoryRepo:
        """The memory as the user's own program opens it."""

    def answer_hook(self, home: Path, host: str, event: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer of one hook; empty when it says nothing."""

    def call_tool(self, home: Path, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The structured answer of one tool; with the key `error` when it refused."""


@dataclass(frozen=True, slots=True)
class SafetyRow:
    """One case. `tries` counts the attacks it made; `seen` says for each that got through what was seen."""

    case: str
    about: str
    tries: int
    seen: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every promise of the case was kept."""
        return not self.seen


@dataclass(frozen=True, slots=True)
class Case:
    """A case by name: what it promises, and how it is played."""

    name: str
    about: str
    play: Callable[[World], None]


@dataclass
class World:
    """A home folder with a memory, a project, and an agent host that tells our hooks what happens."""

    home: Path
    doors: SafetyDoors
    tries: int = 0
    seen: list[str] = field(default_factory=list)
    session: str = "a3d1c7f0-57a9-4d5e-8a43-0c9d2be4f111"

    @property
    def project(self) -> Path:
        """The folder that the agent works in."""
        return self.home / "code" / "billing"

    @property
    def root(self) -> Path:
        """The memory folder."""
        return self.home / "CoWork Memory"

    def check(self, holds: bool, seen: str) -> None:  # noqa: FBT001 - an assertion reads so
        """Counts one try and, when the promise does not hold, keeps what was seen."""
        self.tries += 1
        if not holds:
            self.seen.append(seen)

    def hook(self, event: str, *, session: str = "", **fields: object) -> Mapping[str, Any]:
        """Tells the hooks of one event, as Claude Code words it, and returns what they answer for it."""
        document = {
            "session_id": session or self.session,
            "transcript_path": str(self.project / "transcript.jsonl"),
            "cwd": str(self.project),
            "hook_event_name": _HOST_NAMES[event],
            **fields,
        }
        answer = self.doors.answer_hook(self.home, HOST, event, document)
        specific: Mapping[str, Any] = answer.get("hookSpecificOutput", {})
        return specific

    def start(self, *, session: str = "", says: str = "please look at the tests", **fields: object) -> str:
        """Begins a session in which the user says one thing; the block that the agent is shown."""
        shown = str(
            self.hook("session-start", session=session, source="startup", **fields).get("additionalContext", "")
        )
        self.hook("prompt", session=session, prompt=says)
        return shown

    def stamp(
        self, tool: str, arguments: Mapping[str, Any], *, session: str = "", **fields: object
    ) -> Mapping[str, Any]:
        """The arguments of a memory tool as the hook changed them."""
        answer = self.hook(
            "before-tool", session=session, tool_name=f"mcp__memrepo__{tool}", tool_input=dict(arguments), **fields
        )
        changed: Mapping[str, Any] = answer.get("updatedInput", arguments)
        return changed

    def call(
        self, tool: str, *, session: str = "", agent_id: str | None = None, **arguments: object
    ) -> Mapping[str, Any]:
        """Calls a memory tool in a session."""
        fields: dict[str, Any] = {} if agent_id is None else {"agent_id": agent_id, "agent_type": "Explore"}
        return self.doors.call_tool(self.home, tool, self.stamp(tool, arguments, session=session, **fields))

    def call_unstamped(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Calls a memory tool around the hooks."""
        return self.doors.call_tool(self.home, tool, arguments)

    def fetch(self, page: str, **fields: Any) -> None:
        """The agent reads a page of the web."""
        asked = {"url": "https://planted.example/", "prompt": "read it"}
        call: dict[str, Any] = {"tool_name": "WebFetch", "tool_input": asked}
        self.hook("before-tool", **call, **fields)
        self.hook("after-tool", **call, tool_response={"result": page}, **fields)

    def is_denied(self, tool: str, **arguments: object) -> bool:
        """Whether a hook denies a call of one of the host's own tools."""
        return self.hook("before-tool", tool_name=tool, tool_input=arguments).get("permissionDecision") == "deny"

    def block(self, task: TaskContext = USER) -> str:
        """The block that a task is given."""
        with self.doors.open_repo(self.home) as repo:
            return repo.context(task).text

    def read(self, path: str) -> str:
        """A file of the memory; empty when it is not there."""
        place = self.root / path
        return place.read_text(encoding="utf-8") if place.exists() else ""

    def lines(self) -> list[str]:
        """All entries of all files."""
        files = sorted(self.root.rglob("*.md"))
        return [line for file in files for line in file.read_text(encoding="utf-8").split("\n") if line.startswith("-")]

    def find_bytes(self, needles: Sequence[str]) -> tuple[str, ...]:
        """Where texts stand: in files below the home folder (the project's left out) and in objects of git."""
        from memrepo.git.compaction import search_objects

        wanted = [needle.encode() for needle in needles]
        found = []
        for folder, names, files in os.walk(self.home):
            if Path(folder) == self.home:
                names[:] = [name for name in names if name != self.project.parent.name]
            for name in files:
                data = Path(folder, name).read_bytes()
                found += [str(Path(folder, name).relative_to(self.home)) for needle in wanted if needle in data]
        with self.doors.open_repo(self.home) as repo:
            git = repo.find_git()
            if git is not None:
                found += [hit.where for hit in search_objects(git, wanted)]
        return tuple(found)


def measure_safety(
    doors: SafetyDoors, *, cases: Iterable[str] = (), progress: Callable[[str], None] | None = None
) -> tuple[SafetyRow, ...]:
    """Plays each case, or those that are named, and says what held.

    Errors: InvalidInput for a name that no case has; what a case itself cannot do here (no git, a full disk).
    Changes: temporary folders, gone afterwards.
    """
    from memrepo.evals.safety_cases import CASES

    known = {case.name: case for case in CASES}
    unknown = [name for name in cases if name not in known]
    if unknown:
        raise InvalidInput(
            f"there is no case {unknown[0]!r}", hint=f"one of: {', '.join(known)}", key="case", value=unknown[0]
        )
    rows = []
    for case in [known[name] for name in cases] or CASES:
        if progress is not None:
            progress(case.name)
        with tempfile.TemporaryDirectory(prefix="memrepo-safety-") as folder:
            world = _make_world(Path(folder).resolve() / "home", doors)
            case.play(world)
            rows.append(SafetyRow(case.name, case.about, world.tries, tuple(world.seen)))
    return tuple(rows)


def _make_world(home: Path, doors: SafetyDoors) -> World:
    world = World(home, doors)
    (world.project / ".git").mkdir(parents=True)
    with doors.open_repo(home) as repo:
        repo.remember("Prefers tabs over spaces", USER)
    return world
