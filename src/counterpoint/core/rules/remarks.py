"""What the measured evidence says about an outcome: remarks, never a refusal."""

from __future__ import annotations

from collections.abc import Sequence

from counterpoint.core.model.evidence import Comparison
from counterpoint.core.rules.areas import outside
from counterpoint.core.rules.enumeration import few


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
