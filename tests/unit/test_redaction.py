"""What `redact` finds, keeps and returns. Token bodies are made on the spot; none stands in a file."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from tests.data.secrets.bodies import fill
from tests.data.secrets.rows import HALVES, Row, make_rows

from memrepo.policy.redaction import redact
from memrepo.policy.secrets.formats import TOKEN_FORMATS
from memrepo.policy.secrets.shapes import is_card, passes_luhn
from memrepo.policy.secrets.structures import STRUCTURES


def made(pattern: str) -> str:
    return fill(pattern, random.Random(pattern))


# -- the labelled set


@pytest.mark.parametrize("half", HALVES)
def test_at_least_98_of_100_secrets_of_the_labelled_set_are_found(half: str) -> None:
    rows = [row for row in make_rows(half) if row.secret]
    missed = [row for row in rows if row.secret in redact(row.text).text]
    assert len(rows) >= 900
    assert len(missed) <= len(rows) * 0.02, missed


@pytest.mark.parametrize("half", HALVES)
def test_at_most_one_of_200_clean_lines_of_the_labelled_set_is_changed(half: str) -> None:
    rows = [row for row in make_rows(half) if not row.secret]
    changed = [(row.text, redact(row.text).text) for row in rows if redact(row.text).text != row.text]
    assert len(rows) >= 240
    assert len(changed) <= len(rows) * 0.005, changed


@pytest.mark.parametrize("half", HALVES)
def test_no_long_piece_of_a_found_secret_is_left_behind(half: str) -> None:
    left = [row for row in make_rows(half) if row.secret and _has_piece(row)]
    assert left == []


def _has_piece(row: Row) -> bool:
    """Eight characters of the secret that stand nowhere else in the line are still there."""
    result = redact(row.text)
    if row.secret in result.text:
        return False  # missed as a whole: counted above
    around = row.text.replace(row.secret, "")
    bare = result.text
    for kind in result.kinds:
        bare = bare.replace(f"[REDACTED {kind}]", "")
    pieces = (row.secret[at : at + 8] for at in range(len(row.secret) - 7))
    return any(piece in bare and piece not in around for piece in pieces)


def test_the_labelled_set_is_the_same_every_time() -> None:
    assert make_rows("first") == make_rows("first")


# -- only the value is replaced


@pytest.mark.parametrize(
    ("before", "secret", "after", "kind"),
    [
        ("my GitHub token is ", "ghp_{an:36}", " until May", "github-token"),
        ("The Datadog API key for staging is ", "{hx:32}", ", rotate it", "api-key"),
        ("postgres://app:", "{an:16}", "@db.internal:5432/app", "url-password"),
        ('"password": "', "{password}", '",', "password"),
        ("Das Passwort für den Router lautet ", "{password}", "", "password"),
        ("密码是", "{an:12}", "，请保密", "password"),
        ("パスワードは", "{an:12}", "です", "password"),
        ("use `", "{lo:32}", "` as the Kraken key", "key"),
        ("The Heroku API key is ", "{uuid}", "", "api-key"),
        (
            "key: ",
            "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEI{b64:120}\n-----END EC PRIVATE KEY-----",
            "\nend",
            "private-key",
        ),
        ("https://hooks.slack.com/services/", "T{up:9}/B{up:9}/{an:24}", " posts to #ops", "webhook-url"),
        ("The company card is ", "4242 4242 4242 4242", "", "card-number"),
    ],
)
def test_only_the_value_is_replaced_and_its_kind_is_named(before: str, secret: str, after: str, kind: str) -> None:
    result = redact(f"{before}{made(secret)}{after}")
    assert result.text == f"{before}[REDACTED {kind}]{after}"
    assert result.kinds == (kind,)


def test_several_secrets_in_one_text_are_all_replaced() -> None:
    first, second = made("ghp_{an:36}"), made("{an:14}x1!")
    result = redact(f"token {first}\nand the password is {second}\nthe rest stays")
    assert result.text == "token [REDACTED github-token]\nand the password is [REDACTED password]\nthe rest stays"
    assert result.kinds == ("github-token", "password")


def test_each_kind_is_named_once_in_the_order_of_the_text() -> None:
    text = f"{made('ghp_{an:36}')} {made('AKIA{b32:16}')} {made('gho_{an:36}')}"
    assert redact(text).kinds == ("github-token", "aws-access-key")


def test_a_result_shows_no_secret_in_its_repr() -> None:
    secret = made("ghp_{an:36}")
    assert secret not in repr(redact(f"token {secret}"))


def test_a_replacement_cannot_be_read_as_metadata() -> None:
    assert ":" not in redact(f"token {made('ghp_{an:36}')}").text


# -- the same characters, said to be something else


@pytest.mark.parametrize("value", [made("{hx:40}"), made("{uuid}"), made("{hx:64}")])
@pytest.mark.parametrize(
    ("said", "is_secret"),
    [
        ("The Sendbird API token is {}", True),
        ("snyk_token: {}", True),
        ("use {} as the Mapbox secret", True),
        ("The commit that rotated the API key is {}", False),
        ("{} is the fix for the token bug", False),
        ("sha256 of the key file: {}", False),
        ("request id {} failed with a bad token", False),
        ("The token bug was fixed in {}", False),
        ("The API key was removed in {}", False),
        ("key_id: {}", False),
        ("see {}", False),
    ],
)
def test_a_hash_or_a_uuid_is_a_secret_only_when_it_is_called_one(value: str, said: str, is_secret: bool) -> None:
    text = said.format(value)
    assert (redact(text).text != text) is is_secret


@pytest.mark.parametrize(
    "text",
    [
        "password",
        "The password is required",
        "The password is in Bitwarden",
        "DATABASE_PASSWORD is set in .env",
        "password: <your password>",
        "password: ${DB_PASSWORD}",
        "password = os.environ['DB_PASSWORD']",
        "password: {{ vault_password }}",
        "token: next_page_token",
        "API_KEY=YOUR_API_KEY",
        "api_key: xxxxxxxxxxxxxxxxxxxx",
        "Authorization: Bearer $TOKEN",
        "Private keys begin with -----BEGIN PRIVATE KEY----- and are kept on the YubiKey",
        "Das Passwort wird alle 90 Tage geändert",
        "La contraseña es obligatoria",
        "密码至少需要12位",
        "パスワードは8文字以上です",
        "",
    ],
)
def test_a_word_a_name_a_rule_or_a_placeholder_is_left_alone(text: str) -> None:
    result = redact(text)
    assert (result.text, result.kinds, result.secret_only) == (text, (), False)


def test_a_long_number_is_a_card_only_with_a_valid_check_digit() -> None:
    assert redact("card 4242 4242 4242 4242").kinds == ("card-number",)
    assert redact("card 4242 4242 4242 4241").kinds == ()
    assert redact("Order number 4111111111111111 was refunded").kinds == ()


def test_the_check_digit_of_a_card_is_that_of_iso_7812() -> None:
    assert passes_luhn("79927398713")
    assert not passes_luhn("79927398710")
    assert is_card("378282246310005")
    assert not is_card("9999999999999995")


# -- secret only


@pytest.mark.parametrize(
    ("text", "is_secret_only"),
    [
        ("ghp_{an:36}", True),
        ("token: ghp_{an:36}", True),
        ("My password is {password}", True),
        ("  `AKIA{b32:16}`  ", True),
        ("The token of the deploy bot is ghp_{an:36}", False),
        ("Deploys happen on Tuesdays", False),
        ("password", False),
    ],
)
def test_a_text_is_secret_only_when_nothing_is_said_beside_the_secret(text: str, is_secret_only: bool) -> None:
    assert redact(made(text)).secret_only is is_secret_only


# -- texts made to do harm


def test_a_text_made_to_change_at_every_look_is_hidden_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memrepo.policy.redaction._PASSES", 1)
    result = redact(f"the password is {made('{an:14}x1!')} on the old host")
    assert (result.text, result.kinds, result.secret_only) == ("[REDACTED text]", ("text",), True)


def test_an_existing_replacement_is_kept_and_hides_nothing_else() -> None:
    secret = made("ghp_{an:36}")
    result = redact(f"password: [REDACTED password], token {secret}")
    assert result.text == "password: [REDACTED password], token [REDACTED github-token]"


def test_letters_that_grow_when_lowered_move_no_boundary() -> None:
    secret = made("ghp_{an:36}")
    assert redact(f"İİİ token {secret} İ").text == "İİİ token [REDACTED github-token] İ"


# -- the tables


def test_every_row_of_the_tables_says_where_its_fact_comes_from() -> None:
    assert all(row.source and row.kind for row in TOKEN_FORMATS)
    assert all(row.source and row.gates for row in STRUCTURES)


def test_every_kind_is_kebab_case_so_that_its_replacement_is_recognized() -> None:
    kinds = {row.kind for row in TOKEN_FORMATS} | {row.kind for row in STRUCTURES}
    assert all(kind == kind.lower() and kind.replace("-", "").isalnum() for kind in kinds)


def test_every_gate_is_lower_case_because_it_is_looked_for_in_lowered_text() -> None:
    assert all(gate == gate.lower() for row in STRUCTURES for gate in row.gates)


def test_importing_the_detector_compiles_no_pattern() -> None:
    code = (
        "import dataclasses, re, sys\n"
        "compiled = []\n"
        "re.compile = lambda *args: compiled.append(args)\n"
        "import memrepo.policy.redaction\n"
        "assert not compiled, compiled\n"
        "assert 'memrepo.policy.secrets.formats' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
