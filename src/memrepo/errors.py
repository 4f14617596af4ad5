"""Every exception memrepo raises on purpose. This module imports nothing of ours.

    MemrepoError
    ├── UserError          the request cannot be understood or found
    │   ├── NotFound
    │   ├── InvalidInput
    │   ├── SettingsError
    │   └── PathRefused
    ├── Refused            a rule said no
    │   ├── TooLarge
    │   ├── ApprovalNeeded
    │   ├── AnswerRefused
    │   ├── ReadOnly
    │   └── ArrivalRefused
    ├── Conflict           someone else changed it
    │   ├── ChangedOnDisk
    │   ├── StaleRef
    │   ├── MergeConflict
    │   ├── NothingToCommit
    │   ├── SideEmptied
    │   └── HistoryReplaced
    ├── Busy               held by another process, or too slow; try again
    │   ├── LockBusy
    │   ├── SourceBusy
    │   ├── ModelFailed
    │   └── GitTimeout
    ├── RepositoryFault    an invariant of the folder or of the store is broken
    │   ├── WorkTreeBlocked
    │   ├── ConfigRefused
    │   ├── GitMissing
    │   ├── DiskFault
    │   ├── StoreFault
    │   ├── SourceFault
    │   ├── BackupFault
    │   └── ExportFault
    └── GitFailed          git ran and said no
        └── RemoteFailed

Errors carry facts; surfaces add exit codes and statuses (`surfaces/present.py` holds the only table). No error may
hold a secret or a whole memory.
"""

from __future__ import annotations

from typing import ClassVar


class MemrepoError(Exception):
    """Base of all errors: a stable `code`, a `message`, a `hint` (the exact next command, or "") and declared `facts`.

    `facts` may only use the names that the class lists in `fact_names`; a fact left out is absent, not None.
    """

    code: ClassVar[str] = "memrepo-error"
    fact_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, message: str, *, hint: str = "", **facts: object) -> None:
        unknown = set(facts) - set(self.fact_names)
        if unknown:
            raise TypeError(f"{type(self).__name__} declares no fact {sorted(unknown)}")
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts: dict[str, object] = facts


class UserError(MemrepoError):
    """The request cannot be understood, or names something that is not there."""

    code = "user-error"


class NotFound(UserError):
    """Nothing answers to that name."""

    code = "not-found"
    fact_names = ("what", "name")


class InvalidInput(UserError):
    """A value is not of the form it must have; `faults` may hold many at once, each `(where, why)`."""

    code = "invalid-input"
    fact_names = ("file", "line", "key", "value", "faults")


class SettingsError(UserError):
    """The settings file has faults; all of them are in `faults`, each `(key, line or None, why)`."""

    code = "settings-error"
    fact_names = ("file", "faults")


class PathRefused(UserError):
    """A path may not be used; `rule` names which rule of the path said so."""

    code = "path-refused"
    fact_names = ("path", "rule")


class Refused(MemrepoError):
    """A rule said no."""

    code = "refused"
    fact_names: ClassVar[tuple[str, ...]] = ("rule", "actor", "action", "target")


class TooLarge(Refused):
    """A limit would be passed: `limit` and `actual` in `unit`, and `where_instead` a repo path or ""."""

    code = "too-large"
    fact_names = ("rule", "actor", "action", "target", "limit", "actual", "unit", "where_instead")


class ApprovalNeeded(Refused):
    """The act is allowed only after the user said yes to `approval`."""

    code = "approval-needed"
    fact_names = ("rule", "actor", "action", "target", "approval")


class ReadOnly(Refused):
    """This process opened the repo for reading only."""

    code = "read-only"


class ArrivalRefused(Refused):
    """Files that came from the remote, or would go there, break a rule; `faults` names each as `(path, why)`."""

    code = "arrival-refused"
    fact_names = ("rule", "actor", "action", "target", "faults")


class AnswerRefused(Refused):
    """A model's answer is of no form that may be applied; `faults` says what is wrong, never the answer itself."""

    code = "answer-refused"
    fact_names = ("rule", "actor", "action", "target", "faults")


class Conflict(MemrepoError):
    """Someone else changed what this act was based on; nothing was written."""

    code = "conflict"


class ChangedOnDisk(Conflict):
    """The file no longer has the digest it was read with."""

    code = "changed-on-disk"
    fact_names = ("path", "expected", "actual")


class StaleRef(Conflict):
    """The line no longer carries that entry; recall again."""

    code = "stale-ref"
    fact_names = ("ref", "expected", "actual")


class MergeConflict(Conflict):
    """Two changes cannot both stand."""

    code = "merge-conflict"
    fact_names = ("paths",)


class NothingToCommit(Conflict):
    """git sees no difference to the last commit."""

    code = "nothing-to-commit"


class SideEmptied(Conflict):
    """One side suddenly lost everything; a person must say that it is meant."""

    code = "side-emptied"
    fact_names = ("side", "before", "after")


class HistoryReplaced(Conflict):
    """The remote and this folder share no history any more, and nothing says what either side forgot since."""

    code = "history-replaced"


class Busy(MemrepoError):
    """Held by another process, or too slow; the same call may go through later."""

    code = "busy"


class LockBusy(Busy):
    """Another process writes; `holder_pid` and `held_since` (ISO 8601 UTC) as its lock file says."""

    code = "lock-busy"
    fact_names = ("lock", "holder_pid", "held_since", "waited_s")


class SourceBusy(Busy):
    """Another program holds the database that facts come from, or go back to."""

    code = "source-busy"
    fact_names = ("path",)


class ModelFailed(Busy):
    """A language model did not answer: `model` names it, `status` is that of HTTP or of a command."""

    code = "model-failed"
    fact_names = ("model", "status", "attempts")


class GitTimeout(Busy):
    """git did not finish within `timeout_s` seconds and was ended."""

    code = "git-timeout"
    fact_names = ("argv", "timeout_s")


class RepositoryFault(MemrepoError):
    """An invariant is broken: `invariant` names which."""

    code = "repository-fault"
    fact_names: ClassVar[tuple[str, ...]] = ("invariant", "path")


class WorkTreeBlocked(RepositoryFault):
    """The work tree is in a state in which the service does not write; `state` names it."""

    code = "work-tree-blocked"
    fact_names = ("invariant", "path", "state", "paths")


class ConfigRefused(RepositoryFault):
    """The repo's git configuration could run a program or redirect traffic; `key` names the setting."""

    code = "config-refused"
    fact_names = ("invariant", "path", "key")


class GitMissing(RepositoryFault):
    """There is no git program, or it is too old."""

    code = "git-missing"
    fact_names = ("invariant", "path", "version")


class DiskFault(RepositoryFault):
    """The file system refused a read or a write: no space, no permission, input/output error."""

    code = "disk-fault"
    fact_names = ("invariant", "path", "errno_name")


class StoreFault(RepositoryFault):
    """The private store cannot be opened or is damaged."""

    code = "store-fault"
    fact_names = ("invariant", "path")


class SourceFault(RepositoryFault):
    """The database that facts come from, or go back to, cannot be used; `missing` names what it lacks."""

    code = "source-fault"
    fact_names = ("invariant", "path", "missing")


class BackupFault(RepositoryFault):
    """A backup cannot be read or written: damaged, another program's, or locked with a key that is not there."""

    code = "backup-fault"
    fact_names = ("invariant", "path")


class ExportFault(RepositoryFault):
    """An export cannot be brought back: damaged, unsafe, of a newer memrepo, or none; `name` is which part of it."""

    code = "export-fault"
    fact_names = ("invariant", "path", "name")


class GitFailed(MemrepoError):
    """git ran and failed: `argv`, `exit_code` and the first lines of its `stderr`, credentials removed."""

    code = "git-failed"
    fact_names = ("argv", "exit_code", "stderr")


class RemoteFailed(GitFailed):
    """The private remote could not be reached, or refused what was sent."""

    code = "remote-failed"
