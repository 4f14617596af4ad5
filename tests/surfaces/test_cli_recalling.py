"""`memrepo recall`, `index` and `eval`: what they print, and that forgetting reaches the cache."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.program import HereProgram

SECRET_WORDS = "zanzibar lighthouse"


def fill(memrepo: HereProgram) -> None:
    memrepo("remember", "Billing uses PostgreSQL 16 for invoices")
    memrepo("remember", "Deploys happen on Fridays")
    memrepo("remember", "Visited the Zanzibar lighthouse in May")


def test_the_best_hit_stands_first_with_its_ref_and_author(memrepo: HereProgram) -> None:
    fill(memrepo)
    told = memrepo("recall", "which database does billing use?")
    assert told.status == 0
    assert told.out.splitlines()[0] == "repo:me.md#L3\tuser\tBilling uses PostgreSQL 16 for invoices"


def test_an_inbox_hit_is_marked_unreviewed(memrepo: HereProgram) -> None:
    fill(memrepo)
    memrepo("remember", "The staging host is called walrus", "--by", "agent", "--task", "t1")
    assert "agent, unreviewed\tThe staging host is called walrus" in memrepo("recall", "walrus").out


def test_json_has_every_field_that_the_page_names(memrepo: HereProgram) -> None:
    fill(memrepo)
    document = memrepo("recall", "deploys", "--json", "--full").document
    assert set(document) == {"hits", "lanes", "warnings"}
    hit = document["hits"][0]
    assert (hit["ref"], hit["file"], hit["by"], hit["unreviewed"]) == ("repo:me.md#L4", "me.md", "user", False)
    assert hit["why"]
    assert "Deploys happen on Fridays" in hit["around"]


@pytest.mark.parametrize("query", ["", "???", "AND OR NOT", '"*:(', "🦊", "שלום", "x" * 100_000])
def test_any_query_is_answered(memrepo: HereProgram, query: str) -> None:
    fill(memrepo)
    assert memrepo("recall", query).status == 0


def test_recall_makes_nothing_in_the_folder(memrepo: HereProgram) -> None:
    fill(memrepo)
    root = memrepo.home / "CoWork Memory"
    before = sorted(str(path) for path in root.rglob("*"))
    memrepo("recall", "deploys")
    memrepo("index", "rebuild")
    assert sorted(str(path) for path in root.rglob("*")) == before


def cached_bytes(memrepo: HereProgram) -> bytes:
    places = [path for path in (memrepo.home / ".memrepo" / "cache").rglob("*") if path.is_file()]
    return b"".join(path.read_bytes() for path in places).lower()


@pytest.mark.parametrize("act", [("forget", "repo:me.md#L5"), ("clear", "global", "--yes")])
def test_forgetting_empties_the_cache_of_the_text(memrepo: HereProgram, act: tuple[str, ...]) -> None:
    fill(memrepo)
    memrepo("index", "rebuild")
    assert b"zanzibar" in cached_bytes(memrepo)
    assert memrepo(*act).status == 0
    assert b"zanzibar" not in cached_bytes(memrepo)
    assert "Zanzibar" not in memrepo("recall", SECRET_WORDS).out


def test_compaction_says_that_the_index_was_emptied(memrepo: HereProgram) -> None:
    fill(memrepo)
    memrepo("forget", "repo:me.md#L5")
    assert any("search index" in place for place in memrepo("compact", "--yes", "--json").document["checked"])


def test_the_index_tells_where_it_is_and_what_it_holds(memrepo: HereProgram) -> None:
    fill(memrepo)
    memrepo("index", "rebuild")
    document = memrepo("index", "status", "--json").document
    assert (document["state"], document["indexed_lines"]) == ("ready", 3)
    memrepo("remember", "Drinks tea")
    assert memrepo("index", "status", "--json").document["state"] == "behind"


def test_a_measured_set_gives_a_table_and_bad_ones_an_error_with_file_and_line(
    memrepo: HereProgram, tmp_path: Path
) -> None:
    data = tmp_path / "set"
    data.mkdir()
    assert memrepo("eval", "recall", "--data", str(data), "--json").document["error"]["code"] == "not-found"
    fact = {"conv": "c", "fact": "Ann plays the cello", "date": "8 May, 2023", "dia_ids": ["D1:1"]}
    (data / "facts.jsonl").write_text(json.dumps(fact) + "\n")
    (data / "questions.jsonl").write_text("{broken\n")
    assert "questions.jsonl:1" in memrepo("eval", "recall", "--data", str(data)).err
    question = {"conv": "c", "question": "What does Ann play?", "covered": ["D1:1"]}
    (data / "questions.jsonl").write_text(json.dumps(question) + "\n")
    rows = memrepo("eval", "recall", "--data", str(data), "--json").document["rows"]
    assert [row["recalls"] for row in rows] == [[1.0, 1.0, 1.0]] * len(rows)
    assert "lexical" in memrepo("eval", "recall", "--data", str(data)).out
