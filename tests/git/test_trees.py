"""Commits as files, read and made without a work tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.repos import assert_sound, commit_files, head_of, make_repo, message_of, porcelain, raw_git

from memrepo.errors import RepositoryFault
from memrepo.git.client import GitClient
from memrepo.git.network import NEXT, find_ref
from memrepo.git.trees import (
    Draft,
    build_chain,
    compare,
    find_merge_base,
    is_ancestor,
    list_commits,
    list_edits,
    list_files,
    parse_commit,
    read_commits,
    read_objects,
    to_map,
)
from memrepo.model import CommitId

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = (b"A Hand <hand@example.invalid> 1700000000 +0230", b"CoWork OS <memory@cowork.invalid> 1700000001 +0000")
ODD = ['quote".md', "back\\slash.md", "new\nline.md", "Grüße 日本.md", "a b/c.md", "-dash.md", "caf\udce9.md", ":1"]


@pytest.fixture
def repo(tmp_path: Path) -> GitClient:
    return GitClient(make_repo(tmp_path / "repo", {"MEMORY.md": "# Memory\n", "run.sh": "#!/bin/sh\n"}))


def test_files_are_listed_with_modes_kinds_and_sizes(repo: GitClient) -> None:
    (repo.root / "run.sh").chmod(0o755)
    (repo.root / "link").symlink_to("run.sh")
    commit_files(repo.root, {"a b/größe.md": "12345"})
    found = {file.path: (file.mode, file.kind, file.size_bytes) for file in list_files(repo, "HEAD")}
    assert found == {
        "MEMORY.md": ("100644", "blob", 9),
        "a b/größe.md": ("100644", "blob", 5),
        "link": ("120000", "blob", 6),
        "run.sh": ("100755", "blob", 10),
    }


def test_edits_of_many_commits_come_in_one_answer(repo: GitClient) -> None:
    first = head_of(repo.root)
    second = commit_files(repo.root, {"new.md": "1", "MEMORY.md": "# Other\n"})
    raw_git(repo.root, "commit", "--quiet", "--allow-empty", "-m", "Nothing")
    (repo.root / "run.sh").unlink()
    third = commit_files(repo.root, {})
    commits = list_commits(repo, "HEAD", None)
    assert (commits[0], commits[1], commits[3]) == (first, second, third)
    edits = list_edits(repo, commits)
    assert [[(edit.path, edit.before is None, edit.after is None) for edit in one] for one in edits] == [
        [("MEMORY.md", True, False), ("run.sh", True, False)],
        [("MEMORY.md", False, False), ("new.md", True, False)],
        [],
        [("run.sh", False, True)],
    ]
    assert list_commits(repo, "HEAD", second) == commits[2:]
    assert [edit.path for edit in compare(repo, first, third)] == ["MEMORY.md", "new.md", "run.sh"]


def test_a_chain_keeps_people_messages_and_modes_and_touches_no_file(repo: GitClient) -> None:
    head = CommitId(head_of(repo.root))
    message = b"Remember: x\n\nTask: t1\nOrigin: cli\n"
    memory = to_map(list_files(repo, head))["MEMORY.md"]
    drafts = [
        Draft(PEOPLE, message, (("new.md", ("100644", b"- a\n")), ("tool", ("100755", memory[1])))),
        Draft(PEOPLE, b"no newline", (("new.md", ("100644", b"- b")), ("run.sh", None))),
        Draft(PEOPLE, b"", (("run.sh/now a folder.md", ("100644", b"")),)),
    ]
    last = build_chain(repo, head, drafts, ref=NEXT)
    assert find_ref(repo, NEXT) == last
    assert porcelain(repo.root) == []
    assert head_of(repo.root) == head
    commits = list_commits(repo, last, head)
    assert [commit.people for commit in read_commits(repo, commits)] == [PEOPLE] * 3
    assert [commit.message for commit in read_commits(repo, commits)] == [message, b"no newline", b""]
    assert message_of(repo.root, commits[0]) == message.decode().rstrip()
    tree = to_map(list_files(repo, last))
    assert tree == {
        "MEMORY.md": memory,
        "new.md": ("100644", tree["new.md"][1]),
        "run.sh/now a folder.md": ("100644", tree["run.sh/now a folder.md"][1]),
        "tool": ("100755", memory[1]),
    }
    assert read_objects(repo, [tree["new.md"][1]]) == {tree["new.md"][1]: b"- b"}
    assert build_chain(repo, head, [], ref=NEXT) == head
    assert_sound(repo.root)


def test_the_same_chain_has_the_same_ids_wherever_it_is_made(tmp_path: Path) -> None:
    drafts = [Draft(PEOPLE, b"x", (("new.md", ("100644", b"- a\n")),))]
    env = {"GIT_AUTHOR_DATE": "@1700000000 +0000", "GIT_COMMITTER_DATE": "@1700000000 +0000"}
    made = set()
    for name in ("one", "other"):
        root = make_repo(tmp_path / name, {})
        (root / "MEMORY.md").write_text("# Memory\n")
        raw_git(root, "add", "-A")
        raw_git(root, "commit", "--quiet", "-m", "Begin", env=env)
        made.add(build_chain(GitClient(root), CommitId(head_of(root)), drafts, ref=NEXT))
    assert len(made) == 1


@pytest.mark.parametrize("path", ODD)
def test_any_path_that_git_takes_comes_back(repo: GitClient, path: str) -> None:
    head = CommitId(head_of(repo.root))
    last = build_chain(repo, head, [Draft(PEOPLE, b"x", ((path, ("100644", b"y")),))], ref=NEXT)
    assert path in to_map(list_files(repo, last))
    assert [edit.path for edit in compare(repo, head, last)] == [path]
    gone = build_chain(repo, last, [Draft(PEOPLE, b"x", ((path, None),))], ref=NEXT)
    assert path not in to_map(list_files(repo, gone))


def test_a_message_in_another_encoding_comes_back_in_utf_8() -> None:
    data = b"tree 1\nauthor A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\nencoding ISO-8859-1\n\nGr\xfc\xdfe\n"
    assert parse_commit(CommitId("1"), data).message == "Grüße\n".encode()


def test_a_signature_is_no_part_of_the_people_or_the_message() -> None:
    data = (
        b"tree 1\nauthor A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\n"
        b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n author Evil <e@e> 3 +0000\n -----END-----\n\nText\n\nMore\n"
    )
    found = parse_commit(CommitId("1"), data)
    assert found.people == (b"A <a@b> 1 +0000", b"C <c@d> 2 +0000")
    assert found.message == b"Text\n\nMore\n"


def test_ancestry_and_the_common_start(repo: GitClient) -> None:
    first = head_of(repo.root)
    second = commit_files(repo.root, {"a.md": "a"})
    raw_git(repo.root, "checkout", "--quiet", "-b", "other", first)
    other = commit_files(repo.root, {"b.md": "b"})
    raw_git(repo.root, "checkout", "--quiet", "--orphan", "alone")
    alone = commit_files(repo.root, {"c.md": "c"})
    assert is_ancestor(repo, first, second)
    assert not is_ancestor(repo, second, first)
    assert not is_ancestor(repo, "1" * 40, second)
    assert find_merge_base(repo, second, other) == first
    assert find_merge_base(repo, second, alone) is None


def test_an_object_that_is_not_there_is_named(repo: GitClient) -> None:
    with pytest.raises(RepositoryFault, match="missing or damaged"):
        read_objects(repo, ["1" * 40])
