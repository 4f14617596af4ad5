"""The labelled set: rows with a secret and rows without, made anew from forms and a seed, the same every time.

`python -m tests.data.secrets.rows [first|second|third|all]` prints the rows.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tests.data.secrets import bodies, first_forms, second_forms, third_forms
from tests.data.secrets.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20261101
TOKEN_ROWS_PER_KIND = 3
ROWS_PER_OWN_FORM = 3
ROWS_PER_CLEAN_FORM = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One line. `secret` is what must be gone after redaction, or "" for a line that must not change."""

    kind: str
    text: str
    secret: str


class Forms(Protocol):
    """One part of the forms."""

    TOKEN_FORMS: tuple[str, ...]
    OWN_FORMS: tuple[tuple[str, str, str], ...]
    CLEAN_FORMS: tuple[str, ...]


HALVES: dict[str, Forms] = {"first": first_forms, "second": second_forms, "third": third_forms}


def make_rows(half: str) -> tuple[Row, ...]:
    """Makes the rows of one part."""
    rng = random.Random(f"{SEED} {half}")
    forms = HALVES[half]
    return (*_make_token_rows(forms, rng), *_make_own_rows(forms, rng), *_make_clean_rows(forms, rng))


def _make_token_rows(forms: Forms, rng: random.Random) -> Iterator[Row]:
    for kind, (provider, thing, pattern) in KINDS.items():
        for form in rng.sample(forms.TOKEN_FORMS, TOKEN_ROWS_PER_KIND):
            secret = bodies.fill(pattern, rng)
            text = bodies.fill(_name(form, provider, thing).replace("{S}", "\0"), rng)
            yield Row(kind, text.replace("\0", secret), secret)


def _name(form: str, provider: str, thing: str) -> str:
    plain = "".join(char for char in f"{provider} {thing}".replace("-", " ") if char.isalnum() or char == " ")
    parts = plain.split()
    return (
        form.replace("{P}", provider)
        .replace("{T}", thing)
        .replace("{snake}", "_".join(parts).lower())
        .replace("{UPPER}", "_".join(parts).upper())
        .replace("{kebab}", "-".join(parts).lower())
        .replace("{camel}", parts[0].lower() + "".join(part.title() for part in parts[1:]))
    )


def _make_own_rows(forms: Forms, rng: random.Random) -> Iterator[Row]:
    for kind, form, pattern in forms.OWN_FORMS:
        for _ in range(ROWS_PER_OWN_FORM if "{" in pattern else 1):
            secret = bodies.fill(pattern, rng)
            yield Row(kind, form.replace("{S}", secret), secret)


def _make_clean_rows(forms: Forms, rng: random.Random) -> Iterator[Row]:
    for form in forms.CLEAN_FORMS:
        fillable = form.replace("{{", "\0").replace("}}", "\1")
        for _ in range(ROWS_PER_CLEAN_FORM if "{" in fillable.replace("${", "") else 1):
            yield Row("", _fill_known(fillable, rng).replace("\0", "{{").replace("\1", "}}"), "")


def _fill_known(form: str, rng: random.Random) -> str:
    """Fills holes, and leaves `${NAME}` and other braces that are part of the line."""
    pieces = form.split("${")
    return "${".join((bodies.fill(pieces[0], rng), *pieces[1:]))


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else "all"
    for name in HALVES if wanted == "all" else (wanted,):
        for row in make_rows(name):
            sys.stdout.write(f"{row.kind or 'clean'}\t{row.text!r}\n")
