"""Reads Backlog.md: a folder with a Markdown file for each task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import (
    Folder,
    facts_of,
    remark_on_documents,
    sections,
    text_in,
    words_in,
)
from counterpoint.cli.importing.readers.vocabulary import priority_of, remark_unread, state_of
from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork, Remark
from counterpoint.core.rules.planning.markdown import parse_markdown, split_lines
from counterpoint.core.rules.planning.reading import lines_in_words
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import MalformedDocument, NotFound
from counterpoint.kernel.yamltext import FrontMatter, read_front_matter, read_yaml

TOOL: Final = "backlog"
_FIELDS: Final = frozenset(
    {"id", "title", "status", "priority", "assignee", "labels", "milestone", "dependencies", "references", "documentation",
     "modified_files", "parent_task_id", "created_date", "updated_date", "due_date", "type", "reporter", "ordinal", "subtasks"}
)  # fmt: skip
_FOLDERS: Final[Mapping[str, str]] = {
    "tasks": "",
    "completed": "done",
    "drafts": "backlog",
    "archive/tasks": "cancelled",
}
"""Where tasks lie, and the state of those that lie there; empty: what they say."""
_MARK: Final = re.compile(r"<!--\s*(?:SECTION:)?([A-Z_]+):(BEGIN|END)\s*-->")
_BOX: Final = re.compile(r"\s*[-*+]\s+(?:\[(.)\]\s+)?(?:#[0-9]+\s+)?(.*)")
_VALUE: Final = re.compile(
    r"(\s*(?:-\s+)?(?:[A-Za-z_][\w-]*:[ \t]+|(?<=-\s)))([^\s\"'{}|>#].*?)[ \t\r]*$"
)
_BLOCK: Final = re.compile(r":[ \t]+[|>][-+0-9]*[ \t\r]*$")
_IN_LIST: Final = re.compile(r"(?<![^\[,\s])[@`%*&!][^,\]\s]+")
_SIGNS: Final = "@`%*&!"
"""What begins no value in YAML, but a name in Backlog.md."""
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)\s*")
_LEVEL: Final = 2
_STATES: Final[Mapping[str, str]] = {"blocked": "backlog"}
_HEADINGS: Final[Mapping[str, str]] = {
    "description": "DESCRIPTION",
    "acceptance criteria": "AC",
    "definition of done": "DOD",
    "implementation plan": "PLAN",
    "plan": "PLAN",
    "implementation notes": "NOTES",
    "notes": "NOTES",
    "final summary": "FINAL_SUMMARY",
    "comments": "COMMENTS",
}
"""The headings of a task's parts, and the names in its marks."""
_NAMES: Final = ("backlog", ".backlog")


def read(path: Path) -> list[ForeignWork]:
    """Return the tasks of a project's folder, or of its folder `backlog`; MalformedDocument, NotFound."""
    folder = Folder(_folder(path))
    remarks: list[Remark] = []
    items: list[ForeignItem] = []
    for below, state in _FOLDERS.items():
        for name, text in folder.texts(below, ".md", remarks):
            item = _item(name, text, state, remarks)
            items += [item] if item else []
    for below in ("decisions", "docs", "milestones"):
        files = [name for name in folder.names(below) if name.endswith(".md")]
        if files:
            remarks.append(Remark(remark_on_documents(files, "Backlog.md"), below, "trifle"))
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
    project_name = ""
    if folder.has("", "config.yml"):
        with suppress(MalformedDocument):
            project_name = text_in(
                object_of(read_yaml(folder.text("", "config.yml")).value), "project_name"
            )
    return project_name or folder.path.absolute().parent.name


def _folder(path: Path) -> Path:
    if (path / "tasks").is_dir():
        return path
    for name in _NAMES:
        if (path / name / "tasks").is_dir() and not (path / name).is_symlink():
            return path / name
    raise NotFound(
        f"there is no folder `backlog/tasks` in {str(path)!r}", hint="Name the project's folder."
    )


def _item(name: str, text: str, state: str, remarks: list[Remark]) -> ForeignItem | None:
    """Return the task of a file; None, and a remark, for a file that is none."""
    front = _front(name, text, remarks)
    if front is None:
        return None
    values = front.values
    own = text_in(values, "id")
    if not own:
        what = "its front matter has no `id`" if values else "it has no front matter"
        remarks.append(Remark(f"{what}, so it is no task and is left out", name, "loss"))
        return None
    status = text_in(values, "status")
    if not state and status and _state(status) is None:
        remarks.append(Remark(f"{own}: the status {status!r} means open here", name))
    remarks += remark_unread(values, _FIELDS, name)
    text_of = _parse_text(front.body)
    parts, criteria = text_of.parts, _Criteria()
    for part, heading in (("AC", "Acceptance criteria"), ("DOD", "Definition of done")):
        if words := criteria.take(parts.get(part, "")):
            text_of.others.append((heading, words))
    if criteria.ticked:
        problem = "a task with ticked acceptance sentences, whose ticks are not imported"
        remarks.append(Remark(problem, name, "trifle"))
    milestone = text_in(values, "milestone")
    assignees = [each.lstrip("@") for each in words_in(values, "assignee")]
    if len(assignees) > 1:
        problem = f"{own}: it is of {', '.join(assignees)}; the first is its assignee here"
        remarks.append(Remark(problem, name, "loss"))
    references = (*words_in(values, "references"), *words_in(values, "documentation"))
    return ForeignItem(
        id=own.upper(),
        title=text_in(values, "title"),
        body=sections(
            ("", parts.get("DESCRIPTION", "")),
            ("Plan", parts.get("PLAN", "")),
            ("Notes", parts.get("NOTES", "")),
            ("Final summary", parts.get("FINAL_SUMMARY", "")),
            *text_of.others,
            ("References", "\n".join(f"- {each}" for each in references)),
        ),
        parent=text_in(values, "parent_task_id").upper(),
        state=state or _state(status) or "open",
        said=status,
        priority=priority_of(text_in(values, "priority"), own, name, remarks),
        assignee=next(iter(assignees), ""),
        labels=(*words_in(values, "labels"), *([f"milestone: {milestone}"] if milestone else [])),
        needs=tuple(each.upper() for each in words_in(values, "dependencies")),
        acceptance=tuple(criteria.sentences),
        areas=words_in(values, "modified_files"),
        notes=tuple(_comments(parts.get("COMMENTS", ""))),
        facts=facts_of(
            values,
            created="created_date",
            updated="updated_date",
            due="due_date",
            type="type",
            reporter="reporter",
        ),
        where=name,
    )


def _front(name: str, text: str, remarks: list[Remark]) -> FrontMatter | None:
    """Return the front matter of a file, values that YAML refuses as texts; None, and a remark, where that does not help."""
    try:
        return read_front_matter(text)
    except MalformedDocument as fault:
        where, problem = f"{name}, line {fault.facts['line']}", str(fault.facts["problem"])
    mended, lines = _quoted(text)
    try:
        front = read_front_matter(mended)
    except MalformedDocument:
        remarks.append(Remark(f"{problem}, so it is left out", where, "loss"))
        return None
    values = ", ".join(lines.values())
    numbers = lines_in_words(lines)
    problem = f"{values} is no YAML without quotes; it is read as a text"
    remarks.append(Remark(problem, f"{name}, {numbers}"))
    return front


def _quoted(text: str) -> tuple[str, dict[int, str]]:
    """Return a text whose front matter has in quotes what its own tool reads as texts, and these values by line."""
    lines, quoted = text.split("\n"), dict[int, str]()
    block: int | None = None
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            break
        indent = len(line) - len(line.lstrip())
        if block is not None and (not line.strip() or indent > block):
            continue
        block = indent if _BLOCK.search(line) else None
        value = _VALUE.match(line)
        if block is not None or value is None:
            continue
        words = value[2]
        if words.startswith("["):
            mended = _IN_LIST.sub(lambda word: f"'{word[0]}'", words)
        elif words[0] in _SIGNS or ": " in words or words.endswith(":"):
            mended = "'" + words.replace("'", "''") + "'"
        else:
            continue
        if mended != words:
            lines[index] = f"{value[1]}{mended}"
            quoted[index + 1] = words
    return "\n".join(lines), quoted


def _state(status: str) -> str | None:
    """Return the state here, signs before it left out; None where nobody knows it: a project may have any."""
    return state_of(status.lstrip("◑○●◒✔ "), _STATES)


@dataclass(slots=True)
class _Text:
    """The text of a task. parts: by the names of its tool. others: what its tool has no name for, by headings."""

    parts: dict[str, str] = field(default_factory=dict[str, str])
    others: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def add(self, name: str, heading: str, text: str) -> None:
        """Add text to a part, or below a heading of its own."""
        if not text.strip():
            return
        if name:
            self.parts[name] = "\n\n".join(filter(None, (self.parts.get(name), text.strip())))
        else:
            self.others.append((heading, text.strip()))


def _parse_text(body: str) -> _Text:
    """Return the text of a task by its parts: first what stands between marks, then what only stands below a heading."""
    parsed = _Text()
    unmarked = body
    for name, whole, text in _marked(body):
        heading = name.capitalize().replace("_", " ")
        parsed.add(name if name in _HEADINGS.values() else "", heading, text)
        # As many lines stay, so that no heading moves into another block.
        unmarked = unmarked.replace(whole, "\n" * whole.count("\n"), 1)
    unmarked = _MARK.sub("", unmarked)
    lines = split_lines(unmarked)
    heads = [line for line in parse_markdown(unmarked).headings if line.level <= _LEVEL]
    begin, words = 0, "Description"
    for head in heads:
        _add_unmarked(parsed, words, lines[begin : head.number - 1])
        begin, words = head.number, head.words or head.text.strip("# ")
        if begin < len(lines) and _UNDERLINE.fullmatch(lines[begin]) and "#" not in head.text[:4]:
            begin += 1
    _add_unmarked(parsed, words, lines[begin:])
    return parsed


def _add_unmarked(parsed: _Text, heading: str, lines: Sequence[str]) -> None:
    name = _HEADINGS.get(heading.strip().lower(), "")
    # Comments without marks have no form that could be told from text.
    parsed.add("" if name == "COMMENTS" else name, heading.strip(), "\n".join(lines))


def _marked(body: str) -> Iterator[tuple[str, str, str]]:
    """Return the marked parts of a task's text: the name of each, it with its marks, and what stands between them."""
    begun: re.Match[str] | None = None
    for mark in _MARK.finditer(body):
        if mark[2] == "BEGIN" and begun is None:
            begun = mark
        elif begun is not None and mark[1] == begun[1] and mark[2] == "END":
            yield begun[1], body[begun.start() : mark.end()], body[begun.end() : mark.start()]
            begun = None


@dataclass(slots=True)
class _Criteria:
    """Sentences that must be true at the end. ticked: how many were."""

    sentences: list[str] = field(default_factory=list[str])
    ticked: int = 0

    def take(self, text: str) -> str:
        """Take the entries of a list; return what is none of it."""
        others: list[str] = []
        is_open = False
        for line in text.splitlines():
            entry = _BOX.match(line)
            if entry:
                self.sentences.append(entry[2].strip())
                self.ticked += (entry[1] or " ") != " "
                is_open = True
            elif is_open and line[:1].isspace() and line.strip():
                self.sentences[-1] += f" {line.strip()}"
            elif line.strip():
                others.append(line)
                is_open = False
        return "\n".join(others)


def _comments(text: str) -> Iterator[ForeignNote]:
    """Return comments: each has lines `author:` and `created:`, a line `---`, its text, and a line `---`."""
    parts = re.split(r"^---[ \t]*$", text, flags=re.MULTILINE)
    for head, comment in zip(parts[::2], parts[1::2], strict=False):
        values: dict[str, Json] = {}
        for line in head.strip().splitlines():
            key, _, value = line.partition(":")
            values[key.strip()] = value.strip()
        yield ForeignNote(
            text=comment.strip(), author=text_in(values, "author"), at=text_in(values, "created")
        )
