"""The verbs that reach another machine: one branch is fetched from one address, and pushed to it.

Owns the words of git's command line for that, and what git says when it fails. The address is always given, behind
`--`, and never taken from the repo's configuration; who calls has checked it (`settings.remote_url`). Credentials are
git's and ssh's own business: none is asked for, held or repeated.
Source: memory sync design (seed 2) §1, §4; git-fetch(1), git-push(1).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memrepo.errors import GitFailed, GitTimeout, RemoteFailed
from memrepo.git.process import NETWORK_TIMEOUT_S
from memrepo.model import CommitId

if TYPE_CHECKING:
    from memrepo.git.client import GitClient

REMOTE = "cowork-sync"
"""The name of the managed remote (seed 2 §1)."""

REMOTE_BRANCH = "refs/heads/main"
TRACKING = f"refs/remotes/{REMOTE}/main"
"""The remote's branch as it was when this folder last held all of it."""

ARRIVED = f"refs/{REMOTE}/arrived"
"""The remote's branch as it was last fetched, looked at or not."""

NEXT = f"refs/{REMOTE}/next"
"""A head that is being built; it keeps its objects until the branch names them."""

OWN_REFS = (TRACKING, ARRIVED, NEXT)

_MISSING_BRANCH = "couldn't find remote ref"
_REJECTED = re.compile(r"\[rejected\]")
_REMOTE_REJECTED = re.compile(r"\[remote rejected\] \((?P<why>[^)]*)\)")

# What git and ssh say (their messages are in the C locale here), what it means, and what helps. The first that fits.
_FAILURES: tuple[tuple[str, str, str], ...] = (
    ("host key verification failed", "this machine does not know the host's key",
     "connect once by hand and compare the key: ssh -T HOST"),
    ("remote host identification has changed", "the host's key is not the one that this machine knows",
     "find out why before you go on: ssh -T HOST"),
    ("permission denied (", "the host took none of your ssh keys", "add a key to your ssh agent: ssh-add"),
    ("terminal prompts disabled", "the host asks for a password, and git has none",
     "let git's credential helper learn it: git ls-remote URL"),
    ("authentication failed", "the host did not take the password that git has",
     "let git's credential helper learn the new one: git ls-remote URL"),
    ("requested url returned error: 403", "the host forbids it", "see that your account may write to the repository"),
    ("requested url returned error: 401", "the host wants other credentials",
     "let git's credential helper learn them: git ls-remote URL"),
    ("repository not found", "there is no such repository, or you may not see it", "memrepo sync set URL"),
    ("not found", "there is no such repository, or you may not see it", "memrepo sync set URL"),
    ("does not appear to be a git repository", "there is no repository at that address", "memrepo sync set URL"),
    ("certificate", "the host's certificate cannot be trusted", "see that the address is right and the clock too"),
    ("could not resolve host", "the host's name cannot be found; perhaps there is no network", "try again later"),
    ("connection refused", "the host takes no connection", "try again later"),
    ("connection timed out", "the host does not answer", "try again later"),
    ("network is unreachable", "there is no network", "try again later"),
    ("connection reset", "the connection was cut", "try again later"),
    ("early eof", "the connection was cut", "try again later"),
    ("unexpected disconnect", "the connection was cut", "try again later"),
    ("hung up", "the connection was cut", "try again later"),
)  # fmt: skip


def fetch(client: GitClient, url: str, *, timeout_s: float = NETWORK_TIMEOUT_S) -> CommitId | None:
    """Fetches the remote's branch and returns its head; None when the remote has no such branch.

    Nothing of it is looked at. Changes: objects, the ref ARRIVED. Errors: RemoteFailed, GitTimeout.
    """
    flags = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
             "--no-show-forced-updates")  # fmt: skip
    try:
        client.run("fetch", *flags, "--", url, f"+{REMOTE_BRANCH}:{ARRIVED}", timeout_s=timeout_s, network=True)
    except GitFailed as error:
        if any(_MISSING_BRANCH in line for line in _stderr(error)):
            return None
        raise explain(error, "fetch") from error
    except GitTimeout as error:
        raise _timed_out("fetch", timeout_s) from error
    return find_ref(client, ARRIVED)


def find_remote_head(client: GitClient, url: str, *, timeout_s: float = NETWORK_TIMEOUT_S) -> CommitId | None:
    """The head of the remote's branch, without fetching it; None when there is none.

    Changes: nothing. Errors: RemoteFailed, GitTimeout.
    """
    try:
        listed = client.run(
            "ls-remote", "--quiet", "--refs", "--", url, REMOTE_BRANCH, timeout_s=timeout_s, network=True
        ).stdout
    except GitFailed as error:
        raise explain(error, "ls-remote") from error
    except GitTimeout as error:
        raise _timed_out("ls-remote", timeout_s) from error
    words = listed.decode("ascii", "replace").split()
    return CommitId(words[0]) if words else None


def push(
    client: GitClient,
    url: str,
    commit: CommitId,
    *,
    replaces: CommitId | None = None,
    timeout_s: float = NETWORK_TIMEOUT_S,
) -> bool:
    """Puts a commit at the head of the remote's branch; False when the branch has moved meanwhile.

    Without `replaces` only if the commit follows what is there; with it only if exactly that commit is there (a
    lease), whatever it is then. Changes: the remote, and nothing here. Errors: RemoteFailed, GitTimeout.
    """
    lease = (f"--force-with-lease={REMOTE_BRANCH}:{replaces}",) if replaces is not None else ()
    flags = ("--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
    try:
        done = client.run(
            "push", *flags, *lease, "--", url, f"{commit}:{REMOTE_BRANCH}", timeout_s=timeout_s, ok_codes=(0, 1),
            network=True,
        )  # fmt: skip
    except GitFailed as error:
        raise explain(error, "push") from error
    except GitTimeout as error:
        raise _timed_out("push", timeout_s) from error
    if done.exit_code == 0:
        return True
    said = done.stdout.decode("utf-8", "replace")
    refused = _REMOTE_REJECTED.search(said)
    if refused is None and _REJECTED.search(said):
        return False
    why = refused["why"] if refused else "it gave no reason"
    raise RemoteFailed(
        f"the remote refused the push: {why[:200]}",
        hint="see the rules of the branch main on the host; memrepo pushes to it and, after a compaction, replaces it",
        argv=("git", "push"),
        exit_code=1,
        stderr=(),
    )


def set_remote(client: GitClient, url: str) -> None:
    """Makes the managed remote, or gives it this address. Changes: `.git/config`, when something differs."""
    wanted = {f"remote.{REMOTE}.url": url, f"remote.{REMOTE}.fetch": f"+{REMOTE_BRANCH}:{TRACKING}"}
    found = read_remote(client)
    if found == wanted:
        return
    if found:
        client.run("config", "--local", "--remove-section", f"remote.{REMOTE}")
    for key, value in wanted.items():
        client.run("config", "--local", key, value)


def remove_remote(client: GitClient) -> bool:
    """Removes the managed remote and the refs of sync; False when there was none. Changes: `.git/config`, refs."""
    found = read_remote(client)
    if found:
        client.run("config", "--local", "--remove-section", f"remote.{REMOTE}")
    delete_own_refs(client)
    return bool(found)


def delete_own_refs(client: GitClient) -> None:
    """Removes the refs of sync. Changes: the refs."""
    for name in OWN_REFS:
        delete_ref(client, name)


def read_remote(client: GitClient) -> dict[str, str]:
    """The settings of the managed remote, {} when there is none; of a key given twice the last. Changes: nothing."""
    listed = client.run("config", "--local", "-z", "--get-regexp", rf"^remote\.{REMOTE}\.", ok_codes=(0, 1)).stdout
    rows = [record.partition("\n") for record in listed.decode("utf-8", "surrogateescape").split("\0") if record]
    found = {key: value for key, _, value in rows}
    return found if len(found) == len(rows) else {**found, "twice": ""}


def find_ref(client: GitClient, name: str) -> CommitId | None:
    """The commit that a ref names, or None. Changes: nothing."""
    found = client.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", ok_codes=(0, 1, 128))
    return CommitId(found.stdout.decode().strip()) if found.exit_code == 0 else None


def set_ref(client: GitClient, name: str, commit: CommitId) -> None:
    """Makes a ref of sync name a commit. Changes: the ref."""
    client.run("update-ref", "--no-deref", name, commit)


def delete_ref(client: GitClient, name: str) -> None:
    """Removes a ref of sync; nothing when it is not there. Changes: the ref."""
    client.run("update-ref", "--no-deref", "-d", name)


def explain(error: GitFailed, verb: str) -> RemoteFailed:
    """What git said of the network, in words that a person can act on."""
    lines = _stderr(error)
    text = "\n".join(lines).lower()
    unknown = ("", lines[0] if lines else "git gave no reason", "try again; if it stays so: memrepo sync status")
    _, meaning, hint = next((row for row in _FAILURES if row[0] in text), unknown)
    return RemoteFailed(
        f"the remote cannot be reached: {meaning}",
        hint=hint,
        argv=("git", verb),
        exit_code=error.facts.get("exit_code"),
        stderr=lines,
    )


def _timed_out(verb: str, timeout_s: float) -> GitTimeout:
    return GitTimeout(
        f"the remote did not answer within {timeout_s:g} s (git {verb})",
        hint="try again: memrepo sync now",
        argv=("git", verb),
        timeout_s=timeout_s,
    )


def _stderr(error: GitFailed) -> tuple[str, ...]:
    found = error.facts.get("stderr", ())
    return found if isinstance(found, tuple) else ()
