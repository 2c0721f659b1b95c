"""Reads task-master: `tasks.json`, with a list of tasks for each tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from counterpoint.cli.importing.files import (
    FILE_LIMIT,
    facts_of,
    json_of,
    list_in,
    read_text,
    sections,
    source_error,
    text_in,
    words_in,
)
from counterpoint.cli.importing.readers.vocabulary import priority_of, remark_unread, state_of
from counterpoint.core.model.foreign import ForeignItem, ForeignWork, Remark
from counterpoint.core.model.lifecycles import CLOSED, category_of
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
_FIELDS: Final = frozenset(
    {"id", "title", "description", "details", "testStrategy", "status", "priority", "dependencies", "subtasks", "assignee",
     "labels", "complexity", "parentId", "parentTaskId", "updatedAt", "createdAt", "dueDate"}
)  # fmt: skip
_PLACES: Final = (".taskmaster/tasks/tasks.json", "tasks/tasks.json", "tasks.json")


def read(path: Path) -> list[ForeignWork]:
    """Return the tasks of each tag of a file, or of the folder of a project; MalformedDocument, NotFound."""
    file = _file(path)
    document = json_of(read_text(file, limit=FILE_LIMIT), file.name)
    tags = _tags(document, file.name)
    works = (_work(tag, part, file.name) for tag, part in tags)
    return [work for work in works if work.items or work.remarks]


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    file = next((path / name for name in _PLACES if (path / name).is_file()), None)
    if file is None:
        raise NotFound(f"there is no tasks.json in {str(path)!r}", hint="Name the file.")
    return file


def _tags(document: Json, name: str) -> Sequence[tuple[str, Mapping[str, Json]]]:
    if isinstance(document, list):
        return [(_MAIN, {"tasks": document})]
    whole = object_of(document)
    if isinstance(whole.get("tasks"), list):
        return [(_MAIN, whole)]
    tags = [(tag, object_of(part)) for tag, part in whole.items() if "tasks" in object_of(part)]
    if not tags:
        raise source_error(name, "there are no tasks in it")
    return tags


def _work(tag: str, part: Mapping[str, Json], name: str) -> ForeignWork:
    remarks: list[Remark] = []
    items: list[ForeignItem] = []
    for index, task in enumerate(list_in(part, "tasks")):
        where = f"{name}, {tag}.tasks[{index}]"
        if isinstance(task, dict):
            items += _items(object_of(task), tag, _Above(), where, remarks)
        else:
            remarks.append(Remark("it is no task, so it is left out", where, "loss"))
    description = text_in(object_of(part.get("metadata")), "description")
    title = "Tasks (task-master)" if tag == _MAIN else f"{tag} (task-master)"
    return ForeignWork(
        tool=TOOL,
        key=tag,
        title=title,
        body=description,
        items=tuple(items),
        remarks=tuple(remarks),
    )


class _Above(NamedTuple):
    """What holds a task: its number and its status; empty at the top."""

    number: str = ""
    status: str = ""


def _items(
    task: Mapping[str, Json], tag: str, holder: _Above, where: str, remarks: list[Remark]
) -> Iterator[ForeignItem]:
    above = holder.number
    number = f"{above}.{text_in(task, 'id')}" if above else text_in(task, "id")
    own = text_in(task, "status")
    # It writes no status of the parts of a task that has ended as a whole.
    is_ended = category_of(state_of(holder.status, _STATES) or "open") in CLOSED
    status = own or (holder.status if is_ended else "pending")
    state = state_of(status, _STATES)
    if state is None:
        remarks.append(Remark(f"{number}: the status {status!r} means open here", where))
    if is_ended and not own:
        problem = f"a part without a status of a task that is {status}, so it is {status}"
        remarks.append(Remark(problem, where, "trifle"))
    remarks += remark_unread(task, _FIELDS, where)
    yield ForeignItem(
        id=_name(tag, number) if text_in(task, "id") else "",
        title=text_in(task, "title"),
        body=sections(
            ("", text_in(task, "description")),
            ("Details", text_in(task, "details")),
            ("How to test", text_in(task, "testStrategy")),
        ),
        parent=_name(tag, above) if above else "",
        state=state or "open",
        said=status,
        priority=priority_of(text_in(task, "priority"), number, where, remarks),
        assignee=text_in(task, "assignee"),
        labels=words_in(task, "labels"),
        needs=tuple(
            # Within sub-tasks a plain number is that of a sub-task beside it.
            _name(tag, f"{above}.{need}" if above and "." not in need else need)
            for need in words_in(task, "dependencies")
        ),
        facts=facts_of(
            task, complexity="complexity", created="createdAt", updated="updatedAt", due="dueDate"
        ),
        where=where,
    )
    for index, part in enumerate(list_in(task, "subtasks")):
        inner = f"{where}.subtasks[{index}]"
        if isinstance(part, dict):
            yield from _items(object_of(part), tag, _Above(number, status), inner, remarks)
        else:
            remarks.append(Remark("it is no task, so it is left out", inner, "loss"))


def _name(tag: str, number: str) -> str:
    return number if tag == _MAIN else f"{tag}/{number}"
