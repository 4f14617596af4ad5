"""A governed write against the bare `git status`, `git add`, `git commit` that it must run, in the same run."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import measure_in_turn, report

from memrepo.creation import create_repo
from memrepo.git.client import GitClient
from memrepo.lock import WriteLock
from memrepo.model import Actor, Candidate, Origin, Taint, TaskContext
from memrepo.service import MemoryRepoService
from memrepo.writer import Writer

if TYPE_CHECKING:
    from memrepo.store import PrivateStore

USER = TaskContext(actor=Actor.USER, origin=Origin.CLI, taint=Taint.CLEAN)
RUNS = 60
BAR = 1.5


class NoStore:
    """These writes keep nothing outside the repo."""

    def find(self) -> PrivateStore | None:
        return None

    def get(self) -> PrivateStore:
        raise NotImplementedError

    def may_have_pending(self, root: str) -> bool:  # noqa: ARG002 - the protocol's
        return False


def open_service(root: Path) -> MemoryRepoService:
    """A new memory repo at `root`, opened for writing."""
    create_repo(root, has_git=True, origin=Origin.CLI)
    writer = Writer(root, git=GitClient(root), lock=WriteLock(root / ".git"))
    return MemoryRepoService(writer, store=NoStore(), clock=lambda: dt.datetime.now(dt.UTC))


def compare(files: int, folder: Path) -> None:
    """Measures both with `files` Markdown files in the folder."""
    root, bare = folder / "memory", folder / "bare"
    service = open_service(root)
    (root / "notes").mkdir()
    for number in range(files - 4):
        (root / f"notes/note-{number}.md").write_text(f"# Note {number}\n\n- A fact of note {number}\n")
    service.remember(Candidate("The first fact takes the notes in"), USER)
    shutil.copytree(root, bare)
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")

    def governed(number: int) -> None:
        assert service.remember(Candidate(f"Fact number {number} of the benchmark"), USER).commit

    def plain(number: int) -> None:
        with (bare / "me.md").open("a") as file:
            file.write(f"- Fact number {number} of the benchmark\n")
        for command in (("status", "--porcelain=v1", "-z"), ("add", "--", "me.md"), ("commit", "-m", f"Fact {number}")):
            subprocess.run(["git", *identity, *command], cwd=bare, capture_output=True, check=True)

    ours, theirs = measure_in_turn(RUNS, ("remember()", governed), ("bare git status, add, commit", plain))
    ratio = ours.median_ms / theirs.median_ms
    report(f"Governed write, {files} files", (ours, theirs), f"ratio {ratio:.2f} (bar {BAR})")


def main() -> None:
    for files in (200, 2_000):
        with tempfile.TemporaryDirectory() as folder:
            compare(files, Path(folder))


if __name__ == "__main__":
    main()
