"""Reads Linear: the CSV that its settings export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import FILE_LIMIT, read_text, refused, rows_of
from counterpoint.core.model.foreign import ForeignItem, ForeignWork, Remark

TOOL: Final = "linear"
_PRIORITIES: Final[Mapping[str, int]] = {
    "urgent": 0, "high": 1, "medium": 2, "low": 3, "no priority": 4, "": 4,
    "1": 0, "2": 1, "3": 2, "4": 3, "0": 4,
}  # fmt: skip
_FACTS: Final[Mapping[str, str]] = {
    "created": "Created", "creator": "Creator", "completed": "Completed", "canceled": "Canceled", "started": "Started",
    "due": "Due Date", "estimate": "Estimate", "cycle": "Cycle Name", "team": "Team", "project": "Project",
    "milestone": "Project Milestone", "address": "URL",
}  # fmt: skip
_BACKLOG: Final = frozenset({"backlog", "triage", "icebox"})
_ACTIVE: Final = frozenset({"in progress", "in review", "started", "review", "in development"})
_DONE: Final = frozenset({"done", "completed", "released", "shipped", "merged"})
_DROPPED: Final = frozenset({"canceled", "cancelled", "duplicate", "won't fix"})


def read(path: Path) -> list[ForeignWork]:
    """Return the issues of an export; MalformedDocument, NotFound."""
    remarks: list[Remark] = []
    rows = list(rows_of(read_text(path, limit=FILE_LIMIT), path.name, remarks))
    if rows and not {"ID", "Title"} <= rows[0][1].keys():
        raise refused(
            f"{path.name}, line 1", "there are no columns `ID` and `Title`, as Linear writes them"
        )
    blocks: dict[str, list[str]] = {}
    for _, row in rows:
        for other in _list(row, "Blocking"):
            blocks.setdefault(other, []).append(_cell(row, "ID"))
    items = tuple(_item(where, row, blocks, remarks) for where, row in rows)
    return [
        ForeignWork(
            tool=TOOL, key=TOOL, title="Issues (Linear)", items=items, remarks=tuple(remarks)
        )
    ]


def _item(
    where: str, row: Mapping[str, str], blocks: Mapping[str, list[str]], remarks: list[Remark]
) -> ForeignItem:
    name = _cell(row, "ID")
    remarks += [
        Remark(f"{name}: {heading.lower()} {_cell(row, heading)} has no place here", where, "loss")
        for heading in ("Related to", "Duplicate of")
        if _cell(row, heading)
    ]
    project = _cell(row, "Project")
    return ForeignItem(
        id=name,
        title=_cell(row, "Title"),
        body=row.get("Description", "").strip(),
        parent=_cell(row, "Parent issue"),
        state=_state(row),
        said=_cell(row, "Status"),
        priority=_PRIORITIES.get(_cell(row, "Priority").lower(), 2),
        assignee=_cell(row, "Assignee"),
        labels=(*_list(row, "Labels"), *([f"project: {project}"] if project else [])),
        needs=tuple(dict.fromkeys([*_list(row, "Blocked by"), *blocks.get(name, ())])),
        facts={ours: found for ours, theirs in _FACTS.items() if (found := _cell(row, theirs))},
        where=where,
    )


def _state(row: Mapping[str, str]) -> str:
    """Return the state here: its name may be anything, so dates count before it."""
    said = _cell(row, "Status").lower()
    if _cell(row, "Canceled") or said in _DROPPED:
        return "cancelled"
    if _cell(row, "Completed") or said in _DONE:
        return "done"
    if said in _ACTIVE or (_cell(row, "Started") and said not in _BACKLOG):
        return "active"
    return "backlog" if said in _BACKLOG else "open"


def _cell(row: Mapping[str, str], heading: str) -> str:
    return row.get(heading, "").strip()


def _list(row: Mapping[str, str], heading: str) -> list[str]:
    return [one.strip() for one in row.get(heading, "").split(",") if one.strip()]
