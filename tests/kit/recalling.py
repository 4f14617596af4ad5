"""Memory folders for searching, the plainest possible answers to compare with, and damage to a cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memrepo.index.repo_index import RepoIndex
from memrepo.index.tokens import analyze_query

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from memrepo.index.repo_index import Answer

Seen = tuple[str, int, str, float, tuple[str, ...]]


def put(root: Path, path: str, lines: Iterable[str]) -> None:
    """Writes a file of entries as an editor does: in place."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"- {line}\n" for line in lines), encoding="utf-8")


def ask(index: RepoIndex, text: str, *, limit: int = 10) -> Answer:
    return index.search(analyze_query(text), limit=limit)


def seen(answer: Answer) -> list[Seen]:
    """An answer as plain values, in order."""
    return [(hit.path, hit.entry.line, hit.entry.text, round(hit.score, 6), hit.why) for hit in answer.found]


def texts(answer: Answer) -> list[str]:
    return [hit.entry.text for hit in answer.found]


def codes(answer: Answer) -> set[str]:
    return {warning.code for warning in answer.warnings}


def scan(root: Path, text: str, *, limit: int = 10) -> list[Seen]:
    """What the files say, read anew without any cache."""
    return seen(ask(RepoIndex(root, None), text, limit=limit))


def cache_files(cache: Path) -> list[Path]:
    """Every file below the cache folder, sorted."""
    return sorted(place for place in cache.rglob("*") if place.is_file())


def bytes_below(folder: Path) -> bytes:
    """All bytes of all files below a folder."""
    return b"\0".join(place.read_bytes() for place in cache_files(folder))


def put_in_place(place: Path, data: bytes) -> None:
    """Puts other bytes under a file's name, with its old modification time, as a bad copy or a failed restore does.

    Not by writing into the file: cutting a file short that a process has mapped ends that process, whoever wrote it.
    """
    look = place.stat()
    other = place.with_name(f"{place.name}.other")
    other.write_bytes(data)
    os.utime(other, ns=(look.st_atime_ns, look.st_mtime_ns))
    other.replace(place)


def spoil(place: Path, how: str) -> None:
    """Damages a file: `empty`, `short`, `flipped`, `zeroed`, `garbage` or `gone`."""
    if how == "gone":
        place.unlink()
        return
    data = place.read_bytes()
    middle = len(data) // 2
    flipped = bytes(byte ^ 0x55 for byte in data[middle : middle + 1])
    damaged = {
        "empty": b"",
        "short": data[:middle],
        "flipped": data[:middle] + flipped + data[middle + 1 :],
        "zeroed": bytes(len(data)),
        "garbage": b"\xff{not an index" * 40,
    }
    put_in_place(place, damaged[how])
