"""A node as its document holds it, made from what the ledger has of an item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.work import Item
from counterpoint.dialects.foundry.nouns.nodes import DEPENDS, KEPT, TYPE, Node, Tally
from counterpoint.dialects.foundry.rules.standing import is_node
from counterpoint.kernel.canonical import Json, object_of

OWN: Final = frozenset((TYPE, DEPENDS, KEPT))
"""The values of an item that are no metadata of its node."""


def soft_needs(kept: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the ids of the items that a node had better come after."""
    found = kept.get(DEPENDS)
    return (
        tuple(one for one in cast("list[Json]", found) if isinstance(one, str))
        if isinstance(found, list)
        else ()
    )


def metadata_of(
    seen: ItemView, areas: Sequence[str], blockers: Sequence[Record]
) -> dict[str, Json]:
    """Return the metadata of a node: what the core keeps of the item first, then every other value that is kept with it."""
    item = seen.item
    found: dict[str, Json] = {}
    if item.body:
        found["description"] = item.body
    if seen.criteria:
        ordered = sorted(seen.criteria, key=lambda one: one.position)
        found["acceptance_criteria"] = [one.text for one in ordered]
    if areas:
        found["file_path"] = areas[0]
    # What the core keeps wins: a value of its name was kept while the core could not hold it.
    for name, value in seen.attributes.items():
        if name not in OWN:
            found.setdefault(name, value)
    found.update(object_of(kept_fields(seen.attributes).get("metadata")))
    # What came in as completed was so before it was here.
    is_from_here = item.closed_at != item.created_at or "completed_at" not in found
    if item.category == "done" and item.closed_at and is_from_here:
        found["completed_at"] = item.closed_at
    if item.states.skips and item.status in item.states.skips:
        found["skipped"] = True
    if item.status == "failed":
        found["failed_at"] = item.closed_at
    if blockers:
        found.update(blocker_of(blockers[-1]))
    return found


def kept_fields(kept: Mapping[str, Json]) -> dict[str, Json]:
    """Return what of a document lies beside what the core and the other values of an item hold."""
    return object_of(kept.get(KEPT))


def blocker_of(record: Record) -> dict[str, Json]:
    """Return what the document says of an open blocker."""
    details = load_object(record.details)
    found: dict[str, Json] = {
        "blocked_at": record.created_at,
        "blocker_type": details.get("blocker_type", "dependency"),
        "blocker_description": record.body,
    }
    if details.get("ticket"):
        found["blocker_ticket"] = details["ticket"]
    return found


def document_node(node: Node) -> dict[str, Json]:
    """Return a node as its document holds it."""
    return {
        "type": node.type,
        "title": node.item.title,
        "status": node.status,
        "parent": node.parent or None,
        "children": list(node.children),
        "total_tasks": node.tally.total,
        "completed_tasks": node.tally.completed,
        "metadata": dict(node.metadata),
        "dependencies": {
            "blocks": list(node.blocks),
            "blocked_by": list(node.blocked_by),
            "depends": list(node.depends),
        },
        **object_of(node.kept.get("node")),
    }


def tallied(items: Iterable[Item]) -> dict[str, Tally]:
    """Return the tally of each of some items that are a whole tree, or several: leaves that are work count one."""
    nodes = [item for item in items if is_node(item)]
    holders = {item.parent for item in nodes}
    leaves = {
        item.id: Tally(1, int(item.category == "done"))
        for item in nodes
        if item.id not in holders and item.is_workable and item.parent
    }
    return summed(leaves, {item.id: item.parent for item in nodes})


def summed(own: Mapping[str, Tally], parents: Mapping[str, str]) -> dict[str, Tally]:
    """Return for each item of a tree the sum of what it has itself and all below it have; parents: by item."""
    totals, completed = dict.fromkeys(parents, 0), dict.fromkeys(parents, 0)
    for name, tally in own.items():
        here = name
        while here in parents:
            totals[here] += tally.total
            completed[here] += tally.completed
            here = parents[here]
    return {name: Tally(total, completed[name]) for name, total in totals.items()}


def document_of(
    spec: str, nodes: Sequence[Node], journal: Sequence[Mapping[str, Json]] = ()
) -> dict[str, Json]:
    """Return the document of a spec, in the order of the file format.

    nodes: all of them, the root first. journal: its entries, the oldest first.
    """
    root, phases = nodes[0], [node for node in nodes if node.type == "phase"]
    at = next((node for node in phases if node.status == "in_progress"), None)
    at = at or next((node for node in phases if node.status == "pending"), None)
    blocked = any(node.status == "blocked" for node in nodes)
    around = object_of(root.kept.get("document"))
    return {
        "spec_id": spec,
        "title": root.item.title,
        "generated": around.get("generated", root.item.created_at),
        "last_updated": max(node.item.updated_at for node in nodes),
        "metadata": dict(root.metadata),
        "status": "blocked" if blocked else root.status,
        "progress_percentage": root.tally.percentage,
        "current_phase": at.id if at else None,
        "hierarchy": {
            # What the spec has is told once, at the top.
            node.id: {**document_node(node), **({"metadata": {}} if node is root else {})}
            for node in nodes
        },
        "journal": [dict(entry) for entry in journal],
        **{name: value for name, value in around.items() if name != "generated"},
    }
