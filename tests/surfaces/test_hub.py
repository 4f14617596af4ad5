"""The Hub as a process: who gets in, what a form does, and what every answer says. Without a browser."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from tests.kit.hub import fill, start_hub
from tests.kit.mcp import open_repo
from tests.kit.memory import USER
from tests.kit.program import TIMEOUT_S, Program

from memrepo.model import Candidate
from memrepo.surfaces.hub.gate import COOKIE, HEADERS, Gate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.hub import Answer, RunningHub

PAGES = ("known", "inbox", "review", "history", "health", "settings")
FORM = "application/x-www-form-urlencoded"
TABS = "Prefers tabs over spaces"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    home = tmp_path / "home"
    home.mkdir()
    fill(home)
    return Program(home)


@pytest.fixture
def hub(program: Program) -> Iterator[RunningHub]:
    with start_hub(program) as running:
        yield running


def name_entry(hub: RunningHub, cookie: str, text: str, page: str = "known") -> str:
    """What the page calls the entry with this text."""
    row = next(row for row in hub.get(cookie, page).text.split('<li class="entry"') if f">{text}<" in row)
    found = re.search(r"([0-9a-f]{64}@repo:[^\"]+)", row)
    assert found
    return found[1]


def follow(hub: RunningHub, cookie: str, answer: Answer) -> str:
    """The page that a form goes back to."""
    assert answer.status == 303, answer.text
    return hub.ask("GET", answer.headers["location"], Cookie=cookie).text


def read(program: Program) -> list[str]:
    with open_repo(program.home) as repo:
        return [located.entry.text for located in repo.iter_entries()]


# Who gets in


def test_the_address_opens_the_hub_once(hub: RunningHub) -> None:
    launch = hub.launch.removeprefix(hub.origin)
    assert hub.ask("HEAD", launch).status == 401
    assert hub.ask("GET", launch.replace("token=", "token=x")).status == 401
    first = hub.ask("GET", launch)
    assert first.status == 200
    assert first.headers["set-cookie"].endswith(f"; Path={hub.folder}/; HttpOnly; SameSite=Strict")
    assert hub.ask("GET", launch).status == 401
    assert hub.get(first.headers["set-cookie"].partition(";")[0], "known").status == 200


def test_nothing_is_served_without_the_cookie(hub: RunningHub) -> None:
    real = hub.sign_in()
    for path in (*PAGES, "state", "static/hub.js"):
        for cookie in ("", f"{COOKIE}=", f"{COOKIE}=wrong", "memrepo=" + real.partition("=")[2]):
            answer = hub.get(cookie, path)
            assert answer.status == 401
            assert "Lisbon" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""])
def test_another_name_of_this_machine_is_refused(hub: RunningHub, host: str) -> None:
    cookie = hub.sign_in()
    assert hub.ask("GET", f"{hub.folder}/known", Cookie=cookie, Host=host).status == 421


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "https://{host}", "http://{host}.evil", ""]
)
def test_a_form_of_another_page_changes_nothing(hub: RunningHub, program: Program, origin: str | None) -> None:
    cookie = hub.sign_in()
    entry = name_entry(hub, cookie, TABS)
    headers = {"Cookie": cookie, "Content_Type": FORM}
    if origin is not None:
        headers["Origin"] = origin.format(host=hub.host)
    body = urlencode({"entry": entry}).encode()
    answer = hub.ask("POST", f"{hub.folder}/entries/forget", body=body, **headers)
    assert answer.status == 403
    assert TABS in read(program)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_cannot_read_or_embed_a_page(hub: RunningHub, site: str) -> None:
    cookie = hub.sign_in()
    assert hub.ask("GET", f"{hub.folder}/known", Cookie=cookie, Sec_Fetch_Site=site).status == 403


def test_a_page_of_another_port_is_told_neither_the_folder_nor_anything_else(hub: RunningHub) -> None:
    cookie = hub.sign_in()
    for path in ("/", "/known", "/open", "/favicon.ico", f"{hub.folder}x/known"):
        answer = hub.ask("GET", path, Cookie=cookie)
        assert answer.status == 404
        assert hub.folder not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "static/../gate.py",
        "static/..%2fgate.py",
        "static/%2e%2e/%2e%2e/present.py",
        "static//etc/passwd",
        "static/hub.css/../../server.py",
    ],
)
def test_no_path_leads_out_of_the_static_files(hub: RunningHub, path: str) -> None:
    answer = hub.get(hub.sign_in(), path)
    assert answer.status == 404
    assert "import" not in answer.text


@pytest.mark.parametrize(
    "ref", ["repo:../outside.md#L1", "repo:.git/config#L1", "repo:/etc/passwd#L1", "team:x:a.md#L1"]
)
def test_no_ref_leads_out_of_the_memory_folder(hub: RunningHub, program: Program, ref: str) -> None:
    (program.root.parent / "outside.md").write_text("- outside\n", "utf-8")
    cookie = hub.sign_in()
    assert hub.get(cookie, "entry?" + urlencode({"ref": ref})).status in {400, 404}
    assert hub.post(cookie, "entries/forget", entry=f"{'0' * 64}@{ref}").status in {400, 403, 404, 409}
    moved = hub.post(cookie, "entries/move", entry=name_entry(hub, cookie, TABS), target="../outside.md")
    assert moved.status == 400


def test_every_answer_forbids_foreign_script_frames_and_caches(hub: RunningHub) -> None:
    cookie = hub.sign_in()
    for answer in (hub.get(cookie, "known"), hub.get(cookie, "nope"), hub.get("", "known"), hub.ask("GET", "/x")):
        assert HEADERS.items() <= answer.headers.items()
    for page in PAGES:
        text = hub.get(cookie, page).text
        assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=", text)


def test_a_form_that_is_too_large_or_no_form_is_refused(hub: RunningHub) -> None:
    cookie = hub.sign_in()
    headers = {"Cookie": cookie, "Origin": hub.origin}
    place = f"{hub.folder}/entries/add"
    assert hub.ask("POST", place, body=b"text=" + b"x" * 1_100_000, Content_Type=FORM, **headers).status == 413
    assert hub.ask("POST", place, body=b'{"text": "x"}', Content_Type="application/json", **headers).status == 400
    assert hub.ask("POST", place, body=b"\xff\xfe", Content_Type=FORM, **headers).status == 400
    assert hub.ask("GET", place, Cookie=cookie).status == 404


def test_a_form_goes_back_to_a_page_of_the_hub_and_nowhere_else(hub: RunningHub) -> None:
    cookie = hub.sign_in()
    for back in ("//evil.example/known", "https://evil.example", "/\\evil.example", "/open?x", "/known\r\nX: y"):
        answer = hub.post(cookie, "entries/add", text=f"Fact for {back[:4]} {len(back)}", back=back)
        assert answer.status == 303
        assert answer.headers["location"].startswith(f"{hub.folder}/known?notice=")
        assert "x" not in answer.headers


def test_the_token_and_the_folder_are_new_in_every_run() -> None:
    first, second = Gate(8765), Gate(8765)
    assert first.folder != second.folder
    assert first.cookie != second.cookie
    assert not first.use_token(second.launch_path.partition("=")[2])
    assert first.use_token(first.launch_path.partition("=")[2])


# What a person does


def test_every_page_answers_and_shows_what_is_there(hub: RunningHub) -> None:
    cookie = hub.sign_in()
    shown = {page: hub.get(cookie, page) for page in PAGES}
    assert {answer.status for answer in shown.values()} == {200}
    assert "Lives in Lisbon" in shown["known"].text
    assert "from task s-41c2" in shown["known"].text
    assert "moving to Porto" in shown["inbox"].text
    assert "moving to Porto" not in shown["known"].text
    assert "Allergic to hazelnuts" in shown["review"].text
    assert "Remember identity: Lives in Lisbon" in shown["history"].text
    assert "Private store" in shown["health"].text
    assert "untrusted_tools" in shown["settings"].text


def test_editing_pinning_moving_forgetting_and_undo(hub: RunningHub, program: Program) -> None:
    cookie = hub.sign_in()
    told = follow(hub, cookie, hub.post(cookie, "entries/edit", entry=name_entry(hub, cookie, TABS), text="Likes tabs"))
    assert "Saved." in told
    assert "Likes tabs" in read(program)
    assert TABS not in read(program)
    told = follow(hub, cookie, hub.post(cookie, "entries/pin", entry=name_entry(hub, cookie, "Likes tabs")))
    assert "Pinned" in told
    assert "Likes tabs" in (program.root / "MEMORY.md").read_text("utf-8")
    entry = name_entry(hub, cookie, "Likes tabs")
    follow(hub, cookie, hub.post(cookie, "entries/move", entry=entry, new_target="notes/style"))
    assert "Likes tabs" in (program.root / "notes" / "style.md").read_text("utf-8")
    told = follow(hub, cookie, hub.post(cookie, "entries/forget", entry=name_entry(hub, cookie, "Likes tabs")))
    assert "Likes tabs" not in read(program)
    commit = re.search(r'name="commit" value="([0-9a-f]{40})"', told)
    assert commit
    follow(hub, cookie, hub.post(cookie, "undo", commit=commit[1]))
    assert "Likes tabs" in read(program)
    log = program("log", "-n", "1", "--json").document["commits"]
    assert log[0]["origin"] == "memory_hub"


def test_an_entry_that_changed_meanwhile_is_shown_with_both_texts_and_not_written(
    hub: RunningHub, program: Program
) -> None:
    cookie = hub.sign_in()
    seen = name_entry(hub, cookie, TABS)
    follow(hub, cookie, hub.post(cookie, "entries/edit", entry=seen, text="Prefers two spaces"))
    late = hub.post(cookie, "entries/edit", entry=seen, text="Prefers four spaces")
    assert late.status == 409
    assert "Prefers two spaces" in late.text
    assert "Prefers four spaces" in late.text
    assert "Prefers four spaces" not in read(program)
    assert hub.post(cookie, "entries/forget", entry=seen).status == 409


def test_many_inbox_entries_are_decided_in_one_commit(hub: RunningHub, program: Program) -> None:
    cookie = hub.sign_in()
    names = re.findall(r'name="entry" value="([^"]+)"', hub.get(cookie, "inbox").text)
    assert len(names) == 3
    before = len(program("log", "-n", "500", "--json").document["commits"])
    body = urlencode([("act", "keep"), *(("entry", name) for name in names), ("back", "/inbox")]).encode()
    answer = hub.ask("POST", f"{hub.folder}/inbox", body=body, Cookie=cookie, Origin=hub.origin, Content_Type=FORM)
    told = follow(hub, cookie, answer)
    assert "Kept 3 entries." in told
    assert "Nothing waits for you." in told
    assert len(program("log", "-n", "500", "--json").document["commits"]) == before + 1


def test_one_inbox_entry_is_discarded(hub: RunningHub, program: Program) -> None:
    cookie = hub.sign_in()
    entry = name_entry(hub, cookie, "Run the setup script from the wiki before every build", "inbox")
    follow(hub, cookie, hub.post(cookie, "inbox", one=f"discard:{entry}", back="/inbox"))
    assert "Run the setup script from the wiki before every build" not in read(program)
    assert hub.post(cookie, "inbox", act="keep").status == 400
    assert hub.post(cookie, "inbox", act="burn", entry=entry).status == 400


@pytest.mark.parametrize("answer", ["grant", "deny"])
def test_a_request_is_granted_or_denied(hub: RunningHub, program: Program, answer: str) -> None:
    cookie = hub.sign_in()
    told = follow(hub, cookie, hub.post(cookie, "review", id="1", answer=answer, back="/review"))
    assert "No agent waits for an answer." in told
    assert ("Allergic to hazelnuts" in read(program)) == (answer == "deny")
    assert hub.post(cookie, "review", id="1", answer=answer).status == 404


def test_compaction_needs_the_box_and_shows_its_proof(hub: RunningHub, program: Program) -> None:
    cookie = hub.sign_in()
    follow(hub, cookie, hub.post(cookie, "entries/forget", entry=name_entry(hub, cookie, TABS)))
    assert hub.post(cookie, "history/compact").status == 400
    assert len(program("log", "--json").document["commits"]) > 1
    report = hub.post(cookie, "history/compact", confirmed="yes")
    assert report.status == 200
    assert "None is left." in report.text
    assert len(program("log", "--json").document["commits"]) == 1
    assert hub.get(cookie, "known?q=lisbon").status == 200


def test_health_mends_what_is_safe(hub: RunningHub, program: Program) -> None:
    cookie = hub.sign_in()
    (program.root / "photo.png").write_bytes(b"png")
    assert "photo.png" in hub.get(cookie, "health").text
    told = follow(hub, cookie, hub.post(cookie, "health/fix", foreign="ignore", back="/health"))
    assert "photo.png: ignored from now on" in told
    assert "All is well." in told


def test_settings_are_changed_and_unset_and_a_fault_changes_nothing(hub: RunningHub, program: Program) -> None:
    cookie = hub.sign_in()

    def change(**fields: str) -> Answer:
        seen = re.search(r'name="seen" value="([^"]+)"', hub.get(cookie, "settings").text)
        assert seen
        return hub.post(cookie, "settings", seen=seen[1], back="/settings", **fields)

    told = follow(hub, cookie, change(act="set", key="untrusted_tools", value="mcp__crm__*\r\nmcp__mail__*\r\n"))
    assert "untrusted_tools is saved." in told
    assert program("settings", "get", "untrusted_tools", "--json").document["value"] == ["mcp__crm__*", "mcp__mail__*"]
    follow(hub, cookie, change(act="add", id="billing", root=str(program.home / "billing")))
    follow(hub, cookie, change(act="set", key="workspaces.billing.privacy", value="strict"))
    assert program("settings", "get", "workspaces.billing.privacy").out.strip() == "strict"
    before = program("settings", "list", "--json").out
    assert change(act="set", key="path", value="not/absolute").status == 400
    assert change(act="set", key="nonsense", value="1").status == 404
    assert hub.post(cookie, "settings", seen="old", act="unset", key="untrusted_tools").status == 409
    assert program("settings", "list", "--json").out == before
    follow(hub, cookie, change(act="unset", key="untrusted_tools"))
    assert program("settings", "get", "untrusted_tools", "--json").document["value"] == []


def test_settings_with_faults_are_shown_and_mended(hub: RunningHub, program: Program) -> None:
    cookie = hub.sign_in()
    place = program("settings", "path").out.strip()
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    Path(place).write_text("enabled = true\nprivacyy = 1\n", "utf-8")
    assert hub.get(cookie, "known").status == 400
    page = hub.get(cookie, "settings")
    assert page.status == 200
    assert "privacyy" in page.text
    seen = re.search(r'name="seen" value="([^"]+)"', page.text)
    assert seen
    follow(hub, cookie, hub.post(cookie, "settings", seen=seen[1], act="unset", key="privacyy", back="/settings"))
    assert hub.get(cookie, "known").status == 200


def test_a_secret_that_a_hand_wrote_is_not_shown(hub: RunningHub, program: Program) -> None:
    secret = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2 + "-AbCdEfGhAA"
    with open(program.root / "me.md", "a", encoding="utf-8") as file:
        file.write(f"- The key is {secret}\n")
    cookie = hub.sign_in()
    for page in ("known", "history", "known?q=key"):
        text = hub.get(cookie, page).text
        assert "The key is" in text
        assert secret not in text


def test_a_text_that_looks_like_a_tag_is_text(hub: RunningHub, program: Program) -> None:
    evil = '"><script>alert(1)</script><img src=x onerror=alert(2)></li></main>'
    with open_repo(program.home) as repo:
        repo.remember(Candidate(evil), USER)
    cookie = hub.sign_in()
    for page in ("known", "history", "known?q=%3Cscript%3E", "known?q=%22%3E%3Ci%3E"):
        text = hub.get(cookie, page).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "<i>" not in text


def test_a_memory_that_is_not_there_is_made_from_the_page(tmp_path: Path) -> None:
    home = tmp_path / "new"
    home.mkdir()
    program = Program(home)
    with start_hub(program) as hub:
        cookie = hub.sign_in()
        assert "There is no memory yet." in hub.get(cookie, "known").text
        assert hub.get(cookie, "health").status == 200
        told = follow(hub, cookie, hub.post(cookie, "create"))
        assert "Memory is empty." in told
        told = follow(hub, cookie, hub.post(cookie, "entries/add", text="Drinks tea", kind="preference"))
        assert "Remembered in About you." in told
    assert read(program) == ["Drinks tea"]


def test_a_write_by_another_process_changes_the_state_and_looking_does_not(hub: RunningHub, program: Program) -> None:
    cookie = hub.sign_in()
    before = hub.get(cookie, "state").text
    hub.get(cookie, "known?q=lisbon")
    assert hub.get(cookie, "state").text == before
    program("remember", "Drinks tea")
    after = hub.get(cookie, "state").text
    assert after != before
    assert f'data-state="{after}"' in hub.get(cookie, "known").text


def test_a_long_list_is_cut_into_pages(hub: RunningHub, program: Program) -> None:
    lines = "".join(f"- Fact number {number}\n" for number in range(240))
    (program.root / "many.md").write_text(lines, "utf-8")
    cookie = hub.sign_in()
    first = hub.get(cookie, "known?file=many.md").text
    assert first.count('<li class="entry"') == 50
    assert "1–50 of 240" in first
    assert "Fact number 239" in hub.get(cookie, "known?file=many.md&page=5").text
    assert "Fact number 239" in hub.get(cookie, "known?file=many.md&page=99999").text
    assert hub.get(cookie, "known?file=many.md&page=-1").status == 200
    assert hub.get(cookie, "known?file=gone.md").status == 404


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(hub: RunningHub, name: signal.Signals) -> None:
    hub.sign_in()
    hub.process.send_signal(name)
    assert hub.process.wait(TIMEOUT_S) == 0


def test_a_port_that_is_taken_is_an_error_with_a_way_out(hub: RunningHub, program: Program) -> None:
    told = program("hub", "--no-browser", "--port", hub.host.rpartition(":")[2])
    assert told.status == 2
    assert "--port 0" in told.err
