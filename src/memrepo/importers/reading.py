"""A source is read within bounds and parsed: what it says, and what of it was not read.

Past a bound of the whole (files, bytes) the import is refused, because a part that nobody chose is worse than none; a
file past its own bound, or that is no UTF-8, is left and named. The text of private keys goes before lines are told
apart, because a key that is cut in two is no longer known for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import InvalidInput, MemrepoError, TooLarge
from memrepo.files.sources import Unread, open_source, printable
from memrepo.importers.formats import FORMATS, PEEK_BYTES, Format, JsonFormat, TextFormat, choose_names, detect_format
from memrepo.importers.found import NO_MEMORY, PassedOver, SourceFile
from memrepo.importers.json_values import iter_values
from memrepo.policy.screen import has_no_memory
from memrepo.policy.secrets.blocks import find_key_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memrepo.files.sources import Source
    from memrepo.importers.found import Finding

FILES_LIMIT = 200
FILE_LIMIT_BYTES = 256 * 1024
TOTAL_LIMIT_BYTES = 2 * 1024 * 1024
JSON_FILE_LIMIT_BYTES = 64 * 1024 * 1024
JSON_TOTAL_LIMIT_BYTES = 256 * 1024 * 1024
"""Only one file of an export is in memory at a time, and of its conversations only one."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source says. `other` files are of no concern to the format; `is_guessed` when nobody named it."""

    format: Format
    is_guessed: bool
    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    unread: tuple[Unread, ...]
    other: int


def read_source(path: Path, *, chosen: Format | None = None) -> Reading:
    """Reads and parses a source.

    Errors: those of `open_source`; InvalidInput for no format, nothing to read in it, or broken JSON; TooLarge past a
    bound of the whole. Changes: nothing.
    """
    with open_source(path) as source:
        format_ = chosen or detect_format(source.sizes, lambda name: _peek(source, name))
        names = choose_names(format_, source.sizes)
        if not names and source.is_file:  # it was named, so it is meant, whatever its name is
            names = list(source.sizes)
        reader = FORMATS[format_]
        is_text = isinstance(reader, TextFormat)
        wanted, unread = _check_bounds(path, source, names, is_text=is_text)
        texts = _iter_texts(source, wanted, unread, FILE_LIMIT_BYTES if is_text else JSON_FILE_LIMIT_BYTES)
        files: list[str] = []
        findings: list[Finding] = []
        for name, text in texts:
            files.append(name)
            findings += _parse(reader, name, text)
        if not files:
            raise _nothing(path, format_, [*unread, *source.unread])
        return Reading(
            format_,
            chosen is None,
            tuple(findings),
            tuple(files),
            tuple(sorted([*unread, *source.unread], key=lambda one: one.name)),
            len(source.sizes) - len(names),
        )


def hide_keys(text: str) -> str:
    """The text without its private keys; every line keeps its number."""
    if "PRIVATE KEY" not in text:
        return text
    pieces: list[str] = []
    done = 0
    for span in find_key_blocks(text):
        lines = text.count("\n", span.start, span.end)
        pieces += text[done : span.start], f"[REDACTED {span.kind}]", "\n" * lines
        done = span.end
    return "".join((*pieces, text[done:]))


def _parse(reader: TextFormat | JsonFormat, name: str, text: str) -> Iterator[Finding]:
    if isinstance(reader, JsonFormat):
        yield from reader.parse(name, iter_values(text, name=name))
    elif line := _find_no_memory(text):
        yield PassedOver(NO_MEMORY, f"{name}:{line}")
    else:
        yield from reader.parse(SourceFile(name, hide_keys(text)))


def _find_no_memory(text: str) -> int | None:
    """The line (from 1) that holds the marker and nothing else, and so means the whole file."""
    if not has_no_memory((text,)):
        return None
    lines = enumerate(map(str.strip, text.split("\n")), 1)
    return next((at for at, line in lines if line[:1] == "<" and line[-1:] == ">" and has_no_memory((line,))), None)


def _peek(source: Source, name: str) -> str:
    """What a file begins with; "" for one that cannot be read, which is told when it is its turn."""
    try:
        return source.read(name, limit_bytes=PEEK_BYTES).decode("utf-8", "replace")
    except MemrepoError:
        return ""


def _check_bounds(path: Path, source: Source, names: list[str], *, is_text: bool) -> tuple[list[str], list[Unread]]:
    """The files to read, and the text files past their bound.

    Errors: TooLarge for the whole, and for a JSON file past its bound.
    """
    wanted: list[str] = []
    unread: list[Unread] = []
    if len(names) > FILES_LIMIT:
        raise _too_much(path, "source-files", FILES_LIMIT, len(names), "files")
    limit = FILE_LIMIT_BYTES if is_text else JSON_FILE_LIMIT_BYTES
    total = 0
    for name in names:
        size = source.sizes[name]
        if size <= limit:
            wanted.append(name)
            total += size
        elif is_text:
            unread.append(Unread(printable(name), f"{size:,} bytes; at most {limit:,}"))
        else:
            raise _too_much(printable(name), "source-size", limit, size, "bytes")
    most = TOTAL_LIMIT_BYTES if is_text else JSON_TOTAL_LIMIT_BYTES
    if total > most:
        raise _too_much(path, "source-bytes", most, total, "bytes")
    return wanted, unread


def _too_much(what: Path | str, rule: str, limit: int, actual: int, unit: str) -> TooLarge:
    return TooLarge(
        f"{what} has {actual:,} {unit}; an import takes at most {limit:,}. Nothing was imported",
        hint="import a part of it: a folder further down, or a single file",
        rule=rule,
        target=str(what),
        limit=limit,
        actual=actual,
        unit=unit,
    )


def _iter_texts(source: Source, names: list[str], unread: list[Unread], limit: int) -> Iterator[tuple[str, str]]:
    """Streams the files with their text; the names are printable."""
    for raw in names:
        name = printable(raw)
        try:
            data = source.read(raw, limit_bytes=limit)
            if len(data) > limit:  # grown since it was looked at
                unread.append(Unread(name, f"more than {limit:,} bytes"))
                continue
            text = data.decode("utf-8-sig")
        except MemrepoError as error:
            unread.append(Unread(name, error.message))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            unread.append(Unread(name, f"not UTF-8 (line {line})"))
        else:
            del data
            yield name, text


def _nothing(path: Path, format_: Format, unread: list[Unread]) -> InvalidInput:
    return InvalidInput(
        f"nothing was read of {path} as {format_}",
        hint="mend or leave out what is named above" if unread else f"say what it is: --format {'|'.join(Format)}",
        key="SOURCE",
        faults=tuple((one.name, one.why) for one in unread[:20]),
    )
