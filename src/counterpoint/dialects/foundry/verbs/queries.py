"""Specs and nodes found by their ids, with their progress.

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
from counterpoint.dialects.foundry.rules.nodes import sum_up
from counterpoint.dialects.foundry.rules.standing import count_states, is_node
from counterpoint.dialects.foundry.rules.tallies import Held
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.errors import NotFound

T = TypeVar("T")

CHUNK: Final = 100
"""Rows that one query asks for."""


def get_spec(view: Reading, name: str) -> Item:
    """Get the root of a spec by id, or of work of another dialect; NotFound."""
    root = item_named(view, name, SPEC) or view.find(Item, name)
    if root is None or root.parent or root.kind not in ROOT_KINDS:
        raise _renamed(view, name) or NotFound(
            f"there is no spec {name!r} in this project", error_code="SPEC_NOT_FOUND"
        )
    return root


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
    """Return the id of a spec."""
    aliases = view.select(Alias, item=root.id, scope=SPEC, order="item", limit=1)
    return aliases[0].name if aliases else root.id


def node_name(spec: str, node: str) -> str:
    """Return the name of a node in the scope that holds the nodes of all specs."""
    return f"{spec}/{node}"


class Nodes:
    """The items of one spec by the ids of its nodes, within one view of the store."""

    def __init__(self, view: Reading, root: Item, spec: str = "") -> None:
        """Open a spec. spec: its id, where that was read before."""
        self.view = view
        self.root = root
        self.spec = spec or spec_id(view, root)
        self._known: dict[str, str] = {root.id: ROOT}

    def within(self, view: Reading) -> Nodes:
        """Return the same nodes in another view of the same call, without reading their ids again."""
        nodes = Nodes(view, self.root, self.spec)
        nodes._known.update(self._known)
        return nodes

    def find(self, name: str) -> Item | None:
        """Find the item of a node's id; None."""
        if name == ROOT:
            return self.root
        item = item_named(self.view, node_name(self.spec, name), NODE)
        if item is not None and item.root == self.root.id:
            self._known[item.id] = name
        item = item or self.view.find(Item, name)
        if item is None or item.root != self.root.id:
            return None
        # What was done below a removed item stays as it was, and is no node either.
        return item if all(map(is_node, line_of(self.view, item.id))) else None

    def get(self, name: str, code: str = "TASK_NOT_FOUND") -> Item:
        """Get the item of a node's id; NotFound with a code of foundry's."""
        item = self.find(name)
        if item is None:
            raise NotFound(f"the spec {self.spec} has no node {name!r}", error_code=code)
        return item

    def target(self, name: str) -> Item:
        """Get the item that a dependency names: a node, or work outside of the spec by its id in `ids`; NotFound."""
        return self.find(name) or self._outside(name) or self.get(name)

    def _outside(self, name: str) -> Item | None:
        for scope in (NODE, SPEC):
            if (item := item_named(self.view, name, scope)) is not None:
                return item
        return self.view.find(Item, name)

    def _has(self, name: str) -> bool:
        """Whether the id of another spec is also that of a node of this one."""
        return self.view.find(Alias, NODE, node_name(self.spec, name)) is not None

    def id(self, item: str) -> str:
        """Return the id of an item's node; empty for none."""
        return self.ids((item,))[item] if item else ""

    def ids(self, items: Iterable[str]) -> Mapping[str, str]:
        """Return the ids of some items' nodes, by item."""
        item_ids = list(dict.fromkeys(items))
        for some in chunks([item for item in item_ids if item not in self._known]):
            self._known.update((item, item) for item in some)
            # In the order of the items: in any other a database looks through all nodes of all specs.
            for alias in self.view.select(Alias, item=padded(some), order="item"):
                if alias.scope == NODE:
                    self._known[alias.item] = alias.name.removeprefix(f"{self.spec}/")
                elif alias.scope == SPEC and not self._has(alias.name):
                    self._known[alias.item] = alias.name
        return {item: self._known[item] for item in item_ids}

    def children(self, items: Sequence[str]) -> Mapping[str, tuple[Item, ...]]:
        """Return the children of some items in order, by parent."""
        children: dict[str, list[Item]] = defaultdict(list)
        for some in chunks(items):
            # By position, and not by parent first: that order would be read from an index of all items.
            for item in self.view.select(Item, parent=padded(some), order="position,number"):
                if is_node(item):
                    children[item.parent].append(item)
        return {parent: tuple(below) for parent, below in children.items()}

    def below(self, items: Sequence[Item]) -> Mapping[str, tuple[Item, ...]]:
        """Return all descendants of some items, by parent."""
        children: dict[str, tuple[Item, ...]] = {}
        level = [item.id for item in items]
        while level:
            more = self.children(level)
            children.update(more)
            level = [child.id for some in more.values() for child in some]
        return children

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
        """Return the ids of nodes that a closed gate keeps from their end, of a spec of which all tasks are done."""
        unclosed = self.view.cells(Item, ("id",), root=self.root.id, category=UNCLOSED)
        gated = self.gated(name for (name,) in unclosed)
        return tuple(sorted(self.ids(gated).values()))

    def tree(self) -> tuple[list[Item], Mapping[str, tuple[Item, ...]]]:
        """Return all items of the spec, each before those below it, and the children by parent."""
        children: dict[str, list[Item]] = defaultdict(list)
        rows = self.view.select(Item, root=self.root.id, order="number")
        for item in sorted(rows, key=lambda item: (item.position, item.number)):
            if item.parent and is_node(item):
                children[item.parent].append(item)
        below = {parent: tuple(items) for parent, items in children.items()}
        return list(_downwards(self.root, below)), below

    def tallies(self) -> Mapping[str, Tally]:
        """Return the tallies of all items of the spec that have work below them, by item."""
        work = self.held()
        return sum_up(work.own, work.parents)

    def held(self) -> Held:
        """Count the work of the spec by parent."""
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
        # Parents of phases, which are no work themselves, are counted by kind too.
        mixed = {parent for kind, parent in kinds if parent and kind not in WORKABLE}
        counts = self._own([name for name in holders if name in parents], mixed)
        # A task of which all children were removed is a leaf again.
        empty = {name for name in done if not counts[name].total and parents[name]} - mixed
        own = {name: counts.get(name, Tally()) for name in parents if name not in empty}
        for name in done.keys() - empty:
            above = parents[name]
            if above in own:
                # A task with children counts by these.
                own[above] = Tally(own[above].total - 1, own[above].completed - int(done[name]))
        return Held(parents={name: parents[name] for name in own}, own=own, gone=frozenset(gone))

    def _own(self, parents: Sequence[str], mixed: Collection[str]) -> dict[str, Tally]:
        """Count the work directly below some items; mixed: items with other children too."""
        states: dict[str, dict[str, int]] = defaultdict(dict)
        for some in chunks([name for name in parents if name not in mixed]):
            self._count(states, some)
        for some in chunks([name for name in parents if name in mixed]):
            counts = self.view.counts_by(Item, ("parent", "status"), parent=some, kind=WORKABLE)
            for (parent, status), count in counts.items():
                states[parent][status] = count
        return {name: count_states(states[name]) for name in parents}

    def _count(self, states: dict[str, dict[str, int]], parents: tuple[str, ...]) -> None:
        """Add the numbers of children by status, or by a category that counts alike."""
        # Grouped as the index has them: the status is read only where it makes a difference.
        dropped: list[str] = []
        counts = self.view.counts_by(Item, ("parent", "category"), parent=parents)
        for (parent, category), count in counts.items():
            if category == "dropped":
                dropped.append(parent)
            else:
                states[parent][category] = count
        for some in chunks(dropped):
            dropped_counts = self.view.counts_by(
                Item, ("parent", "status"), parent=some, category="dropped"
            )
            for (parent, status), count in dropped_counts.items():
                states[parent][status] = count


def _downwards(item: Item, below: Mapping[str, Sequence[Item]]) -> Iterator[Item]:
    waiting = [item]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(below.get(current.id, ())))


def chunks(names: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Split names into as many as one query asks for."""
    for start in range(0, len(names), CHUNK):
        yield tuple(names[start : start + CHUNK])
