"""A real browser for tests: the Chromium of the system, without a window, driven by Playwright; none is downloaded."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page
    from tests.kit.hub import RunningHub

AXE = Path(__file__).resolve().parents[1] / "clients" / "node_modules" / "axe-core" / "axe.min.js"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """The browser's program, None when there is none."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def require(reason: str) -> None:
    """Skips with the reason; where `CI` is set a test must not be skipped."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """The browser, for one module: while it runs, no other event loop can run in this thread."""
    program = find_chromium()
    if program is None:
        require("chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        # Its own sandbox needs rights that a container has not; pages are the Hub's.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visitor:
    """A person at a browser that has opened the Hub; `faults` are errors that its console showed."""

    def __init__(self, browser: Browser, hub: RunningHub, **how: Any) -> None:
        self.hub = hub
        self.faults: list[str] = []
        self.context: BrowserContext = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **how})
        self.page = self.open_tab()

    def sign_in(self) -> Page:
        """Opens the address that memrepo hub shows, and waits for the first page."""
        self.page.goto(self.hub.launch)
        self.page.wait_for_url("**/known")
        return self.page

    def open_tab(self) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self.faults.append(said.text) if "Content Security" in said.text else None)
        return page

    def go(self, path: str) -> Page:
        self.page.goto(self.hub.url(path))
        return self.page


def find_overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


def find_violations(page: Page) -> list[str]:
    """What axe-core finds: each rule with the elements that break it."""
    if not AXE.exists():
        require("axe-core is not installed: npm ci --ignore-scripts --prefix tests/clients")
    # Not as a script of the page: its policy lets in none but the Hub's.
    page.evaluate(AXE.read_text("utf-8"))
    found: Any = page.evaluate("axe.run()")
    return [
        f"{one['id']}: {one['help']}: {' '.join(node['html'][:200] for node in one['nodes'])}"
        for one in found["violations"]
    ]
