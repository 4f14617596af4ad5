"""Fetching and pushing one branch, over a real ssh on loopback: what is said when it works, and when it does not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.kit.remotes import SSHD, WHY_NO_SSHD, SshHost, make_bare
from tests.kit.repos import commit_files, head_of, make_repo, raw_git

from memrepo.errors import GitFailed, RemoteFailed
from memrepo.git.client import GitClient
from memrepo.git.network import (
    ARRIVED,
    REMOTE,
    TRACKING,
    explain,
    fetch,
    find_ref,
    push,
    read_remote,
    remove_remote,
    set_ref,
    set_remote,
)
from memrepo.model import CommitId

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

needs_sshd = pytest.mark.skipif(SSHD is None, reason=WHY_NO_SSHD)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    made = SshHost(tmp_path_factory.mktemp("ssh") / "host")
    yield made
    made.close()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return make_bare(tmp_path / "host" / "memory.git")


@pytest.fixture
def url(host: SshHost, bare: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    host.put_on_path(monkeypatch)
    return host.url(bare)


@needs_sshd
def test_a_branch_goes_there_and_comes_back_over_ssh(tmp_path: Path, url: str, bare: Path) -> None:
    here = GitClient(make_repo(tmp_path / "here"))
    assert fetch(here, url) is None
    head = here.head()
    assert head is not None
    assert push(here, url, head)
    assert head_of(bare) == head
    assert raw_git(here.root, "config", "--local", "--list").decode().count("remote") == 0
    there = GitClient(make_repo(tmp_path / "there", {}))
    assert fetch(there, url) == head
    assert find_ref(there, ARRIVED) == head
    assert [name for name, _ in there.refs()] == [ARRIVED]
    assert not (there.root / ".git" / "FETCH_HEAD").exists()


@needs_sshd
def test_a_push_that_does_not_follow_is_turned_away_and_a_lease_replaces_only_what_it_names(
    tmp_path: Path, url: str, bare: Path
) -> None:
    here, there = (GitClient(make_repo(tmp_path / name)) for name in ("here", "there"))
    ours, theirs = CommitId(commit_files(here.root, {"a.md": "a"})), CommitId(commit_files(there.root, {"b.md": "b"}))
    assert push(there, url, theirs)
    assert not push(here, url, ours)
    assert not push(here, url, ours, replaces=ours)
    assert head_of(bare) == theirs
    assert push(here, url, ours, replaces=theirs)
    assert head_of(bare) == ours


@needs_sshd
def test_a_host_that_is_not_known_is_refused_with_what_to_do(
    tmp_path: Path, host: SshHost, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = host.known_hosts.read_bytes()
    host.known_hosts.write_bytes(b"")
    try:
        with pytest.raises(RemoteFailed, match="does not know the host's key") as failed:
            fetch(GitClient(make_repo(tmp_path / "here")), url)
    finally:
        host.known_hosts.write_bytes(known)
    assert "ssh -T" in failed.value.hint
    assert host.known_hosts.read_bytes() == known


@needs_sshd
def test_a_repository_that_is_not_there_and_a_port_where_nobody_is(tmp_path: Path, host: SshHost, url: str) -> None:
    here = GitClient(make_repo(tmp_path / "here"))
    with pytest.raises(RemoteFailed, match="no repository at that address"):
        fetch(here, host.url(tmp_path / "nowhere"))
    with pytest.raises(RemoteFailed, match="takes no connection") as failed:
        fetch(here, url.replace(str(host.port), "1"))
    assert "@" not in str(failed.value.facts)


@needs_sshd
def test_a_hook_of_the_remote_may_refuse_and_its_reason_is_told(tmp_path: Path, url: str, bare: Path) -> None:
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    here = GitClient(make_repo(tmp_path / "here"))
    with pytest.raises(RemoteFailed, match="refused the push: pre-receive hook declined"):
        push(here, url, CommitId(head_of(here.root)))


@needs_sshd
def test_hooks_of_the_folder_do_not_run_on_a_push(tmp_path: Path, url: str) -> None:
    here = GitClient(make_repo(tmp_path / "here"))
    hook = here.root / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    hook.chmod(0o755)
    assert push(here, url, CommitId(head_of(here.root)))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("fatal: could not read Username for 'https://x': terminal prompts disabled", "asks for a password"),
        ("fatal: Authentication failed for 'https://x'", "did not take the password"),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", "perhaps there is no network"),
        ("git@x: Permission denied (publickey).", "took none of your ssh keys"),
        ("fatal: unable to access 'https://x/': SSL certificate problem: expired", "certificate cannot be trusted"),
        ("fatal: the remote end hung up unexpectedly", "connection was cut"),
        ("fatal: something new", "fatal: something new"),
    ],
)
def test_what_git_says_of_the_network_is_told_in_words_that_help(said: str, meaning: str) -> None:
    error = explain(GitFailed("x", argv=("git", "fetch", "git@x:m"), exit_code=128, stderr=(said,)), "fetch")
    assert meaning in error.message
    assert error.hint
    assert error.facts["argv"] == ("git", "fetch")


def test_the_managed_remote_is_made_changed_and_removed(tmp_path: Path) -> None:
    here = GitClient(make_repo(tmp_path / "here"))
    set_remote(here, "git@example.org:a.git")
    set_remote(here, "git@example.org:b.git")
    raw_git(here.root, "config", f"remote.{REMOTE}.pushurl", "git@evil.example:c.git")
    set_remote(here, "git@example.org:b.git")
    assert read_remote(here) == {
        f"remote.{REMOTE}.url": "git@example.org:b.git",
        f"remote.{REMOTE}.fetch": f"+refs/heads/main:{TRACKING}",
    }
    set_ref(here, TRACKING, CommitId(head_of(here.root)))
    assert remove_remote(here)
    assert not remove_remote(here)
    assert read_remote(here) == {}
    assert find_ref(here, TRACKING) is None


@needs_sshd
def test_the_plain_git_of_a_person_uses_the_managed_remote(tmp_path: Path, url: str, bare: Path) -> None:
    here = GitClient(make_repo(tmp_path / "here"))
    set_remote(here, url)
    raw_git(here.root, "push", "--quiet", REMOTE, "main", env={"PATH": os.environ["PATH"]})
    assert find_ref(here, TRACKING) == head_of(bare)
