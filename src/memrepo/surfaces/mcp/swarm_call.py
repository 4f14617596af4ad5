"""The tool `swarm_note`: a member's note for its swarm, and what the swarm knows now. Blocking, no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memrepo.errors import Refused
from memrepo.surfaces.mcp.calls import Answer
from memrepo.surfaces.present import describe_result, format_result

if TYPE_CHECKING:
    from memrepo.app import MemoryRepo
    from memrepo.model import WriteResult
    from memrepo.surfaces.mcp.calls import CallContext
    from memrepo.surfaces.mcp.tools import SwarmNoteArguments


def note_for_swarm(repo: MemoryRepo, arguments: SwarmNoteArguments, call: CallContext) -> Answer:
    """Writes a note for the swarm of the caller and shows it. Changes: a file and the history, or nothing."""
    from memrepo.planning.swarms import NoteKind

    task = call.make_task(repo)
    member = repo.make_member(call.caller)
    swarm = None if repo.is_missing else repo.swarms.find(member)
    if swarm is None or member is None:
        raise Refused(
            "you are in no swarm: none goes on whose root is this session or one that it works for",
            hint="go on without; only the user starts one: memrepo swarm start GOAL --task ID",
            rule="swarm-members-only",
            actor="agent",
            action="note",
        )
    result = None
    if arguments.text is not None:
        kind = NoteKind(arguments.kind or NoteKind.FINDING)
        result = repo.swarms.note(
            swarm,
            arguments.text,
            task,
            kind=kind,
            member=member.name,
            sources=arguments.sources,
            question=arguments.question,
        )
    block = repo.swarms.block(member, task)
    note = block.reason and f"memory is off for this session ({block.reason}), so it takes no part"
    document = {**_describe(result), "swarm": swarm.slug, "block": block.text, "note": note}
    words = [format_result(result)] if result else []
    return Answer(document, "\n".join([*words, block.text or note]), has_written=result is not None)


def _describe(result: WriteResult | None) -> dict[str, Any]:
    """What is said of the note; null where none was to write."""
    described = describe_result(result) if result is not None else {"detail": "", "redactions": []}
    names = ("status", "action", "ref", "reason", "detail", "redactions")
    return {name: described.get(name) for name in names}
