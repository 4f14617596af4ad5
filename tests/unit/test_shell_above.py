"""What a shell command does from a folder above memory: taking it away, writing over it, reading below it."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from memrepo.policy.shell_commands import OFF, find_memory_touch

HOME = PurePosixPath("/home/me")
ROOT = HOME / "CoWork Memory"


def judge(command: str, *, is_readable: bool = True) -> str | None:
    return find_memory_touch(command, roots=[ROOT], home=HOME, folder=HOME / "proj", is_readable=is_readable)


@pytest.mark.parametrize(
    "command",
    [
        # Files found from above, and handed over
        "find ~ -name me.md | xargs rm",
        "find ~ -name me.md -print0 | xargs -0 -n1 rm",
        "find ~ -type f | xargs -d '\\n' sh -c 'rm \"$1\"' _",
        "grep -rlZ X ~ | xargs -0 sed -i s/a/b/",
        "cd ~ && ls | xargs rm -rf",
        "cd ~ && git ls-files | xargs sed -i s/a/b/",
        'grep -rl X ../.. | while read -r f; do echo x > "$f"; done',
        "find ~ -name '*.md' | while read f; do rm \"$f\"; done",
        "rm $(find ~ -name me.md)",
        'F=$(find ~ -name me.md); rm "$F"',
        "fd -e md . ~ -x rm",
        # Files put over it
        "cp -r e/. ../",
        "cp -r e/* ~/",
        "cp -rT e ~",
        "cp -rt ~ e/.",
        'cp -r "x/CoWork Memory" ~',
        "cp -r me /home",
        "rsync -a e/ ~/",
        "tar xf t -C ..",
        "tar -xzf t.tgz --directory=/home",
        "cd ~ && tar xf t",
        "tar xfC t ~",
        "unzip -o t.zip -d ~",
        "cd ~ && unzip -o t.zip",
        "cd ~ && patch -p1 < x.diff",
        # Taken away
        "tar --remove-files -cf x.tar -C ~ .",
        "tar czf o.tgz --remove-files ~",
        "mv ~ /tmp/x",
        "mv -t /tmp ~",
        "zip -rm x.zip ~",
        "git -C ~ clean -fdx",
        "rm -rf " + "a " * 2000 + "~",
        "find ~ -delete -name core",
        "find ~ -name core -o -name me.md -delete",
        "find ~ -name core -exec rm {} me.md +",
        "find -O3 ~ -delete",
        "ln -s ~ h",
    ],
)
def test_what_changes_memory_from_above_is_denied(command: str) -> None:
    assert judge(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        "cd / && find . -name core -delete",
        "find ~ -name '*.pyc' -delete",
        "find ~ -name node_modules -prune -exec rm -rf {} +",
        "find . -name '*.pyc' | xargs rm",
        "find ~ -name x.py | xargs grep foo",
        "xargs rm < list.txt",
        'ls ~ && rm "$TMP/x"',
        "mv ~/Downloads/a.zip ~",
        "cp a.txt ~/",
        "cp -r template ~/",
        "tar xzf t.tgz -C ~/code",
        "tar xzf t.tgz && unzip t.zip",
        "tar czf ~/backup.tgz ~/code",
        "ln -s ~/code code",
    ],
)
def test_what_leaves_memory_alone_passes(command: str) -> None:
    assert judge(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "tar cf - ../..",
        "tar cf - -C ~ .",
        "cp -r ../.. /tmp/x",
        "rsync -a ~/ /tmp/x",
        "zip -r - ~",
        "ls -R ~",
    ],
)
def test_where_memory_is_off_it_is_not_read_from_above(command: str) -> None:
    assert judge(command) is None
    assert judge(command, is_readable=False) is not None


def test_a_word_that_leads_to_one_root_says_more_than_a_folder_above_another() -> None:
    roots = [HOME / ".local/share/memrepo", HOME / ".config/memrepo"]
    command = "grep -r x ~/.local; cat ~/.config/memrepo/settings.toml"
    for order in (roots, roots[::-1]):
        assert find_memory_touch(command, roots=order, home=HOME, folder=HOME, is_readable=False) == OFF


@pytest.mark.parametrize(
    "command",
    [
        "tar czf x.tgz -C ~ code",
        "tar xzf x.tgz -C ~/code",
        "cp -r a ~/",
    ],
)
def test_where_memory_is_off_other_work_goes_on(command: str) -> None:
    assert judge(command, is_readable=False) is None
