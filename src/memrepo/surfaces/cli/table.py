"""The commands, as data, and the group that loads one only when it runs.

`memrepo --help` is written from the table alone. A command's module is `memrepo.surfaces.cli.<module>` and holds it
under the command's name. The global options (`--path`, `--profile`, `--json`) belong to every command and group, so
they may stand before or after any of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from memrepo.surfaces.cli.invocation import Invocation

PROGRAM = "memrepo"
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Row(NamedTuple):
    """One command: the module and the name that hold it, and what the list of commands says about it."""

    module: str
    name: str
    help: str


COMMANDS: dict[str, Row] = {
    "init": Row("init", "init", "Make the memory folder, or take over one that is there."),
    "remember": Row("remember", "remember", "Write a fact into memory."),
    "forget": Row("forget", "forget", "Remove entries from memory."),
    "edit": Row("entries", "edit", "Put a new text in the place of an entry's."),
    "pin": Row("entries", "pin", "Move an entry to MEMORY.md, which every session reads."),
    "move": Row("entries", "move", "Move an entry to another file."),
    "ls": Row("listing", "ls", "List files, or the entries of one."),
    "show": Row("listing", "show", "Show a file, an entry or a commit."),
    "recall": Row("recalling", "recall", "Find what memory knows about something."),
    "context": Row("reading", "context", "Show the block that a prompt gets."),
    "read": Row("reading", "read", "Show an entry and the section around it, as agents see it."),
    "grep": Row("reading", "grep", "Look for words or a pattern, line by line."),
    "inbox": Row("inbox", "inbox", "Review what agents wrote and you have not seen."),
    "approvals": Row("approvals", "approvals", "Answer what agents ask to forget."),
    "commitments": Row("commitments", "commitments", "List what was promised, by its day."),
    "dream": Row("dreaming", "dream", "Tidy memory, with a language model or without, and review what it proposes."),
    "schedule": Row("scheduling", "schedule", "Let memory be tidied by itself, by the system's timer."),
    "log": Row("changes", "log", "List what was written, the newest first."),
    "diff": Row("changes", "diff", "Show what a commit changed, or what you edited since."),
    "undo": Row("changes", "undo", "Take a commit back."),
    "compact": Row("compaction", "compact", "Replace the history, so that forgotten text is gone."),
    "clear": Row("compaction", "clear", "Empty a workspace's memory, or all global memory."),
    "purge-task": Row("forget", "purge_task", "Remove what an agent wrote in one task."),
    "swarm": Row("swarms", "swarm", "Let the agents of one goal leave notes for each other."),
    "import": Row("importing", "import_", "Bring notes, exports and other memories to the inbox."),
    "export": Row("exporting", "export", "Take all of this memory with you, or bring the facts of another in."),
    "retire": Row("retiring", "retire", "Take out of a database what the folder holds now."),
    "restore": Row("retiring", "restore", "Put retired rows back into their database."),
    "stats": Row("statistics", "stats", "Show per week what was written, read, reviewed and repeated."),
    "sync": Row("syncing", "sync", "Keep the same memory on several machines, through a private remote."),
    "doctor": Row("doctor", "doctor", "Check that everything is well, and mend it."),
    "index": Row("recalling", "index", "Look at the search index, or make it anew."),
    "eval": Row("evaluating", "evaluate", "Measure recall, and try to break the promises of memory."),
    "guard": Row("guard", "guard", "Hide memory from shell commands with a sandbox."),
    "hub": Row("hub", "hub", "Open the Memory Hub in the browser."),
    "mcp": Row("mcp", "mcp", "Serve memory to agents (Model Context Protocol)."),
    "install": Row("installing", "install", "Give memory to an agent host."),
    "uninstall": Row("installing", "uninstall", "Take memory out of an agent host."),
    "status": Row("installing", "status", "Show which agent hosts have memory."),
    "hook": Row("hook", "hook", "Answer an event of an agent host (installed by memrepo install)."),
    "team": Row("teams", "team", "Read the memory repos of your teams beside your own."),
    "settings": Row("settings", "settings", "Read and change settings."),
}

C = TypeVar("C", bound=click.Command)


def _add_global_options(command: C) -> C:
    command.params.extend(
        [
            click.Option(
                ["--path"],
                metavar="ROOT",
                expose_value=False,
                is_eager=True,
                callback=_store("path"),
                help="The memory folder, instead of the one in the settings.",
            ),
            click.Option(
                ["--profile"],
                metavar="NAME",
                expose_value=False,
                is_eager=True,
                callback=_store("profile"),
                help="The profile whose memory is meant (default: default).",
            ),
            click.Option(
                ["--json"],
                is_flag=True,
                expose_value=False,
                is_eager=True,
                callback=_store("as_json"),
                help="Write one JSON document.",
            ),
        ]
    )
    return command


def _store(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def store(context: click.Context, _: click.Parameter, value: object) -> None:
        if value is not None and value is not False:  # an option that is not given says nothing
            invocation: Invocation = context.find_root().obj
            setattr(invocation.options, name, value)

    return store


class MemrepoCommand(click.Command):
    """A command that takes the global options too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["context_settings"] = _SETTINGS | (kwargs.get("context_settings") or {})
        super().__init__(*args, **kwargs)
        _add_global_options(self)


class MemrepoGroup(click.Group):
    """A group that takes the global options too; without a command of its own it shows its help."""

    command_class = MemrepoCommand

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["context_settings"] = _SETTINGS | (kwargs.get("context_settings") or {})
        super().__init__(*args, **kwargs)
        _add_global_options(self)


class Root(MemrepoGroup):
    """The program itself: knows its commands by the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        module = importlib.import_module(f"memrepo.surfaces.cli.{row.module}")
        command: click.Command = getattr(module, row.name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            ctx.fail(f"there is no command {name!r}" + (f"; did you mean {close[0]}?" if close else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.help) for name, row in COMMANDS.items()])


def _show_version(context: click.Context, _: click.Parameter, value: object) -> None:
    if value:
        from memrepo import __version__

        click.echo(f"{PROGRAM} {__version__}")
        context.exit()


root = Root(
    PROGRAM,
    help="Long-term memory for AI agents: a git repository of Markdown that you own.",
    epilog="Options before the command also work after it. Exit status and errors: docs/errors.md.",
    subcommand_metavar="COMMAND [ARGS]...",
)
root.params.append(
    click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
    )
)
