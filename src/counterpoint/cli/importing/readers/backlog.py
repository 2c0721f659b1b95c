"""Reads Backlog.md: a folder with a Markdown file for each task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import Folder, facts_of, refused, sections, text_in, words_in
from counterpoint.cli.present import agree
from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import MalformedDocument, NotFound
from counterpoint.kernel.yamltext import read_front_matter, read_yaml

TOOL: Final = "backlog"
_PRIORITIES: Final[Mapping[str, int]] = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_FOLDERS: Final[Mapping[str, str]] = {
    "tasks": "",
    "completed": "done",
    "drafts": "backlog",
    "archive/tasks": "cancelled",
}
"""Where tasks lie, and the state of those that lie there; empty: what they say."""
_MARK: Final = re.compile(r"<!--\s*(?:SECTION:)?([A-Z_]+):(BEGIN|END)\s*-->")
_BOX: Final = re.compile(r"\s*[-*]\s+\[([ xX])\]\s+(?:#[0-9]+\s+)?(.*)")
_NAMES: Final = ("backlog", ".backlog")


def read(path: Path) -> list[ForeignWork]:
    """Return the tasks of a project's folder, or of its folder `backlog`; MalformedDocument, NotFound."""
    folder = Folder(_folder(path))
    remarks: list[str] = []
    items: list[ForeignItem] = []
    for below, state in _FOLDERS.items():
        for name, text in folder.texts(below, ".md"):
            items.append(_item(name, text, state, remarks))
    for below in ("decisions", "docs"):
        count = sum(name.endswith(".md") for name in folder.names(below))
        if count:
            remarks.append(f"{below}: {agree(count, 'file', 'stays')} beside them")
    title = _title(folder)
    return [
        ForeignWork(
            tool=TOOL,
            key=TOOL,
            title=f"{title} (Backlog.md)",
            items=tuple(items),
            remarks=tuple(remarks),
        )
    ]


def _title(folder: Folder) -> str:
    """Return the name of a project: what its settings say, or the folder that it lies in."""
    named = ""
    if folder.has("", "config.yml"):
        with suppress(MalformedDocument):
            named = text_in(
                object_of(read_yaml(folder.text("", "config.yml")).value), "project_name"
            )
    return named or folder.path.absolute().parent.name


def _folder(path: Path) -> Path:
    if (path / "tasks").is_dir():
        return path
    for name in _NAMES:
        if (path / name / "tasks").is_dir() and not (path / name).is_symlink():
            return path / name
    raise NotFound(
        f"there is no folder `backlog/tasks` in {str(path)!r}", hint="Name the project's folder."
    )


def _item(name: str, text: str, state: str, remarks: list[str]) -> ForeignItem:
    try:
        front = read_front_matter(text)
    except MalformedDocument as fault:
        raise refused(f"{name}, line {fault.facts['line']}", fault.facts["problem"]) from fault
    values = front.values
    own = text_in(values, "id")
    if not own:
        raise refused(name, "its front matter has no `id`")
    said = text_in(values, "status")
    parts = dict(_sections(front.body))
    acceptance = [
        match[2] for line in parts.get("AC", "").splitlines() if (match := _BOX.match(line))
    ]
    defined = [
        match[2] for line in parts.get("DOD", "").splitlines() if (match := _BOX.match(line))
    ]
    milestone = text_in(values, "milestone")
    assignees = [one.lstrip("@") for one in words_in(values, "assignee")]
    if len(assignees) > 1:
        remarks.append(f"{own}: it is of {', '.join(assignees)}; the first is its assignee here")
    return ForeignItem(
        id=own.upper(),
        title=text_in(values, "title"),
        body=sections(
            ("", parts.get("DESCRIPTION", "") or _plain(front.body)),
            ("Plan", parts.get("PLAN", "")),
            ("Notes", parts.get("NOTES", "")),
            ("Final summary", parts.get("FINAL_SUMMARY", "")),
            ("References", "\n".join(f"- {one}" for one in words_in(values, "references"))),
        ),
        parent=text_in(values, "parent_task_id").upper(),
        state=state or _state(said),
        said=said,
        priority=_PRIORITIES.get(text_in(values, "priority").lower(), 2),
        assignee=next(iter(assignees), ""),
        labels=(*words_in(values, "labels"), *([f"milestone: {milestone}"] if milestone else [])),
        needs=tuple(one.upper() for one in words_in(values, "dependencies")),
        acceptance=(*acceptance, *defined),
        areas=words_in(values, "modified_files"),
        notes=tuple(_comments(parts.get("COMMENTS", ""))),
        facts=facts_of(values, created="created_date", due="due_date", type="type"),
        where=name,
    )


def _state(said: str) -> str:
    """Return the state here: a project may have any, and calls the first and the last as most do."""
    word = re.sub(r"[^a-z]", "", said.lower())
    if word in {"done", "complete", "completed", "closed"}:
        return "done"
    if word in {"inprogress", "doing", "inreview", "review", "started"}:
        return "active"
    return "backlog" if word in {"draft", "backlog", "blocked", "onhold"} else "open"


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """Return the marked parts of a task's text by their names."""
    begun: tuple[str, int] | None = None
    for mark in _MARK.finditer(body):
        if mark[2] == "BEGIN" and begun is None:
            begun = (mark[1], mark.end())
        elif begun is not None and mark[1] == begun[0] and mark[2] == "END":
            yield begun[0], body[begun[1] : mark.start()].strip()
            begun = None


def _plain(body: str) -> str:
    """Return the text of a task without marks; nothing if it has any."""
    return "" if _MARK.search(body) else body.strip()


def _comments(text: str) -> Iterator[ForeignNote]:
    """Return comments: each has lines `author:` and `created:`, a line `---`, its text, and a line `---`."""
    parts = re.split(r"^---[ \t]*$", text, flags=re.MULTILINE)
    for head, said in zip(parts[::2], parts[1::2], strict=False):
        values: dict[str, Json] = {}
        for line in head.strip().splitlines():
            key, _, value = line.partition(":")
            values[key.strip()] = value.strip()
        yield ForeignNote(
            text=said.strip(), author=text_in(values, "author"), at=text_in(values, "created")
        )
