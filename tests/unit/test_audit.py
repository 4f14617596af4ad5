"""The allow-list of git settings, and the rows of hardening: pure."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.git.audit import (
    ALLOWED,
    ALLOWED_ATTRIBUTES,
    DANGERS,
    Danger,
    audit_attributes,
    audit_config,
    parse_config_list,
)
from memrepo.git.hardening import (
    ALWAYS_OVERRIDES,
    ALWAYS_VARIABLES,
    KEPT_VARIABLES,
    LOCAL_OVERRIDES,
    LOCAL_VARIABLES,
    NETWORK_OVERRIDES,
    NETWORK_VARIABLES,
    TEXT_MERGE_OVERRIDES,
    build_config_arguments,
    build_environment,
)

GIT_INIT = b"core.repositoryformatversion\x000\x00".replace(b"\x000", b"\n0") + (
    b"core.filemode\ntrue\0core.bare\nfalse\0core.logallrefupdates\ntrue\0core.ignorecase\ntrue\0"
    b"core.precomposeunicode\ntrue\0"
)
SYNCED = (
    b"remote.cowork-sync.url\ngit@example.org:me/memory.git\0"
    b"remote.cowork-sync.fetch\n+refs/heads/*:refs/remotes/cowork-sync/*\0"
    b"branch.main.remote\ncowork-sync\0branch.main.merge\nrefs/heads/main\0"
)
BY_HAND = (
    b"user.name\nMes\xc3\xbct\0user.email\nm@example.org\0commit.gpgsign\ntrue\0pull.rebase\ntrue\0"
    b"push.autosetupremote\0merge.conflictstyle\nzdiff3\0core.excludesfile\n~/.gitignore\0"
    b"branch.main.vscode-merge-base\norigin/main\0gc.auto\n256\0color.diff.meta\nblue bold\0"
    b"remote.my.backup.url\n/Volumes/My Disk/memory.git\0diff.algorithm\nhistogram\0advice.detachedhead\nfalse\0"
    b"extensions.objectformat\nsha1\0remote.v6.url\nssh://[2001:db8::1]/m.git\0"
)


def audit(key: str, value: str | None = "x") -> list[tuple[str, Danger]]:
    return [(finding.key, finding.danger) for finding in audit_config(((key, value),))]


@pytest.mark.parametrize("listed", [GIT_INIT, GIT_INIT + SYNCED, GIT_INIT + SYNCED + BY_HAND])
def test_what_git_sync_and_ordinary_users_write_is_allowed(listed: bytes) -> None:
    pairs = parse_config_list(listed)
    assert len(pairs) >= 6
    assert audit_config(pairs) == ()


@pytest.mark.parametrize(
    ("key", "value", "danger"),
    [
        ("core.hookspath", "hooks", Danger.RUNS),
        ("core.fsmonitor", "true", Danger.RUNS),
        ("core.fsmonitor", "./watch", Danger.RUNS),
        ("core.sshcommand", "x", Danger.RUNS),
        ("core.gitproxy", "x", Danger.RUNS),
        ("core.askpass", "x", Danger.RUNS),
        ("core.alternaterefscommand", "x", Danger.RUNS),
        ("core.pager", "less", Danger.RUNS),
        ("core.editor", "vim", Danger.RUNS),
        ("sequence.editor", "vim", Danger.RUNS),
        ("pager.log", "less", Danger.RUNS),
        ("filter.lfs.clean", "x", Danger.RUNS),
        ("filter.a.b.process", "x", Danger.RUNS),
        ("merge.evil.driver", "x", Danger.RUNS),
        ("diff.external", "x", Danger.RUNS),
        ("diff.pdf.textconv", "x", Danger.RUNS),
        ("diff.pdf.command", "x", Danger.RUNS),
        ("alias.st", "!x", Danger.RUNS),
        ("alias.st.command", "!x", Danger.RUNS),
        ("credential.helper", "store", Danger.RUNS),
        ("credential.https://example.org.helper", "x", Danger.RUNS),
        ("gpg.program", "x", Danger.RUNS),
        ("gpg.ssh.program", "x", Danger.RUNS),
        ("gc.recentobjectshook", "x", Danger.RUNS),
        ("trailer.sign.command", "x", Danger.RUNS),
        ("interactive.difffilter", "x", Danger.RUNS),
        ("submodule.a.update", "!x", Danger.RUNS),
        ("branch.main.mergeoptions", "-s evil", Danger.RUNS),
        ("remote.o.uploadpack", "x", Danger.RUNS),
        ("remote.o.receivepack", "x", Danger.RUNS),
        ("remote.o.vcs", "x", Danger.RUNS),
        ("remote.o.url", "ext::sh -c x", Danger.RUNS),
        ("remote.o.pushurl", "--upload-pack=x", Danger.RUNS),
        ("branch.main.remote", "ext::sh -c x", Danger.RUNS),
        ("mergetool.x.cmd", "x", Danger.RUNS),
        ("difftool.x.cmd", "x", Danger.RUNS),
        ("include.path", "x", Danger.REDIRECTS),
        ("includeif.gitdir:/x/.path", "x", Danger.REDIRECTS),
        ("url.https://evil.example/.insteadof", "https://", Danger.REDIRECTS),
        ("url.x.pushinsteadof", "y", Danger.REDIRECTS),
        ("remote.o.proxy", "x", Danger.REDIRECTS),
        ("http.proxy", "x", Danger.REDIRECTS),
        ("http.https://example.org.sslverify", "false", Danger.REDIRECTS),
        ("http.extraheader", "x", Danger.REDIRECTS),
        ("protocol.ext.allow", "always", Danger.REDIRECTS),
        ("protocol.allow", "always", Danger.REDIRECTS),
        ("init.templatedir", "x", Danger.REDIRECTS),
        ("core.worktree", "/elsewhere", Danger.REDIRECTS),
        ("core.bare", "true", Danger.REDIRECTS),
        ("core.bare", None, Danger.REDIRECTS),
        ("extensions.partialclone", "origin", Danger.REDIRECTS),
        ("remote.o.promisor", "true", Danger.REDIRECTS),
        ("core.sparsecheckout", "true", Danger.HIDES),
        ("extensions.preciousobjects", "true", Danger.HIDES),
        ("extensions.objectformat", "sha256", Danger.UNKNOWN),
        ("extensions.refstorage", "reftable", Danger.UNKNOWN),
        ("i18n.commitencoding", "latin1", Danger.UNKNOWN),
        ("core.repositoryformatversion", "2", Danger.UNKNOWN),
        ("user.name", "a\x1bb", Danger.UNKNOWN),
        ("notyet.invented", "x", Danger.UNKNOWN),
        ("core.notyet", "x", Danger.UNKNOWN),
        ("core", "x", Danger.UNKNOWN),
        ("", "x", Danger.UNKNOWN),
    ],
)
def test_a_setting_that_may_run_redirect_or_is_unknown_is_named(key: str, value: str | None, danger: Danger) -> None:
    assert audit(key, value) == [(key, danger)]


def test_every_repeated_setting_is_looked_at_and_all_findings_are_told() -> None:
    pairs = parse_config_list(b"remote.o.url\nhttps://a\0remote.o.url\next::x\0alias.x\n!y\0core.bare\nfalse\0")
    assert [finding.key for finding in audit_config(pairs)] == ["remote.o.url", "alias.x"]


def test_a_value_with_a_line_break_is_one_value() -> None:
    assert parse_config_list(b"user.name\na\ncore.pager\nx\0core.bare\0") == (
        ("user.name", "a\ncore.pager\nx"),
        ("core.bare", None),
    )


@given(st.text(), st.one_of(st.none(), st.text()))
def test_a_key_outside_the_list_is_never_allowed(key: str, value: str | None) -> None:
    listed = {name for row in ALLOWED for name in row.keys.split()}
    if audit(key, value) == []:
        section, name = key.split(".", maxsplit=1)[0], key.rsplit(".", maxsplit=1)[-1]
        assert listed & {f"{section}.{name}", f"{section}.*.{name}", f"{section}.*", f"{section}.*.*"}


def test_no_key_is_in_both_lists_unless_its_value_decides() -> None:
    allowed = {name: row.value for row in ALLOWED for name in row.keys.split()}
    both = [name for row in DANGERS for name in row.keys.split() if name in allowed]
    assert sorted(both) == sorted(
        [
            "core.bare", "core.fsmonitor", "extensions.objectformat", "extensions.refstorage",
            "remote.*.url", "remote.*.pushurl", "branch.*.remote", "branch.*.pushremote",
        ]
    )  # fmt: skip


def test_every_row_gives_a_reason_and_a_source() -> None:
    assert all(row.reason and row.source for row in (*ALLOWED, *ALLOWED_ATTRIBUTES))
    overrides = (*ALWAYS_OVERRIDES, *LOCAL_OVERRIDES, *NETWORK_OVERRIDES, *TEXT_MERGE_OVERRIDES)
    assert all(row.reason and row.source for row in overrides)
    variables = (*ALWAYS_VARIABLES, *LOCAL_VARIABLES, *NETWORK_VARIABLES)
    assert all(row.reason and row.source for row in variables)
    assert all(row.why and row.source for row in DANGERS)
    assert all(row.reason for row in KEPT_VARIABLES)


@pytest.mark.parametrize(
    "line",
    [
        "", "# comment", "*.md merge", "*.md -merge", "*.md merge=union", "*.md text eol=lf", "*.md !merge -diff",
        "*.png binary", '"a b.md" merge=text', "*.md\tmerge\r", "*.md", "\ufeff*.md merge",
    ],
)  # fmt: skip
def test_plain_attributes_are_allowed(line: str) -> None:
    assert audit_attributes(line.encode()) == ()
    assert audit_attributes(f"{line}\n*.x filter=evil".encode()) != ()


@pytest.mark.parametrize(
    ("line", "key", "danger"),
    [
        ("*.md filter=lfs", "filter=lfs", Danger.RUNS),
        ("*.md merge=evil", "merge=evil", Danger.RUNS),
        ("*.md diff=pdf", "diff=pdf", Danger.RUNS),
        ("*.md text working-tree-encoding=UTF-16", "working-tree-encoding=UTF-16", Danger.UNKNOWN),
        ("*.md ident", "ident", Danger.UNKNOWN),
        ('"a \\" b" filter=x', "filter=x", Danger.RUNS),
        ('"a b"filter=x', "filter=x", Danger.RUNS),
        ("[attr]quiet merge", "line 1", Danger.UNREADABLE),
        ('"open filter=x', "line 1", Danger.UNREADABLE),
        ("  *.md\t filter=x", "filter=x", Danger.RUNS),
    ],
)
def test_an_attribute_that_names_a_driver_or_is_unknown_is_refused(line: str, key: str, danger: Danger) -> None:
    assert [(finding.key, finding.danger) for finding in audit_attributes(line.encode())] == [(key, danger)]


# -- the environment of a command ------------------------------------------------------------------------------------

CALLER = {
    "PATH": "/bin", "HOME": "/home/u", "XDG_CONFIG_HOME": "/x", "SSH_AUTH_SOCK": "/s", "LD_PRELOAD": "/evil.so",
    "GIT_DIR": "/evil", "GIT_EXTERNAL_DIFF": "evil", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.pager",
    "GIT_CONFIG_PARAMETERS": "'core.pager=evil'", "GIT_SSH_COMMAND": "evil", "GIT_TRACE": "/tmp/x", "PAGER": "evil",
    "EDITOR": "evil", "VISUAL": "evil", "SSH_ASKPASS": "evil", "GIT_ASKPASS": "evil", "TZ": "Asia/Tokyo",
}  # fmt: skip


def test_a_local_command_sees_nothing_of_the_caller_but_what_is_listed() -> None:
    built = build_environment(CALLER, path="/usr/bin", network=False)
    ours = {row.name: row.value for row in (*ALWAYS_VARIABLES, *LOCAL_VARIABLES)}
    assert built == {"PATH": "/usr/bin", "TZ": "Asia/Tokyo", **ours}
    assert "HOME" not in built


def test_a_network_command_sees_the_users_home_and_agent_and_still_no_git_variable_of_theirs() -> None:
    built = build_environment(CALLER, path="/usr/bin", network=True)
    assert (built["HOME"], built["SSH_AUTH_SOCK"], built["GIT_ALLOW_PROTOCOL"]) == ("/home/u", "/s", "https:ssh")
    assert "GIT_CONFIG_GLOBAL" not in built
    assert not {value for value in built.values() if "evil" in value}


@given(st.dictionaries(st.text(), st.text()), st.booleans())
def test_no_git_variable_of_the_caller_survives(base: dict[str, str], network: bool) -> None:
    hostile = {**base, **{f"GIT_{name}": "evil\x00mark" for name in base}}
    assert "evil\x00mark" not in build_environment(hostile, path="", network=network).values()


def test_a_date_needs_a_zone_and_is_given_to_author_and_committer() -> None:
    at = dt.datetime(2026, 10, 5, 12, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=-30)))
    built = build_environment({}, path="", network=False, at=at)
    assert built["GIT_AUTHOR_DATE"] == built["GIT_COMMITTER_DATE"] == f"@{int(at.timestamp())} -0330"
    with pytest.raises(ValueError, match="zone"):
        build_environment({}, path="", network=False, at=at.replace(tzinfo=None))


def test_an_override_of_one_command_comes_last_and_local_commands_speak_no_protocol() -> None:
    arguments = build_config_arguments(network=False, extra=TEXT_MERGE_OVERRIDES)
    assert arguments[-1].startswith("merge.union.driver=git merge-file")
    assert "protocol.allow=never" in arguments
    assert "credential.helper=" in arguments
    assert "credential.helper=" not in build_config_arguments(network=True)
