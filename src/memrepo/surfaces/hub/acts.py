"""What a person does on the Hub: a repo and a form in, what to tell them out. Blocking.

Every change goes through the service, names what the page saw (a hash) and is refused when that is no longer so. Each
act is the user's own word, `Origin: memory_hub`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput
from memrepo.files.paths import check_repo_path
from memrepo.format.refs import parse_ref
from memrepo.model import ContentHash, Kind, WriteStatus
from memrepo.surfaces.hub.pages import USER, name_target
from memrepo.surfaces.hub.showing import count, name_file, quote, tell_result, tell_results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memrepo.app import MemoryRepo
    from memrepo.history import CompactResult
    from memrepo.model import CommitId, Ref, WriteResult

_HASH_DIGITS = 64
MANY_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form; a field may come more than once."""

    fields: Mapping[str, Sequence[str]]

    def get(self, name: str) -> str:
        """The first value of a field, "" when it was not sent."""
        return next(iter(self.fields.get(name, ())), "")

    def list(self, name: str) -> Sequence[str]:
        """All values of a field."""
        return self.fields.get(name, ())


@dataclass(frozen=True, slots=True)
class Told:
    """What to tell the person. `undo` is the commit that takes it back; `is_done` is False when nothing changed."""

    message: str
    undo: CommitId | None = None
    is_done: bool = True
    compaction: CompactResult | None = None


def add(repo: MemoryRepo, form: Form) -> Told:
    """Writes a fact of the user's. Errors: those of `MemoryRepo.remember`."""
    kind = form.get("kind")
    known = Kind(kind) if kind in set(Kind) else Kind.PREFERENCE
    result = repo.remember(form.get("text"), USER, kind=known, pin=bool(form.get("pin")), explicit=True)
    return _tell(result, f"Remembered in {name_file(result.path)}." if result.path else "")


def edit(repo: MemoryRepo, form: Form) -> Told:
    """Puts a new text in the place of an entry's. Errors: StaleRef when it has changed meanwhile."""
    ref, text_hash = _name_entry(form.get("entry"))
    result = repo.edit(ref, form.get("text"), USER, expect_hash=text_hash)
    return _tell(result, "Saved.")


def pin(repo: MemoryRepo, form: Form) -> Told:
    """Moves an entry to MEMORY.md. Errors: StaleRef."""
    ref, text_hash = _name_entry(form.get("entry"))
    return _tell(repo.pin(ref, USER, expect_hash=text_hash), "Pinned: every session sees it now.")


def move(repo: MemoryRepo, form: Form) -> Told:
    """Moves an entry to another file. Errors: StaleRef, PathRefused, InvalidInput."""
    ref, text_hash = _name_entry(form.get("entry"))
    target = (form.get("new_target") or form.get("target")).strip()
    if not target:
        raise InvalidInput("no file was chosen", hint="choose a file, or type the name of a new one", key="target")
    path = check_repo_path(target if target.lower().endswith(".md") else f"{target}.md")
    result = repo.move(ref, path, USER, expect_hash=text_hash)
    return _tell(result, f"Moved to {name_target(path)}.")


def forget(repo: MemoryRepo, form: Form) -> Told:
    """Removes an entry. Errors: StaleRef."""
    ref, text_hash = _name_entry(form.get("entry"))
    result = repo.forget(ref, USER, expect_hash=text_hash)
    return _tell(result, "Forgotten. The history keeps the text until you compact it.")


def undo(repo: MemoryRepo, form: Form) -> Told:
    """Takes a commit back. Errors: those of `History.undo`."""
    undone, applied = repo.history.undo(form.get("commit"), USER)
    return Told(f"Taken back: {quote(undone.subject)}", applied.commit)


def decide(repo: MemoryRepo, form: Form) -> Told:
    """Keeps, pins or discards entries of the inbox, all in one commit. Errors: StaleRef, InvalidInput."""
    one = form.get("one")
    verb, _, name = one.partition(":") if one else (form.get("act"), "", "")
    named = [_name_entry(entry) for entry in ([name] if one else form.list("entry"))]
    if not named:
        raise InvalidInput("no entry was chosen", hint="tick the entries first", key="entry")
    if len(named) > MANY_MOST:
        raise InvalidInput(f"more than {MANY_MOST:,} entries at once", key="entry")
    if verb == "keep":
        return _tell_many("Kept", repo.service.keep_many(named, USER, workspaces=repo.workspaces))
    if verb == "pin":
        return _tell_many("Pinned", repo.service.pin_many(named, USER))
    if verb == "discard":
        return _tell_many("Discarded", repo.service.forget_many(named, USER))
    raise InvalidInput("the form says neither keep, pin nor discard", key="act")


def answer(repo: MemoryRepo, form: Form) -> Told:
    """Grants or denies what an agent asked for. Errors: NotFound, StaleRef."""
    raw = form.get("id")
    if not (raw.isascii() and raw.isdigit() and len(raw) < 16):
        raise InvalidInput("the form names no request", key="id")
    if form.get("answer") == "grant":
        result = repo.grant_request(int(raw), USER).result
        return Told("Forgotten, as the agent asked.", result.commit if result else None)
    if form.get("answer") == "deny":
        repo.deny_request(int(raw))
        return Told("The entry stays; the agent is told no.")
    raise InvalidInput("the form says neither grant nor deny", key="answer")


def compact(repo: MemoryRepo, form: Form) -> Told:
    """Replaces the history, once the person has said that they mean it. Errors: those of `MemoryRepo.compact`."""
    if form.get("confirmed") != "yes":
        raise InvalidInput("the history was not compacted", hint="tick the box first: it cannot be undone", key="box")
    result = repo.compact(USER)
    done = "nothing of it is left" if result.is_proven else "not all of it is gone: see the report"
    return Told(f"Replaced {count(result.commits_before, 'commit')} with one; {done}.", compaction=result)


def fix(repo: MemoryRepo, form: Form) -> Told:
    """Mends what is safe to mend. Errors: those of `MemoryRepo.fix`."""
    foreign = form.get("foreign")
    if foreign not in ("", "add", "ignore"):
        raise InvalidInput("the form says neither add nor ignore", key="foreign")
    done = repo.fix(foreign=foreign or None)
    if not done:
        return Told("There was nothing that can be mended safely.", is_done=False)
    return Told(f"Mended: {'; '.join(done)}.")


def make(repo: MemoryRepo, _: Form) -> Told:
    """Makes the memory folder. Errors: those of `MemoryRepo.create`."""
    repo.create(origin=USER.origin)
    return Told("Your memory folder is ready.")


ACTS: Mapping[str, Callable[[MemoryRepo, Form], Told]] = {
    "entries/add": add,
    "entries/edit": edit,
    "entries/pin": pin,
    "entries/move": move,
    "entries/forget": forget,
    "undo": undo,
    "inbox": decide,
    "review": answer,
    "history/compact": compact,
    "health/fix": fix,
    "create": make,
}
"""The acts on the repo, by their path."""


def _name_entry(raw: str) -> tuple[Ref, ContentHash]:
    """Reads `<hash>@<ref>`, as pages name an entry. Errors: InvalidInput."""
    text_hash, _, ref = raw.partition("@")
    if len(text_hash) != _HASH_DIGITS or not set(text_hash) <= set("0123456789abcdef"):
        raise InvalidInput("the form names no entry", hint="load the page again", key="entry")
    place = parse_ref(ref)
    if place.team is not None:
        raise InvalidInput("team memory is only read here", hint="change it in the team's own repository", key="entry")
    return place, ContentHash(text_hash)


def _tell(result: WriteResult, done: str) -> Told:
    if result.status is not WriteStatus.WRITTEN:
        return Told(tell_result(result), is_done=False)
    notes = [done]
    if result.redactions:
        notes.append(f"A secret was taken out: {', '.join(result.redactions)}.")
    if result.detail:
        notes.append(f"{result.detail[:1].upper()}{result.detail[1:]}.")
    return Told(" ".join(notes), result.commit)


def _tell_many(done: str, results: Sequence[WriteResult]) -> Told:
    commit = next((result.commit for result in results if result.commit), None)
    return Told(tell_results(done, results), commit, is_done=commit is not None)
