"""What a user's message says about them, or asks to be remembered. Pure.

Most of what people write to an assistant is a task, not a fact, and whoever imports years of it must not review it all.
So a sentence counts only when it begins as such statements do; anything else is left, rather one too many.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.model import ENTRY_LIMIT_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGE_LIMIT_CHARS = 4_000
"""A longer message is a text that was pasted, and its `I` may be anyone."""
_LEAST_CHARS = 10
_LEAST_SIGNS = 4

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_QUESTION = ("?", "？")
_LIST_MARK = re.compile(r"\A\s*(?:[-*+•]|[0-9]{1,3}[.)])\s+")

# The user asks for it; what they ask to be remembered follows.
_ASKED = re.compile(
    r"(?:(?:please|hey|ok|okay|also|and|oh|btw|by the way),?\s+)*"
    r"(?:can you |could you |i want you to |i need you to )?(?:"
    r"remember(?:\s+that\b|\s+this(?=\s*(?:[:,-]|\Z))|\s*:)|don'?t forget(?:\s+that\b|\s*:)|"
    r"(?:add|save|store|commit|put)\s+(?:this|that|it)?\s*(?:to|in|into)\s+(?:your\s+)?memory\b|"
    r"(?:bitte\s+)?merk(?:e)?\s+dir(?:,?\s+dass\b|\s*[:,])|recuerda\s*(?:que\b|:)|souviens-toi\s*(?:que\b|:)|"
    r"(?:请|請)?(?:记住|記住)|覚えておいて"
    r")\s*[:,，：-]*\s*",
    re.IGNORECASE,
)
# A sentence that begins so speaks of the user themselves, or sets a rule for later.
_STATED = re.compile(
    r"(?:(?:and|also|btw|by the way|fyi),?\s+)*(?:"
    r"(?:from now on|in (?:the )?future|for future reference)\b|"
    r"(?:please )?(?:always|never)\s+(?:answer|reply|respond|write to me|call me|address me|use .{1,40} when)\b|"
    r"my name(?:'s| is)\b|call me\s+(?-i:[A-Z])|i(?:'m| am) (?:called|known as)\b|"
    r"i(?:'m| am) (?:allergic|intolerant|vegetarian|vegan|diabetic|married|divorced|single|retired|left-handed|"
    r"colou?r-?blind|based in|originally from|from (?-i:[A-Z])|[0-9]{1,3} years old)\b|"
    r"i(?:'m| am) an? (?:[\w-]+ ){0,3}(?:engineer|developer|programmer|designer|teacher|student|nurse|doctor|"
    r"lawyer|writer|scientist|researcher|manager|consultant|freelancer|founder|analyst|accountant|architect|artist|musician|parent|"
    r"father|mother|vegetarian|vegan|beginner|native speaker)\b|"
    r"i (?:live|grew up|was born|reside) (?:in|at|near|with)\b|i work (?:at|as|for|in|with|from)\b|i moved to\b|"
    r"i study\b|i speak\b|i (?:have|own) (?:a|an|one|two|three|four|[0-9]+) (?:[\w-]+ )?(?:kids?|child(?:ren)?|sons?|"
    r"daughters?|dogs?|cats?|brothers?|sisters?)\b|"
    r"i (?:always|usually|generally|never) (?:use|prefer|write|eat|drink|work|travel|buy|avoid)\b|"
    r"i (?:prefer|hate|dislike|can'?t stand|don'?t (?:like|eat|drink)|do not (?:like|eat|drink))\s+"
    r"(?!(?:this|that|it|the|your|these|those|how|when|option|version|my)\b)|"
    r"my (?:birthday|wife|husband|partner|girlfriend|boyfriend|son|daughter|dog|cat|job|employer|timezone|time zone|"
    r"pronouns?|hometown|native language|mother tongue|favou?rite [\w-]+)(?:'s name)? (?:is|are|was)\b|"
    r"ich (?:heiße|wohne (?:in|bei)|arbeite (?:bei|als|in|für)|komme aus|bin (?:allergisch|vegetarier|veganer))|"
    r"mein name ist\b|me llamo\b|vivo en\b|trabajo (?:en|como|para)\b|soy alérgic|je m'appelle\b|j'habite\b|"
    r"je travaille (?:chez|comme|à|pour)\b|je suis allergique\b|我叫|我住在|我的名字是|我对.{1,20}过敏|私の名前は"
    r")",
    re.IGNORECASE,
)


def find_stated(message: str) -> Iterator[str]:
    """Streams the sentences of a message that count, without the words that ask to remember them."""
    if len(message) > MESSAGE_LIMIT_CHARS:
        return
    is_asked = False  # by a line that ends in a colon: what follows, up to a blank line
    for raw in _CODE.sub("\n\n", message).split("\n"):
        line = _LIST_MARK.sub("", raw, count=1).strip()
        if not line or line.startswith((">", "|")):
            is_asked = False
            continue
        asked = _ASKED.match(line)
        if asked and not line[asked.end() :].strip():
            is_asked = line.endswith((":", "："))
            continue
        for sentence in [line] if is_asked else _SENTENCE_END.split(line):
            if found := _find_fact(sentence.strip(), is_asked=is_asked):
                yield found


def iter_own_words(text: str) -> Iterator[str]:
    """Streams the lines of what a user wrote about themselves for the assistant to know: each counts."""
    for raw in text.split("\n"):
        line = _LIST_MARK.sub("", raw, count=1).strip()
        if _says_enough(line) and not line.endswith(_QUESTION):
            yield line


def _find_fact(sentence: str, *, is_asked: bool) -> str | None:
    asked = _ASKED.match(sentence)
    fact = sentence[asked.end() :].strip() if asked else sentence
    if not is_asked and not asked and (sentence.endswith(_QUESTION) or not _STATED.match(sentence)):
        return None
    fact = fact.rstrip("?？").strip() if asked else fact
    if fact.endswith((":", "：")) or not _says_enough(fact) or len(fact) > ENTRY_LIMIT_CHARS:
        return None
    return fact[:1].upper() + fact[1:]


def _says_enough(text: str) -> bool:
    """Whether it is long enough to be a fact; a sign of some scripts is a word."""
    return len(text) >= (_LEAST_CHARS if text.isascii() else _LEAST_SIGNS)
