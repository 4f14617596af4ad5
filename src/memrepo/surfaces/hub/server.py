"""The Hub as a web application: routes to pages and acts, and every answer behind the gate.

Works without script: a form answers with a redirect to the page it came from, and what happened is told there. With
script the same answers are taken apart by `static/hub.js`. An error is a page too, with the status of `present`.
"""

from __future__ import annotations

import itertools
import mimetypes
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

from memrepo.errors import Conflict, InvalidInput, MemrepoError, TooLarge
from memrepo.model import INBOX_FILE
from memrepo.surfaces.hub import pages
from memrepo.surfaces.hub.acts import ACTS, Form, Told
from memrepo.surfaces.hub.catalog import Catalog, find_state
from memrepo.surfaces.hub.gate import HEADERS, LAUNCH
from memrepo.surfaces.hub.settings_page import change_settings, show_place, show_settings
from memrepo.surfaces.loopback import read_headers
from memrepo.surfaces.opened import Lane
from memrepo.surfaces.present import BUG, get_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memrepo.app import MemoryRepo
    from memrepo.surfaces.hub.gate import Gate
    from memrepo.surfaces.hub.settings_page import Profile
    from memrepo.surfaces.opened import Doors

BODY_LIMIT_BYTES = 1_000_000
SEARCH_WAIT_S = 0.3
_FIELDS_LIMIT = 5_000
_NOTICES_MOST = 50
_STATIC = frozenset({"hub.css", "hub.js", "icon.svg"})


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page: its path below the folder of the Hub, its template, and what reads its values."""

    name: str
    title: str
    template: str
    read: Callable[[MemoryRepo, Catalog, Mapping[str, str]], dict[str, Any]]
    is_in_menu: bool = True


PAGES = (
    PageRow("known", "What it knows", "known.html", pages.show_known),
    PageRow("inbox", "Inbox", "inbox.html", pages.show_inbox),
    PageRow("review", "Review", "review.html", pages.show_review),
    PageRow("history", "History", "history.html", pages.show_history),
    PageRow("health", "Health", "health.html", pages.show_health),
    PageRow("entry", "Entry", "entry.html", pages.show_one, is_in_menu=False),
    PageRow("change", "Change", "change.html", pages.show_change, is_in_menu=False),
)
SETTINGS = "settings"
MENU = (*((row.name, row.title) for row in PAGES if row.is_in_menu), (SETTINGS, "Settings"))


class Hub:
    """One Hub over one memory repo. `app` is what a server carries; `close` ends writing and closes the repo."""

    def __init__(self, doors: Doors, profile: Profile, gate: Gate) -> None:
        self._doors = doors
        self._profile = profile
        self._gate = gate
        self._reads = Lane("reads", lambda: doors.open_repo(True), doors.find_settings)  # noqa: FBT003
        self._writes = Lane("writes", lambda: doors.open_repo(False), doors.find_settings)  # noqa: FBT003
        self._searches = Lane("searches", lambda: doors.open_repo(True), doors.find_settings)  # noqa: FBT003
        self._catalog = Catalog()
        self._notices: OrderedDict[str, Told] = OrderedDict()
        self._numbers = itertools.count(1)
        self._templates = _make_templates(gate.folder)

    @property
    def app(self) -> ASGIApp:
        """The whole of it, behind the gate."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        below = self._gate.folder
        routes = [
            Route(f"{below}/", self._go_home),
            Route(f"{below}{LAUNCH}", self._launch, methods=["GET"]),
            Route(f"{below}/state", self._tell_state),
            Route(f"{below}/static/{{name}}", self._send_static),
            Route(f"{below}/{SETTINGS}", self._show_settings),
            Route(f"{below}/{SETTINGS}", self._change_settings, methods=["POST"]),
            *(Route(f"{below}/{row.name}", partial(self._show_page, row)) for row in PAGES),
            *(Route(f"{below}/{name}", partial(self._act, name), methods=["POST"]) for name in ACTS),
        ]
        handlers: Mapping[Any, Any] = {404: self._answer_unknown, 405: self._answer_unknown}
        return self._guard(Starlette(routes=routes, exception_handlers=handlers))

    async def close(self) -> None:
        """Waits in bounded time for what is under way, and closes the repo."""
        await self._searches.close()
        await self._reads.close()
        await self._writes.close()

    async def warm(self) -> None:
        """Makes ready what the first page and the first search need, while the browser starts."""
        for template in (row.template for row in PAGES):
            self._templates.get_template(template)
        with suppress(MemrepoError, RuntimeError):  # a lane that was closed meanwhile
            await self._reads.run(_count_waiting, self._catalog)
            await self._searches.run(pages.search, {"q": "memory"})

    # The gate

    def _guard(self, app: ASGIApp) -> ASGIApp:
        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_with_headers(message: Message) -> None:
                if message["type"] == "http.response.start":
                    own = {name for name, _ in message["headers"]}
                    more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                    message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in own)]
                await send(message)

            if scope["type"] != "http":
                return
            headers = read_headers(scope["headers"])
            refusal = self._gate.find_refusal(scope["method"], scope["path"], headers)
            if refusal is not None:
                from starlette.responses import PlainTextResponse

                answer = PlainTextResponse(f"memrepo: {refusal.why}\n", refusal.status)
                await answer(scope, receive, send_with_headers)
                return
            await app(scope, receive, send_with_headers)

        return guarded

    async def _launch(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse, PlainTextResponse

        # A program that only looks what is there, such as a preview of links, must not use the token up.
        if request.method != "GET" or not self._gate.use_token(request.query_params.get("token", "")):
            why = "memrepo: this address was used before or is not right; run memrepo hub again for a new one\n"
            return PlainTextResponse(why, 401)
        # A page and not a redirect: one that began on another site would not carry the new cookie.
        page = self._templates.get_template("launch.html").render()
        return HTMLResponse(page, headers={"set-cookie": self._gate.cookie})

    # Pages

    async def _go_home(self, _: Request) -> Response:
        from starlette.responses import RedirectResponse

        return RedirectResponse(f"{self._gate.folder}/{PAGES[0].name}", 303)

    async def _show_page(self, row: PageRow, request: Request) -> Response:
        return await self._answer(request, partial(self._read_page, row, request))

    async def _read_page(self, row: PageRow, request: Request) -> Response:
        query = dict(request.query_params)
        values = await self._reads.run(_read_values, row, self._catalog, query)
        values |= await self._frame(request)
        if row.read is pages.show_known:
            values |= await self._find_related(query)
        is_welcome = values["is_missing"] and row.name != "health"
        return self._render("missing.html" if is_welcome else row.template, row.title, row.name, values)

    async def _find_related(self, query: Mapping[str, str]) -> dict[str, Any]:
        """What recall finds beside the list, if it is found soon; else the page asks again."""
        import asyncio

        if not pages.may_search(query):
            return {"related": [], "is_searching": False}
        search = asyncio.ensure_future(self._searches.run(pages.search, query))
        done, _ = await asyncio.wait({search}, timeout=SEARCH_WAIT_S)
        if not done:
            search.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody waits for it
            return {"related": [], "is_searching": True}
        related = await self._reads.run(pages.show_related, self._catalog, search.result(), query)
        return {"related": related, "is_searching": False}

    async def _show_settings(self, request: Request) -> Response:
        return await self._answer(request, partial(self._read_settings, request))

    async def _read_settings(self, request: Request) -> Response:
        import anyio

        values = await anyio.to_thread.run_sync(show_settings, self._profile)
        values |= await self._frame(request)
        return self._render("settings.html", "Settings", SETTINGS, values)

    async def _tell_state(self, request: Request) -> Response:
        from starlette.responses import PlainTextResponse

        async def tell() -> Response:
            return PlainTextResponse(await self._find_state())

        return await self._answer(request, tell)

    async def _find_state(self) -> str:
        try:
            return await self._reads.run(find_state, self._doors.find_settings())
        except MemrepoError:
            return ""

    async def _frame(self, request: Request) -> dict[str, Any]:
        """What every page shows around its own."""
        notice = self._notices.get(request.query_params.get("notice", ""))
        try:
            frame = await self._reads.run(_count_waiting, self._catalog)
        except MemrepoError:
            frame = {"waiting": {}, "root": None, "is_missing": False}
        frame["root"] = show_place(frame["root"], self._profile.home) if frame["root"] else ""
        query = [(key, value) for key, value in request.query_params.multi_items() if key != "notice"]
        here = request.url.path.removeprefix(self._gate.folder) + (f"?{urlencode(query)}" if query else "")
        return frame | {"state": await self._find_state(), "notice": notice, "here": here}

    def _render(self, template: str, title: str, active: str, values: Mapping[str, Any], status: int = 200) -> Response:
        from starlette.responses import HTMLResponse

        page = self._templates.get_template(template).render(title=title, active=active, **values)
        return HTMLResponse(page, status)

    async def _send_static(self, request: Request) -> Response:
        from starlette.responses import Response

        name = request.path_params["name"]
        if name not in _STATIC:
            return await self._answer_unknown(request, None)
        data = files(__package__).joinpath("static", name).read_bytes()
        return Response(data, media_type=mimetypes.guess_type(name)[0])

    # Acts

    async def _act(self, name: str, request: Request) -> Response:
        async def act() -> Response:
            form = await _read_form(request)
            try:
                told = await self._writes.run(ACTS[name], form)
            except Conflict as error:
                if name != "entries/edit":
                    raise
                return await self._show_conflict(request, form, error)
            return await self._tell(request, form, told)

        return await self._answer(request, act)

    async def _change_settings(self, request: Request) -> Response:
        import anyio

        async def act() -> Response:
            form = await _read_form(request)
            told = await anyio.to_thread.run_sync(change_settings, self._profile, form)
            return await self._tell(request, form, told)

        return await self._answer(request, act)

    async def _tell(self, request: Request, form: Form, told: Told) -> Response:
        """Goes back to the page that the form came from, which tells what was done."""
        from starlette.responses import RedirectResponse

        if told.compaction is not None:
            values = await self._frame(request) | {"told": told, "result": told.compaction}
            return self._render("compacted.html", "History", "history", values)
        number = str(next(self._numbers))
        self._notices[number] = told
        while len(self._notices) > _NOTICES_MOST:
            self._notices.popitem(last=False)
        back = _check_back(form.get("back"))
        return RedirectResponse(f"{self._gate.folder}{back}{'&' if '?' in back else '?'}notice={number}", 303)

    async def _show_conflict(self, request: Request, form: Form, error: Conflict) -> Response:
        """The page of an entry that somebody changed while it was edited: both texts, and what to do."""
        ref = form.get("entry").partition("@")[2]
        try:
            values = await self._reads.run(pages.show_one, self._catalog, {"ref": ref})
        except MemrepoError:
            values = {"entry": None}
        values |= await self._frame(request) | {"mine": form.get("text"), "why": error.message}
        values["back"] = _check_back(form.get("back"))
        return self._render("conflict.html", "Changed meanwhile", "known", values, get_numbers(error).http_status)

    # Errors

    async def _answer(self, request: Request, work: Callable[[], Any]) -> Response:
        try:
            response: Response = await work()
        except MemrepoError as error:
            faults = error.facts.get("faults")
            told = {
                "message": error.message,
                "hint": error.hint,
                "where_instead": str(error.facts.get("where_instead") or ""),
                "faults": [" ".join(str(part) for part in fault if part) for fault in faults]
                if isinstance(faults, tuple | list) and "\n" not in error.message
                else [],
            }
            return await self._show_problem(request, told, get_numbers(error).http_status)
        except Exception as error:  # noqa: BLE001 - the surface's entry point
            report = self._doors.report_bug(error)
            told = {
                "message": f"Something went wrong inside memrepo ({type(error).__name__}). This is a bug, nothing "
                "you did.",
                "hint": f"please send this report, it holds no text of your memory: {report}" if report else "",
                "where_instead": "",
                "faults": [],
            }
            return await self._show_problem(request, told, BUG.http_status)
        return response

    async def _answer_unknown(self, request: Request, _: Exception | None) -> Response:
        told = {"message": "There is no such page.", "hint": "", "where_instead": "", "faults": []}
        return await self._show_problem(request, told, 404)

    async def _show_problem(self, request: Request, told: dict[str, Any], status: int) -> Response:
        values = await self._frame(request) | {"problem": told}
        return self._render("problem.html", "That did not work", "", values, status)


def _read_values(repo: MemoryRepo, row: PageRow, catalog: Catalog, query: Mapping[str, str]) -> dict[str, Any]:
    if repo.is_missing and row.name != "health":
        return {}
    return row.read(repo, catalog, query)


def _count_waiting(repo: MemoryRepo, catalog: Catalog) -> dict[str, Any]:
    if repo.is_missing:
        return {"waiting": {}, "root": repo.root, "is_missing": True}
    inbox = catalog.look(repo).get(INBOX_FILE)
    waiting = {"inbox": len(inbox.entries) if inbox else 0, "review": len(repo.list_requests())}
    return {"waiting": waiting, "root": repo.root, "is_missing": False}


async def _read_form(request: Request) -> Form:
    """The fields of a form. Errors: InvalidInput for another type, TooLarge."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise InvalidInput("this is not a form of the Hub", key="content-type")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT_BYTES:
            raise TooLarge("the form is too large", limit=BODY_LIMIT_BYTES, actual=len(body), unit="bytes")
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS_LIMIT, errors="strict")
    except ValueError as error:
        raise InvalidInput("the form cannot be read", key="form") from error
    return Form(fields)


def _check_back(back: str) -> str:
    """Where a form goes back to: a page of the Hub, whatever was sent."""
    name = back.partition("?")[0].removeprefix("/")
    if not back.startswith("/") or name not in {row.name for row in PAGES} | {SETTINGS}:
        return f"/{PAGES[0].name}"
    return "".join(letter for letter in back if letter.isascii() and letter.isprintable() and letter not in " \\")


def _make_templates(folder: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader(__package__ or "memrepo.surfaces.hub"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["base"] = folder
    templates.globals["menu"] = MENU
    return templates
