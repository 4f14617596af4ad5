"""Sealed backups: they open with their key and with nothing else, and every fault has its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.backups import KEY_NAME, choose_name, get_key, read_backup, read_key, seal, unseal, write_backup
from memrepo.errors import BackupFault, InvalidInput, NotFound, PathRefused

KEY, OTHER = bytes(range(32)), bytes(32)
PLACE = Path("/somewhere/facts.backup")


def invariant_of(data: bytes, key: bytes = KEY) -> object:
    with pytest.raises(BackupFault) as caught:
        unseal(data, key, path=PLACE)
    assert str(PLACE) in caught.value.message
    assert caught.value.hint
    return caught.value.facts["invariant"]


@given(st.binary(max_size=2000))
def test_what_was_sealed_comes_back_and_is_not_to_be_read_without_the_key(content: bytes) -> None:
    data = seal(content, KEY)
    assert unseal(data, KEY, path=PLACE) == content
    assert len(content) < 8 or content not in data


def test_the_same_content_is_never_sealed_twice_alike() -> None:
    assert seal(b"Drinks tea", KEY) != seal(b"Drinks tea", KEY)


def test_another_key_is_told_from_damage() -> None:
    assert invariant_of(seal(b"Drinks tea", OTHER)) == "backup-other-key"


def test_a_change_of_any_byte_is_found() -> None:
    data = seal(b"Drinks tea", KEY)
    start = data.index(b"\n") + 1
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        told = invariant_of(bytes(changed))
        assert told == "backup-damaged" if place >= start else told in FAULTS_OF_A_HEADER


FAULTS_OF_A_HEADER = {"backup-foreign", "backup-other-key", "backup-newer", "backup-damaged"}


@pytest.mark.parametrize("kept", [0, 10, 34, 40, 60])
def test_a_backup_that_was_cut_short_does_not_open(kept: int) -> None:
    data = seal(b"Drinks tea" * 10, KEY)
    assert invariant_of(data[:kept]) in {"backup-foreign", "backup-damaged"}


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0", b"\xff" * 500, b"memrepo-backup 1 short\nrest"])
def test_another_file_is_no_backup(data: bytes) -> None:
    assert invariant_of(data) == "backup-foreign"


def test_a_backup_of_a_newer_memrepo_says_so() -> None:
    assert invariant_of(seal(b"x", KEY).replace(b"backup 1 ", b"backup 2 ")) == "backup-newer"


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "profile"
    key = get_key(folder)
    assert len(key) == 32
    assert get_key(folder) == key == read_key(folder / KEY_NAME)
    assert (folder / KEY_NAME).stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0
    assert get_key(tmp_path / "other") != key


@pytest.mark.parametrize("data", [b"", b"abc", b"z" * 64, b"0" * 63, b"0" * 65])
def test_what_is_no_key_is_named_and_not_replaced(tmp_path: Path, data: bytes) -> None:
    (tmp_path / KEY_NAME).write_bytes(data)
    with pytest.raises(BackupFault) as caught:
        get_key(tmp_path)
    assert caught.value.facts["invariant"] == "backup-key"
    assert (tmp_path / KEY_NAME).read_bytes() == data


def test_a_key_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackupFault, match="gone"):
        read_key(tmp_path / "nowhere" / KEY_NAME)


def test_a_backup_takes_no_files_place(tmp_path: Path) -> None:
    place = tmp_path / "new" / "facts.backup"
    write_backup(place, b"first")
    assert place.stat().st_mode & 0o077 == 0
    with pytest.raises(InvalidInput):
        write_backup(place, b"second")
    assert read_backup(place) == b"first"


def test_what_is_no_file_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_backup(tmp_path / "nothing")
    with pytest.raises(PathRefused):
        read_backup(tmp_path)


def test_names_of_backups_in_one_second_differ(tmp_path: Path) -> None:
    first = choose_name(tmp_path, "20261005-120000")
    write_backup(first, b"x")
    assert (first.name, choose_name(tmp_path, "20261005-120000").name) == (
        "facts-20261005-120000.backup",
        "facts-20261005-120000-2.backup",
    )
