"""Finds secrets in text and replaces each with `[REDACTED <kind>]`. The only detector: every write and every outgoing
read goes through `redact`.

Promises: only the secret's value is replaced, the words around it stay; no secret is returned, kept or logged;
redacting twice changes nothing; the time grows with the length of the text. What a secret looks like is data, in
`secrets/`. It asks no provider and decodes nothing but basic credentials.
Limits and measured rates: `docs/redaction.md`. Source: memory repo design (seed 1) §5.1 step 1, §7.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from memrepo.policy.secrets.blocks import find_key_blocks
from memrepo.policy.secrets.cards import find_cards
from memrepo.policy.secrets.deferred import deferred
from memrepo.policy.secrets.gates import find_gates
from memrepo.policy.secrets.named import find_named_values
from memrepo.policy.secrets.opaque import find_opaque_values
from memrepo.policy.secrets.places import find_structures
from memrepo.policy.secrets.prefixes import find_format
from memrepo.policy.secrets.spans import HIDDEN, Look, Span, merge_spans
from memrepo.policy.secrets.words import ASSIGNED_STEMS, word_set


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text without its secrets. `kinds` names what was replaced, once each, in order; never the secrets.

    `secret_only` says that nothing worth keeping is left beside the replacements.
    """

    text: str
    kinds: tuple[str, ...]
    secret_only: bool


_MARKER_START = "[REDACTED "
_ASSIGNED_STEMS = frozenset(ASSIGNED_STEMS)
_PASSES = 16  # two for nearly every text; the limit keeps the time linear
_WHOLE_TEXT = "text"
_MARKER = deferred(r"\[REDACTED [a-z0-9-]{2,40}\]")
# A token starts at a letter or digit and runs over what tokens are made of; `=`, `:` and quotes end it.
_TOKEN = deferred(r"[A-Za-z0-9][A-Za-z0-9_\-.~+/%]{7,}")
_WORD_CHARS = 14  # letters alone are a word up to here
_LEFT_OVER = deferred(r"[^\W_]+")
# What may stand beside a replacement and still say nothing.
_GLUE = word_set(
    """
    is are was the a an my our your key keys token tokens secret secrets password passwd pwd pass passphrase api access
    auth authorization bearer basic client private login export set env const let var string value credential
    credentials pin code codes card number x user id use as remember save store note please it this here
    das ist mein lautet passwort kennwort schlüssel la es mi clave contraseña le est mon mot de clé et und y and
    密码 密钥 是 为 我的密码是 密码是 パスワード パスワードは は です
    """
)


def redact(text: str) -> Redaction:
    """Replaces every secret in a text by `[REDACTED <kind>]`."""
    kinds: list[str] = []
    gates: list[str] | None = None
    look = Look()
    shown = _MARKER().sub(lambda match: HIDDEN * len(match[0]), text) if _MARKER_START in text else text
    for _ in range(_PASSES):
        lower = _lower(shown)
        # What a replacement leaves opens no gate that was not open before.
        gates = find_gates(lower) if gates is None else [gate for gate in gates if gate in lower]
        spans = _find_spans(shown, lower, gates, look)
        if not spans:
            break
        # The rest is looked at again: with a secret gone, its neighbour may be called differently. Not so when all that
        # was met was a secret or plain words, and no rule is open that reads across a gap.
        markers = [f"{_MARKER_START}{span.kind}]" for span in spans]
        text = _replace(text, spans, markers)
        shown = _replace(shown, spans, [HIDDEN * len(marker) for marker in markers])
        kinds += [span.kind for span in spans]
        if (
            not look.let_go
            and _ASSIGNED_STEMS.issuperset(gates)
            and "BEGIN" not in shown
            and not any(find_cards(shown))
        ):
            break
    else:
        # Only a text made for it gets here; doubt keeps it out as a whole.
        return Redaction(f"{_MARKER_START}{_WHOLE_TEXT}]", (_WHOLE_TEXT,), secret_only=True)
    return Redaction(text, tuple(dict.fromkeys(kinds)), HIDDEN in shown and _is_secret_only(shown))


def _replace(text: str, spans: list[Span], replacements: list[str]) -> str:
    pieces: list[str] = []
    done = 0
    for span, replacement in zip(spans, replacements, strict=True):
        pieces += text[done : span.start], replacement
        done = span.end
    return "".join((*pieces, text[done:]))


def _is_secret_only(shown: str) -> bool:
    """Tells whether only replacements and connecting words are left in a text with its replacements hidden."""
    for match in _LEFT_OVER().finditer(shown):  # noqa: SIM110 - most texts end at the first word
        if match[0].lower() not in _GLUE:
            return False
    return True


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) != len(text):  # a few letters grow when lowered; places must stay the same
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return lower


def _find_spans(text: str, lower: str, gates: list[str], look: Look) -> list[Span]:
    """Returns the secrets of a text in order, none overlapping. What is found first names the kind."""
    spans = list(find_key_blocks(text)) if "BEGIN" in text else []
    rest: list[tuple[int, int]] = []
    for match in _TOKEN().finditer(text):
        start, end = match.span()
        found = find_format(text, start, end)
        if found:
            spans.append(found)
            look.let_go += found.end < end
        elif end - start >= _WORD_CHARS or not match[0].isalpha():
            rest.append((start, end))
    if gates:
        spans += find_structures(text, gates)
        spans += find_named_values(text, lower, gates, spans[:], look)
    if rest:
        spans += find_opaque_values(text, _drop_covered(rest, spans), look)
    spans += find_cards(text)
    return merge_spans(spans) if spans else spans


def _drop_covered(places: list[tuple[int, int]], spans: list[Span]) -> list[tuple[int, int]]:
    """Leaves out the places that a span holds already. Both grow with the text, so both are walked once."""
    if not spans:
        return places
    covered = iter(merge_spans(spans))
    span = next(covered, None)
    left: list[tuple[int, int]] = []
    for start, end in places:
        while span and span.end <= start:
            span = next(covered, None)
        if span is None or start < span.start:
            left.append((start, end))
    return left
