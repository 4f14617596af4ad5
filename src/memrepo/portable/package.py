"""What an export holds, as values, and every reason to refuse one. Pure: bytes in, values out, nothing is touched.

An export is a set of members, names with their bytes, of which `manifest.json` names every other with its size and its
SHA-256. Nothing of an export is used that the manifest does not prove. The sums tell damage, not malice: who can write
the export can write its manifest, so names and sizes are judged as a stranger's.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memrepo.errors import ExportFault, PathRefused
from memrepo.files.paths import check_repo_path
from memrepo.model import MEMORY_FILE, RepoPath
from memrepo.store.shelves import SHELF_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from memrepo.git.bundle import TreeFile

FORMAT = "memrepo-export"
VERSION = 1

MANIFEST = "manifest.json"
README = "README.txt"
SETTINGS = "settings.toml"
HISTORY = "history.bundle"
FILES = "files/"
PRIVATE = "private/"
PRIVATE_MEMBERS = {name: f"{PRIVATE}{name}.jsonl" for name in SHELF_NAMES}
_FIXED = frozenset({README, SETTINGS, HISTORY, *PRIVATE_MEMBERS.values()})

MEMBERS_LIMIT = 25_000
FILE_LIMIT_BYTES = 64 * 1024 * 1024
TOTAL_LIMIT_BYTES = 1024 * 1024 * 1024
MANIFEST_LIMIT_BYTES = 32 * 1024 * 1024

_PLAIN_MODES = frozenset({"100644", "100755"})


@dataclass(frozen=True, slots=True)
class Member:
    """What the manifest says of one member."""

    name: str
    size_bytes: int
    sha256: str
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """Where HEAD was: its commit, and the branch it was on (None: on none)."""

    head: str
    branch: str | None
    commits: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export says of itself. `history` is None where there is none; `left_out` are pairs of name and why."""

    created_at: dt.datetime
    program: str
    members: tuple[Member, ...]
    history: History | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    last_ids: Mapping[str, int] = field(default_factory=dict)
    work_tree: str = "clean"
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Package:
    """An export whose every member is proven. `files` and `private` are its parts by path and by shelf."""

    manifest: Manifest
    members: Mapping[str, bytes]

    @property
    def files(self) -> dict[RepoPath, bytes]:
        return {
            RepoPath(name.removeprefix(FILES)): data for name, data in self.members.items() if name.startswith(FILES)
        }

    @property
    def executables(self) -> tuple[RepoPath, ...]:
        return tuple(
            RepoPath(member.name.removeprefix(FILES)) for member in self.manifest.members if member.is_executable
        )


def make_fault(place: Path | str, invariant: str, why: str, *, hint: str = "", name: str = "") -> ExportFault:
    """The refusal of an export; `why` says what it is about and `name` which member."""
    return ExportFault(
        f"{place}: {why}; nothing was changed",
        hint=hint or "take another copy of the export, or make it anew: memrepo export --to PATH",
        invariant=invariant,
        path=str(place),
        name=name,
    )


def describe_member(name: str, data: bytes, *, is_executable: bool = False) -> Member:
    """What the manifest is to say of a member."""
    return Member(name, len(data), hashlib.sha256(data).hexdigest(), is_executable)


def write_manifest(manifest: Manifest) -> bytes:
    """The bytes of `manifest.json`."""
    history = manifest.history
    document = {
        "format": FORMAT,
        "version": VERSION,
        "program": manifest.program,
        "created_at": manifest.created_at.isoformat(timespec="seconds"),
        "counts": dict(manifest.counts),
        "history": None
        if history is None
        else {"head": history.head, "branch": history.branch, "commits": history.commits},
        "work_tree": manifest.work_tree,
        "last_ids": dict(manifest.last_ids),
        "left_out": [{"name": name, "why": why} for name, why in manifest.left_out],
        "members": [_describe(member) for member in manifest.members],
    }
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def _describe(member: Member) -> dict[str, object]:
    row: dict[str, object] = {"name": member.name, "size_bytes": member.size_bytes, "sha256": member.sha256}
    return row | {"executable": True} if member.is_executable else row


def open_package(place: Path, members: Mapping[str, bytes]) -> Package:
    """Proves the members of an export against its manifest and judges every name.

    Errors: ExportFault: `export-foreign`, `export-newer`, `export-damaged`, `export-unsafe`, `export-too-large`.
    """
    raw = members.get(MANIFEST)
    if raw is None:
        raise make_fault(place, "export-foreign", f"this is no export of memrepo: it has no {MANIFEST}", name=MANIFEST)
    manifest = _read_manifest(place, raw)
    listed = {member.name: member for member in manifest.members}
    if len(listed) != len(manifest.members):
        raise make_fault(place, "export-damaged", "its manifest names a member twice", name=MANIFEST)
    if why := find_name_fault(listed):
        raise make_fault(place, "export-unsafe", why[1], name=why[0])
    for name in members:
        if name != MANIFEST and name not in listed:
            raise make_fault(place, "export-damaged", f"{name!r} is not in its manifest", name=name)
    for member in manifest.members:
        _prove(place, member, members.get(member.name))
    if FILES + MEMORY_FILE not in listed:
        raise make_fault(place, "export-foreign", f"it holds no {MEMORY_FILE}", name=FILES + MEMORY_FILE)
    if (HISTORY in listed) != (manifest.history is not None):
        raise make_fault(place, "export-damaged", "its manifest and its history do not agree", name=HISTORY)
    return Package(manifest, {name: data for name, data in members.items() if name != MANIFEST})


def _prove(place: Path, member: Member, data: bytes | None) -> None:
    if member.size_bytes > FILE_LIMIT_BYTES and member.name.startswith(FILES):
        why = f"{member.name!r} has {member.size_bytes:,} bytes, the limit is {FILE_LIMIT_BYTES:,}"
        raise make_fault(place, "export-too-large", why, name=member.name)
    if data is None:
        raise make_fault(place, "export-damaged", f"{member.name!r} is missing", name=member.name)
    if describe_member(member.name, data, is_executable=member.is_executable) != member:
        raise make_fault(
            place, "export-damaged", f"{member.name!r} is not as its manifest says (SHA-256)", name=member.name
        )


def _read_manifest(place: Path, raw: bytes) -> Manifest:
    try:
        document = load_json(raw)
    except ValueError:
        raise make_fault(place, "export-foreign", f"its {MANIFEST} is no JSON", name=MANIFEST) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise make_fault(place, "export-foreign", "this is no export of memrepo", name=MANIFEST)
    version = document.get("version")
    if not isinstance(version, int) or version != VERSION:
        why = f"it has version {version!r} of the form, this memrepo knows version {VERSION}"
        raise make_fault(place, "export-newer", why, hint="upgrade: pip install -U memrepo", name=MANIFEST)
    try:
        return _parse_manifest(document)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        why = f"its {MANIFEST} lacks something, or has it in no known form"
        raise make_fault(place, "export-damaged", why, name=MANIFEST) from None


def _parse_manifest(document: Mapping[str, Any]) -> Manifest:
    history = document["history"]
    return Manifest(
        created_at=dt.datetime.fromisoformat(document["created_at"]),
        program=_text(document["program"]),
        members=tuple(
            Member(_text(row["name"]), _number(row["size_bytes"]), _text(row["sha256"]), row.get("executable") is True)
            for row in document["members"]
        ),
        history=None
        if history is None
        else History(
            _text(history["head"]),
            None if history["branch"] is None else _text(history["branch"]),
            _number(history["commits"]),
        ),
        counts={_text(name): _number(count) for name, count in document["counts"].items()},
        last_ids={_text(name): _number(last) for name, last in document["last_ids"].items()},
        work_tree=_text(document["work_tree"]),
        left_out=tuple((_text(row["name"]), _text(row["why"])) for row in document["left_out"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise TypeError("not a number")
    return value


def find_name_fault(names: Iterable[str]) -> tuple[str, str] | None:
    """The first name of members that no export may have, and why."""
    paths = []
    for name in names:
        if name in _FIXED:
            continue
        if not name.startswith(FILES):
            return name, f"{name!r} is nothing that an export holds"
        paths.append(name.removeprefix(FILES))
    fault = find_path_fault(paths)
    return fault and (FILES + fault[0], fault[1])


def find_path_fault(paths: Sequence[str]) -> tuple[str, str] | None:
    """The first path that no memory folder may have on any system, and why: also for the files of a commit.

    Refused are paths that lead elsewhere or into a folder of git, that differ by case alone, that are a file and a
    folder at once, and folders that git would take for a repository of its own.
    """
    spellings: dict[str, str] = {}
    below: dict[str, set[str]] = {}
    for path in paths:
        try:
            check_repo_path(path)
        except PathRefused as refused:
            return path, refused.message
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            here = "/".join(parts[:depth])
            other = spellings.setdefault(_fold(here), here)
            if other != here:
                return path, f"{other!r} and {here!r} differ by case only"
            below.setdefault("/".join(parts[: depth - 1]).casefold(), set()).add(parts[depth - 1].casefold())
    for path in paths:
        if path.casefold() in below:
            return path, f"{path!r} is a file and a folder"
    for folder, names in below.items():
        if {"head", "objects", "refs"} <= names:
            return folder, f"{folder or 'the top folder'!r} looks like a repository of git inside of the files"
    return None


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def find_tree_fault(files: Sequence[TreeFile]) -> tuple[str, str] | None:
    """The first path of a commit that no memory repo may have, and why: links, other repositories, size, names."""
    if len(files) > MEMBERS_LIMIT:
        return "HEAD", f"it has {len(files):,} files, the limit is {MEMBERS_LIMIT:,}"
    for file in files:
        if file.kind != "blob" or file.mode not in _PLAIN_MODES:
            what = {"120000": "a symbolic link", "160000": "a repository of its own"}.get(file.mode, "no plain file")
            return file.path, f"{file.path!r} is {what}"
        if file.size_bytes > FILE_LIMIT_BYTES:
            return file.path, f"{file.path!r} has {file.size_bytes:,} bytes, the limit is {FILE_LIMIT_BYTES:,}"
    return find_path_fault([file.path for file in files])


def write_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def read_lines(data: bytes) -> list[dict[str, Any]]:
    """JSON Lines as rows. Errors: ValueError naming the line."""
    rows = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            row = load_json(line, f"line {number} is no JSON")
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is no object")
            rows.append(row)
    return rows


def load_json(data: bytes, why: str = "it is no JSON") -> Any:
    """Reads JSON strictly: UTF-8, no name twice, no number that is none. Errors: ValueError."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_without_twins, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{why} ({error})" if "twice" in str(error) else why) from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no number")
