"""What entry text and metadata values may hold."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from memrepo.format.clean import clean_text, clean_value, is_hidden


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("  two\r\n\tlines\u2028and\u0085more\x0b \u3000end ", "two lines and more end"),
        ("e\u0301", "é"),
        ("ze\u200bro w\u2060id\ufeffth s\u00adoft", "zero width soft"),
        ("safe\u202egnp.exe\u202c \u2066x\u2069\u200e\u061c", "safegnp.exe x"),
        ("tag\U000e0041\U000e007f\U000e0001ged", "tagged"),
        ("bell\x07 esc\x1b[31m", "bell esc[31m"),
        ("lone\ud800 \udcff surrogates", "lone surrogates"),
        ("a \u200b b", "a b"),
        ("e\u200b\u0301", "é"),
        ("filler\u3164\u115f\uffa0", "filler"),
        ("", ""),
        (" \u200b\n", ""),
    ],
)
def test_text_is_one_visible_line_in_normal_form(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean
    assert clean_value(raw) == clean


def test_nothing_that_unicode_calls_control_or_format_stays_but_visible_signs_and_joiners() -> None:
    hidden_kinds = {"Cc", "Cf", "Cs"}
    visible = {0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD, *range(0x0600, 0x0606)}
    left = {
        point
        for point in range(sys.maxunicode + 1)
        if unicodedata.category(chr(point)) in hidden_kinds and not is_hidden(chr(point))
    }
    assert left == visible


@pytest.mark.parametrize(
    "text",
    [
        "family 👨‍👩‍👧 and heart ❤️‍🔥",
        "skin 👩🏽‍💻, flag 🏳️‍🌈, arrow ↔️, keycap 1️⃣ and #️⃣, text ☎︎",
        "Persian می‌خواهم",
        "Hindi क्‍ष and word end क्‍",
        "Malayalam ന്‍",
        "Mongolian ᠠ᠋",
        "Arabic number sign ؀١",
    ],
)
def test_what_a_script_or_an_emoji_needs_stays(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\u200db", "ab"),
        ("a\ufe0fb\ufe00", "ab"),
        ("葛\U000e0100城", "葛城"),
        ("1\ufe0f", "1"),
        ("❤\ufe0f\ufe0e\ufe0f\ufe0f", "❤\ufe0f"),
        ("👩\u200d\u200d\u200d", "👩"),
        ("می\u200c\u200c\u200cخ", "می\u200cخ"),
        ("می\u200c", "می"),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴"),
        ("a\u180b", "a"),
    ],
)
def test_joiners_and_selectors_that_nothing_needs_go(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


@pytest.mark.parametrize(
    "tail",
    [
        "[by: user]",
        "[ By : user ]",
        "[by:user]",
        "[BY: user;]",
        "[by: user] [by: user]",
        "[by: user][x: y]\u200b ",
        "[[by: user]]",
        "[[[by: user]]]",
        "[by: [user]]",
        "[x [by: user]]",
        "[by: user]]",
        "[see there; by: user]",
        "[note: anything]",
        "[by: user\u2028]",
        "[b\u200by: user]",
        "[kind: rule] [by: user] [added: 2026-10-05]",
    ],
)
def test_metadata_at_the_end_of_text_goes_whatever_its_form(tail: str) -> None:
    assert clean_text(f"Fact {tail}") == "Fact"
    assert clean_text(tail) == ""


def test_a_bracket_left_open_cannot_swallow_the_real_metadata() -> None:
    assert clean_text("Fact [by: user; x: ") == "Fact (by: user; x:"
    assert clean_text("Fact [[by: user") == "Fact [(by: user"


@pytest.mark.parametrize(
    "text",
    [
        "see [[workspaces/cowork]]",
        "done [x]",
        "as said [^1]",
        "uses string[]",
        "range [0, 5)",
        "[by: user] said at the start",
        "look-alike ［by: user］",
        "**bold** claim",
        "`code` first",
        "```inline``` code",
        "~/bin is on the path",
        "#general is the channel",
        "-5 degrees",
        "+49 30 is the prefix",
        "1. FC Köln is the club",
        "> 5 minutes is too long",
        "<div> is fine",
        "a --> b",
        "[[me]]",
        "https://x.y",
    ],
)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("- fact", "fact"),
        ("* - + fact", "fact"),
        ("## fact", "fact"),
        ("- # fact", "fact"),
        ("```", ""),
        ("```python x", "python x"),
        ("~~~ x `y`", "x `y`"),
        ("~~~ - ``` x", "x"),
        ("> ``` x", "> x"),
        ("1. > ~~~ x", "1. > x"),
        ("- > - ~~~ x", "> - x"),
        ("> # x", "> # x"),
        ("\u1fef\u1fef\u1fef x", "x"),
        ("<!-- x", "<! -- x"),
        ("a <!-- hidden --> b", "a <! -- hidden --> b"),
        ("<!\u200b-- x", "<! -- x"),
        ("---", ""),
        ("* * *", ""),
        ("___", ""),
        ("-", ""),
        ("#", ""),
    ],
)
def test_what_markdown_takes_for_structure_is_made_harmless(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


def test_values_keep_brackets_for_the_writer_to_escape() -> None:
    assert clean_value("https://x/?a;b%3Bc [d]") == "https://x/?a;b;c [d]"
    assert clean_value("- value [by: user]") == "- value [by: user]"


def test_length_is_never_cut() -> None:
    assert clean_text("wörd " * 10_000) == ("wörd " * 10_000).strip()
