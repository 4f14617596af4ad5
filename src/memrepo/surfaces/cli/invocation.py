"""What one run of the command line carries: the global options, the surroundings, the output, the opened repo."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from memrepo.errors import ApprovalNeeded, InvalidInput, Refused
from memrepo.surfaces.cli.output import Output
from memrepo.surfaces.environment import find_current_folder, read_environment

if TYPE_CHECKING:
    from pathlib import Path

    from memrepo.app import MemoryRepo
    from memrepo.model import Locations, Workspace
    from memrepo.surfaces.environment import Environment


@dataclass(slots=True)
class GlobalOptions:
    """The options that stand before or after the command; the last one given counts."""

    path: str | None = None
    profile: str = "default"
    as_json: bool = False


class Invocation:
    """One run. What a command does not ask for is neither read nor opened."""

    def __init__(self) -> None:
        self.options = GlobalOptions()

    @cached_property
    def environment(self) -> Environment:
        return read_environment()

    @cached_property
    def output(self) -> Output:
        return Output(self)

    @cached_property
    def locations(self) -> Locations:
        from memrepo.locations import find_locations

        return find_locations(self.environment.memrepo_home)

    @cached_property
    def settings_file(self) -> Path:
        from memrepo.profiles import check_profile, find_settings_file

        return find_settings_file(self.locations, check_profile(self.options.profile))

    def open(self, *, create: bool = False, read_only: bool = False, may_be_missing: bool = False) -> MemoryRepo:
        """Opens the memory repo of the options; it is closed when the command ends.

        `create` makes a missing or empty folder a memory repo; without it NotFound says how to make one, unless
        `may_be_missing`.
        """
        import click

        from memrepo.app import MemoryRepo

        repo = MemoryRepo.open(
            locations=self.locations,
            home=self.environment.home,
            profile=self.options.profile,
            path=self.find_path(self.options.path) if self.options.path is not None else None,
            read_only=read_only,
            create=create,
            may_be_missing=may_be_missing,
        )
        click.get_current_context().call_on_close(repo.close)
        return repo

    def warn_without_history(self, repo: MemoryRepo) -> None:
        """Tells on stderr that nothing of this can be undone, when that is so."""
        if repo.has_git:
            return
        why = "it was made without git; memrepo doctor --fix starts one" if repo.has_git_program else "git not found"
        self.output.tell(f"memrepo: warning: memory has no history: {why}")

    def find_path(self, raw: str) -> Path:
        """The absolute path that a path on the command line means. Errors: InvalidInput for none."""
        import os
        from pathlib import Path

        if not raw.strip():
            raise InvalidInput(
                "the path is empty", hint="give a folder, for example: --path ~/notes/memory", key="--path"
            )
        place = Path(raw).expanduser() if raw.startswith("~") else Path(raw)
        return place if place.is_absolute() else Path(os.path.normpath(find_current_folder() / place))

    def find_workspace(self, repo: MemoryRepo, argument: str) -> Workspace:
        """The workspace that a `DIR|ID` on the command line means. Errors: InvalidInput."""
        return repo.find_workspace(argument, current_folder=find_current_folder())

    def confirm(self, question: str, *, action: str, is_confirmed: bool, option: str = "--yes") -> None:
        """Goes on only when the user said yes: with the option, or on the terminal.

        Errors: ApprovalNeeded when nobody can be asked, Refused when the answer is no; nothing was changed then.
        """
        if is_confirmed:
            return
        if self.options.as_json or not self.environment.can_ask:
            raise ApprovalNeeded(
                f"{action} needs your confirmation",
                hint=f"to confirm, run it again with {option}",
                rule="confirmation",
                action=action,
                approval="yes",
            )
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().casefold() not in {"y", "yes"}:
            raise Refused("not confirmed; nothing was changed", rule="confirmation", actor="user", action=action)
