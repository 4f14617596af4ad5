"""The Hub at 10,000 entries in 25 files: what a page takes to answer, and when a real browser has painted it.

The browser is the Chromium of the system, without a window; beside the Hub's page, an empty one of the same server
tells what the browser itself takes. Without Chromium only the answers are measured.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Timing, measure_in_turn, report
from tests.kit.browser import Visitor, find_chromium, open_browser
from tests.kit.hub import fill, start_hub
from tests.kit.program import Program

if TYPE_CHECKING:
    from tests.kit.hub import RunningHub

FILES, EACH = 25, 400
RUNS = 30
PAINTS = 10
_PAINT = """new Promise((tell) => new PerformanceObserver((list) => {
  for (const entry of list.getEntriesByName("first-contentful-paint")) tell(entry.startTime);
}).observe({ type: "paint", buffered: true }))"""


def main() -> None:
    """Measures and reports."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        fill(home)
        for number in range(FILES):
            lines = "".join(
                f"- Room {number}.{line} is booked by team {line % 37} for topic {line * 7919 % 9973} "
                f"[by: agent; kind: project_fact; source: cowork://tasks/s-{line}; added: 2026-10-05]\n"
                for line in range(EACH)
            )
            (home / "CoWork Memory" / f"rooms-{number:02}.md").write_text(f"# Rooms {number}\n\n{lines}", "utf-8")
        program = Program(home)
        if find_chromium() is not None:
            _report_paint(program)
        with start_hub(program) as hub:
            _report_answers(hub)


def _report_answers(hub: RunningHub) -> None:
    cookie = hub.sign_in()
    pages = {"what it knows": "known", "filtered": "known?q=topic+4242", "inbox": "inbox", "state": "state"}
    for path in pages.values():
        hub.get(cookie, path)
    timings = measure_in_turn(
        RUNS, *((name, lambda _, path=path: hub.get(cookie, path)) for name, path in pages.items())
    )
    report(f"The Hub's answers at {FILES * EACH:,} entries", timings)


def _report_paint(program: Program) -> None:
    with open_browser() as browser, start_hub(program) as hub:
        visitor = Visitor(browser, hub)
        page = visitor.page
        page.goto(hub.launch)
        page.wait_for_url("**/known")
        first: Any = page.evaluate(_PAINT)
        again: list[float] = []
        bare: list[float] = []
        for _ in range(PAINTS):
            visitor.go("known")
            again.append(page.evaluate(_PAINT) / 1_000)
            visitor.go("nope")
            bare.append(page.evaluate(_PAINT) / 1_000)
        visitor.context.close()
    report(
        f"First paint in Chromium at {FILES * EACH:,} entries",
        [
            Timing("the first page after the start", (first / 1_000,)),
            Timing("what it knows, again", tuple(again)),
            Timing("a page that says nothing", tuple(bare)),
        ],
        "bar: the first page within 1,000 ms",
    )


if __name__ == "__main__":
    main()
