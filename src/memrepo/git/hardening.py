"""How git is run, as data: `-c` overrides and environment variables, each with its reason and its source.

This module knows no disk and no environment: `build_environment` gets the caller's variables as an argument. An
override holds whatever the repo's or the user's configuration says, because `-c` is read last. What cannot be
overridden (drivers whose names are free, `url.*`, `include.*`) is refused by `audit`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping

AUTHOR_NAME = "CoWork OS"
AUTHOR_EMAIL = "memory@cowork.invalid"

MINIMUM_VERSION = (2, 32)
"""The first git that knows GIT_CONFIG_GLOBAL (release notes of git 2.32)."""


@dataclass(frozen=True, slots=True)
class Override:
    """One `-c key=value`, why it is there, and the page that defines the key."""

    key: str
    value: str
    reason: str
    source: str = "git-config(1)"


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable that git gets, why, and the page that defines it."""

    name: str
    value: str
    reason: str
    source: str = "git(1)"


@dataclass(frozen=True, slots=True)
class KeptVariable:
    """One variable of the caller that git may see."""

    name: str
    reason: str
    network_only: bool = False


# os.devnull as a hooks folder beats an empty folder: nothing can ever be put below it, and nobody has to make, keep
# or clean it. git asks for "/dev/null/pre-commit", gets ENOTDIR and goes on without a hook.
ALWAYS_OVERRIDES: tuple[Override, ...] = (
    Override("core.hooksPath", os.devnull, "hooks are programs; a folder may arrive with planted ones", "githooks(5)"),
    Override("core.fsmonitor", "false", "may name a program that every status runs"),
    Override("core.pager", "cat", "names a program"),
    Override("core.editor", ":", "names a program; no verb opens an editor"),
    Override("sequence.editor", ":", "names a program; no verb edits a todo list"),
    Override("core.askPass", "", "names a program that asks for passwords", "gitcredentials(7)"),
    Override("core.attributesFile", os.devnull, "attributes come from the repo alone", "gitattributes(5)"),
    Override("core.excludesFile", os.devnull, "what is ignored is the repo's own choice", "gitignore(5)"),
    Override("core.autocrlf", "false", "a file's newlines are kept as they are"),
    Override("core.safecrlf", "false", "no warning or refusal about newlines"),
    Override("core.protectHFS", "true", "refuses paths that a macOS disk would read as .git"),
    Override("core.protectNTFS", "true", "refuses paths that a Windows disk would read as .git"),
    Override("core.quotePath", "false", "paths come as they are"),
    Override("core.abbrev", "40", "commit ids are always whole"),
    Override(
        "core.fsync",
        "committed",
        "objects and refs reach the disk before a commit counts; the default leaves loose objects to chance, and a "
        "power cut then leaves a branch that names an empty object",
    ),
    Override("commit.gpgSign", "false", "signing runs gpg.program and may ask for a passphrase"),
    Override("tag.gpgSign", "false", "signing runs gpg.program"),
    Override("push.gpgSign", "false", "signing runs gpg.program"),
    Override("log.showSignature", "false", "checking signatures runs gpg.program", "git-log(1)"),
    Override("log.mailmap", "false", "authors are shown as the commit has them", "git-log(1)"),
    Override("diff.ignoreSubmodules", "dirty", "looking into a submodule runs git under that submodule's own config"),
    Override("status.submoduleSummary", "false", "runs git inside submodules", "git-status(1)"),
    Override("submodule.recurse", "false", "runs git inside submodules"),
    Override("fetch.recurseSubmodules", "false", "fetches from places that a commit names"),
    Override("push.recurseSubmodules", "no", "pushes to places that a commit names"),
    Override("gc.auto", "0", "no clean-up in the middle of a write; it also saves a process per commit", "git-gc(1)"),
    Override("maintenance.auto", "false", "the same, by its newer name", "git-maintenance(1)"),
    Override("gc.autoDetach", "false", "nothing goes on in the background", "git-gc(1)"),
    Override("gc.bigPackThreshold", "0", "compaction must rewrite every pack", "git-gc(1)"),
    Override("rerere.enabled", "false", "keeps copies of texts outside history", "git-rerere(1)"),
    Override("i18n.commitEncoding", "UTF-8", "messages are UTF-8"),
    Override("i18n.logOutputEncoding", "UTF-8", "messages are UTF-8"),
    Override("color.ui", "false", "output is read by a program"),
    Override("column.ui", "never", "output is read by a program", "git-column(1)"),
    Override("init.defaultRefFormat", "files", "other programs on this folder read refs as files", "git-init(1)"),
)

LOCAL_OVERRIDES: tuple[Override, ...] = (
    Override("credential.helper", "", "an empty value forgets all helpers; local commands need none", "git-config(1)"),
    Override("protocol.allow", "never", "local commands reach no other repo"),
    Override("core.sshCommand", "false", "names a program; `false` does nothing and fails"),
)

NETWORK_OVERRIDES: tuple[Override, ...] = (
    Override("protocol.allow", "never", "what is not named is not spoken"),
    Override("protocol.https.allow", "always", "a private remote is reached by https"),
    Override("protocol.ssh.allow", "always", "or by ssh"),
    Override("core.sshCommand", "ssh -oBatchMode=yes", "ssh never asks; the user's ~/.ssh/config still holds"),
)

# Notes of a memory repo merge by union (`*.md merge=union`), which never conflicts: undoing a line that changed since
# would keep both versions. A driver of the name "union" is found before the built-in one, so this makes one command
# merge as text. Writing .git/info/attributes for the time of the command would do too, but a crash would leave it.
TEXT_MERGE_OVERRIDES: tuple[Override, ...] = (
    Override(
        "merge.union.driver",
        "git merge-file --quiet %A %O %B",
        "an undo that meets a later change must conflict, not keep both",
        "gitattributes(5)",
    ),
)

KEPT_VARIABLES: tuple[KeptVariable, ...] = (
    KeptVariable("PATH", "git finds its own programs there; relative entries and entries inside the repo are dropped"),
    KeptVariable("SYSTEMROOT", "programs on Windows do not start without it"),
    KeptVariable("DEVELOPER_DIR", "Apple's /usr/bin/git finds the real one with it"),
    KeptVariable("TZ", "the zone of a commit's date"),
    KeptVariable("HOME", "the user's credential helper and ssh keys", network_only=True),
    KeptVariable("USERPROFILE", "the same on Windows", network_only=True),
    KeptVariable("XDG_CONFIG_HOME", "the user's git configuration may live there", network_only=True),
    KeptVariable("XDG_RUNTIME_DIR", "credential helpers reach their agent through it", network_only=True),
    KeptVariable("DBUS_SESSION_BUS_ADDRESS", "the desktop's key ring", network_only=True),
    KeptVariable("SSH_AUTH_SOCK", "the user's ssh agent", network_only=True),
    KeptVariable("USER", "ssh and helpers name the user by it", network_only=True),
    KeptVariable("LOGNAME", "the same", network_only=True),
    KeptVariable("HTTPS_PROXY", "the user's own way to the network", network_only=True),
    KeptVariable("https_proxy", "the same", network_only=True),
    KeptVariable("ALL_PROXY", "the same", network_only=True),
    KeptVariable("all_proxy", "the same", network_only=True),
    KeptVariable("NO_PROXY", "the same", network_only=True),
    KeptVariable("no_proxy", "the same", network_only=True),
    KeptVariable("SSL_CERT_FILE", "the certificates this machine trusts", network_only=True),
    KeptVariable("SSL_CERT_DIR", "the same", network_only=True),
)

ALWAYS_VARIABLES: tuple[Variable, ...] = (
    Variable("LANG", "C", "messages are not translated", "locale(7)"),
    Variable("LC_ALL", "C", "messages are not translated", "locale(7)"),
    Variable("GIT_OPTIONAL_LOCKS", "0", "reading never takes the index lock from somebody who writes"),
    Variable("GIT_TERMINAL_PROMPT", "0", "never asks"),
    Variable("GIT_ASKPASS", "", "set and empty: no program is asked, whatever core.askPass says", "gitcredentials(7)"),
    Variable("SSH_ASKPASS", "", "no program is asked", "ssh(1)"),
    Variable("SSH_ASKPASS_REQUIRE", "never", "no program is asked", "ssh(1)"),
    Variable("GIT_EDITOR", ":", "no editor, whatever core.editor says", "git-var(1)"),
    Variable("GIT_SEQUENCE_EDITOR", ":", "no editor", "git-var(1)"),
    Variable("GIT_MERGE_AUTOEDIT", "no", "no editor", "git-merge(1)"),
    Variable("GIT_PAGER", "cat", "no pager", "git-var(1)"),
    Variable("GIT_ATTR_NOSYSTEM", "1", "attributes come from the repo alone"),
    Variable("GIT_NO_REPLACE_OBJECTS", "1", "history is shown as it is, not as refs/replace would have it"),
    Variable("GIT_LITERAL_PATHSPECS", "1", "a file named `*` or `:(top)` is that file"),
    Variable("GIT_AUTHOR_NAME", AUTHOR_NAME, "never the user's identity (seed 1 §5.1)", "git-commit(1)"),
    Variable("GIT_AUTHOR_EMAIL", AUTHOR_EMAIL, "never the user's identity", "git-commit(1)"),
    Variable("GIT_COMMITTER_NAME", AUTHOR_NAME, "never the user's identity", "git-commit(1)"),
    Variable("GIT_COMMITTER_EMAIL", AUTHOR_EMAIL, "never the user's identity", "git-commit(1)"),
)

LOCAL_VARIABLES: tuple[Variable, ...] = (
    Variable("GIT_CONFIG_NOSYSTEM", "1", "local commands read the repo's configuration alone"),
    Variable("GIT_CONFIG_SYSTEM", os.devnull, "the same"),
    Variable("GIT_CONFIG_GLOBAL", os.devnull, "the same"),
    Variable("GIT_ALLOW_PROTOCOL", "", "set and empty: no protocol, whatever protocol.*.allow says"),
)

NETWORK_VARIABLES: tuple[Variable, ...] = (
    Variable("GIT_ALLOW_PROTOCOL", "https:ssh", "these two, whatever protocol.*.allow says"),
    Variable("GCM_INTERACTIVE", "never", "Git Credential Manager opens no window", "Git Credential Manager manual"),
)


def build_config_arguments(*, network: bool, extra: Iterable[Override] = ()) -> list[str]:
    """The `-c` arguments of one command, in order: for all commands, for this side of the network, then `extra`."""
    rows = (*ALWAYS_OVERRIDES, *(NETWORK_OVERRIDES if network else LOCAL_OVERRIDES), *extra)
    return [part for row in rows for part in ("-c", f"{row.key}={row.value}")]


def build_environment(
    base: Mapping[str, str], *, path: str, network: bool, at: dt.datetime | None = None
) -> dict[str, str]:
    """The whole environment of one command, built from nothing: kept variables of `base`, `path`, and the rows above.

    No variable of `base` whose name starts with `GIT_` survives. `at` becomes the author's and the committer's date;
    it must have a zone.
    """
    kept = {
        row.name: base[row.name] for row in KEPT_VARIABLES if row.name in base and (network or not row.network_only)
    }
    kept["PATH"] = path
    for row in (*ALWAYS_VARIABLES, *(NETWORK_VARIABLES if network else LOCAL_VARIABLES)):
        kept[row.name] = row.value
    if at is not None:
        if at.tzinfo is None:
            raise ValueError("a commit's date needs a time zone")
        kept["GIT_AUTHOR_DATE"] = kept["GIT_COMMITTER_DATE"] = f"@{int(at.timestamp())} {at.strftime('%z')[:5]}"
    return kept
