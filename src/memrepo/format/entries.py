"""One entry: a bullet on one line, with optional `[key: value; key: value]` at its end.

Owns the grammar of that line and its hash. Knows neither the lines around it (`document.py`) nor what a text may hold
(`clean.py`). Invariant: what `render_entry` returns is read back by `parse_bullet` as the same text and metadata; a
text for which that cannot hold is refused.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput
from memrepo.model import ContentHash, Entry

if TYPE_CHECKING:
    from collections.abc import Iterable

KNOWN_KEYS = ("by", "kind", "subject", "workspace", "source", "added")
"""The keys memrepo gives a meaning, in the order in which they are written."""

_RANK = {key: rank for rank, key in enumerate(KNOWN_KEYS)}

Meta = tuple[tuple[str, str], ...]

# A bullet with nothing behind it opens a list item too, but is no entry.
BULLET = re.compile(r"([ \t]*)([-*+])(?:([ \t]+)(.*))?\Z", re.DOTALL)

_KEY = re.compile(r"[^\W\d_][\w.-]*\Z")
# An unknown key needs white space after its colon: `[https://x]` and `[std::move]` are text. `[by:agent]` is not.
_PAIR = re.compile(r"\s*(?:(by|kind|subject|workspace|source|added)\s*:|([^\W\d_][\w.-]*)\s*:(?=\s))(.*)\Z", re.DOTALL)

_ESCAPED = re.compile("%(3b|5b|5d)", re.IGNORECASE)
_ESCAPES = str.maketrans({";": "%3B", "[": "%5B", "]": "%5D"})
_UNESCAPE = {"3B": ";", "5B": "[", "5D": "]"}

# CommonMark: the info string of a backtick fence holds no backtick, that of a tilde fence may hold anything.
FENCE = re.compile(r"(`{3,})(?=[^`]*\Z)|(~{3,})")
COMMENT = "<!--"

_LINK_ONLY = re.compile(
    r"""\[\[[^\[\]]+\]\]                                                        # [[path]]
      | !?\[[^\[\]]*\]\((?:[^()\s]++|\([^()\s]*+\))*+(?:\s+(?:"[^"]*"|'[^']*'))?\)  # [text](url "title"), ![alt](url)
      | <[a-z][a-z0-9+.-]{1,31}:[^\s<>]*>                                       # <scheme:...>
      | (?:https?://|mailto:)\S+                                                # a bare address
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LINK_STARTS = ("[", "!", "<", "h", "H", "m", "M")

# Of the general category "other punctuation" these are signs that change the meaning: C# is not C, 5% is not 5.
_SIGNS = frozenset("\"#%&'*/@\\§¶†‡•‣‧‰‱′″‴‵‶‷※⁂⁎⁑⁕⁗٪٭؉؊﹟﹠﹡﹨﹪﹫＂＃％＆＇＊／＠＼")  # fmt: skip


def split_metadata(body: str) -> tuple[str, Meta]:
    """Splits what follows a bullet into its text and its metadata; both without surrounding white space.

    Metadata is the last bracket, if it ends the line and holds nothing but pairs. Values come back unescaped.
    """
    body = body.strip()
    if not body.endswith("]"):
        return body, ()
    start = body.rfind("[")
    inner = body[start + 1 : -1]
    if start < 0 or "]" in inner:
        return body, ()
    meta = read_pairs(inner)
    return (body[:start].rstrip(), meta) if meta else (body, ())


def read_pairs(inner: str) -> Meta:
    """Reads the inside of a bracket; () when anything in it is not a pair. Empty pieces (`a: b;`) are passed over."""
    pairs = []
    for piece in inner.split(";"):
        key, colon, value = piece.partition(": ")
        key = key.strip()
        if colon and key in _RANK:
            value = value.strip()
        else:
            pair = _PAIR.match(piece)
            if pair is None:
                if piece.strip():
                    return ()
                continue
            key, value = pair[1] or pair[2], pair[3].strip()
        pairs.append((key, unescape_value(value) if "%" in value else value))
    return tuple(pairs)


def parse_bullet(line: str) -> Entry | None:
    """Reads one physical line; None when it is not a bullet, or is structure.

    Structure is a bullet that holds nothing, nothing but a link, a code fence or a comment. `line` and `section` of the
    entry are left empty: only a document knows them.
    """
    bullet = BULLET.match(line)
    if bullet is None or "\n" in line or "\r" in line:
        return None
    indent, mark, _, body = bullet.groups()
    content = read_body(body or "", mark)
    return None if content is None else Entry(content[0], content[1], 0, mark, indent)


def read_body(body: str, mark: str) -> tuple[str, Meta] | None:
    """Reads what follows the bullet `mark`: text and metadata, or None for structure."""
    text, meta = split_metadata(body)
    if not text or opens_block(text):
        return None
    if not meta and text[0] in _LINK_STARTS and _LINK_ONLY.fullmatch(text):
        return None
    if text[0] == mark and not text.strip(mark + " \t"):
        return None  # `- - -` is a thematic break, `- -` an empty item in an empty item
    return text, meta


def opens_block(text: str) -> bool:
    """Whether the text behind a bullet or an indent starts fenced code or an HTML comment."""
    return text[0] in "`~<" and (text.startswith(COMMENT) or FENCE.match(text) is not None)


def is_link_only(text: str) -> bool:
    """Whether the text is one link and nothing else: as a bullet without metadata it would be structure."""
    return _LINK_ONLY.fullmatch(text) is not None


def render_entry(text: str, meta: Iterable[tuple[str, str]], *, bullet: str = "-", indent: str = "") -> str:
    """Writes an entry as one line without newline: known keys first in their order, then the others sorted.

    Pairs with one key keep their order. `;`, `[` and `]` in values are escaped.

    Errors: InvalidInput when the line would be read back as anything but this text and this metadata (text that
    was not cleaned, a bare link without metadata, a key or bullet of wrong form).
    """
    pairs = tuple(sorted(((key, unescape_value(value).strip()) for key, value in meta), key=_order))
    for key, _ in pairs:
        if not _KEY.match(key):
            raise InvalidInput(
                f"{key[:40]!r} cannot be a metadata key: a key is a letter followed by letters, digits, '_', '-', '.'",
                hint="Choose another key, for example `source`.",
                key=key[:40],
            )
    tail = f" [{'; '.join(f'{key}: {escape_value(value)}' for key, value in pairs)}]" if pairs else ""
    line = f"{indent}{bullet} {text}{tail}"
    entry = parse_bullet(line) if _is_writable(line) else None
    if entry is None or (entry.text, entry.meta, entry.bullet, entry.indent) != (text, pairs, bullet, indent):
        # The text itself stays out of the message: it is a memory.
        raise InvalidInput(
            f"an entry text of {len(text)} characters cannot be written: its line would be read as something else",
            hint="Write one line of plain text that does not end in a bracket of `key: value` and is not only a link.",
        )
    return line


def _is_writable(line: str) -> bool:
    """False for lone surrogates, unless they stand for bytes of a file that are not UTF-8."""
    try:
        line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _order(pair: tuple[str, str]) -> tuple[int, str]:
    rank = _RANK.get(pair[0])
    return (len(_RANK), pair[0]) if rank is None else (rank, "")


def escape_value(value: str) -> str:
    """Writes `;`, `[` and `]` of a metadata value as `%3B`, `%5B` and `%5D`."""
    if ";" in value or "[" in value or "]" in value:
        return value.translate(_ESCAPES)
    return value


def unescape_value(value: str) -> str:
    """Reads `%3B`, `%5B` and `%5D` (either case) back; every other percent sign stays as it is."""
    return _ESCAPED.sub(lambda found: _UNESCAPE[found[1].upper()], value) if "%" in value else value


def content_hash(text: str) -> ContentHash:
    """Names a text whatever its capitals, white space and closing punctuation.

    SHA-256 of the UTF-8 of: lower case, NFC, each run of white space one space, none at the ends, without closing
    punctuation (category Po, but not signs such as `#`, `%`, `*`, `/`). A text of punctuation only keeps it.
    """
    folded = text.lower()
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", folded)
    folded = " ".join(folded.split())
    end = len(folded)
    while end and (folded[end - 1] == " " or _is_closing(folded[end - 1])):
        end -= 1
    return ContentHash(hashlib.sha256((folded[:end] or folded).encode("utf-8", "surrogatepass")).hexdigest())


def subject_key(subject: str) -> str:
    """The form in which two subjects are the same: case and white space do not count."""
    return " ".join(subject.split()).casefold()


def _is_closing(character: str) -> bool:
    return unicodedata.category(character) == "Po" and character not in _SIGNS
