"""What each tool does, on an opened repo: blocking, one call at a time, no protocol.

A call that needs the user's word raises `Question`; the server asks and runs the call again with the answer, so
nothing is held while a person thinks. Whose call it is, is decided once, from the stamp or the ticket that a host's
hook left; a stamp that does not hold is worth less than none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memrepo.errors import InvalidInput, MemrepoError, NotFound, Refused
from memrepo.format.refs import is_stored_ref, parse_ref, parse_stored_ref, require_own, split_team
from memrepo.model import INBOX_FILE, Candidate, ContentHash, Kind, Origin, Privacy, Scope, WriteStatus
from memrepo.surfaces.mcp.shown import describe_hit, describe_line, format_line
from memrepo.surfaces.present import describe_result, escape_control, format_result, name_author, name_file

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memrepo.app import MemoryRepo
    from memrepo.lines import ShownFile
    from memrepo.model import Ref, RepoPath, TaskContext, Workspace, WriteResult
    from memrepo.sessions import Caller
    from memrepo.surfaces.mcp.tools import (
        ForgetArguments,
        GrepArguments,
        ListArguments,
        ReadArguments,
        RecallArguments,
        RememberArguments,
        SwarmNoteArguments,
    )

NO_MEMORY_YET = "there is no memory yet; the first memory_remember makes it"
_HASH_DIGITS = 64
_IN_HISTORY = "the history keeps the text until the user compacts it"
_STAYS_GONE = "only the user brings it back, by saying it anew"
_PROJECT_KINDS = frozenset({Kind.PROJECT_FACT, Kind.DECISION})


class Question(Exception):
    """The user must say yes or no to this text before the call can go on."""

    def __init__(self, text: str) -> None:
        super().__init__("the user is to be asked")
        self.text = text


@dataclass(frozen=True, slots=True)
class Standing:
    """What the user who started the server allowed it, and the project it was started for.

    `task_id` names the task of calls of which no hook tells whose they are: where one server serves one session, the
    agent may then take back what it wrote itself.
    """

    trusts_sessions: bool = False
    workspace_folder: Path | None = None
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """Whether the user can be asked, and what they answered so far: yes, no, or None for no answer."""

    can_ask: bool = False
    answers: Mapping[str, bool | None] = field(default_factory=dict)

    def ask(self, question: str) -> bool | None:
        """The user's word; None when there is none to have. Errors: Question, when it is still to be asked."""
        if question in self.answers:
            return self.answers[question]
        if self.can_ask:
            raise Question(question)
        return None


@dataclass(frozen=True, slots=True)
class CallContext:
    """Whose call it is. `is_forged`: it came with a stamp that does not hold."""

    standing: Standing
    caller: Caller | None = None
    is_forged: bool = False
    asking: Asking = Asking()

    def make_task(self, repo: MemoryRepo, *, user_confirmed: bool = False) -> TaskContext:
        """The task of this call."""
        task = repo.make_task(
            self.caller,
            trust=self.standing.trusts_sessions and not self.is_forged,
            workspace_folder=self.standing.workspace_folder,
            user_confirmed=user_confirmed,
        )
        return replace(task, task_id=self.standing.task_id) if self.caller is None and not self.is_forged else task


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says: an object for programs, and the same in short for a reader."""

    document: Mapping[str, Any]
    words: str
    has_written: bool = False


def find_caller(repo: MemoryRepo, tool: str, raw: Mapping[str, Any]) -> tuple[Caller | None, bool]:
    """Whose call this is, and whether its stamp is forged. Changes: a ticket is used up."""
    stamp = raw.get("session")
    arguments = {name: value for name, value in raw.items() if name != "session"}
    if isinstance(stamp, str) and stamp:
        caller = repo.sessions.check_stamp(stamp, tool, arguments)
        return caller, caller is None
    return repo.sessions.take_ticket(tool, arguments), False


def remember(repo: MemoryRepo, arguments: RememberArguments, call: CallContext) -> Answer:
    """Writes one fact. Changes: a file and the history, or the private store; makes a repo that is missing."""
    task = call.make_task(repo)
    workspace = _find_workspace(repo, arguments.workspace, task)
    candidate = _make_candidate(arguments, workspace, task)
    if _needs_word(candidate, task) and call.asking.ask(_quote_question(candidate.text)):
        task = call.make_task(repo, user_confirmed=True)
    notes = [] if not repo.is_missing else [_make_repo(repo)]
    result = repo.service.remember(candidate, task)
    if result.ref is not None and result.hash is not None and result.status is WriteStatus.WRITTEN and call.caller:
        session = call.caller.session
        repo.sessions.add_write(session.host, session.id, ref=str(result.ref), content_hash=result.hash)
    notes.append(_explain(repo, result))
    note = "; ".join(filter(None, notes))
    said = "; ".join(one for one in notes if one and (one != _IN_INBOX or not result.detail))  # that says it already
    words = format_result(result) + (f"\nnote: {escape_control(said)}" if said else "")
    return Answer({**describe_result(result), "note": note}, words, has_written=True)


def recall(repo: MemoryRepo, arguments: RecallArguments, call: CallContext) -> Answer:
    """Searches. Changes: at most the index in the cache, and a count."""
    task = call.make_task(repo)
    repo.require_memory(task)
    if repo.is_missing:
        return Answer({"hits": [], "lanes": [], "warnings": [], "note": NO_MEMORY_YET}, NO_MEMORY_YET)
    result = repo.recall(
        arguments.query,
        task,
        scopes=arguments.scopes or None,
        limit=arguments.limit,
        detail=arguments.detail or "line",
    )
    hits = [describe_hit(hit) for hit in result.hits]
    warnings = [{"file": notice.where or notice.code, "why": notice.message} for notice in result.warnings]
    note = "" if hits else "nothing found"
    lines = [
        f"{hit.ref}  [{name_author(hit.by, hit.team)}{', unreviewed' if hit.unreviewed else ''}]  "
        f"{hit.around or hit.text}"
        for hit in result.hits
    ]
    lines += [f"warning: {escape_control(notice.message)}" for notice in result.warnings]
    document = {"hits": hits, "lanes": [str(lane) for lane in result.lanes], "warnings": warnings, "note": note}
    return Answer(document, "\n".join(lines) or note)


def forget(repo: MemoryRepo, arguments: ForgetArguments, call: CallContext) -> Answer:
    """Removes one entry, when its task or the user allows it. Changes: a line and the history, or a request."""
    task = call.make_task(repo)
    repo.require_memory(task)
    if arguments.ref is not None and is_stored_ref(arguments.ref):
        stored = parse_stored_ref(arguments.ref)
        is_removed = repo.private.request_forget(stored, task, ask=call.asking.ask)
        return _tell_forgetting("removed" if is_removed else "denied", str(stored), note=_STAYS_GONE)
    if repo.is_missing:
        raise NotFound(NO_MEMORY_YET, what="entry", name=arguments.ref or "")
    ref, expect_hash = _find_target(repo, arguments)
    outcome = repo.request_forget(ref, task, expect_hash=expect_hash, ask=call.asking.ask)
    return _tell_forgetting(outcome.status, str(outcome.ref), approval_id=outcome.approval_id)


def read(repo: MemoryRepo, arguments: ReadArguments, call: CallContext) -> Answer:
    """Shows an entry with its section, or a file. Changes: a count."""
    task = call.make_task(repo)
    repo.require_memory(task)
    if (arguments.ref is None) == (arguments.path is None):
        raise InvalidInput("give either ref or path", hint="for example: path me.md", key="ref")
    if repo.is_missing:
        nothing = {"path": arguments.path or "", "text": "", "entry": None, "unreviewed": False}
        return Answer({**nothing, "note": NO_MEMORY_YET}, NO_MEMORY_YET)
    if arguments.ref is not None:
        line = repo.read_section(parse_ref(arguments.ref), task)
        path, text, unreviewed = name_file(line.ref.path, line.ref.team), line.around, line.unreviewed
        entry: dict[str, object] | None = describe_line(line)
    else:
        shown = _read_file(repo, arguments.path or "", task)
        path, text, entry, unreviewed = name_file(shown.path, shown.team), shown.text, None, shown.unreviewed
    note = UNREVIEWED if unreviewed else ""
    document = {"path": path, "text": text, "entry": entry, "unreviewed": unreviewed, "note": note}
    return Answer(document, f"{note}\n{text}".strip() if text else note or f"{path} is empty")


def list_memory(repo: MemoryRepo, arguments: ListArguments, call: CallContext) -> Answer:
    """Lists the files, or the entries of one. Changes: nothing, or a count."""
    task = call.make_task(repo)
    repo.require_memory(task)
    if repo.is_missing:
        return Answer({"files": [], "entries": [], "note": NO_MEMORY_YET}, NO_MEMORY_YET)
    if arguments.path is None:
        files = [{"path": str(path), "unreviewed": path == INBOX_FILE} for path in repo.list_shown_files(task)]
        theirs = repo.list_shown_team_files(task)
        files += [{"path": name_file(path, team), "unreviewed": path == INBOX_FILE} for team, path in theirs]
        return Answer({"files": files, "entries": [], "note": ""}, "\n".join(str(file["path"]) for file in files))
    shown = _read_file(repo, arguments.path, task)
    note = UNREVIEWED if shown.unreviewed else ""
    document = {"files": [], "entries": [describe_line(line) for line in shown.entries], "note": note}
    return Answer(document, "\n".join(map(format_line, shown.entries)) or f"{shown.path} has no entries")


def grep(repo: MemoryRepo, arguments: GrepArguments, call: CallContext) -> Answer:
    """Looks through every line. Changes: a count."""
    task = call.make_task(repo)
    repo.require_memory(task)
    if repo.is_missing:
        return Answer({"lines": [], "complete": True, "warnings": [], "note": NO_MEMORY_YET}, NO_MEMORY_YET)
    answer = repo.grep(
        arguments.pattern,
        task,
        is_regex=arguments.is_regex,
        ignores_case=arguments.ignores_case,
        limit=arguments.limit,
    )
    note = "" if answer.is_complete else f"there are more; these are the first {len(answer.lines)}"
    document = {
        "lines": [describe_line(line) for line in answer.lines],
        "complete": answer.is_complete,
        "warnings": [{"file": file, "why": why} for file, why in answer.warnings],
        "note": note,
    }
    lines = [*map(format_line, answer.lines), *([note] if note else [])]
    return Answer(document, "\n".join(lines) or "nothing found")


def note_for_swarm(repo: MemoryRepo, arguments: SwarmNoteArguments, call: CallContext) -> Answer:
    """Writes a note for the caller's swarm and shows it: see `swarm_call`."""
    from memrepo.surfaces.mcp.swarm_call import note_for_swarm as note

    return note(repo, arguments, call)


HANDLERS: Mapping[str, Callable[[MemoryRepo, Any, CallContext], Answer]] = {
    "memory_remember": remember,
    "memory_recall": recall,
    "memory_forget": forget,
    "memory_read": read,
    "memory_list": list_memory,
    "memory_grep": grep,
    "swarm_note": note_for_swarm,
}
_IN_INBOX = "it is in the inbox: the user reviews it before any session is shown it (memrepo inbox)"
UNREVIEWED = "unreviewed: agents wrote this and nobody has confirmed it; check before you rely on it"


def parse_path(raw: str) -> RepoPath:
    """The file that a path names, `.md` left out or not. Errors: PathRefused."""
    from memrepo.files.paths import check_repo_path

    return check_repo_path(raw if raw.lower().endswith(".md") else f"{raw}.md")


def _read_file(repo: MemoryRepo, raw: str, task: TaskContext) -> ShownFile:
    team, path = split_team(raw)
    return repo.read_shown_file(parse_path(path), task, team=team)


def _find_workspace(repo: MemoryRepo, argument: str | None, task: TaskContext) -> Workspace | None:
    """The project a fact is for. Naming another one does not get around the rules of the session's own."""
    if argument is None:
        return task.workspace
    from pathlib import Path

    own = task.workspace
    named = repo.find_workspace(argument, current_folder=(own.root if own and own.root else Path("/")))
    if own is not None and own.id != named.id and (not own.memory_enabled or own.privacy is not Privacy.NORMAL):
        raise Refused(
            f"this session is in workspace {own.name}, whose memory settings do not let facts go to another one",
            hint="leave workspace out",
            rule="workspace-privacy",
            actor="agent",
            action="write",
            target=named.name,
        )
    return named


def _make_candidate(arguments: RememberArguments, workspace: Workspace | None, task: TaskContext) -> Candidate:
    kind = Kind(arguments.kind) if arguments.kind else None
    if arguments.scope:
        scope = Scope(arguments.scope)
    else:
        is_local = arguments.workspace is not None or (kind in _PROJECT_KINDS and task.workspace is not None)
        scope = Scope.WORKSPACE if is_local else Scope.GLOBAL
    if scope is Scope.WORKSPACE and workspace is None:
        raise InvalidInput(
            "it is not known which project this session is in",
            hint="name it with workspace (an absolute folder), or use scope global",
            key="workspace",
        )
    return Candidate(
        arguments.text,
        kind=kind or (Kind.PROJECT_FACT if scope is Scope.WORKSPACE else Kind.PREFERENCE),
        scope=scope,
        subject=arguments.subject,
        pin=arguments.pin,
        source=arguments.source,
        claims_user=arguments.by_user,
        quote=arguments.quote,
        private=arguments.private,
        due=_parse_day(arguments.due),
        workspace=workspace if scope is Scope.WORKSPACE else None,
    )


def _parse_day(raw: str | None) -> dt.date | None:
    if not raw:
        return None
    import datetime as dt

    try:
        return dt.date.fromisoformat(raw)
    except ValueError:
        raise InvalidInput("due is no day", hint="a day looks like 2026-12-01", key="due") from None


def _needs_word(candidate: Candidate, task: TaskContext) -> bool:
    """Whether the user's word decides: a claim without a quote that is found, of a fact that would be stored."""
    from memrepo.model import WriteResult
    from memrepo.planning.intake import screen_text
    from memrepo.policy.screen import has_no_memory
    from memrepo.policy.writing import is_quoted

    if not candidate.claims_user or is_quoted(candidate, task):
        return False
    if task.no_memory or has_no_memory((candidate.text, *task.user_messages)):
        return False
    return not isinstance(screen_text(candidate.text), WriteResult)


def _quote_question(text: str) -> str:
    from memrepo.policy.sanitizing import reveal_text

    shown = escape_control(reveal_text(text)).replace("“", '"').replace("”", '"')  # the text does not end its quotation
    return f"Did you say: “{shown}”? Your agent wants to remember it as your own word."


def _make_repo(repo: MemoryRepo) -> str:
    try:
        repo.create(origin=Origin.AGENT_TOOL)
    except MemrepoError as error:  # the service keeps the fact, as it does for a folder that cannot be written
        return f"the memory folder could not be made: {error.message}"
    return f"this made the memory folder: {repo.root}"


def _explain(repo: MemoryRepo, result: WriteResult) -> str:
    if result.path == INBOX_FILE:
        return _IN_INBOX
    if result.status is WriteStatus.WRITTEN and not repo.has_git:
        return "memory has no history here; memrepo doctor says why"
    return ""


def _find_target(repo: MemoryRepo, arguments: ForgetArguments) -> tuple[Ref, ContentHash | None]:
    from memrepo.surfaces.cli.selection import find_by_text

    if (arguments.ref is None) == (arguments.text is None):
        raise InvalidInput("give either ref or text", hint="for example: ref repo:me.md#L4", key="ref")
    if arguments.text is not None:
        located = find_by_text(repo, arguments.text)
        return located.ref, located.hash
    return require_own(parse_ref(arguments.ref or "")), _parse_hash(arguments.expect_hash)


def _tell_forgetting(outcome: str, ref: str, *, approval_id: int | None = None, note: str = _IN_HISTORY) -> Answer:
    said = {
        "removed": note,
        "denied": "the user said no; it stays",
        "waiting": "the user was asked (memrepo approvals) and has not answered yet; it stays until they say yes",
    }[outcome]
    document = {"outcome": outcome, "ref": ref, "approval_id": approval_id, "note": said}
    return Answer(document, f"{outcome}: {ref}\nnote: {said}", has_written=True)


def _parse_hash(raw: str | None) -> ContentHash | None:
    if raw is None:
        return None
    if len(raw) != _HASH_DIGITS or not set(raw.lower()) <= set("0123456789abcdef"):
        raise InvalidInput("a hash has 64 hex digits", hint="take it from memory_recall or memory_list", key="hash")
    return ContentHash(raw.lower())
