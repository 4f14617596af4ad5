"""`memrepo swarm`: goals that several agents work on, and what they note for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memrepo.errors import InvalidInput
from memrepo.surfaces.cli.options import USER, count, decode_words, quote, yes_option
from memrepo.surfaces.cli.table import MemrepoGroup
from memrepo.surfaces.present import describe_result, format_result, get_exit_status

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.planning.swarms import Note, Swarm
    from memrepo.sessions import Session
    from memrepo.surfaces.cli.invocation import Invocation

_KINDS = click.Choice(["finding", "ruled_out", "question", "answer"])


@click.group(cls=MemrepoGroup, short_help="Let the agents of one goal leave notes for each other.")
def swarm() -> None:
    """Let the agents of one goal leave notes for each other.

    \b
    memrepo swarm start "Find why the nightly build is slow"
    memrepo swarm show
    """


@swarm.command()
@click.argument("goal", callback=decode_words)
@click.option("--task", metavar="ID", help="The session whose agents are its members (default: the latest one here).")
@click.pass_obj
def start(invocation: Invocation, goal: str, task: str | None) -> None:
    """Start a swarm for a session and every agent that works for it.

    \b
    memrepo swarm start "Find why the nightly build is slow" --task 0e6f6d1c
    """
    repo = invocation.open(create=True)
    root_task = task if task is not None else _get_session_here(repo).id
    started = repo.swarms.start(goal, USER, root_task=root_task)
    invocation.output.emit(_describe(started), f"started swarm {started.slug} for task {quote(root_task)}")
    invocation.output.tell("its sub-agents are shown the notes when they start; tell the session to use swarm_note")


@swarm.command()
@click.argument("slug", metavar="SWARM")
@click.argument("text", callback=decode_words)
@click.option("--kind", type=_KINDS, default="finding", show_default=True, help="What it is.")
@click.option("--question", metavar="Q", help="With --kind answer: the question's number, such as q1.")
@click.option("--source", "sources", metavar="S", multiple=True, callback=decode_words, help="What it rests on.")
@click.pass_obj
def note(
    invocation: Invocation, slug: str, text: str, *, kind: str, question: str | None, sources: tuple[str, ...]
) -> int:
    """Write a note of yours into a swarm. Agents write theirs with the tool swarm_note.

    \b
    memrepo swarm note find-why-the-nightly-build-is "The cache is cold on Mondays"
    """
    from memrepo.planning.swarms import NoteKind

    repo = invocation.open()
    result = repo.swarms.note(
        repo.swarms.get(slug), text, USER, kind=NoteKind(kind), sources=sources, question=question
    )
    status = get_exit_status([result])
    if status:
        invocation.output.fail(describe_result(result), "memrepo: " + format_result(result))
    else:
        invocation.output.emit(describe_result(result), format_result(result).split("\n"))
    return status


@swarm.command("list")
@click.pass_obj
def list_swarms(invocation: Invocation) -> None:
    """List the swarms, those that have ended too.

    \b
    memrepo swarm list
    """
    found = invocation.open(read_only=True).swarms.list()
    rows = [
        (one.slug, f"ended {one.ended}" if one.ended else "goes on", _count_notes(one), quote(one.goal))
        for one in found
    ]
    invocation.output.emit(
        {"swarms": [_describe(one) for one in found]}, invocation.output.format_rows(rows) if rows else "no swarm"
    )


@swarm.command()
@click.argument("slug", metavar="[SWARM]", required=False)
@click.pass_obj
def show(invocation: Invocation, slug: str | None) -> None:
    """Show a swarm as its members are shown it; without a name, the one that goes on.

    \b
    memrepo swarm show
    memrepo swarm show find-why-the-nightly-build-is --json
    """
    from memrepo.swarm import render

    repo = invocation.open(read_only=True)
    one = _get_only(repo) if slug is None else repo.swarms.get(slug)
    block = render(one)
    notes = {"findings": one.findings, "questions": one.questions}
    document = {name: [_describe_note(note) for note in found] for name, found in notes.items()}
    invocation.output.emit({**_describe(one), **document, "block": block}, block)


@swarm.command()
@click.argument("slug", metavar="SWARM")
@click.option("--remove", "removes", is_flag=True, help="Remove its notes too; the history keeps them.")
@yes_option
@click.pass_obj
def end(invocation: Invocation, slug: str, *, removes: bool, is_confirmed: bool) -> None:
    """End a swarm: it takes no more notes, and no agent is shown it. Its files stay, unless you remove them.

    \b
    memrepo swarm end find-why-the-nightly-build-is
    """
    repo = invocation.open()
    one = repo.swarms.get(slug)
    if removes:
        action = f"removing swarm {slug} ({_count_notes(one)})"
        invocation.confirm(f"remove swarm {slug} with {_count_notes(one)}?", action=action, is_confirmed=is_confirmed)
    ended = repo.swarms.end(slug, USER, removes=removes)
    word = "removed" if removes else "ended"
    invocation.output.emit({**_describe(ended), "removed": removes}, f"{word} swarm {slug}")
    if removes:
        invocation.output.tell("the history keeps the text until: memrepo compact")


def _get_session_here(repo: MemoryRepo) -> Session:
    """The session that was last added to, of those that go on around the current folder."""
    from memrepo.surfaces.environment import find_current_folder

    here = find_current_folder()
    for session in repo.sessions.iter_sessions():
        folder = session.folder
        is_around = folder is not None and (here.is_relative_to(folder) or folder.is_relative_to(here))
        if is_around and session.parent is None and not session.is_ended:
            return session
    raise InvalidInput(
        "no session of an agent is known that goes on in this folder",
        hint="name its id: memrepo swarm start GOAL --task ID",
        key="--task",
    )


def _get_only(repo: MemoryRepo) -> Swarm:
    going_on = [one for one in repo.swarms.list() if not one.ended]
    if len(going_on) != 1:
        raise InvalidInput(
            "no swarm goes on" if not going_on else f"{len(going_on)} swarms go on",
            hint="see the swarms: memrepo swarm list",
            key="swarm",
        )
    return going_on[0]


def _count_notes(one: Swarm) -> str:
    return count(len(one.findings) + len(one.questions), "note")


def _describe(one: Swarm) -> dict[str, object]:
    return {
        "swarm": one.slug,
        "goal": one.goal,
        "task": one.root,
        "started": one.started or None,
        "ended": one.ended or None,
        "notes": len(one.findings) + len(one.questions),
        "open_questions": len(one.open_questions),
    }


def _describe_note(note: Note) -> dict[str, object]:
    return {
        "ref": str(note.ref),
        "text": note.text,
        "kind": note.kind,
        "by": str(note.by),
        "member": note.member,
        "taint": note.taint or None,
        "sources": note.sources,
        "question": note.question or None,
        "added": note.added or None,
    }
