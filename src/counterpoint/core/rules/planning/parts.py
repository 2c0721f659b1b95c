"""The parts of a Markdown plan while they are read, and which are phases.

A heading is a phase if a task is below it, or if it asks for something: an attribute, a `{#name}`. Any other one is a title
within the description of what it stands in, with its text: a section of notes must not hold what comes after it. Where a plan
has no task at all, its headings are its phases, to be filled later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import WORKABLE, Kind


@dataclass(slots=True)
class Node:
    """A draft in the making.

    values: attributes by the name of their field. is_asked: whether it says itself that it is a phase.
    """

    kind: Kind
    level: int
    title: str
    name: str
    line: int
    done: bool = False
    has_text: bool = False
    is_asked: bool = False
    text: list[str] = field(default_factory=list[str])
    acceptance: list[str] = field(default_factory=list[str])
    checks: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    children: list[Node] = field(default_factory=list["Node"])

    def drafted(self) -> Draft:
        """Return the draft that was read."""
        return Draft(
            kind=self.kind,
            title=self.title,
            name=self.name,
            body="\n".join(self.text).strip(),
            done=self.done,
            line=self.line,
            children=tuple(child.drafted() for child in self.children),
            acceptance=tuple(self.acceptance),
            checks=tuple(self.checks),
            **self.values,
        )

    @property
    def asks(self) -> bool:
        """Whether anything but a title and text was written for it."""
        return bool(self.is_asked or self.name or self.acceptance or self.checks or self.values)

    def walk(self) -> Iterator[Node]:
        """Return this part and all below it, parents first."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def settle_headings(root: Node) -> list[Node]:
    """Make each heading that is no phase text of what it stands in; answer of the topmost of these."""
    if not any(node.kind in WORKABLE and node is not root for node in root.walk()):
        return []
    phases = _phases(root)
    folded: list[Node] = []
    for node in [node for node in root.walk() if node is root or id(node) in phases]:
        titles = [
            child for child in node.children if child.kind == "phase" and id(child) not in phases
        ]
        folded += titles
        node.children = [child for child in node.children if child not in titles]
        for title in titles:
            for node_below in title.walk():
                node.text += ["", f"{'#' * node_below.level} {node_below.title}", *node_below.text]
    return sorted(folded, key=lambda node: node.line)


def _phases(root: Node) -> Mapping[int, Node]:
    """Return the headings that hold a task, or what asks for something, by identity."""
    phases: dict[int, Node] = {}
    # Children come after what holds them, so backwards each is decided before it.
    for node in reversed(list(root.walk())):
        if node.kind == "phase" and (
            node.asks
            or any(child.kind in WORKABLE or id(child) in phases for child in node.children)
        ):
            phases[id(node)] = node
    return phases


def is_bare(draft: Draft) -> bool:
    """Return whether a phase is only known as one by saying so: nothing is below it and nothing asked."""
    plain = Draft(kind=draft.kind, title=draft.title, body=draft.body)
    return draft == plain
