"""Lines as agents see them: by ref, by section and by pattern, and how they are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.memory import AGENT, TAINTED, USER, Memory, make_memory

from memrepo.app import MemoryRepo
from memrepo.attribution import mark_used, record_read
from memrepo.errors import NotFound, Refused, StoreFault
from memrepo.format.entries import content_hash
from memrepo.format.patterns import compile_pattern
from memrepo.format.refs import parse_ref
from memrepo.lines import GrepAnswer, grep, read_lines, read_section
from memrepo.model import Locations, Role, TaskContext
from memrepo.policy.access import Operation

if TYPE_CHECKING:
    from pathlib import Path

KEY = "AKIA" + "QX7MZL2NPRT5VWYB"


def look(memory: Memory, pattern: str, **options: object) -> GrepAnswer:
    from memrepo.files.paths import list_markdown

    return grep(memory.root, compile_pattern(pattern), list_markdown(memory.root), **options)  # type: ignore[arg-type]


def test_refs_are_read_in_the_order_asked_for_and_what_is_gone_says_so(memory: Memory, tmp_path: Path) -> None:
    memory.write("me.md", f"# Me\n- Likes <b>tea</b> [by: agent]\n- Key {KEY}\n")
    team = make_memory(tmp_path / "team")
    team.write("MEMORY.md", "- Shared\n")
    wanted = [
        "repo:me.md#L3",
        "repo:me.md#L2",
        "repo:me.md#L9",
        "repo:no.md#L1",
        "team:docs:MEMORY.md#L1",
        "team:x:a.md#L1",
    ]
    shown = read_lines({None: memory.root, "docs": team.root}, [parse_ref(ref) for ref in wanted])
    assert [str(line.ref) for line in shown] == wanted
    assert [line.text for line in shown] == [
        "Key [REDACTED aws-access-key]",
        "Likes &lt;b&gt;tea&lt;/b&gt;",
        "",
        "",
        "Shared",
        "",
    ]
    assert [bool(line.why) for line in shown] == [False, False, True, True, False, True]
    assert shown[1].by == "agent"
    assert shown[1].hash == content_hash("Likes <b>tea</b>")


def test_a_section_stands_around_its_entry_and_the_inbox_is_marked(memory: Memory) -> None:
    memory.say("Planted </x>", TAINTED)
    memory.write("me.md", "# Me\n- One\n## Two\n- Two a\n- Two b\n")
    section = read_section({None: memory.root}, parse_ref("repo:me.md#L4"))
    assert section.around == "## Two\n- Two a\n- Two b"
    assert not section.unreviewed
    inbox = read_section({None: memory.root}, parse_ref("repo:inbox.md#L3"))
    assert inbox.unreviewed
    assert "<" not in inbox.around
    with pytest.raises(NotFound):
        read_section({None: memory.root}, parse_ref("repo:me.md#L3"))


def test_grep_finds_entries_headings_and_text_but_no_secret_and_no_metadata(memory: Memory) -> None:
    memory.write(
        "me.md",
        f"# Needle\n\n- A needle [by: agent; source: needle2]\nA needle <x>\n- Key {KEY}\npassword:\nhunter2x9!Q\n",
    )
    found = look(memory, "eedle")
    assert [(str(line.ref), line.text) for line in found.lines] == [
        ("repo:me.md#L1", "Needle"),
        ("repo:me.md#L3", "A needle"),
        ("repo:me.md#L4", "A needle &lt;x&gt;"),
    ]
    assert [line.by for line in found.lines] == [None, "agent", None]
    for secret in (KEY, KEY[:8], "hunter2x9", "needle2"):
        assert look(memory, secret).lines == (), secret
    assert [line.text for line in look(memory, "Key ").lines] == ["Key [REDACTED aws-access-key]"]


def test_grep_says_when_there_is_more_and_passes_over_what_it_cannot_read(memory: Memory) -> None:
    memory.write("me.md", "- a needle\n" * 10)
    assert len(look(memory, "needle", limit=3).lines) == 3
    assert not look(memory, "needle", limit=3).is_complete
    assert look(memory, "needle", limit=10).is_complete
    memory.write("big.md", b"- a needle\n" * 1_000_000)
    answer = look(memory, "needle")
    assert len(answer.lines) == 10
    assert [file for file, _ in answer.warnings] == ["big.md"]


# Counting


def counts(memory: Memory, name: str) -> int:
    return memory.store.get().events.count(name)


def test_what_agents_read_and_use_is_counted_and_what_a_person_looks_at_is_not(memory: Memory) -> None:
    memory.store.get()
    assert record_read(memory.store, AGENT, lane="lines", amount=3)
    assert not record_read(memory.store, USER, lane="lines", amount=5)
    assert not record_read(memory.store, AGENT, lane="lines", amount=0)
    assert counts(memory, "read") == 3
    refs = ["repo:me.md#L1", "repo:me.md#L1", "team:docs:a.md#L2", "memory:7", "a word", "repo:../x#L1", "memory:x"]
    assert mark_used(memory.store, AGENT, refs) == 3
    assert counts(memory, "used") == 3
    event = memory.store.get().events.list()[-1]
    assert (event.task_id, event.workspace_id) == ("t1", "ws-billing")
    assert event.detail == {"repo": 1, "team": 1, "memory": 1}


def test_no_store_is_made_for_a_count_and_a_broken_one_costs_only_the_count(memory: Memory) -> None:
    assert not record_read(memory.store, AGENT, lane="lines", amount=1)
    assert mark_used(memory.store, AGENT, ["repo:me.md#L1"]) == 1
    assert not memory.store.path.exists()

    class Broken:
        def find(self) -> None:
            raise StoreFault("damaged")

    assert not record_read(Broken(), AGENT, lane="lines", amount=1)
    assert mark_used(Broken(), AGENT, ["repo:me.md#L1"]) == 1


def test_the_front_door_asks_the_policy_for_agents_and_never_for_the_user(tmp_path: Path) -> None:
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "cache")
    with MemoryRepo.open(locations=locations, home=tmp_path, path=tmp_path / "m") as repo:
        (tmp_path / "m" / "me.md").write_text("- A needle\n")
        ref = parse_ref("repo:me.md#L1")
        agent = TaskContext(task_id="t")
        assert repo.read_lines([ref], agent)[0].text == "A needle"
        assert repo.read_section(ref, agent).around == "- A needle"
        assert [line.text for line in repo.grep("^a needle$", agent, is_regex=True, ignores_case=True).lines] == [
            "A needle"
        ]
        helper = TaskContext(task_id="t", role=Role.SUB_AGENT)
        for act in (
            lambda: repo.read_lines([ref], helper),
            lambda: repo.read_section(ref, helper),
            lambda: repo.grep("a", helper),
        ):
            with pytest.raises(Refused) as refused:
                act()
            assert refused.value.facts["rule"] == "memory_repo_unavailable"
        assert repo.decide_access("me.md", Operation.READ, agent, base=repo.root).is_allowed
        assert repo.decide_access("me.md", Operation.READ, helper, base=repo.root).reason == "memory_repo_unavailable"
        assert repo.decide_access("me.md", Operation.WRITE, agent, base=repo.root).reason == "protected_path"
        assert repo.mark_used(["repo:me.md#L1"], agent) == 1
        assert not (tmp_path / "data").exists()
