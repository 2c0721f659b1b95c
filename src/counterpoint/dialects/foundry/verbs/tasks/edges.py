"""What nodes wait for: dependencies made, taken away, and told.

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
from counterpoint.dialects.foundry.verbs.queries import Nodes, spec_named
from counterpoint.kernel.errors import (
    Conflict,
    CyclicDependency,
    InvalidInput,
    NotFound,
)

DependencyType = Literal["blocks", "blocked_by", "depends"]
_FAR = 2_000
"""How many nodes a way is looked for among."""


class Linking:
    """Verbs for the dependencies of nodes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(
        self, spec: str, source: str, target: str, sort: DependencyType, *, dry_run: bool = False
    ) -> Linked:
        """Let a node block another, be blocked by it, or depend on it softly.

        Raises NotFound, InvalidInput for the same node twice, Conflict for one that is there, CyclicDependency with the way,
        AlreadyClaimed for what somebody else is at: a soft edge is a part of its words, a hard one lets it wait.
        """

        def act(change: Change, known: Nodes, one: Item, other: Item) -> None:
            if one.id == other.id:
                raise InvalidInput(f"{source} cannot wait for itself", error_code="SELF_REFERENCE")
            item, needs = (other, one) if sort == "blocks" else (one, other)
            if has_edge(change.writing, item, needs, sort):
                raise Conflict(
                    f"{source} has this dependency on {target} already",
                    error_code="DUPLICATE_ENTRY",
                )
            if sort != "depends" and is_stopping(change.writing, needs):
                refuse_held_at(change, item)
            else:
                refuse_other(change, item)
            link(change, known, item, needs, is_hard=sort != "depends")

        return self._change(spec, source, target, act, dry_run=dry_run)

    def remove(
        self, spec: str, source: str, target: str, sort: DependencyType, *, dry_run: bool = False
    ) -> Linked:
        """Take a dependency away; NotFound if there is none, AlreadyClaimed for a soft one of what somebody else is at."""

        def act(change: Change, _known: Nodes, one: Item, other: Item) -> None:
            item, needs = (other, one) if sort == "blocks" else (one, other)
            if change.find(Dependency, item.id, needs.id) is not None and sort != "depends":
                undepend(change, item, needs.id)
            elif has_edge(change.writing, item, needs, sort):
                refuse_other(change, item)
                left = [name for name in soft_of(change.writing, item.id) if name != needs.id]
                set_attributes(change, item, {DEPENDS: [*left] or None})
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
                known = Nodes(change.writing, spec_named(change.writing, spec))
                one, other = (change.get(Item, known.named(name).id) for name in (source, target))
                if known.root.id in {one.id, other.id}:
                    raise InvalidInput(f"nothing waits for the whole spec {known.spec}")
                change.subject = one.id
                act(change, known, one, other)
                return Linked(
                    spec=known.spec,
                    source=known.id(one.id),
                    target=known.id(other.id),
                    source_edges=edges_of(known, one.id),
                    target_edges=edges_of(known, other.id),
                )

        return perform(self._context, run, dry_run=dry_run)


def link(change: Change, known: Nodes, item: Item, needs: Item, *, is_hard: bool) -> None:
    """Let a node wait for another, softly where that stops nothing; CyclicDependency with the way."""
    if is_hard and is_stopping(change.writing, needs):
        try:
            depend(change, item, needs)
        except CyclicDependency as fault:
            way = _way(needs.id, item.id, lambda name: _needs(change.writing, name))
            raise _circle(known, item, way) if way else fault from None
        return
    way = _way(needs.id, item.id, lambda name: soft_of(change.writing, name))
    if way:
        raise _circle(known, item, way)
    kept = soft_of(change.writing, item.id)
    set_attributes(change, item, {DEPENDS: [*kept, needs.id]})


def has_edge(view: Reading, item: Item, needs: Item, sort: DependencyType) -> bool:
    """Return whether a node waits for another already; softly counts too where it is all there can be."""
    if sort == "depends" or not is_stopping(view, needs):
        return needs.id in soft_of(view, item.id)
    return view.find(Dependency, item.id, needs.id) is not None


def is_stopping(view: Reading, needs: Item) -> bool:
    """Return whether a node holds back what waits for it: research does only where it says so."""
    kept = attributes_of(view, needs.id)
    return kept.get(TYPE) != "research" or kept.get(BLOCKING_MODE) == "hard"


def harden(change: Change, known: Nodes, item: Item, mode: str) -> None:
    """Let what waits for a research node wait as its new `blocking_mode` says."""
    if mode == "hard":
        for name in _depending(change, item.id):
            left = [one for one in soft_of(change.writing, name) if one != item.id]
            waiting = change.get(Item, name)
            refuse_held_at(change, waiting)
            set_attributes(change, waiting, {DEPENDS: [*left] or None})
            link(change, known, waiting, item, is_hard=True)
        return
    for edge in change.select(Dependency, needs=item.id):
        waiting = undepend(change, change.get(Item, edge.item), item.id)
        kept = soft_of(change.writing, waiting.id)
        set_attributes(change, waiting, {DEPENDS: [*kept, item.id]})


def soft_of(view: Reading, item: str) -> list[str]:
    """Return the ids of the items that a node depends on softly."""
    found = view.find(Attribute, item, DEPENDS)
    return texts_of(value_of(found)) if found else []


def edges_of(known: Nodes, item: str) -> Edges:
    """Return what a node waits for and what waits for it."""
    view = known.view
    blocks = [edge.item for edge in view.select(Dependency, needs=item)]
    blocked_by = [edge.needs for edge in view.select(Dependency, item=item)]
    depends = soft_of(view, item)
    names = known.ids([*blocks, *blocked_by, *depends])
    return Edges(
        blocks=tuple(names[one] for one in blocks),
        blocked_by=tuple(names[one] for one in blocked_by),
        depends=tuple(names[one] for one in depends),
    )


def _depending(change: Change, item: str) -> list[str]:
    holders = [name for (name,) in change.writing.cells(Attribute, ("item",), name=DEPENDS)]
    return [name for name in holders if item in soft_of(change.writing, name)]


def _needs(view: Reading, item: str) -> Iterable[str]:
    return [edge.needs for edge in view.select(Dependency, item=item)]


def _way(start: str, goal: str, onward: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the shortest way from an item to another; empty without one."""
    before: dict[str, str] = {start: ""}
    waiting = [start]
    for here in waiting:
        if here == goal:
            way = [here]
            while before[way[-1]]:
                way.append(before[way[-1]])
            return way[::-1]
        if len(before) > _FAR:
            break
        for name in onward(here):
            if name not in before:
                before[name] = here
                waiting.append(name)
    return []


def _circle(known: Nodes, item: Item, way: list[str]) -> CyclicDependency:
    names = known.ids([item.id, *way])
    path = [names[one] for one in (item.id, *way)]
    return CyclicDependency(f"these would wait for each other: {' → '.join(path)}", path=[*path])
