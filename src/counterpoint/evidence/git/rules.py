"""Decides what a task changed, from two measured states and git's diffs.

A path's content *before* is its mark in the start snapshot if it was dirty or untracked then, else
what the start commit has. *After* is what lies on disk.

1. A path whose content before and after differs is changed: added, deleted or modified by which of
   the two exists. So what was dirty and did not change is not counted, what was dirty and came back
   to the committed content is, and so is an untracked file that was deleted.
2. A path that rule 1 leaves out but that differs between the start commit and HEAD is changed by
   commit, with the kind of that difference, and comes with a warning: commits are what goes on to
   review. But a path that was dirty at the start and is now committed as it was did not change within
   the task; it only comes with a warning. It is one if it lies on disk as HEAD has it.
3. What differs in the index alone is not changed; it comes with a warning, as the next commit
   would carry it.
4. A pair that git holds for a rename is one if by the rules above its previous path is deleted and
   its present path added. So are a deleted path and an added one whose marks are equal.
5. Lines are counted against the start commit: content that was dirty at the start is not kept, so
   for such a path the lines of before the task are among them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from counterpoint.core.model.evidence import ChangeKind, FileChange
from counterpoint.evidence.git.diff import Difference, Line, Rename
from counterpoint.evidence.hashes import renames as equal_pairs

_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured: marks at the start, both diffs since the start commit, what is dirty now."""

    start: Mapping[str, str]
    dirty: Collection[str]
    mark_now: Callable[[str], str]
    on_disk: Difference
    by_commit: Difference


def decide(measured: Measured) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    """Return the changes in the order of paths, and the warnings of rule 2."""
    changes = _paired(_by_content(measured), measured.on_disk.renames)
    changes = _paired(changes, _equal(measured, changes))
    seen = set(changes) | {change.previous for change in changes.values()}
    committed = {
        path: _change(path, line.kind, line)
        for path, line in measured.by_commit.lines.items()
        if path not in seen
    }
    as_it_was = committed.keys() & measured.start.keys() - set(measured.dirty)
    carried = {path: change for path, change in committed.items() if path not in as_it_was}
    warnings = (
        *present("was already so when the task began and was committed since", as_it_was),
        *present("was changed in commits, but lies on disk as at the start", carried.keys()),
    )
    changes |= _paired(carried, measured.by_commit.renames)
    return tuple(changes[path] for path in sorted(changes)), warnings


def present(sentence: str, paths: Collection[str]) -> tuple[str, ...]:
    """Return one warning for all the paths, or none for no path."""
    if not paths:
        return ()
    examples = sorted(paths)[:_NAMED]
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    return (f"{', '.join(f'`{path}`' for path in examples)}{more}: {sentence}",)


def _by_content(measured: Measured) -> dict[str, FileChange]:
    """Rule 1."""
    changes: dict[str, FileChange] = {}
    for path in measured.on_disk.lines.keys() | measured.start.keys():
        line = measured.on_disk.lines.get(path)
        kind = _kind(measured, path) if path in measured.start else line and line.kind
        if kind:
            changes[path] = _change(path, kind, line)
    return changes


def _kind(measured: Measured, path: str) -> ChangeKind | None:
    before, after = measured.start[path], measured.mark_now(path)
    if before == after:
        return None
    if not before:
        return "added"
    return "modified" if after else "deleted"


def _change(path: str, kind: ChangeKind, line: Line | None) -> FileChange:
    line = line or Line(kind=kind)
    return FileChange(path=path, kind=kind, insertions=line.insertions, deletions=line.deletions)


def _paired(
    changes: Mapping[str, FileChange], pairs: Mapping[str, Rename]
) -> dict[str, FileChange]:
    """Rule 4: join the pairs whose two halves are there."""
    joined = dict(changes)
    for path, pair in sorted(pairs.items()):
        halves = joined.get(pair.previous), joined.get(path)
        if [half.kind for half in halves if half] == ["deleted", "added"]:
            del joined[pair.previous]
            joined[path] = FileChange(
                path=path,
                kind="renamed",
                previous=pair.previous,
                insertions=pair.insertions,
                deletions=pair.deletions,
            )
    return joined


def _equal(measured: Measured, changes: Mapping[str, FileChange]) -> dict[str, Rename]:
    """Find pairs that git cannot see: what was untracked or dirty at the start was moved."""
    deleted = {
        path: measured.start[path]
        for path, change in changes.items()
        if change.kind == "deleted" and path in measured.start
    }
    if not deleted:
        return {}
    added = {path: measured.mark_now(path) for path in changes if changes[path].kind == "added"}
    pairs = equal_pairs(deleted, added)
    return {path: Rename(previous=previous) for path, previous in pairs.items()}


def shown_difference(difference: Difference, to_unicode: Callable[[str], str]) -> Difference:
    """Return the same difference with every name made Unicode."""
    return Difference(
        lines={to_unicode(path): line for path, line in difference.lines.items()},
        renames={
            to_unicode(path): replace(pair, previous=to_unicode(pair.previous))
            for path, pair in difference.renames.items()
        },
    )
