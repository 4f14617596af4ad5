"""`memrepo hub`: the Memory Hub, opened in the browser."""

from __future__ import annotations

import sys
import webbrowser
from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.table import MemrepoCommand

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.surfaces.cli.invocation import Invocation
    from memrepo.surfaces.opened import Doors


@click.command(cls=MemrepoCommand, short_help="Open the Memory Hub in the browser.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65_535),
    default=0,
    show_default=True,
    help="Serve on this port of 127.0.0.1; 0 finds a free one.",
)
@click.option("--no-browser", "is_quiet", is_flag=True, help="Only show the address; open no browser.")
@click.pass_obj
def hub(invocation: Invocation, *, port: int, is_quiet: bool) -> None:
    """Open the Memory Hub: a page on this machine to see, correct and review what agents know. Ctrl-C ends it.

    The address it shows opens the Hub once, in one browser. Nobody else gets in.

    \b
    memrepo hub
    memrepo hub --port 8766 --no-browser
    """
    from memrepo.profiles import check_profile
    from memrepo.surfaces.hub.serving import serve_hub
    from memrepo.surfaces.hub.settings_page import Profile

    profile = Profile(check_profile(invocation.options.profile), invocation.locations, invocation.environment.home)

    def tell(url: str) -> None:
        invocation.output.emit({"url": url}, url)
        sys.stdout.flush()
        invocation.output.tell("memrepo: the Hub is open at this address, once; Ctrl-C ends it")
        if not is_quiet:
            _open_browser(invocation, url)

    serve_hub(_make_doors(invocation), profile, port=port, tell=tell)


def _open_browser(invocation: Invocation, url: str) -> None:
    """Opens the user's browser, but none that would take over this terminal."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        browser = None
    if browser is None or type(browser) is webbrowser.GenericBrowser or not browser.open(url):
        invocation.output.tell("memrepo: no browser was found; open the address yourself")


def _make_doors(invocation: Invocation) -> Doors:
    from memrepo.surfaces.cli.report import write_report
    from memrepo.surfaces.opened import Doors

    def open_repo(read_only: bool) -> MemoryRepo:  # noqa: FBT001
        from memrepo.app import MemoryRepo
        from memrepo.model import Origin

        path = invocation.options.path
        return MemoryRepo.open(
            locations=invocation.locations,
            home=invocation.environment.home,
            profile=invocation.options.profile,
            path=None if path is None else invocation.find_path(path),
            read_only=read_only,
            create=False,
            may_be_missing=True,
            origin=Origin.MEMORY_HUB,
        )

    return Doors(open_repo, lambda: invocation.settings_file, lambda error: write_report(error, invocation))
