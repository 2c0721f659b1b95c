"""Reads beads: the JSON Lines that `bd export` writes, and its SQLite file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import (
    FILE_LIMIT,
    facts_of,
    lines_of,
    objects_in,
    read_text,
    sections,
    sentences,
    text_in,
    words_in,
)
from counterpoint.cli.importing.readers.vocabulary import priority_of, remark_unread, state_of
from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork, Remark
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound
from counterpoint.storage.foreign.tables import ForeignTables, Value

TOOL: Final = "beads"
_STATES: Final[Mapping[str, str]] = {
    "open": "open",
    "blocked": "open",
    "in_progress": "active",
    "hooked": "active",
    "deferred": "backlog",
    "pinned": "backlog",
    "closed": "done",
    "tombstone": "",
}
_WAITS: Final = frozenset({"blocks", "conditional-blocks", "waits-for", ""})
ENDS: Final = frozenset({"cancelled", "failed", "skipped", "partial"})
"""Ends that beads has no status for: there they are reasons of a closed issue."""
GATE: Final = "gate"
"""The type of issues that wait for something outside of beads: a run, a timer, a person."""
GATE_FIELDS: Final = ("await_type", "await_id", "timeout", "timeout_ns", "waiters")
_FILES: Final = ("issues.jsonl", "beads.jsonl", "beads.db")
_COLUMNS: Final = (
    "id", "title", "description", "design", "acceptance_criteria", "notes", "status", "priority",
    "issue_type", "assignee", "estimated_minutes", "created_at", "created_by", "updated_at", "closed_at", "close_reason",
    "external_ref", "due_at", "defer_until", *GATE_FIELDS,
)  # fmt: skip
_FIELDS: Final = frozenset(
    {*_COLUMNS, "_type", "dependencies", "labels", "comments", "dependency_count", "dependent_count", "comment_count",
     "content_hash", "deleted_at", "source_repo"}
)  # fmt: skip


def read(path: Path) -> list[ForeignWork]:
    """Return the issues of a file of beads, or of a `.beads` folder; MalformedDocument, NotFound."""
    file = _file(path)
    remarks: list[Remark] = []
    is_database = file.suffix in {".db", ".sqlite", ".sqlite3"}
    rows = _database(file) if is_database else _lines(file, remarks)
    items: list[ForeignItem] = []
    for where, row in rows:
        if _is_kept(row):
            items.append(_item(where, row, remarks))
        else:
            problem = "deleted there, or no issue, so it is not imported"
            remarks.append(Remark(problem, where, "trifle"))
    title = file.absolute().parent.parent.name if file.parent.name == ".beads" else file.stem
    work = ForeignWork(
        tool=TOOL, key=TOOL, title=f"{title} (beads)", items=tuple(items), remarks=tuple(remarks)
    )
    return [work]


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for folder in (path, path / ".beads"):
        for name in _FILES:
            if (folder / name).is_file() and not (folder / name).is_symlink():
                return folder / name
    raise NotFound(
        f"there is no {' and no '.join(_FILES)} in {str(path)!r}",
        hint="Write one with `bd export -o issues.jsonl`, and name it.",
    )


def _lines(file: Path, remarks: list[Remark]) -> Iterator[tuple[str, dict[str, Json]]]:
    return lines_of(read_text(file, limit=FILE_LIMIT), file.name, remarks)


def _database(file: Path) -> Iterator[tuple[str, dict[str, Json]]]:
    tables = ForeignTables(file)
    try:
        if not tables.has("issues"):
            raise NotFound(f"{file.name} has no table of issues", hint="Name beads' own database.")
        edges = _by_issue(
            tables.rows("dependencies", ("issue_id", "depends_on_id", "type"), "issue_id")
        )
        labels = _by_issue(tables.rows("labels", ("issue_id", "label"), "label"))
        comments = _by_issue(
            tables.rows("comments", ("issue_id", "author", "text", "created_at"), "id")
        )
        for row in tables.rows("issues", _COLUMNS, "created_at"):
            plain = _plain(row)
            name = str(plain.get("id"))
            plain["dependencies"] = [_plain(edge) for edge in edges[name]]
            plain["labels"] = [_plain(label)["label"] for label in labels[name]]
            plain["comments"] = [_plain(comment) for comment in comments[name]]
            yield f"{file.name}, issue {name}", plain
    finally:
        tables.close()


def _by_issue(rows: Iterable[dict[str, Value]]) -> defaultdict[str, list[dict[str, Value]]]:
    groups: defaultdict[str, list[dict[str, Value]]] = defaultdict(list)
    for row in rows:
        groups[str(row["issue_id"])].append(row)
    return groups


def _plain(row: dict[str, Value]) -> dict[str, Json]:
    return {k: v.decode("utf-8", "replace") if isinstance(v, bytes) else v for k, v in row.items()}


def _is_kept(row: Mapping[str, Json]) -> bool:
    """Return whether a row is an issue that was not deleted there."""
    kind = row.get("_type", "issue")
    return kind == "issue" and text_in(row, "status") != "tombstone" and not row.get("deleted_at")


def _item(where: str, row: Mapping[str, Json], remarks: list[Remark]) -> ForeignItem:
    name, status = text_in(row, "id"), text_in(row, "status") or "open"
    remarks += remark_unread(row, _FIELDS, where)
    criteria = text_in(row, "acceptance_criteria")
    if "[x]" in criteria.lower():
        problem = "an issue with ticked acceptance sentences, whose ticks are not imported"
        remarks.append(Remark(problem, where, "trifle"))
    if state_of(status, _STATES) is None:
        remarks.append(Remark(f"{name}: the status {status!r} means open here", where))
    parent, needs = _edges(name, row, where, remarks)
    kind = text_in(row, "issue_type") or (GATE if text_in(row, "await_type") else "")
    state = _ended(row) or state_of(status, _STATES) or "open"
    if kind == GATE and state in {"open", "active"}:
        # Nobody is to be offered it as work, and what depends on it waits.
        state = "backlog"
        awaited = " ".join(filter(None, (text_in(row, "await_type"), text_in(row, "await_id"))))
        problem = f"{name}: a gate that waits for {awaited or 'something'}; nothing here watches for that, so it is parked until"
        remarks.append(Remark(f"{problem} somebody sets it done", where))
    return ForeignItem(
        id=name,
        title=text_in(row, "title"),
        body=sections(
            ("", text_in(row, "description")),
            ("Design", text_in(row, "design")),
            ("Notes", text_in(row, "notes")),
        ),
        parent=parent or _parent_in(name),
        state=state,
        said=status,
        priority=priority_of(text_in(row, "priority"), name, where, remarks, is_scale=True),
        assignee=text_in(row, "assignee"),
        labels=(*words_in(row, "labels"), *([kind] if kind not in {"", "task"} else [])),
        needs=tuple(needs),
        acceptance=sentences(criteria),
        notes=tuple(
            ForeignNote(
                text=text_in(comment, "text"),
                author=text_in(comment, "author"),
                at=text_in(comment, "created_at"),
            )
            for comment in objects_in(row, "comments")
        ),
        facts=facts_of(
            row,
            created="created_at",
            updated="updated_at",
            creator="created_by",
            closed="closed_at",
            because="close_reason",
            estimate="estimated_minutes",
            reference="external_ref",
            due="due_at",
            deferred="defer_until",
        )
        | _gate_facts(row),
        where=where,
    )


def _edges(
    name: str, row: Mapping[str, Json], where: str, remarks: list[Remark]
) -> tuple[str, list[str]]:
    """Return what holds an issue, and what it waits for."""
    parent, needs = "", list[str]()
    for edge in objects_in(row, "dependencies"):
        other, kind = text_in(edge, "depends_on_id", "id"), text_in(edge, "type", "dependency_type")
        if kind == "parent-child":
            parent = other
        elif kind in _WAITS:
            needs.append(other)
        else:
            remarks.append(Remark(f"{name}: {kind} {other} has no place here", where, "loss"))
    return parent, needs


def _gate_facts(row: Mapping[str, Json]) -> dict[str, str]:
    """Return what a gate waits for, by the fields of beads; of several waiters one text."""
    fields = {name: ", ".join(words_in(row, name)) for name in GATE_FIELDS}
    return {name: value for name, value in fields.items() if value}


def _ended(row: Mapping[str, Json]) -> str:
    """Return the state that the reason of an end names, as an export of ours writes it; empty if it names none."""
    reason = text_in(row, "close_reason")
    return reason if text_in(row, "status") == "closed" and reason in ENDS else ""


def _parent_in(name: str) -> str:
    """Return the parent that an id of a child names: `bd-12.1` is below `bd-12`."""
    above, _, last = name.rpartition(".")
    return above if above and last.isdecimal() else ""
