"""What may come from the remote: every rule, and what an honest memory folder holds."""

from __future__ import annotations

import pytest

from memrepo.git.trees import TreeFile
from memrepo.sync.arrivals import (
    FILES_LIMIT,
    MARKDOWN_LIMIT_BYTES,
    OTHER_LIMIT_BYTES,
    judge_contents,
    judge_list,
    needs_look,
)

MEMORY = TreeFile("MEMORY.md", "100644", "blob", "1" * 40, 10)


def file(path: str, mode: str = "100644", kind: str = "blob", size_bytes: int = 10) -> TreeFile:
    return TreeFile(path, mode, kind, "2" * 40, size_bytes)


def rules(*files: TreeFile) -> list[tuple[str, str]]:
    return [(fault.path, fault.rule) for fault in judge_list([MEMORY, *files])]


@pytest.mark.parametrize(
    "path",
    ["me.md", "workspaces/größe.md", ".gitignore", ".gitattributes", "queries/run.sh", "swarms/a b/findings.md",
     "日本/メモ.md", ".obsidian/app.json"],
)  # fmt: skip
def test_what_a_memory_folder_holds_is_taken(path: str) -> None:
    assert rules(file(path), file("tool", "100755")) == []


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (file("link", "120000"), "mode"),
        (file("sub", "160000", "commit", 0), "mode"),
        (file("odd", "100664"), "mode"),
        (file(".gitmodules"), "name"),
        (file("notes/.GitModules"), "name"),
        (file(".git/config"), "git-folder"),
        (file("notes/.GIT/hooks/post-checkout"), "git-folder"),
        (file("git~1/config"), "git-folder"),
        (file(".g\u200cit/config"), "git-folder"),
        (file("../up.md"), "parent"),
        (file("/etc/passwd"), "absolute"),
        (file("a\\b.md"), "backslash"),
        (file("bell\x07.md"), "control-character"),
        (file("caf\udce9.md"), "undecodable"),
        (file("nul.md"), "reserved-name"),
        (file("big.md", size_bytes=MARKDOWN_LIMIT_BYTES + 1), "file-size"),
        (file("big.bin", size_bytes=OTHER_LIMIT_BYTES + 1), "file-size"),
        (file("memory.md"), "collision"),
        (file("MEMORY.md/below.md"), "collision"),
        (MEMORY, "collision"),
    ],
)
def test_each_rule_names_the_file(bad: TreeFile, rule: str) -> None:
    assert rules(bad) == [(bad.path, rule)]


def test_folders_collide_as_files_do() -> None:
    assert rules(file("Notes/a.md"), file("notes/b.md")) == [("notes/b.md", "collision")]
    assert rules(file("notes/a.md"), file("notes/b.md")) == []


def test_too_many_too_large_and_no_memory_at_all() -> None:
    assert rules(*(file(f"f{number}") for number in range(FILES_LIMIT))) == [("", "file-count")]
    assert rules(*(file(f"f{number}.md") for number in range(2_000))) == [("", "file-count")]
    assert rules(file("huge.bin", size_bytes=1 << 30)) == [("", "total-size")]
    assert [fault.rule for fault in judge_list([file("README.md")])] == ["no-memory"]
    assert [fault.rule for fault in judge_list([])] == ["no-memory"]


def test_faults_are_counted_off_and_never_endless() -> None:
    assert len(rules(*(file(f"link{number}", "120000") for number in range(50)))) == 20


def test_contents_are_judged_where_they_can_do_harm() -> None:
    assert needs_look("notes/.gitattributes")
    assert needs_look("Me.MD")
    assert not needs_look("photo.png")
    assert judge_contents({".gitattributes": b"*.md merge=union\n", "a.md": "- Grüße\n".encode()}) == ()
    faults = judge_contents({"x/.gitattributes": b"*.md filter=evil\n", "a.md": b"- a\n- \xff\n"})
    assert [(fault.path, fault.rule) for fault in faults] == [("x/.gitattributes", "attributes"), ("a.md", "utf-8")]
    assert "line 2" in faults[1].why
