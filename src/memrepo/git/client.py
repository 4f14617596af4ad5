"""What memrepo does with git, as typed verbs on one repo. Each says what it changes.

Owns the words of git's command line for everyday work and the gate before each command. Refuses to know what is
remembered, when to write, or who may. Nothing is cached but the gate's stamp: two clients on one folder are as good as
one. A client is for one thread at a time.

A governed write is three processes: `status`, `add`, `commit`. Reading HEAD starts none.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
from typing import TYPE_CHECKING

from memrepo.errors import (
    DiskFault,
    GitFailed,
    InvalidInput,
    MergeConflict,
    NotFound,
    NothingToCommit,
    RepositoryFault,
)
from memrepo.git.commits import (
    LOG_FORMAT,
    Commit,
    PathChange,
    compose_message,
    parse_log,
    parse_name_status,
)
from memrepo.git.gate import Gate
from memrepo.git.hardening import TEXT_MERGE_OVERRIDES
from memrepo.git.process import OUTPUT_LIMIT_BYTES, run_git
from memrepo.git.status import FileType, IndexLock, WorkTree, WorkTreeState, parse_status
from memrepo.model import CommitId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from memrepo.git.audit import Finding
    from memrepo.git.hardening import Override
    from memrepo.git.process import GitOutput
    from memrepo.model import Trailers

MEMORY_BRANCH = "main"

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The id of the tree without entries, which every git knows: the left side of a first commit's diff."""

# What stands below .git while git is in the middle of something (gitrepository-layout(5), git-rebase(1)).
_OPERATION_MARKS = (
    ("rebase-merge", WorkTreeState.REBASE),
    ("rebase-apply", WorkTreeState.REBASE),
    ("MERGE_HEAD", WorkTreeState.MERGE),
    ("CHERRY_PICK_HEAD", WorkTreeState.CHERRY_PICK),
    ("REVERT_HEAD", WorkTreeState.REVERT),
    ("sequencer", WorkTreeState.CHERRY_PICK),
    ("BISECT_LOG", WorkTreeState.BISECT),
    ("BISECT_START", WorkTreeState.BISECT),
)
_COMMITTED = re.compile(rb"\[\S+(?: HEAD)?(?: \(root-commit\))? ([0-9a-f]{40})\] ")
# A name git could not take for an option or a path, and no `rev:path`.
_REVISION = re.compile(r"[\w][\w./@{}^~+#-]*")
_HEAD_LINE = re.compile(r"ref: (refs/\S+)\n?")
_COMMIT_ID = re.compile(r"[0-9a-f]{40}\n?")


class GitClient:
    """The git verbs of the repo at `root` (absolute). Making a client starts nothing and reads nothing.

    `memory_branch` is the branch that memory lives on; `classify` blocks writing on any other.
    """

    __slots__ = ("_gate", "_git_folder", "memory_branch", "root")

    def __init__(self, root: Path, *, memory_branch: str = MEMORY_BRANCH) -> None:
        self.root = root
        self.memory_branch = memory_branch
        self._git_folder = root / ".git"
        self._gate = Gate(root)

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        ok_codes: Collection[int] = (0,),
        timeout_s: float | None = None,
        at: dt.datetime | None = None,
        extra: Sequence[Override] = (),
        network: bool = False,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> GitOutput:
        """Passes the gate and runs one command; for the verbs of this folder. Changes: what the command does.

        `network` lets it reach another machine by https or ssh; without it git speaks to nobody.

        Errors: those of `Gate.check` and of `run_git`.
        """
        self._gate.check()
        return run_git(
            self.root,
            args,
            stdin=stdin,
            ok_codes=ok_codes,
            timeout_s=timeout_s,
            at=at,
            extra=extra,
            network=network,
            limit_bytes=limit_bytes,
        )

    def check(self) -> None:
        """Passes the gate without running anything: the same errors as before any verb. Changes: nothing."""
        self._gate.check()

    def find_config_faults(self) -> tuple[tuple[Finding, str], ...]:
        """All settings and places that the gate refuses, each with its file. Changes: nothing."""
        return self._gate.find_faults()

    # -- making and looking ----------------------------------------------------------------------------------------

    def init(self) -> None:
        """Makes a repo in the existing folder, on the memory branch. Changes: adds `.git`, from no template; no commit.

        A plain `.git` folder without HEAD is filled: it held the lock and the journal while there was no git.
        Errors: RepositoryFault when anything else named `.git` is there.
        """
        branch = _check_revision(self.memory_branch)
        is_empty_shell = self._git_folder.is_dir() and not self._git_folder.is_symlink()
        if os.path.lexists(self._git_folder / "HEAD" if is_empty_shell else self._git_folder):
            raise RepositoryFault(
                f"{self._git_folder} is there already",
                hint="memrepo doctor",
                invariant="git-absent",
                path=str(self._git_folder),
            )
        run_git(self.root, ("init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={branch}"))

    def head(self) -> CommitId | None:
        """The commit of HEAD, None before the first. Reads files; asks git only for packed refs. Changes: nothing."""
        name = self._read_head()
        if _COMMIT_ID.fullmatch(name):
            return CommitId(name.strip())
        ref = _HEAD_LINE.fullmatch(name)
        if ref:
            loose = self._read_git_file(ref[1])
            if loose is not None and _COMMIT_ID.fullmatch(loose):
                return CommitId(loose.strip())
        found = self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok_codes=(0, 1))
        return CommitId(found.stdout.decode().strip()) if found.exit_code == 0 else None

    def current_branch(self) -> str | None:
        """The branch that HEAD is on, also before its first commit; None when detached. Changes: nothing."""
        ref = _HEAD_LINE.fullmatch(self._read_head())
        return ref[1].removeprefix("refs/heads/") if ref else None

    def status(self) -> WorkTree:
        """What differs from HEAD, all untracked files one by one, what is under way, and the index lock.

        One process. Changes: nothing, not even the index. Renames show as a removal and an addition.
        """
        lock = self._find_index_lock()
        listed = self.run(
            "status",
            "--porcelain=v1",
            "-z",
            "--branch",
            "--no-ahead-behind",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        )
        return parse_status(
            listed.stdout,
            self._find_type,
            operation=self._find_operation(),
            index_lock=lock or self._find_index_lock(),
        )

    # -- writing ---------------------------------------------------------------------------------------------------

    def add(self, paths: Iterable[str]) -> None:
        """Stages exactly these paths, removed ones too. Changes: the index, loose objects.

        A path that is ignored is staged all the same: who names it means it. Errors: GitFailed when a path is neither
        in the work tree nor in the index.
        """
        listed = b"".join(os.fsencode(path) + b"\0" for path in paths)
        if listed:  # without paths git would complain; stdin, because many paths pass the limit of a command line
            self.run("add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=listed)

    def commit(
        self, subject: str, trailers: Trailers, *, paths: Sequence[str] | None = None, at: dt.datetime | None = None
    ) -> CommitId:
        """Commits what is staged and returns the new commit. Changes: the branch, its reflog, the index, objects.

        With `paths`, only these paths as they are in the work tree; what else is staged stays staged. Author and
        committer are CoWork OS; the subject is made one line; `at` must have a zone.
        Errors: NothingToCommit; GitFailed.
        """
        message = compose_message(subject, trailers)
        flags = ("--no-verify", "--no-status", "--no-gpg-sign", "--cleanup=verbatim", "--file=-")
        only = () if paths is None else ("--only", "--", *paths)
        try:
            done = self.run("commit", *flags, *only, stdin=message, at=at)
        except GitFailed as error:
            if error.facts["exit_code"] == 1 and not error.facts["stderr"]:  # git says so on stdout alone
                raise NothingToCommit("there is nothing to commit: the files are as the last commit has them") from None
            raise
        told = _COMMITTED.match(done.stdout)
        head = CommitId(told[1].decode()) if told else self.head()
        if head is None:
            raise RepositoryFault("a commit was made, but HEAD names none", hint="memrepo doctor", invariant="head")
        return head

    def revert(self, commit: str, subject: str, trailers: Trailers, *, at: dt.datetime | None = None) -> CommitId:
        """Undoes one commit by a new one. Changes: files, index, branch; on an error, nothing is left changed.

        The work tree must be clean. Merges as text even where notes merge by union. Of a merge commit the second
        side is undone.
        Errors: MergeConflict (later changes touch the same lines), NothingToCommit (nothing left to undo).
        """
        parents = self.get_commit(commit).parents
        mainline = ("--mainline=1",) if len(parents) > 1 else ()
        done = self.run(
            "revert", "--no-commit", *mainline, _check_revision(commit), ok_codes=(0, 1), extra=TEXT_MERGE_OVERRIDES
        )
        if done.exit_code == 1:
            paths = self._list_unmerged()
            self.run("revert", "--abort")
            raise MergeConflict(
                f"{commit[:12]} cannot be undone: later changes touch the same lines of {', '.join(paths)}",
                hint="undo the later change first, or edit the lines",
                paths=paths,
            )
        try:
            return self.commit(subject, trailers, at=at)
        except NothingToCommit:
            self.run("revert", "--abort")
            raise NothingToCommit(f"{commit[:12]} is undone already", hint="memrepo log") from None

    # -- reading history -------------------------------------------------------------------------------------------

    def log(
        self,
        *,
        limit: int | None = None,
        path: str | None = None,
        since: dt.datetime | None = None,
        revision: str = "HEAD",
    ) -> tuple[Commit, ...]:
        """Commits from `revision` back, the newest first; () before the first. Changes: nothing."""
        if revision == "HEAD" and self.head() is None:
            return ()
        args = ["log", "-z", f"--format={LOG_FORMAT}", "--no-color"]
        if limit is not None:
            args.append(f"--max-count={max(0, limit)}")
        if since is not None:
            args.append(f"--since={since.isoformat()}")
        args += [_check_revision(revision), "--"]
        return parse_log(self.run(*args, *([path] if path is not None else [])).stdout)

    def get_commit(self, revision: str) -> Commit:
        """One commit. Errors: NotFound. Changes: nothing."""
        found = self.run(
            "rev-parse", "--verify", "--quiet", f"{_check_revision(revision)}^{{commit}}", ok_codes=(0, 1, 128)
        )
        if found.exit_code:
            raise NotFound(f"there is no commit {revision!r}", hint="memrepo log", what="commit", name=revision)
        return self.log(limit=1, revision=found.stdout.decode().strip())[0]

    def count_commits(self, revision: str = "HEAD") -> int:
        """How many commits lead to `revision`; 0 before the first. Changes: nothing."""
        if revision == "HEAD" and self.head() is None:
            return 0
        return int(self.run("rev-list", "--count", _check_revision(revision), "--").stdout)

    def show(self, commit: str) -> tuple[PathChange, ...]:
        """The paths that a commit changed against its first parent, renames as two. Changes: nothing."""
        return parse_name_status(
            self.run(
                "show",
                "--first-parent",
                "--diff-merges=first-parent",
                "--format=",
                "--name-status",
                "-z",
                "--no-renames",
                "--no-ext-diff",
                "--no-color",
                _check_revision(commit),
                "--",
            ).stdout
        )

    def diff(self, old: str | None, new: str | None = None, *, path: str | None = None) -> bytes:
        """A unified diff. `old=None` is the empty tree; `new=None` is the work tree. Changes: nothing."""
        sides = [EMPTY_TREE if old is None else _check_revision(old)]
        if new is not None:
            sides.append(_check_revision(new))
        return self.run(
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--ignore-submodules=dirty",
            "--unified=3",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--find-renames",
            *sides,
            "--",
            *([path] if path is not None else []),
        ).stdout

    def read_blob(self, commit: str, path: str) -> bytes:
        """A file's bytes as a commit has them, no filter or conversion applied. Errors: NotFound. Changes: nothing."""
        if "\n" in path:
            raise InvalidInput("a path holds a line break", key="path", value=path)
        name = f"{_check_revision(commit)}:{path}"
        answer = self.run("cat-file", "--batch", stdin=os.fsencode(name) + b"\n").stdout
        header, _, content = answer.partition(b"\n")
        words = header.split(b" ")
        if len(words) != 3 or words[1] != b"blob" or not words[2].isdigit():
            raise NotFound(f"{path} is not in commit {commit[:12]}", hint="memrepo log", what="file", name=path)
        return content[: int(words[2])]

    def list_tree(self, commit: str) -> tuple[tuple[str, str], ...]:
        """The files of a commit, each `(path, blob id)`. Changes: nothing."""
        listed = self.run("ls-tree", "-r", "-z", "--full-tree", _check_revision(commit)).stdout
        rows = (record.split(b"\t", 1) for record in listed.split(b"\0") if record)
        return tuple((os.fsdecode(path), head.split(b" ")[2].decode()) for head, path in rows)

    def refs(self, prefix: str = "refs/") -> tuple[tuple[str, CommitId], ...]:
        """All refs below `prefix` with the object each names, by name. Changes: nothing."""
        listed = self.run("for-each-ref", "--format=%(objectname) %(refname)", prefix).stdout
        rows = (line.partition(" ") for line in listed.decode("utf-8", "surrogateescape").split("\n") if line)
        return tuple((name, CommitId(object_id)) for object_id, _, name in rows)

    def branches(self) -> tuple[tuple[str, CommitId], ...]:
        """Local branches with their commits, by name. Changes: nothing."""
        return tuple((name.removeprefix("refs/heads/"), commit) for name, commit in self.refs("refs/heads/"))

    def stashes(self) -> tuple[CommitId, ...]:
        """Stashed work trees, the newest first. Changes: nothing."""
        if not self.refs("refs/stash"):
            return ()
        listed = self.run("log", "--walk-reflogs", "--format=%H", "refs/stash", "--").stdout
        return tuple(CommitId(line) for line in listed.decode().split())

    def worktrees(self) -> tuple[tuple[str, str | None], ...]:
        """Linked worktrees, without the main one: folder, and branch or None. Changes: nothing."""
        listed = self.run("worktree", "list", "--porcelain").stdout.decode("utf-8", "surrogateescape")
        found: list[tuple[str, str | None]] = []
        for block in listed.strip("\n").split("\n\n")[1:]:
            rows = dict(line.partition(" ")[::2] for line in block.split("\n"))
            branch = rows.get("branch")
            found.append((rows["worktree"], branch.removeprefix("refs/heads/") if branch else None))
        return tuple(found)

    # -- what the disk tells ---------------------------------------------------------------------------------------

    def _read_head(self) -> str:
        text = self._read_git_file("HEAD")
        if text is None:
            raise RepositoryFault(
                f"{self.root} is not a git repository",
                hint="memrepo init",
                invariant="git-repository",
                path=str(self.root),
            )
        return text

    def _read_git_file(self, name: str) -> str | None:
        path = self._git_folder / name
        try:
            return path.read_text("utf-8", "surrogateescape")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise DiskFault(
                f"{path} cannot be read: {error.strerror}",
                hint="memrepo doctor",
                invariant="git-folder",
                path=str(path),
            ) from error

    def _find_operation(self) -> WorkTreeState | None:
        for name, state in _OPERATION_MARKS:
            if os.path.lexists(self._git_folder / name):
                todo = self._read_git_file("sequencer/todo") if name == "sequencer" else None
                return WorkTreeState.REVERT if todo and todo.startswith("revert") else state
        return None

    def _find_index_lock(self) -> IndexLock | None:
        path = self._git_folder / "index.lock"
        try:
            found = os.lstat(path)
        except OSError:
            return None
        return IndexLock(str(path), dt.datetime.fromtimestamp(found.st_mtime, dt.UTC), found.st_size)

    def _find_type(self, path: str) -> FileType:
        try:
            mode = os.lstat(self.root / path).st_mode
        except OSError:
            return FileType.MISSING
        if stat.S_ISREG(mode):
            return FileType.FILE
        if stat.S_ISLNK(mode):
            return FileType.SYMLINK
        return FileType.FOLDER if stat.S_ISDIR(mode) else FileType.OTHER

    def _list_unmerged(self) -> tuple[str, ...]:
        listed = self.run("diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff").stdout
        return tuple(os.fsdecode(path) for path in listed.split(b"\0") if path)


def find_memory_branch(root: Path) -> str:
    """The branch that memory lives on: `main` where there is one, else (an adopted repo) the one that HEAD is on.

    Reads files, starts no git. Changes: nothing.
    """
    git_folder = root / ".git"
    own = f"refs/heads/{MEMORY_BRANCH}"
    packed = git_folder / "packed-refs"
    try:
        if (git_folder / own).exists() or (packed.exists() and f" {own}\n" in packed.read_text("utf-8", "replace")):
            return MEMORY_BRANCH
        head = _HEAD_LINE.fullmatch((git_folder / "HEAD").read_text("utf-8", "replace"))
    except OSError:
        return MEMORY_BRANCH  # what is wrong with the folder is said by the gate
    return head[1].removeprefix("refs/heads/") if head else MEMORY_BRANCH


def _check_revision(name: str) -> str:
    if not _REVISION.fullmatch(name) or ".." in name:
        raise InvalidInput(f"{name!r} is not the name of a commit or branch", key="revision", value=name)
    return name
