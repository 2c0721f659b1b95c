"""Nodes in the form of documents, made from items of the ledger."""

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


def soft_needs(attributes: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the ids of the items that a node depends on softly."""
    needs = attributes.get(DEPENDS)
    return (
        tuple(item_id for item_id in cast("list[Json]", needs) if isinstance(item_id, str))
        if isinstance(needs, list)
        else ()
    )


def metadata_of(
    seen: ItemView, areas: Sequence[str], blockers: Sequence[Record]
) -> dict[str, Json]:
    """Return the metadata of a node: fields of the core first, then every other value of the item."""
    item = seen.item
    metadata: dict[str, Json] = {}
    if item.body:
        metadata["description"] = item.body
    if seen.criteria:
        ordered = sorted(seen.criteria, key=lambda criterion: criterion.position)
        metadata["acceptance_criteria"] = [criterion.text for criterion in ordered]
    if areas:
        metadata["file_path"] = areas[0]
        # The core wins: a value of its field's name was stored while the core could not hold it.
    for name, value in seen.attributes.items():
        if name not in OWN:
            metadata.setdefault(name, value)
    metadata.update(object_of(kept_fields(seen.attributes).get("metadata")))
    # Items imported as completed have the document's time.
    is_from_here = item.closed_at != item.created_at or "completed_at" not in metadata
    if item.category == "done" and item.closed_at and is_from_here:
        metadata["completed_at"] = item.closed_at
    if item.states.skips and item.status in item.states.skips:
        metadata["skipped"] = True
    if item.status == "failed":
        metadata["failed_at"] = item.closed_at
    if blockers:
        metadata.update(blocker_of(blockers[-1]))
    return metadata


def kept_fields(attributes: Mapping[str, Json]) -> dict[str, Json]:
    """Return what of a document lies beside what the core and the other values of an item hold."""
    return object_of(attributes.get(KEPT))


def blocker_of(record: Record) -> dict[str, Json]:
    """Return an open blocker in the form of documents."""
    details = load_object(record.details)
    fields: dict[str, Json] = {
        "blocked_at": record.created_at,
        "blocker_type": details.get("blocker_type", "dependency"),
        "blocker_description": record.body,
    }
    if details.get("ticket"):
        fields["blocker_ticket"] = details["ticket"]
    return fields


def document_node(node: Node) -> dict[str, Json]:
    """Return a node in the form of documents."""
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


def tally_items(items: Iterable[Item]) -> dict[str, Tally]:
    """Count the leaves that are work, by item; items: a whole tree, or several."""
    nodes = [item for item in items if is_node(item)]
    holders = {item.parent for item in nodes}
    leaves = {
        item.id: Tally(1, int(item.category == "done"))
        for item in nodes
        if item.id not in holders and item.is_workable and item.parent
    }
    return sum_up(leaves, {item.id: item.parent for item in nodes})


def sum_up(own: Mapping[str, Tally], parents: Mapping[str, str]) -> dict[str, Tally]:
    """Sum up the tallies of each item's subtree; parents: by item."""
    totals, completed = dict.fromkeys(parents, 0), dict.fromkeys(parents, 0)
    for name, tally in own.items():
        current = name
        while current in parents:
            totals[current] += tally.total
            completed[current] += tally.completed
            current = parents[current]
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
            # The metadata of the spec is at the top only.
            node.id: {**document_node(node), **({"metadata": {}} if node is root else {})}
            for node in nodes
        },
        "journal": [dict(entry) for entry in journal],
        **{name: value for name, value in around.items() if name != "generated"},
    }
