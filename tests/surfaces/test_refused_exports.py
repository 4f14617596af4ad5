"""Exports that would harm, lie or are broken: each is refused by name, and nothing of it is left."""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import stat
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.moving import Home, change, repack
from tests.kit.repos import make_repo, raw_git, write_files

from memrepo.errors import ExportFault, TooLarge
from memrepo.portable import containers, package

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

NOON = dt.datetime(2026, 10, 5, 12, tzinfo=dt.UTC)
Members = dict[str, bytes]
Edit = "Callable[[Members, dict[str, Any]], None]"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("old") / "home")
    home.fill()
    return home


@pytest.fixture(scope="module")
def whole(old: Home) -> Path:
    return old.export(old.folder.parent / "whole.zip")


@pytest.fixture
def new(tmp_path: Path) -> Home:
    return Home(tmp_path / "new")


def refuse(new: Home, export: Path) -> ExportFault:
    """The refusal; nothing may be left of the try."""
    with pytest.raises(ExportFault) as caught:
        new.come_back(export)
    assert new.is_untouched()
    assert str(export) in caught.value.message
    assert caught.value.hint
    return caught.value


def add(name: str, data: bytes = b"x") -> Any:
    return lambda members, _: members.update({name: data})


UNSAFE_NAMES = {
    "up": "files/../../evil.md",
    "absolute": "files//etc/evil.md",
    "windows-drive": "files/C:/evil.md",
    "backslash": "files/..\\evil.md",
    "home": "files/~/evil.md",
    "git-config": "files/.git/config",
    "git-hook": "files/.git/hooks/post-commit",
    "git-in-capitals": "files/.GIT/hooks/post-commit",
    "git-short-name": "files/git~1/config",
    "git-with-a-mark": "files/.g\u200cit/config",
    "nested-git": "files/notes/.git/config",
    "device": "files/nul.md",
    "control": "files/a\x01.md",
    "not-composed": "files/u\u0308.md",
    "case": "files/ME.md",
    "case-of-a-folder": "files/Workspaces/x.md",
    "file-and-folder": "files/me.md/x.md",
    "outside": "hooks/post-commit",
    "top": "evil.sh",
    "private": "private/../../evil",
    "other-shelf": "private/approvals.jsonl",
    "bare-repository": "files/notes/HEAD",
}


@pytest.mark.parametrize("name", UNSAFE_NAMES.values(), ids=list(UNSAFE_NAMES))
def test_a_name_that_leads_elsewhere_is_refused_even_with_a_manifest_that_names_it(
    new: Home, whole: Path, tmp_path: Path, name: str
) -> None:
    def edit(members: Members, _: dict[str, Any]) -> None:
        members[name] = b"ref: refs/heads/main\n"
        if name.endswith("HEAD"):
            members |= {"files/notes/objects/x": b"", "files/notes/refs/x": b"", "files/notes/config": b"[core]\n"}

    export = change(whole, tmp_path / "export.zip", edit, at=NOON)
    fault = refuse(new, export)
    assert fault.facts["invariant"] == "export-unsafe"
    assert fault.facts["name"]


def set_manifest(**values: object) -> Any:
    return lambda _, manifest: manifest.update(values)


def row(shelf: str, **values: object) -> Any:
    def edit(members: Members, _: dict[str, Any]) -> None:
        name = f"private/{shelf}.jsonl"
        first = json.loads(members[name].split(b"\n")[0]) | values
        members[name] = json.dumps(first).encode() + b"\n"

    return edit


def lines(shelf: str, data: bytes) -> Any:
    return add(f"private/{shelf}.jsonl", data)


BROKEN: dict[str, tuple[str, Any]] = {
    "another-program": ("export-foreign", set_manifest(format="other")),
    "a-newer-form": ("export-newer", set_manifest(version=2)),
    "no-version": ("export-newer", set_manifest(version=None)),
    "no-memory": ("export-foreign", lambda members, _: members.pop("files/MEMORY.md")),
    "no-counts": ("export-damaged", lambda _, manifest: manifest.pop("counts")),
    "a-time-that-is-none": ("export-damaged", set_manifest(created_at="yesterday")),
    "a-negative-count": ("export-damaged", set_manifest(counts={"files": -1})),
    "a-history-that-is-not-there": ("export-damaged", lambda members, _: members.pop("history.bundle")),
    "a-history-that-is-not-named": ("export-damaged", set_manifest(history=None)),
    "a-history-of-another-commit": (
        "export-damaged",
        set_manifest(history={"head": "0" * 40, "branch": "main", "commits": 1}),
    ),
    "a-branch-that-is-not-there": ("export-unsafe", lambda _, manifest: manifest["history"].update(branch="other")),
    "a-branch-of-git's-own": ("export-unsafe", lambda _, manifest: manifest["history"].update(branch="../../x")),
    "an-unknown-column": ("export-damaged", row("facts", colour="red")),
    "an-unknown-kind": ("export-damaged", row("facts", kind="spell")),
    "a-text-for-a-number": ("export-damaged", row("facts", created_at="now")),
    "a-yes-for-a-number": ("export-damaged", row("facts", created_at=True)),
    "a-number-past-all-numbers": ("export-damaged", row("facts", updated_at=2**70)),
    "no-text": ("export-damaged", row("facts", content=None)),
    "a-hash-that-is-none": ("export-damaged", row("forgotten", content_hash="abc")),
    "a-number-below-one": ("export-damaged", row("archive", id=0)),
    "a-waiting-write-that-is-none": ("export-damaged", row("pending", record={"version": 1})),
    "a-waiting-write-as-text": ("export-damaged", row("pending", record="{}")),
    "a-fact-and-a-commitment-in-one": ("export-damaged", row("commitments", id=2)),
    "rows-that-are-no-json": ("export-damaged", lines("facts", b"{\n")),
    "rows-that-are-lists": ("export-damaged", lines("facts", b"[]\n")),
    "rows-that-are-not-utf-8": ("export-damaged", lines("facts", b'{"content": "\xff"}\n')),
    "rows-with-a-name-twice": ("export-damaged", lines("events", b'{"at": 1, "at": 2}\n')),
    "rows-with-no-number": ("export-damaged", lines("events", b'{"at": NaN}\n')),
    "rows-that-nest-without-end": ("export-damaged", lines("events", b"[" * 100_000 + b"]" * 100_000)),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_an_export_says_is_judged_whatever_its_sums(new: Home, whole: Path, tmp_path: Path, case: str) -> None:
    invariant, edit = BROKEN[case]
    assert refuse(new, change(whole, tmp_path / "export.zip", edit, at=NOON)).facts["invariant"] == invariant


# The zip file itself


def copy_all(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
    for name, data in members.items():
        archive.writestr(name, data)


def test_a_byte_that_was_changed_is_named(new: Home, whole: Path, tmp_path: Path) -> None:
    def edit(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        copy_all(archive, dict(members) | {"files/me.md": members["files/me.md"].replace(b"tabs", b"taps")})

    fault = refuse(new, repack(whole, tmp_path / "export.zip", edit))
    assert (fault.facts["invariant"], fault.facts["name"]) == ("export-damaged", "files/me.md")


def test_a_member_that_is_missing_or_too_many_is_named(new: Home, whole: Path, tmp_path: Path) -> None:
    def take(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        copy_all(archive, {name: data for name, data in members.items() if name != "files/me.md"})

    def give(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        copy_all(archive, dict(members) | {"files/more.md": b"- More\n"})

    assert refuse(new, repack(whole, tmp_path / "less.zip", take)).facts["name"] == "files/me.md"
    assert refuse(new, repack(whole, tmp_path / "more.zip", give)).facts["name"] == "files/more.md"


@pytest.mark.parametrize(
    ("mode", "says"),
    [(stat.S_IFLNK, "symbolic link"), (stat.S_IFIFO, "no plain file"), (stat.S_IFCHR, "no plain file")],
)
def test_a_link_or_device_in_a_zip_is_refused(new: Home, whole: Path, tmp_path: Path, mode: int, says: str) -> None:
    def edit(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        copy_all(archive, {name: data for name, data in members.items() if name != "files/me.md"})
        info = zipfile.ZipInfo("files/me.md")
        info.external_attr = (mode | 0o777) << 16
        archive.writestr(info, "/etc/passwd")

    fault = refuse(new, repack(whole, tmp_path / "export.zip", edit))
    assert says in fault.message
    assert fault.facts["name"] == "files/me.md"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(new: Home, whole: Path, tmp_path: Path) -> None:
    def edit(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        copy_all(archive, members)
        archive.writestr("files/me.md", b"- Another\n")

    assert "twice" in refuse(new, repack(whole, tmp_path / "export.zip", edit)).message


def test_a_zip_that_would_grow_out_of_measure_is_refused_before_it_is_unpacked(
    new: Home, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        copy_all(archive, members)
        archive.writestr("files/zeros.md", bytes(40_000_000))

    export = repack(whole, tmp_path / "export.zip", edit)
    monkeypatch.setattr(containers, "_read_entry", None)
    fault = refuse(new, export)
    assert (fault.facts["invariant"], fault.facts["name"]) == ("export-too-large", "files/zeros.md")
    monkeypatch.setattr(containers, "TOTAL_LIMIT_BYTES", 1_000_000)
    assert "the limit is 1,000,000" in refuse(new, export).message


def test_an_entry_that_holds_more_than_it_says_is_not_unpacked_past_that(
    new: Home, whole: Path, tmp_path: Path
) -> None:
    def edit(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        copy_all(archive, members)
        archive.writestr("files/zeros.md", bytes(30_000_000))

    export = repack(whole, tmp_path / "export.zip", edit)
    data = export.read_bytes()
    size = (30_000_000).to_bytes(4, "little")
    assert data.count(size) == 2
    export.write_bytes(data.replace(size, (10).to_bytes(4, "little")))
    tracemalloc.start()
    try:
        assert refuse(new, export).facts["invariant"] == "export-damaged"
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_too_many_members_are_refused(new: Home, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "MEMBERS_LIMIT", 10)
    with zipfile.ZipFile(whole) as archive:
        archive.extractall(tmp_path / "folder")
    for export in (whole, tmp_path / "folder"):
        assert refuse(new, export).facts["invariant"] == "export-too-large"


def test_a_locked_or_strangely_packed_zip_is_refused(new: Home, whole: Path, tmp_path: Path) -> None:
    def pack(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        for name, data in members.items():
            archive.writestr(name, data, compress_type=zipfile.ZIP_LZMA)

    assert "not allowed" in refuse(new, repack(whole, tmp_path / "lzma.zip", pack)).message
    data = bytearray(whole.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(data)
    assert "password" in refuse(new, tmp_path / "locked.zip").message


def test_what_other_programs_add_to_a_zip_does_no_harm(new: Home, old: Home, whole: Path, tmp_path: Path) -> None:
    def edit(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        archive.writestr("files/", b"")
        archive.writestr("private/", b"")
        copy_all(archive, members)

    new.come_back(repack(whole, tmp_path / "export.zip", edit))
    assert new.read_files() == old.read_files()


def test_a_folder_in_a_zip_that_leads_elsewhere_is_refused(new: Home, whole: Path, tmp_path: Path) -> None:
    def edit(archive: zipfile.ZipFile, members: Mapping[str, bytes]) -> None:
        archive.writestr("files/../../x/", b"")
        copy_all(archive, members)

    assert refuse(new, repack(whole, tmp_path / "export.zip", edit)).facts["invariant"] == "export-unsafe"


def test_a_damaged_zip_is_refused_wherever_it_is_cut(new: Home, whole: Path, tmp_path: Path) -> None:
    data = whole.read_bytes()
    for number, cut in enumerate(range(1, len(data), len(data) // 25)):
        (tmp_path / f"cut-{number}.zip").write_bytes(data[:cut])
        refuse(new, tmp_path / f"cut-{number}.zip")


# The folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    with zipfile.ZipFile(whole) as archive:
        archive.extractall(tmp_path / "folder")
    return tmp_path / "folder"


def test_a_folder_that_was_packed_by_hand_comes_back(new: Home, old: Home, folder: Path) -> None:
    (folder / ".DS_Store").write_bytes(b"x")
    new.come_back(folder)
    assert new.read_files() == old.read_files()


@pytest.mark.parametrize("name", ["files/me.md", "files/workspaces", "private/facts.jsonl", "history.bundle"])
def test_a_link_in_a_folder_is_refused_though_it_leads_to_the_same_bytes(
    new: Home, folder: Path, tmp_path: Path, name: str
) -> None:
    (folder / name).rename(tmp_path / "real")
    (folder / name).symlink_to(tmp_path / "real")
    fault = refuse(new, folder)
    assert fault.facts["invariant"] in {"export-unsafe", "export-damaged"}


def test_a_pipe_in_a_folder_is_refused_and_nobody_waits_for_it(new: Home, folder: Path) -> None:
    (folder / "files" / "me.md").unlink()
    os.mkfifo(folder / "files" / "me.md")
    assert refuse(new, folder).facts["invariant"] == "export-unsafe"


# JSON


def test_a_json_export_is_judged_as_the_others(new: Home, old: Home, tmp_path: Path) -> None:
    whole = json.loads(old.export(tmp_path / "whole.json").read_bytes())
    text = {"text": "- Evil\n"}

    def write(name: str, document: object) -> Path:
        (tmp_path / name).write_text(json.dumps(document), "utf-8")
        return tmp_path / name

    def with_member(name: str, value: object) -> object:
        return whole | {"members": whole["members"] | {name: value}}

    assert refuse(new, write("1.json", with_member("files/../evil.md", text))).facts["name"] == "files/../evil.md"
    for number, value in enumerate((text, {"base64": "%"}, {"rows": 3}, {"other": 1}, {}, None, {"text": 3})):
        fault = refuse(new, write(f"2-{number}.json", with_member("files/me.md", value)))
        assert fault.facts["name"] == "files/me.md"
    assert refuse(new, write("3.json", {"manifest": whole["manifest"]})).facts["invariant"] == "export-damaged"
    for number, foreign in enumerate(({}, {"manifest": 3}, {"manifest": {}, "members": {}})):
        assert refuse(new, write(f"4-{number}.json", foreign)).facts["invariant"] == "export-foreign"
    (tmp_path / "5.json").write_bytes(b'{"manifest": {}, "manifest": {}}')
    assert "twice" in refuse(new, tmp_path / "5.json").message
    same = {"base64": base64.b64encode(whole["members"]["files/me.md"]["text"].encode()).decode()}
    new.come_back(write("6.json", with_member("files/me.md", same)))
    assert new.read_files() == old.read_files()


@pytest.mark.parametrize("data", [b"", b"\x89PNG", b"PK", b"{", b"[]", b"SQLite format 3\0"])
def test_a_file_of_another_kind_is_refused(new: Home, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    refuse(new, tmp_path / "file")


# The history


def make_bundle(folder: Path, prepare: Callable[[Path], None]) -> tuple[bytes, str]:
    """A bundle of a repo that another program made, and its HEAD."""
    root = make_repo(folder / "planted", {"MEMORY.md": "# Memory\n"})
    prepare(root)
    raw_git(root, "bundle", "create", "--quiet", str(folder / "planted.bundle"), "HEAD", "main")
    return (folder / "planted.bundle").read_bytes(), raw_git(root, "rev-parse", "HEAD").decode().strip()


def put_tree_entry(root: Path, mode: str, path: str, content: bytes = b"/etc/passwd") -> None:
    """Commits a path that no work tree would take, by hand."""
    blob = raw_git(root, "hash-object", "-w", "--stdin", stdin=content).decode().strip()
    name = path.encode()
    tree = raw_git(root, "mktree", "-z", "--missing", stdin=f"{mode} blob {blob}\t".encode() + name + b"\0")
    commit = raw_git(root, "commit-tree", tree.decode().strip(), "-p", "HEAD", "-m", "x").decode().strip()
    raw_git(root, "update-ref", "refs/heads/main", commit)


def put_dot_git(root: Path, name: bytes) -> None:
    """Commits a tree with a name that git itself would not take, as raw bytes."""
    blob = bytes.fromhex(raw_git(root, "hash-object", "-w", "--stdin", stdin=b"[core]\n").decode().strip())
    raw = b"100644 " + name + b"\0" + blob
    tree = raw_git(root, "hash-object", "-w", "--stdin", "-t", "tree", "--literally", stdin=raw).decode().strip()
    commit = raw_git(root, "commit-tree", tree, "-p", "HEAD", "-m", "x").decode().strip()
    raw_git(root, "update-ref", "refs/heads/main", commit)


def put_in_the_past(root: Path) -> None:
    head = raw_git(root, "rev-parse", "HEAD").decode().strip()
    put_dot_git(root, b".git")
    commit = raw_git(root, "commit-tree", f"{head}^{{tree}}", "-p", "HEAD", "-m", "clean").decode().strip()
    raw_git(root, "update-ref", "refs/heads/main", commit)


def put_submodule(root: Path) -> None:
    head = raw_git(root, "rev-parse", "HEAD").decode().strip()
    tree = raw_git(root, "mktree", "--missing", stdin=f"160000 commit {head}\tsub\n".encode()).decode().strip()
    commit = raw_git(root, "commit-tree", tree, "-p", "HEAD", "-m", "x").decode().strip()
    raw_git(root, "update-ref", "refs/heads/main", commit)


def put_twins(root: Path) -> None:
    write_files(root, {"a.md": "1", "A.md": "2"})
    raw_git(root, "add", "--all")
    raw_git(root, "commit", "--quiet", "-m", "x")


PLANTED: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a-link": ("symbolic link", lambda root: put_tree_entry(root, "120000", "link.md")),
    "a-submodule": ("repository of its own", put_submodule),
    "git-config": ("git", lambda root: put_dot_git(root, b".git")),
    "git-in-capitals": ("git", lambda root: put_dot_git(root, b".GiT")),
    "git-short-name": ("git", lambda root: put_dot_git(root, b"git~1")),
    "git-with-a-mark": ("git", lambda root: put_dot_git(root, ".g\u200cit".encode())),
    "up": ("git refuses it", lambda root: put_dot_git(root, b"..")),
    "a-slash": ("git refuses it", lambda root: put_dot_git(root, b"a/b")),
    "git-in-an-old-commit": ("git", put_in_the_past),
    "twins": ("differ by case only", put_twins),
    "a-device": ("device", lambda root: put_tree_entry(root, "100644", "nul.md")),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_history_that_was_planted_is_refused(new: Home, whole: Path, tmp_path: Path, case: str) -> None:
    says, prepare = PLANTED[case]
    bundle, head = make_bundle(tmp_path, prepare)

    def edit(members: Members, manifest: dict[str, Any]) -> None:
        members["history.bundle"] = bundle
        manifest["history"] = {"head": head, "branch": "main", "commits": 2}

    fault = refuse(new, change(whole, tmp_path / "export.zip", edit, at=NOON))
    assert fault.facts["invariant"] == "export-unsafe"
    assert says in fault.message
    assert "history.bundle" in fault.message


def test_hooks_and_settings_of_git_are_never_taken(new: Home, old: Home, tmp_path: Path) -> None:
    """Where the export was made they were no part of the memory either."""
    (old.root / ".git" / "hooks").mkdir(exist_ok=True)
    (old.root / ".git" / "hooks" / "post-commit").write_text("#!/bin/sh\ntouch /tmp/never\n", "ascii")
    new.come_back(old.export(tmp_path / "export"))
    assert not (new.root / ".git" / "hooks").exists()
    keys = raw_git(new.root, "config", "--local", "--name-only", "--list").decode().split()
    assert {key.partition(".")[0] for key in keys} == {"core"}


EDITED_BUNDLES: dict[str, Callable[[bytes], bytes]] = {
    "not-a-bundle": lambda _: b"PACK",
    "a-newer-form": lambda data: data.replace(b"# v2", b"# v3", 1),
    "presumes-a-commit": lambda data: data.replace(b"bundle\n", b"bundle\n-" + b"1" * 40 + b" x\n", 1),
    "no-end": lambda data: data.partition(b"\n\n")[0],
    "a-note-as-a-branch": lambda data: data.replace(b"refs/heads/main", b"refs/notes/main", 1),
    "goes-up": lambda data: data.replace(b"refs/heads/main", b"refs/heads/../main", 1),
    "a-space": lambda data: data.replace(b"refs/heads/main", b"refs/heads/ma in", 1),
    "twins": lambda data: data.replace(b" HEAD\n", b" HEAD\n" + b"1" * 40 + b" refs/heads/MAIN\n", 1),
    "twice": lambda data: data.replace(b" HEAD\n", b" HEAD\n" + b"1" * 40 + b" refs/heads/main\n", 1),
    "a-commit-that-is-not-there": lambda data: data.replace(b" HEAD\n", b" HEAD\n" + b"1" * 40 + b" refs/tags/x\n", 1),
    "cut": lambda data: data[:-30],
    "no-objects": lambda data: data.partition(b"\n\n")[0] + b"\n\n",
    "a-byte-changed": lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
}


@pytest.mark.parametrize("case", EDITED_BUNDLES)
def test_a_bundle_that_is_no_whole_history_is_refused(new: Home, whole: Path, tmp_path: Path, case: str) -> None:
    def edit(members: Members, _: dict[str, Any]) -> None:
        before = members["history.bundle"]
        members["history.bundle"] = EDITED_BUNDLES[case](before)
        assert members["history.bundle"] != before

    fault = refuse(new, change(whole, tmp_path / "export.zip", edit, at=NOON))
    assert fault.facts["name"] == "history.bundle"


def test_settings_that_this_memrepo_does_not_know_are_not_taken_and_the_rest_is(
    new: Home, old: Home, whole: Path, tmp_path: Path
) -> None:
    for number, text in enumerate((b"from_the_future = 3\n", b"\xff", b"enabled = \n")):
        home = Home(tmp_path / f"new-{number}")
        report = home.come_back(change(whole, tmp_path / f"{number}.zip", add("settings.toml", text), at=NOON))
        assert report.settings == "unusable"
        assert any("not taken" in note for note in report.notes)
        assert not home.settings_file.exists()
        assert home.read_files() == old.read_files()


def test_settings_under_which_the_memory_could_not_be_there_are_not_taken(
    new: Home, whole: Path, tmp_path: Path
) -> None:
    text = f'[[workspaces]]\nid = "w"\nroot = "{new.root}"\n'.encode()
    report = new.come_back(change(whole, tmp_path / "x.zip", add("settings.toml", text), at=NOON))
    assert report.settings == "unusable"
    with new.open() as repo:
        assert repo.list_files()


def test_facts_that_have_expired_since_do_not_come_back(new: Home, whole: Path, tmp_path: Path) -> None:
    export = change(whole, tmp_path / "x.zip", row("facts", expires_at=1), at=NOON)
    assert new.come_back(export).counts["facts"] == 0
    assert new.read_store().rows["facts"] == []


# Limits hold on both ways


def test_a_memory_past_the_limits_is_not_exported(old: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in (("TOTAL_LIMIT_BYTES", 1_000), ("MEMBERS_LIMIT", 5)):
        with monkeypatch.context() as patch:
            patch.setattr(containers, limit, value)
            for name in ("folder", "file.zip", "file.json"):
                with pytest.raises(TooLarge, match="at most"):
                    old.export(tmp_path / name)
                assert not (tmp_path / name).exists()
    monkeypatch.setattr("memrepo.portable.leaving.FILE_LIMIT_BYTES", 10)
    with pytest.raises(TooLarge, match=r"larger than 10 bytes"):
        old.export(tmp_path / "folder")


def test_a_file_past_the_limit_does_not_come_back(new: Home, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "FILE_LIMIT_BYTES", 10)
    assert refuse(new, whole).facts["invariant"] == "export-too-large"


def test_what_packs_too_well_is_not_packed_so_that_it_comes_back(
    old: Home, new: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "_SMALL_BYTES", 100)
    monkeypatch.setattr(containers, "RATIO_LIMIT", 1)
    new.come_back(old.export(tmp_path / "export.zip"))
    assert new.read_files() == old.read_files()


def test_a_history_that_unpacks_past_the_limit_is_refused(
    new: Home, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memrepo.portable.returning.TOTAL_LIMIT_BYTES", 100)
    assert "unpacked it has" in refuse(new, whole).message


def test_rows_of_before_a_column_came_are_taken_as_the_schema_takes_older_rows(
    new: Home, whole: Path, tmp_path: Path
) -> None:
    def edit(members: Members, _: dict[str, Any]) -> None:
        for shelf, gone in (
            ("facts", ("confidence", "done_at", "workspace_id")),
            ("archive", ("source", "source_ref")),
        ):
            rows = package.read_lines(members[f"private/{shelf}.jsonl"])
            older = [{name: value for name, value in row.items() if name not in gone} for row in rows]
            members[f"private/{shelf}.jsonl"] = package.write_lines(older)

    new.come_back(change(whole, tmp_path / "export.zip", edit, at=NOON))
    rows = new.read_store().rows
    assert {(row["confidence"], row["done_at"], row["workspace_id"]) for row in rows["facts"]} == {(1.0, None, "")}
    assert [(row["source"], row["source_ref"]) for row in rows["archive"]] == [("", None)]
