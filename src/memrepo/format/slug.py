"""Slugs: file names made out of workspace names. Owns which characters they keep and how names that meet differ.

Invariants: never empty, at most 60 characters, never a name that Windows or memrepo reserves, stable under `slugify`.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from memrepo.format.clean import is_hidden

if TYPE_CHECKING:
    from collections.abc import Collection

SLUG_LIMIT_CHARS = 60
FALLBACK = "workspace"

# Device names of Windows, with any extension. Their superscript forms (COM¹) cannot come up: a superscript is no digit.
# Source: Microsoft, "Naming Files, Paths, and Namespaces". `index` is memrepo's own: workspaces/index.md holds links.
RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "index"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)}
)


def slugify(name: str) -> str:
    """Makes a file name (without extension) out of any name: words of letters and digits, joined with `-`.

    Letters and digits of every script stay, case-folded and NFC, with the marks that belong to them.
    """
    slug = _cut(_join_words(_fold(name)), SLUG_LIMIT_CHARS) or FALLBACK
    # Compatibility forms too (fullwidth `ｃｏｎ`): some programs fold them on the way to the disk.
    return f"{slug}-{FALLBACK}" if unicodedata.normalize("NFKC", slug) in RESERVED else slug


def choose_slug(name: str, taken: Collection[str]) -> str:
    """The slug of a name, with `-2`, `-3`, … when it is taken; taken names count whatever their case and form."""
    used = {_fold(other) for other in taken}
    base = slugify(name)
    slug, number = base, 1
    while slug in used:
        number += 1
        suffix = f"-{number}"
        slug = _cut(base, SLUG_LIMIT_CHARS - len(suffix)) + suffix
    return slug


def _fold(name: str) -> str:
    """Case-folded and NFC. Each may undo the other (U+0345), so both run until they agree."""
    while True:
        folded = unicodedata.normalize("NFC", name.casefold())
        if folded == name:
            return name
        name = folded


def _join_words(name: str) -> str:
    """Words joined with `-`. Invisible characters (joiners, selectors) vanish without parting a word."""
    kept: list[str] = []
    for character in name:
        category = unicodedata.category(character)
        if category[0] == "L" or category == "Nd" or (category[0] == "M" and kept and kept[-1] != "-"):
            if not is_hidden(character):
                kept.append(character)
        elif (category == "Cc" or not is_hidden(character)) and kept and kept[-1] != "-":
            kept.append("-")
    return _fold("".join(kept)).strip("-")


def _cut(slug: str, limit: int) -> str:
    """At most `limit` characters, not ending in `-`, and not between a letter and its marks unless marks are all."""
    if len(slug) <= limit:
        return slug
    end = limit
    while end and unicodedata.category(slug[end])[0] == "M":
        end -= 1
    return slug[: end or limit].rstrip("-")
