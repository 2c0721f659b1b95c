"""Faults of what nodes depend on: targets, both sides and circles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from counterpoint.dialects.foundry.rules.shape import (
    DEPENDENCY_TYPES,
    Document,
    dependencies_of,
    items_of,
    place,
    quoted,
)
from counterpoint.dialects.foundry.rules.tree import Tree, cycles, hard_edges, soft_edges
from counterpoint.dialects.foundry.rules.validation.links import dependency_lists, way_told
from counterpoint.dialects.foundry.rules.validation.table import Diagnostic
from counterpoint.kernel.canonical import object_of

OPPOSITE: Final = {"blocks": "blocked_by", "blocked_by": "blocks"}


def edge_faults(document: Document, tree: Tree) -> Iterator[Diagnostic]:
    """Return the faults of what the nodes of a document depend on."""
    hierarchy = object_of(document.get("hierarchy"))
    for name in tree.nodes:
        yield from _list_faults(name, tree, hierarchy)
    yield from _one_sided(tree)
    for circle in cycles(hard_edges(tree.nodes)):
        message = f"the nodes wait for each other: {way_told(circle)}"
        yield Diagnostic("CIRCULAR_DEPENDENCY", message, place(circle[0], "dependencies"))
    for circle in cycles(soft_edges(tree.nodes)):
        message = f"the nodes depend on each other softly: {way_told(circle)}"
        yield Diagnostic(
            "CIRCULAR_SOFT_DEPENDENCY", message, place(circle[0], "dependencies", "depends")
        )


def can_hold(tree: Tree, name: str, kind: str) -> bool:
    """Return whether a node has a list of a type of dependency, or a place where one can be made."""
    raw = tree.nodes[name].get("dependencies")
    return not isinstance(raw, dict) or isinstance(object_of(raw).get(kind, []), list)


def missing_sides(tree: Tree) -> Iterator[tuple[str, str, str]]:
    """Return each dependency that one side alone tells: who tells it, its type, and the other."""
    lists = {kind: dependency_lists(tree, kind) for kind in OPPOSITE}
    for name, node in tree.nodes.items():
        for kind, opposite in OPPOSITE.items():
            for other in dict.fromkeys(dependencies_of(node, kind)):
                if other not in tree.nodes or name in lists[opposite][other]:
                    continue
                if can_hold(tree, other, opposite):
                    yield name, kind, other


def _list_faults(name: str, tree: Tree, hierarchy: Document) -> Iterator[Diagnostic]:
    node = tree.nodes[name]
    if "dependencies" not in node:
        return
    raw, where = node["dependencies"], place(name, "dependencies")
    if not isinstance(raw, dict):
        message = f"the dependencies of {quoted(name)} are {quoted(raw)}"
        yield Diagnostic("INVALID_DEPENDENCIES_TYPE", message, where)
        return
    lists: Mapping[str, object] = object_of(raw)
    for kind in DEPENDENCY_TYPES:
        if kind not in lists:
            continue
        if not isinstance(lists[kind], list):
            message = f"{kind} of {quoted(name)} is {quoted(lists[kind])}"
            yield Diagnostic("INVALID_DEPENDENCY_FIELD", message, place(where, kind))
            continue
        seen: set[str] = set()
        for number, other in enumerate(items_of(lists[kind])):
            location = f"{where}.{kind}[{number}]"
            if not isinstance(other, str) or other not in hierarchy:
                message = f"{kind} of {quoted(name)} names {quoted(other)}, which there is not"
                yield Diagnostic("MISSING_DEPENDENCY_TARGET", message, location)
            elif other in seen:
                message = f"{kind} of {quoted(name)} names {quoted(other)} again"
                yield Diagnostic("DUPLICATE_DEPENDENCY", message, location)
            else:
                seen.add(other)


def _one_sided(tree: Tree) -> Iterator[Diagnostic]:
    for name, kind, other in missing_sides(tree):
        message = f"{quoted(name)} has {quoted(other)} in {kind}, which has not {quoted(name)} in {OPPOSITE[kind]}"
        yield Diagnostic("BIDIRECTIONAL_INCONSISTENCY", message, place(name, "dependencies", kind))
