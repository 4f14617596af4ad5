"""`memrepo team`: which memory repos of teams are read beside the user's own. Nothing here writes into one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import decode_words
from memrepo.surfaces.cli.table import MemrepoGroup
from memrepo.surfaces.present import escape_control

if TYPE_CHECKING:
    from memrepo.surfaces.cli.invocation import Invocation
    from memrepo.team import TeamState


@click.group(
    cls=MemrepoGroup, invoke_without_command=True, short_help="Read the memory repos of your teams beside your own."
)
@click.pass_context
def team(context: click.Context) -> None:
    """Read the memory repos of your teams beside your own. They are never written; without a command it lists them.

    \b
    memrepo team
    memrepo team add ~/team/core
    memrepo team remove core
    """
    if context.invoked_subcommand is None:
        _list(context.obj)


@team.command("list")
@click.pass_obj
def list_teams(invocation: Invocation) -> None:
    """List the team repos, where they are, which workspaces see them, and what is wrong with one.

    \b
    memrepo team list
    """
    _list(invocation)


@team.command()
@click.argument("folder", callback=decode_words)
@click.option("--name", metavar="NAME", callback=decode_words, help="What it is called (default: as its folder).")
@click.option(
    "--workspace",
    "workspaces",
    metavar="DIR|ID",
    multiple=True,
    help="Only this project sees it: a folder, or a workspace's id. May be given more than once.",
)
@click.pass_obj
def add(invocation: Invocation, folder: str, name: str | None, workspaces: tuple[str, ...]) -> None:
    """Read the memory repo in FOLDER, a clone of your own, beside your memory. Nothing is written into it.

    \b
    memrepo team add ~/team/core
    memrepo team add ~/team/ops --name ops --workspace .
    """
    from memrepo.settings import TeamRepo
    from memrepo.settings.editing import add_team_repo
    from memrepo.settings_file import read_settings_text
    from memrepo.surfaces.cli.settings import save_settings
    from memrepo.team import choose_name

    place = invocation.find_path(folder)
    repo = invocation.open(read_only=True, may_be_missing=True)
    ids = tuple(dict.fromkeys(invocation.find_workspace(repo, one).id for one in workspaces))
    new = TeamRepo(choose_name(place, name), place, ids)
    file = invocation.settings_file
    before = read_settings_text(file)
    save_settings(invocation, before, add_team_repo(before, new, file=str(file)))
    document = {"name": new.name, "path": str(new.path), "workspace_ids": list(ids)}
    where = f" in {', '.join(ids)}" if ids else ""
    invocation.output.emit(document, f"reading {escape_control(f'{new.path} as team {new.name}{where}')}")


@team.command()
@click.argument("name", callback=decode_words)
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Stop reading the team repo NAME, and empty its search index. Its folder stays as it is.

    \b
    memrepo team remove core
    """
    from memrepo.errors import SettingsError
    from memrepo.reader import purge_cached
    from memrepo.settings import parse_settings
    from memrepo.settings.editing import remove_team_repo
    from memrepo.settings_file import read_settings_text, write_settings_text

    file = invocation.settings_file
    before = read_settings_text(file)
    after = remove_team_repo(before, name, file=str(file))
    with suppress(SettingsError):  # of faulty settings nothing was searched
        known = parse_settings(before, file=str(file)).team_repos
        for path in (repo.path for repo in known if repo.name == name):
            purge_cached(path, invocation.locations.cache)
    write_settings_text(file, after, before=before)
    invocation.output.emit({"name": name}, f"no longer read: {escape_control(name)}")


def _list(invocation: Invocation) -> None:
    repo = invocation.open(read_only=True, may_be_missing=True)
    found = repo.look_at_teams()
    document = {"teams": [_describe(state) for state in found]}
    rows = [
        (repo.name, ", ".join(repo.workspace_ids) or "every workspace", str(repo.path) + (f" ({why})" if why else ""))
        for repo, why, _ in found
    ]
    invocation.output.emit(document, invocation.output.format_rows(rows))
    for state in found:
        if state.why:
            invocation.output.tell(f"hint: {escape_control(state.hint)}")
    if not found:
        invocation.output.tell("no team repos; to add one: memrepo team add FOLDER")


def _describe(state: TeamState) -> dict[str, object]:
    repo = state.repo
    return {
        "name": repo.name,
        "path": str(repo.path),
        "workspace_ids": list(repo.workspace_ids),
        "is_read": not state.why,
        "why": state.why,
    }
