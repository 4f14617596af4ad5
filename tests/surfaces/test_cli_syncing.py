"""`memrepo sync`, as a person uses it: on and off, over a real ssh, paused and resumed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.kit.program import HereProgram, Program
from tests.kit.remotes import SSHD, WHY_NO_SSHD, SshHost, Switchboard, list_remote_objects, make_bare
from tests.kit.repos import raw_git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

needs_sshd = pytest.mark.skipif(SSHD is None, reason=WHY_NO_SSHD)
URL = "git@example.org:me/memory.git"
ON = ("sync", "set", URL, "--private-and-mine")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    made = SshHost(tmp_path_factory.mktemp("ssh") / "host")
    yield made
    made.close()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return make_bare(tmp_path / "host" / "memory.git")


@pytest.fixture
def network(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Switchboard:
    made = Switchboard({URL: bare})
    made.put_in(monkeypatch)
    return made


@needs_sshd
def test_two_machines_share_a_memory_over_ssh_and_forget_together(tmp_path: Path, host: SshHost, bare: Path) -> None:
    path = f"{host.programs}{os.pathsep}{os.environ['PATH']}"
    machines = []
    for name in ("laptop", "desktop"):
        (tmp_path / name).mkdir()
        machines.append(Program(tmp_path / name))
    laptop, desktop = machines
    for machine in machines:
        assert machine("init").status == 0
        told = machine("sync", "set", host.url(bare), "--private-and-mine")
        assert (told.status, "root@" in told.out) == (0, False)
    assert laptop("remember", "Prefers tabs").status == 0
    assert desktop("remember", "Lives in Bern").status == 0
    for machine in (laptop, desktop, laptop):
        told = machine("sync", "now", PATH=path)
        assert told.status == 0, told
    assert told.out.splitlines()[-1] == "changed here: me.md"
    for machine in machines:
        assert "Prefers tabs" in machine("ls", "me.md").out
        assert "Lives in Bern" in machine("ls", "me.md").out
    assert laptop("forget", "Prefers tabs", "--yes").status == 0
    told = laptop("compact", "--yes", "--json", PATH=path)
    assert told.document["remote"] == "replaced"
    told = desktop("sync", "now", PATH=path)
    assert told.status == 0
    assert "follows it" in told.err
    assert "Prefers tabs" not in desktop("ls", "me.md").out
    raw_git(bare, "gc", "--prune=now", "--quiet")
    assert b"Prefers tabs" not in list_remote_objects(bare)


def test_nothing_is_set_without_the_word_of_the_user(memrepo: HereProgram) -> None:
    memrepo("init")
    told = memrepo("sync", "set", URL, "--json")
    assert told.status == 3
    assert "--private-and-mine" in told.document["error"]["hint"]
    assert memrepo("settings", "get", "remote_url").out == ""
    told = memrepo("sync", "now")
    assert (told.status, "sync is off: no remote is set" in told.err) == (3, True)


@pytest.mark.parametrize("url", ["https://me:secret@example.org/m.git", "/srv/m.git", "ext::sh", "--upload-pack=x"])
def test_an_address_that_may_not_be_one_is_refused_and_not_repeated(memrepo: HereProgram, url: str) -> None:
    memrepo("init")
    told = memrepo("sync", "set", "--private-and-mine", "--", url)
    assert told.status == 2
    assert "must" in told.err
    assert "secret" not in told.err


def test_sync_is_set_used_shown_and_unset(memrepo: HereProgram, network: Switchboard, bare: Path) -> None:
    memrepo("init")
    told = memrepo(*ON)
    assert told.lines == ["the memory folder is synced with example.org:me/memory.git"]
    assert memrepo("remember", "Prefers tabs").status == 0
    told = memrepo("sync", "now", "--json")
    assert told.document == {"pulled": 0, "pushed": 2, "paths": [], "replaced_here": False, "replaced_there": False}
    assert memrepo("sync", "now").lines == ["nothing new on either side"]
    memrepo("remember", "Lives in Bern")
    document = memrepo("sync", "status", "--json").document
    assert (document["on"], document["url"], document["ahead"], document["behind"]) == (True, URL[4:], 1, 0)
    assert document["pause"] is document["failure"] is None
    assert memrepo("sync", "status").lines[-1] == "1 commit to send, 0 commits to take, as of the last look"
    assert memrepo("sync", "unset").lines == ["sync is off; the remote keeps what it has"]
    assert memrepo("sync", "status").lines == ["sync is off: no remote is set"]
    assert memrepo("sync", "unset").lines == ["sync was off"]
    assert b"cowork-sync" not in raw_git(memrepo.root, "config", "--list")
    assert "Lives in Bern" not in raw_git(bare, "show", "main:me.md").decode()


def test_a_pause_is_told_by_status_and_doctor_and_ended_by_resume(
    memrepo: HereProgram, network: Switchboard, bare: Path, tmp_path: Path
) -> None:
    memrepo("init")
    memrepo(*ON)
    (memrepo.root / "trip.md").write_text("- By train\n")
    memrepo("sync", "now")
    web = tmp_path / "web"
    raw_git(tmp_path, "clone", "--quiet", str(bare), str(web))
    (web / "trip.md").write_text("- By train\n- On Monday\n")
    raw_git(web, "commit", "--quiet", "-am", "By hand")
    raw_git(web, "push", "--quiet")
    (memrepo.root / "trip.md").unlink()
    told = memrepo("sync", "now")
    assert told.status == 4
    assert "trip.md was deleted here and changed there" in told.err
    assert "hint: say which side counts: memrepo sync resume --take here" in told.err
    assert memrepo("sync", "status").lines[-2].startswith("paused since ")
    (row,) = [row for row in memrepo("doctor", "--json").document["checks"] if row["name"] == "Memory folder sync"]
    assert (row["status"], "trip.md" in row["detail"]) == ("WARN", True)
    assert memrepo("sync", "resume", "--take", "there").status == 0
    assert "On Monday" in (memrepo.root / "trip.md").read_text()
    (row,) = [row for row in memrepo("doctor", "--json").document["checks"] if row["name"] == "Memory folder sync"]
    assert row["status"] == "PASS"


def test_doctor_skips_sync_that_is_off_and_warns_after_a_day_of_failures(
    memrepo: HereProgram, network: Switchboard
) -> None:
    memrepo("init")

    def look() -> tuple[str, str]:
        rows = memrepo("doctor", "--json").document["checks"]
        return next((row["status"], row["detail"]) for row in rows if row["name"] == "Memory folder sync")

    assert look() == ("SKIP", "off")
    memrepo(*ON)
    assert look() == ("PASS", "on; not synced yet")
    memrepo("sync", "now")
    network.cut = lambda *_: "before"
    told = memrepo("sync", "now")
    assert (told.status, "the host does not answer" in told.err) == (7, True)
    assert look()[0] == "PASS"
    state = memrepo.root / ".git" / "cowork-sync-state.json"
    text = state.read_text()
    since = text.partition('"since": "')[2][:25]
    state.write_text(text.replace(since, "2026-01-01T00:00:00+00:00"))
    assert look()[0] == "WARN"


def test_another_folder_is_never_sent_to_the_remote_of_this_one(memrepo: HereProgram, network: Switchboard) -> None:
    memrepo("init")
    memrepo(*ON)
    memrepo("init", "--path", "other")
    told = memrepo("sync", "now", "--path", "other")
    assert (told.status, "is not the folder of profile default" in told.err) == (3, True)
    assert network.calls == []


def test_another_address_begins_anew_and_needs_the_word_again(
    memrepo: HereProgram, network: Switchboard, tmp_path: Path
) -> None:
    memrepo("init")
    memrepo(*ON)
    memrepo("remember", "Prefers tabs")
    memrepo("sync", "now")
    other = "git@example.org:me/other.git"
    network.places[other] = make_bare(tmp_path / "host" / "other.git")
    assert "say that it is private" in memrepo("settings", "set", "remote_url", other).err
    assert memrepo("sync", "now").status == 3
    assert memrepo("sync", "set", other, "--private-and-mine").status == 0
    assert memrepo("sync", "now", "--json").document["pushed"] == 2


def test_a_compaction_without_the_remote_says_that_it_waits(
    memrepo: HereProgram, network: Switchboard, bare: Path
) -> None:
    memrepo("init")
    memrepo(*ON)
    memrepo("remember", "Prefers a secret thing")
    memrepo("sync", "now")
    memrepo("forget", "Prefers a secret thing", "--yes")
    network.cut = lambda *_: "before"
    told = memrepo("compact", "--yes")
    assert told.status == 0
    assert told.lines[-1] == "to replace it: memrepo sync now"
    network.cut = lambda *_: ""
    assert memrepo("sync", "now").lines[-1] == "the remote's history was replaced by this one"
    raw_git(bare, "gc", "--prune=now", "--quiet")
    assert b"secret thing" not in list_remote_objects(bare)
