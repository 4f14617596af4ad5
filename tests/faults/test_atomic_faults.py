"""Every call of a write fails once, fails for good, or is not reached alive: the old bytes or the new, nothing else."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kit.faulty_os import FaultyOs
from tests.kit.forked import Child

from memrepo.errors import ChangedOnDisk, DiskFault, MemrepoError
from memrepo.files import folder as folder_module
from memrepo.files.atomic import (
    digest_bytes,
    read_file,
    remove_file,
    remove_internal,
    remove_stale_temporaries,
    replace_file,
    write_internal,
)
from memrepo.files.folder import TEMPORARY_NAME
from memrepo.model import RepoPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OLD, NEW = b"the old bytes\n" * 50, b"the new bytes\n" * 60
ME = RepoPath("me.md")
DEEP = RepoPath("workspaces/deep/billing.md")


@dataclass(frozen=True)
class Act:
    """One kind of write: the file it is about, whether that is there before, and what is there after."""

    name: str
    file: str
    exists: bool
    after: bytes | None
    run: Callable[[Path], object]


ACTS = (
    Act("replace", ME, True, NEW, lambda root: replace_file(root, ME, NEW, expect_digest=digest_bytes(OLD))),
    Act("create", ME, False, NEW, lambda root: replace_file(root, ME, NEW, expect_digest=None)),
    Act("create-deep", DEEP, False, NEW, lambda root: replace_file(root, DEEP, NEW, expect_digest=None)),
    Act("remove", ME, True, None, lambda root: remove_file(root, ME, expect_digest=digest_bytes(OLD))),
    Act("internal-new", ".git/journal", False, NEW, lambda root: write_internal(root / ".git", "journal", NEW)),
    Act("internal-over", ".git/journal", True, NEW, lambda root: write_internal(root / ".git", "journal", NEW)),
    Act("internal-remove", ".git/journal", True, None, lambda root: remove_internal(root / ".git", "journal")),
)
every_act = pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)


def prepare(root: Path, act: Act) -> None:
    root.mkdir()
    if act.exists:
        (root / act.file).parent.mkdir(exist_ok=True)
        (root / act.file).write_bytes(OLD)


def bytes_of(root: Path, act: Act) -> bytes | None:
    return (root / act.file).read_bytes() if (root / act.file).exists() else None


def temporaries(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*") if TEMPORARY_NAME.fullmatch(path.name)]


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def run_with(root: Path, act: Act, faulty: FaultyOs, monkeypatch: pytest.MonkeyPatch) -> MemrepoError | None:
    """Runs the act on a fresh root with the faulty `os`; returns the error it raised."""
    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "os", faulty)
        try:
            act.run(root)
        except MemrepoError as error:
            return error
    return None


def count_calls(base: Path, act: Act, monkeypatch: pytest.MonkeyPatch, *, write_at_most: int | None = None) -> int:
    prepare(base / "counted", act)
    counting = FaultyOs(write_at_most=write_at_most)
    assert run_with(base / "counted", act, counting, monkeypatch) is None
    assert bytes_of(base / "counted", act) == act.after
    return len(counting.calls)


@every_act
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=errno.errorcode.__getitem__)
def test_one_failing_call_leaves_old_or_new_bytes_and_no_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Act, error: int
) -> None:
    before = OLD if act.exists else None
    count = count_calls(tmp_path, act, monkeypatch)
    descriptors = open_descriptors()
    for number in range(1, count + 1):
        root = tmp_path / str(number)
        prepare(root, act)
        faulty = FaultyOs(fail_from=number, error=error)
        fault = run_with(root, act, faulty, monkeypatch)
        failed = faulty.calls[number - 1]
        if fault is None:
            # Only the removal of the first name of a file that is in place may fail without a word.
            assert failed == "unlink"
            assert bytes_of(root, act) == act.after
            remove_stale_temporaries(root)
        else:
            assert isinstance(fault, DiskFault)
            assert fault.facts["errno_name"] == errno.errorcode[error]
            assert fault.hint
            is_in_place = failed in {"fsync", "close"} and bytes_of(root, act) == act.after
            assert is_in_place or bytes_of(root, act) == before, f"call {number}: {failed}"
        assert temporaries(root) == [], f"call {number}: {failed}"
        assert open_descriptors() == descriptors, f"call {number}: {failed}"
        if bytes_of(root, act) == before:  # and the same write goes through afterwards
            assert run_with(root, act, FaultyOs(), monkeypatch) is None
        assert bytes_of(root, act) == act.after


@every_act
def test_a_disk_that_fails_for_good_at_any_call_leaves_whole_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    before = OLD if act.exists else None
    for number in range(1, count_calls(tmp_path, act, monkeypatch) + 1):
        root = tmp_path / str(number)
        prepare(root, act)
        fault = run_with(root, act, FaultyOs(fail_from=number, once=False), monkeypatch)
        assert isinstance(fault, DiskFault) or (act.name.startswith("create") and bytes_of(root, act) == act.after)
        assert bytes_of(root, act) in (before, act.after)
        remove_stale_temporaries(root)
        assert temporaries(root) == []
        assert bytes_of(root, act) in (before, act.after)


@every_act
def test_a_kill_before_any_call_leaves_whole_bytes_and_the_sweep_removes_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    before = OLD if act.exists else None
    seen: set[bytes | None] = set()
    for number in range(1, count_calls(tmp_path, act, monkeypatch, write_at_most=100) + 1):
        root = tmp_path / str(number)
        prepare(root, act)

        def die(root: Path = root, number: int = number) -> None:
            run_with(root, act, FaultyOs(kill_at=number, write_at_most=100), monkeypatch)

        assert Child(die).wait() == -signal.SIGKILL
        left = bytes_of(root, act)
        assert left in (before, act.after)
        seen.add(left)
        remove_stale_temporaries(root)
        assert temporaries(root) == []
        assert bytes_of(root, act) == left
        if left == before:  # and the same write goes through afterwards
            assert run_with(root, act, FaultyOs(), monkeypatch) is None
        assert bytes_of(root, act) == act.after
    assert seen == {before, act.after}


def test_a_disk_that_takes_three_bytes_at_a_time_still_gets_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = ACTS[0]
    prepare(tmp_path / "root", act)
    assert run_with(tmp_path / "root", act, FaultyOs(write_at_most=3), monkeypatch) is None
    assert (tmp_path / "root/me.md").read_bytes() == NEW


# --- someone else acts in the middle


def test_an_editor_that_saves_while_we_write_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for act in ACTS[:2]:
        root = tmp_path / act.name
        prepare(root, act)

        def save(root: Path = root) -> None:
            (root / ME).write_bytes(b"by hand")

        fault = run_with(root, act, FaultyOs(before={"fsync": save}), monkeypatch)
        assert isinstance(fault, ChangedOnDisk)
        assert fault.facts["actual"] == digest_bytes(b"by hand")
        assert (root / ME).read_bytes() == b"by hand"
        assert temporaries(root) == []


def test_a_file_that_appears_at_the_last_moment_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = ACTS[1]
    prepare(tmp_path / "root", act)

    def save() -> None:
        (tmp_path / "root" / ME).write_bytes(b"by hand")

    faulty = FaultyOs(before={"link": save})
    assert isinstance(run_with(tmp_path / "root", act, faulty, monkeypatch), ChangedOnDisk)
    assert (tmp_path / "root" / ME).read_bytes() == b"by hand"


def test_a_folder_swapped_for_a_link_in_the_middle_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    act = ACTS[2]
    prepare(root, act)
    (root / "workspaces/deep").mkdir(parents=True)
    outside.mkdir()

    def swap() -> None:
        if not (root / "workspaces").is_symlink():
            (root / "workspaces").rename(root / "moved")
            (outside / "deep").mkdir()
            (root / "workspaces").symlink_to(outside)

    assert run_with(root, act, FaultyOs(before={"write": swap}), monkeypatch) is None
    assert (root / "moved/deep/billing.md").read_bytes() == NEW
    assert [path.name for path in outside.rglob("*")] == ["deep"]


def test_without_hard_links_a_new_file_is_still_written_and_an_existing_one_still_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoLinks(FaultyOs):
        def __getattr__(self, name: str) -> object:
            return self._refuse if name == "link" else super().__getattr__(name)

        @staticmethod
        def _refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, "no hard links here")

    act = ACTS[1]
    prepare(tmp_path / "root", act)
    assert run_with(tmp_path / "root", act, NoLinks(), monkeypatch) is None
    assert (tmp_path / "root" / ME).read_bytes() == NEW
    assert temporaries(tmp_path / "root") == []
    assert isinstance(run_with(tmp_path / "root", act, NoLinks(), monkeypatch), ChangedOnDisk)


# --- real disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KB that the test may fill and make read-only; skipped where it cannot be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no mount program here")
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.decode(errors='replace').strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_named_and_leaves_the_old_bytes(small_disk: Path) -> None:
    (small_disk / "me.md").write_bytes(OLD)
    (small_disk / "filler").write_bytes(b"x" * 50_000)
    with pytest.raises(DiskFault, match=r"me\.md: no space left on the disk \(ENOSPC\)") as fault:
        replace_file(small_disk, ME, b"y" * 20_000, expect_digest=digest_bytes(OLD))
    assert fault.value.facts == {"invariant": "disk", "path": ME, "errno_name": "ENOSPC"}
    assert (small_disk / "me.md").read_bytes() == OLD
    assert temporaries(small_disk) == []
    (small_disk / "filler").unlink()
    replace_file(small_disk, ME, b"y" * 20_000, expect_digest=digest_bytes(OLD))


def test_a_read_only_disk_is_named_and_still_read(small_disk: Path) -> None:
    (small_disk / "me.md").write_bytes(OLD)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(DiskFault, match=r"mounted read-only \(EROFS\)"):
        replace_file(small_disk, ME, NEW, expect_digest=digest_bytes(OLD))
    with pytest.raises(DiskFault, match="EROFS"):
        replace_file(small_disk, DEEP, NEW, expect_digest=None)
    with pytest.raises(DiskFault, match="EROFS"):
        remove_file(small_disk, ME, expect_digest=digest_bytes(OLD))
    with pytest.raises(DiskFault, match="EROFS"):
        write_internal(small_disk / ".git", "journal", NEW)
    assert read_file(small_disk, ME).data == OLD


def test_a_folder_without_write_permission_is_named(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("permission bits do not bind root; the read-only disk stands for it")
    (tmp_path / "me.md").write_bytes(OLD)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DiskFault, match=r"no permission \(EACCES\)"):
            replace_file(tmp_path, ME, NEW, expect_digest=digest_bytes(OLD))
    finally:
        tmp_path.chmod(0o700)
    assert (tmp_path / "me.md").read_bytes() == OLD


def test_the_systems_limit_on_file_size_is_named_and_leaves_the_old_bytes(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_bytes(OLD)

    def write_under_limit() -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        with suppress(ValueError):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            replace_file(tmp_path, ME, b"y" * 10_000, expect_digest=digest_bytes(OLD))
        except DiskFault as fault:
            return 7 if fault.facts["errno_name"] == "EFBIG" else 8
        return 9

    assert Child(write_under_limit).wait() == 7
    assert (tmp_path / "me.md").read_bytes() == OLD
    assert temporaries(tmp_path) == []
