"""Names inside the memory root: which are allowed, what stands in the way, which Markdown files there are.

`check_repo_path` is pure and is the only maker of a `RepoPath`: what it returns is exactly what it was given, and
means the same file on Linux, macOS and Windows, never the folder of git and never anything outside the root. Reads and
writes go through `atomic`, which walks the path once more on open folders; `resolve_contained` is for programs that
need a path.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from memrepo.errors import DiskFault, PathRefused
from memrepo.files.folder import TEMPORARY_NAME, describe_kind, disk_faults, refuse_kind
from memrepo.files.roots import validate_root
from memrepo.model import RepoPath

__all__ = ["MarkdownScan", "check_repo_path", "list_markdown", "resolve_contained", "scan_markdown", "validate_root"]

PART_LIMIT_BYTES = 255
"""What common file systems take for one name, in UTF-8."""
PATH_LIMIT_BYTES = 512
"""Leaves room for the root on systems that stop at 1,024 (macOS) or, in characters, at 260 (Windows)."""
SCAN_LIMIT_NAMES = 100_000
"""Names that a scan looks at before it stops and says so: far past the limit of 2,000 Markdown files."""

_ORDINARY_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.md)?")
# The device names of Windows, which it takes with any extension (`nul.md`) and in any case; the superscript digits
# count as digits there. Source: Microsoft, "Naming Files, Paths, and Namespaces".
_RESERVED_STEM = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³])", re.IGNORECASE)
# What Windows refuses in a name: a folder that holds one cannot be checked out there. The colon also opens NTFS
# streams.
_RESERVED_CHARACTERS = frozenset('<>:"|?*')
# Joiners belong to words of some scripts and to emoji; every other character of category Cf in a name hides or
# reorders it.
_JOINERS = frozenset("\u200c\u200d")
_GIT_SHORT_NAME = re.compile(r"git~[0-9]+")
# Invisible, but not of category Cf: some file systems and fonts pass over them all the same.
_MORE_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@dataclass(frozen=True, slots=True)
class MarkdownScan:
    """The Markdown files of a root in order, and what was passed over with the reason, as `(name, why)`.

    `is_complete` is False when the scan stopped at its limit.
    """

    paths: tuple[RepoPath, ...]
    skipped: tuple[tuple[str, str], ...]
    is_complete: bool = True


def check_repo_path(raw: str) -> RepoPath:
    """Returns the path unchanged as a `RepoPath`, or says which rule it breaks. Pure.

    A path that is not NFC is refused, not normalized: on Linux the two forms are two files, and what passed a check
    must be exactly what was asked for. Errors: PathRefused, its `rule` one of those below and in `_find_part_fault`.
    """
    fault = _find_path_fault(raw)
    if fault is None:
        return RepoPath(raw)
    rule, why = fault
    raise PathRefused(
        f"path {_shown(raw)} is refused: {why}",
        hint="use a relative path inside the memory folder, such as notes/topic.md",
        path=raw,
        rule=rule,
    )


def _find_path_fault(raw: str) -> tuple[str, str] | None:
    if not raw:
        return "empty", "it is empty"
    if raw.startswith("/") or re.match(r"[A-Za-z]:[/\\]", raw):
        return "absolute", "it is absolute; paths start at the memory folder"
    if "\\" in raw:
        return "backslash", "it holds a backslash; separate folders with /"
    parts = raw.split("/")
    if parts[0] == "~":
        return "home-folder", "~ means your home folder; paths start at the memory folder"
    if len(raw) > PATH_LIMIT_BYTES or len(raw.encode("utf-8", "surrogatepass")) > PATH_LIMIT_BYTES:
        return "too-long", f"it is longer than {PATH_LIMIT_BYTES} bytes"
    return next((fault for part in parts if (fault := _find_part_fault(part))), None)


def _find_part_fault(part: str) -> tuple[str, str] | None:
    """The rule that one name between slashes breaks, and why."""
    if _ORDINARY_PART.fullmatch(part) and len(part) <= PART_LIMIT_BYTES:
        return _find_reserved_name(part)
    if part in {"", ".", ".."}:
        return {
            "": ("empty-part", "it has an empty part (a doubled or last slash)"),
            ".": ("dot", "it has a part that is only a dot"),
            "..": ("parent", "it goes up with .."),
        }[part]
    return (
        _find_character_fault(part)
        or (("git-folder", "it names the folder of git, which nobody but git may touch") if _is_git(part) else None)
        or _find_spelling_fault(part)
        or _find_reserved_name(part)
    )


def _find_character_fault(part: str) -> tuple[str, str] | None:
    for character in part:
        category = unicodedata.category(character)
        if category == "Cc" or category in {"Zl", "Zp"}:
            return "control-character", f"it holds the control character U+{ord(character):04X}"
        if category == "Cs":
            return "undecodable", "it is not valid Unicode"
        # The folder of git in disguise is named as such, by the rule after this one.
        if category == "Cf" and character not in _JOINERS and not _is_git(part):
            return "invisible-character", f"it holds the invisible character U+{ord(character):04X}"
    return None


def _find_spelling_fault(part: str) -> tuple[str, str] | None:
    if part[-1] in ". ":
        return "trailing-dot-or-space", "a part ends in a dot or a space, which Windows drops"
    bad = next((character for character in part if character in _RESERVED_CHARACTERS), None)
    if bad:
        return "reserved-character", f"it holds {bad} which Windows does not allow in a name"
    folded = unicodedata.normalize("NFKC", part)
    if "/" in folded or "\\" in folded or folded in {".", ".."}:
        return "look-alike", "it holds a character that other programs may take for a dot or a slash"
    if not unicodedata.is_normalized("NFC", part):
        return "not-nfc", "its accents are separate characters (not Unicode NFC)"
    if len(part.encode()) > PART_LIMIT_BYTES:
        return "too-long", f"a part is longer than {PART_LIMIT_BYTES} bytes"
    if TEMPORARY_NAME.fullmatch(part):
        return "temporary-name", "it is the name of a temporary file, which recovery removes"
    return None


def _find_reserved_name(part: str) -> tuple[str, str] | None:
    stem = part.partition(".")[0].rstrip(" ")
    if _RESERVED_STEM.fullmatch(stem):
        return "reserved-name", f"{stem} is a device on Windows, whatever the extension"
    return None


def _is_git(part: str) -> bool:
    """Whether any file system could take this name for `.git`.

    Covers case and compatibility forms, code points that HFS+ passes over, the short names of NTFS (`git~1`), the
    dots and spaces that Windows drops at the end, and NTFS streams (`.git::$INDEX_ALLOCATION`). Over-refusing is
    harmless.
    """
    # A dotless or dotted i becomes a plain one: what folds where differs between systems and languages.
    folded = unicodedata.normalize("NFKC", part).casefold().replace("ı", "i").replace("\u0307", "")
    visible = "".join(character for character in folded if unicodedata.category(character) != "Cf")
    stem = _MORE_IGNORABLE.sub("", visible).partition(":")[0].rstrip(" .")
    return stem == ".git" or _GIT_SHORT_NAME.fullmatch(stem) is not None


def resolve_contained(root: Path, path: RepoPath) -> Path:
    """Returns where the path is on disk, after looking at each step from the root to it.

    Every folder on the way that exists is a real one and the target is a regular file or absent. A file with several
    hard links is accepted: reading one is harmless, and a replace gives the name a new file and leaves the other names
    alone.
    Errors: PathRefused (`symlink`, `not-a-folder`, `not-a-file`), DiskFault. Changes: nothing.
    """
    parts = check_repo_path(path).split("/")
    place = Path(root)
    _require_kind(place, path, want_folder=True)
    for count, part in enumerate(parts, start=1):
        place /= part
        if not _require_kind(place, path, want_folder=count < len(parts)):
            return place.joinpath(*parts[count:])
    return place


def _require_kind(place: Path, path: RepoPath, *, want_folder: bool) -> bool:
    """Whether something of the wanted kind is there; False when nothing is."""
    try:
        with disk_faults("read", path):
            mode = place.lstat().st_mode
    except DiskFault as fault:
        if fault.facts.get("errno_name") == "ENOENT":
            return False
        raise
    if stat.S_ISDIR(mode) if want_folder else stat.S_ISREG(mode):
        return True
    raise refuse_kind(str(place), mode, want="folder" if want_folder else "regular file")


def list_markdown(root: Path) -> tuple[RepoPath, ...]:
    """Returns the Markdown files of the root, sorted; `scan_markdown` also says what was passed over."""
    return scan_markdown(root).paths


def scan_markdown(root: Path, *, limit_names: int = SCAN_LIMIT_NAMES) -> MarkdownScan:
    """Lists the regular `*.md` files (any case) below the root; follows no link.

    Hidden files and folders (`.git` is one) are left out without a word: whoever hid them meant it. Symlinks, special
    files, repositories inside the repository and names that are no `RepoPath` are in `skipped`.
    Errors: DiskFault when a folder cannot be read. Changes: nothing.
    """
    found: list[RepoPath] = []
    skipped: list[tuple[str, str]] = []
    folders = [""]
    seen = 0
    while folders:
        prefix = folders.pop()
        with disk_faults("list", prefix or str(root)), os.scandir(Path(root, prefix)) as listing:
            entries = list(listing)
        seen += len(entries)
        if seen > limit_names:
            skipped.append((prefix or ".", f"more than {limit_names:,} names: not read further"))
            return MarkdownScan(tuple(sorted(found)), tuple(sorted(skipped)), is_complete=False)
        if prefix and any(entry.name.lower() == ".git" for entry in entries):
            skipped.append((prefix.rstrip("/"), "a git repository of its own"))
            continue
        for entry in entries:
            _sort_entry(entry, prefix, found, folders, skipped)
    return MarkdownScan(tuple(sorted(found)), tuple(sorted(skipped)))


def _sort_entry(
    entry: os.DirEntry[str],
    prefix: str,
    found: list[RepoPath],
    folders: list[str],
    skipped: list[tuple[str, str]],
) -> None:
    if entry.name.startswith("."):
        return
    is_folder = entry.is_dir(follow_symlinks=False)
    is_markdown = entry.name[-3:].lower() == ".md"
    if not is_folder and not is_markdown and not entry.is_symlink():
        return
    name = _composed_name(entry)
    if fault := _find_part_fault(name) or _find_length_fault(prefix + name):
        skipped.append((_printable(prefix + name), fault[1]))
    elif is_folder:
        folders.append(f"{prefix}{name}/")
    elif is_markdown and entry.is_file(follow_symlinks=False):
        found.append(RepoPath(prefix + name))
    else:
        skipped.append((prefix + name, describe_kind(entry.stat(follow_symlinks=False).st_mode)))


def _composed_name(entry: os.DirEntry[str]) -> str:
    """The NFC form of a name where the file system takes both forms for one file (HFS+ lists them decomposed)."""
    if entry.name.isascii():
        return entry.name
    composed = unicodedata.normalize("NFC", entry.name)
    if composed == entry.name:
        return composed
    try:
        is_same = Path(entry.path).with_name(composed).lstat().st_ino == entry.inode()
    except (OSError, ValueError):
        return entry.name
    return composed if is_same else entry.name


def _find_length_fault(path: str) -> tuple[str, str] | None:
    if len(path.encode()) > PATH_LIMIT_BYTES:
        return "too-long", f"its path is longer than {PATH_LIMIT_BYTES} bytes"
    return None


def _printable(name: str) -> str:
    return name if name.isprintable() else repr(name)[1:-1]


def _shown(raw: str) -> str:
    """For messages: quoted, control and invisible characters escaped, cut to a line."""
    return repr(raw if len(raw) <= 80 else f"{raw[:77]}...")
