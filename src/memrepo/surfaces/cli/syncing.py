"""`memrepo sync`: the same memory on several machines, through one private remote that the user owns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.errors import InvalidInput, Refused
from memrepo.settings import set_setting, unset_setting
from memrepo.settings.remote_url import check_remote_url, hide_user
from memrepo.settings_file import read_settings_text, write_settings_text
from memrepo.surfaces.cli.options import count, decode_words, join
from memrepo.surfaces.cli.table import MemrepoGroup
from memrepo.surfaces.present import escape_control, escape_lines

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.surfaces.cli.invocation import Invocation
    from memrepo.sync.engine import SyncReport, SyncStatus
    from memrepo.sync_state import Trouble

_URL, _CONFIRMED = "remote_url", "remote_confirmed_private"
_SIDES = click.Choice(["here", "there", "both"])


@click.group(cls=MemrepoGroup, short_help="Keep the same memory on several machines, through a private remote.")
def sync() -> None:
    """Keep the same memory on several machines, through one private git repository that you own.

    \b
    memrepo sync set git@example.org:me/memory.git
    memrepo sync now
    """


@sync.command("set")
@click.argument("url", callback=decode_words)
@click.option(
    "--private-and-mine", "is_confirmed", is_flag=True, help="Your word that the repository is private and yours."
)
@click.pass_obj
def set_remote(invocation: Invocation, url: str, *, is_confirmed: bool) -> None:
    """Set the remote: https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH. Nothing is sent yet.

    Everything in the memory folder will be sent there, its history too. So it asks whether the repository is private
    and yours.

    \b
    memrepo sync set git@example.org:me/memory.git
    memrepo sync set https://git.example.org/me/memory.git --private-and-mine
    """
    try:
        check_remote_url(url)
    except ValueError as error:
        raise InvalidInput(
            f"the address of a remote {error}",
            hint="for example: memrepo sync set git@example.org:me/memory.git",
            key=_URL,
        ) from None
    shown = hide_user(url)
    invocation.confirm(
        f"is the repository at {shown} private, and yours? All of your memory will be sent there",
        action="syncing with a remote",
        is_confirmed=is_confirmed,
        option="--private-and-mine",
    )
    file = invocation.settings_file
    before = read_settings_text(file)
    after = set_setting(before, _URL, url, file=str(file))
    after = set_setting(after, _CONFIRMED, "true", file=str(file))
    if after != before:
        write_settings_text(file, after, before=before)
    invocation.output.emit({"url": shown, "confirmed": True}, f"the memory folder is synced with {shown}")
    invocation.output.tell("to sync: memrepo sync now")


@sync.command("unset")
@click.pass_obj
def unset_remote(invocation: Invocation) -> None:
    """Stop syncing. The memory folder and the remote stay as they are.

    \b
    memrepo sync unset
    """
    file = invocation.settings_file
    before = read_settings_text(file)
    after = before
    for key in (_URL, _CONFIRMED):
        after = unset_setting(after, key, file=str(file))
    if after != before:
        write_settings_text(file, after, before=before)
    repo = invocation.open(may_be_missing=True)
    if not repo.is_missing and repo.is_own_folder:
        repo.sync.forget_remote()
    words = "sync is off; the remote keeps what it has" if after != before else "sync was off"
    invocation.output.emit({"was_on": after != before}, words)


@sync.command("now")
@click.option("--pull-only", is_flag=True, help="Only take what the remote has; send nothing.")
@click.pass_obj
def now(invocation: Invocation, *, pull_only: bool) -> None:
    """Bring this folder and the remote to the same memory.

    \b
    memrepo sync now
    """
    repo = _open_own(invocation)
    _tell(invocation, repo.sync.run(pushes=not pull_only))


@sync.command("resume")
@click.option("--take", type=_SIDES, help="Whose word counts where the two sides cannot both stand.")
@click.pass_obj
def resume(invocation: Invocation, *, take: str | None) -> None:
    """Go on after a pause: try again, or say which side counts where the two cannot both stand.

    `here` is this folder, `there` the remote; `both` keeps what only one side still has. Everything else is merged as
    ever.

    \b
    memrepo sync resume
    memrepo sync resume --take here
    """
    from memrepo.sync.merging import Take

    repo = _open_own(invocation)
    _tell(invocation, repo.sync.run(take=Take(take) if take else None))


@sync.command("status")
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Show how sync stands, without asking the remote.

    \b
    memrepo sync status
    """
    found = invocation.open(read_only=True).sync.status()
    document = {
        "on": found.is_on,
        "url": found.url,
        "confirmed": found.is_confirmed,
        "last_pull_at": found.state.last_pull_at,
        "last_push_at": found.state.last_push_at,
        "ahead": found.ahead,
        "behind": found.behind,
        "pause": _describe(found.state.pause),
        "failure": _describe(found.state.failure),
    }
    invocation.output.emit(document, list(map(escape_lines, _format(found))))


def _open_own(invocation: Invocation) -> MemoryRepo:
    """The folder of the profile. Errors: Refused for another: one remote is the home of one memory."""
    repo = invocation.open()
    if not repo.is_own_folder:
        raise Refused(
            f"{repo.root} is not the folder of profile {repo.profile}; the remote of the settings is for that one",
            hint="leave out --path, or make a profile for it: memrepo --profile NAME settings set path FOLDER",
            rule="other-folder",
            action="sync",
            target=str(repo.root),
        )
    return repo


def _tell(invocation: Invocation, report: SyncReport) -> None:
    document = {
        "pulled": report.pulled,
        "pushed": report.pushed,
        "paths": list(report.paths),
        "replaced_here": report.replaced_here,
        "replaced_there": report.replaced_there,
    }
    parts = [
        f"took {count(report.pulled, 'commit')}" if report.pulled else "",
        f"sent {count(report.pushed, 'commit')}" if report.pushed else "",
    ]
    lines = [join(parts) or "nothing new on either side"]
    if report.paths:
        lines.append(f"changed here: {escape_control(', '.join(report.paths))}")
    if report.replaced_there:
        lines.append("the remote's history was replaced by this one")
    invocation.output.emit(document, lines)
    if report.replaced_here:
        invocation.output.tell(
            "the remote's history was replaced, and this folder follows it; older text stays in this folder's history "
            "until: memrepo compact"
        )


def _describe(trouble: Trouble | None) -> dict[str, object] | None:
    if trouble is None:
        return None
    return {
        "code": trouble.code,
        "message": trouble.message,
        "hint": trouble.hint,
        "paths": list(trouble.paths),
        "since": trouble.since,
    }


def _format(found: SyncStatus) -> list[str]:
    if not found.is_on:
        why = "no remote is set" if found.url is None else f"nobody said that {found.url} is private"
        return [f"sync is off: {why}"]
    state = found.state
    lines = [
        f"synced with {found.url}",
        f"last pull {state.last_pull_at or 'never'}; last push {state.last_push_at or 'never'}",
        f"{count(found.ahead, 'commit')} to send, {count(found.behind, 'commit')} to take, as of the last look",
    ]
    for word, trouble in (("paused", state.pause), ("failing", state.failure)):
        if trouble is not None:
            lines += [f"{word} since {trouble.since}: {trouble.message}", f"hint: {trouble.hint}"]
    return lines
