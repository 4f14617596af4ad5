"""What never stands in the folder, from the command line to the disk: kept in the private store, in no block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.repos import raw_git

if TYPE_CHECKING:
    from tests.kit.program import HereProgram

FACT = "Sees Doctor Weiss on Thursdays"
WAYS = {
    "private": ["--private"],
    "private-and-pinned": ["--private", "--pin"],
    "contact": ["--scope", "contact"],
    "task": ["--scope", "task", "--task", "t-1"],
    "commitment": ["--kind", "commitment"],
    "strict-workspace": ["--workspace", "clinic"],
    "strict-workspace-and-global": ["--workspace", "clinic", "--scope", "global"],
    "strict-workspace-and-pinned": ["--workspace", "clinic", "--pin"],
}
SPEAKERS = {"user": [], "clean-agent": ["--by", "agent", "--taint", "clean"], "tainted-agent": ["--by", "agent"]}


@pytest.fixture
def memrepo(memrepo: HereProgram) -> HereProgram:
    (memrepo.home / "clinic" / ".git").mkdir(parents=True)
    settings = memrepo.home / ".memrepo" / "config" / "settings.toml"
    settings.parent.mkdir(parents=True)
    root = memrepo.home / "clinic"
    settings.write_text(f'[[workspaces]]\nid = "clinic"\nroot = "{root}"\nprivacy = "strict"\n', "utf-8")
    memrepo("remember", "Prefers tabs")
    return memrepo


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize("way", WAYS)
def test_it_lands_in_the_private_store_and_never_in_the_folder_or_a_block(
    memrepo: HereProgram, way: str, speaker: str
) -> None:
    before = raw_git(memrepo.root, "rev-parse", "HEAD")
    told = memrepo("remember", FACT, *WAYS[way], *SPEAKERS[speaker], "--json")
    assert told.status == 0
    assert (told.document["status"], told.document["reason"]) == ("kept", "private")
    assert told.document["kept_ref"] == "memory:1"

    assert raw_git(memrepo.root, "rev-parse", "HEAD") == before
    files = [path for path in memrepo.root.rglob("*") if path.is_file()]
    assert files
    assert not any(b"Weiss" in path.read_bytes() for path in files)
    for words in (["context"], ["context", "--workspace", "clinic"], ["grep", "Weiss"], ["inbox"], ["log"]):
        told = memrepo(*words)
        assert "Weiss" not in told.out + told.err, words
    assert FACT in memrepo("ls", "--private").out
    assert FACT in memrepo("show", "memory:1").out
    assert memrepo("doctor", "--json").document["healthy"]


@pytest.mark.parametrize("way", WAYS)
def test_many_at_once_go_the_same_way(memrepo: HereProgram, way: str) -> None:
    told = memrepo("remember", "--each-line", *WAYS[way], "--json", stdin=f"{FACT}\nTakes pills\n".encode())
    assert (told.document["written"], told.document["kept"]) == (0, 2)
    assert b"pills" not in raw_git(memrepo.root, "log", "-p", "--all")
    assert b"Weiss" not in raw_git(memrepo.root, "log", "-p", "--all")
    assert [line.split("\t")[-1] for line in memrepo("ls", "--private").lines] == [FACT, "Takes pills"]


def test_while_the_folder_takes_no_write_it_goes_the_same_way_and_never_waits(memrepo: HereProgram) -> None:
    (memrepo.root / "photo.png").write_bytes(b"x")
    assert memrepo("remember", FACT, "--private", "--json").document["reason"] == "private"
    (memrepo.root / "photo.png").unlink()
    memrepo("remember", "Lives in Ulm")
    assert b"Weiss" not in raw_git(memrepo.root, "log", "-p", "--all")
    assert FACT in memrepo("ls", "--private").out
