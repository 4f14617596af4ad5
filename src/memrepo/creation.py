"""A memory repo comes into being whole: made beside its place under another name, then renamed to it.

So a killed or raced creation leaves either no repo or a whole one, never half of one. Only a folder that cannot be
replaced by a rename (it holds a file manager's droppings, or its parent may not be written) is filled in place, `.git`
last. What a folder must be to become a memory repo is not decided here (`files.roots`).
Source: memory repo design (seed 1) §3, §4.1.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from memrepo.files.atomic import replace_file
from memrepo.files.folder import NEW_FOLDER_MODE, NO_HARD_LINKS, disk_faults, random_name
from memrepo.files.paths import list_markdown
from memrepo.format.document import add_link, new_document
from memrepo.git.client import GitClient
from memrepo.git.gate import is_repository
from memrepo.lock import WriteLock
from memrepo.model import INBOX_FILE, LESSONS_FILE, ME_FILE, MEMORY_FILE, RepoPath, Trailers
from memrepo.planning.draft import TITLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memrepo.model import Origin

FIRST_SUBJECT = "Create memory"
IGNORE_FILE = RepoPath(".gitignore")
ATTRIBUTES_FILE = RepoPath(".gitattributes")
# What editors and file managers leave beside a file. Anything else that is no Markdown stops the writer and is told.
IGNORED = (
    "*~",
    "*.swp",
    "*.swo",
    "*.bak",
    "*.tmp",
    ".#*",
    "\\#*#",
    ".memrepo-*.tmp",
    ".DS_Store",
    "._*",
    "Thumbs.db",
    "desktop.ini",
    ".obsidian/",
)
ATTRIBUTES = "*.md merge=union\n"
_GIT_FOLDER = ".git"


def create_repo(root: Path, *, has_git: bool, origin: Origin) -> bool:
    """Makes a memory repo at a missing or empty folder; False when another process made it meanwhile.

    Errors: DiskFault, GitFailed; then the folder is as it was. Changes: the folder, with the files of
    the starting layout and one commit; without git an empty `.git` for the lock and the journal.
    """
    return build_repo(root, lambda stage: _fill(stage, has_git=has_git, origin=origin))


def build_repo(root: Path, fill: Callable[[Path], None]) -> bool:
    """Gives `root` what `fill` makes of an empty folder beside it; False when another process made one meanwhile.

    Errors: DiskFault and those of `fill`; then the folder is as it was.
    """
    with disk_faults("create", str(root)):
        root.parent.mkdir(mode=NEW_FOLDER_MODE, parents=True, exist_ok=True)
        stage = _make_stage(root)
    try:
        fill(stage)
        with disk_faults("create", str(root)):
            return _put_in_place(stage, root)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def lacks_history(root: Path) -> bool:
    """Whether a memory folder stands without a commit: made while git was missing, or killed before its first."""
    if not os.path.lexists(root / MEMORY_FILE) or not os.path.lexists(root / _GIT_FOLDER):
        return False
    return not is_repository(root) or GitClient(root).head() is None


def start_history(root: Path, *, origin: Origin) -> None:
    """Gives a folder that was made while git was missing its history: one commit of what it holds.

    Running it again finishes what a killed run began.

    Errors: LockBusy, GitFailed, DiskFault. Changes: `.git`, one commit; no file of the work tree.
    """
    with WriteLock(root / _GIT_FOLDER).hold():
        git = GitClient(root)
        if not is_repository(root):
            git.init()
        names = (path for path in (IGNORE_FILE, ATTRIBUTES_FILE) if (root / path).exists())
        git.add((*names, *list_markdown(root)))
        git.commit(FIRST_SUBJECT, Trailers(origin))


def _make_stage(root: Path) -> Path:
    """A new folder on the file system of the root: beside it or, when that may not be written, in it."""
    name = random_name()
    try:
        stage = root.parent / name
        stage.mkdir(mode=NEW_FOLDER_MODE)
    except PermissionError:
        stage = root / name
        stage.mkdir(mode=NEW_FOLDER_MODE)
    return stage


def _fill(stage: Path, *, has_git: bool, origin: Origin) -> None:
    memory = new_document(TITLES[MEMORY_FILE])
    for path in (ME_FILE, LESSONS_FILE):
        memory = add_link(memory, path.removesuffix(".md"))
    files = {
        MEMORY_FILE: memory.to_bytes(),
        **{path: new_document(TITLES[path]).to_bytes() for path in (ME_FILE, LESSONS_FILE, INBOX_FILE)},
        IGNORE_FILE: "".join(f"{pattern}\n" for pattern in IGNORED).encode(),
        ATTRIBUTES_FILE: ATTRIBUTES.encode(),
    }
    for path, data in files.items():
        replace_file(stage, path, data, expect_digest=None)
    if not has_git:
        (stage / _GIT_FOLDER).mkdir(mode=NEW_FOLDER_MODE)
        return
    git = GitClient(stage)
    git.init()
    git.add(files)
    git.commit(FIRST_SUBJECT, Trailers(origin))


def _put_in_place(stage: Path, root: Path) -> bool:
    if stage.parent != root:
        try:
            stage.rename(root)  # takes the place of an empty folder too
        except OSError:
            if not root.is_dir():
                raise
        else:
            _sync_folder(root.parent)
            return True
    if os.path.lexists(root / _GIT_FOLDER):
        return False
    for name in sorted(path.name for path in stage.iterdir() if path.name != _GIT_FOLDER):
        _place_absent(stage / name, root / name)
    try:
        (stage / _GIT_FOLDER).rename(root / _GIT_FOLDER)
    except OSError:
        if os.path.lexists(root / _GIT_FOLDER):  # another process was first
            return False
        raise
    _sync_folder(root)
    return True


def _place_absent(source: Path, target: Path) -> None:
    """Gives a file its place, unless one is there: who made it may have written a fact to it since."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if not os.path.lexists(target):
            source.rename(target)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
