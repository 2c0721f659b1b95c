"""Reads specs and nodes by their names.

Rules: (1) an item without an id of foundry's is called by its own, so that the work of other dialects can be named. (2) What
was cancelled is no node (models/specs.py). (3) Nothing here walks over a spec but `Nodes.tree`: the cost of all else is that of
what was asked for, and `tallies` counts in an index.

Names of items in their specs, also in texts of the core.
Rules: (1) in its own spec a node is named by its id alone, in any other by `<spec id>/<node id>`, as commands of people take it; the root of a
spec by the id of the spec. (2) What is a node's own id in the spec that a call is about means that node, even if an item has that id in the core.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import (
    ROOT_KINDS,
    WORKABLE,
    Alias,
    Area,
    Dependency,
    Gate,
    Item,
    Project,
)
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import item_named, items_by_id, line_of
from counterpoint.core.operations.recording.links import padded
from counterpoint.core.ports.store import Query, Reading
from counterpoint.core.queries.overview import ItemReader, Part, hanging_queries
from counterpoint.dialects.foundry.models.specs import (
    FORMER,
    NODE,
    REMOVED,
    ROOT,
    SPEC,
    Node,
    Tally,
)
from counterpoint.dialects.foundry.nodes.rules.progress import (
    Held,
    count_states,
    is_node,
    kept_fields,
    metadata_of,
    rolled_up,
    soft_needs,
    state_words,
    status_of,
    sum_up,
    tally_items,
    type_of,
)
from counterpoint.dialects.rewording import Rewording, ids_in, ids_of
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json, text_digest
from counterpoint.kernel.errors import CounterpointError, IllegalMove, NotFound

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
    aliases = spec_id_query(root.id).rows(view)
    return aliases[0].name if aliases else root.id


def spec_id_query(root: str) -> Query[Alias]:
    """Return what asks for the id of a spec."""
    return Query(Alias, {"item": root, "scope": SPEC}, "item", limit=1)


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
            for item in _children_query(some).rows(self.view):
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


_PARTS: Final[tuple[Part, ...]] = ("attributes", "criteria", "needs")
_BLOCKERS: Final = Query(Record, {"kind": "blocker", "status": "open"}, "number")


@dataclass(frozen=True, slots=True, kw_only=True)
class _NodeContext:
    """Facts beside the items that become nodes, by item."""

    below: Mapping[str, Sequence[Item]]
    tallies: Mapping[str, Tally]
    needing: Mapping[str, Sequence[str]]
    areas: Mapping[str, Sequence[str]]
    blockers: Mapping[str, Sequence[Record]]
    in_tasks: frozenset[str]
    gated: frozenset[str]
    gone: frozenset[str]
    ids: Mapping[str, str]


def nodes_of(nodes: Nodes, items: Sequence[Item], parts: tuple[Part, ...] = _PARTS) -> list[Node]:
    """Return items of a spec as nodes, in order. parts: less than all leaves out edges and criteria too.

    The work of a phase is counted, and its children are named: that takes as long as there are children.
    """
    nodes.view.fetch(_node_queries(items[:CHUNK], parts))
    below = nodes.below([item for item in items if item.is_workable])
    holding = [item.id for item in items if not item.is_workable]
    below = {**below, **nodes.children(holding)}
    tallies = tally_items([*items, *(child for some in below.values() for child in some)])
    if holding:
        tallies = {**tallies, **nodes.tallies()}
    return _build_nodes(nodes, items, below, tallies, parts)


def _node_queries(items: Sequence[Item], parts: tuple[Part, ...]) -> Iterator[Query[Any]]:
    """Return what is asked for nodes of some items."""
    if ids := tuple(item.id for item in items):
        if parents := tuple(item.id for item in items if item.is_workable):
            yield _children_query(parents)
        yield from hanging_queries(items, parts)
        yield from (Query(Area, {"item": ids}), _BLOCKERS)
        if parts == _PARTS:
            yield Query(Dependency, {"needs": ids})


def _children_query(parents: tuple[str, ...]) -> Query[Item]:
    # By position, and not by parent first: that order would be read from an index of all items.
    return Query(Item, {"parent": padded(parents)}, "position,number")


def node_of(nodes: Nodes, item: Item) -> Node:
    """Return an item of a spec as a node."""
    return nodes_of(nodes, (item,))[0]


def all_nodes(nodes: Nodes) -> list[Node]:
    """Return all nodes of a spec, each before those below it."""
    items, below = nodes.tree()
    return _build_nodes(nodes, items, below, tally_items(items))


def _build_nodes(
    nodes: Nodes,
    items: Sequence[Item],
    below: Mapping[str, Sequence[Item]],
    tallies: Mapping[str, Tally],
    parts: tuple[Part, ...] = _PARTS,
) -> list[Node]:
    reader = ItemReader(nodes.view)
    views = [view for some in chunks(items) for view in reader.views(some, *parts)]
    names = [item.id for item in items]
    needing: dict[str, list[str]] = defaultdict(list)
    areas: dict[str, list[str]] = defaultdict(list)
    blockers: dict[str, list[Record]] = defaultdict(list)
    for some in chunks(names):
        for edge in nodes.view.select(Dependency, needs=some) if parts == _PARTS else ():
            needing[edge.needs].append(edge.item)
        for area in nodes.view.select(Area, item=some):
            areas[area.item].append(area.pattern)
    for record in _BLOCKERS.rows(nodes.view):
        blockers[record.item].append(record)
    around = _NodeContext(
        below=below,
        tallies=tallies,
        needing=needing,
        areas=areas,
        blockers=blockers,
        in_tasks=_in_tasks(nodes, items),
        gated=nodes.gated(item.id for item in items if below.get(item.id) and not item.is_closed),
        gone=_find_removed(nodes, items, views, needing),
        ids=nodes.ids(_list_named(views, below, needing)),
    )
    return [_build_node(view, around) for view in views]


def _list_named(
    views: Sequence[ItemView],
    below: Mapping[str, Sequence[Item]],
    needing: Mapping[str, Sequence[str]],
) -> list[str]:
    """List every item that a node names."""
    names = [name for view in views for name in (view.item.id, view.item.parent) if name]
    names += [need.id for view in views for need in view.needs]
    names += [name for view in views for name in soft_needs(view.attributes)]
    names += [name for view in views for name in needing.get(view.item.id, ())]
    return names + [child.id for view in views for child in below.get(view.item.id, ())]


def _in_tasks(nodes: Nodes, items: Sequence[Item]) -> frozenset[str]:
    """Return the items that lie below a task."""
    have = {item.id: item for item in items}
    unknown = {item.parent for item in items if item.parent} - have.keys()
    for some in chunks(sorted(unknown)):
        have.update(items_by_id(nodes.view, some))
    return frozenset(
        item.id
        for item in items
        if item.parent in have and have[item.parent].is_workable and have[item.parent].parent
    )


def _find_removed(
    spec_nodes: Nodes,
    items: Sequence[Item],
    views: Sequence[ItemView],
    needing: Mapping[str, Sequence[str]],
) -> frozenset[str]:
    """Return the removed items of this spec that edges still name: documents leave them out."""
    nodes = {item.id for item in items}
    edges = {need.id for view in views for need in view.needs}
    edges |= {name for view in views for name in soft_needs(view.attributes)}
    edges |= {name for some in needing.values() for name in some}
    have: dict[str, Item] = {}
    unknown = edges - nodes
    while unknown:
        for some in chunks(sorted(unknown)):
            rows = items_by_id(spec_nodes.view, some).values()
            have.update((item.id, item) for item in rows if item.root == spec_nodes.root.id)
        unknown = {item.parent for item in have.values() if item.parent} - nodes - have.keys()

    def is_gone(name: str) -> bool:
        item = have.get(name)
        return item is not None and (not is_node(item) or is_gone(item.parent))

    return frozenset(name for name in edges if is_gone(name))


def _build_node(seen: ItemView, around: _NodeContext) -> Node:
    item, ids = seen.item, around.ids
    below = around.below.get(item.id, ())
    blockers = around.blockers.get(item.id, ())
    tally = around.tallies.get(item.id, Tally())

    def names_of(others: Sequence[str]) -> tuple[str, ...]:
        # Most nodes name no other.
        return tuple(ids[name] for name in others if name not in around.gone) if others else ()

    status = status_of(item.category, is_blocked=bool(blockers))
    if below:
        is_begun = any(child.category in {"active", "review"} for child in below)
        status = rolled_up(status, tally, is_begun=is_begun, is_gated=item.id in around.gated)
    return Node(
        item=item,
        id=ids[item.id],
        type=type_of(item, seen.attributes, is_in_task=item.id in around.in_tasks),
        status=status,
        parent=ids[item.parent] if item.parent else "",
        children=tuple(ids[child.id] for child in below),
        metadata=metadata_of(seen, around.areas.get(item.id, ()), blockers),
        blocks=names_of(around.needing.get(item.id, ())),
        blocked_by=names_of([need.id for need in seen.needs]),
        depends=names_of([name for name in soft_needs(seen.attributes) if name in ids]),
        tally=tally,
        kept=kept_fields(seen.attributes),
    )


ABOUT: Final = "about"
"""The fact with the node that a refusal is about, as commands of people take it."""
WAIVABLE: Final = "waivable"
"""The fact with the closed gates of that node: the hint names it where there is one, and nothing else does."""
_PHRASES: Final = {
    "the item cannot be made: ": "the node cannot be made: ",
    "the plan cannot be made: ": "the nodes cannot be made: ",
}
"""Phrases of the core that foundry words differently."""
_OF_NODES: Final = frozenset({"conflict", "gate", "forbidden"})
"""Kinds of refusals that turn on how work stands, or on who may do what with it."""


class Naming(Verbs):
    """Verbs that tell what items are called."""

    def names(self, items: Sequence[Item]) -> list[tuple[str, str, str]]:
        """Return the ids of spec and node, and the title, of each item that is a node."""
        names: list[tuple[str, str, str]] = []
        with self._context.reading() as view:
            nodes_by_root: dict[str, Nodes] = {}
            for item in items:
                root = view.find(Item, item.root) if item.parent else None
                if root is None or root.kind not in ROOT_KINDS:
                    continue
                nodes = nodes_by_root.setdefault(root.id, Nodes(view, root))
                names.append((nodes.spec, nodes.id(item.id), item.title))
        return names

    def reword(self, refusal: CounterpointError, spec: str, node: str) -> CounterpointError:
        """Reword a refusal for users of specs, with the node that it is about.

        spec, node: named by the call, empty for none: where the refusal names no item, it is about that node.
        """
        with self._context.reading() as view:
            spec_nodes: Nodes | None = None
            with suppress(NotFound):
                spec_nodes = Nodes(view, get_spec(view, spec)) if spec else None
            reworded, item = _reword(view, spec_nodes, refusal)
            if item is None and spec_nodes is not None and node and refusal.kind in _OF_NODES:
                item = spec_nodes.find(node)
            if item is not None and isinstance(refusal, IllegalMove) and _is_strange(item):
                reworded = _of_other_states(item, _name_of(view, item, spec_nodes))
            if item is not None and refusal.kind in _OF_NODES:
                reworded.facts = {
                    ABOUT: _name_of(view, item),
                    **_list_closed_gates(view, item),
                    **reworded.facts,
                }
            return reworded


def in_words(nodes: Nodes, refusal: CounterpointError) -> CounterpointError:
    """Reword a refusal of the core for users of a spec."""
    return _reword(nodes.view, nodes, refusal)[0]


def texts_in_words(nodes: Nodes, texts: Sequence[str]) -> tuple[str, ...]:
    """Reword texts of the core for users of a spec."""
    prefix = _prefix(nodes.view)
    items = _load_items(nodes.view, nodes, ids_of(list(texts), prefix))
    return tuple(map(_build_rewording(nodes.view, nodes, prefix, items).text, texts))


def _reword(
    view: Reading, nodes: Nodes | None, refusal: CounterpointError
) -> tuple[CounterpointError, Item | None]:
    """Return a reworded refusal of the core, and the item that it names first."""
    prefix = _prefix(view)
    items = _load_items(view, nodes, ids_in(refusal, prefix))
    return _build_rewording(view, nodes, prefix, items).refusal(refusal), next(iter(items), None)


def _build_rewording(
    view: Reading, nodes: Nodes | None, prefix: str, items: Iterable[Item]
) -> Rewording:
    names = {item.id: _name_of(view, item, nodes) for item in items}
    return Rewording(prefix=prefix, names=names, states=state_words(), phrases=_PHRASES)


def _prefix(view: Reading) -> str:
    project = view.find(Project)
    return project.prefix if project else ""


def _load_items(view: Reading, nodes: Nodes | None, ids: Iterable[str]) -> list[Item]:
    """Return the items of some ids, without ids that mean a node of the spec."""
    items = [view.find(Item, name) for name in ids if not (nodes and _is_own(nodes, name))]
    return [item for item in items if item is not None]


def _is_own(nodes: Nodes, name: str) -> bool:
    return nodes.view.find(Alias, NODE, node_name(nodes.spec, name)) is not None


def _is_strange(item: Item) -> bool:
    """Whether an item has states of another dialect, which specs have no word for."""
    return "open" not in item.states.moves


def _of_other_states(item: Item, name: str) -> IllegalMove:
    """Return the refusal for an item that has states of another dialect."""
    return IllegalMove(
        f"{name} was made in another dialect, and goes through the states of that: it stands at {item.status!r}",
        hint=f"Have it brought on there, or {Act.TAKE_OTHER_WORK}.",
    )


def _list_closed_gates(view: Reading, item: Item) -> dict[str, Json]:
    """Return the names of an item's closed gates, for the commands with which people waive them."""
    closed = view.select(Gate, item=item.id, status="closed", order="name")
    return {WAIVABLE: [gate.name for gate in closed]} if closed else {}


def _name_of(view: Reading, item: Item, nodes: Nodes | None = None) -> str:
    if not item.parent:
        return spec_id(view, item)
    if nodes is not None and item.root == nodes.root.id:
        return nodes.id(item.id)
    root = view.find(Item, item.root)
    name = Nodes(view, root).id(item.id) if root else item.id
    # A node of another spec has that in its name; an item without an id of foundry's is named by its own.
    return (
        name
        if root is None or name == item.id or "/" in name
        else node_name(spec_id(view, root), name)
    )
