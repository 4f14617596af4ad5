"""What is read of a source and what is not: bounds, links, special files, odd bytes, archives. Nothing is changed."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from typing import TYPE_CHECKING

import pytest

from memrepo.errors import InvalidInput, NotFound, PathRefused, TooLarge
from memrepo.files.sources import ARCHIVE_DIRECTORY_LIMIT_BYTES, open_source
from memrepo.importers.formats import Format
from memrepo.importers.found import Found, PassedOver
from memrepo.importers.reading import FILE_LIMIT_BYTES, JSON_FILE_LIMIT_BYTES, Reading, hide_keys, read_source
from memrepo.policy.redaction import redact

if TYPE_CHECKING:
    from pathlib import Path

CONVERSATION = {
    "create_time": 1_735_689_600,
    "mapping": {
        "a": {
            "message": {
                "author": {"role": "user"},
                "content": {"content_type": "text", "parts": ["My name is Ada Lovelace"]},
            }
        }
    },
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def texts(reading: Reading) -> list[str]:
    return [one.text for one in reading.findings if isinstance(one, Found)]


def unread(reading: Reading) -> dict[str, str]:
    return {one.name: one.why for one in reading.unread}


def write_zip(path: Path, members: dict[str, str], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_links_hidden_names_special_files_and_depth_are_named_and_left(source: Path) -> None:
    (source / "a.md").write_text("- Plays chess\n")
    (source / "photo.jpg").write_bytes(b"\xff")
    (source / ".secret.md").write_text("- hidden\n")
    (source / "link.md").symlink_to(source / "a.md")
    (source / "folder").symlink_to(source.parent)
    os.mkfifo(source / "pipe.md")
    deep = source / "1/2/3/4"
    (deep / "5").mkdir(parents=True)
    (deep / "deep.md").write_text("- Sails far\n")
    (deep / "5/deeper.md").write_text("- Dives deep\n")
    reading = read_source(source)
    assert (reading.format, reading.is_guessed, reading.other) == (Format.NOTES, True, 1)
    assert texts(reading) == ["Sails far", "Plays chess"]
    assert unread(reading) == {
        ".secret.md": "hidden",
        "link.md": "a symbolic link",
        "folder": "a symbolic link",
        "pipe.md": "a named pipe",
        "1/2/3/4/5/": "too deep",
    }


def test_a_file_past_its_bound_and_one_that_is_no_utf8_are_named_and_the_rest_is_read(source: Path) -> None:
    (source / "a.md").write_text("- Plays chess\n")
    (source / "large.md").write_bytes(b"x" * (FILE_LIMIT_BYTES + 1))
    (source / "latin.md").write_bytes(b"- one\n- caf\xe9\n")
    reading = read_source(source)
    assert texts(reading) == ["Plays chess"]
    assert unread(reading) == {"large.md": "262,145 bytes; at most 262,144", "latin.md": "not UTF-8 (line 2)"}


def test_names_that_differ_only_by_case_are_both_read(source: Path) -> None:
    (source / "Me.md").write_text("- Plays chess\n")
    (source / "me.md").write_text("- Plays go\n")
    assert texts(read_source(source)) == ["Plays chess", "Plays go"]


def test_a_name_that_is_no_text_is_read_and_shown_escaped(source: Path) -> None:
    with open(os.path.join(os.fsencode(source), b"bad\xff\n.md"), "wb") as file:  # noqa: PTH118 - a name of bytes
        file.write(b"- Plays chess\n")
    reading = read_source(source)
    assert [one.place for one in reading.findings] == [r"bad\udcff\n.md:1"]


def test_a_file_that_may_not_be_read_is_named(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source / "a.md").write_text("- Plays chess\n")
    (source / "b.md").write_text("- Plays go\n")
    real = os.open

    def refuse(name: str, *arguments: object, **more: object) -> int:
        if name == "b.md":
            raise PermissionError(13, "denied")
        return real(name, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refuse)
    reading = read_source(source)
    assert texts(reading) == ["Plays chess"]
    assert "no permission" in unread(reading)["b.md"]


@pytest.mark.parametrize(
    ("count", "size", "rule", "number"),
    [
        (201, 4, "source-files", "201 files; an import takes at most 200"),
        (9, 250_000, "source-bytes", "2,250,000 bytes"),
    ],
)
def test_a_source_past_a_bound_of_the_whole_is_refused_with_the_number(
    source: Path, count: int, size: int, rule: str, number: str
) -> None:
    for at in range(count):
        (source / f"{at}.md").write_text("- ab" * (size // 4))
    with pytest.raises(TooLarge, match=number) as refused:
        read_source(source)
    assert refused.value.facts["rule"] == rule


def test_a_folder_of_very_many_names_is_refused_before_it_is_read(source: Path) -> None:
    for at in range(4):
        (source / f"{at}.md").touch()
    with pytest.raises(TooLarge, match="more than 3 names"), open_source(source, names=3):
        pass


def test_json_of_half_a_gigabyte_is_refused_by_its_size_alone(source: Path) -> None:
    large = source / "conversations.json"
    large.touch()
    os.truncate(large, 500_000_000)
    with pytest.raises(TooLarge, match="500,000,000 bytes; an import takes at most 67,108,864"):
        read_source(large)


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused_without_opening_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(PathRefused, match="a device"):
        read_source(tmp_path / name)


def test_a_source_that_is_a_link_is_refused_and_what_it_points_to_is_named(source: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(source)
    with pytest.raises(PathRefused, match="symbolic link") as refused:
        read_source(link)
    assert refused.value.hint == f"name what it points to: memrepo import {source}"


def test_a_link_above_the_source_is_the_users_own(source: Path, tmp_path: Path) -> None:
    (source / "a.md").write_text("- Plays chess\n")
    link = tmp_path / "link"
    link.symlink_to(source)
    assert texts(read_source(link / "a.md")) == ["Plays chess"]


def test_a_source_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_source(tmp_path / "nothing")
    (tmp_path / "file.md").touch()
    with pytest.raises(NotFound):
        read_source(tmp_path / "file.md/below")
    with pytest.raises(InvalidInput):
        read_source(tmp_path / "nul\0.md")


def test_a_source_of_which_nothing_can_be_read_is_refused_with_the_reason(source: Path) -> None:
    (source / "latin.md").write_bytes(b"- caf\xe9\n")
    with pytest.raises(InvalidInput) as refused:
        read_source(source)
    assert refused.value.facts["faults"] == (("latin.md", "not UTF-8 (line 1)"),)


def test_a_file_that_stands_alone_is_read_under_any_name_when_the_format_is_given(source: Path) -> None:
    (source / "notes.org").write_text("- Plays chess\n")
    assert texts(read_source(source / "notes.org", chosen=Format.NOTES)) == ["Plays chess"]
    (source / "chats.txt").write_text(json.dumps([CONVERSATION]))
    assert texts(read_source(source / "chats.txt", chosen=Format.CHATGPT)) == ["My name is Ada Lovelace"]


def test_broken_json_is_refused_as_a_whole(source: Path) -> None:
    (source / "conversations-000.json").write_text(json.dumps([CONVERSATION]))
    (source / "conversations-001.json").write_text("[{")
    with pytest.raises(InvalidInput, match=r"conversations-001\.json is not JSON"):
        read_source(source)


# Archives


def test_of_an_archive_only_the_conversations_are_read(tmp_path: Path) -> None:
    path = write_zip(
        tmp_path / "export.zip",
        {
            "export/conversations-000.json": json.dumps([CONVERSATION]),
            "export/user.json": "not read",
            "../conversations.json": "not read",
            "__MACOSX/._conversations.json": "not read",
            "chat.html": "<html>",
        },
    )
    reading = read_source(path)
    assert (reading.format, reading.files) == (Format.CHATGPT, ("export/conversations-000.json",))
    assert texts(reading) == ["My name is Ada Lovelace"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["export.zip"]


def test_a_member_that_is_larger_than_any_list_of_names_is_read(tmp_path: Path) -> None:
    noise = os.urandom(ARCHIVE_DIRECTORY_LIMIT_BYTES).hex()
    path = write_zip(tmp_path / "export.zip", {"conversations.json": json.dumps([{"title": noise}, CONVERSATION])})
    assert path.stat().st_size > ARCHIVE_DIRECTORY_LIMIT_BYTES
    assert texts(read_source(path)) == ["My name is Ada Lovelace"]


def test_a_member_that_unpacks_to_very_much_more_is_not_opened(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "bomb.zip", {"conversations.json": " " * 3_000_000, "other.json": "[]"})
    with pytest.raises(InvalidInput) as refused:
        read_source(path, chosen=Format.CHATGPT)
    assert "a decompression bomb" in str(refused.value.facts["faults"])


def test_a_member_that_says_it_is_smaller_than_it_is_gives_no_more_than_it_says(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "lies.zip", {"conversations.json": json.dumps([CONVERSATION])}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<L", data, at + 24, 10)
    path.write_bytes(data)
    with pytest.raises(InvalidInput):
        read_source(path)


def test_a_large_member_is_refused_with_its_number(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "large.zip", {"conversations.json": json.dumps([CONVERSATION])}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    for place in (20, 24):
        struct.pack_into("<L", data, at + place, 500_000_000)
    path.write_bytes(data)
    with pytest.raises(TooLarge, match="500,000,000 bytes"):
        read_source(path)


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "locked.zip", {"conversations.json": "[]"})
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(InvalidInput) as refused:
        read_source(path, chosen=Format.CHATGPT)
    assert refused.value.facts["faults"] == (("conversations.json", "encrypted"),)


def test_an_archive_with_a_huge_list_of_names_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "names.zip"
    size = ARCHIVE_DIRECTORY_LIMIT_BYTES + 1
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65_000, 65_000, size, 0, 0))
    with pytest.raises(InvalidInput, match="list of names has 4,194,305 bytes"):
        read_source(path)


@pytest.mark.parametrize("cut", [0, 10, 60, -1, -30])
def test_an_archive_that_was_cut_off_is_refused(tmp_path: Path, cut: int) -> None:
    path = write_zip(tmp_path / "export.zip", {"conversations.json": json.dumps([CONVERSATION])})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InvalidInput, match="cannot be read as a zip archive"):
        read_source(path)


def test_damage_inside_an_archive_is_told(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([CONVERSATION] * 50))
    data = bytearray(buffer.getvalue())
    data[60:90] = b"\xff" * 30
    (tmp_path / "export.zip").write_bytes(data)
    with pytest.raises(InvalidInput) as refused:
        read_source(tmp_path / "export.zip")
    assert "damaged" in str(refused.value.facts["faults"])


def test_a_json_file_may_be_larger_than_a_note(source: Path) -> None:
    (source / "conversations.json").write_text(json.dumps([CONVERSATION] * 2_000))
    assert FILE_LIMIT_BYTES < (source / "conversations.json").stat().st_size < JSON_FILE_LIMIT_BYTES
    assert len(read_source(source).findings) == 2_000


# Keys


def test_a_private_key_is_gone_before_its_lines_are_told_apart(source: Path) -> None:
    key = "MIIEpAIBAAKCAQEAwU1Zq5k8W2k0n0kq3C5bY8r9vXo2\nq7mJ4p6dT1sVh3yLzQeRfGtBnMcXaKjHgFdSpOiUyTrEwQ\n"
    text = (
        "- Before the key\n\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n"
        f"{key}-----END RSA PRIVATE KEY-----\n\n- After the key\n"
    )
    (source / "a.md").write_text(text)
    reading = read_source(source)
    assert [(one.text, one.place) for one in reading.findings if isinstance(one, Found)] == [
        ("Before the key", "a.md:1"),
        ("[REDACTED private-key]", "a.md:3"),
        ("After the key", f"a.md:{text.count(chr(10))}"),
    ]
    assert redact("[REDACTED private-key]").secret_only


def test_a_file_with_the_no_memory_marker_on_a_line_of_its_own_is_left_whole(source: Path) -> None:
    (source / "a.md").write_text("- Plays chess\n\n<NO-MEMORY />\n")
    (source / "b.md").write_text("- Plays go, see <no-memory>\n- Sings in a choir\n")
    reading = read_source(source)
    assert texts(reading) == ["Plays go, see <no-memory>", "Sings in a choir"]
    assert PassedOver("marked <no-memory>", "a.md:3") in reading.findings


def test_a_text_without_keys_comes_back_unchanged() -> None:
    assert hide_keys("no PRIVATE KEY in it\n") == "no PRIVATE KEY in it\n"
