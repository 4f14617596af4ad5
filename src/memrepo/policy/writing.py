"""Where a fact goes and whose word it is: pure decisions over a candidate and its task.

Owns the author rule (an agent's claim needs a quote or the user's confirmation), the privacy rules and the choice of
file. It never sees a path, a clock or the text rules.
Source: memory repo design (seed 1) §5.1 steps 1 to 4, §7.3, §7.5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from memrepo.model import (
    ARCHIVE_KINDS,
    Actor,
    Author,
    Candidate,
    Kind,
    Privacy,
    Reason,
    Scope,
    Taint,
    TaskContext,
)

QUOTE_MINIMUM_CHARS = 8

_SAID_SHARE = 0.6
_STEM_CHARS = 5
_WORD = re.compile(r"\w{2,}")
_SPACES = re.compile(r"\s+")
_REMOVED_SECRET = re.compile(r"\[redacted [a-z0-9-]{2,40}\]")


class Destination(StrEnum):
    """Where a fact is written. The first five are files of the repo, by their role."""

    MEMORY = "memory"
    ME = "me"
    LESSONS = "lessons"
    WORKSPACE = "workspace"
    INBOX = "inbox"
    PRIVATE = "private"
    ARCHIVE = "archive"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class Route:
    """The decision for one candidate. `natural` is where it would go if the task were clean (differs for the inbox).

    `third_party` marks the word of someone who is not the owner: it is private and stays with that contact.
    """

    destination: Destination
    by: Author
    natural: Destination
    reason: Reason | None = None
    detail: str = ""
    third_party: bool = False


def decide_author(candidate: Candidate, task: TaskContext) -> Author:
    """Decides whose word a fact is: the user's only when the user's own hand, a quote or a confirmation says so."""
    if not task.sender_is_owner:
        return Author.AGENT
    if task.actor is Actor.USER or task.user_confirmed:
        return Author.USER
    return Author.USER if is_quoted(candidate, task) else Author.AGENT


def is_quoted(candidate: Candidate, task: TaskContext) -> bool:
    """Tells whether a quote makes a claim the user's word.

    In a task that is known to be clean the quote must be the user's. In any other, what the agent read may have chosen
    both fact and quote, and any words of the user's would vouch for any text: there most of the fact's own words must
    be the user's too.
    """
    if not candidate.claims_user or not candidate.quote or not has_quote(candidate.quote, task.user_messages):
        return False
    return task.taint is Taint.CLEAN or _is_said(candidate.text, candidate.quote, task.user_messages)


def _is_said(text: str, quote: str, messages: tuple[str, ...]) -> bool:
    """Whether most words of a text stand in the messages that hold the quote; endings do not count."""
    wanted = _fold(quote)
    said = {_stem(word) for one in messages if wanted in (folded := _fold(one)) for word in _WORD.findall(folded)}
    words = [_stem(word) for word in _WORD.findall(_fold(text))]
    return bool(words) and sum(word in said for word in words) >= _SAID_SHARE * len(words)


def _stem(word: str) -> str:
    return word[:_STEM_CHARS]


def has_quote(quote: str, messages: tuple[str, ...]) -> bool:
    """Tells whether the quote (8 characters or more) stands in one message, whatever its case and white space.

    What stands for a removed secret is nobody's words and does not count.
    """
    wanted = _fold(quote)
    words = _REMOVED_SECRET.sub("", wanted).strip()
    return len(words) >= QUOTE_MINIMUM_CHARS and any(wanted in _fold(message) for message in messages)


def decide_route(candidate: Candidate, task: TaskContext) -> Route:
    """Decides where a candidate goes; the order of the checks is the order of the rules."""
    by = decide_author(candidate, task)
    natural = _choose_file(candidate, by)

    def to(destination: Destination, reason: Reason | None = None, detail: str = "") -> Route:
        return Route(destination, by, natural, reason, detail)

    if not task.sender_is_owner:
        return Route(
            Destination.PRIVATE,
            Author.AGENT,
            natural,
            Reason.PRIVATE,
            "the sender is not the owner of this memory; kept with that contact",
            third_party=True,
        )
    inferred = by is Author.AGENT and not candidate.explicit
    workspace = task.workspace
    if inferred and workspace and (not workspace.memory_enabled or workspace.privacy is Privacy.DISABLED):
        return to(Destination.NOWHERE, Reason.MEMORY_DISABLED, f"memory is off in workspace {workspace.name}")
    if candidate.kind in ARCHIVE_KINDS:
        return to(Destination.ARCHIVE, Reason.PRIVATE, f"{candidate.kind}s of a task go to the archive")
    if workspace and workspace.privacy is Privacy.STRICT:
        return to(Destination.PRIVATE, Reason.PRIVATE, f"workspace {workspace.name} is strict: nothing of it is shared")
    if candidate.private:
        return to(Destination.PRIVATE, Reason.PRIVATE, "it is marked private")
    if candidate.scope in {Scope.CONTACT, Scope.TASK}:
        return to(Destination.PRIVATE, Reason.PRIVATE, f"{candidate.scope} facts stay out of the repo")
    if candidate.kind is Kind.COMMITMENT:
        return to(Destination.PRIVATE, Reason.PRIVATE, "commitments stay out of the repo")
    if by is Author.AGENT and task.taint is not Taint.CLEAN:
        why = (
            "the task has read untrusted content"
            if task.taint is Taint.TAINTED
            else "it is not known what the task read"
        )
        return Route(Destination.INBOX, by, natural, None, f"{why}; waiting in the inbox for your review")
    return to(natural)


def _choose_file(candidate: Candidate, by: Author) -> Destination:
    if candidate.pin and by is Author.USER:
        return Destination.MEMORY
    return choose_file(candidate.kind, candidate.scope)


def choose_file(kind: Kind | None, scope: Scope) -> Destination:
    """Chooses the file of a reviewed fact by its kind and scope (seed 1 §5.1 step 4)."""
    if scope is Scope.WORKSPACE:
        return Destination.WORKSPACE
    if kind in {Kind.INSIGHT, Kind.RULE}:
        return Destination.LESSONS
    return Destination.ME


def may_change(entry_by: Author, entry_source: str | None, own_source: str | None, actor: Actor) -> bool:
    """Tells whether an actor may change a line without asking: the user always, an agent what its own task wrote."""
    if actor is Actor.USER:
        return True
    return entry_by is Author.AGENT and own_source is not None and entry_source == own_source


def _fold(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()
