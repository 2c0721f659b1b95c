"""Reads issues of GitHub, as `gh issue list --json …` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, cast

from counterpoint.cli.importing.files import (
    FILE_LIMIT,
    facts_of,
    json_of,
    list_in,
    objects_in,
    read_text,
    source_error,
    text_in,
)
from counterpoint.cli.importing.readers.vocabulary import state_of
from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork, Remark
from counterpoint.kernel.canonical import Json, object_of

TOOL: Final = "github"
_URL: Final = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/(?:issues|pull)/([0-9]+)")
_STATES: Final[Mapping[str, str]] = {"": "open", "open": "open", "closed": "done", "merged": "done"}
_REASONS: Final[Mapping[str, str]] = {
    "": "done", "completed": "done", "not planned": "cancelled", "duplicate": "cancelled",
}  # fmt: skip


def read(path: Path) -> list[ForeignWork]:
    """Return the issues of a file of JSON; MalformedDocument, NotFound."""
    document = json_of(read_text(path, limit=FILE_LIMIT), path.name)
    if not isinstance(document, list):
        raise source_error(
            path.name, "it is no list of issues, as `gh issue list --json` writes it"
        )
    entries = cast("list[Json]", document)
    remarks = [
        Remark("it is no issue, so it is left out", f"{path.name}, [{index}]", "loss")
        for index, entry in enumerate(entries)
        if not isinstance(entry, dict)
    ]
    issues = [object_of(entry) for entry in entries]
    repository = next((address for issue in issues if (address := _repository(issue))), "")
    parents = {name: _name(issue) for issue in issues for name in _named(issue, "subIssues")}
    items = tuple(
        _item(issue, parents, f"{path.name}, [{index}]", remarks)
        for index, issue in enumerate(issues)
        if issue
    )
    return [
        ForeignWork(
            tool=TOOL,
            key=repository or TOOL,
            title=f"{repository or 'Issues'} (GitHub)",
            items=items,
            remarks=tuple(remarks),
        )
    ]


def _item(
    issue: Mapping[str, Json], parents: Mapping[str, str], where: str, remarks: list[Remark]
) -> ForeignItem:
    name, number = _name(issue), text_in(issue, "number")
    state, status = _state(issue, where, remarks)
    milestone = text_in(object_of(issue.get("milestone")), "title")
    assignees = [text_in(user, "login", "name") for user in objects_in(issue, "assignees")]
    parent = _name(object_of(issue.get("parent"))) or parents.get(name, "")
    return ForeignItem(
        id=name,
        short=f"#{number}",
        title=text_in(issue, "title"),
        body=text_in(issue, "body"),
        parent=parent,
        state=state,
        said=status,
        assignee=next(filter(None, assignees), ""),
        labels=(
            *(
                label_name
                for label in objects_in(issue, "labels")
                if (label_name := text_in(label, "name"))
            ),
            *([f"milestone: {milestone}"] if milestone else []),
        ),
        needs=tuple(_named(issue, "blockedBy")),
        notes=tuple(_comments(issue)),
        facts={
            **facts_of(issue, created="createdAt", closed="closedAt", address="url"),
            **facts_of(object_of(issue.get("author")), creator="login"),
            **({"assignees": ", ".join(assignees)} if len(assignees) > 1 else {}),
        },
        where=where,
    )


def _state(issue: Mapping[str, Json], where: str, remarks: list[Remark]) -> tuple[str, str]:
    """Return the state here and what GitHub calls it; a remark on a state, or a reason of a closed one, that nobody knows."""
    own = text_in(issue, "state")
    status = own.lower()
    reason = text_in(issue, "stateReason", "state_reason").lower().replace("_", " ")
    state = state_of(status, _STATES)
    if state is None:
        remarks.append(Remark(f"{_name(issue)}: the state {own!r} means open here", where))
    if status != "closed":
        return state or "open", status or "open"
    if reason not in _REASONS:
        remarks.append(Remark(f"{_name(issue)}: closed as {reason!r} means done here", where))
    return _REASONS.get(reason, "done"), f"closed as {reason}" if reason else "closed"


def _comments(issue: Mapping[str, Json]) -> Iterator[ForeignNote]:
    for comment in objects_in(issue, "comments"):
        author = text_in(object_of(comment.get("author")), "login")
        yield ForeignNote(
            text=text_in(comment, "body"), author=author, at=text_in(comment, "createdAt")
        )


def _named(issue: Mapping[str, Json], field: str) -> Iterator[str]:
    """Return the issues that a field names: it is a list, or an object with one in `nodes`."""
    value = issue.get(field)
    some = list_in(issue, field) if isinstance(value, list) else list_in(object_of(value), "nodes")
    for node in some:
        if name := _name(object_of(node)):
            yield name


def _repository(issue: Mapping[str, Json]) -> str:
    match = _URL.match(text_in(issue, "url"))
    return match[1] if match else ""


def _name(issue: Mapping[str, Json]) -> str:
    match = _URL.match(text_in(issue, "url"))
    number = text_in(issue, "number")
    return f"{match[1]}#{match[2]}" if match else f"#{number}" if number else ""
