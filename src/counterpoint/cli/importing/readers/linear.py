"""Reads Linear: the CSV that its settings export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import FILE_LIMIT, read_text, rows_of, source_error
from counterpoint.cli.importing.readers.vocabulary import priority_of, remark_unread, state_of
from counterpoint.core.model.foreign import ForeignItem, ForeignWork, Remark

TOOL: Final = "linear"
_PRIORITIES: Final[Mapping[str, int]] = {
    "urgent": 0, "high": 1, "medium": 2, "low": 3, "no priority": 4, "": 4,
    "1": 0, "2": 1, "3": 2, "4": 3, "0": 4,
}  # fmt: skip
_FACTS: Final[Mapping[str, str]] = {
    "created": "Created", "updated": "Updated", "creator": "Creator", "completed": "Completed", "canceled": "Canceled", "started": "Started",
    "due": "Due Date", "estimate": "Estimate", "cycle": "Cycle Name", "team": "Team", "project": "Project",
    "milestone": "Project Milestone", "address": "URL",
}  # fmt: skip
_COLUMNS: Final = frozenset(
    {"ID", "Title", "Description", "Status", "Priority", "Parent issue", "Labels", "Assignee", "Blocked by", "Blocking", "Related to",
     "Duplicate of", *_FACTS.values()}
)  # fmt: skip
_STATES: Final[Mapping[str, str]] = {
    "triage": "backlog", "in development": "active", "released": "done", "shipped": "done", "merged": "done",
    "duplicate": "cancelled",
}  # fmt: skip


def read(path: Path) -> list[ForeignWork]:
    """Return the issues of an export; MalformedDocument, NotFound."""
    remarks: list[Remark] = []
    rows = list(rows_of(read_text(path, limit=FILE_LIMIT), path.name, remarks))
    if rows and not {"ID", "Title"} <= rows[0][1].keys():
        raise source_error(
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
    remarks += remark_unread(row, _COLUMNS, where)
    state = _state(row)
    if state is None:
        problem = f"{name}: the status {_cell(row, 'Status')!r} means open here"
        remarks.append(Remark(problem, where))
    priority = _PRIORITIES.get(_cell(row, "Priority").lower())
    project = _cell(row, "Project")
    return ForeignItem(
        id=name,
        title=_cell(row, "Title"),
        body=row.get("Description", "").strip(),
        parent=_cell(row, "Parent issue"),
        state=state or "open",
        said=_cell(row, "Status"),
        priority=priority_of(_cell(row, "Priority"), name, where, remarks)
        if priority is None
        else priority,
        assignee=_cell(row, "Assignee"),
        labels=(*_list(row, "Labels"), *([f"project: {project}"] if project else [])),
        needs=tuple(dict.fromkeys([*_list(row, "Blocked by"), *blocks.get(name, ())])),
        facts={ours: text for ours, theirs in _FACTS.items() if (text := _cell(row, theirs))},
        where=where,
    )


def _state(row: Mapping[str, str]) -> str | None:
    """Return the state here: its name may be anything, so dates count before it; None where neither says it."""
    status = _cell(row, "Status")
    state = state_of(status, _STATES) if status else "open"
    if _cell(row, "Canceled") or state == "cancelled":
        return "cancelled"
    if _cell(row, "Completed") or state == "done":
        return "done"
    return "active" if _cell(row, "Started") and state != "backlog" else state


def _cell(row: Mapping[str, str], heading: str) -> str:
    return row.get(heading, "").strip()


def _list(row: Mapping[str, str], heading: str) -> list[str]:
    return [part.strip() for part in row.get(heading, "").split(",") if part.strip()]
