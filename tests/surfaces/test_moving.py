"""All of a memory leaves, and all of it comes back: as a folder, a zip and JSON."""

from __future__ import annotations

import json
import stat
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.kit.moving import AGENT, SETTINGS, USER, Home
from tests.kit.repos import assert_sound, head_of, porcelain, raw_git

from memrepo.errors import InvalidInput, LockBusy, NotFound, PathRefused, Refused
from memrepo.format.entries import content_hash
from memrepo.journal import add_replayed
from memrepo.lock import WriteLock
from memrepo.model import Author, Candidate, WriteStatus
from memrepo.store.shelves import SHELF_NAMES
from memrepo.store.transfer import SHELVES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kit.program import HereProgram

FORMS = {"folder": "export", "zip": "export.zip", "json": "export.json"}


@pytest.fixture
def old(tmp_path: Path) -> Home:
    home = Home(tmp_path / "old")
    home.fill()
    return home


@pytest.fixture
def new(tmp_path: Path) -> Home:
    return Home(tmp_path / "new")


@pytest.mark.parametrize("form", FORMS)
def test_a_memory_comes_back_as_it_was(old: Home, new: Home, tmp_path: Path, form: str) -> None:
    export = old.export(tmp_path / FORMS[form])
    assert new.come_back(export).settings == "taken"
    assert new.read_files() == old.read_files()
    assert new.read_store() == old.read_store()
    assert {name for name, rows in new.read_store().rows.items() if rows} >= set(SHELF_NAMES) - {"events"}
    assert new.settings_file.read_text("utf-8") == SETTINGS
    assert_sound(new.root)
    if form == "json":
        assert raw_git(new.root, "log", "--format=%s").decode() == "Bring memory back\n"
        assert porcelain(new.root) == []
    else:
        assert head_of(new.root) == head_of(old.root)
        assert new.read_refs() == old.read_refs()
        assert new.read_status() == old.read_status()


@pytest.mark.parametrize("form", FORMS)
def test_what_came_back_goes_on_as_before(old: Home, new: Home, tmp_path: Path, form: str) -> None:
    new.come_back(old.export(tmp_path / FORMS[form]))
    (new.root / "query.sh").unlink()  # the old folder waited for a decision about it; so does the new one
    if form == "json":
        raw_git(new.root, "rm", "--quiet", "--cached", "query.sh")
        raw_git(new.root, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "Remove")
    with new.open() as repo:
        assert repo.remember("Said later", USER).status is WriteStatus.WRITTEN
        texts = [found.entry.text for found in repo.iter_entries()]
        assert {"Waits for the folder", "By hand", "Said later", "Prefers tabs"} <= set(texts)
        assert repo.remember("Takes pills", AGENT, private=True).status is WriteStatus.SKIPPED, "it was forgotten"
        kept = repo.remember("Another private fact", USER, private=True).kept_ref
        assert kept is not None
        assert kept.id == old.read_store().last_ids["memory_items"] + 1, "no number is given twice"
    assert porcelain(new.root) == []


def test_an_export_is_read_without_memrepo(old: Home, tmp_path: Path) -> None:
    export = old.export(tmp_path / "export")
    manifest = json.loads((export / "manifest.json").read_bytes())
    assert manifest["format"] == "memrepo-export"
    assert manifest["work_tree"] == "untracked_foreign"
    for row in manifest["members"]:
        told = subprocess.run(["sha256sum", export / row["name"]], capture_output=True, text=True, check=True).stdout
        assert told.split()[0] == row["sha256"]
        assert (export / row["name"]).stat().st_size == row["size_bytes"]
    raw_git(tmp_path, "clone", "--quiet", str(export / "history.bundle"), "clone")
    assert head_of(tmp_path / "clone") == head_of(old.root)
    facts = [
        json.loads(line)["content"] for line in (export / "private" / "facts.jsonl").read_text("utf-8").splitlines()
    ]
    assert facts == ["Lives in Ulm", "Lives in Köln", "Asked about invoices"]
    assert not any(b"Takes pills" in path.read_bytes() for path in export.rglob("*") if path.is_file())


def test_an_export_is_for_its_owner_alone(old: Home, tmp_path: Path) -> None:
    for name in FORMS.values():
        place = old.export(tmp_path / name)
        for path in (place, *place.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_nothing_of_the_memory_is_changed_by_leaving(old: Home, tmp_path: Path) -> None:
    before = (old.read_files(), old.read_store(), old.read_refs(), old.read_status())
    old.export(tmp_path / "export.zip")
    assert (old.read_files(), old.read_store(), old.read_refs(), old.read_status()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["export.zip", "old"]


def test_keys_sessions_tokens_and_caches_stay(old: Home, tmp_path: Path) -> None:
    data = old.folder / ".memrepo" / "data"
    (data / "sessions").mkdir(parents=True, exist_ok=True)
    for name in ("sessions/key", "profiles/default/backup.key", "hub-token"):
        (data / name).write_bytes(b"TOP-SECRET-KEY")
    with old.open() as repo:
        repo.recall("tabs", USER)
    for name in FORMS.values():
        place = old.export(tmp_path / name)
        files = [path for path in (place, *place.rglob("*")) if path.is_file()]
        assert not any(b"TOP-SECRET-KEY" in path.read_bytes() for path in files)
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == {
            "manifest.json", "README.txt", "files", "history.bundle", "private", "settings.toml"
        }  # fmt: skip


def test_an_export_never_takes_the_place_of_anything(old: Home, tmp_path: Path) -> None:
    for name in FORMS.values():
        (tmp_path / name).write_bytes(b"mine")
        with pytest.raises(InvalidInput, match="there already"):
            old.export(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"mine"
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="there already"):
        old.export(tmp_path / "empty")


def test_an_export_into_the_memory_folder_is_refused(old: Home) -> None:
    for place in (old.root / "export.zip", old.root / ".git" / "export"):
        with pytest.raises(PathRefused) as caught:
            old.export(place)
        assert caught.value.facts["rule"] == "inside-memory"
        assert not place.exists()


def test_a_writer_is_waited_for_and_said_when_it_does_not_end(
    old: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memrepo.portable.leaving.LOCK_WAIT_S", 0.0)
    with WriteLock(old.root / ".git").hold(), pytest.raises(LockBusy):
        old.export(tmp_path / "export.zip")
    assert not (tmp_path / "export.zip").exists()
    old.export(tmp_path / "export.zip")


def test_a_write_that_the_folder_holds_already_waits_no_more(old: Home, new: Home, tmp_path: Path) -> None:
    """Killed after the commit and before the row was gone: after the move its line, removed by hand, stays away."""
    with old.open() as repo:
        store = repo.store.get()
        (waiting,) = store.pending.list(str(old.root))
        add_replayed(old.root / ".git", waiting.key)
    new.come_back(old.export(tmp_path / "export.zip"))
    (new.root / "query.sh").unlink()
    with new.open() as repo:
        repo.remember("Said later", USER)
        assert "Waits for the folder" not in [found.entry.text for found in repo.iter_entries()]
    assert new.read_store().rows["pending"] == []


def test_writes_that_wait_for_another_folder_stay(old: Home, tmp_path: Path) -> None:
    other = tmp_path / "old" / "Other Memory"
    with old.open(path=other) as repo:
        (other / "photo.png").write_bytes(b"x")
        repo.remember("Waits for the other folder", USER)
    with old.open(read_only=True) as repo:
        report = repo.export_to(tmp_path / "export")
    assert "not exported: writes that wait for another memory folder" in report.warnings
    assert b"other folder" not in (tmp_path / "export" / "private" / "pending.jsonl").read_bytes()


def test_facts_that_have_expired_stay(old: Home, tmp_path: Path) -> None:
    with old.open() as repo:
        store = repo.store.get()
        fact = Candidate("Parked in row 7", private=True)
        store.items.keep(fact, USER, by=Author.USER, content_hash=content_hash(fact.text), expires_at_ms=1)
    old.export(tmp_path / "export")
    assert b"row 7" not in (tmp_path / "export" / "private" / "facts.jsonl").read_bytes()


@pytest.mark.parametrize("state", ["detached", "other-branch", "merge", "unborn", "deleted"])
def test_an_untidy_folder_leaves_and_comes_back_as_it_stands(old: Home, new: Home, tmp_path: Path, state: str) -> None:
    match state:
        case "detached":
            raw_git(old.root, "checkout", "--quiet", "--detach", "HEAD")
        case "other-branch":
            raw_git(old.root, "checkout", "--quiet", "-b", "trial")
        case "merge":
            (old.root / ".git" / "MERGE_HEAD").write_text(head_of(old.root) + "\n", "ascii")
        case "unborn":
            raw_git(old.root, "checkout", "--quiet", "--orphan", "fresh")
        case "deleted":
            (old.root / "lessons.md").unlink()
    new.come_back(old.export(tmp_path / "export.zip"))
    assert new.read_files() == old.read_files()
    if state != "unborn":
        assert head_of(new.root) == head_of(old.root)
        assert new.read_refs() == old.read_refs()
    if state in {"detached", "other-branch"}:
        assert (new.root / ".git" / "HEAD").read_bytes() == (old.root / ".git" / "HEAD").read_bytes()
    if state == "deleted":
        assert " D lessons.md" in new.read_status()


def test_what_no_export_may_hold_is_left_out_by_name(old: Home, tmp_path: Path) -> None:
    (old.root / "link.md").symlink_to("me.md")
    (old.root / "nul.md").write_bytes(b"- A device on Windows\n")
    with old.open(read_only=True) as repo:
        report = repo.export_to(tmp_path / "export")
    assert {name for name, _ in report.left_out} == {"link.md", "nul.md"}
    assert all(why for _, why in report.left_out)
    assert not (tmp_path / "export" / "files" / "nul.md").exists()


def test_an_export_that_would_not_be_taken_back_says_so(old: Home, new: Home, tmp_path: Path) -> None:
    (old.root / "ME.md").write_bytes(b"- Shouted\n")
    with old.open(read_only=True) as repo:
        report = repo.export_to(tmp_path / "export.zip")
    assert any("differ by case only" in warning for warning in report.warnings)
    with pytest.raises(Exception, match="differ by case only"):
        new.come_back(tmp_path / "export.zip")
    assert new.is_untouched()


def test_nothing_is_added_to_a_memory_that_stands(old: Home, tmp_path: Path) -> None:
    export = old.export(tmp_path / "export.zip")
    before = old.read_files()
    with pytest.raises(Refused, match="there is a memory") as caught:
        old.come_back(export)
    assert caught.value.facts["rule"] == "memory-there"
    assert old.read_files() == before


def test_nothing_is_added_to_private_facts_of_another(old: Home, new: Home, tmp_path: Path) -> None:
    export = old.export(tmp_path / "export.zip")
    with new.open(path=new.folder / "elsewhere") as repo:
        repo.remember("A fact of another", USER, private=True)
    with pytest.raises(Refused, match="holds facts already") as caught:
        new.come_back(export)
    assert caught.value.facts["rule"] == "store-not-empty"
    assert not new.root.exists()


def test_settings_that_are_there_stay(old: Home, new: Home, tmp_path: Path) -> None:
    new.settings_file.parent.mkdir(parents=True)
    new.settings_file.write_text("enabled = true\n", "utf-8")
    report = new.come_back(old.export(tmp_path / "export.zip"))
    assert report.settings == "kept"
    assert any("stay as they are" in note for note in report.notes)
    assert new.settings_file.read_text("utf-8") == "enabled = true\n"


def test_settings_of_the_old_machine_name_the_new_place(old: Home, new: Home, tmp_path: Path) -> None:
    store = old.folder / ".memrepo" / "data" / "profiles" / "default" / "private.sqlite3"
    moved = old.folder / "moved.sqlite3"
    store.rename(moved)
    place = old.folder / "Notes" / "memory"
    place.parent.mkdir()
    old.root.rename(place)
    old.settings_file.write_text(f'# mine\npath = "{place}"\nstore_url = "sqlite:///{moved}"\n', "utf-8")
    export = old.export(tmp_path / "export.zip")

    report = new.come_back(export)
    assert report.settings == "taken"
    assert new.settings_file.read_text("utf-8") == "# mine\n"
    assert len(report.notes) == 2

    third = Home(tmp_path / "third")
    third.folder.mkdir()
    with third.open(create=False, may_be_missing=True, path=third.folder / "kept here") as repo:
        repo.init_from(export)
    with third.open() as repo:
        assert repo.root == third.folder / "kept here"
        assert repo.private.list(USER)


def test_there_must_be_something_to_export_and_to_bring_back(new: Home, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        new.export(tmp_path / "export.zip")
    with pytest.raises(NotFound, match="there is no export"):
        new.come_back(tmp_path / "export.zip")
    assert new.is_untouched()


def test_a_memory_without_git_leaves_and_comes_back(new: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Home(tmp_path / "old")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        with old.open() as repo:
            repo.remember("Prefers tabs", USER)
        old.export(tmp_path / "export.zip")
        new.come_back(tmp_path / "export.zip")
        assert new.read_files() == old.read_files()
    third = Home(tmp_path / "third")
    third.come_back(tmp_path / "export.zip")
    assert third.read_files() == old.read_files()
    assert raw_git(third.root, "log", "--format=%s").decode() == "Bring memory back\n"


def test_a_history_does_not_come_back_without_git(
    old: Home, new: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = old.export(tmp_path / "export.zip")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match="git was not found"):
        new.come_back(export)
    assert new.is_untouched()


def test_a_memory_on_a_disk_that_is_read_only_leaves_too(old: Home, tmp_path: Path) -> None:
    from tests.kit.mounts import read_only

    with read_only(old.root):
        old.export(tmp_path / "export.zip")
    assert zipfile.is_zipfile(tmp_path / "export.zip")


def test_each_shelf_of_an_export_is_one_of_the_store() -> None:
    assert tuple(SHELVES) == SHELF_NAMES


# The program


def test_the_program_says_what_it_took_along_and_what_came_back(memrepo: HereProgram) -> None:
    memrepo("init")
    memrepo("remember", "Prefers tabs")
    memrepo("remember", "Takes pills", "--private")
    told = memrepo("export", "--to", "memory.zip", "--json")
    assert told.status == 0
    assert told.document["format"] == "zip"
    assert (told.document["files"], told.document["commits"], told.document["facts"]) == (6, 2, 1)
    back = memrepo("init", "--from", "memory.zip", "--profile", "second", "--json").document
    assert (back["created"], back["git"], back["settings"], back["facts"]) == (True, True, "absent", 1)
    assert back["head"] == told.document["head"]
    shown = memrepo("show", "memory:1", "--profile", "second")
    assert "Takes pills" in shown.out


def test_the_program_wants_one_direction(memrepo: HereProgram) -> None:
    memrepo("init")
    for words in (
        (),
        ("--to", "a.zip", "--from", "b.db"),
        ("--to", "a.zip", "--again"),
        ("--to", "a.zip", "--dry-run"),
        ("--from", "b.db", "--format", "zip"),
    ):
        told = memrepo("export", *words)
        assert told.status == 2
        assert not (memrepo.home / "a.zip").exists()


def test_a_refusal_is_told_with_its_name_and_exit_status(memrepo: HereProgram) -> None:
    memrepo("init")
    assert memrepo("export", "--to", "memory.zip").status == 0
    assert memrepo("export", "--to", "memory.zip").status == 2
    assert memrepo("init", "--from", "memory.zip").status == 3
    (memrepo.home / "broken.zip").write_bytes((memrepo.home / "memory.zip").read_bytes()[:-40])
    told = memrepo("init", "--from", "broken.zip", "--profile", "second", "--json")
    assert told.status == 6
    assert told.document["error"]["code"] == "export-fault"
