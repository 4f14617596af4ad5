"""The ways to ask a model, over real HTTP on this machine and with real commands."""

from __future__ import annotations

import json
import sys
import types
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.chat_server import Reply, serve_chat

from memrepo.dream.commands import CommandModel
from memrepo.dream.models import RESPONSE_LIMIT_BYTES, HttpModel, check_url, make_model
from memrepo.dream.prompt import Prompt
from memrepo.errors import InvalidInput, ModelFailed

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = Prompt("rules", "lines")
KEY = "sk-test-1234567890"


def ask(url: str, waits: list[float] | None = None, **options: Any) -> Any:
    model = HttpModel("m-1", url, KEY, wait=(waits if waits is not None else []).append, **options)
    return model.complete(PROMPT)


def test_the_answer_comes_with_what_the_model_counted() -> None:
    with serve_chat(Reply('{"operations": []}')) as chat:
        done = ask(chat.url)
    assert (done.text, done.input_tokens, done.output_tokens, done.is_estimated) == (
        '{"operations": []}',
        900,
        30,
        False,
    )
    (request,) = chat.requests
    assert request["model"] == "m-1"
    assert [message["content"] for message in request["messages"]] == ["rules", "lines"]
    assert chat.headers[0]["authorization"] == f"Bearer {KEY}"
    assert chat.paths == ["/v1/chat/completions"]


def test_what_a_model_does_not_count_is_estimated() -> None:
    for usage in (None, {}, {"prompt_tokens": -5, "completion_tokens": "many"}, {"prompt_tokens": True}):
        with serve_chat(Reply("x" * 400, usage=usage)) as chat:
            done = ask(chat.url)
        assert done.is_estimated
        assert done.output_tokens > 0


def test_a_busy_server_is_asked_again_and_its_wish_to_wait_is_kept() -> None:
    waits: list[float] = []
    busy = Reply(status=429, raw=b"slow down", headers={"Retry-After": "7"})
    with serve_chat(busy, Reply(status=503, raw=b""), Reply("ok")) as chat:
        assert ask(chat.url, waits).text == "ok"
    assert waits == [7.0, 10.0]
    with serve_chat(Reply(status=500, raw=b"no")) as chat, pytest.raises(ModelFailed) as caught:
        ask(chat.url)
    assert (caught.value.facts["status"], len(chat.requests)) == (500, 3)


def test_a_server_that_knows_no_json_mode_is_asked_without() -> None:
    with serve_chat(Reply(status=400, raw=b"response_format?"), Reply("ok")) as chat:
        assert ask(chat.url).text == "ok"
    assert ["response_format" in request for request in chat.requests] == [True, False]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=401, raw=b'{"error": "bad key sk-test-1234567890"}'),
        Reply(status=302, raw=b"", headers={"Location": "http://127.0.0.1:1/elsewhere"}),
        Reply(raw=b"<html>"),
        Reply(raw=b'{"choices": []}'),
        Reply(raw=b'{"choices": [{"message": {"content": null}}]}'),
        Reply(raw=b"[" * 200_000),
        Reply(raw=b" " * (RESPONSE_LIMIT_BYTES + 1)),
    ],
)
def test_any_other_answer_is_a_failure_that_holds_neither_key_nor_answer(reply: Reply) -> None:
    with serve_chat(reply) as chat, pytest.raises(ModelFailed) as caught:
        ask(chat.url)
    assert len(chat.requests) == 1
    assert KEY not in f"{caught.value} {caught.value.hint} {caught.value.facts}"


def test_a_server_that_is_not_there_is_a_failure() -> None:
    with serve_chat() as chat:
        url = chat.url
    with pytest.raises(ModelFailed, match="no answer"):
        ask(url)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/v1", "http://", "https://me:pw@x/v1", "http://x.example/v1"]
)
def test_an_address_that_may_not_be_used(url: str) -> None:
    with pytest.raises(InvalidInput):
        check_url(url, has_key=True)
    assert check_url("http://x.example/v1/", has_key=False) == "http://x.example/v1"
    assert check_url("http://127.0.0.1:11434/v1", has_key=True)


def test_a_model_is_named_by_one_setting() -> None:
    assert make_model("openai:gpt-x", url="https://x.example/v1").name == "openai:gpt-x"
    assert make_model("llm:some/model").name == "llm:some/model"
    assert make_model("command:/bin/cat --flag secret").name == "command:cat"
    for spec in ("", "gpt", "openai:", "command: ", "sh:x"):
        with pytest.raises(InvalidInput):
            make_model(spec, url="https://x.example/v1")
    with pytest.raises(InvalidInput, match="endpoint"):
        make_model("openai:x")


def command(tmp_path: Path, body: str, **options: Any) -> CommandModel:
    script = tmp_path / "model.py"
    script.write_text(f"import json, sys, time\n{body}\n")
    return CommandModel((sys.executable, str(script)), **options)


def test_a_command_gets_the_prompt_and_answers_with_text_and_usage(tmp_path: Path) -> None:
    body = (
        "asked = json.load(sys.stdin)\n"
        "print(json.dumps({'text': asked['system'] + asked['user'], 'usage': {'input_tokens': 5, 'output_tokens': 2}}))"
    )
    done = command(tmp_path, body).complete(PROMPT)
    assert (done.text, done.input_tokens, done.output_tokens) == ("ruleslines", 5, 2)
    done = command(tmp_path, "print(json.dumps({'operations': []}))").complete(PROMPT)
    assert json.loads(done.text) == {"operations": []}
    assert done.is_estimated


def test_a_command_that_reads_nothing_of_a_long_prompt_is_no_trouble(tmp_path: Path) -> None:
    done = command(tmp_path, "print('{}')").complete(Prompt("x" * 1_000_000, ""))
    assert done.text.strip() == "{}"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("sys.exit(3)", "status 3"),
        (f"sys.stdout.write('x' * {RESPONSE_LIMIT_BYTES * 3})", "more than"),
        ("time.sleep(600)", "did not end within"),
    ],
)
def test_a_command_that_fails_writes_too_much_or_hangs_is_ended(tmp_path: Path, body: str, why: str) -> None:
    model = command(tmp_path, body, timeout_s=0.3 if "sleep" in body else 60)
    with pytest.raises(ModelFailed, match=why):
        model.complete(PROMPT)
    with pytest.raises(ModelFailed, match="cannot be started"):
        CommandModel((str(tmp_path / "missing"),)).complete(PROMPT)


class FakeLlm(types.ModuleType):
    """The parts of the llm library that are used, as its documentation gives them."""

    class UnknownModelError(KeyError): ...

    def __init__(self, says: str | Exception) -> None:
        super().__init__("llm")
        self.says = says
        self.asked: dict[str, Any] = {}

    def get_model(self, name: str) -> Any:
        if name != "known":
            raise self.UnknownModelError(name)
        return self

    supports_schema = True

    def prompt(self, text: str, **options: Any) -> Any:
        self.asked = {"text": text, **options}
        if isinstance(self.says, Exception):
            raise self.says
        usage = types.SimpleNamespace(input=11, output=4)
        return types.SimpleNamespace(text=lambda: self.says, usage=lambda: usage)


def test_the_llm_library_is_asked_when_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    llm = FakeLlm("answer")
    monkeypatch.setitem(sys.modules, "llm", llm)
    done = make_model("llm:known", api_key=KEY).complete(PROMPT)
    assert (done.text, done.input_tokens, done.output_tokens) == ("answer", 11, 4)
    assert (llm.asked["text"], llm.asked["system"], llm.asked["key"]) == ("lines", "rules", KEY)
    assert "operations" in llm.asked["schema"]["properties"]
    with pytest.raises(InvalidInput, match="knows no model"):
        make_model("llm:other").complete(PROMPT)
    monkeypatch.setitem(sys.modules, "llm", FakeLlm(RuntimeError(f"bad key {KEY}")))
    with pytest.raises(ModelFailed) as caught:
        make_model("llm:known").complete(PROMPT)
    assert KEY not in str(caught.value)
    monkeypatch.setitem(sys.modules, "llm", None)
    with pytest.raises(InvalidInput, match="not installed"):
        make_model("llm:known").complete(PROMPT)
