"""What shell programs do with a path, as data: those that only read, those that run text, those that change files.

Sources: POSIX.1-2024 (Shell and Utilities), and the manual pages of GNU coreutils, findutils, grep, less, tree, file,
and of ripgrep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memrepo.policy.git_globs import may_open_git
from memrepo.policy.shell_options import always, find_values, has, has_option, lacks, never, words
from memrepo.policy.shell_scripts import awk_only_reads, sed_only_reads, uniq_only_reads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _less_only_reads(arguments: Sequence[str]) -> bool:
    """`+` begins a command of `less`, which may start a shell."""
    return not any(one.startswith("+") for one in arguments) and not has_option(
        arguments, "-o", "-O", "--log-file", "--LOG-FILE", "-k", "--lesskey-file", "--lesskey-src", "--lesskey-content"
    )


_PLAIN_READERS = words(
    "cat ls grep egrep fgrep head tail wc stat du nl diff cmp realpath readlink basename dirname pwd cd pushd echo "
    "printf true false test [ cut tr sha256sum md5sum cksum :"
)
READERS: dict[str, Callable[[Sequence[str]], bool]] = {
    **dict.fromkeys(_PLAIN_READERS, always),
    "rg": lacks("--pre", "--hostname-bin"),
    "sort": lacks("-o", "--output", "--compress-program", "-T", "--temporary-directory"),
    "find": lacks(
        *("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from")
    ),
    "less": _less_only_reads,
    "tree": lacks("-o", "-R"),
    "file": lacks("-C", "--compile"),
    "uniq": uniq_only_reads,
    "sed": sed_only_reads,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk_only_reads),
}
"""Programs that only read, and whether with these arguments they do. Editors can write: they are not among them."""

SPEAKERS = words("echo printf cat")
"""Readers whose words and here-documents may become another command's."""

RUNNERS = words(
    "sh bash zsh dash ksh mksh ash fish busybox eval exec env sudo doas su xargs parallel watch script ssh nohup time "
    "timeout nice ionice setsid stdbuf command builtin unbuffer flock chroot trap coproc pwsh powershell"
)
"""Programs whose arguments are a shell command."""

TEXT_RUNNERS = words(
    "sh bash zsh dash ksh mksh ash fish busybox su xargs parallel source . ssh at batch pwsh powershell"
)
"""Programs that take commands from what another one writes."""

INTERPRETERS = RUNNERS | words(
    "source . python pypy perl ruby node nodejs deno bun php lua luajit tclsh osascript awk gawk mawk nawk sed ed ex "
    "vi vim nvim emacs sqlite jq make rscript julia pwsh powershell uv uvx npx go cargo"
)
"""Programs that take text as a program, or run another one: in it, the root's own name is enough."""

KEYWORDS = words("if then else elif fi do done while until for select case esac in ! { } function")
LOOPS = words("while until for select read mapfile readarray")
"""Words by which what one command writes becomes the words of another."""

WRITERS = words(
    "rm rmdir unlink shred srm mv cp ln tee truncate dd touch chmod chown chgrp chattr setfacl install rsync rename "
    "trash trash-put gio sed perl ruby ed ex patch tar unzip zip split sponge git"
)
"""Programs that change the files they are given."""

FED_WRITERS = words("remove-item ri move-item rename-item set-content clear-content add-content out-file")
"""Programs that change the files they are fed without any word for them."""

FILE_PROGRAMS = words(
    "rm rmdir unlink shred mv cp ln touch truncate chmod chown chgrp mkdir tar zip unzip rsync install tee"
)
"""Programs whose words are names of files, never text or a program."""

TEXT_TAKERS = words("git gh glab")
"""Programs that are given messages: what is said in one names no file."""

MOVED_PROGRAMS = (
    *("PATH=", "PATH+=", "LD_", "DYLD_", "LESS", "RIPGREP_CONFIG_PATH=", "GREP_OPTIONS=", "BASH_ENV=", "ENV="),
)
"""Assignments that make another program of a name, or give one other options."""


def _greps_git_too(arguments: Sequence[str]) -> bool:
    excludes = ".git" in find_values(arguments, "--exclude-dir")
    return not excludes and has_option(
        arguments, "-r", "-R", "--recursive", "--dereference-recursive", "-d", "--directories"
    )


def _searches_git_too(arguments: Sequence[str]) -> bool:
    """`rg` leaves hidden folders out: not with these options, nor with a glob that brings them back."""
    short = [one for one in arguments if one.startswith("-") and not one.startswith("--")]
    unrestricted = sum(one.count("u") for one in short) + sum(one == "--unrestricted" for one in arguments)
    if unrestricted > 1 or any("." in one[1:2] or one.endswith(".") for one in short) or "--hidden" in arguments:
        return True
    return any(may_open_git(glob) for glob in find_values(_split_clusters(arguments), "-g", "--glob", "--iglob"))


def _split_clusters(arguments: Sequence[str]) -> list[str]:
    """`-lg X` as `-l -g X`."""
    split: list[str] = []
    for one in arguments:
        at = one.find("g") if one.startswith("-") and not one.startswith("--") else -1
        split += [one[:at], "-g" + one[at + 1 :]] if at > 1 and one[1:at].isalpha() else [one]
    return split


RECURSIVE_READERS: dict[str, Callable[[Sequence[str]], bool]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep"), _greps_git_too),
    "rg": _searches_git_too,
    "diff": has("-r", "--recursive"),
    **dict.fromkeys(("find", "tree", "fd", "fdfind"), never),
}
"""Programs that go below a folder, and whether with these arguments they open files of a `.git` in it."""

READERS_FROM_ABOVE: dict[str, Callable[[Sequence[str]], bool]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep"), has("-r", "-R", "--recursive", "--dereference-recursive", "-d")),
    "diff": has("-r", "--recursive"),
    **dict.fromkeys(words("rg find fd fdfind ag ack tree tar bsdtar zip 7z pax"), always),
    **dict.fromkeys(("cp", "scp"), has("-r", "-R", "-a", "--recursive", "--archive")),
    **dict.fromkeys(("rsync", "ditto", "rclone", "borg", "restic", "duplicity"), always),
    "ls": has("-R", "--recursive"),
}
"""Programs that read or show what is below a folder above the root."""

LISTERS = words(
    "find fd fdfind ls grep egrep fgrep rg ag ack tree locate plocate mlocate mdfind du git get-childitem gci"
)
"""Programs that write names of files below the folder they are given, for another one to take up."""
