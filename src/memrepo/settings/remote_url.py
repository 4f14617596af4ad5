"""Which addresses a private remote may have, and how one is shown. Pure.

Three forms: `https://host/path`, `ssh://[user@]host/path` and `user@host:path`. Everything else is refused: a local
path or `file:` is no other machine, `ext::` and its kin run programs, `http:` and `git:` are read by everybody on the
way. An address never holds a password or a token: those are the business of git's credential helper and of ssh.
Source: memory sync design (seed 2) §1, §4; the forms are those of git-fetch(1), "GIT URLS".
"""

from __future__ import annotations

import re
from urllib.parse import unquote

URL_LIMIT_CHARS = 1_000

# No leading dash: ssh would read such a host or user as an option.
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_USER = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_PORT = r"(?::[0-9]{1,5})?"
_HTTPS = re.compile(rf"https://(?P<user>[^/@]*@)?{_HOST}{_PORT}(?P<path>/.+)")
_SSH = re.compile(rf"ssh://(?P<user>[^/@]*@)?{_HOST}{_PORT}(?P<path>/.+)")
_SCP = re.compile(rf"(?P<user>[^/@:]*@){_HOST}:(?P<path>[^:].*)")
_FORMS = "https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH"
_USER_INFO = re.compile(r"(?<=://)[^/@]*@|\A[^/@:]*@(?=[^/]*:)")


def check_remote_url(value: str) -> str:
    """Returns the address unchanged. Errors: ValueError saying which rule it breaks; never the address itself."""
    if not value:
        raise ValueError("must not be empty; take it out to stop syncing")
    if len(value) > URL_LIMIT_CHARS:
        raise ValueError(f"must have at most {URL_LIMIT_CHARS:,} characters")
    if value.startswith("-"):
        raise ValueError("must not start with -")
    if any(sign.isspace() for sign in value):
        raise ValueError("must not hold white space")
    if not value.isascii() or not value.isprintable() or not unquote(value, errors="replace").isprintable():
        raise ValueError("must be printable ASCII; write other letters of a path as %XX, of a host as xn--")
    if "\\" in value:
        raise ValueError("must not hold a backslash")
    match = _HTTPS.fullmatch(value) or _SSH.fullmatch(value) or _SCP.fullmatch(value)
    if match is None:
        raise ValueError(f"must be {_FORMS}")
    _check_user(value, match["user"])
    _check_path(value, match["path"])
    return value


def _check_user(value: str, user: str | None) -> None:
    if user is None:
        return
    if value.startswith("https://"):
        raise ValueError("must not hold a user or a password; git's credential helper knows them")
    if not re.fullmatch(_USER, user.removesuffix("@")):
        why = "a password; use an ssh key" if ":" in user else "a user of that form"
        raise ValueError(f"must not hold {why}")


def _check_path(value: str, path: str) -> None:
    if value.startswith("https://") and ("?" in path or "#" in path):
        raise ValueError("must not hold ? or #: what stands there may be a token")
    if path.strip("/") == "" or path.startswith("-"):
        raise ValueError("must name a repository")


def hide_user(value: str) -> str:
    """The address without what stands before its `@`, for messages, logs and status; any text is taken."""
    return _USER_INFO.sub("", value)
