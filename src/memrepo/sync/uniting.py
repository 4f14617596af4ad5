"""Two heads become one: what git knows is read, `merging` decides, and the new commits are made. No file is touched.

Both what the remote sends and what would be sent are judged here (`arrivals`), and a side that suddenly lost all of
its entries stops everything until a person says which side is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memrepo.errors import ArrivalRefused, MergeConflict, SideEmptied
from memrepo.git.network import NEXT, set_ref
from memrepo.git.trees import (
    TreeFile,
    build_chain,
    list_commits,
    list_edits,
    list_files,
    read_commits,
    read_objects,
    to_map,
)
from memrepo.model import CommitId
from memrepo.sync.arrivals import is_markdown, judge_contents, judge_list, needs_look
from memrepo.sync.merging import Contents, Merger, Take, list_changed, needs_reading, strip_base
from memrepo.sync.plan import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memrepo.git.client import GitClient
    from memrepo.git.trees import FileEdit, RawCommit
    from memrepo.model import ContentHash
    from memrepo.sync.arrivals import Fault
    from memrepo.sync.merging import Blob, Tree
    from memrepo.sync.plan import Plan
    from memrepo.sync_state import Replaced

EMPTIED_ENTRIES = 10
"""A side that had at least so many entries and has none is taken for an accident."""

_BY_HAND = b"Origin: hand_edit"


@dataclass(frozen=True, slots=True)
class United:
    """The new head, whether entries of this folder went, and how the merge differs from the remote: by hash."""

    head: CommitId
    has_lost: bool
    added: frozenset[ContentHash]
    removed: frozenset[ContentHash]


def unite(
    git: GitClient,
    plan: Plan,
    here: CommitId,
    there: CommitId,
    take: Take | None,
    *,
    own: RawCommit,
    replaced: Replaced | None,
) -> United:
    """Merges the two heads and makes the commits of one side anew on the other; `own` is a commit of sync itself.

    Errors: ArrivalRefused, SideEmptied, MergeConflict; GitFailed. Changes: objects, and the ref NEXT, which names the
    new head.
    """
    files = {commit: list_files(git, commit) for commit in dict.fromkeys((plan.base, here, there)) if commit}
    _refuse(judge_list(files[there]), "the remote")
    ours, theirs = to_map(files[here]), to_map(files[there])
    base = to_map(files[plan.base]) if plan.base else {}
    onto, moved = (here, there) if plan.step is Step.TAKE_UNDER else (there, here)
    commits = read_commits(git, _list_moved(git, moved, onto, plan))
    edits = list_edits(git, [commit.id for commit in commits])
    contents = Contents(read_objects(git, _list_blobs((base, ours, theirs), edits)))
    _refuse(judge_contents(_pick_new(theirs, ours, contents)), "the remote")
    merger = Merger(contents)
    banned: frozenset[ContentHash] = frozenset()
    if plan.is_base_lost and replaced is not None:
        banned = replaced.removed | merger.list_lost(base, ours)
        differs = set(list_changed(base, ours, theirs))
        base = {
            path: _strip(contents, path, blob, replaced.added) if path in differs else blob
            for path, blob in base.items()
        }
    goal = _decide(git, merger, plan, (base, ours, theirs), take, commits=commits, banned=banned)
    sizes = {file.id: file.size_bytes for listed in files.values() for file in listed}
    sizes.update({name: len(data) for name, data in contents.made.items()})
    _refuse(judge_list([_to_file(path, blob, sizes[blob[1]]) for path, blob in goal.items()]), "this folder")
    _refuse(judge_contents(_pick_new(goal, theirs, contents)), "this folder")
    gone = merger.read_lost(base, goal) if plan.is_history_replaced else {}
    drafts = merger.replay(zip(commits, edits, strict=True), to_map(files[onto]), goal, own, gone=gone)
    head = build_chain(git, onto, drafts, ref=NEXT)
    if plan.is_base_lost:
        head = _begin_anew(git, head, own)
    return United(
        head,
        has_lost=bool(merger.list_lost(ours, goal)),
        added=merger.list_lost(goal, theirs),
        removed=merger.list_lost(theirs, goal),
    )


def _begin_anew(git: GitClient, head: CommitId, own: RawCommit) -> CommitId:
    """A first commit of the same files: each side compacted what it had, and each held what the other forgot."""
    made = git.run("commit-tree", f"{head}^{{tree}}", "-F", "-", stdin=own.message).stdout
    begun = CommitId(made.decode("ascii").strip())
    set_ref(git, NEXT, begun)
    return begun


def check_departure(git: GitClient, here: CommitId, there: CommitId | None, take: Take | None) -> None:
    """Refuses to send what other machines would refuse to take, or a folder that a hand suddenly emptied.

    Errors: ArrivalRefused, SideEmptied. Changes: nothing.
    """
    if here == there:
        return
    files = list_files(git, here)
    _refuse(judge_list(files), "this folder")
    ours, theirs = to_map(files), to_map(list_files(git, there)) if there is not None else {}
    contents = Contents(read_objects(git, _list_blobs((theirs, ours, theirs), ())))
    _refuse(judge_contents(_pick_new(ours, theirs, contents)), "this folder")
    if there is None or take is Take.HERE:
        return
    commits = read_commits(git, list_commits(git, here, there))
    emptied = _find_emptied(git, Merger(contents), (theirs, ours, theirs), by_hand=_is_by_hand(commits))
    if emptied is not None:
        raise emptied


def _decide(
    git: GitClient,
    merger: Merger,
    plan: Plan,
    trees: tuple[Tree, Tree, Tree],
    take: Take | None,
    *,
    commits: Sequence[RawCommit],
    banned: frozenset[ContentHash],
) -> dict[str, Blob]:
    """What the folder is to hold."""
    base, ours, theirs = trees
    if plan.takes_all:
        return dict(theirs)
    emptied = _find_emptied(git, merger, trees, by_hand=_is_by_hand(commits))
    if emptied is not None:
        if take is None:
            raise emptied
        return dict(theirs if take is Take.THERE else ours)
    goal, clashes = merger.merge_trees(base, ours, theirs, banned=banned, take=take)
    if clashes:
        raise MergeConflict(
            "; ".join(clash.why for clash in clashes[:3]),
            hint="say which side counts: memrepo sync resume --take here (or there, or both)",
            paths=tuple(clash.path for clash in clashes),
        )
    return goal


def _list_moved(git: GitClient, moved: CommitId, onto: CommitId, plan: Plan) -> tuple[CommitId, ...]:
    """The commits that are made anew: those of one side that the other has not, from the common version on."""
    if plan.takes_all or plan.is_base_lost:
        return ()
    commits = list_commits(git, moved, onto)
    if plan.base is None or not commits:
        return commits
    wanted = set(list_commits(git, moved, plan.base))
    return tuple(commit for commit in commits if commit in wanted)


def _list_blobs(trees: tuple[Tree, Tree, Tree], edits: Sequence[Sequence[FileEdit]]) -> list[str]:
    """The ids of all contents that the merge may ask for."""
    wanted = [tree[path][1] for path in list_changed(*trees) if needs_reading(path) for tree in trees if path in tree]
    for edit in (edit for one in edits for edit in one if needs_reading(edit.path)):
        wanted += [side[1] for side in (edit.before, edit.after) if side is not None]
    return wanted


def _pick_new(tree: Tree, known: Tree, contents: Contents) -> dict[str, bytes]:
    """The contents to judge: those that the other side has not."""
    return {path: contents.get(blob) for path, blob in tree.items() if needs_look(path) and known.get(path) != blob}


def _strip(contents: Contents, path: str, blob: Blob, added: Collection[ContentHash]) -> Blob:
    return contents.add(blob[0], strip_base(contents.get(blob), added)) if is_markdown(path) else blob


def _find_emptied(
    git: GitClient, merger: Merger, trees: tuple[Tree, Tree, Tree], *, by_hand: bool
) -> SideEmptied | None:
    """Whether one side suddenly lost everything; of this side only when a hand did it, and no command."""
    base, ours, theirs = trees
    changed = list_changed(*trees)
    before = merger.count_entries(base, changed)
    if before < EMPTIED_ENTRIES:
        return None
    sides = {"there": theirs, **({"here": ours} if by_hand else {})}
    side = next((name for name, tree in sides.items() if not merger.count_entries(tree, changed)), None)
    same = [path for path in base if is_markdown(path) and base[path] == ours.get(path) == theirs.get(path)]
    if side is None or _has_entries(git, merger, base, same):
        return None
    where = "the remote" if side == "there" else "this folder"
    return SideEmptied(
        f"{where} suddenly lost all {before} entries that both had",
        hint="say which side is right: memrepo sync resume --take here (or there)",
        side=side,
        before=before,
        after=0,
    )


def _has_entries(git: GitClient, merger: Merger, tree: Tree, paths: Sequence[str]) -> bool:
    merger.contents.known.update(read_objects(git, [tree[path][1] for path in paths]))
    return merger.count_entries(tree, paths) > 0


def _is_by_hand(commits: Sequence[RawCommit]) -> bool:
    return any(_BY_HAND in commit.message for commit in commits)


def _to_file(path: str, blob: Blob, size_bytes: int) -> TreeFile:
    mode, name = blob
    return TreeFile(path, mode, "commit" if mode == "160000" else "blob", name, size_bytes)


def _refuse(faults: Sequence[Fault], where: str) -> None:
    if not faults:
        return
    named = "; ".join(f"{fault.path or 'it'} {fault.why}" for fault in faults[:3])
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    does = "has" if where == "the remote" else "would send"
    raise ArrivalRefused(
        f"{where} {does} what is not taken: {named}{more}",
        hint="correct it on the machine where it is, then: memrepo sync now",
        rule=faults[0].rule,
        action="sync",
        target=faults[0].path,
        faults=tuple((fault.path, fault.why) for fault in faults),
    )
