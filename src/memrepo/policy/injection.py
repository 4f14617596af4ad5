"""Whether a task sees personal memory at all: one decision, with its reason. Pure.

The same answer opens the prompt block, the search and the reading of files; nothing else may open them. What is not
known to be allowed is denied, by the first rule that says so.
Source: memory repo design (seed 1) §6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memrepo.model import Gateway, Privacy, Role

if TYPE_CHECKING:
    from memrepo.model import TaskContext


class InjectionReason(StrEnum):
    """Why memory is on or off for a task. In the order in which the rules are asked; `ON` is the only yes."""

    DISABLED = "disabled"
    NO_MEMORY = "no_memory"
    NOT_RETAINED = "not_retained"
    SUB_AGENT = "sub_agent"
    VERIFIER = "verifier"
    GROUP = "group"
    PUBLIC = "public"
    NOT_OWNER = "not_owner"
    WORKSPACE_OFF = "workspace_off"
    WORKSPACE_DISABLED = "workspace_disabled"
    ON = "on"


WHY = {
    InjectionReason.DISABLED: "memory is switched off in the settings (enabled = false)",
    InjectionReason.NO_MEMORY: "the user said <no-memory> in this task",
    InjectionReason.NOT_RETAINED: "the task keeps no memory",
    InjectionReason.SUB_AGENT: "a sub-agent sees no personal memory",
    InjectionReason.VERIFIER: "a verifier sees no personal memory",
    InjectionReason.GROUP: "personal memory is not shown in a group",
    InjectionReason.PUBLIC: "personal memory is not shown in public",
    InjectionReason.NOT_OWNER: "the sender is not the owner of this memory",
    InjectionReason.WORKSPACE_OFF: "memory is off in this workspace",
    InjectionReason.WORKSPACE_DISABLED: "this workspace's privacy is: disabled",
    InjectionReason.ON: "memory is on",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """Yes or no, and the rule that said so."""

    is_allowed: bool
    reason: InjectionReason

    @property
    def why(self) -> str:
        """The reason in words."""
        return WHY[self.reason]


def decide_injection(task: TaskContext, *, is_enabled: bool) -> Decision:
    """Decides whether a task sees personal memory; `is_enabled` is the user's setting.

    A `strict` workspace sees it: strict keeps what is learned there from leaving, not the user's memory from coming in.
    That the workspace itself may be read is not asked: the repo is outside of it.
    """
    reason = _find_reason(task, is_enabled=is_enabled)
    return Decision(reason is InjectionReason.ON, reason)


def _find_reason(task: TaskContext, *, is_enabled: bool) -> InjectionReason:
    workspace = task.workspace
    rules = (
        (not is_enabled, InjectionReason.DISABLED),
        (task.no_memory or _said_no_memory(task), InjectionReason.NO_MEMORY),
        (not task.retains_memory, InjectionReason.NOT_RETAINED),
        (task.role is Role.SUB_AGENT, InjectionReason.SUB_AGENT),
        (task.role is not Role.MAIN, InjectionReason.VERIFIER),
        (task.gateway is Gateway.GROUP, InjectionReason.GROUP),
        (task.gateway is not Gateway.PRIVATE, InjectionReason.PUBLIC),
        (not task.sender_is_owner, InjectionReason.NOT_OWNER),
        (workspace is not None and not workspace.memory_enabled, InjectionReason.WORKSPACE_OFF),
        (workspace is not None and workspace.privacy is Privacy.DISABLED, InjectionReason.WORKSPACE_DISABLED),
    )
    return next((reason for is_off, reason in rules if is_off), InjectionReason.ON)


def _said_no_memory(task: TaskContext) -> bool:
    if not task.user_messages:
        return False
    from memrepo.policy.screen import has_no_memory

    return has_no_memory(task.user_messages)
