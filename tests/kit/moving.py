"""Homes with a memory in all its parts, to leave from and to come back to."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.kit.repos import raw_git

from memrepo.app import MemoryRepo
from memrepo.locations import find_locations
from memrepo.model import Actor, Kind, Origin, Scope, Taint, TaskContext, Workspace
from memrepo.portable.containers import Form, read_container, write_container
from memrepo.portable.package import MANIFEST, describe_member
from memrepo.store.transfer import StoreCopy, read_rows

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping
    from pathlib import Path

USER = TaskContext.for_user()
AGENT = TaskContext(task_id="t-9", taint=Taint.CLEAN, workspace=Workspace("ws-1", "Billing"))
STRANGER = TaskContext(
    task_id="t-8", actor=Actor.AGENT, origin=Origin.AGENT_TOOL, sender_is_owner=False, sender_ref="bob@example.com"
)
SETTINGS = '# mine\nuntrusted_tools = ["mail_*"]  # they read mail\n'


@dataclass(frozen=True)
class Home:
    """One home folder of a user."""

    folder: Path

    def open(self, **more: Any) -> MemoryRepo:
        self.folder.mkdir(exist_ok=True)
        return MemoryRepo.open(locations=find_locations(self.folder / ".memrepo"), home=self.folder, **more)

    @property
    def root(self) -> Path:
        return self.folder / "CoWork Memory"

    @property
    def settings_file(self) -> Path:
        return self.folder / ".memrepo" / "config" / "settings.toml"

    def fill(self) -> None:
        """A memory with something of every kind in it, and hand edits in no commit."""
        self.settings_file.parent.mkdir(parents=True)
        self.settings_file.write_text(SETTINGS, "utf-8")
        with self.open() as repo:
            repo.remember("Prefers tabs", USER)
            repo.remember("Deploys on Tuesdays", AGENT, kind=Kind.PROJECT_FACT, scope=Scope.WORKSPACE)
            repo.remember("Takes pills", USER, private=True)
            repo.remember("Lives in Ulm", USER, private=True, subject="home")
            repo.remember("Lives in Köln", USER, private=True, subject="home")
            repo.remember("Asked about invoices", STRANGER)
            repo.remember("Call Ann", USER, kind=Kind.COMMITMENT)
            repo.remember("It worked", AGENT, kind=Kind.OUTCOME)
            short = repo.remember("Was in Rome", USER, private=True).kept_ref  # the last number, and then of no fact
            assert short is not None
            for ref in (repo.private.list(USER)[0].ref, short):
                repo.private.forget(ref, USER)
            (self.root / "photo.png").write_bytes(b"\x89PNG")  # holds up the next write
            repo.remember("Waits for the folder", USER)
            (self.root / "photo.png").unlink()
        raw_git(self.root, "tag", "before-the-move")
        (self.root / "me.md").write_bytes((self.root / "me.md").read_bytes() + b"- By hand \r\n")
        (self.root / "bytes.md").write_bytes(b"\xff\xfe\x00 no text\r")
        (self.root / "query.sh").write_bytes(b'#!/bin/sh\ngrep -r "$1" .\n')
        (self.root / "query.sh").chmod(0o700)

    def export(self, target: Path, form: str | None = None) -> Path:
        with self.open(read_only=True) as repo:
            repo.export_to(target, form=form)
        return target

    def come_back(self, export: Path) -> Any:
        with self.open(create=False, may_be_missing=True) as repo:
            return repo.init_from(export)

    def read_files(self) -> dict[str, tuple[bytes, bool]]:
        """Every file outside of `.git` with whether it may be run."""
        return {
            str(path.relative_to(self.root)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
            for path in self.root.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(self.root).parts
        }

    def read_store(self) -> StoreCopy:
        with self.open(read_only=True) as repo:
            store = repo.store.find()
            assert store is not None
            return read_rows(store, root=str(repo.root))

    def read_refs(self) -> str:
        return raw_git(self.root, "for-each-ref", "--format=%(refname) %(objectname)").decode()

    def read_status(self) -> str:
        return raw_git(self.root, "status", "--porcelain", "--untracked-files=all").decode()

    def is_untouched(self) -> bool:
        """No memory, no settings, no row, and nothing half done."""
        store = self.folder / ".memrepo" / "data" / "profiles" / "default" / "private.sqlite3"
        left = [path.name for path in self.folder.glob(".memrepo-*")] if self.folder.exists() else []
        return not self.root.exists() and not self.settings_file.exists() and not store.exists() and not left


def change(
    export: Path, into: Path, edit: Callable[[dict[str, bytes], dict[str, Any]], None], *, at: dt.datetime
) -> Path:
    """A copy of an export whose members were changed by one who also knows how to write a manifest."""
    members = read_container(export)
    manifest = json.loads(members.pop(MANIFEST))
    edit(members, manifest)
    runs = {row["name"] for row in manifest["members"] if row.get("executable")}
    manifest["members"] = [
        {"name": one.name, "size_bytes": one.size_bytes, "sha256": one.sha256, "executable": one.name in runs}
        for one in (describe_member(name, data) for name, data in members.items())
    ]
    write_container(into, Form.ZIP, {MANIFEST: json.dumps(manifest).encode(), **members}, at=at)
    return into


def repack(export: Path, into: Path, edit: Callable[[zipfile.ZipFile, Mapping[str, bytes]], None]) -> Path:
    """A copy of an exported zip to which `edit` may add what no program of ours writes."""
    shutil.copyfile(export, into)
    with zipfile.ZipFile(export) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        edit(archive, members)
    into.write_bytes(packed.getvalue())
    return into
