"""Reads check-lists in Markdown: tasks in boxes, below headings that are phases.

It is the grammar of plans (core/rules/outline.py), heard with patience: any mark in a box, any depth of headings, several titles or none, and a
line that a plan would refuse is text.

    [ ] open   [x] done   [-] or [~] cancelled   [/] in progress   [>] parked
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import read_text, refused
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.foreign import ForeignItem, ForeignWork
from counterpoint.core.rules import outline
from counterpoint.core.rules.wording import few
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.yamltext import read_front_matter

TOOL: Final = "markdown"
_STATES: Final[Mapping[str, str]] = {
    "": "open", "x": "done", "X": "done", "-": "cancelled", "~": "cancelled", "/": "active", ">": "backlog",
}  # fmt: skip
_BOX: Final = re.compile(
    r"(\s*)(?:[-*+]|[0-9]{1,9}[.)])\s*\[[ \t]{0,3}([xX/~>-]?)[ \t]{0,3}\]\s+(\S.*)"
)
_HEADING: Final = re.compile(r"(#{1,6})(\s+\S.*)")
_LINE: Final = re.compile(r"line ([0-9]+)")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_DEEPEST: Final = 6
_ROUNDS: Final = 50
_ID: Final = 100


@dataclass(slots=True)
class Checklist:
    """A text as a plan, with what its boxes say. states: by line. shift: lines that were put before it."""

    draft: Draft
    states: Mapping[int, str]
    shift: int
    remarks: tuple[str, ...]


@dataclass(slots=True)
class Naming:
    """How items are called: `own` answers the id that a title begins with, and the rest of it."""

    key: str
    own: Callable[[str], tuple[str, str]] = field(default=lambda title: ("", title))
    taken: set[str] = field(default_factory=set[str])

    def name(self, draft: Draft) -> tuple[str, str]:
        """Return the id of an item, and its title."""
        own, title = self.own(draft.title)
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:_ID] or "item"
        name = first = f"{self.key}/{draft.name or own or plain}"
        count = 1
        while name in self.taken:
            count += 1
            name = f"{first}-{count}"
        self.taken.add(name)
        return name, title


def read(path: Path) -> list[ForeignWork]:
    """Return the tasks of a file; MalformedDocument, NotFound."""
    found = checklist(read_text(path), path.name, path.stem)
    items = tuple(items_of(found, Naming(path.stem), path.name, is_ordered=False))
    work = ForeignWork(
        tool=TOOL,
        key=path.stem,
        title=found.draft.title,
        body=found.draft.body,
        items=items,
        remarks=found.remarks,
    )
    return [work]


def checklist(text: str, name: str, title: str) -> Checklist:
    """Return a text as a plan. title: that of a text that has none, or several. MalformedDocument with the line."""
    try:
        lines, states, shift = _lines(text, title)
    except MalformedDocument as fault:
        where = f"{name}, line {fault.facts['line']}"
        raise refused(where, f"in its front matter: {fault.facts['problem']}") from fault
    escaped: set[int] = set()
    for _ in range(_ROUNDS):
        found = outline.read("\n".join(lines))
        if found.draft is not None and not found.faults:
            told = [_shifted(one, shift) for one in found.draft.remarks if " ticked: " not in one]
            told += [
                f"line {line - shift}: it is no attribute of a plan, so it is text"
                for line in sorted(escaped)
            ]
            return Checklist(found.draft, states, shift, tuple(told))
        for line, problem in found.faults:
            if line in escaped or line <= shift:
                raise refused(f"{name}, line {max(1, line - shift)}", problem)
            escaped.add(line)
            bare = lines[line - 1].lstrip()
            lines[line - 1] = lines[line - 1][: -len(bare) or None] + "\\" + bare
            states.pop(line, None)
    raise refused(name, "too many of its lines cannot be read")


def _shifted(remark: str, shift: int) -> str:
    """Return what was said of a plan as it is said of the file that it was made of."""
    words = remark.partition("; a task is a line")[0]
    return _LINE.sub(lambda found: f"line {int(found[1]) - shift}", words, count=1)


def _lines(text: str, title: str) -> tuple[list[str], dict[int, str], int]:
    """Return the lines of a text as a plan has them, the states of its boxes by line, and how many lines were put first."""
    front = read_front_matter(text)
    lines = text.splitlines()
    begin = len(lines) - len(front.body.splitlines())
    heads = [(place, match) for place, match in _headings(lines, begin)]
    titles = [place for place, match in heads if len(match[1]) == 1]
    first = next((place for place in range(begin, len(lines)) if lines[place].strip()), len(lines))
    has_title = titles == [first] or (not titles and "title" in front.values)
    last = 1
    for place, match in heads:
        level = min(len(match[1]) + (0 if has_title else 1), last + 1, _DEEPEST)
        level = 1 if has_title and place == first and titles else max(level, 2)
        lines[place], last = "#" * level + match[2], level
    shift = 0 if has_title else 1
    if shift:
        lines.insert(begin, f"# {title}")
    return lines, dict(_boxes(lines)), shift


def _headings(lines: list[str], begin: int) -> Iterator[tuple[int, re.Match[str]]]:
    in_fence = False
    for place in range(begin, len(lines)):
        if _FENCE.match(lines[place]):
            in_fence = not in_fence
        elif not in_fence and (match := _HEADING.match(lines[place])):
            yield place, match


def _boxes(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Write every box as a plan has it; answer of what each said, by line from 1."""
    in_fence = False
    for place, line in enumerate(lines):
        if _FENCE.match(line):
            in_fence = not in_fence
        elif not in_fence and (match := _BOX.match(line)):
            state = _STATES.get(match[2], "open")
            lines[place] = f"{match[1]}- [{'x' if state == 'done' else ' '}] {match[3]}"
            yield place + 1, state


def items_of(
    found: Checklist, naming: Naming, file: str, *, is_ordered: bool
) -> Iterator[ForeignItem]:
    """Return the tasks and phases of a check-list. is_ordered: whether a phase comes after the one before it."""
    names: dict[int, tuple[str, str]] = {}
    called: dict[str, str] = {}
    for draft in found.draft.walk():
        if draft is not found.draft:
            names[id(draft)] = naming.name(draft)
            for word in (draft.name, draft.title, names[id(draft)][1]):
                called.setdefault(word, names[id(draft)][0])
    yield from _items(found, found.draft, "", names, called, file, is_ordered=is_ordered)


def _items(
    found: Checklist,
    above: Draft,
    parent: str,
    names: Mapping[int, tuple[str, str]],
    called: Mapping[str, str],
    file: str,
    *,
    is_ordered: bool,
) -> Iterator[ForeignItem]:
    before = ""
    for draft in above.children:
        name, title = names[id(draft)]
        is_phase = draft.kind == "phase"
        usual = (before,) if before and is_phase and is_ordered else ()
        yield ForeignItem(
            id=name,
            title=title,
            body=_body(draft),
            parent=parent,
            state="open" if is_phase else found.states.get(draft.line, "open"),
            priority=draft.priority,
            labels=draft.labels,
            needs=usual
            if draft.needs is None
            else tuple(called.get(one, one) for one in draft.needs),
            acceptance=draft.acceptance,
            areas=draft.areas,
            is_phase=is_phase,
            facts={"profile": draft.profile} if draft.profile else {},
            where=f"{file}, line {draft.line - found.shift}",
        )
        before = name if is_phase else before
        yield from _items(found, draft, name, names, called, file, is_ordered=is_ordered)


def _body(draft: Draft) -> str:
    """Return the description, with what would be a gate of a plan as text: nothing of a file is ever run unasked."""
    asked = [f"- verify: `{' '.join(argv)}`" for argv in draft.checks]
    gates = [word for word in ("approval", "review", "artifact") if getattr(draft, word)]
    if gates:
        asked.append(f"- asked there: {few(gates)}")
    return "\n\n".join(filter(None, (draft.body, "\n".join(asked))))
