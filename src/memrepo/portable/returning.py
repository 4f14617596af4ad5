"""A memory made whole again from an export: the folder with its history, the private store, the settings.

All of an export is read and judged before anything is written. Then the order is: a folder beside the place, the rows
of the store, the settings, and the folder's name last. So a run that was cut off has left no memory, and is simply run
again: rows and settings that are there already as the export has them are not in its way. Everything else that is
there is: nothing is ever added to a memory that stands.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memrepo.creation import build_repo
from memrepo.errors import GitMissing, MemrepoError, Refused, SettingsError
from memrepo.files.atomic import replace_file
from memrepo.files.folder import NEW_FOLDER_MODE, disk_faults
from memrepo.git.bundle import BundleFault, list_tree_files, parse_bundle, unbundle
from memrepo.git.client import GitClient
from memrepo.model import Origin, Trailers
from memrepo.portable.containers import read_container
from memrepo.portable.package import (
    HISTORY,
    PRIVATE_MEMBERS,
    SETTINGS,
    TOTAL_LIMIT_BYTES,
    Package,
    find_tree_fault,
    make_fault,
    open_package,
    read_lines,
)
from memrepo.settings import parse_settings, read_toml, set_setting, unset_setting
from memrepo.settings_file import read_settings_text, write_settings_text

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable
    from pathlib import Path

    from memrepo.git.bundle import Bundle
    from memrepo.store import PrivateStore
    from memrepo.store.transfer import Rows, StoreCopy

SUBJECT = "Bring memory back"
_OF_ONE_MACHINE = ("store_url", "remote_confirmed_private")
"""Settings that do not travel: where the store was, and a promise about a remote that the user gives anew."""


class StoreSource(Protocol):
    """Gives the private store: `find()` only if there is one already, `get()` makes it. Both may raise StoreFault."""

    def find(self) -> PrivateStore | None: ...
    def get(self) -> PrivateStore: ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory is to come back. `usual_root` is where it is when the settings name no other folder.

    `check_settings` raises when a memory at the root may not have such settings.
    """

    root: Path
    usual_root: Path
    settings_file: Path
    store: StoreSource
    has_git: bool
    now: dt.datetime
    check_settings: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ReturnReport:
    """What came back. `settings`: `taken`, `kept` (there were some already), `absent` or `unusable`.

    `notes` say what is not as it was where the export was made.
    """

    path: Path
    counts: dict[str, int]
    head: str | None
    work_tree: str
    settings: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Arrival:
    """All of an export, judged."""

    package: Package
    bundle: Bundle | None
    copy: StoreCopy


def import_memory(export: Path, place: Place) -> ReturnReport:
    """Makes a memory from an export where there is none.

    Errors: NotFound; ExportFault; Refused when a memory or private facts are there already; GitMissing for an export
    with a history; StoreFault, DiskFault, GitFailed, GitTimeout. Changes: the folder, rows of the store, the settings
    when there are none; after an error there is no folder, and it may be run again.
    """
    arrival = _read_arrival(export, now_ms=int(place.now.timestamp() * 1000))
    _require_room(arrival, place)
    if arrival.bundle is not None and not place.has_git:
        raise GitMissing(
            "the export has a history, and git was not found; nothing was changed",
            hint="install git and see that it is on PATH, then run the command again",
            invariant="git-present",
            path=str(export),
        )
    settings_text, settings, notes = _decide_settings(arrival.package, place)

    def fill(stage: Path) -> None:
        _fill(stage, arrival, export, has_git=place.has_git)
        _fill_store(arrival.copy, place)
        if settings_text is not None:
            write_settings_text(place.settings_file, settings_text, before="")

    if not build_repo(place.root, fill):
        raise _there_already(place.root)
    manifest = arrival.package.manifest
    if manifest.left_out:
        notes.append(
            f"{len(manifest.left_out)} names of the folder were left out when it was exported: see manifest.json"
        )
    return ReturnReport(
        path=place.root,
        counts={
            "files": len(arrival.package.files),
            "commits": manifest.history.commits if manifest.history else 1 if place.has_git else 0,
            **{name: len(rows) for name, rows in arrival.copy.rows.items()},
        },
        head=manifest.history.head if manifest.history else None,
        work_tree=manifest.work_tree if manifest.history else "clean",
        settings=settings,
        notes=tuple(notes),
    )


# Judging: no byte is written


def _read_arrival(export: Path, *, now_ms: int) -> _Arrival:
    package = open_package(export, read_container(export))
    bundle = None
    history = package.manifest.history
    if history is not None:
        try:
            bundle = parse_bundle(package.members[HISTORY])
        except BundleFault as fault:
            raise make_fault(export, "export-unsafe", f"{HISTORY}: {fault}", name=HISTORY) from None
        if bundle.head != history.head:
            raise make_fault(export, "export-damaged", f"{HISTORY} is not of the commit in its manifest", name=HISTORY)
    return _Arrival(package, bundle, _read_store_copy(export, package, now_ms))


def _read_store_copy(export: Path, package: Package, now_ms: int) -> StoreCopy:
    """The rows for the store, without those that have expired since."""
    from memrepo.store.transfer import StoreCopy, find_fault, find_twin

    rows: Rows = {}
    for shelf, member in PRIVATE_MEMBERS.items():
        try:
            rows[shelf] = read_lines(package.members.get(member, b""))
            fault = find_fault(shelf, rows[shelf])
        except ValueError as error:
            fault = str(error)
        if fault:
            raise make_fault(export, "export-damaged", f"{member}: {fault}", name=member)
    if fault := find_twin(rows):
        raise make_fault(export, "export-damaged", fault, name=PRIVATE_MEMBERS["facts"])
    for shelf in ("facts", "commitments"):
        rows[shelf] = [row for row in rows[shelf] if (ends := row.get("expires_at")) is None or ends > now_ms]
    return StoreCopy(rows, dict(package.manifest.last_ids))


def _require_room(arrival: _Arrival, place: Place) -> None:
    """Errors: Refused when a memory stands, or a private store that holds anything but the rows of this export."""
    if os.path.lexists(place.root / ".git") or os.path.lexists(place.root / "MEMORY.md"):
        raise _there_already(place.root)
    store = place.store.find()
    if store is None:
        return
    from memrepo.store.transfer import is_empty

    if not is_empty(store) and not _is_there(arrival.copy, store, place):
        raise Refused(
            "the private store of this profile holds facts already; nothing was changed",
            hint="bring it back into a profile of its own: memrepo init --from EXPORT --profile NAME",
            rule="store-not-empty",
            action="init",
            target=str(place.root),
        )


def _there_already(root: Path) -> Refused:
    return Refused(
        f"there is a memory at {root} already; nothing was changed",
        hint="bring it back into a profile of its own: memrepo init --from EXPORT --profile NAME",
        rule="memory-there",
        action="init",
        target=str(root),
    )


def _is_there(copy: StoreCopy, store: PrivateStore, place: Place) -> bool:
    """Whether a store holds just the rows of an export: those of a run that was cut off."""
    from memrepo.store.transfer import SHELVES, read_rows

    held = read_rows(store, root=str(place.root)).rows
    return all(held[shelf] == copy.rows[shelf] for shelf in SHELVES if shelf != "events")


def _decide_settings(package: Package, place: Place) -> tuple[str | None, str, list[str]]:
    """The text to write as settings (None: none), what became of those of the export, and what to say of it."""
    data = package.members.get(SETTINGS)
    if data is None:
        return None, "absent", []
    if read_settings_text(place.settings_file):
        return None, "kept", [f"there are settings already, they stay as they are: {place.settings_file}"]
    notes = []
    try:
        text = data.decode("utf-8")
        parse_settings(text, file=SETTINGS)
        for key in _OF_ONE_MACHINE:
            if key in read_toml(text, file=SETTINGS):
                text = unset_setting(text, key, file=SETTINGS)
                notes.append(f"the setting {key} is of the machine where the export was made and was left out")
        was = read_toml(text, file=SETTINGS).get("path")
        if place.root == place.usual_root:
            text = unset_setting(text, "path", file=SETTINGS)
        else:
            text = set_setting(text, "path", str(place.root), file=SETTINGS)
        if was is not None and was != str(place.root):
            notes.append(f"the memory was at {was} and is at {place.root} now; the settings say so")
        place.check_settings(text)
    except (SettingsError, MemrepoError, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, MemrepoError) else "they are not UTF-8"
        return None, "unusable", [f"the settings of the export are not taken: {why}"]
    return text, "taken", notes


# Building


def _fill(stage: Path, arrival: _Arrival, export: Path, *, has_git: bool) -> None:
    """Makes the repo in an empty folder. Errors: ExportFault for a history that is refused."""
    package, history = arrival.package, arrival.package.manifest.history
    for path, data in package.files.items():
        replace_file(stage, path, data, expect_digest=None)
    for path in package.executables:
        with disk_faults("write", path):
            (stage / path).chmod(0o700)
    if not has_git:
        with disk_faults("create", str(stage)):
            (stage / ".git").mkdir(mode=NEW_FOLDER_MODE)
        return
    git = GitClient(stage)
    git.init()
    if arrival.bundle is None or history is None:
        git.add(package.files)
        git.commit(SUBJECT, Trailers(Origin.IMPORT))
        return
    try:
        head = unbundle(git, arrival.bundle, branch=history.branch, limit_bytes=4 * TOTAL_LIMIT_BYTES)
    except BundleFault as fault:
        raise make_fault(export, "export-unsafe", f"{HISTORY}: {fault}", name=HISTORY) from fault
    if refused := find_tree_fault(list_tree_files(git, head)):
        raise make_fault(export, "export-unsafe", f"{HISTORY}: {refused[1]}", name=refused[0])


def _fill_store(copy: StoreCopy, place: Place) -> None:
    """Writes the rows, unless a run that was cut off has."""
    if not any(copy.rows.values()) and not any(copy.last_ids.values()):
        return
    from memrepo.store.transfer import is_empty, read_rows, write_rows

    store = place.store.get()
    if is_empty(store):
        is_counted = read_rows(store, root=str(place.root)).rows["events"] == copy.rows["events"]
        rows = copy.rows | {"events": []} if is_counted else copy.rows
        write_rows(store, copy._replace(rows=rows), root=str(place.root))
