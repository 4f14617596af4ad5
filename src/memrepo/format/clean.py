"""What the text of an entry and the value of a key may hold.

`clean_text` turns any string into text that can only be read as text: one line, NFC, nothing invisible, nothing at its
start that Markdown takes for structure, nothing at its end that could pass for metadata. It never shortens what it
keeps, and cleaning twice is cleaning once. Secrets, salience and length are others' business.
"""

from __future__ import annotations

import re
import unicodedata

from memrepo.format.entries import KNOWN_KEYS, read_pairs, unescape_value

# Every control (Cc), format (Cf) and default-ignorable code point, surrogates and noncharacters. White space among
# them has become a space before. Left out on purpose: the visible format characters (Arabic and Kaithi number signs,
# U+0600-0605, 06DD, 070F, 0890-0891, 08E2, 110BD, 110CD). Source: Unicode DerivedCoreProperties, Default_Ignorable.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_EMOJI_SELECTORS = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
# Emoji that take a selector and are neither "other symbol" nor "math symbol".
_ODD_EMOJI = "\u203c\u2049\u2139\u3030\u303d"
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_VIRAMA_CLASS = 9

# Scripts whose spelling uses joiners: Arabic to Mandaic, the Brahmic ones of India and Lanka, Myanmar, Khmer,
# Mongolian, Tai Tham, Balinese to Lepcha, Phags-pa to Meetei Mayek, Arabic forms, the Brahmic ones of plane 1.
_JOINING = re.compile(
    "[\u0620-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1820-\u18af\u1a20-\u1aaf\u1b00-\u1c4f\ua840-\ua95f"
    "\ua980-\uabff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U00010a5f\U00011000-\U00011fff]"
)
_MONGOLIAN = re.compile("[\u1820-\u18aa]")
_MONGOLIAN_MARKS = "\u180b\u180c\u180d\u180e\u180f"

# What Markdown would take for structure behind the bullet: bullets and headings, quotes and numbers (which stay: `> 5`
# and `1. FC` may be meant), and a fence, however many of the others stand before it.
_START = re.compile(
    r"(?P<bullet>[-*+](?: +|\Z))|(?P<heading>#{1,6}(?: +|\Z))|(?P<frame>> ?|[0-9]{1,9}[.)] +)"
    r"|(?P<fence>(?:`{3,}(?=[^`]*\Z)|~{3,}) *)"
)

_KNOWN_PAIR = re.compile(rf"\s*(?:{'|'.join(KNOWN_KEYS)})\s*:", re.IGNORECASE)
_OPEN_PAIR = re.compile(r"\[(?=\s*[\w.-]+\s*:)")
_BRACKETS = re.compile(r"[\[\]]")
_PIECE_ENDS = re.compile(r"[\[\];]")


def clean_text(raw: str) -> str:
    """Makes the text of an entry out of any string; "" when nothing remains.

    Law: `parse_bullet(render_entry(clean_text(t), m))` holds exactly that text and `m`, wherever the line stands.
    """
    text = raw
    while True:
        cleaned = _strip_metadata(_strip_marks(_clean_characters(text)))
        # A step may uncover work for an earlier one (a joiner that lost its neighbour), so go on until all agree.
        if cleaned == text:
            return text
        text = cleaned


def clean_value(raw: str) -> str:
    """Makes a metadata value out of any string: one line of visible characters, escapes read back."""
    value = raw
    while True:
        cleaned = unescape_value(_clean_characters(value))
        if cleaned == value:
            return value
        value = cleaned


def is_hidden(character: str) -> bool:
    """Whether the character is a control or invisible; some of them are kept where a script or an emoji needs them."""
    return _HIDDEN.match(character) is not None


def _clean_characters(text: str) -> str:
    """One line, NFC, visible, single spaces; and no start of an HTML comment, which would hide what follows."""
    text = " ".join(text.split())
    if not (text.isascii() and text.isprintable()):
        if _HIDDEN.search(text):
            text = _drop_hidden(text)
        text = " ".join(unicodedata.normalize("NFC", text).split())
    return text.replace("<!--", "<! --")


def _drop_hidden(text: str) -> str:
    kept: list[str] = []
    for position, character in enumerate(text):
        if not is_hidden(character) or _is_needed(
            kept[-1] if kept else "", character, text[position + 1 : position + 2]
        ):
            kept.append(character)
    return "".join(kept)


def _is_needed(before: str, hidden: str, after: str) -> bool:
    """Whether a script or an emoji needs the invisible character between these two."""
    if not before:
        return False
    if hidden in _EMOJI_SELECTORS:
        return _is_symbol(before) or (before in "0123456789#*" and after == _KEYCAP)
    if hidden == _ZWJ and _is_symbol(after):
        return _is_symbol(before) or before in _SKIN_TONES or before == "\ufe0f"
    if hidden in (_ZWJ, _ZWNJ):
        return _JOINING.match(before) is not None and (
            _JOINING.match(after) is not None or unicodedata.combining(before) == _VIRAMA_CLASS
        )
    return hidden in _MONGOLIAN_MARKS and _MONGOLIAN.match(before) is not None


def _is_symbol(character: str) -> bool:
    return character != "" and (character in _ODD_EMOJI or unicodedata.category(character) in ("So", "Sm"))


def _strip_marks(text: str) -> str:
    """Takes away what Markdown would read as a bullet, a heading, a fence or a rule at the start of the item."""
    frames = ""
    at = 0
    while (start := _START.match(text, at)) and not (frames and start["heading"]):
        if start["frame"] or (frames and start["bullet"]):
            frames += start[0]
        at = start.end()
    text = frames + text[at:]
    return text if text.strip("-*+_ ") else ""


def _strip_metadata(text: str) -> str:
    """Takes away brackets at the end that could pass for metadata until none is left, and closes off an open one."""
    end = len(text)
    if text.endswith("]"):
        opened_by = _match_brackets(text)
        while end and text[end - 1] == "]":
            start = opened_by.get(end - 1, -1)
            if start < 0:
                start = text.rfind("[", 0, end)
            if start < 0 or not _is_like_metadata(text[start:end]):
                break
            end = start
            while end and text[end - 1] == " ":
                end -= 1
    text = text[:end]
    # `[by: user` without its end would swallow the real bracket in a reader that takes the first `[`.
    tail = text.rfind("]") + 1
    return text[:tail] + _OPEN_PAIR.sub("(", text[tail:]) if "[" in text[tail:] else text


def _match_brackets(text: str) -> dict[int, int]:
    """The position of the opening bracket for each closing one that has any; one pass."""
    opened_by: dict[int, int] = {}
    waiting: list[int] = []
    for bracket in _BRACKETS.finditer(text):
        if bracket[0] == "[":
            waiting.append(bracket.start())
        elif waiting:
            opened_by[bracket.start()] = waiting.pop()
    return opened_by


def _is_like_metadata(bracket: str) -> bool:
    """Wider than the parser: one known key is enough, in any case, spacing and nesting, whatever stands beside it."""
    return bool(read_pairs(_BRACKETS.sub(" ", bracket))) or any(
        _KNOWN_PAIR.match(piece) for piece in _PIECE_ENDS.split(bracket)
    )
