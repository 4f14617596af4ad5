"""The language models that a dream can ask: one call, no tools, the answer as text with what it cost.

Three ways: any endpoint that speaks OpenAI's chat completions, the `llm` library with whatever providers it has (extra
`memrepo[llm]`), or a command of the user's. A key comes in as a value, goes into one header and nowhere else. Nothing
here judges an answer. Source of the HTTP form: OpenAI's API reference, `POST /chat/completions`.
"""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from memrepo.errors import InvalidInput, ModelFailed
from memrepo.format.token_estimate import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from memrepo.dream.prompt import Prompt

OPENAI, LLM, COMMAND = "openai", "llm", "command"
TIMEOUT_S = 300.0
ATTEMPTS = 3
RESPONSE_LIMIT_BYTES = 4 * 1024 * 1024
_WAITS_S = (2.0, 10.0)
_LONGEST_WAIT_S = 60.0
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered. Tokens are as the model counted them; `is_estimated` when it did not say."""

    text: str
    input_tokens: int
    output_tokens: int
    is_estimated: bool = False


class Model(Protocol):
    """A model by its name, as the settings give it."""

    @property
    def name(self) -> str: ...

    def complete(self, prompt: Prompt) -> Completion:
        """Asks once. Errors: ModelFailed."""


def make_model(spec: str, *, url: str | None = None, api_key: str | None = None) -> Model:
    """The model that the settings mean: `openai:NAME` at `url`, `llm:NAME`, or `command:PROGRAM ARGUMENTS`.

    Errors: InvalidInput, with the setting that is wrong. Changes: nothing.
    """
    way, _, rest = spec.partition(":")
    if way == OPENAI and rest:
        if not url:
            raise InvalidInput(
                "an openai: model needs the address of its endpoint",
                hint="memrepo settings set dream_url https://HOST/v1",
                key="dream_url",
            )
        return HttpModel(rest, check_url(url, has_key=bool(api_key)), api_key)
    if way == LLM and rest:
        return LlmModel(rest, api_key)
    if way == COMMAND and (words := shlex.split(rest)):
        from memrepo.dream.commands import CommandModel

        return CommandModel(tuple(words))
    raise InvalidInput(
        f"{spec[:60]!r} names no model",
        hint='memrepo settings set dream_model "openai:NAME", "llm:NAME" or "command:PROGRAM ARGUMENTS"',
        key="dream_model",
        value=spec[:60],
    )


def check_url(url: str, *, has_key: bool) -> str:
    """The address without its last slash. Errors: InvalidInput: no HTTP, credentials in it, a key in the clear."""
    parts = urlsplit(url)
    why = ""
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        why = "is no http or https address"
    elif parts.username or parts.password:
        why = "holds credentials; name the variable that holds the key instead (dream_key_variable)"
    elif has_key and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        why = "would send your key in the clear; use https"
    if why:
        raise InvalidInput(
            f"the endpoint {why}", hint="memrepo settings set dream_url https://HOST/v1", key="dream_url"
        )
    return url.rstrip("/")


class HttpModel:
    """A model behind an endpoint that speaks chat completions. Redirects are not followed: the key is for one host."""

    def __init__(
        self, model: str, url: str, api_key: str | None, *, timeout_s: float = TIMEOUT_S,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self._model = model
        self._url = f"{url}/chat/completions"
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._wait = wait

    @property
    def name(self) -> str:
        return f"{OPENAI}:{self._model}"

    def complete(self, prompt: Prompt) -> Completion:
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        body: dict[str, Any] = {"model": self._model, "messages": messages, "response_format": {"type": "json_object"}}
        why, status = "", 0
        for attempt in range(ATTEMPTS):
            status, data, wait_s = self._post(body)
            if status == 200:
                return self._read(data, prompt)
            why = f"HTTP status {status}" if status else data.decode()
            if status in {400, 422} and "response_format" in body:
                body.pop("response_format")  # a server that does not know it says so with one of these
                continue
            if status and status not in _AGAIN:
                break
            if attempt + 1 < ATTEMPTS:
                self._wait(min(wait_s or _WAITS_S[attempt], _LONGEST_WAIT_S))
        hint = "see that the key's variable is set and named by dream_key_variable" if status in {401, 403} else ""
        raise _failed(self.name, why, hint=hint, status=status, attempts=attempt + 1)

    def _post(self, body: dict[str, Any]) -> tuple[int, bytes, float]:
        """Status (0: nobody answered, and why is in the bytes), body, and how long to wait when the server says."""
        import urllib.error
        import urllib.request

        class _NoRedirect(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                return None

        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310 - http(s): checked
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=self._timeout_s) as answer:
                return answer.status, answer.read(RESPONSE_LIMIT_BYTES + 1), 0.0
        except urllib.error.HTTPError as error:
            after = error.headers.get("Retry-After", "")
            error.close()
            return error.code, b"", float(after) if after.isdecimal() else 0.0
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            return 0, f"no answer ({type(reason).__name__})".encode(), 0.0

    def _read(self, data: bytes, prompt: Prompt) -> Completion:
        try:
            answer: Any = json.loads(data if len(data) <= RESPONSE_LIMIT_BYTES else b"null")
            text = answer["choices"][0]["message"]["content"]
            if not isinstance(text, str):
                raise TypeError("no text")
        except (ValueError, TypeError, LookupError, RecursionError):
            raise _failed(self.name, "its answer is of another form", status=200, attempts=1) from None
        usage = answer.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return count(text, prompt, usage.get("prompt_tokens"), usage.get("completion_tokens"))


class LlmModel:
    """A model of the `llm` library, which brings its own keys and providers."""

    def __init__(self, model: str, api_key: str | None) -> None:
        self._model = model
        self._api_key = api_key

    @property
    def name(self) -> str:
        return f"{LLM}:{self._model}"

    def complete(self, prompt: Prompt) -> Completion:
        try:
            import llm
        except ImportError:
            raise InvalidInput(
                "the llm library is not installed", hint="pip install 'memrepo[llm]'", key="dream_model"
            ) from None
        try:
            model = llm.get_model(self._model)
        except llm.UnknownModelError:
            raise InvalidInput(
                f"llm knows no model {self._model[:60]!r}", hint="see: llm models", key="dream_model"
            ) from None
        options: dict[str, Any] = {"schema": prompt.schema} if getattr(model, "supports_schema", False) else {}
        if self._api_key:
            options["key"] = self._api_key
        try:
            response = model.prompt(prompt.user, system=prompt.system, stream=False, **options)
            text, usage = response.text(), response.usage()
        except Exception as error:  # noqa: BLE001 - whatever a provider's plugin raises
            raise _failed(self.name, f"{type(error).__name__} in the llm library", attempts=1) from None
        return count(text, prompt, getattr(usage, "input", None), getattr(usage, "output", None))


def count(text: str, prompt: Prompt, input_tokens: object, output_tokens: object) -> Completion:
    """A completion with the tokens that the model counted, or estimates where it gave no sensible number."""
    estimates = (
        estimate_tokens(prompt.system) + estimate_tokens(prompt.user),
        estimate_tokens(text[:RESPONSE_LIMIT_BYTES]),
    )
    told = [
        said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else None
        for said in (input_tokens, output_tokens)
    ]
    used = [estimate if said is None else said for said, estimate in zip(told, estimates, strict=True)]
    return Completion(text, used[0], used[1], is_estimated=None in told)


def _failed(name: str, why: str, *, hint: str = "", **facts: object) -> ModelFailed:
    return ModelFailed(f"the model {name} did not answer: {why}", hint=hint or "memrepo dream now", model=name, **facts)
