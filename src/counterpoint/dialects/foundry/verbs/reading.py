"""Nodes in the form of documents, read from the ledger: one, some, or a whole spec."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Area, Dependency, Item
from counterpoint.core.operations.overview import ItemReader, Part
from counterpoint.dialects.foundry.nouns.nodes import Node, Tally
from counterpoint.dialects.foundry.rules.nodes import (
    kept_fields,
    metadata_of,
    soft_needs,
    tally_items,
)
from counterpoint.dialects.foundry.rules.standing import is_node, rolled_up, status_of, type_of
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks

_PARTS: Final[tuple[Part, ...]] = ("attributes", "criteria", "needs")


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


def nodes_of(nodes: Nodes, items: Sequence[Item]) -> list[Node]:
    """Return items of a spec as nodes, in order.

    The work of a phase is counted, and its children are named: that takes as long as there are children.
    """
    below = nodes.below([item for item in items if item.is_workable])
    holding = [item.id for item in items if not item.is_workable]
    below = {**below, **nodes.children(holding)}
    tallies = tally_items([*items, *(child for some in below.values() for child in some)])
    if holding:
        tallies = {**tallies, **nodes.tallies()}
    return _build_nodes(nodes, items, below, tallies)


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
) -> list[Node]:
    reader = ItemReader(nodes.view)
    views = [view for some in chunks(items) for view in reader.views(some, *_PARTS)]
    names = [item.id for item in items]
    needing: dict[str, list[str]] = defaultdict(list)
    areas: dict[str, list[str]] = defaultdict(list)
    blockers: dict[str, list[Record]] = defaultdict(list)
    for some in chunks(names):
        for edge in nodes.view.select(Dependency, needs=some):
            needing[edge.needs].append(edge.item)
        for area in nodes.view.select(Area, item=some):
            areas[area.item].append(area.pattern)
    for record in nodes.view.select(Record, kind="blocker", status="open", order="number"):
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
        have.update((item.id, item) for item in nodes.view.select(Item, id=some))
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
        rows = [
            item
            for some in chunks(sorted(unknown))
            for item in spec_nodes.view.select(Item, id=some)
        ]
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
