"""Specs and nodes found by their ids, with how much below them is done.

Rules: (1) an item without an id of foundry's is called by its own, so that the work of other dialects can be named. (2) What
was cancelled is no node (nouns/nodes.py). (3) Nothing here walks over a spec but `Nodes.tree`: the cost of all else is that of
what was asked for, and `tallies` counts in an index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import ROOT_KINDS, WORKABLE, Alias, Gate, Item
from counterpoint.core.operations.recording.facets import item_named, line_of
from counterpoint.core.operations.recording.links import padded
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.nodes import FORMER, NODE, REMOVED, ROOT, SPEC, Tally
from counterpoint.dialects.foundry.rules.nodes import summed
from counterpoint.dialects.foundry.rules.standing import counted, is_node
from counterpoint.dialects.foundry.rules.tallies import Held
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.errors import NotFound

T = TypeVar("T")

CHUNK: Final = 100
"""How many rows one question asks about."""


def spec_named(view: Reading, name: str) -> Item:
    """Return the root of the spec of an id, or of the work of another dialect; NotFound."""
    found = item_named(view, name, SPEC) or view.find(Item, name)
    if found is None or found.parent or found.kind not in ROOT_KINDS:
        raise _renamed(view, name) or NotFound(
            f"there is no spec {name!r} in this project", error_code="SPEC_NOT_FOUND"
        )
    return found


def former_name(spec: str) -> str:
    """Return by what a spec is found whose id this was, in the scope of former ids."""
    return text_digest(spec)


def spec_renamed(view: Reading, name: str) -> str:
    """Return the present id of a spec that had an id before its title was taken away; empty if none had."""
    former = view.find(Alias, FORMER, former_name(name))
    root = view.find(Item, former.item) if former is not None else None
    return spec_id(view, root) if root is not None else ""


def _renamed(view: Reading, name: str) -> NotFound | None:
    """Return the refusal of a former id, which names the present one and not what it was."""
    present = spec_renamed(view, name)
    if not present:
        return None
    return NotFound(
        f"this spec is called {present} since its title was redacted",
        hint=f"Name it {present}.",
        error_code="SPEC_NOT_FOUND",
        spec_id=present,
    )


def spec_id(view: Reading, root: Item) -> str:
    """Return what a spec is called."""
    known = view.select(Alias, item=root.id, scope=SPEC, order="item", limit=1)
    return known[0].name if known else root.id


def node_name(spec: str, node: str) -> str:
    """Return the name of a node in the scope that holds the nodes of all specs."""
    return f"{spec}/{node}"


class Nodes:
    """The items of one spec by the ids of its nodes, within one look at the store."""

    def __init__(self, view: Reading, root: Item, spec: str = "") -> None:
        """Look at a spec. spec: what it is called, where that was read before."""
        self.view = view
        self.root = root
        self.spec = spec or spec_id(view, root)
        self._known: dict[str, str] = {root.id: ROOT}

    def within(self, view: Reading) -> Nodes:
        """Return the same nodes in another view of the same call: what they are called is not read again."""
        found = Nodes(view, self.root, self.spec)
        found._known.update(self._known)
        return found

    def find(self, name: str) -> Item | None:
        """Return the item of a node's id, or None."""
        if name == ROOT:
            return self.root
        found = item_named(self.view, node_name(self.spec, name), NODE)
        if found is not None and found.root == self.root.id:
            self._known[found.id] = name
        found = found or self.view.find(Item, name)
        if found is None or found.root != self.root.id:
            return None
        # What was done below something that was removed stays as it was, and is no node either.
        return found if all(map(is_node, line_of(self.view, found.id))) else None

    def named(self, name: str, code: str = "TASK_NOT_FOUND") -> Item:
        """Return the item of a node's id; NotFound with a code of foundry's."""
        found = self.find(name)
        if found is None:
            raise NotFound(f"the spec {self.spec} has no node {name!r}", error_code=code)
        return found

    def target(self, name: str) -> Item:
        """Return the item that a dependency names: a node, or what is outside of the spec, as `ids` calls it; NotFound."""
        return self.find(name) or self._outside(name) or self.named(name)

    def _outside(self, name: str) -> Item | None:
        for scope in (NODE, SPEC):
            if (found := item_named(self.view, name, scope)) is not None:
                return found
        return self.view.find(Item, name)

    def _has(self, name: str) -> bool:
        """Whether the id of another spec is that of a node here too."""
        return self.view.find(Alias, NODE, node_name(self.spec, name)) is not None

    def id(self, item: str) -> str:
        """Return what the node of an item is called; empty for none."""
        return self.ids((item,))[item] if item else ""

    def ids(self, items: Iterable[str]) -> Mapping[str, str]:
        """Return what the nodes of some items are called, by item."""
        wanted = list(dict.fromkeys(items))
        for some in chunks([item for item in wanted if item not in self._known]):
            self._known.update((item, item) for item in some)
            # In the order of their items: in any other a database looks through all nodes of all specs.
            for alias in self.view.select(Alias, item=padded(some), order="item"):
                if alias.scope == NODE:
                    self._known[alias.item] = alias.name.removeprefix(f"{self.spec}/")
                elif alias.scope == SPEC and not self._has(alias.name):
                    self._known[alias.item] = alias.name
        return {item: self._known[item] for item in wanted}

    def children(self, items: Sequence[str]) -> Mapping[str, tuple[Item, ...]]:
        """Return the nodes directly below some items, in their order."""
        found: dict[str, list[Item]] = defaultdict(list)
        for some in chunks(items):
            # By their places, and not by what holds them first: that order would be read from an index of all items.
            for item in self.view.select(Item, parent=padded(some), order="position,number"):
                if is_node(item):
                    found[item.parent].append(item)
        return {parent: tuple(below) for parent, below in found.items()}

    def below(self, items: Sequence[Item]) -> Mapping[str, tuple[Item, ...]]:
        """Return the nodes directly below some items, and below these, by what holds them."""
        found: dict[str, tuple[Item, ...]] = {}
        level = [item.id for item in items]
        while level:
            more = self.children(level)
            found.update(more)
            level = [one.id for some in more.values() for one in some]
        return found

    def gated(self, items: Iterable[str]) -> frozenset[str]:
        """Return which of some items a closed gate keeps from their end."""
        return frozenset(
            name
            for some in chunks(list(items))
            for (name,) in self.view.cells(
                Gate, ("item",), item=some, holds="finish", status="closed"
            )
        )

    def awaiting(self) -> tuple[str, ...]:
        """Return the ids of what a closed gate keeps from its end, of a spec of which all tasks are done."""
        unclosed = self.view.cells(Item, ("id",), root=self.root.id, category=UNCLOSED)
        found = self.gated(name for (name,) in unclosed)
        return tuple(sorted(self.ids(found).values()))

    def tree(self) -> tuple[list[Item], Mapping[str, tuple[Item, ...]]]:
        """Return all items of the spec, each before those below it, and these by what holds them."""
        held: dict[str, list[Item]] = defaultdict(list)
        rows = self.view.select(Item, root=self.root.id, order="number")
        for item in sorted(rows, key=lambda one: (one.position, one.number)):
            if item.parent and is_node(item):
                held[item.parent].append(item)
        below = {parent: tuple(items) for parent, items in held.items()}
        return list(_downwards(self.root, below)), below

    def tallies(self) -> Mapping[str, Tally]:
        """Return the tally of each item of the spec that holds work, and of all above it, by item."""
        held = self.held()
        return summed(held.own, held.parents)

    def held(self) -> Held:
        """Return what holds work in the spec, counted."""
        kinds = self.view.counts_by(Item, ("kind", "parent"), root=self.root.id)
        holders = list(dict.fromkeys(parent for _, parent in kinds if parent))
        parents: dict[str, str] = {self.root.id: ""}
        gone: list[str] = []
        done: dict[str, bool] = {}
        for some in chunks(holders):
            columns = ("id", "kind", "parent", "status", "category")
            for name, kind, parent, status, category in self.view.cells(Item, columns, id=some):
                if status == REMOVED and parent:
                    gone.append(name)
                    continue
                parents[name] = parent
                if kind in WORKABLE:
                    done[name] = category == "done"
        # What has phases in it, which are no work themselves, is counted by its kinds too.
        mixed = {parent for kind, parent in kinds if parent and kind not in WORKABLE}
        counts = self._own([name for name in holders if name in parents], mixed)
        # A task of which all that it held was removed is a leaf again.
        empty = {name for name in done if not counts[name].total and parents[name]} - mixed
        own = {name: counts.get(name, Tally()) for name in parents if name not in empty}
        for name in done.keys() - empty:
            above = parents[name]
            if above in own:
                # A task that holds others counts by these.
                own[above] = Tally(own[above].total - 1, own[above].completed - int(done[name]))
        return Held(parents={name: parents[name] for name in own}, own=own, gone=frozenset(gone))

    def _own(self, parents: Sequence[str], mixed: Collection[str]) -> dict[str, Tally]:
        """Return the tally of the work directly below each of some items; mixed: those that hold other things too."""
        states: dict[str, dict[str, int]] = defaultdict(dict)
        for some in chunks([name for name in parents if name not in mixed]):
            self._count(states, some)
        for some in chunks([name for name in parents if name in mixed]):
            found = self.view.counts_by(Item, ("parent", "status"), parent=some, kind=WORKABLE)
            for (parent, status), count in found.items():
                states[parent][status] = count
        return {name: counted(states[name]) for name in parents}

    def _count(self, states: dict[str, dict[str, int]], parents: tuple[str, ...]) -> None:
        """Add how many items directly below some are in each state, or in one of a category that counts alike."""
        # Grouped as the index has them: states are asked for only where they make a difference.
        dropped: list[str] = []
        found = self.view.counts_by(Item, ("parent", "category"), parent=parents)
        for (parent, category), count in found.items():
            if category == "dropped":
                dropped.append(parent)
            else:
                states[parent][category] = count
        for some in chunks(dropped):
            told = self.view.counts_by(Item, ("parent", "status"), parent=some, category="dropped")
            for (parent, status), count in told.items():
                states[parent][status] = count


def _downwards(item: Item, below: Mapping[str, Sequence[Item]]) -> Iterator[Item]:
    waiting = [item]
    while waiting:
        here = waiting.pop()
        yield here
        waiting.extend(reversed(below.get(here.id, ())))


def chunks(names: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Return names by as many as one question asks about."""
    for start in range(0, len(names), CHUNK):
        yield tuple(names[start : start + CHUNK])
