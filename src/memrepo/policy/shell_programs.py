"""What shell programs do with a path, as data: those that only read, those that run text, those that take away.

Sources: POSIX.1-2024 (Shell and Utilities), and the manual pages of GNU coreutils, findutils, grep and of ripgrep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Reader(NamedTuple):
    """A program that only reads, unless it is given one of these options. A short one counts within a cluster too."""

    denied: tuple[str, ...] = ()

    def allows(self, arguments: Sequence[str]) -> bool:
        """Whether the program only reads with these arguments."""
        return not any(_is_option(argument, option) for argument in arguments for option in self.denied)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLAIN_READERS = _words(
    "cat ls grep egrep fgrep head tail wc stat du nl diff cmp realpath readlink basename dirname pwd cd pushd echo "
    "printf true false test [ cut tr sha256sum md5sum cksum"
)
READERS: dict[str, Reader] = {
    **dict.fromkeys(_PLAIN_READERS, Reader()),
    "rg": Reader(("--pre", "--hostname-bin")),
    "sort": Reader(("-o", "--output", "--compress-program", "-T", "--temporary-directory")),
    "find": Reader(
        ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from")
    ),
}
"""With a root among their arguments these are plain reads. Editors, pagers, `awk` and `sed` can write: they are not."""

RUNNERS = _words(
    "sh bash zsh dash ksh mksh ash fish busybox eval exec env sudo doas su xargs parallel watch script ssh nohup time "
    "timeout nice ionice setsid stdbuf command builtin unbuffer flock chroot trap"
)
"""Programs whose arguments are a shell command."""

INTERPRETERS = RUNNERS | _words(
    "source . python pypy perl ruby node nodejs deno bun php lua luajit tclsh osascript awk gawk mawk nawk sed ed ex "
    "vi vim nvim emacs sqlite jq make rscript julia pwsh powershell uv uvx npx go cargo"
)
"""Programs that take text as a program, or run another one: in it, the root's own name is enough."""

KEYWORDS = _words("if then else elif fi do done while until for select case esac in ! { } function")


def _is_option(argument: str, option: str) -> bool:
    if option.startswith("--"):
        name = argument.partition("=")[0]
        return len(name) > 3 and option.startswith(name)  # GNU takes any beginning that is not ambiguous
    if len(option) == 2:
        return argument.startswith("-") and not argument.startswith("--") and option[1] in argument[1:]
    return argument == option


def _has(*options: str) -> Callable[[Sequence[str]], bool]:
    return lambda arguments: any(_is_option(argument, option) for argument in arguments for option in options)


def _greps_git_too(arguments: Sequence[str]) -> bool:
    said = " ".join(arguments).replace("--exclude-dir ", "--exclude-dir=").split()
    excludes = "--exclude-dir=.git" in said
    return not excludes and _has("-r", "-R", "--recursive", "--dereference-recursive", "-d", "--directories")(arguments)


def _never(_: Sequence[str]) -> bool:
    return False


def _always(_: Sequence[str]) -> bool:
    return True


def _finds_changes(arguments: Sequence[str]) -> bool:
    return not READERS["find"].allows(arguments)


RECURSIVE_READERS: dict[str, Callable[[Sequence[str]], bool]] = {
    "grep": _greps_git_too,
    "egrep": _greps_git_too,
    "fgrep": _greps_git_too,
    "rg": lambda arguments: _has("--hidden", "-.", "-uu", "-uuu")(arguments) or arguments.count("-u") > 1,
    "diff": _has("-r", "--recursive"),
    "find": _never,
}
"""Programs that go below a folder, and whether with these arguments they open files of a `.git` in it."""

CHANGERS_ABOVE: dict[str, Callable[[Sequence[str]], bool]] = {
    **dict.fromkeys(("rm", "shred", "srm", "unlink"), _has("-r", "-R", "--recursive")),
    **dict.fromkeys(("mv", "rename", "mmv", "trash", "trash-put", "gio"), _always),
    **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl", "chattr"), _has("-R", "--recursive")),
    "find": _finds_changes,
    "rsync": _has("--delete", "--delete-before", "--delete-after", "--remove-source-files"),
    "git": lambda arguments: "clean" in arguments,
}
"""Programs that take away or change what is below a folder, given the folder itself."""
