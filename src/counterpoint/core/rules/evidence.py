"""Between measured evidence and the rows that keep it, and remarks on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterpoint.core.model.answers import Measured
from counterpoint.core.model.evidence import Comparison, Method, Snapshot
from counterpoint.core.model.journal import Receipt, StartPoint
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.rules.areas import outside
from counterpoint.core.rules.wording import few
from counterpoint.kernel import canonical

FILES_SHOWN = 500
"""How many changed files an outcome keeps by name; the count is always whole."""


def files_text(snapshot: Snapshot) -> str:
    """Return a snapshot's files as the JSON text that a row keeps."""
    return canonical.dump_any(dict(snapshot.files)) if snapshot.files else ""


def snapshot_of(point: StartPoint | Receipt) -> Snapshot:
    """Return the snapshot that a row kept."""
    files: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    if point.files == REDACTED:
        warnings = ("the start snapshot was redacted",)
    elif point.files:
        files = canonical.load(point.files)
    method: Method = "git" if point.method == "git" else "hash"
    return Snapshot(method=method, commit=point.commit, files=files, warnings=warnings)


def measured(comparison: Comparison) -> Measured:
    """Return what is kept of a comparison."""
    return Measured(
        method=comparison.end.method,
        start_commit=comparison.start.commit,
        end_commit=comparison.end.commit,
        files=comparison.changes[:FILES_SHOWN],
        file_count=len(comparison.changes),
        insertions=sum(change.insertions for change in comparison.changes),
        deletions=sum(change.deletions for change in comparison.changes),
        commits=comparison.commits[:100],
        warnings=comparison.warnings,
    )


def evidence_text(found: Measured) -> str:
    """Return the evidence as JSON text."""
    value: dict[str, Any] = {
        "method": found.method,
        "start_commit": found.start_commit,
        "end_commit": found.end_commit,
        "files": [
            {
                "path": file.path,
                "kind": file.kind,
                **({"previous": file.previous} if file.previous else {}),
                "insertions": file.insertions,
                "deletions": file.deletions,
            }
            for file in found.files
        ],
        "file_count": found.file_count,
        "insertions": found.insertions,
        "deletions": found.deletions,
        "commits": list(found.commits),
        "warnings": list(found.warnings),
    }
    return canonical.dump_any(value)


def remarks_on(
    comparison: Comparison,
    *,
    areas: Sequence[str],
    unmet: Sequence[str],
    unproved: Sequence[str],
) -> list[str]:
    """Return what a reviewer should know about a finished item.

    areas: what the item was to touch. unmet: acceptance sentences nobody marked as met.
    unproved: claims about checks that no receipt shows.
    """
    remarks = list(comparison.warnings)
    paths = [change.path for change in comparison.changes]
    if not paths:
        remarks.append("no file changed since the start")
    if areas and (beyond := outside(areas, paths)):
        remarks.append(
            f"{len(beyond)} of {len(paths)} changed files lie outside the areas: {few(beyond)}"
        )
    if comparison.end.method == "git" and (left := sorted(comparison.end.files)):
        mine = [path for path in left if path in set(paths)]
        if mine:
            remarks.append(f"{len(mine)} changed files are not committed: {few(mine)}")
    if unmet:
        remarks.append(f"acceptance not marked as met: {few(unmet)}")
    remarks += unproved
    return remarks
