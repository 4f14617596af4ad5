"""The command line. `main` is what the `memrepo` program starts; a command's module is loaded when it runs."""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line of this process and ends it with the exit status of the command."""
    import gc
    import sys

    gc.set_threshold(
        20_000
    )  # imports make objects that stay; looking through them again and again costs 5 % of a start
    from memrepo.surfaces.hooks.arguments import find_hook_arguments

    hook = find_hook_arguments(sys.argv[1:])
    if hook is not None:
        from memrepo.surfaces.hooks.entry import run_and_leave

        run_and_leave(hook)
    from memrepo.surfaces.cli.entry import run

    sys.exit(run(sys.argv[1:]))
