"""Programs and redirections planted where git looks for them: none runs, none redirects.

Each attack is first sprung with plain git, which proves that the plant is live. Then two defences are shown apart:
the gate refuses the repo before any command runs in it, and where the runner's own overrides cover the attack, they
hold with the gate taken away.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.kit.repos import ANY_CODE, HERMETIC, commit_files, head_of, make_repo, raw_git, write_files

from memrepo.errors import ConfigRefused, MemrepoError, RepositoryFault
from memrepo.git.client import GitClient
from memrepo.git.compaction import compact, search_objects
from memrepo.git.gate import Gate
from memrepo.git.process import run_git
from memrepo.git.status import WorkTreeState, classify
from memrepo.model import Origin, Trailers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

CLI = Trailers(origin=Origin.CLI)
EVIL_ATTRIBUTES = {".gitattributes": "*.md filter=evil diff=evil merge=evil\n"}


@dataclass(frozen=True)
class Scene:
    """A repo to attack, and a program that leaves a mark when it runs."""

    root: Path
    program: Path
    canary: Path

    def config(self, *pairs: tuple[str, str]) -> None:
        for key, value in pairs:
            raw_git(self.root, "config", "--add", key, value)

    def plain(self, *args: str, env: Mapping[str, str] | None = None, stdin: bytes = b"") -> None:
        raw_git(self.root, *args, stdin=stdin, ok_codes=ANY_CODE, env=env)

    def plain_commit(self) -> None:
        write_files(self.root, {"me.md": "- plain\n"})
        self.plain("add", "me.md")
        self.plain("commit", "-m", "Plain")

    def has_run(self) -> bool:
        ran = self.canary.exists()
        self.canary.unlink(missing_ok=True)
        return ran


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    root = make_repo(tmp_path / "repo", {"MEMORY.md": "# M\n", "me.md": "- a\n", **EVIL_ATTRIBUTES})
    commit_files(root, {"me.md": "- b\n", "lessons.md": "- l\n"})
    program, canary = tmp_path / "evil/program", tmp_path / "canary"
    write_files(tmp_path, {"evil/program": f"#!/bin/sh\ntouch '{canary}'\nexit 0\n"})
    program.chmod(0o755)
    return Scene(root, program, canary)


@pytest.fixture
def open_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the gate away, so that only the runner's overrides and the verbs' own options are left."""
    monkeypatch.setattr(Gate, "check", lambda _gate: None)


def use_every_verb(root: Path) -> None:
    """Runs each verb on `root`, the way a governed write, an undo, a look at history and a compaction would."""
    client = GitClient(root)
    client.status()
    write_files(root, {"me.md": "- ours\n", "new.md": "- n\n"})
    client.add(["me.md", "new.md"])
    ours = client.commit("Remember", CLI)
    write_files(root, {"me.md": "- work tree\n"})
    client.diff("HEAD~1", "HEAD")
    client.diff("HEAD")
    client.log(path="me.md")
    client.get_commit("HEAD")
    client.show("HEAD")
    client.count_commits()
    assert client.read_blob("HEAD", "me.md") == b"- ours\n"
    write_files(root, {"me.md": "- ours\n"})
    client.revert(ours, "Undo", CLI)
    client.branches()
    client.stashes()
    client.worktrees()
    compact(client, "main", "Compact", CLI)
    search_objects(client, [b"x"])


# -- settings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attack:
    """`plant` sets the trap, `spring` walks into it with plain git, `key` is what the gate must name.

    `is_overridden`: the hardened runner holds by itself. Otherwise the gate alone stands between.
    """

    name: str
    key: str
    plant: Callable[[Scene], None]
    spring: Callable[[Scene], None]
    is_overridden: bool = True


def configure(*rows: tuple[str, str]) -> Callable[[Scene], None]:
    """Plants settings; `{}` in a value is the program."""
    return lambda scene: scene.config(*((key, value.format(scene.program)) for key, value in rows))


def plain(*args: str, **env: str) -> Callable[[Scene], None]:
    return lambda scene: scene.plain(*args, env=env)


def plant_include(key: str) -> Callable[[Scene], None]:
    def plant(scene: Scene) -> None:
        hidden = scene.program.parent / "hidden"
        hidden.write_text(f"[core]\n\tfsmonitor = {scene.program}\n")
        scene.config((key.format(scene.root), str(hidden)))

    return plant


def plant_hooks_path(scene: Scene) -> None:
    folder = scene.program.parent
    (folder / "pre-commit").symlink_to(scene.program)
    scene.config(("core.hooksPath", str(folder)))


def spring_merge(scene: Scene) -> None:
    scene.plain("checkout", "-b", "side")
    commit_files(scene.root, {"me.md": "- side\n"})
    scene.plain("checkout", "main")
    commit_files(scene.root, {"me.md": "- main\n"})
    scene.plain("merge", "side")


def spring_filter(scene: Scene) -> None:
    write_files(scene.root, {"me.md": "- filtered\n"})
    scene.plain("add", "me.md")


def spring_smudge(scene: Scene) -> None:
    (scene.root / "me.md").unlink()
    scene.plain("checkout", "me.md")


def spring_diff(scene: Scene) -> None:
    write_files(scene.root, {"me.md": "- differs\n"})
    scene.plain("diff")


def spring_credential(scene: Scene) -> None:
    scene.plain("credential", "fill", stdin=b"protocol=https\nhost=example.invalid\n\n")


SSH_URL = "ssh://nobody@localhost/x"

ATTACKS = (
    Attack("hooks path", "core.hookspath", plant_hooks_path, lambda s: s.plain_commit()),
    Attack("fsmonitor", "core.fsmonitor", configure(("core.fsmonitor", "{}")), plain("status")),
    Attack("filter clean", "filter.evil.clean", configure(("filter.evil.clean", "{}")), spring_filter, False),
    Attack("filter smudge", "filter.evil.smudge", configure(("filter.evil.smudge", "{}")), spring_smudge, False),
    Attack("filter process", "filter.evil.process", configure(("filter.evil.process", "{}")), spring_filter, False),
    Attack("external diff", "diff.external", configure(("diff.external", "{}")), spring_diff),
    Attack("diff driver", "diff.evil.command", configure(("diff.evil.command", "{}")), spring_diff),
    Attack("textconv", "diff.evil.textconv", configure(("diff.evil.textconv", "{}")), spring_diff),
    Attack("merge driver", "merge.evil.driver", configure(("merge.evil.driver", "{}")), spring_merge, False),
    Attack("ssh command", "core.sshcommand", configure(("core.sshCommand", "{}")), plain("ls-remote", SSH_URL)),
    Attack("ext remote", "remote.o.url", configure(("remote.o.url", "ext::{}"), ("protocol.ext.allow", "always")),
           plain("fetch", "o")),
    Attack("upload pack", "remote.o.uploadpack", configure(("remote.o.url", "."), ("remote.o.uploadpack", "{}")),
           plain("fetch", "o")),
    Attack("credential helper", "credential.helper", configure(("credential.helper", "{}")), spring_credential),
    Attack("password program", "core.askpass", configure(("core.askPass", "{}")), spring_credential),
    Attack("alias", "alias.evil", configure(("alias.evil", "!{}")), plain("evil")),
    Attack("alias of a verb", "alias.status", configure(("alias.status", "!{}"), ("alias.st", "!{}")), plain("st")),
    Attack("include", "include.path", plant_include("include.path"), plain("status")),
    Attack("conditional include", "includeif.gitdir:{root}/.git.path", plant_include("includeIf.gitdir:{}/.git.path"),
           plain("status")),
    Attack("editor", "core.editor", configure(("core.editor", "{}")), plain("commit", "--allow-empty", GIT_EDITOR="")),
    Attack("todo editor", "sequence.editor", configure(("sequence.editor", "{}")),
           plain("rebase", "-i", "HEAD~1", GIT_EDITOR="")),
    Attack("signing", "gpg.program", configure(("commit.gpgSign", "true"), ("gpg.program", "{}")),
           lambda s: s.plain_commit()),
    Attack("signing by ssh", "gpg.format", configure(
        ("commit.gpgSign", "true"), ("gpg.format", "ssh"), ("gpg.ssh.program", "{}"), ("user.signingKey", "key")),
        lambda s: s.plain_commit()),
    Attack("trailer command", "trailer.evil.command", configure(("trailer.evil.command", "{}")),
           plain("commit", "--allow-empty", "-m", "x", "--trailer", "a: b")),
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_planted_setting_is_live_and_the_gate_refuses_it_before_anything_runs(scene: Scene, attack: Attack) -> None:
    attack.plant(scene)
    attack.spring(scene)
    assert scene.has_run(), "the plant does nothing, so the test would prove nothing"
    head = head_of(scene.root)
    scene.has_run()
    with pytest.raises(ConfigRefused) as caught:
        use_every_verb(scene.root)
    assert caught.value.facts["key"] == attack.key.format(root=scene.root)
    assert caught.value.hint.startswith(f"git config --file {scene.root}/.git/config --unset-all ")
    assert not scene.has_run()
    assert head_of(scene.root) == head


@pytest.mark.parametrize("attack", [a for a in ATTACKS if a.is_overridden], ids=lambda attack: attack.name)
@pytest.mark.usefixtures("open_gate")
def test_the_hardened_runner_holds_by_itself_where_an_override_covers_it(scene: Scene, attack: Attack) -> None:
    attack.plant(scene)
    use_every_verb(scene.root)
    for args in (("ls-remote", SSH_URL), ("fetch", "o"), ("ls-remote", "ext::" + str(scene.program))):
        run_git(scene.root, args, ok_codes=ANY_CODE)
    run_git(scene.root, ("credential", "fill"), stdin=b"protocol=https\nhost=example.invalid\n\n", ok_codes=ANY_CODE)
    assert not scene.has_run()


def test_following_the_hint_lets_the_repo_in_again(scene: Scene) -> None:
    scene.config(("alias.evil", "!x"), ("alias.evil", "!y"))
    with pytest.raises(ConfigRefused) as caught:
        GitClient(scene.root).check()
    subprocess.run(caught.value.hint, shell=True, check=True, cwd="/", env={"PATH": os.environ["PATH"], **HERMETIC})
    GitClient(scene.root).check()


def test_a_setting_planted_between_two_commands_of_one_client_is_seen(scene: Scene) -> None:
    client = GitClient(scene.root)
    client.status()
    scene.config(("filter.evil.clean", str(scene.program)))
    write_files(scene.root, {"me.md": "- c\n"})
    with pytest.raises(ConfigRefused):
        client.add(["me.md"])
    assert not scene.has_run()


def test_the_second_configuration_of_a_worktree_is_audited_too(scene: Scene) -> None:
    scene.config(("extensions.worktreeConfig", "true"))
    GitClient(scene.root).check()
    raw_git(scene.root, "config", "--worktree", "core.fsmonitor", str(scene.program))
    scene.plain("status")
    assert scene.has_run()
    with pytest.raises(ConfigRefused) as caught:
        GitClient(scene.root).status()
    assert caught.value.facts["path"] == str(scene.root / ".git/config.worktree")


@pytest.mark.parametrize("text", [b"[core\n", b"[core]\n\tbare = false\n\x00", b"\xff\xfe[\x00", b'[a]\nb = "open\n'])
def test_a_configuration_that_cannot_be_read_is_refused(scene: Scene, text: bytes) -> None:
    (scene.root / ".git/config").write_bytes(text)
    with pytest.raises(RepositoryFault):
        GitClient(scene.root).status()


def test_the_attributes_that_win_over_the_repos_own_may_name_no_driver(scene: Scene) -> None:
    write_files(scene.root, {".git/info/attributes": "*.md merge=union\n"})
    GitClient(scene.root).check()
    write_files(scene.root, {".git/info/attributes": "*.md merge=union\n*.md filter=evil\n"})
    with pytest.raises(ConfigRefused) as caught:
        GitClient(scene.root).status()
    assert caught.value.facts["key"] == "filter=evil"


def test_all_faults_are_told_at_once(scene: Scene) -> None:
    scene.config(("alias.a", "!x"), ("core.pager", "x"), ("url.x.insteadOf", "y"))
    keys = [finding.key for finding, _ in GitClient(scene.root).find_config_faults()]
    assert sorted(keys) == ["alias.a", "core.pager", "url.x.insteadof"]
    with pytest.raises(ConfigRefused, match=r"2 more"):
        GitClient(scene.root).check()


# -- hooks ------------------------------------------------------------------------------------------------------------

HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-index-change",
    "reference-transaction", "pre-auto-gc", "post-rewrite", "pre-merge-commit", "post-merge", "fsmonitor-watchman",
)  # fmt: skip
LIVE_HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_planted_hook_never_runs(scene: Scene, hook: str) -> None:
    (scene.root / ".git/hooks").mkdir()
    (scene.root / ".git/hooks" / hook).symlink_to(scene.program)
    if hook in LIVE_HOOKS:
        scene.plain_commit()
        assert scene.has_run()
    use_every_verb(scene.root)  # the gate lets it pass: hooks need no setting
    assert not scene.has_run()


# -- redirections -----------------------------------------------------------------------------------------------------


def elsewhere(scene: Scene) -> Path:
    return make_repo(scene.root.parent / "elsewhere", {"other.md": "- o\n"})


def test_another_work_tree_is_refused_and_would_not_be_used(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    other = elsewhere(scene)
    scene.config(("core.worktree", str(other)))
    assert raw_git(scene.root, "rev-parse", "--show-toplevel").decode().strip() == str(other)
    with pytest.raises(ConfigRefused) as caught:
        GitClient(scene.root).status()
    assert caught.value.facts["key"] == "core.worktree"
    monkeypatch.setattr(Gate, "check", lambda _gate: None)
    assert classify(GitClient(scene.root).status(), "main").state is WorkTreeState.CLEAN


def test_a_bare_repo_is_refused(scene: Scene) -> None:
    scene.config(("core.bare", "true"))
    with pytest.raises(ConfigRefused):
        GitClient(scene.root).status()


@pytest.mark.parametrize("rewrite", ["insteadOf", "pushInsteadOf"])
def test_a_rewritten_address_is_refused(scene: Scene, rewrite: str) -> None:
    scene.config((f"url.https://evil.invalid/.{rewrite}", "https://good.invalid/"))
    if rewrite == "insteadOf":
        told = raw_git(scene.root, "ls-remote", "--get-url", "https://good.invalid/x")
        assert told == b"https://evil.invalid/x\n"
    with pytest.raises(ConfigRefused) as caught:
        GitClient(scene.root).status()
    assert caught.value.facts["key"] == f"url.https://evil.invalid/.{rewrite.lower()}"


def replace_by_link(path: Path, target: Path) -> None:
    path.rename(path.with_name(path.name + ".was"))
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("place", "plant"),
    [
        (".git", lambda s, o: replace_by_link(s.root / ".git", o / ".git")),
        (".git", lambda s, o: (
            (s.root / ".git").rename(s.root.parent / "was"), (s.root / ".git").write_text(f"gitdir: {o}/.git\n"))),
        ("commondir", lambda s, o: (s.root / ".git/commondir").write_text(f"{o}/.git\n")),
        ("objects", lambda s, o: replace_by_link(s.root / ".git/objects", o / ".git/objects")),
        ("objects/info/alternates", lambda s, o: write_files(
            s.root, {".git/objects/info/alternates": f"{o}/.git/objects\n"})),
        ("refs", lambda s, o: replace_by_link(s.root / ".git/refs", o / ".git/refs")),
        ("config", lambda s, o: replace_by_link(s.root / ".git/config", o / ".git/config")),
        ("index", lambda s, o: replace_by_link(s.root / ".git/index", o / ".git/index")),
        ("HEAD", lambda s, o: replace_by_link(s.root / ".git/HEAD", o / ".git/HEAD")),
        ("info", lambda s, o: (s.root / ".git/info").symlink_to(o / ".git/info")),
        ("info/grafts", lambda s, o: write_files(s.root, {".git/info/grafts": head_of(s.root) + "\n"})),
    ],
    ids=["link", "file", "commondir", "objects", "alternates", "refs", "config", "index", "HEAD", "info", "grafts"],
)  # fmt: skip
def test_a_git_folder_that_leads_elsewhere_is_refused_by_its_place(
    scene: Scene, place: str, plant: Callable[[Scene, Path], object]
) -> None:
    other = elsewhere(scene)
    before = head_of(other)
    client = GitClient(scene.root)
    client.status()
    plant(scene, other)
    with pytest.raises(ConfigRefused) as caught:
        client.add(["me.md"])
    assert caught.value.facts["key"] == place
    with pytest.raises(ConfigRefused):
        GitClient(scene.root).commit("x", CLI)
    assert head_of(other) == before


def test_a_submodule_is_not_entered(scene: Scene) -> None:
    inner = make_repo(scene.root / "inner.md", {"a.md": "x"})
    commit_files(scene.root, {"me.md": "- with inner\n"})  # records the nested repo as a submodule
    raw_git(inner, "config", "core.fsmonitor", str(scene.program))
    scene.plain("status")
    assert scene.has_run()
    write_files(inner, {"a.md": "changed"})
    use_every_verb(scene.root)
    assert not scene.has_run()


# -- the environment, the user's own settings, the program ------------------------------------------------------------


def test_no_git_variable_of_the_caller_reaches_git(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    other = elsewhere(scene)
    before = head_of(other)
    program = str(scene.program)
    hostile = {
        "GIT_DIR": f"{other}/.git", "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": f"{other}/.git/index",
        "GIT_OBJECT_DIRECTORY": f"{other}/.git/objects", "GIT_COMMON_DIR": f"{other}/.git",
        "GIT_EXTERNAL_DIFF": program, "GIT_SSH_COMMAND": program, "GIT_SSH": program, "GIT_ASKPASS": program,
        "SSH_ASKPASS": program, "GIT_EDITOR": program, "GIT_SEQUENCE_EDITOR": program, "GIT_PAGER": program,
        "GIT_PROXY_COMMAND": program, "EDITOR": program, "VISUAL": program, "PAGER": program,
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": program,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={program}'", "GIT_TEMPLATE_DIR": str(scene.program.parent),
        "GIT_EXEC_PATH": str(scene.program.parent), "GIT_TRACE": str(scene.canary), "GIT_ALLOW_PROTOCOL": "ext",
        "GIT_TRACE2": str(scene.canary), "GIT_AUTHOR_NAME": "Somebody", "GIT_COMMITTER_EMAIL": "x@y",
        "GIT_AUTHOR_DATE": "@1 +0000", "GIT_LITERAL_PATHSPECS": "0", "GIT_DEFAULT_HASH": "sha256",
        "GIT_REDIRECT_STDOUT": str(scene.canary), "GIT_CEILING_DIRECTORIES": "/", "GIT_NAMESPACE": "n",
    }  # fmt: skip
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    use_every_verb(scene.root)
    run_git(scene.root, ("ls-remote", SSH_URL), ok_codes=ANY_CODE)
    run_git(scene.root, ("ls-remote", f"ext::{program}"), ok_codes=ANY_CODE)
    fresh = scene.root.parent / "fresh"
    fresh.mkdir()
    GitClient(fresh).init()
    assert not scene.has_run()
    assert not (fresh / ".git/program").exists()
    assert GitClient(scene.root).log(limit=1)[0].author_name == "CoWork OS"
    assert head_of(other) == before


def test_each_hostile_variable_would_have_worked(scene: Scene) -> None:
    program = str(scene.program)
    write_files(scene.root, {"me.md": "- differs\n"})
    for args, env in (
        (("diff",), {"GIT_EXTERNAL_DIFF": program}),
        (("ls-remote", SSH_URL), {"GIT_SSH_COMMAND": program}),
        (("status",), {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": program}),
        (("ls-remote", f"ext::{program}"), {"GIT_ALLOW_PROTOCOL": "ext"}),
        (("status",), {"GIT_TRACE": str(scene.canary)}),
    ):
        scene.plain(*args, env=env)
        assert scene.has_run(), env


def test_the_users_own_settings_are_not_read_by_local_commands(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    home = scene.root.parent / "home"
    evil = f'[core]\n\thooksPath = {scene.program.parent}\n[filter "evil"]\n\tclean = {scene.program}\n'
    write_files(home, {".gitconfig": evil, ".config/git/config": evil, ".config/git/attributes": "* filter=evil\n"})
    spring = {"HOME": str(home), "GIT_CONFIG_GLOBAL": ""}
    write_files(scene.root, {"me.md": "- plain\n"})
    scene.plain("add", "me.md", env=spring)
    assert scene.has_run()
    scene.plain("reset", "--hard")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    use_every_verb(scene.root)
    assert not scene.has_run()


def test_network_commands_run_no_hook_no_planted_ssh_and_ask_nobody(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's settings are read for credentials; what the overrides name holds there too. No network is used:
    ssh is a program of ours that writes down how it was called."""
    home, tools, called = scene.root.parent / "home", scene.root.parent / "tools", scene.root.parent / "called"
    write_files(home, {".gitconfig": f"[core]\n\tsshCommand = {scene.program}\n\taskPass = {scene.program}\n"})
    write_files(tools, {"ssh": f"#!/bin/sh\necho \"$@\" >> '{called}'\nexit 255\n"})
    (tools / "ssh").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(scene.program))
    monkeypatch.setenv("SSH_ASKPASS", str(scene.program))
    run_git(scene.root, ("ls-remote", SSH_URL), network=True, ok_codes=ANY_CODE)
    assert "-oBatchMode=yes" in called.read_text()
    for address in (f"ext::{scene.program}", f"file://{scene.root}", "git://localhost/x", "http://localhost:1/x"):
        with pytest.raises(MemrepoError, match="not allowed"):
            run_git(scene.root, ("ls-remote", address), network=True)
    run_git(scene.root, ("credential", "fill"), network=True, stdin=b"protocol=https\nhost=h\n\n", ok_codes=ANY_CODE)
    assert not scene.has_run()


def test_a_git_planted_in_the_repo_or_the_current_folder_never_runs(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (scene.root, scene.root / "bin"):
        folder.mkdir(exist_ok=True)
        for name in ("git", "git-status", "ssh", "sh"):
            (folder / name).symlink_to(scene.program)
    raw_git(scene.root, "add", "--all")
    raw_git(scene.root, "commit", "--quiet", "-m", "planted")
    monkeypatch.chdir(scene.root)
    path = os.pathsep.join([str(scene.root), f"{scene.root}/bin", ".", "", os.environ["PATH"]])
    subprocess.run(["git", "status"], check=True, env={"PATH": path, **HERMETIC})
    assert scene.has_run()
    monkeypatch.setenv("PATH", path)
    use_every_verb(scene.root)
    assert not scene.has_run()


def test_history_is_shown_as_it_is_and_not_as_a_replacement_would_have_it(scene: Scene) -> None:
    real = raw_git(scene.root, "rev-parse", "HEAD:me.md").decode().strip()
    false = raw_git(scene.root, "hash-object", "-w", "--stdin", stdin=b"- forged\n").decode().strip()
    raw_git(scene.root, "replace", real, false)
    assert raw_git(scene.root, "cat-file", "blob", "HEAD:me.md") == b"- forged\n"
    assert GitClient(scene.root).read_blob("HEAD", "me.md") == b"- b\n"
