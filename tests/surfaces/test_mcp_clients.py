"""Programs that others wrote, against the real server: the MCP Inspector and the conformance suite of the protocol.

They come from npm, pinned by `tests/clients/package-lock.json`, and are not needed for anything else. Without them the
tests are skipped, except where `CI` is set. docs/testing.md says which scenarios do not apply.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.mcp import make_home, start_http
from tests.kit.program import TIMEOUT_S, Program, make_environment
from tests.kit.token_proxy import start_token_proxy

from memrepo.surfaces.mcp.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
PROGRAMS = CLIENTS / "node_modules" / ".bin"
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


def _find_reason() -> str:
    if shutil.which("node") is None:
        return "node is not installed"
    if not (PROGRAMS / "conformance").exists() or not (PROGRAMS / "mcp-inspector").exists():
        return "the clients are not installed: npm ci --ignore-scripts --prefix tests/clients"
    return ""


REASON = _find_reason()


@pytest.fixture(autouse=True)
def _clients() -> None:
    if REASON and os.environ.get("CI"):
        pytest.fail(REASON)
    if REASON:
        pytest.skip(REASON)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    home = tmp_path / "home"
    make_home(home)
    return Program(home)


@pytest.fixture
def inspect(program: Program) -> Callable[..., Any]:
    """Runs the Inspector on the server over stdio; its document."""

    def run(*arguments: str) -> Any:
        server = [sys.executable, "-m", "memrepo", "mcp", "--trust-session"]
        return run_inspector(program, "--cli", *server, *arguments)

    return run


def run_inspector(program: Program, *arguments: str) -> Any:
    done = subprocess.run(
        [PROGRAMS / "mcp-inspector", *arguments],
        capture_output=True,
        cwd=program.home,
        env=make_environment(program.home),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls_tools(inspect: Any) -> None:
    assert {tool["name"] for tool in inspect("--method", "tools/list")["tools"]} == set(TOOLS)
    call = ("--method", "tools/call", "--tool-name")
    written = inspect(*call, "memory_remember", "--tool-arg", "text=Deploys happen on Tuesdays", "kind=rule")
    assert written["structuredContent"]["path"] == "lessons.md"
    found = inspect(*call, "memory_recall", "--tool-arg", "query=deploys")
    assert found["structuredContent"]["hits"][0]["ref"] == written["structuredContent"]["ref"]


def test_the_inspector_reads_resources_and_the_prompt(inspect: Any) -> None:
    uris = {resource["uri"] for resource in inspect("--method", "resources/list")["resources"]}
    assert {"memrepo://context", "memrepo://files/me.md"} <= uris
    read = inspect("--method", "resources/read", "--uri", "memrepo://files/me.md")
    assert "Prefers tabs over spaces" in read["contents"][0]["text"]
    got = inspect("--method", "prompts/get", "--prompt-name", "memory")
    assert "<cowork_memory_repo>" in got["messages"][0]["content"]["text"]


def test_the_inspector_gets_in_over_http_with_the_token(program: Program) -> None:
    with start_http(program) as server:
        header = f"Authorization: Bearer {server.token}"
        listed = run_inspector(
            program, "--cli", server.url, "--transport", "http", "--header", header, "--method", "tools/list"
        )
    assert {tool["name"] for tool in listed["tools"]} == set(TOOLS)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_server_conforms(program: Program, scenario: str, tmp_path: Path) -> None:
    with start_http(program) as server, start_token_proxy(server) as url:
        done = subprocess.run(
            [PROGRAMS / "conformance", "server", "--url", url, "--scenario", scenario],
            capture_output=True,
            cwd=tmp_path,
            env=make_environment(program.home),
            timeout=TIMEOUT_S,
            check=False,
        )
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    assert "0 failed, 0 warnings" in said
    assert "Passed: 0/0" not in said
