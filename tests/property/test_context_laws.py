"""Laws of the prompt block: budgets hold, nothing leaves the frame, what is shown is what stands there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memrepo.format.document import Document, find_entry
from memrepo.format.entries import content_hash
from memrepo.format.token_estimate import estimate_tokens
from memrepo.model import MEMORY_FILE, RepoPath
from memrepo.policy.block import BlockFile, render_block
from memrepo.policy.sanitizing import show_text

words = st.text(
    st.characters(exclude_characters="\r\n") | st.sampled_from("<>#-*`[]: \u202e\u200b漢字かなע"), max_size=80
)
shapes = st.sampled_from(
    [
        "- {}",
        "- {} [by: agent]",
        "  * {}",
        "# {}",
        "## {}",
        "- [[{}]]",
        "{}",
        "```",
        "<!-- {}",
        "-->",
        "",
        "- {} [by: user; a: b]",
    ]
)
rows = st.builds(lambda shape, word: shape.replace("{}", word), shapes, words)
datas = st.lists(rows, max_size=60).map(lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass")) | st.binary(
    max_size=300
)
budgets = st.integers(min_value=0, max_value=400)


def files_of(first: bytes, second: bytes, budget: int) -> list[BlockFile]:
    return [
        BlockFile(MEMORY_FILE, first, budget),
        BlockFile(RepoPath("workspaces/x.md"), second, budget, is_workspace=True),
        BlockFile(MEMORY_FILE, second, budget, team="docs"),
    ]


@given(datas, datas, budgets)
def test_the_block_never_takes_more_than_the_budgets(first: bytes, second: bytes, budget: int) -> None:
    block = render_block(files_of(first, second, budget))
    frame = estimate_tokens(render_block([BlockFile(MEMORY_FILE, b"- x", 1_000)]).text)
    # With no room for the frame it is there all the same, if another file has something to say.
    assert block.tokens <= max(3 * budget, 2 * budget + frame)
    assert block.tokens == estimate_tokens(block.text)


@given(datas, datas)
def test_no_line_leaves_the_frame(first: bytes, second: bytes) -> None:
    block = render_block(files_of(first, second, 500))
    if not block.text:
        return
    head, *inner, tail = block.text.split("\n")
    assert (head, tail) == ("<cowork_memory_repo>", "</cowork_memory_repo>")
    assert not any(sign in line for line in inner for sign in "<>\r\u2028\u2029\u0085\u202e")
    own = {"# MEMORY.md", "# This workspace: workspaces/x.md"}
    for line in inner[1:]:
        is_own = line in own or line.startswith("# Team memory docs (")
        assert line == "" or is_own or line.startswith("##") or line.lstrip(" ").startswith("- ")
    block.text.encode()


@given(datas, datas)
def test_refs_and_hashes_name_what_is_shown_in_order_and_once(first: bytes, second: bytes) -> None:
    block = render_block(files_of(first, second, 500))
    documents = {(None, "MEMORY.md"): first, (None, "workspaces/x.md"): second, ("docs", "MEMORY.md"): second}
    assert len(set(block.refs)) == len(block.refs) == len(block.hashes)
    rest = block.text
    for ref, name in zip(block.refs, block.hashes, strict=True):
        entry = find_entry(Document.parse(documents[ref.team, ref.path]), ref.line)
        assert entry is not None
        assert content_hash(entry.text) == name
        if "[REDACTED" not in rest:
            shown = show_text(entry.text)[:80]
            assert shown in rest
            rest = rest[rest.index(shown) :]


@given(datas, st.data())
def test_what_is_excluded_is_as_if_it_were_not_there(data: bytes, draw: st.DataObject) -> None:
    whole = render_block([BlockFile(MEMORY_FILE, data, 100_000)])
    gone = draw.draw(st.sets(st.sampled_from(whole.hashes))) if whole.hashes else set()
    block = render_block([BlockFile(MEMORY_FILE, data, 100_000)], excluded=frozenset(gone))
    assert [name for name in whole.hashes if name not in gone] == list(block.hashes)


@given(datas, budgets)
def test_with_a_smaller_budget_the_entries_are_the_first_of_those_with_a_larger_one(data: bytes, budget: int) -> None:
    larger = render_block([BlockFile(MEMORY_FILE, data, 100_000)])
    smaller = render_block([BlockFile(MEMORY_FILE, data, budget)])
    assert larger.refs[: len(smaller.refs)] == smaller.refs
    assert smaller.text == "" or smaller.refs == larger.refs or "… " in smaller.text


@given(datas)
def test_the_same_bytes_give_the_same_block(data: bytes) -> None:
    files = files_of(data, data, 300)
    assert render_block(files) == render_block(files)


@given(st.lists(words, max_size=8))
def test_the_parts_of_a_text_cost_no_less_than_the_whole(lines: list[str]) -> None:
    whole = estimate_tokens("".join(f"{line}\n" for line in lines))
    assert whole <= sum(estimate_tokens(f"{line}\n") for line in lines)
    assert whole >= len(lines)


@given(datas, datas)
def test_a_team_s_file_changes_no_byte_of_what_stands_above_it(own: bytes, theirs: bytes) -> None:
    mine = BlockFile(MEMORY_FILE, b"- A fact\n" + own, 500)
    alone, both = render_block([mine]), render_block([mine, BlockFile(MEMORY_FILE, theirs, 300, team="docs")])
    end = "</cowork_memory_repo>"
    assert both.text.startswith(alone.text.removesuffix(end))
    assert both.text.count(end) == 1
    count = len(alone.refs)
    assert (both.refs[:count], both.hashes[:count]) == (alone.refs, alone.hashes)
    assert {ref.team for ref in both.refs[count:]} <= {"docs"}
