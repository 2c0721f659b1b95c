"""Reads check-lists in Markdown: tasks in boxes, below headings that are phases.

It is the grammar of plans (core/rules/outline.py), read with patience: any mark in a box, any depth of headings, several titles or none, and a
line that a plan would refuse is text, and told of with its line.

    [ ] open   [x] done   [-] cancelled   any other mark: open, and told of
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import read_text, source_error
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.foreign import ForeignItem, ForeignWork, Remark, Weight
from counterpoint.core.rules.planning.attributes import command_line
from counterpoint.core.rules.planning.reading import PlanReader, lines_in_words
from counterpoint.core.rules.wording import few
from counterpoint.kernel.canonical import text_digest

TOOL: Final = "markdown"
_STATES: Final[Mapping[str, str]] = {"x": "done", "X": "done", "-": "cancelled"}
_UNKNOWN_MARK: Final = "the box `["
_TRIFLES: Final[Mapping[str, str]] = {
    "no task is below ": "a heading without a task below it, which is text and no phase",
    " has no task": "a phase without a task",
}
"""What concerns no work, by a part of what the reader of plans says of it."""
_BETWEEN: Final = re.compile(r"[\s!-/:-@\[-`{-~]+")
_ID: Final = 100
_DIGEST: Final = 12


@dataclass(slots=True)
class Checklist:
    """A text as a plan, with what its boxes say. states: by line."""

    draft: Draft
    states: Mapping[int, str]
    remarks: tuple[Remark, ...]


@dataclass(slots=True)
class Naming:
    """How items are called: `own` answers the id that a title begins with, and the rest of it; `again` has remarks on ids given twice."""

    key: str
    own: Callable[[str], tuple[str, str]] = field(default=lambda title: ("", title))
    taken: set[str] = field(default_factory=set[str])
    again: list[str] = field(default_factory=list[str])

    def name(self, draft: Draft) -> tuple[str, str]:
        """Return the id of an item, and its title."""
        own, title = self.own(draft.title)
        # Letters of every script and signs such as emoji tell titles apart; only what divides words does not.
        words = "".join(letter if letter.isprintable() else " " for letter in title.lower())
        plain = _BETWEEN.sub("-", words).strip("-")[:_ID] or text_digest(title)[:_DIGEST]
        name = first = f"{self.key}/{draft.name or own or plain}"
        count = 1
        while name in self.taken:
            count += 1
            name = f"{first}-{count}"
        if own and name != first:
            self.again.append(f"{own} is there already, so {title!r} is {name!r} here")
        self.taken.add(name)
        return name, title


def read(path: Path) -> list[ForeignWork]:
    """Return the tasks of a file; MalformedDocument, NotFound."""
    tasks = checklist(read_text(path), path.name, path.stem)
    items = tuple(items_of(tasks, Naming(path.stem), path.name, is_ordered=False))
    work = ForeignWork(
        tool=TOOL,
        key=path.stem,
        title=tasks.draft.title,
        body=tasks.draft.body,
        items=items,
        remarks=tasks.remarks,
    )
    return [work]


def checklist(text: str, name: str, title: str, words: Collection[str] = ()) -> Checklist:
    """Return a text as a plan; MalformedDocument with the line.

    title: that of a text that has none, or several. words: characters between brackets that are no mark of a box in it.
    """
    reader = PlanReader("plan", title, words)
    reading = reader.read(text)
    if reading.draft is None or reading.faults:
        # With patience nothing else is at fault.
        line, problem = reading.faults[0]
        raise source_error(f"{name}, line {line}", f"in its front matter: {problem}")
    states = {line: _STATES.get(mark, "open") for line, mark in reading.marks.items()}
    return Checklist(reading.draft, states, tuple(_remarks(reader, reading.draft, name)))


def _remarks(reader: PlanReader, draft: Draft, name: str) -> Iterator[Remark]:
    """Return what was read otherwise than it may be meant, each once with all its lines; trifles are counted."""
    for problem, lines in reader.losses.items():
        weight: Weight = "change" if problem.startswith(_UNKNOWN_MARK) else "loss"
        yield Remark(problem, f"{name}, {lines_in_words(lines)}", weight)
    yield from (Remark(problem, name) for problem in reader.front.remarks)
    gated = [each.line for each in draft.walk() if each.line and _gates(each)]
    if gated:
        problem = "checks and reviews are text of the description; `counterpoint plan FILE` makes gates of them"
        yield Remark(problem, f"{name}, {lines_in_words(gated)}")
    counts: dict[str, list[int]] = {}
    for problem, lines in reader.notes.items():
        kind = next((text for sign, text in _TRIFLES.items() if sign in problem), "")
        if kind:
            counts.setdefault(kind, []).extend(lines)
        else:
            yield Remark(problem, f"{name}, {lines_in_words(lines)}")
    for kind, lines in counts.items():
        yield Remark(f"{len(lines)} × {kind}", f"{name}, {lines_in_words(lines)}", "trifle")


def items_of(
    tasks: Checklist, naming: Naming, file: str, *, is_ordered: bool
) -> Iterator[ForeignItem]:
    """Return the tasks and phases of a check-list. is_ordered: whether a phase comes after the one before it."""
    names: dict[int, tuple[str, str]] = {}
    called: dict[str, str] = {}
    for draft in tasks.draft.walk():
        if draft is not tasks.draft:
            names[id(draft)] = naming.name(draft)
            for word in (draft.name, draft.title, names[id(draft)][1]):
                called.setdefault(word, names[id(draft)][0])
    yield from _items(tasks, tasks.draft, "", names, called, file, is_ordered=is_ordered)


def _items(
    tasks: Checklist,
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
            state="open" if is_phase else tasks.states.get(draft.line, "open"),
            priority=draft.priority,
            labels=draft.labels,
            needs=usual
            if draft.needs is None
            else tuple(called.get(need, need) for need in draft.needs),
            acceptance=draft.acceptance,
            areas=draft.areas,
            is_phase=is_phase,
            facts={"profile": draft.profile} if draft.profile else {},
            where=f"{file}, line {draft.line}",
            naming="id" if draft.name else "number" if title != draft.title else "title",
        )
        before = name if is_phase else before
        yield from _items(tasks, draft, name, names, called, file, is_ordered=is_ordered)


def _body(draft: Draft) -> str:
    """Return the description, with what would be a gate of a plan as text: nothing of a file is ever run unasked."""
    return "\n\n".join(filter(None, (draft.body, "\n".join(_gates(draft)))))


def _gates(draft: Draft) -> list[str]:
    lines = [f"- verify: `{command_line(argv)}`" for argv in draft.checks]
    gates = [word for word in ("approval", "review", "artifact") if getattr(draft, word)]
    return [*lines, f"- asked there: {few(gates)}"] if gates else lines
