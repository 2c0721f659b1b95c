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

from counterpoint.cli.importing.files import read_text, refused
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.foreign import ForeignItem, ForeignWork
from counterpoint.core.rules import outline
from counterpoint.core.rules.wording import few
from counterpoint.kernel.canonical import text_digest

TOOL: Final = "markdown"
_STATES: Final[Mapping[str, str]] = {"x": "done", "X": "done", "-": "cancelled"}
_BETWEEN: Final = re.compile(r"[\s!-/:-@\[-`{-~]+")
_ID: Final = 100
_DIGEST: Final = 12


@dataclass(slots=True)
class Checklist:
    """A text as a plan, with what its boxes say. states: by line."""

    draft: Draft
    states: Mapping[int, str]
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
        # Letters of every script and signs such as emoji tell titles apart; only what divides words does not.
        words = "".join(letter if letter.isprintable() else " " for letter in title.lower())
        plain = _BETWEEN.sub("-", words).strip("-")[:_ID] or text_digest(title)[:_DIGEST]
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


def checklist(text: str, name: str, title: str, words: Collection[str] = ()) -> Checklist:
    """Return a text as a plan; MalformedDocument with the line.

    title: that of a text that has none, or several. words: characters between brackets that are no mark of a box in it.
    """
    found = outline.read(text, title=title, words=words)
    if found.draft is None or found.faults:
        # With patience nothing else is at fault.
        line, problem = found.faults[0]
        raise refused(f"{name}, line {line}", f"in its front matter: {problem}")
    states = {line: _STATES.get(mark, "open") for line, mark in found.marks.items()}
    return Checklist(found.draft, states, found.draft.remarks)


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
            where=f"{file}, line {draft.line}",
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
