"""Terms: what an entry is found by is what a query asks for, in every script and spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.index.tokens import QUERY_LIMIT_TERMS, analyze, analyze_query, fingerprint, fold, is_function_word


def words(text: str) -> set[str]:
    return set(analyze(text).words)


def finds(query: str, text: str) -> bool:
    """Whether every word of the query is a word of the text."""
    return set(analyze_query(query).words) <= words(text) and bool(words(query))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("STRASSE", "Wohnt in der Straße 5"),
        ("ISPARTA", "ısparta'da yaşıyor"),
        ("istanbul", "İstanbul"),
        ("resume", "Keeps the résumé in LaTeX"),
        ("cafe", "cafe\u0301"),
        ("ＡＢＣ", "the abc book"),
        ("ｶﾀｶﾅ", "カタカナで書く"),
        ("lodz", "Comes from Łódź"),
        ("ΟΔΟΣ", "οδός"),
        ("ёлка", "елка"),
        ("أحمد", "يعمل مع احمد"),
        ("שָׁלוֹם", "שלום"),
    ],
)
def test_case_accents_and_width_do_not_matter(query: str, text: str) -> None:
    assert finds(query, text)


def test_marks_that_are_letters_stay() -> None:
    assert fold("が") != fold("か")
    assert fold("й") != fold("и")
    assert words("हिन्दी") == {"हिन्दी"}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("running races", "She runs a race"),
        ("they go", "Then they went"),
        ("children", "one child"),
        ("книгами", "книги"),
    ],
)
def test_forms_of_a_word_are_one(query: str, text: str) -> None:
    assert finds(query, text)


def test_a_possessive_is_its_word() -> None:
    assert words("Caroline's dog") == words("Caroline dog") == words("Caroline’s dog")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("東京", "東京都に住んでいる"),
        ("日本語", "趣味は日本語の本"),
        ("ภาษา", "เรียนภาษาไทย"),
        ("ສະບາຍ", "ເວົ້າສະບາຍດີ"),
        ("ភាសា", "រៀនភាសាខ្មែរ"),
        ("မြန်", "သည်မြန်မာဘာသာ"),
        ("학교", "학교에서"),
    ],
)
def test_scripts_without_spaces_match_inside_a_run(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize("text", ["黒猫が好き", "好きな猫", "猫"])
def test_a_single_character_is_found_wherever_it_stands(text: str) -> None:
    query = analyze_query("猫")
    terms = analyze(text)
    assert query.prefix == "猫"
    assert any(term.lstrip("=").startswith("猫") for term in (*terms.words, *terms.extras))


@pytest.mark.parametrize("spelling", ["user_name", "userName", "UserName", "user-name", "username"])
def test_a_word_that_only_its_spelling_divides_is_one_word(spelling: str) -> None:
    assert words("username") <= words(spelling)


@pytest.mark.parametrize(
    ("text", "wholes"),
    [
        ("Pin it to 1.2.3 now.", {"#1.2.3"}),
        ("see src/memrepo/model.py", {"#src/memrepo/model.py", "#model.py"}),
        ("written in C++, not C#", {"#c++", "#c#"}),
        ("mail a.b@example.org", {"#a.b@example.org"}),
        (r"C:\work\notes.txt", {"#c:/work/notes.txt", "#notes.txt"}),
    ],
)
def test_code_like_words_are_found_whole(text: str, wholes: set[str]) -> None:
    assert wholes <= set(analyze(text).extras)
    assert wholes & set(analyze_query(text).extras)


def test_code_like_words_are_found_by_part() -> None:
    assert finds("model", "see src/memrepo/model.py")
    assert finds("tokens budget", "the budget_tokens option and MEMORY_REPO_TOKENS")
    assert finds("hub", "GitHub")


@pytest.mark.parametrize("query", ["8 May 2023", "May 2023", "2023-05-08", "2023-05"])
def test_a_date_is_found_in_words_and_in_numbers(query: str) -> None:
    assert finds(query, "met her [added: 2023-05-08]")


@pytest.mark.parametrize(
    ("query", "prefix"),
    [("my gard", "gard"), ("my gard ", ""), ("my gard?", ""), ("ga", ""), ("the", ""), ("2023", ""), ("東京", "")],
)
def test_only_a_last_word_that_says_something_counts_as_begun(query: str, prefix: str) -> None:
    assert analyze_query(query).prefix == prefix


def test_function_words_are_known_by_their_stem() -> None:
    assert [word for word in analyze("what does the garden have").words if is_function_word(word)] == [
        "what",
        "do",
        "the",
        "have",
    ]


@pytest.mark.parametrize("text", ["", " \n\t", "...", "!?;:()[]\"'", "---", "\x00\x01", "\u200b\u200d"])
def test_text_without_words_is_an_empty_query(text: str) -> None:
    assert analyze_query(text).is_empty


def test_an_emoji_is_a_word() -> None:
    assert finds("🎉", "Party 🎉🎈")


def test_a_long_query_is_cut_and_says_so() -> None:
    query = analyze_query("word " * 20_000)
    assert query.is_cut
    many = analyze_query(" ".join(f"w{number}x" for number in range(400)))
    assert many.is_cut
    assert len(set(many.words)) + len(many.extras) <= QUERY_LIMIT_TERMS


def test_a_process_names_its_terms() -> None:
    assert fingerprint() == fingerprint()
    assert len(fingerprint()) == 16


@given(st.text(max_size=300))
def test_any_text_has_terms_without_white_space_or_control(text: str) -> None:
    terms = analyze(text)
    for term in (*terms.words, *terms.extras):
        assert term
        assert not any(character.isspace() or ord(character) < 32 for character in term)


@given(st.text(max_size=120))
def test_a_text_is_found_by_itself(text: str) -> None:
    query = analyze_query(text)
    if not query.is_cut:
        terms = analyze(text)
        assert set(query.words) == set(terms.words)
        assert set(query.extras) <= set(terms.extras)


@given(st.text(max_size=40))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
