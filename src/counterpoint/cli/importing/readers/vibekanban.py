"""Reads vibe-kanban: the SQLite file of its projects and tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

from counterpoint.cli.importing.readers.vocabulary import state_of
from counterpoint.core.model.foreign import ForeignItem, ForeignWork, Remark
from counterpoint.kernel.errors import NotFound
from counterpoint.storage.foreign.tables import ForeignTables, Value

TOOL: Final = "vibe-kanban"
_STATES: Final[Mapping[str, str]] = {
    "todo": "open",
    "inprogress": "active",
    "inreview": "active",
    "done": "done",
    "cancelled": "cancelled",
}
_TASK: Final = (
    "id", "project_id", "title", "description", "status", "created_at", "parent_task_attempt",
    "parent_workspace_id",
)  # fmt: skip


def read(path: Path) -> list[ForeignWork]:
    """Return the tasks of each project of a database, or of the folder that it lies in; MalformedDocument, NotFound."""
    file = path / "db.sqlite" if path.is_dir() else path
    if not file.is_file():
        raise NotFound(f"there is no file {str(file)!r}", hint="Name vibe-kanban's db.sqlite.")
    tables = ForeignTables(file)
    try:
        if not tables.has("tasks"):
            raise NotFound(
                f"{file.name} has no table of tasks", hint="Name vibe-kanban's db.sqlite."
            )
        attempts = {
            _id(row["id"]): row
            for table in ("task_attempts", "workspaces")
            for row in tables.rows(
                table, ("id", "task_id", "branch", "profile", "executor"), "created_at"
            )
        }
        projects = {
            _id(row["id"]): _text(row["name"])
            for row in tables.rows("projects", ("id", "name"), "created_at")
        }
        tasks = tables.rows("tasks", _TASK, "created_at")
    finally:
        tables.close()
    branches: defaultdict[str, list[str]] = defaultdict(list)
    for row in attempts.values():
        if _text(row["branch"]):
            branches[_id(row["task_id"])].append(_text(row["branch"]))
    items_by_project: defaultdict[str, list[ForeignItem]] = defaultdict(list)
    remarks: defaultdict[str, list[Remark]] = defaultdict(list)
    for row in tasks:
        item = _item(row, attempts, branches, file.name)
        items_by_project[_id(row["project_id"])].append(item)
        if state_of(item.said, _STATES) is None:
            problem = f"{item.id}: the status {item.said!r} means open here"
            remarks[_id(row["project_id"])].append(Remark(problem, item.where))
    return [
        ForeignWork(
            tool=TOOL,
            key=name,
            title=f"{projects.get(name) or name} (vibe-kanban)",
            items=tuple(items),
            remarks=tuple(remarks[name]),
        )
        for name, items in items_by_project.items()
    ]


def _item(
    row: Mapping[str, Value],
    attempts: Mapping[str, Mapping[str, Value]],
    branches: Mapping[str, list[str]],
    file: str,
) -> ForeignItem:
    name, status = _id(row["id"]), _text(row["status"])
    made_in = attempts.get(_id(row["parent_task_attempt"] or row["parent_workspace_id"]))
    facts = {"created": _text(row["created_at"]), "branches": ", ".join(branches.get(name, ()))}
    return ForeignItem(
        id=name,
        title=_text(row["title"]),
        body=_text(row["description"]),
        parent=_id(made_in["task_id"]) if made_in else "",
        state=state_of(status, _STATES) or "open",
        said=status,
        facts={key: value for key, value in facts.items() if value},
        where=f"{file}, task {name}",
    )


def _id(value: Value) -> str:
    """Return an id as text: they are the sixteen bytes of a UUID."""
    if isinstance(value, bytes):
        return str(UUID(bytes=value)) if len(value) == 16 else value.hex()  # noqa: PLR2004 -- the length of a UUID
    return _text(value)


def _text(value: Value) -> str:
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
