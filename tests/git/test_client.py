"""The typed verbs against real git on a real disk."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.repos import (
    assert_sound,
    commit_files,
    head_of,
    make_repo,
    message_of,
    porcelain,
    raw_git,
    write_files,
)

from memrepo.errors import (
    Conflict,
    GitFailed,
    GitMissing,
    InvalidInput,
    MergeConflict,
    NotFound,
    RepositoryFault,
)
from memrepo.git.client import GitClient
from memrepo.git.compaction import (
    _iter_object_windows,
    compact,
    iter_objects,
    search_git_folder,
    search_objects,
)
from memrepo.git.gate import find_version, is_repository
from memrepo.git.process import GitOutput, run_git
from memrepo.git.status import WorkTreeState, classify
from memrepo.model import Origin, Trailers

if TYPE_CHECKING:
    from pathlib import Path

CLI = Trailers(origin=Origin.CLI)
NOON = dt.datetime(2026, 10, 5, 12, 0, tzinfo=dt.timezone(dt.timedelta(hours=2)))


def state_of(root: Path) -> WorkTreeState:
    return classify(GitClient(root).status(), "main").state


def remember(root: Path, name: str, text: str, subject: str = "Remember") -> str:
    write_files(root, {name: text})
    client = GitClient(root)
    client.add([name])
    return client.commit(subject, CLI)


# -- making and looking --------------------------------------------------------------------------------------------


def test_init_makes_an_unborn_repo_without_hooks_and_without_a_redirected_work_tree(tmp_path: Path) -> None:
    GitClient(tmp_path).init()
    config = (tmp_path / ".git/config").read_text()
    assert is_repository(tmp_path)
    assert not (tmp_path / ".git/hooks").exists()
    assert "worktree" not in config
    assert GitClient(tmp_path).head() is None
    assert GitClient(tmp_path).current_branch() == "main"
    GitClient(tmp_path).check()  # what memrepo makes, memrepo accepts


def test_init_refuses_a_folder_that_has_a_git_entry(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
    with pytest.raises(RepositoryFault):
        GitClient(tmp_path).init()
    assert (tmp_path / ".git").read_text() == "gitdir: /elsewhere\n"


def test_a_folder_below_a_repo_is_no_repository_of_its_own(tmp_path: Path) -> None:
    make_repo(tmp_path)
    (tmp_path / "sub").mkdir()
    assert not is_repository(tmp_path / "sub")
    with pytest.raises(RepositoryFault):
        GitClient(tmp_path / "sub").status()


def test_the_head_is_found_in_loose_and_in_packed_refs_and_when_detached(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    head = head_of(root)
    assert GitClient(root).head() == head
    raw_git(root, "pack-refs", "--all")
    assert not (root / ".git/refs/heads/main").exists()
    assert GitClient(root).head() == head
    raw_git(root, "checkout", "--quiet", "--detach")
    assert GitClient(root).head() == head
    assert GitClient(root).current_branch() is None


def test_the_version_is_numbers_and_an_old_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repo(tmp_path / "repo")
    assert (find_version(root) or ()) >= (2, 32)
    old = tmp_path / "bin/git"
    write_files(tmp_path, {"bin/git": "#!/bin/sh\necho git version 2.30.2\n"})
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(old.parent), prepend=os.pathsep)
    with pytest.raises(GitMissing, match=r"2\.30\.2 is too old, 2\.32"):
        GitClient(root).status()


def test_without_git_the_error_says_that_memory_has_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repo(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(GitMissing, match="git not found: memory has no history"):
        GitClient(root).status()


# -- status --------------------------------------------------------------------------------------------------------


def test_a_fresh_repo_and_a_committed_one_are_clean(tmp_path: Path) -> None:
    GitClient(tmp_path).init()
    unborn = GitClient(tmp_path).status()
    assert unborn.is_unborn
    assert unborn.branch == "main"
    remember(tmp_path, "MEMORY.md", "# Memory\n")
    assert state_of(tmp_path) is WorkTreeState.CLEAN
    assert not GitClient(tmp_path).status().is_unborn


def test_every_sort_of_markdown_change_is_a_hand_edit_and_can_be_committed(tmp_path: Path) -> None:
    root = make_repo(
        tmp_path,
        {name: f"- {name}\n" for name in ("edited.md", "removed.md", "staged-away.md", "old.md", "spaced name.MD")},
    )
    write_files(
        root, {"edited.md": "- other\n", "deep/new note.md": "- n\n", "ünïcode ※.md": "- u\n", "*.md": "- star\n"}
    )
    (root / "removed.md").unlink()
    raw_git(root, "rm", "--quiet", "staged-away.md")
    raw_git(root, "mv", "old.md", "renamed.md")
    write_files(root, {"spaced name.MD": "- changed\n"})
    client = GitClient(root)
    verdict = classify(client.status(), "main")
    assert verdict.state is WorkTreeState.HAND_EDITS
    assert set(verdict.paths) == {
        "edited.md", "removed.md", "staged-away.md", "old.md", "renamed.md", "spaced name.MD",
        "deep/new note.md", "ünïcode ※.md", "*.md",
    }  # fmt: skip
    client.add(verdict.paths_to_add)
    client.commit("Hand edits", Trailers(origin=Origin.HAND_EDIT))
    assert porcelain(root) == []


def test_a_name_that_is_no_utf8_survives_the_whole_way(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    (root / os.fsdecode(b"caf\xe9.md")).write_text("- x\n")
    client = GitClient(root)
    client.add(classify(client.status(), "main").paths_to_add)
    client.commit("Hand edits", CLI)
    assert b"caf\xe9.md" in raw_git(root, "ls-files", "-z")


@pytest.mark.parametrize(
    ("prepare", "state", "path"),
    [
        (lambda root: write_files(root, {"photo.png": b"\x89"}), WorkTreeState.UNTRACKED_FOREIGN, "photo.png"),
        (lambda root: write_files(root, {"query.sql": "select 2"}), WorkTreeState.FOREIGN_CHANGE, "query.sql"),
        (lambda root: (root / "x.md").symlink_to("/etc/passwd"), WorkTreeState.UNTRACKED_FOREIGN, "x.md"),
        (lambda root: make_repo(root / "x.md"), WorkTreeState.UNTRACKED_FOREIGN, "x.md/"),
        (
            lambda root: ((root / "MEMORY.md").unlink(), (root / "MEMORY.md").symlink_to("query.sql")),
            WorkTreeState.FOREIGN_CHANGE,
            "MEMORY.md",
        ),
    ],
    ids=["untracked file", "tracked file", "untracked link", "nested repo", "tracked note made a link"],
)
def test_what_is_no_plain_markdown_blocks_and_is_named(
    tmp_path: Path, prepare: object, state: WorkTreeState, path: str
) -> None:
    root = make_repo(tmp_path, {"MEMORY.md": "# M\n", "query.sql": "select 1"})
    assert callable(prepare)
    prepare(root)
    verdict = classify(GitClient(root).status(), "main")
    assert (verdict.state, verdict.paths) == (state, (path,))


def test_an_ignored_file_blocks_nothing(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {".gitignore": "*.swp\n"})
    write_files(root, {"a.swp": "x"})
    assert state_of(root) is WorkTreeState.CLEAN


def two_sides(root: Path) -> None:
    """Leaves `main` and `side` with changes of one line that cannot both stand."""
    make_repo(root, {"me.md": "- a\n"})
    raw_git(root, "checkout", "--quiet", "-b", "side")
    commit_files(root, {"me.md": "- side\n"})
    raw_git(root, "checkout", "--quiet", "main")
    commit_files(root, {"me.md": "- main\n"})


@pytest.mark.parametrize(
    ("command", "state"),
    [
        (("merge", "side"), WorkTreeState.MERGE),
        (("rebase", "side"), WorkTreeState.REBASE),
        (("rebase", "--apply", "side"), WorkTreeState.REBASE),
        (("cherry-pick", "side"), WorkTreeState.CHERRY_PICK),
        (("revert", "--no-edit", "HEAD~1"), WorkTreeState.REVERT),
        (("bisect", "start"), WorkTreeState.BISECT),
    ],
)
def test_an_operation_under_way_is_named(tmp_path: Path, command: tuple[str, ...], state: WorkTreeState) -> None:
    two_sides(tmp_path)
    if state is WorkTreeState.REVERT:  # the first commit's line changed since
        commit_files(tmp_path, {"me.md": "- later\n"})
    raw_git(tmp_path, *command, ok_codes=(0, 1))
    assert state_of(tmp_path) is state


def test_a_merge_without_conflict_that_was_not_committed_is_a_merge(tmp_path: Path) -> None:
    make_repo(tmp_path)
    raw_git(tmp_path, "checkout", "--quiet", "-b", "side")
    commit_files(tmp_path, {"b.md": "- b\n"})
    raw_git(tmp_path, "checkout", "--quiet", "main")
    raw_git(tmp_path, "merge", "--no-ff", "--no-commit", "side")
    assert state_of(tmp_path) is WorkTreeState.MERGE


def test_unmerged_paths_without_an_operation_are_named(tmp_path: Path) -> None:
    two_sides(tmp_path)
    raw_git(tmp_path, "merge", "side", ok_codes=(1,))
    (tmp_path / ".git/MERGE_HEAD").unlink()
    verdict = classify(GitClient(tmp_path).status(), "main")
    assert (verdict.state, verdict.paths) == (WorkTreeState.UNMERGED, ("me.md",))


def test_a_detached_head_and_another_branch_block(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    raw_git(root, "checkout", "--quiet", "--detach")
    assert state_of(root) is WorkTreeState.DETACHED_HEAD
    raw_git(root, "checkout", "--quiet", "-b", "feature/x.y")
    assert GitClient(root).status().branch == "feature/x.y"
    assert state_of(root) is WorkTreeState.OTHER_BRANCH


def test_the_branch_is_read_right_when_it_follows_another_one(tmp_path: Path) -> None:
    upstream = make_repo(tmp_path / "up")
    raw_git(tmp_path, "clone", "--quiet", "--template=", str(upstream), "down")
    commit_files(tmp_path / "down", {"b.md": "- b\n"})
    assert GitClient(tmp_path / "down").status().branch == "main"
    assert state_of(tmp_path / "down") is WorkTreeState.CLEAN


def test_an_index_lock_blocks_and_status_neither_waits_nor_removes_it(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    lock = root / ".git/index.lock"
    lock.write_bytes(b"")
    os.utime(lock, (1_700_000_000, 1_700_000_000))
    tree = GitClient(root).status()
    assert classify(tree, "main").state is WorkTreeState.INDEX_LOCK
    assert tree.index_lock is not None
    assert tree.index_lock.modified_at == dt.datetime.fromtimestamp(1_700_000_000, dt.UTC)
    assert lock.exists()


def test_status_leaves_the_index_alone(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    os.utime(root / "MEMORY.md", (1, 1))  # git would like to refresh its stamp
    before = (root / ".git/index").read_bytes()
    assert state_of(root) is WorkTreeState.CLEAN
    assert (root / ".git/index").read_bytes() == before


# -- writing -------------------------------------------------------------------------------------------------------


def test_a_governed_write_is_three_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repo(tmp_path)
    client = GitClient(root)
    client.status()  # the first command of a client also audits
    started: list[str] = []

    def counting(where: Path, args: tuple[str, ...], **options: Any) -> GitOutput:
        started.append(args[0])
        return run_git(where, args, **options)

    monkeypatch.setattr("memrepo.git.client.run_git", counting)
    monkeypatch.setattr("memrepo.git.gate.run_git", counting)
    write_files(root, {"me.md": "- tea\n"})
    client.status()
    client.add(["me.md"])
    assert client.commit("Remember preference: tea", CLI) == head_of(root)
    assert client.head() == head_of(root)
    assert started == ["status", "add", "commit"]


def test_a_commit_is_by_cowork_os_with_its_trailers_and_its_date(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    write_files(root, {"me.md": "- tea\n"})
    client = GitClient(root)
    client.add(["me.md"])
    trailers = Trailers(origin=Origin.AGENT_TOOL, task="task-1", dream="2026-10-05")
    commit = client.commit("Remember preference: tea", trailers, at=NOON)
    assert message_of(root) == ("Remember preference: tea\n\nTask: task-1\nOrigin: agent_tool\nDream: 2026-10-05")
    who = raw_git(root, "log", "-1", "--format=%an <%ae>|%cn <%ce>|%ai|%ci").decode().strip()
    us = "CoWork OS <memory@cowork.invalid>"
    assert who == f"{us}|{us}|2026-10-05 12:00:00 +0200|2026-10-05 12:00:00 +0200"
    assert client.log(limit=1)[0].id == commit
    assert raw_git(root, "interpret-trailers", "--parse", stdin=message_of(root).encode()).decode().splitlines() == [
        "Task: task-1", "Origin: agent_tool", "Dream: 2026-10-05",
    ]  # fmt: skip


def test_a_subject_and_a_task_cannot_forge_a_trailer(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    raw_git(root, "config", "commit.cleanup", "strip")
    write_files(root, {"me.md": "- tea\n"})
    client = GitClient(root)
    client.add(["me.md"])
    evil = "# not a comment\n\nOrigin: memory_hub\u2028Task: forged\x00\x85Dream: x\ud800"
    client.commit(evil, Trailers(origin=Origin.AGENT_TOOL, task="1\nOrigin: memory_hub\r\n"), at=NOON)
    commit = client.log(limit=1)[0]
    assert commit.subject == "# not a comment Origin: memory_hub Task: forged Dream: x"
    assert (commit.origin, commit.task, commit.dream) == ("agent_tool", "1 Origin: memory_hub", None)
    assert raw_git(root, "log", "-1", "--format=%(trailers:key=Origin,valueonly)").decode().split() == ["agent_tool"]


def test_only_the_named_paths_are_committed_when_paths_are_given(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {"a.md": "1\n", "b.md": "1\n", "gone.md": "1\n"})
    write_files(root, {"a.md": "2\n", "b.md": "2\n"})
    raw_git(root, "rm", "--quiet", "gone.md")
    client = GitClient(root)
    client.add(["a.md", "b.md"])
    client.commit("One", CLI, paths=["a.md", "gone.md"])
    assert {change.path for change in client.show("HEAD")} == {"a.md", "gone.md"}
    assert porcelain(root) == ["M  b.md"]


def test_an_empty_commit_is_a_conflict_and_leaves_no_trace(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    head = head_of(root)
    with pytest.raises(Conflict, match="nothing to commit"):
        GitClient(root).commit("Nothing", CLI)
    assert head_of(root) == head
    with pytest.raises(InvalidInput):
        GitClient(root).commit(" \n ", CLI)


def test_a_foreign_path_given_to_add_fails_with_the_command_and_no_text_of_memory(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    with pytest.raises(GitFailed) as caught:
        GitClient(root).add(["absent.md"])
    assert caught.value.facts["exit_code"] == 128
    argv = caught.value.facts["argv"]
    assert isinstance(argv, tuple)
    assert argv[:2] == ("git", "add")


def test_an_ignored_note_that_memory_writes_is_committed_all_the_same(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {".gitignore": "inbox.md\n"})
    remember(root, "inbox.md", "- read on a page\n")
    assert "inbox.md" in raw_git(root, "ls-files").decode()


def test_a_file_named_like_a_pattern_is_that_file_alone(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    write_files(root, {"*.md": "- star\n", "other.md": "- o\n", ":(top)x.md": "- t\n"})
    client = GitClient(root)
    client.add(["*.md", ":(top)x.md"])
    client.commit("Remember", CLI)
    assert porcelain(root) == ["?? other.md"]
    assert [commit.subject for commit in client.log(path="*.md")] == ["Remember"]


def test_two_files_of_a_hand_stay_out_of_a_commit_that_does_not_name_them(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    write_files(root, {"me.md": "- tea\n", "draft.txt": "x"})
    client = GitClient(root)
    client.add(["me.md"])
    client.commit("Remember", CLI)
    assert porcelain(root) == ["?? draft.txt"]


# -- undo ----------------------------------------------------------------------------------------------------------

UNION = {".gitattributes": "*.md merge=union\n"}


def test_reverting_makes_a_commit_of_ours_that_takes_the_change_back(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {**UNION, "me.md": "- a\n"})
    wrong = remember(root, "me.md", "- a\n- wrong\n")
    remember(root, "lessons.md", "- later\n")
    undo = GitClient(root).revert(wrong, "Undo: wrong", CLI)
    assert (root / "me.md").read_text() == "- a\n"
    assert (root / "lessons.md").exists()
    assert undo == head_of(root)
    assert message_of(root) == "Undo: wrong\n\nOrigin: cli"
    assert state_of(root) is WorkTreeState.CLEAN


def test_a_revert_that_meets_a_later_change_conflicts_and_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """Notes merge by union, which would silently keep both versions of the line."""
    root = make_repo(tmp_path, {**UNION, "me.md": "- a\n"})
    changed = remember(root, "me.md", "- b\n")
    head = remember(root, "me.md", "- c\n")
    with pytest.raises(MergeConflict) as caught:
        GitClient(root).revert(changed, "Undo", CLI)
    assert caught.value.facts["paths"] == ("me.md",)
    assert (root / "me.md").read_text() == "- c\n"
    assert head_of(root) == head
    assert state_of(root) is WorkTreeState.CLEAN
    assert_sound(root)


def test_reverting_twice_says_that_it_is_undone_already(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {"me.md": "- a\n"})
    wrong = remember(root, "me.md", "- wrong\n")
    GitClient(root).revert(wrong, "Undo", CLI)
    head = head_of(root)
    with pytest.raises(Conflict, match="undone already"):
        GitClient(root).revert(wrong, "Undo", CLI)
    assert head_of(root) == head
    assert state_of(root) is WorkTreeState.CLEAN


def test_reverting_a_merge_takes_back_its_second_side(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {"me.md": "- a\n"})
    raw_git(root, "checkout", "--quiet", "-b", "dream/1")
    commit_files(root, {"dreamt.md": "- d\n"})
    raw_git(root, "checkout", "--quiet", "main")
    commit_files(root, {"other.md": "- o\n"})
    raw_git(root, "merge", "--quiet", "--no-ff", "--no-edit", "dream/1")
    GitClient(root).revert("HEAD", "Undo dream", CLI)
    assert not (root / "dreamt.md").exists()
    assert (root / "other.md").exists()


# -- reading history -----------------------------------------------------------------------------------------------


def test_the_log_gives_commits_newest_first_by_limit_path_and_time(tmp_path: Path) -> None:
    root = tmp_path
    client = GitClient(root)
    client.init()
    assert client.log() == ()
    assert client.count_commits() == 0
    for number in range(3):
        write_files(root, {f"{number}.md": "- x\n"})
        client.add([f"{number}.md"])
        client.commit(f"Number {number}", CLI, at=NOON + dt.timedelta(days=number))
    assert [commit.subject for commit in client.log()] == ["Number 2", "Number 1", "Number 0"]
    assert [commit.subject for commit in client.log(limit=1)] == ["Number 2"]
    assert [commit.subject for commit in client.log(path="1.md")] == ["Number 1"]
    assert [commit.subject for commit in client.log(since=NOON + dt.timedelta(hours=1))] == ["Number 2", "Number 1"]
    newest = client.log(limit=1)[0]
    assert newest.at == NOON + dt.timedelta(days=2)
    assert newest.at.tzinfo is dt.UTC
    assert newest.parents == (client.log()[1].id,)
    assert (newest.author_name, newest.author_email, newest.origin) == ("CoWork OS", "memory@cowork.invalid", "cli")
    assert client.count_commits() == 3


def test_a_commit_by_hand_has_its_own_author_and_no_origin(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    commit_files(root, {"a.md": "x"}, "A subject\n\nSome words.\nOrigin: not in a paragraph of trailers")
    commit = GitClient(root).log(limit=1)[0]
    assert (commit.author_name, commit.subject, commit.origin) == ("A Hand", "A subject", None)
    assert commit.body == "Some words.\nOrigin: not in a paragraph of trailers"


def test_show_names_what_a_commit_changed_the_first_one_included(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {"a.md": "1", "b.md": "1", "ü b.md": "1"})
    first = head_of(root)
    (root / "b.md").unlink()
    commit_files(root, {"a.md": "2", "c.md": "1"})
    client = GitClient(root)
    assert [(change.code, change.path) for change in client.show(first)] == [
        ("A", "a.md"),
        ("A", "b.md"),
        ("A", "ü b.md"),
    ]
    assert [(change.code, change.path) for change in client.show("HEAD")] == [
        ("M", "a.md"),
        ("D", "b.md"),
        ("A", "c.md"),
    ]


def test_diffs_are_between_commits_with_the_work_tree_and_from_nothing(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {"a.md": "- one\n", "b.md": "- b\n"})
    first = head_of(root)
    commit_files(root, {"a.md": "- two\n"})
    write_files(root, {"a.md": "- three\n", "b.md": "- bb\n"})
    client = GitClient(root)
    assert b"\n-- one\n+- two\n" in client.diff(first, "HEAD")
    assert b"\n-- two\n+- three\n" in client.diff("HEAD")
    assert b"b.md" not in client.diff("HEAD", path="a.md")
    assert b"\n+- one\n" in client.diff(None, first)


def test_a_blob_is_read_byte_for_byte_and_a_missing_one_is_not_found(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf- a\r\n\x00\xff no newline"
    root = make_repo(tmp_path, {"a b.md": content, ".gitattributes": "*.md text eol=crlf\n"})
    client = GitClient(root)
    assert client.read_blob("HEAD", "a b.md") in (content, content.replace(b"\r\n", b"\n"))
    for path in ("c.md", "", "a b.md/x"):
        with pytest.raises(NotFound):
            client.read_blob("HEAD", path)
    with pytest.raises(NotFound):
        client.get_commit("0" * 40)
    with pytest.raises(InvalidInput):
        client.read_blob("HEAD", "a\nHEAD:b")


@pytest.mark.parametrize("name", ["--output=x", "-p", "HEAD:a", "a..b", "", "HEAD\n", "a b"])
def test_what_is_no_name_of_a_commit_never_reaches_git(tmp_path: Path, name: str) -> None:
    client = GitClient(make_repo(tmp_path))
    for verb in (client.get_commit, client.show, client.diff, client.count_commits):
        with pytest.raises(InvalidInput):
            verb(name)


# -- compaction ----------------------------------------------------------------------------------------------------

SECRET = b"the secret garden"


def full_of_history(root: Path) -> GitClient:
    """A repo in which a removed line is in all the places where git keeps old texts."""
    make_repo(root, {**UNION, "me.md": "- a\n", "work/cowork.md": "- w\n"})
    remember(root, "me.md", "- a\n- the secret garden\n", "Remember preference: the secret garden")
    raw_git(root, "branch", "dream/2026-10-05")
    raw_git(root, "branch", "keep")
    raw_git(root, "tag", "-a", "v1", "-m", "tagged the secret garden")
    raw_git(root, "notes", "add", "-m", "the secret garden")
    write_files(root, {"me.md": "- stashed the secret garden\n"})
    raw_git(root, "stash")
    raw_git(root, "worktree", "add", "--quiet", str(root.parent / "dreaming"), "dream/2026-10-05")
    write_files(root, {".git/FETCH_HEAD": "x\n"})
    raw_git(root, "gc", "--quiet")  # some in packs, the rest loose
    remember(root, "me.md", "- a\n", "Forget: the secret garden")
    return GitClient(root)


def test_compaction_leaves_one_commit_of_the_same_files_and_forgets_every_text(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    client = full_of_history(root)
    raw_git(root, "branch", "-D", "keep")
    old = client.head()
    tree = raw_git(root, "rev-parse", "HEAD^{tree}")
    assert search_objects(client, [SECRET])
    report = compact(
        client, "main", "Compact history", CLI, at=NOON, doomed_refs=["refs/tags/v1", "refs/notes/commits"]
    )
    assert (report.replaced, report.commit) == (old, head_of(root))
    assert raw_git(root, "rev-parse", "HEAD^{tree}") == tree
    assert client.count_commits() == 1
    assert message_of(root) == "Compact history\n\nOrigin: cli"
    assert {"refs/heads/dream/2026-10-05", "refs/stash", "refs/tags/v1"} <= set(report.removed_refs)
    assert (report.kept_refs, report.kept_worktrees) == ((), ())
    assert not (root.parent / "dreaming").exists()
    assert search_objects(client, [SECRET]) == ()
    assert search_git_folder(client, [SECRET]) == ()
    assert not (root / ".git/FETCH_HEAD").exists()
    assert state_of(root) is WorkTreeState.CLEAN
    assert_sound(root)


def test_compaction_names_the_refs_and_worktrees_that_still_hold_old_history(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    client = full_of_history(root)
    raw_git(root, "worktree", "add", "--quiet", str(tmp_path / "mine"), "keep")
    report = compact(client, "main", "Compact history", CLI)
    assert set(report.kept_refs) == {"refs/heads/keep", "refs/tags/v1", "refs/notes/commits"}
    assert report.kept_worktrees == (str(tmp_path / "mine"),)
    assert {found.where.split()[0] for found in search_objects(client, [SECRET])} == {"blob", "commit", "tag"}


def test_compaction_forgets_texts_of_a_conflict_that_was_resolved(tmp_path: Path) -> None:
    """The index remembers all sides of a resolved conflict, and gc keeps what the index names."""
    two_sides(tmp_path)
    raw_git(tmp_path, "config", "rerere.enabled", "true")
    raw_git(tmp_path, "merge", "side", ok_codes=(1,))
    commit_files(tmp_path, {"me.md": "- settled\n"})
    assert (tmp_path / ".git/rr-cache").exists()
    client = GitClient(tmp_path)
    raw_git(tmp_path, "branch", "-D", "side")
    compact(client, "main", "Compact history", CLI)
    needles = [b"- side", b"- main", b"- a\n"]
    assert search_objects(client, needles) == ()
    assert search_git_folder(client, needles) == ()


def test_compaction_refuses_another_branch_and_a_repo_without_a_commit(tmp_path: Path) -> None:
    client = GitClient(tmp_path)
    client.init()
    with pytest.raises(Conflict):
        compact(client, "main", "Compact history", CLI)
    remember(tmp_path, "a.md", "x")
    raw_git(tmp_path, "checkout", "--quiet", "-b", "other")
    with pytest.raises(Conflict):
        compact(client, "main", "Compact history", CLI)
    assert client.count_commits() == 1


def test_the_search_finds_texts_across_pieces_in_blobs_messages_and_unreachable_objects(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {"a.md": "x"}, branch="main")
    big = b"." * 262_140 + SECRET + b"." * 600_000 + b"\nlast words"
    write_files(root, {"big.bin": big, "empty.md": b""})
    loose = raw_git(root, "hash-object", "-w", "big.bin").decode().strip()
    empty = raw_git(root, "hash-object", "-w", "empty.md").decode().strip()
    client = GitClient(root)
    found = search_objects(client, [SECRET, b"last words", b"Begin", b"never written", b"", b"."])
    by_needle: dict[int, set[str]] = {}
    for item in found:
        by_needle.setdefault(item.needle, set()).add(item.where)
    assert by_needle[0] == by_needle[1] == {f"blob {loose}"}
    assert by_needle[2] == {f"commit {head_of(root)}"}
    assert 3 not in by_needle
    assert 4 not in by_needle
    objects = {item.id: item for item in iter_objects(client)}
    assert objects[loose].size_bytes == len(big)
    assert objects[empty].size_bytes == 0
    assert objects[head_of(root)].kind == "commit"


@given(st.lists(st.integers(1, 40), max_size=20), st.integers(0, 60))
def test_however_the_stream_is_cut_no_text_falls_between_two_pieces(cuts: list[int], at: int) -> None:
    content = b"." * at + SECRET + b"\n" * 9
    stream = b"".join(
        b"%s %s %d\n%s\n" % (name * 40, kind, len(body), body)
        for name, kind, body in ((b"a", b"blob", b""), (b"b", b"blob", content), (b"c", b"commit", b"garden"))
    )
    pieces, rest = [], stream
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    windows = list(_iter_object_windows(iter([*pieces, rest]), len(SECRET) - 1))
    assert {where for where, window in windows if SECRET in window} == {f"blob {'b' * 40}"}
    assert {where for where, window in windows if b"garden" in window} == {f"blob {'b' * 40}", f"commit {'c' * 40}"}
    with pytest.raises(RepositoryFault):
        list(_iter_object_windows(iter([stream[:-1]]), 0))


def test_a_damaged_object_makes_the_search_fail_instead_of_passing(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    blob = raw_git(root, "rev-parse", "HEAD:MEMORY.md").decode().strip()
    path = root / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(b"")
    with pytest.raises((GitFailed, RepositoryFault)):
        search_objects(GitClient(root), [b"x"])


def test_refs_branches_stashes_and_worktrees_are_listed(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    client = full_of_history(root)
    names = [name for name, _ in client.branches()]
    assert names == ["dream/2026-10-05", "keep", "main"]
    assert dict(client.refs())["refs/heads/main"] == head_of(root)
    assert len(client.stashes()) == 1
    assert client.worktrees() == ((str(tmp_path / "dreaming"), "dream/2026-10-05"),)
