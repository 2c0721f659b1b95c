"""The hours that phases and a spec took, added up from what their leaves say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.dialects.foundry.rules.shape import Node, metadata_of, text_of
from counterpoint.dialects.foundry.rules.tree import Tree
from counterpoint.kernel.canonical import Json, object_of

HOURS: Final = "actual_hours"
_DIGITS: Final = 2


def recalculated(document: Json) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return a document whose phases and which itself say the sum of their leaves, and what that changes.

    Where no leaf says anything nothing is written: 0 hours would be another thing.
    """
    whole, tree = object_of(document), Tree(document)
    nodes: dict[str, Json] = {}
    phases: list[Json] = []
    total, changed = 0.0, 0
    for name in tree.phases():
        node = tree.nodes[name]
        hours = [
            leaf_hours
            for node_id in tree.below(name)
            if (leaf_hours := _hours(tree, node_id)) is not None
        ]
        comparison = _compared(metadata_of(node), sum(hours))
        total += sum(hours)
        if comparison["delta"] and hours:
            nodes[name] = _saying(node, comparison["calculated"])
            changed += 1
        phases.append(
            {
                "phase_id": name,
                "title": text_of(node.get("title")),
                **comparison,
                "task_count": len(hours),
            }
        )
    level = _compared(metadata_of(whole), total)
    is_changed = bool(level["delta"] and total)
    after = {**whole, "hierarchy": {**object_of(whole.get("hierarchy")), **nodes}}
    summary: dict[str, Json] = {
        "total_phases": len(phases),
        "phases_changed": changed,
        "spec_changed": is_changed,
    }
    if is_changed:
        after = _saying(after, level["calculated"])
    return after, {"spec_level": level, "phases": phases, "summary": summary}


def _hours(tree: Tree, name: str) -> float | None:
    """Return the hours of a leaf; None for what holds others, or says none."""
    hours = metadata_of(tree.nodes[name]).get(HOURS)
    return None if tree.kids[name] or not _is_number(hours) else float(hours or 0)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compared(metadata: Mapping[str, Json], hours: float) -> dict[str, Json]:
    stored = metadata.get(HOURS)
    before = float(stored or 0) if _is_number(stored) else 0.0
    return {
        "previous": stored if _is_number(stored) else None,
        "calculated": round(hours, _DIGITS),
        "delta": round(hours - before, _DIGITS),
    }


def _saying(node: Mapping[str, Json], hours: Json) -> Node:
    return {**node, "metadata": {**metadata_of(node), HOURS: hours}}
