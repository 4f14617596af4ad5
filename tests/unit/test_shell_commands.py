"""Shell commands that name a memory root pass only as plain reads, whatever tricks they are written with."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.policy.shell_commands import find_memory_touch

HOME = PurePosixPath("/home/me")
ROOT = HOME / "CoWork Memory"
PROJECT = HOME / "proj"


def judge(command: str, *, folder: PurePosixPath | None = PROJECT, is_readable: bool = True) -> str | None:
    return find_memory_touch(command, roots=[ROOT], home=HOME, folder=folder, is_readable=is_readable)


DENIED = [
    # Ways to write the path
    r"rm -rf ~/CoWork\ Memory",
    'rm -rf "$HOME/CoWork Memory"',
    'rm -rf "${HOME}/CoWork Memory"',
    "rm -rf '/home/me/CoWork Memory'",
    """rm -rf /home/me/Co'Work'" "Memory""",
    r"rm -rf $'/home/me/CoWork\x20Memory'",
    r"rm -rf ~me/CoWork\ Memory",
    r"rm ../CoWork\ Memory/me.md",
    r"rm -rf /home/me/proj/../CoWork\ Memory",
    r"rm -rf //home/me/./CoWork\ Memory",
    r"rm -rf /proc/self/root/home/me/CoWork\ Memory",
    r"rm -rf ~/cowork\ memory",
    'rm -rf "~/CoWork Memory',
    "rm -rf ~/CoWork\\\n\\ Memory",
    # Patterns, braces and variables
    "rm -rf ~/CoWork*",
    "rm -rf ~/*",
    "rm -rf ~/C?Work*",
    "rm -rf ~/[C]oWork*",
    r"rm -rf ~/{CoWork\ Memory,x}",
    r'D=~/CoWork\ Memory; rm -rf "$D"',
    'A=CoWork; B=Memory; rm -rf "$HOME/$A $B"',
    'export D="$HOME/CoWork Memory" && rm -r $D',
    'rm -rf "$X/CoWork Memory"',
    "# a comment \\\nrm -rf ~/CoWork\\ Memory",
    r"HOME=/x; rm -rf ~/CoWork\ Memory",
    # Going there first
    r"cd ~/CoWork\ Memory && rm me.md",
    "cd ~ && rm -rf CoWork*",
    r"cd; rm -rf CoWork\ Memory",
    'pushd ~ ; rm -rf "CoWork Memory"',
    r"cd ~/CoWork\ Memory; git status",
    r"(cd ~/CoWork\ Memory; git reset --hard)",
    # Commands in commands
    """bash -c 'rm -rf "$HOME/CoWork Memory"'""",
    r"bash -c 'cd ~ && rm -rf CoWork\ Memory'",
    r'eval "rm -rf ~/CoWork\\ Memory"',
    r'"$SHELL" -c "rm -rf CoWork\ Memory"',
    """echo 'rm -rf "$HOME/CoWork Memory"' | bash""",
    "rm -rf $(echo ~)/CoWork*",
    r'rm -rf "$(echo /home/me/CoWork\ Memory)"',
    r"rm -rf `echo /home/me/CoWork\ Memory`",
    r"cat <(rm -rf ~/CoWork\ Memory)",
    r"sudo rm -rf ~/CoWork\ Memory",
    r"env X=1 rm -rf ~/CoWork\ Memory",
    r"X=1 rm -rf ~/CoWork\ Memory",
    r"trap 'rm -rf ~/CoWork\ Memory' EXIT",
    r"ls ~/CoWork\ Memory | xargs rm",
    r"xargs -I{} rm {} <<< ~/CoWork\ Memory/me.md",
    r'for f in ~/CoWork\ Memory/*; do rm "$f"; done',
    r"if true; then rm -rf ~/CoWork\ Memory; fi",
    "bash <<EOF\nrm -rf ~/CoWork\\ Memory\nEOF",
    r"$CMD ~/CoWork\ Memory",
    # Writing
    r"echo hi > ~/CoWork\ Memory/me.md",
    'echo hi >> "$HOME/CoWork Memory/me.md"',
    r": >| ~/CoWork\ Memory/me.md",
    r"cat x &>~/CoWork\ Memory/err",
    r"cat x 2>~/CoWork\ Memory/err",
    r"echo hi | tee ~/CoWork\ Memory/me.md",
    r"sed -i s/a/b/ ~/CoWork\ Memory/me.md",
    "cat > ~/CoWork\\ Memory/me.md <<EOF\nhi\nEOF",
    r"cp x ~/CoWork\ Memory/",
    r"mv /tmp/x ~/CoWork\ Memory/me.md",
    r"mv ~/CoWork\ Memory /tmp/x",
    r"ln -s ~/CoWork\ Memory link",
    r"dd if=/dev/null of=/home/me/CoWork\ Memory/me.md",
    r"truncate -s0 ~/CoWork\ Memory/me.md",
    r"sort -o ~/CoWork\ Memory/me.md x",
    r"find ~/CoWork\ Memory -delete",
    r"find ~/CoWork\ Memory -name '*.md' -exec rm {} +",
    r"tar czf /tmp/x.tgz ~/CoWork\ Memory",
    # Programs in other languages
    """python -c "open('/home/me/CoWork Memory/me.md','w')" """,
    """python3.11 -c "import os; os.remove(os.path.expanduser('~/CoWork Memory/me.md'))" """,
    """python3 -c "import os; os.chdir(os.environ['HOME']); os.remove('CoWork Memory/me.md')" """,
    "python <<'EOF'\nopen('/home/me/CoWork Memory/me.md','w')\nEOF",
    """perl -e 'unlink "/home/me/CoWork Memory/me.md"'""",
    """node -e "require('fs').rmSync(process.env.HOME + '/CoWork Memory', {recursive: true})" """,
    """awk 'BEGIN{print > "/home/me/CoWork Memory/me.md"}'""",
    # The git folder
    r"git -C ~/CoWork\ Memory log",
    'git --git-dir="$HOME/CoWork Memory/.git" log',
    r"cat ~/CoWork\ Memory/.git/config",
    r"cat ~/CoWork\ Memory/.g*/config",
    r"cat ~/CoWork\ Memory/$x",
    r"grep -r x ~/CoWork\ Memory",
    r"grep -r x ~/CoWork\ Memory --exclude-dir=.github",
    r"rg --hidden x ~/CoWork\ Memory",
    r"rg --pre sh x ~/CoWork\ Memory",
    # What only the shell knows, and then up again
    'rm "$(pwd)/../../CoWork Memory/me.md"',
    'D=$(pwd)/..; rm "$D/../CoWork Memory/me.md"',
    r"rm /proc/$$/cwd/../../CoWork\ Memory/me.md",
    'rm "$OLDPWD"/../CoWork*/me.md',
    "cd /proc/self/cwd/.. && rm -rf C*",
    # Values that the command makes itself
    ': ${R:=$HOME/CoWork Memory}; rm "$R/me.md"',
    'rm "${R:-$HOME/CoWork Memory}/me.md"',
    "X='rm -rf /home/me/CoWork*'; $X",
    r"rm$IFS$HOME/CoWork*/me.md",
    r"IFS=x; rm ~/*/me.md",
    r"HOME=/x; rm /home/me/*/me.md",
    """printf -v R '%s/%s %s' ~ CoWork Memory; rm "$R/me.md" """,
    """printf -v R "$HOME/CoWork %s" Memory; rm -rf "$R" """,
    'read d <<< "CoWork Memory"; rm -rf ~/"$d"',
    'for d in "CoWork Memory"; do rm -rf ~/"$d"; done',
    r'echo CoWork\ Memory | (read d; rm ~/"$d"/me.md)',
    'echo Memory | xargs -I{} rm "$HOME/CoWork {}/me.md"',
    "echo 'rm ~/C*/me.md' | sh",
    r"printf 'rm ~/C\x2a/me.md' | sh",
    "rm ~/C$(echo o)*",
    # Patterns
    "rm ~/[[:upper:]]oWork*/me.md",
    "rm ~/CoWork[' ']Memory/me.md",
    "rm ~/@(CoWork*)/me.md",
    r"rm ~/{CoWork\ Memory,x}/{",
    "sed -i s/a/b/ ~/**/*.md",
    "cd ~ && sed -i s/a/b/ **/*.md",
    "cd a;" * 20 + "cd ~; rm -rf C*",
    "rm -rf ~/{A..Z}*",
    "rm -rf {~,x}/C*",
    "curl file:///home/me/CoWork%20Memory/me.md",
    # Where it may be
    "cd ~; rm -rf $PWD/C*",
    "cd ~me; rm -rf C*",
    'rm -rf "${PWD%/*}"/C*',
    "rm -rf ${HOME%/}/C*",
    "rm -rf $(cd; pwd)/C*",
    # Text that becomes a command
    r"find . -exec sh -c 'rm ~/C*/me.md' \;",
    """bash -c "$(echo 'rm ~/C*/me.md')" """,
    "source <(echo 'rm ~/C*/me.md')",
    'x="~/C*"; eval rm -rf $x',
    "GIT_PAGER='rm ~/C*/me.md' git log",
    "alias r='rm -rf ~/C*'; r",
    # Options that write or run something
    r"sort --o=/home/me/CoWork\ Memory/me.md x",
    r"sed -n p ~/CoWork\ Memory/me.md -i",
    r"sed -Ei s/a/b/ ~/CoWork\ Memory/me.md",
    "sed -ne 'w /home/me/CoWork Memory/x' -e p a",
    "sed 's/x/y/w /home/me/CoWork Memory/me.md' a",
    r"awk '{print > FILENAME}' ~/CoWork\ Memory/me.md",
    r"awk -i inplace '{print}' ~/CoWork\ Memory/me.md",
    r"""awk '{system("rm " FILENAME)}' ~/CoWork\ Memory/me.md""",
    r"""awk '{while ("cat x" | getline) print}' ~/CoWork\ Memory/me.md""",
    r"uniq x ~/CoWork\ Memory/me.md",
    r"less -o ~/CoWork\ Memory/x a",
    r"less '+!rm x' ~/CoWork\ Memory/me.md",
    r"LESSOPEN='|rm %s' less ~/CoWork\ Memory/me.md",
    r"tree -o ~/CoWork\ Memory/x",
    r"RIPGREP_CONFIG_PATH=/tmp/x rg x ~/CoWork\ Memory",
    r"PATH=/tmp/evil:$PATH; cat ~/CoWork\ Memory/me.md",
    # PowerShell
    "Remove-Item $HOME/CoWork` Memory/me.md",
    "Remove-Item $HOME/CoWork` Memory/me.md; echo `n",
    'Remove-Item "$env:HOME/CoWork Memory/me.md"',
    'Remove-Item "$env:USERPROFILE\\CoWork Memory\\me.md"',
    'Set-Content -Path (Join-Path $HOME "CoWork Memory/me.md") -Value x',
    "Get-ChildItem ~ -Filter me.md -Recurse | Remove-Item",
    "pwsh -c 'Remove-Item ~/C*'",
    # Searches that take hidden files in
    r"rg -auu x ~/CoWork\ Memory",
    r"rg -u --unrestricted x ~/CoWork\ Memory",
    r"rg -. x ~/CoWork\ Memory",
    r"rg -g '.git/**' x ~/CoWork\ Memory",
    r"rg -lg '*' x ~/CoWork\ Memory",
    r"rg --iglob='**/.GI*/**' x ~/CoWork\ Memory",
    # A program of that name that is another
    r"/tmp/evil/cat ~/CoWork\ Memory/me.md",
    r"./cat ~/CoWork\ Memory/me.md",
    r"PATH=/tmp/evil:$PATH cat ~/CoWork\ Memory/me.md",
    r"LD_PRELOAD=/tmp/evil.so cat ~/CoWork\ Memory/me.md",
    # Folders above
    "rm -rf ~",
    "rm -rf $HOME",
    "rm -rf /home",
    "rm -r -f ..",
    "chmod -R 777 ~",
    "find ~ -delete",
]


@pytest.mark.parametrize("command", DENIED)
def test_what_may_change_memory_or_read_its_git_folder_is_denied(command: str) -> None:
    assert judge(command) is not None


READS = [
    r"cat ~/CoWork\ Memory/me.md",
    'ls -la "$HOME/CoWork Memory"',
    r"grep -n tabs ~/CoWork\ Memory/*.md",
    r"grep -rn --exclude-dir=.git tabs ~/CoWork\ Memory",
    r"rg tabs ~/CoWork\ Memory",
    r"/bin/cat ~/CoWork\ Memory/me.md",
    r"head -5 ~/CoWork\ Memory/me.md | wc -l",
    r"find ~/CoWork\ Memory -name '*.md'",
    r"stat ~/CoWork\ Memory/me.md",
    r"cd ~/CoWork\ Memory && ls && cat me.md",
    r"cat ~/CoWork\ Memory/me.md > out.txt",
    r"rg -g '*.md' tabs ~/CoWork\ Memory",
    r"sed -n 1,5p ~/CoWork\ Memory/me.md",
    r"awk -F: '{print $2}' ~/CoWork\ Memory/me.md | sort | uniq -c",
    r"less ~/CoWork\ Memory/me.md",
    r"tree ~/CoWork\ Memory",
    r"file ~/CoWork\ Memory/me.md",
    r"uniq -c ~/CoWork\ Memory/me.md",
]


@pytest.mark.parametrize("command", READS)
def test_a_plain_read_passes_where_the_memory_layer_is_on_only(command: str) -> None:
    assert judge(command) is None
    assert judge(command, is_readable=False) is not None


@pytest.mark.parametrize(
    "command",
    [
        "",
        "npm test && rm -rf node_modules/*",
        'git commit -m "CoWork docs"',
        "rm -rf ~/proj/build",
        'rm -rf "$X"',
        "rm -rf $X/*",
        "cp $HOME/$A $HOME/$B",
        "cp /home/$USER/a /home/$USER/proj/b",
        "find . -name '*.pyc' -delete",
        "python - <<'EOF'\nprint('hi')\nEOF",
        'echo "$(date)" > log.txt',
        'for f in *.py; do black "$f"; done',
        "rm -rf '/home/me/CoWork Memory2'",
        r"rm -rf ~/CoWork\ Memory.bak",
        'rm -rf "~/CoWork Memory Backup"',
        "git add -A && git commit -m 'describe ~/CoWork Memory' && git push",
        "git commit -m \"$(cat <<'EOF'\ndescribe ~/CoWork Memory\nEOF\n)\"",
        'gh pr create --title "CoWork Memory" --body "moves ~/CoWork Memory/ elsewhere"',
        "sed -i 's/CoWork Memory/x/' README.md",
        "sed -i -e 's|~/CoWork Memory|x|g;1d' README.md",
        "awk '/CoWork Memory/ {print}' README.md",
        "cat > NOTES.md <<'EOF'\nsee ~/CoWork Memory\nEOF",
        "sed -i 's/a/b/' $(git ls-files '*.md')",
        'while IFS= read -r f; do rm "$f"; done < list.txt',
        "HOME=/tmp/h make test",
        'cd build && rm -rf "$PWD"/* "$(pwd)/x"',
        "rm -rf *; cd ..",
        r"find . -name '*.py' -exec grep -l foo {} + && find . -exec chmod 644 {} \;",
        "alias ll='ls -l'; export EDITOR='vim -u ~/.vimrc'",
        'cd "$(dirname "$0")" && rm -rf "$(echo build)" a{,~b}',
        'rm -rf "${OUT:?}"/* "${BUILD:-build}"',
        "ls ~",
        "grep -r foo .",
        'docker run -v "$PWD:/app" img sh -c "npm i && npm test"',
        "case $x in a) echo 1;; *) echo 2;; esac",
        "f() { echo hi; }; f",
        "diff <(sort a) <(sort b)",
        "x=$((1+2)); echo $x",
        'echo "it\'s"',
        "echo 'unbalanced",
    ],
)
def test_a_command_that_does_not_name_memory_is_not_its_business(command: str) -> None:
    assert judge(command) is None
    assert judge(command, is_readable=False) is None


@pytest.mark.parametrize("command", ["grep -r x ~", "rg x ~", "find ~ -name x", "ls ~/*"])
def test_reading_from_above_is_denied_where_memory_is_off(command: str) -> None:
    assert judge(command) is None
    assert judge(command, is_readable=False) is not None


def test_in_the_folder_itself_only_plain_reads_pass() -> None:
    assert judge("npm test", folder=ROOT) is not None
    assert judge("ls -la", folder=ROOT) is None
    assert judge("rm -rf *", folder=HOME) is not None


def test_without_a_known_folder_whole_paths_still_count() -> None:
    assert judge(r"rm ~/CoWork\ Memory/me.md", folder=None) is not None
    assert judge("rm me.md", folder=None) is None


def test_an_enormous_command_is_judged_by_what_it_names() -> None:
    assert judge("echo " + "a" * 400_000) is None
    assert judge("echo " + "a" * 400_000 + "; rm -rf ~/CoWork\\ Memory") is not None


def test_nesting_without_end_is_survived() -> None:
    deep = "echo hi"
    for _ in range(40):
        deep = f"$({deep})"
    assert judge(deep) is None
    assert judge(deep + r"; rm -rf ~/CoWork\ Memory") is not None


# The law: quotes and escapes change how a command is written, never what is said about it.

WORDS = [
    ("rm", "-rf", "/home/me/CoWork Memory"),
    ("mv", "/home/me/CoWork Memory", "/tmp/x"),
    ("cat", "/home/me/CoWork Memory/.git/config"),
    ("git", "-C", "/home/me/CoWork Memory", "log"),
    ("tee", "../CoWork Memory/me.md"),
    ("python3", "-c", "open('/home/me/CoWork Memory/me.md','w')"),
    ("bash", "-c", "rm -rf '/home/me/CoWork Memory'"),
]


@st.composite
def rewritten(draw: st.DrawFn) -> str:
    """A denied command, each piece of each word quoted in one of the ways a shell has."""
    return " ".join(draw(_spell(word)) for word in draw(st.sampled_from(WORDS)))


@st.composite
def _spell(draw: st.DrawFn, word: str) -> str:
    pieces, at = [], 0
    while at < len(word):
        size = draw(st.integers(1, 12))
        piece, at = word[at : at + size], at + size
        ways = [
            "".join("\\" + char for char in piece),
            '"' + "".join("\\" + char if char in '"\\$`' else char for char in piece) + '"',
            "$'" + "".join(f"\\x{ord(char):02x}" for char in piece) + "'",
        ]
        if "'" not in piece:
            ways.append(f"'{piece}'")
        if piece.isalnum():
            ways.append(piece)
        pieces.append(draw(st.sampled_from(ways)))
    return "".join(pieces)


@given(rewritten())
def test_quotes_and_escapes_never_make_a_denied_command_allowed(command: str) -> None:
    assert judge(command) is not None


@given(st.text(max_size=200))
def test_any_text_is_judged_and_a_removal_behind_it_is_denied(text: str) -> None:
    judge(text)
    text = text.rstrip("\\")  # it would join the lines
    assert judge(text + "\nrm -rf '/home/me/CoWork Memory'\n") is not None or "<<" in text


@given(st.sampled_from(READS), st.sampled_from(DENIED))
def test_a_denied_command_beside_an_allowed_one_stays_denied(read: str, denied: str) -> None:
    assert judge(f"{read}\n{denied}") is not None
    assert judge(f"{denied}\n{read}") is not None or "EOF" in denied or denied.count('"') % 2
