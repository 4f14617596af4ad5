"""The private store of one process: opened when something is to be kept or looked for, once, and never before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.store import may_have_pending, open_store

if TYPE_CHECKING:
    from memrepo.store import PrivateStore


_PREFIX = "sqlite:///"


class StoreOpener:
    """Opens the private store when it is first needed, once. `file` is its place, None when it is a server's."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.file = Path(url.removeprefix(_PREFIX)) if url.startswith(_PREFIX) else None
        self._store: PrivateStore | None = None

    def find(self) -> PrivateStore | None:
        """The store if there is one already. Errors: StoreFault."""
        if self._store is None and self.file is not None and not self.file.exists():
            return None
        return self.get()

    def get(self) -> PrivateStore:
        """The store, made when it is missing. Errors: StoreFault."""
        if self._store is None:
            self._store = open_store(self._url)
        return self._store

    def may_have_pending(self, root: str) -> bool:
        """Whether facts may wait for a root, told without loading the store's library."""
        return self.file is None or (self.file.exists() and may_have_pending(self.file, root))

    def close(self) -> None:
        """Closes the store if it was opened."""
        if self._store is not None:
            self._store.close()
            self._store = None
