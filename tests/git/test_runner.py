"""The one process door: real git where git can show it, a program of our own where only a bad git could."""

from __future__ import annotations

import os
import select
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from tests.kit.repos import make_repo, raw_git, write_files

if TYPE_CHECKING:
    from pathlib import Path

from memrepo.errors import DiskFault, GitFailed, GitMissing, GitTimeout, TooLarge
from memrepo.git.process import find_program, iter_git_output, run_git


def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Puts a `git` of our own first on PATH and returns a repo to run it on."""
    root = make_repo(tmp_path / "repo")
    program = tmp_path / "bin/git"
    write_files(tmp_path, {"bin/git": f"#!/bin/sh\n{script}\n"})
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    return root


def is_gone(pid: int) -> bool:
    """Waits until the process has exited; False when it stays."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with open(descriptor, "rb"):
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(30_000))


def test_output_comes_back_as_bytes_with_its_exit_code(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {"a.md": b"\xff\r\n\x00"})
    output = run_git(root, ("cat-file", "blob", "HEAD:a.md"))
    assert (output.stdout, output.exit_code) == (b"\xff\r\n\x00", 0)


def test_input_and_output_larger_than_any_pipe_do_not_block_each_other(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    object_id = raw_git(root, "hash-object", "-w", "--stdin", stdin=b"x" * 300_000).strip()
    asked = (object_id + b"\n") * 20_000  # 820 KB in, 1 MB out, at the same time
    output = run_git(root, ("cat-file", "--batch-check"), stdin=asked)
    assert output.stdout == (object_id + b" blob 300000\n") * 20_000


def test_a_command_that_reads_no_input_does_not_fail_for_it(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    assert run_git(root, ("version",), stdin=b"x" * 1_000_000).stdout.startswith(b"git version")


def test_output_beyond_the_limit_is_refused_with_the_numbers(tmp_path: Path) -> None:
    root = make_repo(tmp_path, {"a.md": "x" * 100_000})
    with pytest.raises(TooLarge) as caught:
        run_git(root, ("cat-file", "blob", "HEAD:a.md"), limit_bytes=50_000)
    assert caught.value.facts["limit"] == 50_000
    assert len(run_git(root, ("cat-file", "blob", "HEAD:a.md"), limit_bytes=100_000).stdout) == 100_000


def test_a_failure_names_the_command_the_code_and_the_first_lines(tmp_path: Path) -> None:
    root = make_repo(tmp_path)
    with pytest.raises(GitFailed) as caught:
        run_git(root, ("cat-file", "blob", "nothing"))
    error = caught.value
    assert error.facts["argv"] == ("git", "cat-file", "blob", "nothing")
    assert error.facts["exit_code"] == 128
    assert "Not a valid object name nothing" in error.message
    assert run_git(root, ("cat-file", "blob", "nothing"), ok_codes=(128,)).exit_code == 128


def test_no_error_holds_a_password_or_what_was_given_by_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = fake_git(tmp_path, monkeypatch, "echo fatal: https://u:hunter2@h/x and ssh://tok@h/ >&2; exit 3")
    with pytest.raises(GitFailed) as caught:
        run_git(root, ("push", "https://u:hunter2@example.org/x.git"), stdin=b"private words")
    shown = f"{caught.value.message} {caught.value.facts} {caught.value!r}"
    assert "https://h/x and ssh://h/" in shown
    assert not [word for word in ("hunter2", "tok@", "private words") if word in shown]


def test_a_flood_of_errors_neither_blocks_nor_fills_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = fake_git(tmp_path, monkeypatch, "yes fatal: again | head -c 5000000 >&2; exit 1")
    with pytest.raises(GitFailed) as caught:
        run_git(root, ("status",))
    assert caught.value.facts["stderr"] == ("fatal: again",) * 5


def run_past_the_deadline(root: Path, monkeypatch: pytest.MonkeyPatch) -> GitTimeout:
    """Waits for git's first output, then lets the deadline pass, without waiting for it."""
    stream = iter_git_output(root, ("status",), timeout_s=600)
    assert next(stream) == b"ready\n"
    monkeypatch.setattr("memrepo.git.process.time", SimpleNamespace(monotonic=lambda: float("inf")))
    with pytest.raises(GitTimeout) as caught:
        next(stream)
    return caught.value


def test_a_timeout_ends_the_whole_group_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"
    root = fake_git(tmp_path, monkeypatch, f"sleep 600 & echo $$ $! > {pids}; echo ready; wait")
    error = run_past_the_deadline(root, monkeypatch)
    assert error.facts == {"argv": ("git", "status"), "timeout_s": 600}
    running = [int(word) for word in pids.read_text().split()]
    assert len(running) == 2
    assert all(is_gone(pid) for pid in running)


def test_git_gets_the_chance_to_remove_its_lock_before_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "repo/.git/index.lock"
    script = f"trap 'rm {lock}; exit 1' TERM; touch {lock}; sleep 600 & echo ready; wait"
    root = fake_git(tmp_path, monkeypatch, script)
    run_past_the_deadline(root, monkeypatch)
    assert not lock.exists()


def test_a_git_that_hears_no_request_to_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memrepo.git.process._GRACE_S", 0.01)
    pid = tmp_path / "pid"
    root = fake_git(tmp_path, monkeypatch, f"trap '' TERM; echo $$ > {pid}; echo ready; while :; do :; done")
    run_past_the_deadline(root, monkeypatch)
    assert is_gone(int(pid.read_text()))


def test_a_process_left_behind_with_the_pipes_open_does_not_hold_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fake_git(tmp_path, monkeypatch, f"echo done; sleep 600 & echo $! > {tmp_path}/pid; exit 0")
    try:
        assert run_git(root, ("fetch",), timeout_s=60).stdout == b"done\n"
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_an_exit_is_also_seen_where_the_system_cannot_tell_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memrepo.git.process._open_exit_descriptor", lambda _pid: None)
    root = fake_git(tmp_path, monkeypatch, f"echo done; sleep 600 & echo $! > {tmp_path}/pid; exit 0")
    try:
        assert run_git(root, ("fetch",), timeout_s=60).stdout == b"done\n"
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_leaving_a_stream_early_ends_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = fake_git(tmp_path, monkeypatch, f"echo $$ > {tmp_path}/pid; exec yes")
    stream = iter_git_output(root, ("cat-file",))
    assert next(stream).startswith(b"y\n")
    stream.close()  # type: ignore[attr-defined]
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_git_inside_the_repo_or_on_a_relative_path_is_never_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repo(tmp_path / "repo")
    real = find_program(root)
    for folder in ("", "bin"):
        program = root / folder / "git"
        write_files(root, {str(program.relative_to(root)): "#!/bin/sh\ntouch ran\n"})
        program.chmod(0o755)
    (tmp_path / "link").symlink_to(root / "bin")
    rest = os.environ["PATH"]
    monkeypatch.chdir(root)
    monkeypatch.setenv(
        "PATH", os.pathsep.join([".", "", "bin", str(root), str(root / "bin"), f"{tmp_path}/link", rest])
    )
    assert find_program(root) == real
    assert run_git(root, ("version",)).stdout.startswith(b"git version")
    assert not (root / "ran").exists()
    outside = tmp_path / "outside"
    write_files(outside, {"here/git": "#!/bin/sh\necho planted\n"})
    (outside / "here/git").chmod(0o755)
    monkeypatch.chdir(outside)
    monkeypatch.setenv("PATH", os.pathsep.join(["here", rest]))
    assert run_git(root, ("version",)).stdout.startswith(b"git version")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/git").symlink_to(root / "git")
    monkeypatch.setenv("PATH", f"{root}{os.pathsep}{tmp_path}/out")
    with pytest.raises(GitMissing):
        run_git(root, ("version",))


def test_a_git_that_vanished_is_missing_and_one_that_came_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fake_git(tmp_path, monkeypatch, "echo ours")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert run_git(root, ("version",)).stdout == b"ours\n"
    (tmp_path / "bin/git").rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(GitMissing, match="git not found"):
            run_git(root, ("version",))
    (tmp_path / "away").rename(tmp_path / "bin/git")
    assert run_git(root, ("version",)).stdout == b"ours\n"


def test_a_root_that_is_gone_is_a_fault_of_the_folder_and_not_of_git(tmp_path: Path) -> None:
    with pytest.raises(DiskFault):
        run_git(tmp_path / "gone", ("version",))


def test_git_gets_no_terminal_no_input_and_a_session_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fake_git(
        tmp_path, monkeypatch, "cat; ps -o sid= -p $$ 2>/dev/null; echo $$; (: < /dev/tty) 2>/dev/null; echo $?"
    )
    lines = run_git(root, ("version",)).stdout.decode().split()
    assert lines[-1] != "0"  # no terminal to ask on
    assert len(lines) < 3 or lines[0] == lines[1]
    assert str(os.getsid(0)) not in lines


def test_the_folder_above_and_its_owner_do_not_matter(tmp_path: Path) -> None:
    make_repo(tmp_path, {"outer.md": "x"})
    (tmp_path / "inner").mkdir()
    with pytest.raises(GitFailed, match="not a git repository"):
        run_git(tmp_path / "inner", ("status",))
