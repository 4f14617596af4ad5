"""Laws of `redact` that hold for every text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.secrets.bodies import fill
from tests.data.secrets.kinds import KINDS
from tests.data.secrets.rows import HALVES, make_rows

from memrepo.policy.redaction import redact

# Pieces that rules react to, so that texts put together from them meet many rules at once.
PIECES = (
    "password",
    "the password is ",
    "password: ",
    "token",
    "API key ",
    "secret=",
    "Kraken ",
    "commit ",
    "is ",
    "for the ",
    " as the ",
    "sha256:",
    "-----BEGIN PRIVATE KEY-----",
    "://",
    "@",
    ":",
    "=",
    " ",
    ", ",
    ". ",
    "\n",
    '"',
    "`",
    "(",
    ")",
    "[REDACTED password]",
    "[REDACTED ",
    "]",
    "密码是",
    "パスワードは",
    "pin 4821",
    "hunter2!",
    "x",
    "9",
    "recovery codes: ",
    "-u ",
    "Bearer ",
    "Basic ",
    "otp ",
    "seed phrase: ",
    "{hx:40}",
    "{lo:32}",
    "{uuid}",
    "{an:20}",
    "{password}",
    "{card}",
    "ghp_{an:36}",
    "eyJ{us:30}.{us:30}",
    "{hx:8}",
    "{dg:16}",
    "{b64:44}=",
    "id ",
    "and ",
    "key ",
    "İ",
    "\u2028",
    "🔑",
)
texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=24).map("".join)).flatmap(
    lambda text: st.integers(0, 2**32).map(lambda seed: _fill(text, seed))
)


def _fill(text: str, seed: int) -> str:
    try:
        return fill(text, random.Random(seed))
    except ValueError:  # braces of the text's own
        return text


@given(texts)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    twice = redact(once.text)
    assert twice.text == once.text
    assert twice.kinds == ()
    assert twice.secret_only == once.secret_only


@given(texts)
def test_what_is_left_stands_in_the_text_in_its_order(text: str) -> None:
    result = redact(text)
    at = 0
    for piece in _left_over(result.text, result.kinds):
        found = text.find(piece, at)
        assert found >= 0, "a redaction added or moved text"
        at = found + len(piece)


def _left_over(text: str, kinds: tuple[str, ...]) -> list[str]:
    for kind in kinds:
        text = text.replace(f"[REDACTED {kind}]", "\0")
    return text.split("\0")


@given(texts)
def test_a_text_without_kinds_is_unchanged(text: str) -> None:
    result = redact(text)
    assert (result.text == text) is (result.kinds == ())


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 2**32), st.sampled_from(["", "\n", "– ", "note: "]))
def test_a_token_of_a_known_kind_is_found_on_any_line_of_a_text(kind: str, seed: int, lead: str) -> None:
    provider, thing, pattern = KINDS[kind]
    secret = fill(pattern, random.Random(seed))
    result = redact(f"first line\n{lead}The {provider} {thing} is {secret}\nlast line")
    assert secret not in result.text
    assert result.text.startswith("first line\n")
    assert result.text.endswith("\nlast line")


@pytest.mark.parametrize("half", HALVES)
def test_every_row_of_the_labelled_set_is_stable_under_a_second_look(half: str) -> None:
    assert [row for row in make_rows(half) if redact(redact(row.text).text).text != redact(row.text).text] == []


HOSTILE = (
    "a",
    "A",
    " ",
    "=",
    ":",
    "-",
    ".",
    "/",
    '"',
    "<",
    "4",
    "4 4",
    "a.",
    "a-",
    "a/",
    "password ",
    "password=",
    "password (",
    "the password for the x is ",
    "api_key_",
    "key: ",
    "https://a:",
    "://a:@",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n",
    "eyJhbGciOiJ",
    "eyJhbGciOiJIUzI1NiJ9.",
    "deadbeef01",
    "river copper ",
    "seed phrase river ",
    "otp secret ",
    "recovery code 1-",
    "pin ",
    "密码是",
    "user: a / ",
    "session",
    "cookie: a=b; ",
    "bearer ",
    "basic a",
    "mysql -",
    "$2a$10$",
    "key 9f8a7b6c5d4e3f2a1b0c ",
    "A b. ",
    '"abc" is the ',
    "ghp_",
    "ghp_aaaa/",
    "[REDACTED password]",
    "\n",
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_long_hostile_text_comes_back_and_is_stable(unit: str) -> None:
    # Time is not measured in tests. A search that backtracks without bound would not come back from 100 KB at all.
    text = unit * (100_000 // len(unit))
    result = redact(text)
    assert redact(result.text).text == result.text
    assert len(result.text) <= len(text) + 40 * (1 + text.count(unit))
