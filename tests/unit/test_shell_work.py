"""The judgement of a shell command ends after a bounded number of steps, and doubt is no leave."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from memrepo.policy import shell_commands
from memrepo.policy.shell_budget import WORK_LIMIT_STEPS, TooMuchWork, WorkBudget

HOME = PurePosixPath("/home/me")
ROOT = HOME / "CoWork Memory"
REMOVAL = "; rm -rf ~/CoWork\\ Memory"


def judge(command: str) -> str | None:
    return shell_commands.find_memory_touch(command, roots=[ROOT], home=HOME, folder=HOME / "proj", is_readable=True)


HEAVY = {
    "folders": "cd a;" * 40_000,
    "folders of patterns": "cd */*/*; " * 16 + "cat " + "*/x " * 20_000,
    "commands in commands": "eval " * 50_000,
    "patterns": "cat " + "*/x " * 20_000,
    "deep patterns": "rm " + ("/*" * 2000 + " ") * 60,
    "braces": "echo " + "{a,b}" * 40_000,
    "substitutions": "echo " + "$(" * 10_000 + ")" * 10_000,
    "defaults": "echo " + "${a:-" * 20_000 + "}" * 20_000,
    "backticks": "echo " + "`a` " * 40_000,
    "classes": "echo " + "[" * 100_000,
    "assignments": "a=1 " * 60_000,
    "a value that doubles": "A=xx;" + "A=$A$A;" * 60 + "echo $A",
    "a long value many times": "A=" + "x" * 60_000 + ";echo " + "$A" * 40_000,
    "unknown folders and back": "cat " + ("$x/../" * 600 + " ") * 60,
    "pieces": "echo " + ("a:" * 2000 + " ") * 60,
    "wrappers": "timeout bash env sudo nice nohup " * 40,
    "commands": "a&" * 100_000,
}


@pytest.mark.parametrize("command", HEAVY.values(), ids=HEAVY)
def test_too_much_work_is_denied_only_when_memory_is_named(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[WorkBudget] = []

    def make_budget() -> WorkBudget:
        budgets.append(WorkBudget())
        return budgets[-1]

    monkeypatch.setattr(shell_commands, "WorkBudget", make_budget)
    assert judge(command) in {None, shell_commands.OPAQUE}
    assert judge(command + REMOVAL) is not None
    assert judge("rm -rf ~/CoWork\\ Memory; " + command) is not None
    assert all(budget.left >= -WORK_LIMIT_STEPS for budget in budgets)  # no single step was another judgement's worth


@pytest.mark.parametrize(
    "command",
    [
        "cat > x.py <<'E'\n" + "print('a line of a program')\n" * 6000 + "E\n",
        "cat > x.py <<'E'\n" + "print('a line of a program')\n" * 6000 + "E\nrm -rf build",
        'python3 -c "' + "print('a line')\n" * 10_000 + '"',
        "echo '" + "some text " * 20_000 + "'",
        "\n".join(f"cp src/{n}.py build/{n}.py" for n in range(300)),
        "git add " + " ".join(f"src/module_{n}.py" for n in range(1000)),
    ],
)
def test_long_everyday_commands_are_judged_to_their_end(command: str) -> None:
    assert judge(command) is None
    assert judge(command + "\nrm ~/C?*/me.md") == shell_commands.CHANGES  # no name in it: it was read


def test_a_spent_budget_says_so() -> None:
    budget = WorkBudget(2)
    budget.spend(2)
    with pytest.raises(TooMuchWork):
        budget.spend()
