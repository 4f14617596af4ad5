"""The MCP server as a process: what stands on standard output, who gets in over HTTP, how it ends."""

from __future__ import annotations

import http.client
import json
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from tests.kit.mcp import MODES, Mailbox, Mode, Person, call, fail, make_home, over_stdio, start_http
from tests.kit.program import TIMEOUT_S, Program, make_environment

from memrepo.errors import DiskFault, InvalidInput, Refused
from memrepo.surfaces.mcp.http import Gate, read_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp import Client
    from tests.kit.mcp import HttpServer

GATE = Gate(8765, "right-" + "x" * 40)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    home = tmp_path / "home"
    make_home(home)
    return Program(home)


@pytest.fixture
def server(program: Program) -> Iterator[HttpServer]:
    with start_http(program, "--trust-session") as server:
        yield server


def start(program: Program, *arguments: str, code: str = "") -> subprocess.Popen[bytes]:
    """The real program on pipes; `code` runs in it first."""
    run = f"{code}\nimport sys\nfrom memrepo.surfaces.cli.entry import run\nsys.exit(run(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", run, "mcp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program.home,
        env=make_environment(program.home),
    )


def make_call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def encode(*messages: dict[str, Any]) -> bytes:
    return "".join(json.dumps(message) + "\n" for message in messages).encode()


# Standard input and output


@pytest.mark.parametrize("mode", MODES)
def test_a_real_session_over_stdio(program: Program, mode: Mode) -> None:
    person = Person("yes")

    async def play(client: Client) -> None:
        assert client.server_info
        assert client.server_info.name == "memrepo"
        written = await call(client, "memory_remember", text="Is allergic to nuts", by_user=True, kind="identity")
        assert written["path"] == "me.md"
        assert (await call(client, "memory_recall", query="nuts"))["hits"][0]["by"] == "user"
        assert (await client.list_resources()).resources

    over_stdio(program, play, "--trust-session", mode=mode, person=person)
    assert len(person.asked) == 1


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_another_process_that_writes_is_told_to_a_subscriber(program: Program) -> None:
    mailbox = Mailbox()

    async def play(client: Client) -> None:
        await client.subscribe_resource("memrepo://files/me.md")
        await anyio.to_thread.run_sync(lambda: program("remember", "Drinks tea"))
        await mailbox.wait_for("notifications/resources/updated", "memrepo://files/me.md")

    over_stdio(program, play, mailbox=mailbox)


def test_the_project_is_the_current_folder_or_the_one_that_is_named(program: Program) -> None:
    for name in ("billing", "shop"):
        (program.home / name / ".git").mkdir(parents=True)

    async def remember(client: Client) -> None:
        written = await call(client, "memory_remember", text="CI runs on Buildkite", kind="project_fact")
        paths.append(written["path"])

    paths: list[str] = []
    over_stdio(program, remember, "--trust-session", folder=program.home / "billing")
    over_stdio(program, remember, "--trust-session", "--workspace", str(program.home / "shop"))
    over_stdio(program, remember, "--trust-session")  # the home folder is no project
    assert paths == ["workspaces/billing.md", "workspaces/shop.md", "me.md"]


def test_nothing_but_the_protocol_stands_on_standard_output(program: Program) -> None:
    noise = (
        "import builtins, os, subprocess\n"
        "import memrepo.surfaces.mcp.calls as calls\n"
        "def grep(*_):\n"
        "    print('stray print', flush=True)\n"
        "    os.write(1, b'stray bytes\\n')\n"
        "    subprocess.run(['echo', 'stray child'])\n"
        "    return calls.Answer({'lines': [], 'complete': True, 'warnings': [], 'note': ''}, 'done')\n"
        "calls.HANDLERS['memory_grep'] = grep\n"
    )
    process = start(program, code=noise)
    messages = encode(INITIALIZE, INITIALIZED, make_call(2, "memory_grep", pattern="x"))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(messages)
    process.stdin.flush()
    lines = [process.stdout.readline(), process.stdout.readline()]
    rest, told = process.communicate(timeout=TIMEOUT_S)
    assert [json.loads(line)["id"] for line in lines] == [1, 2]
    assert rest == b""
    assert {b"stray print", b"stray bytes", b"stray child"} <= set(told.splitlines())
    assert process.returncode == 0


def test_what_is_no_message_is_answered_or_passed_over_and_the_server_goes_on(program: Program) -> None:
    process = start(program)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"not json\n[]\n\xff\xfe\n\n" + encode(INITIALIZE))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(4)]
    assert [answer.get("id") for answer in answers] == [None, None, None, 1]
    assert [answer["error"]["code"] for answer in answers[:3]] == [-32700, -32600, -32700]
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0


def test_a_request_that_cannot_be_read_is_answered_under_its_id(program: Program) -> None:
    process = start(program, "--trust-session")
    assert process.stdin is not None
    assert process.stdout is not None
    deep = json.dumps(make_call(2, "memory_remember", text=1)).replace("1}}", "[" * 1000 + "]" * 1000 + "}}")
    long = json.dumps(make_call(3, "memory_recall", query=1)).replace("1}}", "1" * 5000 + "}}")
    half = make_call(4, "memory_remember", text="Likes \ud83c and \ud83c\udf0a, written as \\ud83c")
    requests = f"{deep}\n{long}\n".encode() + encode(half)
    process.stdin.write(encode(INITIALIZE, INITIALIZED) + requests)
    process.stdin.flush()
    answers = {answer["id"]: answer for answer in (json.loads(process.stdout.readline()) for _ in range(4))}
    assert (answers[2]["error"]["code"], answers[3]["error"]["code"]) == (-32700, -32700)
    assert answers[4]["result"]["structuredContent"]["status"] == "written"
    process.communicate(timeout=TIMEOUT_S)
    assert "Likes \ufffd and \U0001f30a, written as \\ud83c" in (program.root / "me.md").read_text("utf-8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_though_the_input_is_open(program: Program, number: signal.Signals) -> None:
    process = start(program)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(encode(INITIALIZE, INITIALIZED, make_call(2, "memory_remember", text="Drinks tea")))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    assert json.loads(process.stdout.readline())["result"]["structuredContent"]["status"] == "written"
    process.send_signal(number)
    assert process.wait(TIMEOUT_S) == 0
    process.communicate()
    assert not (program.root / ".git" / "cowork-write.lock").exists()


def test_the_server_starts_without_settings_a_home_or_git(program: Program, tmp_path: Path) -> None:
    settings = program.home / ".memrepo" / "config" / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("nonsense = [\n")

    async def play(client: Client) -> None:
        assert (await client.list_tools()).tools
        assert (await fail(client, "memory_list"))["code"] == "settings-error"

    over_stdio(program, play)
    settings.unlink()

    async def without_git(client: Client) -> None:
        assert (await call(client, "memory_list"))["files"]
        written = await call(client, "memory_remember", text="Drinks tea")
        assert written["status"] in {"written", "kept"}

    over_stdio(program, without_git, PATH=str(tmp_path))

    async def without_home(client: Client) -> None:
        assert (await fail(client, "memory_list"))["code"] == "invalid-input"

    over_stdio(program, without_home, MEMREPO_HOME="not/absolute")


# HTTP


@pytest.mark.parametrize("mode", MODES)
def test_a_real_session_over_http(server: HttpServer, mode: Mode) -> None:
    person = Person("yes")

    async def play() -> None:
        async with server.connect(mode=mode, person=person) as client:
            written = await call(client, "memory_remember", text="Is allergic to nuts", by_user=True)
            assert written["path"] == "me.md"
            assert (await call(client, "memory_recall", query="nuts"))["hits"][0]["by"] == "user"
            assert (await client.read_resource("memrepo://context")).contents

    anyio.run(play)
    assert len(person.asked) == 1


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_client_over_http_hears_of_the_write_of_another(server: HttpServer) -> None:
    mailbox = Mailbox()

    async def play() -> None:
        async with server.connect(mailbox=mailbox) as first, server.connect() as second:
            await first.subscribe_resource("memrepo://files/me.md")
            await call(second, "memory_remember", text="Drinks tea")
            await mailbox.wait_for("notifications/resources/updated", "memrepo://files/me.md")

    anyio.run(play)


def post(server: HttpServer, **headers: str) -> int:
    """The status of one request with these headers; `host` replaces the right one."""
    address, _, port = server.host.partition(":")
    connection = http.client.HTTPConnection(address, int(port), timeout=TIMEOUT_S)
    connection.putrequest("POST", "/mcp", skip_host=True)
    body = json.dumps(INITIALIZE).encode()
    usual = {
        "host": server.host,
        "authorization": f"Bearer {server.token}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "content-length": str(len(body)),
    }
    for name, value in {**usual, **headers}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    status = connection.getresponse().status
    connection.close()
    return status


def test_only_its_own_host_origin_and_token_get_in_over_http(server: HttpServer) -> None:
    port = server.host.partition(":")[2]
    assert post(server) == 200
    assert post(server, host=f"localhost:{port}") == 200
    assert post(server, origin=f"http://{server.host}") == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.evil.example:{port}"):
        assert post(server, host=host) == 421, host
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", f"https://{server.host}", ""):
        assert post(server, origin=origin) == 403, origin
    for authorization in ("", "Bearer", "Bearer wrong", f"Basic {server.token}", f"Bearer {server.token}x"):
        assert post(server, authorization=authorization) == 401, authorization


def test_the_server_listens_on_this_machine_alone(server: HttpServer) -> None:
    port = int(server.host.partition(":")[2])
    with open("/proc/net/tcp", encoding="ascii") as table:
        listening = [row.split()[1] for row in table if row.split()[3] == "0A"]
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_http_server_with_a_client_connected(server: HttpServer, number: signal.Signals) -> None:
    async def play() -> None:
        async with server.connect(mode="auto") as client, client.listen(resources_list_changed=True) as events:
            server.process.send_signal(number)
            with anyio.fail_after(TIMEOUT_S):
                async for _ in events:
                    pass

    anyio.run(play)
    assert server.process.wait(TIMEOUT_S) == 0


def test_the_token_is_no_word_of_what_the_server_prints(program: Program) -> None:
    with start_http(program) as server:
        post(server, authorization="Bearer wrong")
        server.process.send_signal(signal.SIGTERM)
        out, err = server.process.communicate(timeout=TIMEOUT_S)
    assert server.token not in (out + err).decode()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8765"}, 401),
        ({"host": "LOCALHOST:8765", "authorization": f"Bearer {GATE.token}"}, 421),
        ({"host": "127.0.0.1:8765, evil.example", "authorization": f"Bearer {GATE.token}"}, 421),
        ({"host": "localhost:8765", "origin": "http://localhost:8766", "authorization": f"Bearer {GATE.token}"}, 403),
        ({"host": "localhost:8765", "authorization": f"bearer {GATE.token}"}, None),
        ({"host": "localhost:8765", "authorization": "Bearer \xe9"}, 401),
        ({}, 421),
    ],
)
def test_the_gate_decides_by_headers_alone(headers: dict[str, str], status: int | None) -> None:
    refusal = GATE.find_refusal(headers)
    assert (refusal.status if refusal else None) == status


def test_the_token_is_made_once_and_is_the_users_alone(tmp_path: Path) -> None:
    token, place = read_token(tmp_path / "data")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert len(token) >= 40
    assert read_token(tmp_path / "data") == (token, place)


def test_a_token_that_others_may_read_or_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    _, place = read_token(tmp_path)
    place.chmod(0o644)
    with pytest.raises(Refused):
        read_token(tmp_path)
    place.unlink()
    (tmp_path / "elsewhere").write_text("x" * 50)
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskFault):
        read_token(tmp_path)
    place.unlink()
    place.touch(0o600)
    with pytest.raises(InvalidInput):
        read_token(tmp_path)


def test_a_port_that_is_taken_is_told(server: HttpServer, program: Program) -> None:
    told = program("mcp", "--http", server.host.partition(":")[2])
    assert told.status == 2
    assert "cannot be used" in told.err


def test_a_request_that_is_too_long_is_turned_away(server: HttpServer) -> None:
    assert post(server, **{"content-length": str(64 * 1024 * 1024)}) == 413
