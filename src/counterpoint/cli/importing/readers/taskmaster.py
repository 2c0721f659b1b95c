"""Reads task-master: `tasks.json`, with a list of tasks for each tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import (
    FILE_LIMIT,
    facts_of,
    json_of,
    list_in,
    objects_in,
    read_text,
    refused,
    sections,
    text_in,
    words_in,
)
from counterpoint.core.model.foreign import ForeignItem, ForeignWork
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import NotFound

TOOL: Final = "task-master"
_MAIN: Final = "master"
_STATES: Final[Mapping[str, str]] = {
    "pending": "open",
    "in-progress": "active",
    "review": "active",
    "blocked": "open",
    "deferred": "backlog",
    "done": "done",
    "completed": "done",
    "cancelled": "cancelled",
}
_PRIORITIES: Final[Mapping[str, int]] = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_PLACES: Final = (".taskmaster/tasks/tasks.json", "tasks/tasks.json", "tasks.json")


def read(path: Path) -> list[ForeignWork]:
    """Return the tasks of each tag of a file, or of the folder of a project; MalformedDocument, NotFound."""
    file = _file(path)
    document = json_of(read_text(file, limit=FILE_LIMIT), file.name)
    tags = _tags(document, file.name)
    return [work for tag, part in tags if (work := _work(tag, part, file.name)).items]


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = next((path / one for one in _PLACES if (path / one).is_file()), None)
    if found is None:
        raise NotFound(f"there is no tasks.json in {str(path)!r}", hint="Name the file.")
    return found


def _tags(document: Json, name: str) -> Sequence[tuple[str, Mapping[str, Json]]]:
    if isinstance(document, list):
        return [(_MAIN, {"tasks": document})]
    whole = object_of(document)
    if isinstance(whole.get("tasks"), list):
        return [(_MAIN, whole)]
    found = [(tag, object_of(part)) for tag, part in whole.items() if "tasks" in object_of(part)]
    if not found:
        raise refused(name, "there are no tasks in it")
    return found


def _work(tag: str, part: Mapping[str, Json], name: str) -> ForeignWork:
    remarks: list[str] = []
    items: list[ForeignItem] = []
    for place, task in enumerate(list_in(part, "tasks")):
        where = f"{name}, {tag}.tasks[{place}]"
        if not isinstance(task, dict):
            raise refused(where, "it is no task")
        items += _items(object_of(task), tag, "", where, remarks)
    told = text_in(object_of(part.get("metadata")), "description")
    title = "Tasks (task-master)" if tag == _MAIN else f"{tag} (task-master)"
    return ForeignWork(
        tool=TOOL, key=tag, title=title, body=told, items=tuple(items), remarks=tuple(remarks)
    )


def _items(
    task: Mapping[str, Json], tag: str, above: str, where: str, remarks: list[str]
) -> Iterator[ForeignItem]:
    number = f"{above}.{text_in(task, 'id')}" if above else text_in(task, "id")
    said, priority = text_in(task, "status") or "pending", text_in(task, "priority") or "medium"
    if said not in _STATES:
        remarks.append(f"{number}: the status {said!r} means open here")
    yield ForeignItem(
        id=_name(tag, number) if text_in(task, "id") else "",
        title=text_in(task, "title"),
        body=sections(
            ("", text_in(task, "description")),
            ("Details", text_in(task, "details")),
            ("How to test", text_in(task, "testStrategy")),
        ),
        parent=_name(tag, above) if above else "",
        state=_STATES.get(said, "open"),
        said=said,
        priority=_PRIORITIES.get(priority, 2),
        assignee=text_in(task, "assignee"),
        labels=words_in(task, "labels"),
        needs=tuple(
            # Within sub-tasks a plain number is that of a sub-task beside it.
            _name(tag, f"{above}.{one}" if above and "." not in one else one)
            for one in words_in(task, "dependencies")
        ),
        facts=facts_of(task, complexity="complexity"),
        where=where,
    )
    for place, one in enumerate(objects_in(task, "subtasks")):
        yield from _items(one, tag, number, f"{where}.subtasks[{place}]", remarks)


def _name(tag: str, number: str) -> str:
    return number if tag == _MAIN else f"{tag}/{number}"
