"""Words of a shell command that are no paths and no programs: messages, and scripts that can only edit text. Pure.

A script that could open a file or start a program is not one of these, nor is one that is not understood.
Sources: POSIX.1-2024 (sed, awk), the manuals of GNU sed and GNU awk, git-commit(1), git-tag(1), the manual of gh.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.policy.shell_options import find_values, has_option, iter_operands, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMIT_CHARS = 4096

# Sed: addresses; then print, delete, quit, line number, next; or a substitution that neither writes nor runs.
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)"
_BETWEEN = {end: rf"(?:[^{end}\\\n]|\\.)*" for end in "/|#"}
_SUBSTITUTE = "s(?:" + "|".join(rf"\{end}{part}\{end}{part}\{end}" for end, part in _BETWEEN.items()) + ")[gpiI0-9]*"
_SED_COMMAND = rf"[ \t]*(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?)?[ \t]*!?[ \t]*(?:[pdqnNPDG=]|{_SUBSTITUTE})[ \t]*"
_SED_SCRIPT = re.compile(rf"{_SED_COMMAND}(?:[;\n]{_SED_COMMAND})*[;\n]?")
_SED_OPTION = re.compile(
    r"-[nErsuz]*i?|-i\S*|-e.*|--in-place(?:=.*)?|--expression(?:=.*)?|--quiet|--silent|--null-data", re.DOTALL
)
_CLASS_WITH_END = re.compile(r"\[[^\]]*[/|#][^\]]*\]")  # where seds differ about the end of a pattern
_SED_VALUES = frozenset({"-e", "--expression"})
_AWK_VALUES = frozenset({"-v", "-F", "--assign", "--field-separator"})
_AWK_ACTS = re.compile(r"[>|@]|system|getline|argv|argc|environ|procinfo|close|fflush|/inet", re.IGNORECASE)

_MESSAGES = {
    "git": ("-m", "--message", "-am"),
    "gh": ("-b", "--body", "-t", "--title", "-n", "--notes", "-c", "--comment", "-s", "--subject", "-d", "--desc"),
    "glab": ("-d", "--description", "-t", "--title", "-m", "--message"),
}
_GIT_WITH_MESSAGE = frozenset(["commit", "tag", "merge", "notes", "stash"])
_GH_WITH_MESSAGE = words("pr issue release repo gist label")


def leave_out_texts(program: str, arguments: Sequence[str]) -> list[str]:
    """The arguments without the messages and safe scripts among them."""
    said = _find_messages(program, arguments)
    if edits_text_only(program, arguments):
        said += _find_scripts(program, arguments)
    left, texts = [], list(said)
    for argument in arguments:
        text = next((one for one in texts if argument == one or (one and argument.endswith("=" + one))), None)
        if text is None:
            left.append(argument)
        else:
            texts.remove(text)
    return left


def edits_text_only(program: str, arguments: Sequence[str]) -> bool:
    """Whether a program is `sed` or `awk` with a script that opens no file and starts nothing."""
    if program == "sed":
        options = [one for one in arguments if one.startswith("-") and one != "-"]
        scripts = _find_scripts(program, arguments)
        return bool(scripts) and all(map(_SED_OPTION.fullmatch, options)) and all(map(_is_safe_sed, scripts))
    if program in {"awk", "gawk", "mawk", "nawk"}:
        scripts = _find_scripts(program, arguments)
        options = [one for one in arguments if one.startswith("-") and one != "--"]
        return (
            bool(scripts)
            and all(one.startswith(("-v", "-F", "--assign", "--field-separator")) for one in options)
            and not any(_AWK_ACTS.search(one) for one in arguments)
        )
    return False


def sed_only_reads(arguments: Sequence[str]) -> bool:
    """Whether `sed` shows text and changes no file."""
    return not has_option(arguments, "-i", "--in-place") and edits_text_only("sed", arguments)


def awk_only_reads(arguments: Sequence[str]) -> bool:
    """Whether `awk` shows text and changes no file."""
    return edits_text_only("awk", arguments)


def uniq_only_reads(arguments: Sequence[str]) -> bool:
    """Whether `uniq` has no second file: it would write that one."""
    return len(list(iter_operands(arguments, frozenset({"-f", "-s", "-w"})))) < 2


def _is_safe_sed(script: str) -> bool:
    return (
        len(script) <= _LIMIT_CHARS
        and _SED_SCRIPT.fullmatch(script) is not None
        and _CLASS_WITH_END.search(script) is None
    )


def _find_scripts(program: str, arguments: Sequence[str]) -> list[str]:
    if program == "sed":
        given = find_values([one for one in arguments if not one.startswith("-i")], "-e", "--expression")
        return given or [one for one in iter_operands(arguments, _SED_VALUES) if one][:1]
    return list(iter_operands(arguments, _AWK_VALUES))[:1]


def _find_messages(program: str, arguments: Sequence[str]) -> list[str]:
    options = _MESSAGES.get(program)
    if options is None:
        return []
    used = next(iter_operands(arguments, frozenset({"-C", "-c", "-R", "--repo"})), "")
    if used not in (_GIT_WITH_MESSAGE if program == "git" else _GH_WITH_MESSAGE):
        return []
    return find_values(arguments[list(arguments).index(used) :], *options)
