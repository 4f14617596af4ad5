"""What the words around a value call it: a secret, openly something else, or nothing of either.

"The API key for the staging account" names a key, "the commit that rotated the key" a commit, "key id" an id. What
heads the first phrase of a clause decides.
"""

from __future__ import annotations

from memrepo.policy.secrets import words
from memrepo.policy.secrets.deferred import deferred

OPEN = ""
"""The verdict of a phrase that names something else than a secret."""

CLIENT_ID = "client-id"
"""The verdict of a phrase that names an application's id; a secret with `words.ID_PROVIDERS` only."""

OPENERS = " \t\"'`“”„«‘’「『(<[*_\\"
"""What may stand between a name and its value."""

_CLIENT_WORDS = frozenset({"client", "access", "api", "app", "application"})
_CHANGED = frozenset({"changed", "reset", "rotated", "updated", "change", "refresh"})
# Latin, Greek and Cyrillic letters make words; what touches them in a script without spaces is another.
_LETTERS = r"a-z\u00c0-\u024f\u0370-\u052f\u1e00-\u1eff"
_WORDS = deferred(rf"[A-Z]+(?![a-z])|[A-Z]?[{_LETTERS}]+|[^\W\dA-Z_{_LETTERS}]+")
_ASCII_WORDS = deferred(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MAY_END = deferred(r"[.!?;\n。！？；]")
_SENTENCE_END = deferred(r"[.!?。！？]\s+(?=\S)|[;；\n]|[。！？]")
_SPLITTERS = (" (", ",", ";", " - ", "—", "–", "，", "、", "；", "and", "but", "und", "aber", "pero", "mais", "et ")
_CLAUSE_SPLIT = deferred(r"[,;，、；]\s|\s[—–-]\s|\s\(|\b(?:and|but|und|aber|pero|mais|et)\b")


def split_words(text: str) -> list[str]:
    """Splits into lower-cased words, also inside camelCase and snake_case; digits end a word."""
    return [word.lower() for word in (_ASCII_WORDS() if text.isascii() else _WORDS()).findall(text)]


def read_phrase(phrase: str) -> str | None:
    """Tells what the words before a value call it: the kind of secret, OPEN for something else, or None.

    Clauses are read from the last to the first, each from its start: what heads the clause decides.
    """
    for clause in reversed(_CLAUSE_SPLIT().split(phrase)) if _may_split(phrase) else (phrase,):
        verdict = _read_clause(clause)
        if verdict is not None:
            return verdict
    return None


def _may_split(phrase: str) -> bool:
    for splitter in _SPLITTERS:  # noqa: SIM110 - quicker than the pattern and than a generator
        if splitter in phrase:
            return True
    return False


def _read_clause(clause: str) -> str | None:
    found = split_words(clause)
    chunk: list[str] = []
    for word in (*found, "of"):
        if word not in words.PREPOSITIONS:
            chunk.append(word)
            continue
        if word == "to" and chunk and chunk[-1] in _CHANGED:
            del chunk[-1]  # "the token was changed to …"
        verdict = read_chunk(chunk)
        if verdict is not None:
            return verdict
        chunk = []
    if not clause.isascii():
        lowered = clause.lower()
        if any(part in lowered for part in words.OPEN_LABEL_PARTS):
            return OPEN
        return next((kind for part, kind in words.SECRET_PARTS.items() if part in lowered), None)
    return None


def read_chunk(chunk: list[str]) -> str | None:
    """Reads one phrase without prepositions: the last name of a secret, unless a later word makes it another thing."""
    for index in range(len(chunk) - 1, -1, -1):
        word = chunk[index]
        kind = words.SECRET_WORDS.get(word)
        if kind is None:
            continue
        before = chunk[index - 1] if index else ""
        after = chunk[index + 1 :]
        if before in words.OPEN_MODIFIERS:
            return OPEN
        if after and _names_other(after):
            return _read_id(chunk, after)
        if kind == "key" and before in {
            "api",
            "secret",
            "access",
            "private",
            "signing",
            "encryption",
            "license",
            "licence",
        }:
            kind = f"{before}-key"
        return kind
    if any(word in words.OPEN_HEADS for word in chunk):
        return _read_id(chunk, chunk)
    return None


def _names_other(after: list[str]) -> bool:
    """Tells whether words make the secret before them another thing. MessageBird is a provider and no message."""
    for index, word in enumerate(after):
        if (word in words.OTHER_HEADS or word in words.OPEN_LABELS) and (
            "".join(after[index : index + 2]) not in words.PROVIDERS
        ):
            return True
    return False


def _read_id(chunk: list[str], after: list[str]) -> str:
    """An id is open, but for the application ids of a few providers: the reader of the value checks which."""
    return CLIENT_ID if "id" in after and any(word in _CLIENT_WORDS for word in chunk) else OPEN


def find_providers(found: list[str]) -> set[str]:
    """Returns the providers that words name. Names of two words are joined."""
    slugs: set[str] = set()
    for index, word in enumerate(found):
        slug = words.PROVIDERS.get(word)
        if slug is None and index + 1 < len(found):
            slug = words.PROVIDERS.get(word + found[index + 1])
        if slug is not None:
            slugs.add(slug.replace("-", ""))
    return slugs


def find_sentence(left: str) -> int:
    """Returns where the last sentence of a text starts."""
    if not _MAY_END().search(left):
        return 0
    last = 0
    for match in _SENTENCE_END().finditer(left):
        if match.end() < len(left) or match.group() != "\n":
            last = match.end()
    # A value on a line of its own belongs to the line above: YAML blocks, XML elements.
    if last and left[last:].strip(OPENERS) == "" and last >= 1:
        above = left[:last].rstrip()
        if above[-1:] in {"|", ">", ":", "=", "-"}:
            return find_sentence(above)
    return last


def is_name(piece: str) -> bool:
    """Tells whether what stands before a `=` names a value rather than being a part of it."""
    found = split_words(piece)
    return any(word in words.SECRET_WORDS or word in words.PROVIDERS for word in found) or (
        not any(map(str.isdigit, piece)) and bool(piece)
    )
