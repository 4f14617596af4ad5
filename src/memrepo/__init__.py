"""memrepo: long-term memory for AI agents, kept as a git repository of Markdown that the user owns.

    from memrepo import MemoryRepo, TaskContext

    with MemoryRepo.open() as repo:
        repo.remember("Prefers tabs over spaces", TaskContext.for_user())

`docs/library.md` shows all of it. A name is loaded when it is first asked for, so that importing this package costs
nothing: the program and its hooks start through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.errors import (
        ApprovalNeeded,
        Busy,
        Conflict,
        GitFailed,
        InvalidInput,
        MemrepoError,
        NotFound,
        Refused,
        RepositoryFault,
        StaleRef,
        UserError,
    )
    from memrepo.format.refs import parse_ref
    from memrepo.locations import find_locations
    from memrepo.model import (
        Actor,
        Author,
        Candidate,
        ContextBlock,
        EntryFilter,
        Gateway,
        Kind,
        Locations,
        Origin,
        Reason,
        Ref,
        Role,
        Scope,
        Taint,
        TaskContext,
        Workspace,
        WriteAction,
        WriteResult,
        WriteStatus,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "Actor",
    "ApprovalNeeded",
    "Author",
    "Busy",
    "Candidate",
    "Conflict",
    "ContextBlock",
    "EntryFilter",
    "Gateway",
    "GitFailed",
    "InvalidInput",
    "Kind",
    "Locations",
    "MemoryRepo",
    "MemrepoError",
    "NotFound",
    "Origin",
    "Reason",
    "Ref",
    "Refused",
    "RepositoryFault",
    "Role",
    "Scope",
    "StaleRef",
    "Taint",
    "TaskContext",
    "UserError",
    "Workspace",
    "WriteAction",
    "WriteResult",
    "WriteStatus",
    "find_locations",
    "parse_ref",
]

if not TYPE_CHECKING:
    _ELSEWHERE = {"MemoryRepo": "app", "find_locations": "locations", "parse_ref": "format.refs"}

    def __getattr__(name: str) -> object:
        """Loads a public name from the module that holds it (PEP 562)."""
        if name not in __all__:
            raise AttributeError(f"module 'memrepo' has no attribute {name!r}")
        from importlib import import_module

        homes = (_ELSEWHERE[name],) if name in _ELSEWHERE else ("model", "errors")
        modules = [import_module(f"memrepo.{home}") for home in homes]
        value = next(vars(module)[name] for module in modules if name in vars(module))
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
