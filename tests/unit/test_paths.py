"""Which names, places and roots are accepted, and which rule refuses the others."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from memrepo.errors import PathRefused
from memrepo.files.paths import check_repo_path, list_markdown, resolve_contained, scan_markdown, validate_root
from memrepo.files.roots import PROTECTED_ROOTS
from memrepo.model import RepoPath, Workspace

DECOMPOSED = unicodedata.normalize("NFD", "café.md")


def rule_of(raw: str) -> str:
    with pytest.raises(PathRefused) as refusal:
        check_repo_path(raw)
    assert refusal.value.hint
    assert refusal.value.facts["path"] == raw
    assert refusal.value.message.isprintable()
    return str(refusal.value.facts["rule"])


@pytest.mark.parametrize(
    "raw",
    [
        "MEMORY.md",
        "workspaces/billing-service.md",
        "notes/Zweite Woche.md",
        "日本語/メモ.md",
        "عربى.md",
        "می‌خواهم.md",  # a word with a joiner
        "👩‍👩‍👧.md",
        "v1.2/notes.md",
        ".gitignore",
        ".gitattributes",
        ".github/notes.md",
        "digit.md",
        "console.md",
        "com10.md",
        "com.md",
        "a~b.md",
        "git.md",
        "x" * 252 + ".md",
    ],
)
def test_an_ordinary_path_comes_back_unchanged(raw: str) -> None:
    assert check_repo_path(raw) == raw


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("C:/notes.md", "absolute"),
        ("c:\\notes.md", "absolute"),
        ("notes\\topic.md", "backslash"),
        ("~/notes.md", "home-folder"),
        ("~", "home-folder"),
        ("..", "parent"),
        ("notes/../../x.md", "parent"),
        ("./notes.md", "dot"),
        ("notes/./x.md", "dot"),
        ("notes//x.md", "empty-part"),
        ("notes/", "empty-part"),
        ("a\x00.md", "control-character"),
        ("a\n.md", "control-character"),
        ("a\x7f.md", "control-character"),
        ("a\x85.md", "control-character"),
        ("a\u2028.md", "control-character"),
        ("a\udcff.md", "undecodable"),
        ("a\u202egpj.md", "invisible-character"),
        ("a\u200b.md", "invisible-character"),
        ("\ufeffa.md", "invisible-character"),
        ("a\U000e0041.md", "invisible-character"),
        ("notes./x.md", "trailing-dot-or-space"),
        ("notes /x.md", "trailing-dot-or-space"),
        ("x.md.", "trailing-dot-or-space"),
        ("x.md ", "trailing-dot-or-space"),
        ("...", "trailing-dot-or-space"),
        ("me.md:hidden", "reserved-character"),
        ("what?.md", "reserved-character"),
        ("a|b.md", "reserved-character"),
        ("‥/x.md", "look-alike"),  # a compatibility form of ..
        ("a／b.md", "look-alike"),
        (DECOMPOSED, "not-nfc"),
        ("é" * 130 + ".md", "too-long"),
        ("x" * 256, "too-long"),
        ("d/" * 255 + "xyz", "too-long"),
        (".memrepo-0123456789abcdef.tmp", "temporary-name"),
        ("notes/.memrepo-0123456789abcdef.tmp", "temporary-name"),
    ],
)
def test_a_path_that_breaks_a_rule_is_refused_with_its_name(raw: str, rule: str) -> None:
    assert rule_of(raw) == rule


@pytest.mark.parametrize(
    "stem", ["CON", "prn", "Aux", "nul", "COM1", "com0", "lpt9", "COM¹", "LPT³", "CONIN$", "conout$"]
)
@pytest.mark.parametrize("rest", ["", ".md", ".tar.gz", " .md", ".é"])
def test_a_device_name_of_windows_is_refused_with_any_extension(stem: str, rest: str) -> None:
    assert rule_of(f"notes/{stem}{rest}") == "reserved-name"


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".Git",
        ".git.",
        ".git ",
        ".git . .",
        ".git::$INDEX_ALLOCATION",
        ".git:stream",
        "git~1",
        "GIT~1",
        "git~2",
        "git~1 .",
        ".g\u200cit",  # HFS+ passes over it
        ".gi\u200dt",
        "\ufeff.git",
        ".git\u206f",
        ".\u200egit",
        "．git",  # a compatibility form of the dot
        ".ｇｉｔ",
        ".𝐠𝐢𝐭",
        ".gıt",
        ".gİt",
        ".g\ufe0fit",
        ".git\u00a0",
    ],
)
@pytest.mark.parametrize("shape", ["{}", "{}/config", "notes/{}", "notes/{}/hooks/pre-commit"])
def test_the_folder_of_git_is_refused_in_every_form_and_place(name: str, shape: str) -> None:
    assert rule_of(shape.format(name)) == "git-folder"


def test_a_refusal_shows_a_long_path_cut_and_escaped() -> None:
    with pytest.raises(PathRefused) as refusal:
        check_repo_path("\x1b[2J" + "x" * 10_000)
    assert len(refusal.value.message) < 300
    assert "\x1b" not in refusal.value.message


# --- resolve_contained


def resolve_rule(root: Path, path: str) -> str:
    with pytest.raises(PathRefused) as refusal:
        resolve_contained(root, RepoPath(path))
    assert refusal.value.hint
    return str(refusal.value.facts["rule"])


def test_a_file_and_an_absent_file_resolve_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("x")
    for path in ("notes/a.md", "notes/new.md", "new/folder/x.md"):
        assert resolve_contained(tmp_path, RepoPath(path)) == tmp_path / path


def test_a_symlink_at_any_step_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "real").mkdir(parents=True)
    (outside / "sub").mkdir(parents=True)
    (outside / "secret.md").write_text("x")
    (root / "folder").symlink_to(outside)
    (root / "real/deep").symlink_to(outside)
    (root / "file.md").symlink_to(outside / "secret.md")
    (root / "inside.md").symlink_to(root / "real")
    (root / "dangling.md").symlink_to(outside / "nothing")
    (tmp_path / "alias").symlink_to(root)
    for path in ("folder/secret.md", "real/deep/secret.md", "file.md", "inside.md", "dangling.md", "folder/none/x.md"):
        assert resolve_rule(root, path) == "symlink"
    assert resolve_rule(tmp_path / "alias", "x.md") == "symlink"


def test_what_is_no_folder_or_no_file_is_refused_by_its_kind(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    assert resolve_rule(tmp_path, "plain/x.md") == "not-a-folder"
    assert resolve_rule(tmp_path, "folder") == "not-a-file"
    assert resolve_rule(tmp_path, "pipe.md") == "not-a-file"
    with pytest.raises(PathRefused, match="a named pipe"):
        resolve_contained(tmp_path, RepoPath("pipe.md"))


def test_a_forged_path_is_checked_again(tmp_path: Path) -> None:
    assert resolve_rule(tmp_path, "../x.md") == "parent"
    assert resolve_rule(tmp_path, ".git/config") == "git-folder"


def test_a_file_with_several_hard_links_resolves(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    os.link(tmp_path / "a.md", tmp_path / "b.md")
    assert resolve_contained(tmp_path, RepoPath("a.md")) == tmp_path / "a.md"


# --- scan_markdown


def test_markdown_files_are_listed_in_order_without_hidden_ones_and_others(tmp_path: Path) -> None:
    for name in ("me.md", "MEMORY.md", "workspaces/b.md", "workspaces/a.MD", "日/本.md", "query.sql", "md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    for name in (".git/x.md", ".obsidian/y.md", ".hidden.md", "._me.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert list_markdown(tmp_path) == ("MEMORY.md", "me.md", "workspaces/a.MD", "workspaces/b.md", "日/本.md")
    assert scan_markdown(tmp_path).skipped == ()


def test_what_a_scan_passes_over_is_told_with_the_reason(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("x")
    (root / "clone/.git").mkdir(parents=True)
    (root / "clone/x.md").write_text("x")
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "folder-link").symlink_to(outside)
    (root / "up").symlink_to(root)
    os.mkfifo(root / "pipe.md")
    (root / "what?.md").write_text("x")
    (root / "nul").mkdir()
    (root / "nul/x.md").write_text("x")
    (root / "fine.md").write_text("x")
    scan = scan_markdown(root)
    assert scan.paths == ("fine.md",)
    assert dict(scan.skipped) == {
        "clone": "a git repository of its own",
        "link.md": "a symbolic link",
        "folder-link": "a symbolic link",
        "up": "a symbolic link",
        "pipe.md": "a named pipe",
        "what?.md": "it holds ? which Windows does not allow in a name",
        "nul": "nul is a device on Windows, whatever the extension",
    }


def test_a_name_that_is_not_unicode_is_told_in_printable_form(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    scan = scan_markdown(tmp_path)
    assert scan.paths == ()
    assert scan.skipped == (("\\udcff.md", "it is not valid Unicode"),)


def test_a_decomposed_name_is_passed_over_where_it_is_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / DECOMPOSED).write_text("x")
    if (tmp_path / "café.md").exists():
        assert list_markdown(tmp_path) == ("café.md",)
    else:
        assert list_markdown(tmp_path) == ()
        assert len(scan_markdown(tmp_path).skipped) == 1


def test_a_scan_stops_at_its_limit_and_says_so(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.md").write_text("x")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/x.md").write_text("x")
    scan = scan_markdown(tmp_path, limit_names=21)
    assert not scan.is_complete
    assert len(scan.paths) == 20
    assert scan.skipped == (("deep/", "more than 21 names: not read further"),)
    assert scan_markdown(tmp_path).is_complete


# --- validate_root


class Machine:
    """A home folder with memrepo's own folders, and a call of validate_root with them."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.config = self.home / ".config/memrepo"
        self.data = self.home / ".local/share/memrepo"
        self.asked: list[Path] = []
        for folder in (self.home, self.config, self.data):
            folder.mkdir(parents=True, exist_ok=True)

    def validate(
        self,
        path: Path | str,
        *,
        workspaces: tuple[Workspace, ...] = (),
        is_repo: bool = True,
        others: tuple[Path, ...] = (),
    ) -> Path:
        def is_memory_repo(folder: Path) -> bool:
            self.asked.append(folder)
            return is_repo

        return validate_root(
            path,
            home=self.home,
            config=self.config,
            data=self.data,
            workspaces=workspaces,
            is_memory_repo=is_memory_repo,
            others=others,
        )

    def rule(
        self,
        path: Path | str,
        *,
        workspaces: tuple[Workspace, ...] = (),
        is_repo: bool = True,
        others: tuple[Path, ...] = (),
    ) -> str:
        with pytest.raises(PathRefused) as refusal:
            self.validate(path, workspaces=workspaces, is_repo=is_repo, others=others)
        assert refusal.value.hint
        assert "cannot be the memory folder: " in refusal.value.message
        return str(refusal.value.facts["rule"])


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_missing_folder_and_an_empty_folder_are_accepted(machine: Machine) -> None:
    missing = machine.home / "CoWork Memory"
    assert machine.validate(str(missing)) == missing
    assert machine.validate(machine.home / "new/deeper/memory") == machine.home / "new/deeper/memory"
    missing.mkdir()
    assert machine.validate(missing) == missing
    (missing / ".DS_Store").write_text("")
    assert machine.validate(missing) == missing
    assert machine.asked == []


def test_a_memory_repo_is_accepted_when_git_takes_it_for_one(machine: Machine) -> None:
    root = machine.home / "memory"
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / "MEMORY.md").write_text("# Memory\n")
    assert machine.validate(root) == root
    assert machine.asked == [root]
    assert machine.rule(root, is_repo=False) == "not-a-memory-repo"


def test_a_memory_repo_made_while_git_was_missing_is_accepted_without_asking_git(machine: Machine) -> None:
    root = machine.home / "memory"
    (root / ".git").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n")
    assert machine.validate(root, is_repo=False) == root
    assert machine.asked == []


def test_the_spelling_must_be_a_whole_plain_path(machine: Machine) -> None:
    assert machine.rule("") == "empty"
    assert machine.rule("  ") == "empty"
    assert machine.rule("/tmp/a\x00b") == "control-character"
    assert machine.rule("/tmp/a\nb") == "control-character"
    assert machine.rule("memory") == "not-absolute"
    assert machine.rule("~/memory") == "not-absolute"
    assert machine.rule(f"{machine.home}/x/../memory") == "parent"


def test_a_link_at_the_folder_or_above_it_inside_home_is_refused(machine: Machine) -> None:
    real = machine.home / "real"
    real.mkdir()
    (machine.home / "link").symlink_to(real)
    (machine.home / "dangling").symlink_to(machine.home / "nothing")
    assert machine.rule(machine.home / "link") == "symlink"
    assert machine.rule(machine.home / "link/memory") == "symlink"
    assert machine.rule(machine.home / "link/a/b") == "symlink"
    assert machine.rule(machine.home / "dangling") == "symlink"


def test_a_link_outside_home_is_refused_only_at_the_folder_itself(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "disk")
    assert machine.rule(tmp_path / "alias") == "symlink"
    assert machine.validate(tmp_path / "alias/memory") == tmp_path / "alias/memory"


def test_a_link_above_home_is_the_systems_business(tmp_path: Path) -> None:
    Machine(tmp_path / "usr")
    (tmp_path / "short").symlink_to(tmp_path / "usr")
    machine = Machine(tmp_path / "short")
    assert machine.validate(tmp_path / "short/home/memory") == tmp_path / "short/home/memory"
    assert machine.validate(tmp_path / "usr/home/memory") == tmp_path / "usr/home/memory"
    assert machine.rule(tmp_path / "usr/home") == "protected-root"


def test_system_folders_and_what_is_in_them_are_refused(machine: Machine) -> None:
    for row in PROTECTED_ROOTS:
        if Path(row.folder).is_absolute() and not Path(row.folder).is_symlink():
            assert machine.rule(row.folder) == "protected-root", row.folder
            if row.with_content:
                assert machine.rule(f"{row.folder}/x/memory") == "protected-root", row.folder
    assert machine.validate("/var/lib/someone/memory")
    assert machine.validate("/mnt/disk/memory")


def test_the_home_folder_its_key_folders_and_memrepos_own_folders_are_refused(machine: Machine) -> None:
    home = machine.home
    for folder in (home, home / ".ssh", home / ".ssh/memory", home / ".config", home / "Library/Application Support"):
        assert machine.rule(folder) == "protected-root", folder
    for own in (machine.config, machine.config.parent, machine.data, machine.data.parent, machine.data.parent.parent):
        assert machine.rule(own) == "protected-root", own
    assert machine.rule(home.parent) == "protected-root"
    profile = machine.data / "profiles/work/memory-repo"
    assert machine.validate(profile) == profile


def test_a_home_inside_a_system_folder_may_still_hold_the_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from memrepo.files import roots

    machine = Machine(tmp_path)
    monkeypatch.setattr(roots, "PROTECTED_ROOTS", (roots.ProtectedRoot(str(tmp_path), "system", with_content=True),))
    assert machine.validate(machine.home / "memory") == machine.home / "memory"
    assert machine.rule(tmp_path / "elsewhere") == "protected-root"


def test_a_folder_inside_git_is_refused(machine: Machine) -> None:
    assert machine.rule(machine.home / "project/.git/memory") == "git-folder"
    assert machine.rule(machine.home / "project/.GIT") == "git-folder"


def test_a_folder_in_a_workspace_is_refused_even_by_another_name(machine: Machine, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    workspace = Workspace("w1", "Billing", root=project)
    (tmp_path / "alias").symlink_to(project / "sub")
    assert machine.rule(project, workspaces=(workspace,)) == "inside-workspace"
    assert machine.rule(project / "sub/memory", workspaces=(workspace,)) == "inside-workspace"
    assert machine.rule(tmp_path / "alias/memory", workspaces=(workspace,)) == "inside-workspace"
    by_link = Workspace("w2", "By link", root=tmp_path / "link-to-project")
    (tmp_path / "link-to-project").symlink_to(project)
    assert machine.rule(project / "memory", workspaces=(by_link,)) == "inside-workspace"
    assert machine.validate(tmp_path / "project-memory", workspaces=(workspace, by_link))
    with pytest.raises(PathRefused, match="Billing"):
        machine.validate(project / "memory", workspaces=(workspace,))


def test_a_workspace_that_is_home_or_above_it_or_has_no_root_does_not_count(machine: Machine) -> None:
    workspaces = tuple(Workspace("w", "W", root=root) for root in (machine.home, machine.home.parent, Path("/"), None))
    assert machine.validate(machine.home / "memory", workspaces=workspaces) == machine.home / "memory"


def test_a_folder_that_overlaps_another_root_is_refused(machine: Machine) -> None:
    team = machine.home / "team"
    team.mkdir()
    for folder in (team, team / "inner", machine.home / "team/inner/deeper"):
        assert machine.rule(folder, others=(team,)) == "overlaps-root"
    assert machine.rule(machine.home / "all", others=(machine.home / "all/team",)) == "overlaps-root"
    assert machine.validate(machine.home / "team2", others=(team,))


def test_a_folder_with_other_content_is_refused_with_the_way_out(machine: Machine) -> None:
    home = machine.home
    (home / "file").write_text("x")
    assert machine.rule(home / "file") == "not-a-folder"
    assert machine.rule(home / "file/memory") == "not-a-folder"
    os.mkfifo(home / "pipe")
    assert machine.rule(home / "pipe") == "not-a-folder"

    (home / "notes").mkdir()
    (home / "notes/a.txt").write_text("x")
    assert machine.rule(home / "notes") == "not-empty"

    (home / "spec").mkdir()
    (home / "spec/MEMORY.md").write_text("# Memory\n")
    assert machine.rule(home / "spec") == "no-repository"
    with pytest.raises(PathRefused) as refusal:
        machine.validate(home / "spec")
    assert f'git init "{home / "spec"}"' in refusal.value.hint

    (home / "code/.git").mkdir(parents=True)
    assert machine.rule(home / "code") == "not-a-memory-repo"

    (home / "tree").mkdir()
    (home / "tree/MEMORY.md").write_text("# Memory\n")
    (home / "tree/.git").write_text("gitdir: /elsewhere\n")
    assert machine.rule(home / "tree") == "git-link"

    (home / "linked/.git").mkdir(parents=True)
    (home / "linked/MEMORY.md").symlink_to(home / "file")
    assert machine.rule(home / "linked") == "not-a-memory-repo"


def test_of_several_broken_rules_the_first_in_order_is_named(machine: Machine, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "file").write_text("x")
    workspace = Workspace("w1", "Billing", root=project)
    assert machine.rule(project, workspaces=(workspace,), others=(project,)) == "inside-workspace"
    assert machine.rule(project, others=(project,)) == "overlaps-root"
    assert machine.rule(project) == "not-empty"
