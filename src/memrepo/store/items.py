"""Facts that never go to the repo: private, contact and task facts, commitments.

One active row per text and per subject in a scope. A fact that is there already is reinforced; a new value of a subject
supersedes the old row, unless the old one is trusted more. What was forgotten comes back only by the user's own word.
Each call decides and writes in one transaction.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from memrepo.errors import InvalidInput, NotFound
from memrepo.model import Author, Kind, Origin, Privacy, Scope, Taint
from memrepo.store.records import Item, ItemAction, ItemFilter, ItemResult, ItemStatus, Trust, write_subject
from memrepo.store.schema import memory_items
from memrepo.store.tombstones import Grave, bury, is_buried, unbury

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memrepo.model import Candidate, TaskContext
    from memrepo.store.opening import PrivateStore

TRUST_RANKS = {
    Trust.THIRD_PARTY: 0,
    Trust.INFERRED: 1,
    Trust.AGENT: 2,
    Trust.USER_STATED: 3,
    Trust.USER_CONFIRMED: 3,
    Trust.CURATED: 3,
}
"""A lower rank never replaces a higher one; of equal ranks the newer counts (seed 1 §5.1 step 5, §8)."""
_TAINTED_SHARE = 0.4
"""What an agent wrote that may have been told to counts less than all that it wrote otherwise, more than a stranger's
word."""

PRIVATE = "private"
"""The `privacy` of a fact that is kept to itself wherever it was learned; otherwise it is the workspace's."""

_MOST = 100_000
_PRIVACY_RANKS = {Privacy.NORMAL.value: 0, PRIVATE: 1, Privacy.STRICT.value: 2}


class Items:
    """The table of private facts."""

    def __init__(self, store: PrivateStore) -> None:
        self._store = store

    def keep(
        self,
        candidate: Candidate,
        task: TaskContext,
        *,
        by: Author,
        content_hash: str,
        is_third_party: bool = False,
        due_at_ms: int | None = None,
        expires_at_ms: int | None = None,
    ) -> ItemResult:
        """Keeps a fact: inserted, reinforced, replaced (the old row is superseded), outranked, or forgotten before.

        Errors: StoreFault. Changes: at most two rows; removes those that have expired.
        """
        now = self._store.now_ms()
        values = _make_values(candidate, task, by=by, content_hash=content_hash, is_third_party=is_third_party)
        values |= {"due_at": due_at_ms, "expires_at": expires_at_ms, "created_at": now, "updated_at": now}
        grave = Grave(values["scope"], values["scope_ref"], content_hash)
        is_users = _rank(values["trust"]) >= TRUST_RANKS[Trust.USER_STATED]
        with self._store.writing() as connection:
            _delete_expired(connection, now)
            if not is_users and is_buried(connection, grave):
                return ItemResult(0, ItemAction.FORGOTTEN)
            same_text = _find_active(connection, values, "content_hash")
            same_subject = _find_active(connection, values, "subject_key") if values["subject_key"] else None
            if same_subject is not None and (same_text is None or same_subject.id != same_text.id):
                if _rank_row(same_subject.trust, same_subject.source_ref) > _rank_row(
                    values["trust"], values["source_ref"]
                ):
                    return ItemResult(same_subject.id, ItemAction.OUTRANKED)
                superseded = sa.update(memory_items).where(memory_items.c.id == same_subject.id)
                connection.execute(superseded.values(status=str(ItemStatus.SUPERSEDED), updated_at=now))
                values["supersedes"] = same_subject.id
            if is_users:
                unbury(connection, grave)
            was_replaced = values["supersedes"] is not None
            if same_text is not None:
                reinforced = sa.update(memory_items).where(memory_items.c.id == same_text.id)
                connection.execute(reinforced.values(_reinforce(same_text, values)))
                return ItemResult(same_text.id, ItemAction.REPLACED if was_replaced else ItemAction.REINFORCED)
            row = sa.insert(memory_items).values(values).returning(memory_items.c.id)
            row_id = int(connection.execute(row).scalar_one())
        return ItemResult(row_id, ItemAction.REPLACED if was_replaced else ItemAction.INSERTED)

    def find(self, item_id: int) -> Item | None:
        """The item of that number, whatever its status."""
        with self._store.reading() as connection:
            row = connection.execute(sa.select(memory_items).where(memory_items.c.id == item_id)).first()
        return None if row is None else read_item(row)

    def list(
        self, wanted: ItemFilter | None = None, *, status: ItemStatus = ItemStatus.ACTIVE, limit: int = 1_000
    ) -> tuple[Item, ...]:
        """Items of a status that the filter means (all without one), oldest first; those that expired are left out."""
        expires = memory_items.c.expires_at
        query = (
            sa.select(memory_items)
            .where(memory_items.c.status == str(status), sa.or_(expires.is_(None), expires > self._store.now_ms()))
            .order_by(memory_items.c.id)
        )
        with self._store.reading() as connection:
            return _select(connection, query, wanted or ItemFilter(), limit=limit)

    def list_commitments(self, *, with_done: bool = False) -> tuple[Item, ...]:
        """Open commitments by their day, those without one last; with `with_done` those that were met after them."""
        wanted = ItemFilter(kind=Kind.COMMITMENT)
        found = self.list(wanted, limit=_MOST)
        in_order = sorted(found, key=lambda item: (item.due_at_ms is None, item.due_at_ms or 0, item.id))
        done = self.list(wanted, status=ItemStatus.DONE, limit=_MOST) if with_done else ()
        return (*in_order, *sorted(done, key=lambda item: (-(item.done_at_ms or 0), item.id)))

    def finish(self, item_id: int) -> Item:
        """Marks a commitment as met; one that is met already stays as it is. Returns it.

        Errors: NotFound when no commitment has that number; StoreFault.
        """
        now = self._store.now_ms()
        with self._store.writing() as connection:
            one = memory_items.c.id == item_id
            is_open = memory_items.c.status == str(ItemStatus.ACTIVE)
            connection.execute(
                sa.update(memory_items)
                .where(one, is_open, memory_items.c.kind == str(Kind.COMMITMENT))
                .values(status=str(ItemStatus.DONE), done_at=now, updated_at=now)
            )
            row = connection.execute(sa.select(memory_items).where(one)).first()
        if row is None or row.kind != Kind.COMMITMENT or row.status != ItemStatus.DONE:
            raise NotFound(
                f"memory:{item_id} names no commitment",
                hint="see them: memrepo commitments --all",
                what="commitment",
                name=f"memory:{item_id}",
            )
        return read_item(row)

    def purge_expired(self) -> int:
        """Removes what has expired, bytes included; returns how many rows. Nothing stands in the way of them again."""
        with self._store.writing() as connection:
            gone = _delete_expired(connection, self._store.now_ms())
        if gone:
            self._store.erase_deleted()
        return gone

    def forget(self, item_id: int) -> bool:
        """Removes a fact for good, bytes included, and the values that it replaced; False when there was none.

        Only the user brings it back, by saying it anew.
        """
        return bool(self._remove([item_id]))

    def forget_where(self, wanted: ItemFilter) -> int:
        """Removes all rows that a filter means, superseded ones too, bytes included; returns how many.

        Errors: InvalidInput for an empty filter.
        """
        if wanted == ItemFilter():
            raise InvalidInput("an empty filter would mean every private fact", hint="name at least one condition")
        with self._store.reading() as connection:
            found = _select(connection, sa.select(memory_items), wanted)
        return self._remove([item.id for item in found])

    def _remove(self, ids: Sequence[int]) -> int:
        waiting, gone = list(ids), 0
        with self._store.writing() as connection:
            while waiting:
                one = memory_items.c.id == waiting.pop()
                row = connection.execute(sa.select(memory_items).where(one)).first()
                if row is None:
                    continue
                gone += connection.execute(sa.delete(memory_items).where(one)).rowcount
                bury(
                    connection,
                    [Grave(row.scope, row.scope_ref, row.content_hash)],
                    now_ms=self._store.now_ms(),
                )
                if row.supersedes is not None:
                    waiting.append(row.supersedes)
        if gone:
            self._store.erase_deleted()
        return gone


def _delete_expired(connection: sa.Connection, now_ms: int) -> int:
    return connection.execute(sa.delete(memory_items).where(memory_items.c.expires_at <= now_ms)).rowcount


def _make_values(
    candidate: Candidate, task: TaskContext, *, by: Author, content_hash: str, is_third_party: bool
) -> dict[str, Any]:
    workspace = candidate.workspace or task.workspace
    is_strict = workspace is not None and workspace.privacy is Privacy.STRICT
    scope = Scope.CONTACT if is_third_party else candidate.scope
    if scope is Scope.GLOBAL and is_strict:
        scope = Scope.WORKSPACE  # what is learned in a strict workspace holds there only
    workspace_id = workspace.id if workspace else ""
    scope_refs = {Scope.WORKSPACE: workspace_id, Scope.CONTACT: task.sender_ref, Scope.TASK: task.task_id}
    privacy = Privacy.STRICT if is_strict else PRIVATE if candidate.private or is_third_party else Privacy.NORMAL
    source_ref = {
        "source": candidate.source,
        "added": candidate.added.isoformat() if candidate.added else None,
        **describe_taint(task, by),
    }
    return {
        "workspace_id": workspace_id,
        "scope": str(scope),
        "scope_ref": scope_refs.get(scope) or "",
        "kind": str(candidate.kind),
        "subject_key": write_subject(candidate.subject),
        "content": candidate.text,
        "source": str(task.origin),
        "source_ref": json.dumps(source_ref),
        "trust": str(_decide_trust(candidate, task, by, is_third_party=is_third_party)),
        "status": str(ItemStatus.ACTIVE),
        "pinned": candidate.pin,
        "privacy": str(privacy),
        "task_id": task.task_id,
        "content_hash": content_hash,
        "supersedes": None,
    }


def _decide_trust(candidate: Candidate, task: TaskContext, by: Author, *, is_third_party: bool) -> Trust:
    if is_third_party:
        return Trust.THIRD_PARTY
    if by is Author.USER:
        return Trust.USER_CONFIRMED if task.user_confirmed else Trust.USER_STATED
    return Trust.AGENT if candidate.explicit else Trust.INFERRED


def _find_active(connection: sa.Connection, values: dict[str, Any], column: str) -> sa.Row[Any] | None:
    """The active row of the same scope that has the same value in a column; there is at most one."""
    same = [memory_items.c[name] == values[name] for name in ("scope", "scope_ref", column)]
    query = sa.select(memory_items).where(memory_items.c.status == str(ItemStatus.ACTIVE), *same)
    return connection.execute(query).first()


def _reinforce(old: sa.Row[Any], new: dict[str, Any]) -> dict[str, Any]:
    """What a fact gains by being said again: never less trust, less privacy or another subject from a lower rank."""
    is_trusted = _rank(new["trust"]) >= _rank(old.trust)
    expiries = (old.expires_at, new["expires_at"])
    subject = new["subject_key"] if new["subject_key"] and (is_trusted or old.subject_key is None) else old.subject_key
    return {
        "trust": new["trust"] if _rank(new["trust"]) > _rank(old.trust) else old.trust,
        "subject_key": subject,
        "privacy": max(old.privacy, new["privacy"], key=lambda privacy: _PRIVACY_RANKS.get(privacy, 2)),
        "pinned": old.pinned or new["pinned"],
        "supersedes": new["supersedes"] or old.supersedes,
        "due_at": old.due_at if new["due_at"] is None else new["due_at"],
        "expires_at": None if None in expiries else max(expiries),
        "updated_at": new["updated_at"],
    }


def describe_taint(task: TaskContext, by: Author) -> dict[str, bool]:
    """What a row's `source_ref` says of the task that wrote it."""
    return {"tainted": True} if by is Author.AGENT and task.taint is not Taint.CLEAN else {}


def _rank(trust: str) -> int:
    return TRUST_RANKS[Trust(trust)]


def _rank_row(trust: str, source_ref: str | None) -> float:
    """The rank of a row, in which an agent's word after an untrusted read counts less."""
    rank = _rank(trust)
    is_tainted = rank < TRUST_RANKS[Trust.USER_STATED] and source_ref and json.loads(source_ref).get("tainted")
    return rank * _TAINTED_SHARE if is_tainted else rank


def _select(
    connection: sa.Connection, query: sa.Select[Any], wanted: ItemFilter, *, limit: int | None = None
) -> tuple[Item, ...]:
    columns = {
        "scope": wanted.scope,
        "scope_ref": wanted.scope_ref,
        "workspace_id": wanted.workspace_id,
        "kind": wanted.kind,
        "subject_key": write_subject(wanted.subject),
        "task_id": wanted.task_id,
        "content_hash": wanted.content_hash,
    }
    query = query.where(*(memory_items.c[name] == str(value) for name, value in columns.items() if value is not None))
    needle = wanted.contains.casefold() if wanted.contains else ""
    found: list[Item] = []
    for row in connection.execute(query):
        if limit is not None and len(found) >= limit:
            break
        if needle in row.content.casefold():  # databases fold ASCII only
            found.append(read_item(row))
    return tuple(found)


def read_item(row: Any) -> Item:
    """Reads a row of the table. Errors: ValueError when a value has no meaning."""
    source_ref = json.loads(row.source_ref) if row.source_ref else {}
    added = source_ref.get("added")
    return Item(
        id=row.id,
        content=row.content,
        kind=Kind(row.kind),
        scope=Scope(row.scope),
        scope_ref=row.scope_ref,
        workspace_id=row.workspace_id,
        subject=row.subject_key,
        trust=Trust(row.trust),
        status=ItemStatus(row.status),
        confidence=row.confidence,
        is_pinned=row.pinned,
        privacy=row.privacy,
        origin=Origin(row.source),
        source=source_ref.get("source"),
        added=dt.date.fromisoformat(added) if added else None,
        task_id=row.task_id,
        content_hash=row.content_hash,
        supersedes=row.supersedes,
        created_at_ms=row.created_at,
        updated_at_ms=row.updated_at,
        last_used_at_ms=row.last_used_at,
        due_at_ms=row.due_at,
        expires_at_ms=row.expires_at,
        done_at_ms=getattr(row, "done_at", None),  # a damaged store may be one of step 1
        is_tainted=bool(source_ref.get("tainted")),
    )
