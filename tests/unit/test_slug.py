"""File names out of workspace names."""

from __future__ import annotations

import pytest

from memrepo.format.slug import SLUG_LIMIT_CHARS, choose_slug, slugify


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Billing Service", "billing-service"),
        ("  --Weird__name!! (v2)  ", "weird-name-v2"),
        ("Größe STRASSE ß", "grösse-strasse-ss"),
        ("Cafe\u0301", "café"),
        ("日本語 メモ", "日本語-メモ"),
        ("हिन्दी नोट", "हिन्दी-नोट"),
        ("ไทย ภาษา", "ไทย-ภาษา"),
        ("مشروع ٣", "مشروع-٣"),
        ("می‌خواهم", "میخواهم"),
        ("a\u200bb", "ab"),
        ("a\tb\nc", "a-b-c"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\Users\\x", "c-users-x"),
        ("\u0301abc", "abc"),
        ("❤️ 👨‍👩‍👧", "workspace"),
        ("", "workspace"),
        ("...", "workspace"),
    ],
)
def test_letters_and_digits_of_every_script_stay(name: str, slug: str) -> None:
    assert slugify(name) == slug


@pytest.mark.parametrize("name", ["con", "CON", " Aux ", "nul.", "prn", "com1", "LPT9", "com0", "ｃｏｎ", "Index"])
def test_reserved_names_are_never_made(name: str) -> None:
    assert slugify(name).endswith("-workspace")


def test_superscript_device_names_lose_their_superscript() -> None:
    assert slugify("COM¹") == "com"
    assert slugify("lpt³") == "lpt"


def test_a_long_name_is_cut_at_sixty_characters_but_not_inside_a_letter() -> None:
    assert slugify("a" * 100) == "a" * SLUG_LIMIT_CHARS
    assert slugify("a" * 59 + " b") == "a" * 59
    assert slugify("a" * 58 + "नि" + "x" * 9) == "a" * 58 + "नि"
    assert slugify("a" * 59 + "नि") == "a" * 59
    assert len(slugify("a" + "\u0323" * 100)) == SLUG_LIMIT_CHARS


def test_names_that_meet_are_numbered_within_the_limit() -> None:
    assert choose_slug("A B", {"a-b"}) == "a-b-2"
    assert choose_slug("A B", {"a-b", "a-b-2"}) == "a-b-3"
    assert choose_slug("x" * 80, {"x" * 60}) == "x" * 58 + "-2"
    assert choose_slug("Café", {"CAFE\u0301"}) == "café-2"
