"""The plugin for opencode, run by node with a stand-in for `memrepo hook`: what it asks, what it does with answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from memrepo.installs.hosts import get_host
from memrepo.installs.pieces import InstallScope, OwnFile, Program, Surroundings

if TYPE_CHECKING:
    from pathlib import Path

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node runs the plugin, and is not here")

# Answers as the test says, and writes down what it was asked.
STAND_IN = """
import json, sys
answers, asked = sys.argv[1], sys.argv[2]
event, payload = sys.argv[5], json.load(sys.stdin)
with open(asked, "a") as stream:
    stream.write(json.dumps([event, sys.argv[6:], payload]) + "\\n")
answer = json.load(open(answers)).get(event)
if answer is not None:
    print(json.dumps(answer))
"""
VERSION_1 = """
import plugin from "./memrepo.mjs"
const parents = { s2: "s1" }
const get = async ({ path }) => ({ data: { parentID: parents[path.id] } })
const hooks = await plugin.server({ client: { session: { get } }, directory: "/work" })
const said = {}
const part = (text, synthetic) => ({ type: "text", text, synthetic })
await hooks["chat.message"]({ sessionID: "s1" }, { parts: [part("I drink tea"), part("added", true)] })
await hooks["chat.message"]({ sessionID: "s2" }, { parts: [part("written by a model")] })
for (const session of ["s1", "s2"]) {
  const output = { system: [] }
  await hooks["experimental.chat.system.transform"]({ sessionID: session }, output)
  said[session] = output.system
}
const output = { args: { a: 1 } }
try {
  await hooks["tool.execute.before"]({ tool: "write", sessionID: "s1", callID: "c" }, output)
  said.args = output.args
} catch (error) {
  said.denied = error.message
}
await hooks["tool.execute.before"]({ tool: "read", sessionID: "s2", callID: "d" }, { args: {} }).catch(() => {})
await hooks["tool.execute.after"]({ tool: "webfetch", sessionID: "s1", args: { url: "u" } })
await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "s1" } } } })
console.log(JSON.stringify(said))
"""
VERSION_2 = """
import plugin from "./memrepo.mjs"
const hooks = {}
const hook = async (name, act) => { hooks[name] = act }
const get = async ({ sessionID }) => ({ parentID: sessionID === "s2" ? "s1" : undefined })
await plugin.setup({ location: { directory: "/work" }, session: { hook, get }, tool: { hook } })
const said = {}
await hooks.prompt({ sessionID: "s1", prompt: { text: "I drink tea" } })
const context = { sessionID: "s1", kind: "primary", system: [] }
await hooks.context(context)
said.s1 = context.system
const event = { tool: "write", sessionID: "s1", input: { a: 1 } }
try {
  await hooks["execute.before"](event)
  said.args = event.input
} catch (error) {
  said.denied = error.message
}
console.log(JSON.stringify(said))
"""


def run_plugin(
    folder: Path, script: str, answers: dict[str, Any], *, is_there: bool = True
) -> tuple[dict[str, Any], list[list[Any]]]:
    (folder / "stand_in.py").write_text(STAND_IN, "utf-8")
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    asked = folder / "asked.jsonl"
    command = [sys.executable, str(folder / "stand_in.py"), str(folder / "answers.json"), str(asked)]
    program = Program(tuple(command) if is_there else ("/nowhere/memrepo",), ("--profile", "work"))
    pieces = get_host("opencode").make_pieces(Surroundings(folder, folder), InstallScope.USER, program)
    plugin = next(piece for piece in pieces if isinstance(piece, OwnFile))
    (folder / "memrepo.mjs").write_bytes(plugin.data)
    (folder / "run.mjs").write_text(script, "utf-8")
    assert NODE is not None
    done = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    lines = asked.read_text("utf-8").splitlines() if asked.exists() else []
    return json.loads(done.stdout), [json.loads(line) for line in lines]


ANSWERS = {"session-start": {"context": "<memory>"}, "before-tool": {"tool_input": {"a": 2}}}


@pytest.mark.parametrize("script", [VERSION_1, VERSION_2])
def test_the_block_the_prompt_and_a_changed_call_go_through(tmp_path: Path, script: str) -> None:
    said, asked = run_plugin(tmp_path, script, ANSWERS)
    assert "<memory>" in json.dumps(said["s1"])
    assert said["args"] == {"a": 2}
    prompts = [payload["prompt"] for event, _, payload in asked if event == "prompt"]
    assert prompts == ["I drink tea"]
    assert all(options == ["--profile", "work"] for _, options, _ in asked)
    assert all(payload["cwd"] == "/work" for _, _, payload in asked)


@pytest.mark.parametrize("script", [VERSION_1, VERSION_2])
def test_a_call_that_is_denied_is_not_made_and_says_why(tmp_path: Path, script: str) -> None:
    denied = {"before-tool": {"decision": "deny", "reason": "use memory_remember"}}
    said, _ = run_plugin(tmp_path, script, denied)
    assert said["denied"] == "use memory_remember"


@pytest.mark.parametrize("script", [VERSION_1, VERSION_2])
def test_without_the_program_opencode_goes_on(tmp_path: Path, script: str) -> None:
    said, asked = run_plugin(tmp_path, script, {}, is_there=False)
    assert said["args"] == {"a": 1}
    assert asked == []


def test_a_sub_agent_gets_no_block_and_its_messages_are_nobodys_quotes(tmp_path: Path) -> None:
    said, asked = run_plugin(tmp_path, VERSION_1, ANSWERS)
    assert said["s2"] == []
    starts = {payload["session_id"]: payload for event, _, payload in asked if event == "session-start"}
    assert starts["s2"]["parent_session_id"] == "s1"
    assert starts["s2"]["is_sub_agent"] is True
    theirs = [(event, payload) for event, _, payload in asked if payload["session_id"] == "s2"]
    assert [event for event, _ in theirs] == ["session-start", "before-tool"]
    assert all(payload["parent_session_id"] == "s1" for _, payload in theirs)


def test_reads_and_the_end_of_a_session_are_told(tmp_path: Path) -> None:
    _, asked = run_plugin(tmp_path, VERSION_1, ANSWERS)
    after = [payload for event, _, payload in asked if event == "after-tool"]
    assert [(one["tool_name"], one["tool_input"]) for one in after] == [("webfetch", {"url": "u"})]
    assert asked[-1][0] == "session-end"
