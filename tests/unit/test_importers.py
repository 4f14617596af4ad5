"""Each format that is imported: what its files say, and what is passed over. No disk."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from memrepo.errors import InvalidInput
from memrepo.importers import basic_memory, chatgpt, claude_code, mem0, memory_repo, notes, openclaw
from memrepo.importers.formats import Format, choose_names, detect_format
from memrepo.importers.found import Finding, Found, PassedOver, SourceFile
from memrepo.importers.json_values import iter_values
from memrepo.importers.user_words import find_stated
from memrepo.model import ENTRY_LIMIT_CHARS, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping


def texts(findings: list[Finding]) -> list[str]:
    return [one.text for one in findings if isinstance(one, Found)]


def reasons(findings: list[Finding]) -> list[str]:
    return [one.why for one in findings if isinstance(one, PassedOver)]


def get(findings: list[Finding], text: str) -> Found:
    (found,) = [one for one in findings if isinstance(one, Found) and one.text == text]
    return found


# Notes

NOTES = """---
title: Me
created: 2025-03-04
---
# Me

A paragraph that
goes over two lines.

- I live in Lisbon
- Tools:
  - the editor is Helix,
    with no plugins
- [ ] call the dentist
* Prefers trains [due: always]
- Milk
1. First of a list
> said someone else
| a | b |

```
- not a fact
```
<!-- - nor this -->
Why is that?
"""


def test_notes_give_their_bullets_and_paragraphs_with_place_and_day() -> None:
    found = list(notes.parse(SourceFile("me.md", NOTES)))
    assert texts(found) == [
        "A paragraph that goes over two lines.",
        "I live in Lisbon",
        "Tools: the editor is Helix, with no plugins",
        "Prefers trains (due: always)",
        "First of a list",
    ]
    assert reasons(found) == ["lead-in", "to-do", "single word or address", "quotation", "table", "question"]
    lisbon = get(found, "I live in Lisbon")
    assert (lisbon.place, lisbon.kind, lisbon.added) == ("me.md:10", Kind.IDENTITY, dt.date(2025, 3, 4))


def test_a_note_that_is_named_by_a_day_is_of_that_day() -> None:
    (found,) = notes.parse(SourceFile("daily/2025-07-08 Tuesday.md", "- Bought a kayak"))
    assert isinstance(found, Found)
    assert found.added == dt.date(2025, 7, 8)


def test_line_ends_of_other_systems_and_a_byte_order_mark_change_nothing() -> None:
    (found,) = notes.parse(SourceFile("a.txt", "\ufeff- Plays the cello\r\n"))
    assert isinstance(found, Found)
    assert (found.text, found.place) == ("Plays the cello", "a.txt:1")


# Another memory repo

REPO_FILE = """# Billing Service

- CoWork workspace [by: user; workspace: ws-1]
- Deploys go through staging [by: user; kind: rule; subject: deploys; source: cowork://tasks/t1; added: 2025-01-02]
- Invoices are in cents [by: agent]

## Index

- [[me]]
"""


def test_entries_keep_their_kind_day_and_workspace_and_lose_their_author_and_subject() -> None:
    found = list(memory_repo.parse(SourceFile("workspaces/billing-service.md", REPO_FILE)))
    assert texts(found) == ["Deploys go through staging", "Invoices are in cents"]
    rule = get(found, "Deploys go through staging")
    assert (rule.kind, rule.added, rule.workspace) == (Kind.RULE, dt.date(2025, 1, 2), ("ws-1", "Billing Service"))
    assert get(found, "Invoices are in cents").kind is Kind.PROJECT_FACT
    assert reasons(found) == ["name of a workspace"]


def test_an_entry_of_the_inbox_keeps_the_workspace_that_its_line_names() -> None:
    (found,) = memory_repo.parse(SourceFile("inbox.md", "- Uses pnpm [by: agent; kind: rule; workspace: ws-2]"))
    assert isinstance(found, Found)
    assert found.workspace == ("ws-2", "ws-2")


# Claude Code

CLAUDE_NOTE = """---
name: short-answers
description: keep answers short
metadata:
  type: feedback
---
Answer in two sentences at most.

**Why:** long answers were not read.

**How to apply:** in chat, not in documents.
"""


def test_a_note_takes_its_reasons_along() -> None:
    (found,) = claude_code.parse(SourceFile("memory/short-answers.md", CLAUDE_NOTE))
    assert isinstance(found, Found)
    assert found.kind is Kind.RULE
    assert found.text == (
        "Answer in two sentences at most. **Why:** long answers were not read. "
        "**How to apply:** in chat, not in documents."
    )


def test_reasons_that_are_too_long_are_left_and_their_statement_stays() -> None:
    text = f"Answer briefly.\n\n**Why:** {'because ' * ENTRY_LIMIT_CHARS}\n"
    found = list(claude_code.parse(SourceFile("memory/a.md", text)))
    assert texts(found) == ["Answer briefly."]
    assert reasons(found) == ["reasons that are too long to stand with their statement"]


def test_instructions_are_rules_and_links_to_other_files_are_left() -> None:
    text = "# A\n\nThis file provides guidance to Claude Code.\n\n- Use pnpm, not npm\n- See @docs/style.md\n\n@a.md\n"
    found = list(claude_code.parse(SourceFile("CLAUDE.md", text)))
    assert [(one.text, one.kind) for one in found if isinstance(one, Found)] == [("Use pnpm, not npm", Kind.RULE)]
    assert reasons(found) == ["words about the file itself", "link", "single word or address"]


def test_the_lines_of_its_index_are_no_facts() -> None:
    text = "- [Short answers](short-answers.md) — keep it brief\n- The user is called Ada\n"
    found = list(claude_code.parse(SourceFile("memory/MEMORY.md", text)))
    assert texts(found) == ["The user is called Ada"]
    assert reasons(found) == ["line of an index"]


# OpenClaw


def test_a_daily_note_gives_its_day_and_its_transcript_is_left() -> None:
    text = "# Session\n\n- **Session Key**: agent:main\n\nuser: hello\n\nassistant: hi\n\n- Ada decided on Postgres\n"
    found = list(openclaw.parse(SourceFile("memory/2026-01-15-database.md", text)))
    assert [(one.text, one.added, one.kind) for one in found if isinstance(one, Found)] == [
        ("Ada decided on Postgres", dt.date(2026, 1, 15), Kind.DECISION)
    ]
    assert reasons(found) == ["transcript"] * 3


def test_only_its_memory_files_are_read() -> None:
    names = ["MEMORY.md", "USER.md", "SOUL.md", "AGENTS.md", "memory/2026-01-15.md", "memory/people/ada.md", "notes.md"]
    assert choose_names(Format.OPENCLAW, names) == [
        "MEMORY.md",
        "USER.md",
        "memory/2026-01-15.md",
        "memory/people/ada.md",
    ]


# basic-memory

OBSERVATIONS = """---
title: Coffee
type: note
permalink: coffee
---
# Coffee
Some words around it.

## Observations
- [preference] Likes light roasts #coffee #taste (since 2024)
- [method] Pour over at 94 degrees #brewing
- [x] a done task

## Relations
- relates_to [[Tea]]
- [[Water]]
"""


def test_observations_lose_their_tags_and_keep_their_context() -> None:
    found = list(basic_memory.parse(SourceFile("coffee.md", OBSERVATIONS)))
    assert [(one.text, one.kind) for one in found if isinstance(one, Found)] == [
        ("Likes light roasts (since 2024)", Kind.PREFERENCE),
        ("Pour over at 94 degrees", Kind.INSIGHT),
    ]
    assert reasons(found) == ["text outside of observations", "to-do", "relation", "link"]


# mem0


@pytest.mark.parametrize(
    "value",
    [
        {"results": [{"id": "1", "memory": "Likes tea", "created_at": "2025-02-03T04:05:06.7-08:00"}]},
        [{"memory": "Likes tea", "created_at": "2025-02-03T04:05:06Z"}],
        {"memories": [{"content": "Likes tea", "created_at": 1738555200, "state": "active"}], "apps": []},
    ],
)
def test_memories_are_found_in_each_form_of_an_export(value: object) -> None:
    values = value if isinstance(value, list) else [value]
    (found,) = mem0.parse("mem0.json", values)
    assert found == Found("Likes tea", "mem0.json #1", Kind.PREFERENCE, dt.date(2025, 2, 3))


def test_a_category_that_is_a_kind_counts_and_deleted_memories_do_not() -> None:
    found = list(
        mem0.parse(
            "m.json",
            [
                {"memory": "Deploys on Mondays", "metadata": {"category": "decision"}},
                {"memory": "Old thing", "state": "deleted"},
                {"content": "Takes medicine", "privacy": "private"},
                {"content": "Bob owes me", "privacy": "normal", "scope": "contact"},
                {"id": 7},
                "Is called Ada",
            ],
        )
    )
    assert [(one.text, one.kind) for one in found if isinstance(one, Found)] == [
        ("Deploys on Mondays", Kind.DECISION),
        ("Is called Ada", Kind.IDENTITY),
    ]
    assert reasons(found) == ["deleted or archived there", "private there", "private there", "not a memory"]


# ChatGPT


def make_conversation(*messages: Mapping[str, object], **more: object) -> dict[str, object]:
    mapping = {str(at): {"id": str(at), "message": message} for at, message in enumerate(messages)}
    return {"title": "Chat", "create_time": 1_735_689_600.5, "mapping": {"root": {"message": None}, **mapping}, **more}


def say(text: str, role: str = "user", **more: object) -> dict[str, object]:
    return {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}, **more}


def test_only_what_states_a_fact_or_asks_for_it_counts_of_a_conversation() -> None:
    conversation = make_conversation(
        say("Write me a poem about the sea. I live in Lisbon, near the water."),
        say("I live in a submarine, says the poem.", role="assistant"),
        say("Can you remember that I like short poems?"),
        say("Remember to close the file"),
        say("I prefer this one. I prefer short verses to long ones."),
        say("My name is Ada and what is yours?"),
        say("My name is Ada Lovelace. <no-memory>"),
    )
    found = list(chatgpt.parse("conversations.json", [conversation]))
    assert texts(found) == [
        "I live in Lisbon, near the water.",
        "I like short poems",
        "I prefer short verses to long ones.",
    ]
    assert {(one.place, one.added) for one in found if isinstance(one, Found)} == {
        ("conversations.json #1", dt.date(2025, 1, 1))
    }


def test_what_it_noted_and_its_snapshots_count_and_orders_to_forget_do_not() -> None:
    snapshot = {
        "author": {"role": "system"},
        "content": {
            "content_type": "model_editable_context",
            "model_set_context": "1. [2025-05-02]. The user likes ice cream\n\n2. [2025-05-03]. Has a dog\ncalled Rex",
        },
    }
    conversation = make_conversation(
        say("User prefers Python.\nForget that the user likes Go.", role="assistant", recipient="bio"), snapshot
    )
    found = list(chatgpt.parse("conversations.json", [conversation]))
    assert texts(found) == ["User prefers Python.", "The user likes ice cream", "Has a dog called Rex"]
    assert get(found, "The user likes ice cream").added == dt.date(2025, 5, 2)
    assert reasons(found) == ["order to its memory, no fact"]


def test_custom_instructions_count_line_by_line() -> None:
    message = {
        "author": {"role": "user"},
        "content": {"content_type": "user_editable_context", "user_profile": "words around ```unused```"},
        "metadata": {
            "user_context_message_data": {
                "about_user_message": "I am a nurse\nWhat else?",
                "about_model_message": "Answer in Portuguese",
            }
        },
    }
    found = list(chatgpt.parse("conversations.json", [make_conversation(message)]))
    assert texts(found) == ["I am a nurse", "Answer in Portuguese"]


def test_a_conversation_that_was_not_to_be_remembered_is_not() -> None:
    conversation = make_conversation(say("My name is Ada Lovelace"), is_do_not_remember=True)
    assert reasons(list(chatgpt.parse("c.json", [conversation]))) == ["conversation that was not to be remembered"]


def test_conversations_of_any_other_shape_are_passed_over() -> None:
    values: list[object] = [{"mapping": {"a": {"message": {"content": "text"}}, "b": 3}}, {"mapping": []}, 7, None, []]
    assert len(reasons(list(chatgpt.parse("c.json", values)))) == len(values)


@pytest.mark.parametrize(
    ("message", "stated"),
    [
        ("Remember that our flat is on the third floor.", ["Our flat is on the third floor."]),
        (
            "Please remember:\n- I am left-handed\n- Tea, not coffee\n\nNow draw a cat",
            ["I am left-handed", "Tea, not coffee"],
        ),
        ("From now on, answer in German.", ["From now on, answer in German."]),
        ("I'm a senior backend engineer at a bank", ["I'm a senior backend engineer at a bank"]),
        ("Ich wohne in Wien. Wie wird das Wetter?", ["Ich wohne in Wien."]),
        ("我叫小明", ["我叫小明"]),
        ("I live in Graz - near Liebenau", ["I live in Graz - near Liebenau"]),
        ("I'm a bit confused by this", []),
        ("Remember this conversation", []),
        ("Call me when it is done", []),
        ("```\nmy name is in the code\n```", []),
        ("> my name is quoted here", []),
        ("Translate: 'my name is Bob'", []),
        (f"My name is Ada. {'x' * 5_000}", []),
    ],
)
def test_a_message_is_read_with_restraint(message: str, stated: list[str]) -> None:
    assert list(find_stated(message)) == stated


# JSON


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('[1, {"a": [2]}, []]', [1, {"a": [2]}, []]),
        ('\ufeff {"a": 1}\n', [{"a": 1}]),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("[]", []),
        ("", []),
    ],
)
def test_the_values_of_a_json_text_come_one_by_one(text: str, values: list[object]) -> None:
    assert list(iter_values(text, name="a.json")) == values


@pytest.mark.parametrize("text", ["[1,", "[1 2]", "[1,]", "[1] x", "{", "[" * 100_000, "[" + "9" * 5_000 + "]"])
def test_what_is_no_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"a\.json is not JSON from line 2 on"):
        list(iter_values(f"\n{text}", name="a.json"))


# Which format

ENTRY = "- Prefers tabs [by: user; kind: preference; added: 2025-01-02]\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"MEMORY.md": "", "me.md": ""}, Format.MEMORY_REPO),
        ({"MEMORY.md": ENTRY}, Format.MEMORY_REPO),
        ({"lessons.md": ENTRY}, Format.MEMORY_REPO),
        ({"MEMORY.md": "- a\n", "memory/2026-01-15.md": ""}, Format.OPENCLAW),
        ({"MEMORY.md": "- a\n", "SOUL.md": ""}, Format.OPENCLAW),
        ({"MEMORY.md": "- [A](a.md) — b\n", "a.md": ""}, Format.CLAUDE_CODE),
        ({"a.md": CLAUDE_NOTE}, Format.CLAUDE_CODE),
        ({"CLAUDE.md": "- Use pnpm\n", "README.md": ""}, Format.CLAUDE_CODE),
        ({"coffee.md": OBSERVATIONS}, Format.BASIC_MEMORY),
        ({"a.md": "- one\n", "b.txt": ""}, Format.NOTES),
        ({"AGENTS.md": "- Use pnpm\n"}, Format.CLAUDE_CODE),
        ({"AGENTS.md": "- Use pnpm\n", "rules/a.md": "", "diary.md": ""}, Format.NOTES),
        ({"a.md": "---\ntype: project\n---\n- one\n"}, Format.NOTES),
        ({"a.md": "---\npermalink: /blog\n---\n- one\n"}, Format.NOTES),
        ({"a.md": "- [work] wrote a report\n- [home] baked bread\n"}, Format.NOTES),
        ({"conversations-000.json": "[]", "user.json": "{}"}, Format.CHATGPT),
        ({"export.json": '[{"title": "x", "mapping": {}}]'}, Format.CHATGPT),
        ({"export.json": '{"results": [{"memory": "x"}]}'}, Format.MEM0),
    ],
)
def test_the_format_is_found_out(files: dict[str, str], expected: Format) -> None:
    assert detect_format(files, files.__getitem__) is expected


def test_an_export_of_memrepo_is_refused_with_what_reads_it() -> None:
    with pytest.raises(InvalidInput) as refused:
        detect_format(["manifest.json"], lambda _: '{"manifest": {"format": "memrepo-export"}, "content": "x"}')
    assert refused.value.hint == "to make a memory of it again: memrepo init --from FILE"


def test_a_source_of_no_format_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(InvalidInput) as refused:
        detect_format({"photo.jpg": "", "a.json": ""}, lambda _: "{}")
    assert refused.value.hint == (
        "say what it is: --format notes|memory-repo|claude-code|openclaw|mem0|chatgpt|basic-memory"
    )


def test_a_folder_of_notes_without_other_files_of_claude_code_is_read_whole() -> None:
    assert choose_names(Format.CLAUDE_CODE, ["MEMORY.md", "user_role.md"]) == ["MEMORY.md", "user_role.md"]
    assert choose_names(Format.CLAUDE_CODE, ["CLAUDE.md", "README.md"]) == ["CLAUDE.md"]
