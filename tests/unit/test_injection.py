"""Who sees personal memory: the whole table, and that nothing but one row of it says yes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from memrepo.model import Gateway, Privacy, Role, TaskContext, Workspace
from memrepo.policy.injection import WHY, InjectionReason, decide_injection

WORKSPACES = (
    None,
    *(Workspace("w", "W", memory_enabled=on, privacy=privacy) for on in (True, False) for privacy in Privacy),
)
MARKS = ((False, ()), (True, ()), (False, ("please <No-Memory/> now",)))
TABLE = list(product((True, False), MARKS, (True, False), Role, Gateway, (True, False), WORKSPACES))


def test_the_whole_table() -> None:
    assert len(TABLE) == 2 * 3 * 2 * 3 * 3 * 2 * 7
    for is_enabled, (no_memory, messages), retains, role, gateway, is_owner, workspace in TABLE:
        task = TaskContext(
            no_memory=no_memory,
            user_messages=messages,
            retains_memory=retains,
            role=role,
            gateway=gateway,
            sender_is_owner=is_owner,
            workspace=workspace,
        )
        decision = decide_injection(task, is_enabled=is_enabled)
        is_on = (
            is_enabled
            and not no_memory
            and not messages
            and retains
            and role is Role.MAIN
            and gateway is Gateway.PRIVATE
            and is_owner
            and (workspace is None or (workspace.memory_enabled and workspace.privacy is not Privacy.DISABLED))
        )
        assert decision.is_allowed is is_on, task
        assert (decision.reason is InjectionReason.ON) is is_on


OFF = Workspace("w", "W", memory_enabled=False)
DISABLED = Workspace("w", "W", privacy=Privacy.DISABLED)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"no_memory": True}, "no_memory"),
        ({"user_messages": ("a", "x <no-memory>")}, "no_memory"),
        ({"retains_memory": False}, "not_retained"),
        ({"role": Role.SUB_AGENT}, "sub_agent"),
        ({"role": Role.VERIFIER}, "verifier"),
        ({"gateway": Gateway.GROUP}, "group"),
        ({"gateway": Gateway.PUBLIC}, "public"),
        ({"sender_is_owner": False}, "not_owner"),
        ({"workspace": OFF}, "workspace_off"),
        ({"workspace": DISABLED}, "workspace_disabled"),
        ({}, "on"),
    ],
)
def test_each_rule_alone_names_itself(change: dict[str, object], reason: str) -> None:
    decision = decide_injection(replace(TaskContext(), **change), is_enabled=True)  # type: ignore[arg-type]
    assert decision.reason == reason
    assert decision.why


def test_the_setting_alone_names_itself() -> None:
    assert decide_injection(TaskContext(), is_enabled=False).reason == "disabled"


def test_a_strict_workspace_sees_memory_for_strict_is_about_what_leaves() -> None:
    strict = Workspace("w", "W", privacy=Privacy.STRICT)
    assert decide_injection(TaskContext(workspace=strict), is_enabled=True).is_allowed


def test_every_reason_is_told_in_words() -> None:
    assert set(WHY) == set(InjectionReason)
