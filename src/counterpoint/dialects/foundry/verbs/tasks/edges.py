"""Dependencies of nodes: added, removed, and listed.

Rules: (1) `blocks` and `blocked_by` are one edge of the core, told from either end. (2) `depends` holds nothing back: it is
kept with the node that has it. (3) A research node stops what waits for it only where its `blocking_mode` is hard: any other
edge from it is kept as a soft one. (4) No circle of either sort is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from counterpoint.core.model.work import Attribute, Dependency, Item
from counterpoint.core.operations.closing.standing import refuse_other
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes, value_of
from counterpoint.core.operations.recording.links import depend, undepend
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.nodes import DEPENDS, TYPE
from counterpoint.dialects.foundry.nouns.tasks import BLOCKING_MODE, Edges, Linked
from counterpoint.dialects.foundry.rules.shape import texts_of
from counterpoint.dialects.foundry.verbs.holding import refuse_held_at
from counterpoint.dialects.foundry.verbs.performing import perform
from counterpoint.dialects.foundry.verbs.queries import Nodes, get_spec
from counterpoint.kernel.errors import (
    Conflict,
    CyclicDependency,
    InvalidInput,
    NotFound,
)

DependencyType = Literal["blocks", "blocked_by", "depends"]
_MAX_VISITED = 2_000
"""How many nodes a way is looked for among."""


class Linking:
    """Verbs for the dependencies of nodes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(
        self, spec: str, source: str, target: str, sort: DependencyType, *, dry_run: bool = False
    ) -> Linked:
        """Let a node block another, be blocked by it, or depend on it softly.

        Raises NotFound, InvalidInput for the same node twice, Conflict for one that exists, CyclicDependency with the path,
        AlreadyClaimed for a node that another agent holds.
        """

        def act(change: Change, nodes: Nodes, first: Item, other: Item) -> None:
            if first.id == other.id:
                raise InvalidInput(f"{source} cannot wait for itself", error_code="SELF_REFERENCE")
            item, needs = (other, first) if sort == "blocks" else (first, other)
            if has_edge(change.writing, item, needs, sort):
                raise Conflict(
                    f"{source} has this dependency on {target} already",
                    error_code="DUPLICATE_ENTRY",
                )
            if sort != "depends" and is_stopping(change.writing, needs):
                refuse_held_at(change, item)
            else:
                refuse_other(change, item)
            link(change, nodes, item, needs, is_hard=sort != "depends")

        return self._change(spec, source, target, act, dry_run=dry_run)

    def remove(
        self, spec: str, source: str, target: str, sort: DependencyType, *, dry_run: bool = False
    ) -> Linked:
        """Remove a dependency; NotFound if there is none, AlreadyClaimed for a soft one of a node that another agent holds."""

        def act(change: Change, _known: Nodes, first: Item, other: Item) -> None:
            item, needs = (other, first) if sort == "blocks" else (first, other)
            if change.find(Dependency, item.id, needs.id) is not None and sort != "depends":
                undepend(change, item, needs.id)
            elif has_edge(change.writing, item, needs, sort):
                refuse_other(change, item)
                remaining = [name for name in soft_of(change.writing, item.id) if name != needs.id]
                set_attributes(change, item, {DEPENDS: [*remaining] or None})
            else:
                raise NotFound(
                    f"{source} has no such dependency on {target}",
                    error_code="DEPENDENCY_NOT_FOUND",
                )

        return self._change(spec, source, target, act, dry_run=dry_run)

    def _change(
        self,
        spec: str,
        source: str,
        target: str,
        act: Callable[[Change, Nodes, Item, Item], None],
        *,
        dry_run: bool,
    ) -> Linked:
        def run(context: Context) -> Linked:
            with recording(context, "dependency.changed") as change:
                change.open_session()
                nodes = Nodes(change.writing, get_spec(change.writing, spec))
                first, other = (change.get(Item, nodes.get(name).id) for name in (source, target))
                if nodes.root.id in {first.id, other.id}:
                    raise InvalidInput(f"nothing waits for the whole spec {nodes.spec}")
                change.subject = first.id
                act(change, nodes, first, other)
                return Linked(
                    spec=nodes.spec,
                    source=nodes.id(first.id),
                    target=nodes.id(other.id),
                    source_edges=edges_of(nodes, first.id),
                    target_edges=edges_of(nodes, other.id),
                )

        return perform(self._context, run, dry_run=dry_run)


def link(change: Change, nodes: Nodes, item: Item, needs: Item, *, is_hard: bool) -> None:
    """Let a node wait for another, softly where that stops nothing; CyclicDependency with the path."""
    if is_hard and is_stopping(change.writing, needs):
        try:
            depend(change, item, needs)
        except CyclicDependency as fault:
            path = _find_path(needs.id, item.id, lambda name: _list_needs(change.writing, name))
            raise _report_circle(nodes, item, path) if path else fault from None
        return
    path = _find_path(needs.id, item.id, lambda name: soft_of(change.writing, name))
    if path:
        raise _report_circle(nodes, item, path)
    depends = soft_of(change.writing, item.id)
    set_attributes(change, item, {DEPENDS: [*depends, needs.id]})


def has_edge(view: Reading, item: Item, needs: Item, sort: DependencyType) -> bool:
    """Return whether a node waits for another; soft edges count where no other kind is possible."""
    if sort == "depends" or not is_stopping(view, needs):
        return needs.id in soft_of(view, item.id)
    return view.find(Dependency, item.id, needs.id) is not None


def is_stopping(view: Reading, needs: Item) -> bool:
    """Return whether a node holds back its dependents: research does only where it says so."""
    attributes = attributes_of(view, needs.id)
    return attributes.get(TYPE) != "research" or attributes.get(BLOCKING_MODE) == "hard"


def harden(change: Change, nodes: Nodes, item: Item, mode: str) -> None:
    """Apply the new `blocking_mode` of a research node to its dependents."""
    if mode == "hard":
        for name in _list_soft_dependents(change, item.id):
            depends = [other for other in soft_of(change.writing, name) if other != item.id]
            waiting = change.get(Item, name)
            refuse_held_at(change, waiting)
            set_attributes(change, waiting, {DEPENDS: [*depends] or None})
            link(change, nodes, waiting, item, is_hard=True)
        return
    for edge in change.select(Dependency, needs=item.id):
        waiting = undepend(change, change.get(Item, edge.item), item.id)
        depends = soft_of(change.writing, waiting.id)
        set_attributes(change, waiting, {DEPENDS: [*depends, item.id]})


def soft_of(view: Reading, item: str) -> list[str]:
    """Return the ids of the items that a node depends on softly."""
    attribute = view.find(Attribute, item, DEPENDS)
    return texts_of(value_of(attribute)) if attribute else []


def edges_of(nodes: Nodes, item: str) -> Edges:
    """Return what a node waits for and what waits for it."""
    view = nodes.view
    blocks = [edge.item for edge in view.select(Dependency, needs=item)]
    blocked_by = [edge.needs for edge in view.select(Dependency, item=item)]
    depends = soft_of(view, item)
    names = nodes.ids([*blocks, *blocked_by, *depends])
    return Edges(
        blocks=tuple(names[item_id] for item_id in blocks),
        blocked_by=tuple(names[item_id] for item_id in blocked_by),
        depends=tuple(names[item_id] for item_id in depends),
    )


def _list_soft_dependents(change: Change, item: str) -> list[str]:
    holders = [name for (name,) in change.writing.cells(Attribute, ("item",), name=DEPENDS)]
    return [name for name in holders if item in soft_of(change.writing, name)]


def _list_needs(view: Reading, item: str) -> Iterable[str]:
    return [edge.needs for edge in view.select(Dependency, item=item)]


def _find_path(start: str, goal: str, onward: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the shortest path from an item to another; empty without one."""
    before: dict[str, str] = {start: ""}
    waiting = [start]
    for current in waiting:
        if current == goal:
            path = [current]
            while before[path[-1]]:
                path.append(before[path[-1]])
            return path[::-1]
        if len(before) > _MAX_VISITED:
            break
        for name in onward(current):
            if name not in before:
                before[name] = current
                waiting.append(name)
    return []


def _report_circle(nodes: Nodes, item: Item, cycle: list[str]) -> CyclicDependency:
    names = nodes.ids([item.id, *cycle])
    path = [names[item_id] for item_id in (item.id, *cycle)]
    return CyclicDependency(f"these would wait for each other: {' → '.join(path)}", path=[*path])
