"""What comes into a memory repo from elsewhere and what leaves it: imports, exports, and the way back.

The middle of the front door: a reader that also brings in and takes out; `app.MemoryRepo` wires the rest.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from memrepo.profiles import find_default_root, find_profile_folder, find_settings_file
from memrepo.reader import MemoryReader

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence

    from memrepo.export import ExportReport
    from memrepo.files.atomic import FileSnapshot
    from memrepo.git.client import GitClient
    from memrepo.importers.plan import ImportPlan, ImportReport
    from memrepo.model import Locations, RepoPath, Workspace
    from memrepo.planning.export_rows import ExportPlan, RetirePlan
    from memrepo.portable.leaving import LeaveReport
    from memrepo.portable.returning import ReturnReport
    from memrepo.retirement import RestoreReport, RetireReport
    from memrepo.service import MemoryRepoService
    from memrepo.store.cowork import SourceTable


class MemoryExchange(MemoryReader):
    """One memory repo, to bring facts into and to take them out of."""

    was_created: bool
    _clock: Callable[[], dt.datetime]

    @property
    @abstractmethod
    def service(self) -> MemoryRepoService:
        """The only door that changes the repo."""

    @property
    @abstractmethod
    def is_missing(self) -> bool:
        """Whether there is no repo yet."""

    @property
    @abstractmethod
    def has_git_program(self) -> bool:
        """Whether git is there at all."""

    @property
    @abstractmethod
    def workspaces(self) -> Sequence[Workspace]:
        """The workspaces that the settings know."""

    @abstractmethod
    def find_git(self) -> GitClient | None:
        """The git verbs of this repo, None without a history."""

    # From a host's database

    @property
    def exported_at_ms(self) -> int | None:
        """When an export came to its end, see `export.find_marker`."""
        from memrepo.export import find_marker

        return None if self.is_missing else find_marker(self.root)

    def plan_export(self, database: Path) -> ExportPlan:
        """Decides what an export of a database would write. Errors: those of `read_table`. Changes: nothing."""
        from memrepo.planning.export_rows import Held, plan_export
        from memrepo.store.cowork import read_table

        table = read_table(database)
        held = Held(() if self.is_missing else self.iter_entries())
        return plan_export(table, held, workspaces=self._find_known_workspace, now=self._clock())

    def run_export(
        self, plan: ExportPlan, *, progress: Callable[[int, int], None] = lambda _, __: None
    ) -> ExportReport:
        """Writes the facts of a plan. Errors: those of `export.run_export`; Refused while memory is off."""
        from memrepo.export import run_export

        self._require_enabled("export")
        return run_export(self.service, plan, now=self._clock(), progress=progress)

    # From notes, exports and other memories

    def import_from(
        self, source: Path, *, format_name: str | None = None, workspace: Workspace | None = None
    ) -> ImportReport:
        """Brings what a folder, a file or an archive says to the inbox, in one commit; the source stays as it is.

        `format_name` is one of `importers.formats.Format`, None: found out; `workspace` is where its facts hold, None:
        everywhere, unless the source says otherwise. Errors: those of `plan_import` and `run_import`.
        """
        return self.run_import(self.plan_import(source, format_name=format_name, workspace=workspace))

    def plan_import(
        self, source: Path, *, format_name: str | None = None, workspace: Workspace | None = None
    ) -> ImportPlan:
        """Decides what an import would bring. Changes: nothing.

        Errors: those of `importers.reading.read_source`; PathRefused for a source in the memory folder; InvalidInput
        for a format that there is not.
        """
        from memrepo.files.atomic import read_file
        from memrepo.importers.formats import get_format
        from memrepo.importers.plan import plan_import
        from memrepo.importers.reading import read_source
        from memrepo.model import INBOX_FILE, SWARMS_FOLDER
        from memrepo.planning.draft import Draft

        self._require_outside(source, "nothing was imported", hint="to see what it holds: memrepo ls")
        reading = read_source(source, chosen=get_format(format_name) if format_name is not None else None)
        read = _read_nothing if self.is_missing else lambda path: read_file(self.root, path)
        entries = () if self.is_missing else self.iter_entries()
        return plan_import(
            reading,
            held={one.hash for one in entries if not one.ref.path.startswith(f"{SWARMS_FOLDER}/")},
            inbox=Draft(read).file(INBOX_FILE),
            workspaces=self._find_known_workspace,
            today=self._clock().date(),
            workspace=workspace,
        )

    def run_import(self, plan: ImportPlan) -> ImportReport:
        """Writes the facts of a plan. Errors: those of `importers.plan.run_import`; Refused while memory is off."""
        from memrepo.importers.plan import run_import

        self._require_enabled("import")
        return run_import(self.service, plan)

    def plan_retirement(self, database: Path) -> RetirePlan:
        """Decides which rows `retire` would remove. Errors: those of `read_table`; Refused before an export."""
        from memrepo.retirement import require_export
        from memrepo.store.cowork import read_table

        require_export(self.root)
        return self._plan_retirement(read_table(database))

    def retire(self, database: Path, *, backup: Path | None = None) -> RetireReport:
        """Removes the rows whose text this folder holds, after an encrypted backup of them is proven.

        `backup` is a new file outside the memory folder; None: one in the data folder.
        Errors: those of `retirement.retire`; Refused before an export; PathRefused for a backup in the memory folder.
        """
        from memrepo.backups import choose_name, get_key
        from memrepo.retirement import require_export, retire

        require_export(self.root)
        own = find_profile_folder(self.locations, self.profile)
        now = self._clock()
        backup = backup or choose_name(own / "backups", f"{now:%Y%m%d-%H%M%S}")
        self._require_outside(backup, "no row was removed", hint="choose a place outside of it: --backup FILE")
        return retire(database, plan=self._plan_retirement, get_key=lambda: get_key(own), backup=backup, now=now)

    def restore(self, backup: Path, *, into: Path | None = None, key: Path | None = None) -> RestoreReport:
        """Puts the rows of a backup back, once. `key`: the file of its key, None for the one in the data folder.

        Errors: those of `retirement.restore` and `backups.read_key`.
        """
        from memrepo.backups import KEY_NAME, read_key
        from memrepo.retirement import restore

        place = key or find_profile_folder(self.locations, self.profile) / KEY_NAME
        return restore(backup, key=lambda: read_key(place), into=into)

    def _plan_retirement(self, table: SourceTable) -> RetirePlan:
        from memrepo.planning.export_rows import Held, plan_retirement

        held = Held(self.iter_entries())
        return plan_retirement(table, held, workspaces=self._find_known_workspace, now=self._clock())

    # Leaving whole, and coming back

    def export_to(self, target: Path, *, form: str | None = None) -> LeaveReport:
        """Writes all that the user owns of this memory to a new path; `form` is `folder`, `zip` or `json`.

        None: as the end of the name says. Errors: those of `portable.leaving.export_memory`; PathRefused for a path in
        the memory folder; InvalidInput for another form. Changes: the new path.
        """
        from memrepo import __version__
        from memrepo.errors import InvalidInput
        from memrepo.lock import WriteLock
        from memrepo.portable.containers import Form, choose_form
        from memrepo.portable.leaving import Memory, export_memory
        from memrepo.settings_file import read_settings_text

        if form is not None and form not in set(Form):
            raise InvalidInput(f"{form!r} is no form of an export", hint="folder, zip or json", key="form", value=form)
        self._require_outside(target, "nothing was exported", hint="choose a place outside of it")
        memory = Memory(
            root=self.root,
            git=self.find_git(),
            lock=WriteLock(self.root / ".git"),
            store=self.store.find(),
            settings_text=read_settings_text(find_settings_file(self.locations, self.profile)),
        )
        chosen = choose_form(target) if form is None else Form(form)
        return export_memory(memory, target, chosen, program=f"memrepo {__version__}", now=self._clock())

    def init_from(self, export: Path) -> ReturnReport:
        """Makes the memory from an export, where there is none: opened with `create=False, may_be_missing=True`.

        Errors: those of `portable.returning.import_memory`. Changes: the folder, the private store, the settings when
        there are none; this object goes on with the settings that it was opened with.
        """
        from memrepo.portable.returning import Place, import_memory

        def check_settings(text: str) -> None:
            from memrepo.settings import parse_settings

            workspaces = parse_settings(text, file="settings.toml").workspaces
            check_root(self.root, locations=self.locations, home=self._home, workspaces=workspaces)

        place = Place(
            root=self.root,
            usual_root=find_default_root(self.locations, self._home, self.profile),
            settings_file=find_settings_file(self.locations, self.profile),
            store=self.store,
            has_git=self.has_git_program,
            now=self._clock(),
            check_settings=check_settings,
        )
        report = import_memory(export, place)
        self.was_created = True
        return report

    def _find_known_workspace(self, workspace_id: str) -> Workspace | None:
        return next((known for known in self.workspaces if known.id == workspace_id), None)

    def _require_enabled(self, action: str) -> None:
        from memrepo.errors import Refused

        if not self.settings.enabled:
            raise Refused(
                f"memory is off; the {action} wrote nothing",
                hint="memrepo settings set enabled true",
                rule="enabled",
                action=action,
                target=str(self.root),
            )

    def _require_outside(self, place: Path, what_then: str, *, hint: str) -> None:
        from memrepo.errors import PathRefused

        if Path(os.path.realpath(place)).is_relative_to(os.path.realpath(self.root)):
            raise PathRefused(
                f"{place} is in the memory folder; {what_then}", hint=hint, path=str(place), rule="inside-memory"
            )


def check_root(
    path: Path | str,
    *,
    locations: Locations,
    home: Path,
    workspaces: Sequence[Workspace],
    is_memory_repo: Callable[[Path], bool] | None = None,
    others: Sequence[Path] = (),
) -> Path:
    """Returns the folder when it may hold a memory repo; git is asked unless `is_memory_repo` answers for it.

    `others` are roots in use that it must not overlap.

    Errors: PathRefused naming the rule.
    """
    from memrepo.files.roots import validate_root

    if is_memory_repo is None:
        from memrepo.git.gate import is_repository

        is_memory_repo = is_repository
    return validate_root(
        path,
        home=home,
        config=locations.config,
        data=locations.data,
        workspaces=workspaces,
        is_memory_repo=is_memory_repo,
        others=others,
    )


def _read_nothing(path: RepoPath) -> FileSnapshot:
    """Stands in for the files of a folder that is not there yet."""
    from memrepo.files.atomic import FileSnapshot

    return FileSnapshot(path, None, None)
