"""`memrepo edit`, `pin` and `move`: one entry, where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.surfaces.cli.options import USER, check_hash, decode_words, hash_option, quote, read_stdin
from memrepo.surfaces.cli.selection import find_located, parse_file, parse_own_ref
from memrepo.surfaces.cli.table import MemrepoCommand
from memrepo.surfaces.present import describe_result, format_result, get_exit_status

if TYPE_CHECKING:
    from memrepo.model import WriteResult
    from memrepo.surfaces.cli.invocation import Invocation


@click.command(cls=MemrepoCommand, short_help="Put a new text in the place of an entry's.")
@click.argument("ref")
@click.argument("text", callback=decode_words)
@hash_option
@click.pass_obj
def edit(invocation: Invocation, ref: str, text: str, expected_hash: str | None) -> int:
    """Put TEXT in the place of what the entry at REF says; its metadata stays. - reads it from standard input.

    \b
    memrepo edit repo:me.md#L4 "Prefers spaces over tabs"
    """
    place = parse_own_ref(ref)
    repo = invocation.open()
    new = read_stdin().rstrip("\r\n") if text == "-" else text
    located = find_located(repo, place, check_hash(expected_hash))
    return _tell(invocation, repo.service.edit(located.ref, new, USER, expect_hash=located.hash))


@click.command(cls=MemrepoCommand, short_help="Move an entry to MEMORY.md, which every session reads.")
@click.argument("ref")
@hash_option
@click.pass_obj
def pin(invocation: Invocation, ref: str, expected_hash: str | None) -> int:
    """Move the entry at REF to MEMORY.md, which every session reads. It becomes your word.

    \b
    memrepo pin repo:me.md#L4
    """
    place = parse_own_ref(ref)
    repo = invocation.open()
    located = find_located(repo, place, check_hash(expected_hash))
    result = repo.service.pin(located.ref, USER, expect_hash=located.hash)
    return _tell(invocation, result, located.entry.text)


@click.command(cls=MemrepoCommand, short_help="Move an entry to another file.")
@click.argument("ref")
@click.argument("file")
@hash_option
@click.pass_obj
def move(invocation: Invocation, ref: str, file: str, expected_hash: str | None) -> int:
    """Move the entry at REF to FILE, which is made and linked when it is new.

    \b
    memrepo move repo:me.md#L4 lessons
    """
    place = parse_own_ref(ref)
    repo = invocation.open()
    target = parse_file(repo, file)
    located = find_located(repo, place, check_hash(expected_hash))
    result = repo.service.move(located.ref, target, USER, expect_hash=located.hash)
    return _tell(invocation, result, located.entry.text)


def _tell(invocation: Invocation, result: WriteResult, text: str = "") -> int:
    status = get_exit_status([result])
    if status:
        invocation.output.fail(describe_result(result), "memrepo: " + format_result(result))
    else:
        first, *rest = format_result(result).split("\n")
        invocation.output.emit(describe_result(result), [f"{first}: {quote(text)}" if text else first, *rest])
    return status
