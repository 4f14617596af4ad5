"""Encrypted backups: sealed bytes in a file of their own, and the key that opens them.

A backup is one line (`memrepo-backup`, version, id of the key), a nonce and what AES-256-GCM made of the content, the
line included in the proof. The key is a file of 64 hex digits, for its owner alone; its id tells a wrong key from a
damaged backup and tells nothing of the key. Knows nothing of what a backup holds. Specification: docs/export.md.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from memrepo.errors import BackupFault, InvalidInput, NotFound
from memrepo.files.folder import NEW_FOLDER_MODE, NO_HARD_LINKS, Folder, disk_faults

KEY_NAME = "backup.key"
LIMIT_BYTES = 1024 * 1024 * 1024
_VERSION = 1
_HEADER = re.compile(rb"memrepo-backup ([0-9]{1,6}) ([0-9a-f]{16})\n")
_HEADER_LIMIT_BYTES = 64
_KEY = re.compile(rb"[0-9a-f]{64}\s*")
_KEY_BYTES = 32
_NONCE_BYTES = 12
_ID_CHARS = 16


def seal(content: bytes, key: bytes) -> bytes:
    """Encrypts a content as a backup."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    header = f"memrepo-backup {_VERSION} {_make_id(key)}\n".encode()
    nonce = os.urandom(_NONCE_BYTES)
    return header + nonce + AESGCM(key).encrypt(nonce, content, header)


def unseal(data: bytes, key: bytes, *, path: Path) -> bytes:
    """Decrypts a backup. Errors: BackupFault: foreign, of a newer memrepo, locked with another key, or damaged."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    header = check_header(data, path=path)
    if header[2].decode() != _make_id(key):
        hint = f"name the key that was in memrepo's data folder when it was made: --key {KEY_NAME}"
        raise _fault(path, "backup-other-key", "this backup is locked with another key", hint)
    start = header.end() + _NONCE_BYTES
    try:
        return AESGCM(key).decrypt(data[header.end() : start], data[start:], header[0])
    except (InvalidTag, ValueError):
        raise _fault(path, "backup-damaged", "this backup is damaged", "take another copy of it") from None


def check_header(data: bytes, *, path: Path) -> re.Match[bytes]:
    """The first line of a backup. Errors: BackupFault: foreign, or of a newer memrepo."""
    header = _HEADER.match(data[:_HEADER_LIMIT_BYTES])
    if header is None:
        raise _fault(path, "backup-foreign", "this is no backup of memrepo", "name the file that memrepo retire made")
    if int(header[1]) > _VERSION:
        raise _fault(path, "backup-newer", "a newer memrepo made this backup", "pip install -U memrepo")
    return header


def get_key(folder: Path) -> bytes:
    """The key of a data folder, made when there is none. Errors: BackupFault, DiskFault. Changes: the key's file."""
    place = folder / KEY_NAME
    with disk_faults("write", str(place)):
        folder.mkdir(mode=NEW_FOLDER_MODE, parents=True, exist_ok=True)
        with Folder.open_root(Path(os.path.realpath(folder))) as opened:
            if opened.find_stat(KEY_NAME) is None:
                _make_key(opened)
    return read_key(place)


def _make_key(folder: Folder) -> None:
    """Gives a new key its name, whole or not at all; whoever was first keeps it."""
    with folder.temporary(f"{os.urandom(_KEY_BYTES).hex()}\n".encode()) as temporary:
        try:
            folder.link(temporary.name, KEY_NAME)
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            if folder.find_stat(KEY_NAME) is None:
                folder.rename(temporary.name, KEY_NAME)
    folder.sync()


def read_key(place: Path) -> bytes:
    """The key in a file. Errors: BackupFault when it is gone or is none; DiskFault."""
    data = _read(place, limit_bytes=_KEY_BYTES * 4)
    if data is None:
        hint = "name a copy of it: memrepo restore BACKUP --key FILE"
        raise _fault(place, "backup-key", "the key of the backups is gone", hint)
    if not _KEY.fullmatch(data):
        raise _fault(place, "backup-key", "this is no key of a backup: it has 64 hex digits", f"a file {KEY_NAME}")
    return bytes.fromhex(data[: _KEY_BYTES * 2].decode())


def read_backup(place: Path) -> bytes:
    """The bytes of a backup. Errors: NotFound, BackupFault past a gigabyte, DiskFault, PathRefused for no file."""
    data = _read(place, limit_bytes=LIMIT_BYTES)
    if data is None:
        raise NotFound(
            f"there is no backup {place}",
            hint="memrepo retire said where it is",
            what="backup",
            name=str(place),
        )
    if len(data) > LIMIT_BYTES:
        raise _fault(place, "backup-foreign", "this is too large for a backup of memrepo", "name another file")
    return data


def write_backup(place: Path, data: bytes) -> None:
    """Puts a backup into a new file, durable, for its owner alone.

    Errors: InvalidInput when something is there, DiskFault. Changes: the file, and folders above it that are missing.
    """
    with disk_faults("write", str(place)):
        place.parent.mkdir(mode=NEW_FOLDER_MODE, parents=True, exist_ok=True)
        with Folder.open_root(Path(os.path.realpath(place.parent))) as folder:
            try:
                folder.create(place.name, data)
            except FileExistsError:
                raise InvalidInput(f"{place} is there already", hint="choose a new name", key="--backup") from None
            except OSError:
                remove_backup(place)
                raise
            folder.sync()


def remove_backup(place: Path) -> None:
    """Removes a backup that came to nothing; one that cannot be removed is of no harm."""
    with suppress(OSError):
        place.unlink()


def choose_name(folder: Path, stamp: str) -> Path:
    """A free name for a new backup."""
    count = 1
    while True:
        place = folder / (f"facts-{stamp}.backup" if count == 1 else f"facts-{stamp}-{count}.backup")
        if not os.path.lexists(place):
            return place
        count += 1


def _read(place: Path, *, limit_bytes: int) -> bytes | None:
    with disk_faults("read", str(place)):
        if not place.parent.is_dir():
            return None
        with Folder.open_root(Path(os.path.realpath(place.parent))) as folder:
            found = folder.read_regular(place.name, limit_bytes=limit_bytes)
    return None if found is None else found[0]


def _make_id(key: bytes) -> str:
    return hashlib.sha256(b"memrepo backup key " + key).hexdigest()[:_ID_CHARS]


def _fault(path: Path, invariant: str, why: str, hint: str) -> BackupFault:
    return BackupFault(f"{path}: {why}; nothing was changed", hint=hint, invariant=invariant, path=str(path))
