"""The three forms of an export on disk: a folder, a zip file, one JSON document. Members in, members out.

Written to a new path and there whole or not at all: under a random name beside it, synced, then renamed. Read without
following a link and within limits that hold before a byte is unpacked. Knows no manifest but its name.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import os
import shutil
import stat
import zipfile
import zlib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memrepo.errors import InvalidInput, NotFound, PathRefused, TooLarge
from memrepo.files.folder import NEW_FOLDER_MODE, NO_HARD_LINKS, Folder, disk_faults, open_folder, random_name
from memrepo.files.paths import check_repo_path
from memrepo.portable.package import (
    MANIFEST,
    MANIFEST_LIMIT_BYTES,
    MEMBERS_LIMIT,
    PRIVATE,
    TOTAL_LIMIT_BYTES,
    find_name_fault,
    load_json,
    make_fault,
    read_lines,
    write_lines,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

RATIO_LIMIT = 200
"""How many times larger than the file its content may be, once it is past `_SMALL_BYTES`."""
_SMALL_BYTES = 32 * 1024 * 1024
_ZIP_FIRST_YEAR = 1980
_DROPPINGS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1


class Form(StrEnum):
    """How an export is kept."""

    FOLDER = "folder"
    ZIP = "zip"
    JSON = "json"


def choose_form(target: Path) -> Form:
    """The form that the end of a name means."""
    return {".zip": Form.ZIP, ".json": Form.JSON}.get(target.suffix.lower(), Form.FOLDER)


# Writing


def require_new(target: Path) -> None:
    """Errors: InvalidInput when something is at the path."""
    if os.path.lexists(target):
        raise InvalidInput(
            f"{target} is there already; nothing was written", hint="choose a new name", key="--to", value=str(target)
        )


def write_container(target: Path, form: Form, members: Mapping[str, bytes], *, at: dt.datetime) -> int:
    """Writes members to a new path, for its owner alone; returns the bytes written.

    Errors: InvalidInput when something is there, TooLarge, DiskFault. Changes: the path, and folders above it that are
    missing.
    """
    require_new(target)
    _require_limits(target, members)
    with disk_faults("write", str(target)):
        target.parent.mkdir(mode=NEW_FOLDER_MODE, parents=True, exist_ok=True)
        with Folder.open_root(Path(os.path.realpath(target.parent))) as above:
            if form is Form.FOLDER:
                _place_folder(above, target, members)
                return _count(members)
            data = _pack_zip(members, at) if form is Form.ZIP else _pack_json(members)
            _place_file(above, target, data)
            return len(data)


def _require_limits(target: Path, members: Mapping[str, bytes]) -> None:
    """An export past these would be refused when it comes back."""
    for actual, limit, unit in (
        (_count(members), TOTAL_LIMIT_BYTES, "bytes"),
        (len(members), MEMBERS_LIMIT, "files"),
    ):
        if actual > limit:
            raise TooLarge(
                f"an export holds at most {limit:,} {unit}, this memory has {actual:,}; nothing was written",
                hint="remove files that are no memory from the folder, or copy it with its .git",
                rule="export-size",
                action="export",
                target=str(target),
                limit=limit,
                actual=actual,
                unit=unit,
                where_instead="",
            )


def _place_file(above: Folder, target: Path, data: bytes) -> None:
    with above.temporary(data) as temporary:
        try:
            is_placed = above.link(temporary.name, target.name)
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            is_placed = above.find_stat(target.name) is None
            if is_placed:
                above.rename(temporary.name, target.name)
    if not is_placed:
        require_new(target)
    above.sync()


def _place_folder(above: Folder, target: Path, members: Mapping[str, bytes]) -> None:
    stage = random_name()
    try:
        folders = {""} | {name.rpartition("/")[0] for name in members}
        for name in sorted(folders):
            parts = name.split("/") if name else []
            with open_folder(above.path, (stage, *parts), create=True) as folder:
                assert folder is not None  # noqa: S101 - it was created
                for member, data in members.items():
                    place, _, own = member.rpartition("/")
                    if place == name:
                        folder.create(own, data)
                folder.sync()
        require_new(target)
        above.rename(stage, target.name)
        above.sync()
    except BaseException:
        shutil.rmtree(above.path / stage, ignore_errors=True)
        raise


def _pack_zip(members: Mapping[str, bytes], at: dt.datetime) -> bytes:
    data = _pack_zip_with(zipfile.ZIP_DEFLATED, members, at)
    # What packs so well that it would be refused when it comes back is not packed.
    return _pack_zip_with(zipfile.ZIP_STORED, members, at) if _grows_too_much(_count(members), len(data)) else data


def _grows_too_much(total_bytes: int, packed_bytes: int) -> bool:
    return total_bytes > _SMALL_BYTES and total_bytes > RATIO_LIMIT * packed_bytes


def _count(members: Mapping[str, bytes]) -> int:
    return sum(map(len, members.values()))


def _pack_zip_with(method: int, members: Mapping[str, bytes], at: dt.datetime) -> bytes:
    packed = io.BytesIO()
    when = (max(at.year, _ZIP_FIRST_YEAR), at.month, at.day, at.hour, at.minute, at.second)
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, when)
            info.external_attr = (stat.S_IFREG | 0o600) << 16
            info.compress_type = method
            archive.writestr(info, data)
    return packed.getvalue()


def _pack_json(members: Mapping[str, bytes]) -> bytes:
    document = {
        "manifest": json.loads(members[MANIFEST]),
        "members": {name: _write_value(name, data) for name, data in members.items() if name != MANIFEST},
    }
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def _write_value(name: str, data: bytes) -> object:
    if name.startswith(PRIVATE):
        return {"rows": read_lines(data)}
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


# Reading


def read_container(place: Path) -> dict[str, bytes]:
    """The members of an export, whatever its form; names are judged before anything is unpacked.

    Errors: NotFound; ExportFault; DiskFault. Changes: nothing.
    """
    try:
        kind = place.stat().st_mode
    except FileNotFoundError:
        raise NotFound(f"there is no export {place}", hint="name what memrepo export --to made", what="export",
                       name=str(place)) from None  # fmt: skip
    except OSError as error:
        raise make_fault(place, "export-unreadable", f"it cannot be read ({error.strerror})") from error
    if stat.S_ISDIR(kind):
        return _read_folder(place)
    if not stat.S_ISREG(kind):
        raise make_fault(place, "export-foreign", "this is neither a folder nor a file")
    with disk_faults("read", str(place)), Folder.open_root(Path(os.path.realpath(place)).parent) as above:
        found = above.read_regular(Path(os.path.realpath(place)).name, limit_bytes=TOTAL_LIMIT_BYTES)
    data = b"" if found is None else found[0]
    if len(data) > TOTAL_LIMIT_BYTES:
        raise _too_large(place, len(data))
    if data.startswith(b"PK"):
        return _read_zip(place, data)
    if data[:64].lstrip()[:1] == b"{":
        return _read_json(place, data)
    raise make_fault(place, "export-foreign", "this is no export of memrepo: neither a folder, nor zip, nor JSON")


def _too_large(place: Path, size_bytes: int, name: str = "") -> Exception:
    why = f"it holds {size_bytes:,} bytes, the limit is {TOTAL_LIMIT_BYTES:,}"
    return make_fault(place, "export-too-large", why, name=name)


def _judge_names(place: Path, names: list[str]) -> None:
    if len(names) > MEMBERS_LIMIT:
        why = f"it holds {len(names):,} members, the limit is {MEMBERS_LIMIT:,}"
        raise make_fault(place, "export-too-large", why)
    if fault := find_name_fault(name for name in names if name != MANIFEST):
        raise make_fault(place, "export-unsafe", fault[1], name=fault[0])


def _read_folder(place: Path) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    left_bytes = TOTAL_LIMIT_BYTES
    try:
        with disk_faults("read", str(place)), Folder.open_root(Path(os.path.realpath(place))) as root:
            names = sorted(_list_folder(place, root))
            _judge_names(place, names)
            for name in names:
                *parts, own = name.split("/")
                with open_folder(root.path, parts) as folder:
                    found = folder.read_regular(own, limit_bytes=left_bytes) if folder else None
                if found is None:
                    raise make_fault(place, "export-damaged", f"{name!r} went away while it was read", name=name)
                members[name] = found[0]
                left_bytes -= len(found[0])
                if left_bytes < 0:
                    raise _too_large(place, TOTAL_LIMIT_BYTES - left_bytes, name)
    except PathRefused as refused:
        raise make_fault(place, "export-unsafe", refused.message, name=str(refused.facts.get("path", ""))) from refused
    return members


def _list_folder(place: Path, root: Folder) -> list[str]:
    """Every file below, links and special files too; what is no real folder is not entered."""
    found: list[str] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        with open_folder(root.path, parts) as folder:
            for name, is_folder in folder.list_names() if folder else ():
                path = (*parts, name)
                if is_folder:
                    waiting.append(path)
                elif name not in _DROPPINGS:
                    found.append("/".join(path))
                if len(found) + len(waiting) > 2 * MEMBERS_LIMIT:
                    raise make_fault(place, "export-too-large", f"it has more than {MEMBERS_LIMIT:,} members")
    return found


def _read_zip(place: Path, data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = _judge_zip(place, archive.infolist(), len(data))
            return {info.filename: _read_entry(archive, info) for info in infos}
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, RuntimeError, OSError) as error:
        why = "its zip file is damaged, or of a kind that memrepo does not write"
        raise make_fault(place, "export-damaged", why) from error


def _judge_zip(place: Path, entries: list[zipfile.ZipInfo], size_bytes: int) -> list[zipfile.ZipInfo]:
    """The entries that are files, when all of them may be unpacked."""
    if len(entries) > 2 * MEMBERS_LIMIT:
        raise make_fault(place, "export-too-large", f"it has more than {MEMBERS_LIMIT:,} members")
    for info in entries:
        if why := _find_entry_fault(info):
            raise make_fault(place, "export-unsafe", f"{info.filename!r} {why}", name=info.filename)
    files = [info for info in entries if not info.is_dir()]
    names = [info.filename for info in files]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise make_fault(place, "export-unsafe", f"{name!r} is there twice", name=name)
        seen.add(name)
    _judge_names(place, names)
    total = sum(info.file_size for info in files)
    largest = max(files, key=lambda info: info.file_size, default=None)
    name = largest.filename if largest else ""
    if total > TOTAL_LIMIT_BYTES:
        raise _too_large(place, total, name)
    if _grows_too_much(total, size_bytes):
        why = f"it is {size_bytes:,} bytes and would unpack to {total:,} ({name!r} is the largest)"
        raise make_fault(place, "export-too-large", why, name=name)
    return files


def _find_entry_fault(info: zipfile.ZipInfo) -> str:
    """Why one entry may not be unpacked, whatever its name; "" when it may."""
    mode = info.external_attr >> 16
    if info.orig_filename != info.filename:
        return "is two names in one"
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode) and not (stat.S_ISDIR(mode) and info.is_dir()):
        return "is no plain file"
    if info.flag_bits & _ENCRYPTED:
        return "is locked with a password"
    if info.compress_type not in _METHODS:
        return "is packed in a way that is not allowed"
    return _find_folder_fault(info) if info.is_dir() else ""


def _find_folder_fault(info: zipfile.ZipInfo) -> str:
    """Folders are what other programs add when they pack an export anew: of no use here, and mostly harmless."""
    try:
        check_repo_path(info.filename.rstrip("/"))
    except PathRefused as refused:
        return f"is refused: {refused.message}"
    return "is a folder with bytes" if info.file_size else ""


def _read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Unpacks at most what the entry says it holds; what holds more has another checksum and is refused."""
    with archive.open(info) as stream:
        return stream.read(info.file_size + 1)


def _read_json(place: Path, data: bytes) -> dict[str, bytes]:
    try:
        document = load_json(data)
    except ValueError as error:
        raise make_fault(place, "export-damaged", f"this is no JSON that an export may be: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("manifest"), dict):
        raise make_fault(place, "export-foreign", "this is no export of memrepo", name=MANIFEST)
    values = document.get("members")
    if not isinstance(values, dict):
        raise make_fault(place, "export-damaged", "it has no members")
    _judge_names(place, list(values))
    manifest = json.dumps(document["manifest"], ensure_ascii=False).encode("utf-8", "backslashreplace")
    if len(manifest) > MANIFEST_LIMIT_BYTES:
        raise make_fault(place, "export-too-large", "its manifest is too large", name=MANIFEST)
    members = {MANIFEST: manifest}
    for name, value in values.items():
        try:
            members[name] = _read_value(value)
        except (ValueError, TypeError, KeyError, AttributeError, binascii.Error):
            why = f"{name!r} is neither a text, nor base64, nor rows"
            raise make_fault(place, "export-damaged", why, name=name) from None
    return members


def _read_value(value: Any) -> bytes:
    ((form, content),) = value.items()
    if form == "text":
        return str.encode(content)
    if form == "base64":
        return base64.b64decode(content, validate=True)
    if form == "rows":
        return write_lines(content)
    raise ValueError(form)
