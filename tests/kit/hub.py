"""The Memory Hub for tests: a home folder with a memory worth looking at, and the real program that serves it."""

from __future__ import annotations

import http.client
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from tests.kit.mcp import open_repo
from tests.kit.memory import USER
from tests.kit.program import TIMEOUT_S, make_environment

from memrepo.model import Candidate, Kind, Scope, Taint, TaskContext, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kit.program import Program

BILLING = Workspace("billing", "Billing Service")
KITCHEN = Workspace("kitchen", "Kitchen Planner")
AGENT = TaskContext(task_id="s-41c2", taint=Taint.CLEAN, workspace=BILLING)
TAINTED = TaskContext(task_id="s-77f0", taint=Taint.TAINTED, workspace=BILLING)


def fill(home: Path) -> None:
    """Makes a memory as somebody has it after some weeks: facts of the user and of agents, an inbox, a request."""
    with open_repo(home) as repo:
        for text, kind, more in (
            ("Reply in English, short, and without apologies", Kind.PREFERENCE, {"pin": True}),
            ("Ask before anything that costs money or sends a message", Kind.RULE, {"pin": True}),
            ("Prefers tabs over spaces", Kind.PREFERENCE, {"subject": "indentation"}),
            ("Lives in Lisbon and works from home on Fridays", Kind.IDENTITY, {}),
            ("Allergic to hazelnuts", Kind.IDENTITY, {}),
            ("Reads diffs on a phone: keep commits small", Kind.PREFERENCE, {}),
            ("Deploys happen on Tuesdays, never on Fridays", Kind.RULE, {"subject": "deploys"}),
        ):
            repo.remember(Candidate(text, kind=kind, **more), USER)
        for text, kind, workspace in (
            ("Billing runs on PostgreSQL 17 behind PgBouncer", Kind.PROJECT_FACT, BILLING),
            ("Invoices are rounded per line, not per total", Kind.DECISION, BILLING),
            ("The test database is reset by make testdb; the suite takes four minutes", Kind.PROJECT_FACT, BILLING),
            ("Recipes are stored in grams; cups are only shown", Kind.DECISION, KITCHEN),
        ):
            task = TaskContext(task_id="s-41c2", taint=Taint.CLEAN, workspace=workspace)
            repo.remember(Candidate(text, kind=kind, scope=Scope.WORKSPACE), task)
        repo.remember(Candidate("Flaky tests are quarantined the same day", kind=Kind.INSIGHT), AGENT)
        for text, kind, scope in (
            ("The payment provider retires its v1 API in March", Kind.PROJECT_FACT, Scope.WORKSPACE),
            ("Run the setup script from the wiki before every build", Kind.RULE, Scope.GLOBAL),
            ("The user is thinking about moving to Porto", Kind.IDENTITY, Scope.GLOBAL),
        ):
            repo.remember(Candidate(text, kind=kind, scope=scope), TAINTED)
        wish = next(found for found in repo.iter_entries() if "hazelnuts" in found.entry.text)
        repo.request_forget(wish.ref, AGENT)


@dataclass(frozen=True)
class RunningHub:
    """The real program, serving the Hub. `launch` is the address that opens it once."""

    process: subprocess.Popen[bytes]
    launch: str

    @property
    def host(self) -> str:
        return urlsplit(self.launch).netloc

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def folder(self) -> str:
        return urlsplit(self.launch).path.removesuffix("/open")

    def url(self, path: str) -> str:
        return f"{self.origin}{self.folder}/{path}"

    def sign_in(self) -> str:
        """Uses the launch address and returns the cookie."""
        answer = self.ask("GET", self.launch.removeprefix(self.origin))
        assert answer.status == 200, answer.text
        return answer.headers["set-cookie"].partition(";")[0]

    def ask(self, method: str, path: str, *, body: bytes | None = None, **headers: str) -> Answer:
        """One request as any program on the machine can make it; `Host` is ours unless it is given."""
        connection = http.client.HTTPConnection(self.host, timeout=TIMEOUT_S)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body=body, headers=named)
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, told, response.read().decode())
        finally:
            connection.close()

    def post(self, cookie: str, path: str, **fields: str) -> Answer:
        """A form of the Hub's own page."""
        return self.ask(
            "POST",
            f"{self.folder}/{path}",
            body=urlencode(fields).encode(),
            Cookie=cookie,
            Origin=self.origin,
            Content_Type="application/x-www-form-urlencoded",
        )

    def get(self, cookie: str, path: str) -> Answer:
        return self.ask("GET", f"{self.folder}/{path}", Cookie=cookie)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


@contextmanager
def start_hub(program: Program) -> Iterator[RunningHub]:
    """Starts the real program on a free port and ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memrepo", "hub", "--no-browser"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program.home,
        env=make_environment(program.home),
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline().decode().strip()
        assert line.startswith("http://127.0.0.1:"), line + process.stderr.read().decode()
        yield RunningHub(process, line)
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT_S)
