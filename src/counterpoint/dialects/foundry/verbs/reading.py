"""Nodes as documents hold them, read from the ledger: one, some, or a whole spec."""

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
    tallied,
)
from counterpoint.dialects.foundry.rules.standing import is_node, rolled_up, status_of, type_of
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks

_PARTS: Final[tuple[Part, ...]] = ("attributes", "criteria", "needs")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What is known beside the items that are to be nodes, by item."""

    below: Mapping[str, Sequence[Item]]
    tallies: Mapping[str, Tally]
    needing: Mapping[str, Sequence[str]]
    areas: Mapping[str, Sequence[str]]
    blockers: Mapping[str, Sequence[Record]]
    in_tasks: frozenset[str]
    gated: frozenset[str]
    gone: frozenset[str]
    ids: Mapping[str, str]


def nodes_of(known: Nodes, items: Sequence[Item]) -> list[Node]:
    """Return items of a spec as nodes, in their order.

    What a phase holds is counted, and its children are named: that takes as long as there are children.
    """
    below = known.below([item for item in items if item.is_workable])
    holding = [item.id for item in items if not item.is_workable]
    below = {**below, **known.children(holding)}
    tallies = tallied([*items, *(one for some in below.values() for one in some)])
    if holding:
        tallies = {**tallies, **known.tallies()}
    return _nodes(known, items, below, tallies)


def node_of(known: Nodes, item: Item) -> Node:
    """Return an item of a spec as a node."""
    return nodes_of(known, (item,))[0]


def all_nodes(known: Nodes) -> list[Node]:
    """Return all nodes of a spec, the root first and each before those below it."""
    items, below = known.tree()
    return _nodes(known, items, below, tallied(items))


def _nodes(
    known: Nodes,
    items: Sequence[Item],
    below: Mapping[str, Sequence[Item]],
    tallies: Mapping[str, Tally],
) -> list[Node]:
    reader = ItemReader(known.view)
    seen = [one for some in chunks(items) for one in reader.views(some, *_PARTS)]
    names = [item.id for item in items]
    needing: dict[str, list[str]] = defaultdict(list)
    areas: dict[str, list[str]] = defaultdict(list)
    blockers: dict[str, list[Record]] = defaultdict(list)
    for some in chunks(names):
        for edge in known.view.select(Dependency, needs=some):
            needing[edge.needs].append(edge.item)
        for area in known.view.select(Area, item=some):
            areas[area.item].append(area.pattern)
    for record in known.view.select(Record, kind="blocker", status="open", order="number"):
        blockers[record.item].append(record)
    around = _Around(
        below=below,
        tallies=tallies,
        needing=needing,
        areas=areas,
        blockers=blockers,
        in_tasks=_in_tasks(known, items),
        gated=known.gated(item.id for item in items if below.get(item.id) and not item.is_closed),
        gone=_gone(known, items, seen, needing),
        ids=known.ids(_named(seen, below, needing)),
    )
    return [_node(one, around) for one in seen]


def _named(
    seen: Sequence[ItemView],
    below: Mapping[str, Sequence[Item]],
    needing: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return every item that a node names."""
    found = [name for one in seen for name in (one.item.id, one.item.parent) if name]
    found += [need.id for one in seen for need in one.needs]
    found += [name for one in seen for name in soft_needs(one.attributes)]
    found += [name for one in seen for name in needing.get(one.item.id, ())]
    return found + [child.id for one in seen for child in below.get(one.item.id, ())]


def _in_tasks(known: Nodes, items: Sequence[Item]) -> frozenset[str]:
    """Return which items lie below a task."""
    have = {item.id: item for item in items}
    unknown = {item.parent for item in items if item.parent} - have.keys()
    for some in chunks(sorted(unknown)):
        have.update((item.id, item) for item in known.view.select(Item, id=some))
    return frozenset(
        item.id
        for item in items
        if item.parent in have and have[item.parent].is_workable and have[item.parent].parent
    )


def _gone(
    known: Nodes,
    items: Sequence[Item],
    seen: Sequence[ItemView],
    needing: Mapping[str, Sequence[str]],
) -> frozenset[str]:
    """Return the items of this spec that edges name, and that are no nodes any more: a document names none of them."""
    nodes = {item.id for item in items}
    edges = {need.id for one in seen for need in one.needs}
    edges |= {name for one in seen for name in soft_needs(one.attributes)}
    edges |= {name for some in needing.values() for name in some}
    have: dict[str, Item] = {}
    wanted = edges - nodes
    while wanted:
        found = [
            item for some in chunks(sorted(wanted)) for item in known.view.select(Item, id=some)
        ]
        have.update((item.id, item) for item in found if item.root == known.root.id)
        wanted = {item.parent for item in have.values() if item.parent} - nodes - have.keys()

    def is_gone(name: str) -> bool:
        item = have.get(name)
        return item is not None and (not is_node(item) or is_gone(item.parent))

    return frozenset(name for name in edges if is_gone(name))


def _node(seen: ItemView, around: _Around) -> Node:
    item, ids = seen.item, around.ids
    below = around.below.get(item.id, ())
    blockers = around.blockers.get(item.id, ())
    tally = around.tallies.get(item.id, Tally())

    def named(others: Sequence[str]) -> tuple[str, ...]:
        # Most nodes name no other.
        return tuple(ids[name] for name in others if name not in around.gone) if others else ()

    status = status_of(item.category, is_blocked=bool(blockers))
    if below:
        is_begun = any(one.category in {"active", "review"} for one in below)
        status = rolled_up(status, tally, is_begun=is_begun, is_gated=item.id in around.gated)
    return Node(
        item=item,
        id=ids[item.id],
        type=type_of(item, seen.attributes, is_in_task=item.id in around.in_tasks),
        status=status,
        parent=ids[item.parent] if item.parent else "",
        children=tuple(ids[one.id] for one in below),
        metadata=metadata_of(seen, around.areas.get(item.id, ()), blockers),
        blocks=named(around.needing.get(item.id, ())),
        blocked_by=named([need.id for need in seen.needs]),
        depends=named([name for name in soft_needs(seen.attributes) if name in ids]),
        tally=tally,
        kept=kept_fields(seen.attributes),
    )
