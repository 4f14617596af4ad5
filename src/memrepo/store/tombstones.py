"""What was forgotten: the hash of a text and where it held, never the text.

A fact that the user forgot does not come back by an agent, a third party, a replay or a retry; only the user says it
anew. A hash tells whoever has the store and guesses the text that it was forgotten (docs/store.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import sqlalchemy as sa

from memrepo.store.schema import tombstones

if TYPE_CHECKING:
    from collections.abc import Iterable


class Grave(NamedTuple):
    """A forgotten text and the scope in which it was forgotten."""

    scope: str
    scope_ref: str
    content_hash: str

    @classmethod
    def read(cls, row: Any) -> Self:
        """Reads a row of the table. Errors: AttributeError when it is none."""
        return cls(row.scope, row.scope_ref, row.content_hash)


def bury(connection: sa.Connection, graves: Iterable[Grave], *, now_ms: int) -> None:
    """Notes that texts were forgotten; one that is noted already stays as it is."""
    for grave in dict.fromkeys(graves):
        if not is_buried(connection, grave):
            connection.execute(sa.insert(tombstones).values(**grave._asdict(), at=now_ms))


def is_buried(connection: sa.Connection, grave: Grave) -> bool:
    """Whether a text was forgotten in its scope."""
    return connection.execute(sa.select(tombstones.c.id).where(*_is(grave))).first() is not None


def unbury(connection: sa.Connection, grave: Grave) -> None:
    """Ends that: the user said it anew."""
    connection.execute(sa.delete(tombstones).where(*_is(grave)))


def _is(grave: Grave) -> list[sa.ColumnElement[bool]]:
    return [tombstones.c[name] == value for name, value in grave._asdict().items()]
