"""One run of the command line: arguments in, exit status out. The only place of the CLI that catches every exception.

Whatever goes wrong is told in one form (`present`): in words on stderr or, with `--json`, as the one document on
stdout. A reader that goes away (`memrepo ls | head`) ends the run quietly; Ctrl-C ends it with 130; a bug leaves a
report that holds no word of any memory.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from memrepo.errors import MemrepoError
from memrepo.surfaces.cli.invocation import Invocation
from memrepo.surfaces.cli.table import PROGRAM, root

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit status. Changes: what the command says; flushes stdout."""
    invocation = Invocation()
    try:
        _accept_any_text()
        status = _run_command(list(arguments), invocation)
        sys.stdout.flush()
    except BrokenPipeError:
        return _end_quietly()
    return status


def _run_command(arguments: list[str], invocation: Invocation) -> int:
    try:
        with root.make_context(PROGRAM, arguments, obj=invocation) as context:
            return root.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stdout.write(error.format_message() + "\n")
        return 0
    except click.ClickException as error:
        # Options may stand after the fault, unread.
        invocation.options.as_json |= "--json" in arguments
        return _tell_usage(error, invocation)
    except MemrepoError as error:
        return _tell_error(error, invocation)
    except (KeyboardInterrupt, click.Abort):
        from memrepo.surfaces.present import EXIT_INTERRUPTED

        invocation.output.tell("memrepo: interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the surface's entry point
        return _tell_bug(error, invocation)


def _tell_error(error: MemrepoError, invocation: Invocation) -> int:
    from memrepo.surfaces import present

    invocation.output.fail({"error": present.describe_error(error)}, present.format_error(error))
    return present.get_numbers(error).exit_status


def _tell_usage(error: click.ClickException, invocation: Invocation) -> int:
    from memrepo.surfaces import present

    message = error.format_message()
    context = getattr(error, "ctx", None)
    command = context.command_path if context else PROGRAM
    hint = f"see: {command} --help"
    message = message[:1].lower() + message[1:].rstrip(".")
    if "unexpected extra argument" in message:
        hint = f"put a text of several words in quotes; {hint}"
    document = {"code": "usage", "message": message, "hint": hint, "exit_status": present.EXIT_USAGE, "facts": {}}
    words = f"memrepo: error: {present.escape_control(message)}\nhint: {hint}"
    invocation.output.fail({"error": document}, words)
    return present.EXIT_USAGE


def _tell_bug(error: Exception, invocation: Invocation) -> int:
    from memrepo.surfaces import present
    from memrepo.surfaces.cli.report import write_report

    report = write_report(error, invocation)
    message = f"something went wrong inside memrepo ({type(error).__name__}); this is a bug, nothing you did"
    hint = f"please send this report, it holds no text of your memory: {report}" if report else "run: memrepo doctor"
    document = {
        "code": "bug",
        "message": message,
        "hint": hint,
        "exit_status": present.EXIT_BUG,
        "facts": {"report": str(report) if report else None},
    }
    invocation.output.fail({"error": document}, f"memrepo: error: {message}\nhint: {present.escape_control(hint)}")
    return present.EXIT_BUG


def _accept_any_text() -> None:
    """Lets both streams take every character, escaped where their encoding has none for it (`LANG=C`)."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _end_quietly() -> int:
    """Gives stdout somewhere to go, so that the interpreter's own last flush does not complain."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no descriptor behind stdout: nothing to silence
        pass
    from memrepo.surfaces.present import EXIT_BROKEN_PIPE

    return EXIT_BROKEN_PIPE
