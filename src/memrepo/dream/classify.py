"""What of a dream is applied at once, and what waits for the user. Pure; the order of the checks is that of the rules.

At once: update, remove, merge and move of agents' lines outside MEMORY.md, add of what the user said, discard. A text
must be made of words that stood in the changed lines or that the user said: a model that was talked into something by
what it read can shorten and join, not say anything new. Everything else waits.
Source: memory repo design (seed 1) §10; DESIGN section 12; the words rule is ours.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.dream.operations import Change, Op
from memrepo.model import INBOX_FILE, MEMORY_FILE, Author
from memrepo.planning.intake import task_source
from memrepo.policy.sanitizing import reveal_text, show_text
from memrepo.policy.writing import has_quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from memrepo.dream.transcripts import Talk
    from memrepo.model import RepoPath

KNOWN_SHARE = 0.8
_STEM_CHARS = 5
_WORD = re.compile(r"\w+")
# What may be a command, an address, a place or a number: such a piece is known whole or not at all.
_HARD = re.compile(r"[^\s,;()]*(?:[/\\@:$|&<>=`{}~^*%#]|\w\.\w|\d)[^\s,;()]*")


def classify(changes: Iterable[Change], *, paths: Collection[RepoPath], talks: Sequence[Talk]) -> tuple[Change, ...]:
    """Each change with its mode and the reason; an added line also with the session in which it was said."""
    return tuple(_classify(change, paths, talks) for change in changes)


def _classify(change: Change, paths: Collection[RepoPath], talks: Sequence[Talk]) -> Change:
    talk = _find_talk(change.evidence, talks)
    why = _find_reason(change, paths, talk)
    source = task_source(talk.session_id) if talk is not None and talk.session_id else ""
    said = {"source": source} if change.op is Op.ADD else {}
    return change.model_copy(update={"mode": "review" if why else "auto", "why": why, **said})


def _find_reason(change: Change, paths: Collection[RepoPath], talk: Talk | None) -> str:
    """Why a change waits for review; "" when it does not."""
    if any(line.by != Author.AGENT for line in change.lines):
        return "a line of yours"
    is_link = change.op in {Op.LINK, Op.UNLINK}
    if is_link or any(line.path == MEMORY_FILE for line in change.lines) or change.file == MEMORY_FILE:
        return "every session reads MEMORY.md"
    if change.op is Op.PROMOTE or (
        change.op not in {Op.DISCARD, Op.REMOVE} and any(line.path == INBOX_FILE for line in change.lines)
    ):
        return "out of the inbox"
    if change.file and change.file not in paths:
        return "a new file"
    said = talk.user_messages if talk is not None else ()
    if change.op is Op.ADD and not said:
        return "not in your words"
    if change.text and not is_made_of(change.text, (*(line.text for line in change.lines), *said)):
        return "words that neither the lines nor you said"
    return ""


def is_made_of(text: str, sources: Iterable[str]) -> bool:
    """Tells whether a text says nothing that its sources do not: most words, and every address, command and number."""
    known = " ".join(source.casefold() for source in sources)
    folded = text.casefold()
    hard = set(_HARD.findall(known))
    if any(piece.rstrip(".!?'\"") not in {one.rstrip(".!?'\"") for one in hard} for piece in _HARD.findall(folded)):
        return False
    stems = {_stem(word) for word in _WORD.findall(known)}
    words = _WORD.findall(folded)
    return bool(words) and sum(_stem(word) in stems for word in words) >= KNOWN_SHARE * len(words)


def _find_talk(evidence: str, talks: Sequence[Talk]) -> Talk | None:
    """The session in which the user said these words, in the form that they were shown in or as they were typed."""
    for talk in talks if evidence else ():
        shown = tuple(form for message in talk.user_messages for form in (reveal_text(message), show_text(message)))
        if has_quote(evidence, (*talk.user_messages, *shown)):
            return talk
    return None


def _stem(word: str) -> str:
    return word[:_STEM_CHARS]
