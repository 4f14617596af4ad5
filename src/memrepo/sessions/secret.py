"""The secret behind a folder's stamps: random, for the user alone, made once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memrepo.files.folder import Folder

_NAME = "key"
_SIZE_BYTES = 32


def find_secret(folder: Folder) -> bytes | None:
    """The secret; None when there is none, or what is there cannot be one."""
    found = folder.read_regular(_NAME, limit_bytes=_SIZE_BYTES)
    return found[0] if found is not None and len(found[0]) == _SIZE_BYTES else None


def get_secret(folder: Folder) -> bytes:
    """The secret of this folder's stamps; made once, whole, by whoever is first."""
    secret = find_secret(folder)
    if secret is not None:
        return secret
    with folder.temporary(os.urandom(_SIZE_BYTES)) as temporary:
        if not folder.link(temporary.name, _NAME) and find_secret(folder) is None:
            folder.rename(temporary.name, _NAME)  # what is there was cut short by a full disk, or emptied
    secret = find_secret(folder)
    if secret is None:
        raise FileNotFoundError(2, "the stamps' key vanished", _NAME)
    return secret
