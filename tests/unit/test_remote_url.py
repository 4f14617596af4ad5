"""Which addresses a private remote may have, and how one is shown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.settings.remote_url import check_remote_url, hide_user

GOOD = [
    "https://github.com/me/memory.git",
    "https://git.example.org:8443/~me/memory",
    "https://[2001:db8::1]:8443/m.git",
    "ssh://git@github.com/me/memory.git",
    "ssh://host.example/srv/memory.git",
    "ssh://me@[2001:db8::1]:2222/memory.git",
    "git@github.com:me/memory.git",
    "me@192.168.0.7:/srv/git/my%20memory.git",
    "me@nas:memory.git",
    "git@host:~/memory.git",
]


@pytest.mark.parametrize("url", GOOD)
def test_the_three_forms_are_taken_as_they_are(url: str) -> None:
    assert check_remote_url(url) == url


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "empty"),
        ("/srv/git/memory.git", "must be https"),
        ("../memory.git", "must be https"),
        ("~/memory.git", "must be https"),
        ("C:/memory.git", "must be https"),
        ("file:///srv/memory.git", "must be https"),
        ("http://example.org/memory.git", "must be https"),
        ("git://example.org/memory.git", "must be https"),
        ("HTTPS://example.org/memory.git", "must be https"),
        ("ftp://example.org/memory.git", "must be https"),
        ("ext::sh -c true", "white space"),
        ("ext::true", "must be https"),
        ("fd::3", "must be https"),
        ("https::https://example.org/m", "must be https"),
        ("git@host::path", "must be https"),
        ("example.org:memory.git", "must be https"),
        ("--upload-pack=true", "must not start with -"),
        ("-oProxyCommand=true@host:x", "must not start with -"),
        ("ssh://-oProxyCommand=true/x", "must be https"),
        ("git@-oProxyCommand=true:x", "must be https"),
        ("ssh://-l@host/x", "a user of that form"),
        ("https://me:secret@example.org/m.git", "user or a password"),
        ("https://ghp_token@example.org/m.git", "user or a password"),
        ("https://@example.org/m.git", "user or a password"),
        ("ssh://me:secret@host/m.git", "a password"),
        ("https://example.org/m.git?private_token=x", "may be a token"),
        ("https://example.org/m.git#x", "may be a token"),
        ("https://example.org", "must be https"),
        ("https://example.org/", "must be https"),
        ("https://example.org//", "must name a repository"),
        ("git@host:/", "must name a repository"),
        ("git@host:-x", "must name a repository"),
        ("git@host:", "must be https"),
        ("https:///m.git", "must be https"),
        ("https://exa mple.org/m", "white space"),
        ("https://example.org/m.git\n", "white space"),
        ("https://example.org/a%0ahost=evil.example", "printable ASCII"),
        ("https://example.org/a\x1bb", "printable ASCII"),
        ("https://exämple.org/m", "printable ASCII"),
        ("git@host:a\\b", "backslash"),
        ("https://example.org/" + "x" * 1_000, "at most 1,000"),
    ],
)
def test_everything_else_is_refused_and_never_repeated(url: str, why: str) -> None:
    with pytest.raises(ValueError, match="must") as refused:
        check_remote_url(url)
    assert why in str(refused.value)
    assert "secret" not in str(refused.value)


_SIGNS = st.sampled_from([*"abz09.-_~%@:/?#[]\\ \n", "https://", "ssh://", "git@", "ext::", "%0a", "me:pw@", "host"])


@given(st.lists(_SIGNS, max_size=12).map("".join))
def test_what_is_taken_has_one_of_the_forms_and_no_credential(url: str) -> None:
    try:
        check_remote_url(url)
    except ValueError:
        return
    assert not url.startswith("-")
    assert not re.match(r"[^:]*::", url)
    if url.startswith(("https://", "ssh://")):
        assert "pw@" not in url.split("/")[2]
    assert url.startswith(("https://", "ssh://")) or "@" in url.partition(":")[0]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:secret@example.org/m.git", "https://example.org/m.git"),
        ("ssh://git@host/m.git", "ssh://host/m.git"),
        ("git@host:me/memory.git", "host:me/memory.git"),
        ("https://example.org/a@b", "https://example.org/a@b"),
        ("no address", "no address"),
    ],
)
def test_an_address_is_shown_without_its_user(url: str, shown: str) -> None:
    assert hide_user(url) == shown
