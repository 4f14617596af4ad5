"""Makes the pictures of docs/images (`make screenshots`): the Hub in the browser of the system, on a made-up memory."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import ViewportSize

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.kit.browser import Visitor, open_browser
from tests.kit.hub import fill, start_hub
from tests.kit.program import Program

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
Scheme = Literal["light", "dark"]
SIZE = ViewportSize(width=1120, height=760)
PHONE = ViewportSize(width=390, height=760)
SHOTS: tuple[tuple[str, str, Scheme, ViewportSize], ...] = (
    ("known", "known", "light", SIZE),
    ("known-dark", "known", "dark", SIZE),
    ("known-phone", "known", "light", PHONE),
    ("inbox", "inbox", "light", SIZE),
    ("inbox-dark", "inbox", "dark", SIZE),
    ("review", "review", "light", SIZE),
    ("history", "history", "light", SIZE),
    ("health", "health", "light", SIZE),
    ("settings", "settings", "light", SIZE),
)


def main(folder: Path) -> None:
    """Makes every picture. Changes: the files `hub-*.png` of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        home.mkdir()
        fill(home)
        with start_hub(Program(home)) as hub, open_browser() as browser:
            visitor = Visitor(browser, hub)
            visitor.sign_in()
            state = visitor.context.storage_state()
            for name, path, scheme, size in SHOTS:
                with browser.new_context(viewport=size, color_scheme=scheme, storage_state=state) as context:
                    page = context.new_page()
                    page.goto(hub.url(path))
                    page.screenshot(path=str(folder / f"hub-{name}.png"))
            visitor.context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
