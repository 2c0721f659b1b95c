"""Derived fields of a document: counts, statuses and progress.

A leaf counts as one task, completed or not; a parent as all leaves below it. A parent is completed if all of them are,
in progress if some are or a child is in progress, and pending otherwise; one that is blocked or archived stays so, and
one with nothing to count stays as it is said to be. The spec is blocked if any node is.
"""

from __future__ import annotations

from dataclasses import dataclass

from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.shape import (
    LEAF_TYPES,
    Node,
    is_one_of,
    same,
    text_of,
)
from counterpoint.dialects.foundry.rules.tree import Tree
from counterpoint.kernel.canonical import Json, object_of

KEPT = frozenset({"blocked", "archived"})
"""Statuses of a parent that its leaves do not change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """The derived fields of a document.

    counts: all tasks and the completed ones of each node. statuses: of the nodes that have others below them.
    Nodes in circles are in neither.
    """

    counts: dict[str, tuple[int, int]]
    statuses: dict[str, str]
    status: str
    progress_percentage: int
    current_phase: str | None


def percentage(completed: int, total: int) -> int:
    """Return a share in whole percent, rounded down: 100 is said only of what is complete."""
    return 100 * completed // total if total else 0


def rollup(tree: Tree) -> Rollup:
    """Return what follows from the leaves of a tree."""
    counts: dict[str, tuple[int, int]] = {}
    statuses: dict[str, str] = {}
    for name in tree.upwards:
        node, kids = tree.nodes[name], tree.kids[name]
        if not kids:
            counts[name] = leaf_counts(node)
            continue
        counts[name] = (
            sum(counts[kid][0] for kid in kids),
            sum(counts[kid][1] for kid in kids),
        )
        below = {statuses.get(kid) or text_of(tree.nodes[kid].get("status")) for kid in kids}
        statuses[name] = parent_status(text_of(node.get("status")), counts[name], below)
    total, completed = counts.get(ROOT, (0, 0))
    return Rollup(
        counts=counts,
        statuses=statuses,
        status=_spec_status(tree, statuses),
        progress_percentage=percentage(completed, total),
        current_phase=_current_phase(tree, statuses),
    )


def leaf_counts(node: Node) -> tuple[int, int]:
    """Return all tasks and the completed ones of a node without children."""
    if not is_one_of(node.get("type"), LEAF_TYPES):
        return 0, 0
    return 1, int(node.get("status") == "completed")


def parent_status(status: str, counts: tuple[int, int], below: set[str]) -> str:
    """Return the status of a parent; status: as it stands; below: the statuses of its children."""
    total, completed = counts
    if status in KEPT or not total:
        return status
    if completed == total:
        return "completed"
    return "in_progress" if completed or "in_progress" in below else "pending"


def rolled_up(document: Json) -> dict[str, Json]:
    """Return a document with all derived fields recomputed."""
    tree = Tree(document)
    derived = rollup(tree)
    changed: dict[str, Json] = {}
    for name, (total, completed) in derived.counts.items():
        fields: Node = {"total_tasks": total, "completed_tasks": completed}
        if derived.statuses.get(name):
            fields["status"] = derived.statuses[name]
        node = tree.nodes[name]
        if not all(key in node and same(node[key], value) for key, value in fields.items()):
            changed[name] = {**node, **fields}
    whole = object_of(document)
    if not tree.nodes:
        return dict(whole)
    return {
        **whole,
        "status": derived.status,
        "progress_percentage": derived.progress_percentage,
        "current_phase": derived.current_phase,
        "hierarchy": {**object_of(whole.get("hierarchy")), **changed},
    }


def _spec_status(tree: Tree, statuses: dict[str, str]) -> str:
    root = text_of((tree.root or {}).get("status"))
    if root == "archived":
        return root
    if any(node.get("status") == "blocked" for node in tree.nodes.values()):
        return "blocked"
    return statuses.get(ROOT) or root or "pending"


def _current_phase(tree: Tree, statuses: dict[str, str]) -> str | None:
    """Return the first phase in progress, else the first that is pending."""
    phases = tree.phases()
    for status in ("in_progress", "pending"):
        for name in phases:
            if (statuses.get(name) or tree.nodes[name].get("status")) == status:
                return name
    return None
