"""How far nodes are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast, get_args

from counterpoint.core.ledger.lines import REDACTION
from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import category_of, tables_of_work
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.work import WORKABLE, Alias, Gate, Item, Staging
from counterpoint.dialects.foundry.models.specs import (
    ARCHIVED,
    DEPENDS,
    KEPT,
    PENDING,
    REMOVED,
    TYPE,
    Folder,
    Node,
    NodeType,
    Status,
    Tally,
)
from counterpoint.kernel.canonical import Json, object_of

_STATUSES: Final[Mapping[str, Status]] = {
    "open": "pending",
    "active": "in_progress",
    "review": "in_progress",
    "done": "completed",
    "dropped": "blocked",
}
_FOLDERS: Final[Mapping[str, Folder]] = {
    "open": "pending",
    "active": "active",
    "review": "active",
    "done": "completed",
    "dropped": "archived",
}
_TYPES: Final[tuple[NodeType, ...]] = get_args(NodeType)


def status_of(category: str, *, is_blocked: bool = False) -> Status:
    """Return the status of a node in a category; is_blocked: whether it has an open blocker.

    What failed stands as blocked: somebody has to decide what becomes of it.
    """
    status = _STATUSES[category]
    return "blocked" if is_blocked and status != "completed" else status


def state_words() -> dict[str, str]:
    """Return the word for each state of any work."""
    words: dict[str, str] = {
        state: status_of(category)
        for table in tables_of_work()
        for state, category in table.categories.items()
    }
    return {**words, REMOVED: "removed"}


def rolled_up(own: Status, tally: Tally, *, is_begun: bool, is_gated: bool = False) -> Status:
    """Return the status of a node with children.

    is_begun: whether somebody is at one of them. is_gated: whether a closed gate holds its own end back.
    """
    if own == "blocked":
        return own
    if tally.total and tally.completed == tally.total:
        return "in_progress" if is_gated and own != "completed" else "completed"
    return "in_progress" if is_begun or tally.completed or own == "in_progress" else "pending"


def folder_of(category: str, labels: Collection[str] = ()) -> Folder:
    """Return the folder of a spec whose root is in a category and has some labels."""
    if ARCHIVED in labels:
        return "archived"
    folder = _FOLDERS[category]
    return "pending" if folder == "active" and PENDING in labels else folder


def type_of(item: Item, attributes: Mapping[str, Json], *, is_in_task: bool = False) -> NodeType:
    """Return the type of a node; is_in_task: whether its parent is a task."""
    if not item.parent:
        return "spec"
    type_name = attributes.get(TYPE)
    if isinstance(type_name, str) and type_name in _TYPES:
        return type_name
    if not item.is_workable:
        return "phase"
    return "subtask" if is_in_task else "task"


def is_node(item: Item) -> bool:
    """Whether an item is a node of its spec still."""
    return item.status != REMOVED or not item.parent


def count_states(states: Mapping[str, int]) -> Tally:
    """Return the tally of items, given their number in each state."""
    remaining = {status: count for status, count in states.items() if status != REMOVED}
    done = sum(count for status, count in remaining.items() if category_of(status) == "done")
    return Tally(sum(remaining.values()), done)


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


_SHAPE: Final = frozenset(("kind", "parent", "root"))
"""What of an item says where it stands in its tree."""
_ABOUT: Final = frozenset((Alias.table, Gate.table))
"""The tables of what a list of phases says of them, beside blockers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The work of a spec by parent: direct leaves only.

    parents: by holder, what holds that; empty for the root. own: by holder, the leaves directly below it.
    gone: holders that were removed, with all below them.
    """

    parents: Mapping[str, str]
    own: Mapping[str, Tally]
    gone: frozenset[str] = frozenset()


class Tallies:
    """The progress of each parent of a spec, with all below it."""

    def __init__(self, work: Held) -> None:
        """Start with counted work."""
        self._held = work
        self._own = dict(work.own)
        self._sums = sum_up(work.own, work.parents)
        self._leaves: dict[str, dict[str, bool]] = {}

    def of(self, holder: str) -> Tally | None:
        """Return the tally of a parent with all below it; None for an item without children."""
        return self._sums.get(holder)

    def was_removed(self, item: str) -> bool:
        """Return whether an item held work and was removed, so that its return changes the tree."""
        return item in self._held.gone

    def knows(self, holder: str) -> bool:
        """Return whether each leaf directly below a holder is known."""
        return holder in self._leaves

    def size(self) -> int:
        """Return how many holders and leaves are known."""
        return len(self._sums) + sum(map(len, self._leaves.values()))

    def forget_leaves(self) -> None:
        """Know the sums alone; leaves are entered again when one of them changes."""
        self._leaves.clear()

    def enter(self, holder: str, leaves: Mapping[str, bool]) -> tuple[str, ...]:
        """Set the leaves below a parent, each with whether it is done; return the items whose tallies changed."""
        self._leaves[holder] = dict(leaves)
        return self._settle(holder, Tally(len(leaves), sum(leaves.values())))

    def put(self, holder: str, leaf: str, *, is_done: bool) -> tuple[str, ...]:
        """Update one leaf of a parent whose leaves are known; return the items whose tallies changed."""
        leaves, own = self._leaves[holder], self._own.get(holder, Tally())
        before = leaves.get(leaf)
        leaves[leaf] = is_done
        more = Tally(
            own.total + int(before is None), own.completed + int(is_done) - int(bool(before))
        )
        return self._settle(holder, more)

    def _settle(self, holder: str, own: Tally) -> tuple[str, ...]:
        """Set the direct tally of a parent, and update all above it."""
        before = self._own.get(holder, Tally())
        self._own[holder] = own
        if own == before:
            return ()
        total, completed = own.total - before.total, own.completed - before.completed
        changed: list[str] = []
        current = holder
        while current in self._sums:
            tally = self._sums[current]
            self._sums[current] = Tally(tally.total + total, tally.completed + completed)
            changed.append(current)
            current = self._held.parents[current]
        return tuple(changed)


@dataclass(slots=True)
class Touched:
    """What entries of the ledger have changed that tallies and lists of phases are made of.

    items: those that are new or were changed. placed: those of them that may have another place among their siblings.
    is_reshaped: whether a tree, or what of it is seen, may be another. are_phases_other: whether names, gates or blockers may be.
    """

    items: dict[str, None] = field(default_factory=dict[str, None])
    placed: set[str] = field(default_factory=set[str])
    is_reshaped: bool = False
    are_phases_other: bool = False

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add the changes of an entry, by its short keys."""
        # The text of a title may be gone.
        self.are_phases_other |= entry["a"] == REDACTION
        for row in entry.get("r", ()):
            table, is_whole = row["t"], "v" in row
            if table == Item.table:
                self._add_item(row["k"].get("id", ""), row["v"] if is_whole else row["c"], is_whole)
            elif table == Staging.table:
                self.is_reshaped = True
            elif table in _ABOUT:
                self.are_phases_other = True
            elif table == Record.table:
                # What is said of a record later on is mostly that nothing is blocked any more.
                self.are_phases_other |= not is_whole or _is_blocker(row["v"])

    def _add_item(self, item: str, values: Mapping[str, Any] | None, is_whole: bool) -> None:
        self.items[item] = None
        # What is new is told whole: where it stands is looked up.
        self.is_reshaped |= values is None or not (is_whole or _SHAPE.isdisjoint(values))
        if values is not None and "position" in values:
            self.placed.add(item)


def is_leaf(kind: str, status: str) -> bool:
    """Return whether an item that holds nothing counts as work."""
    return kind in WORKABLE and status != REMOVED


def _is_blocker(values: Mapping[str, Any] | None) -> bool:
    return values is not None and values.get("kind") == "blocker"
