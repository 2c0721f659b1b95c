"""Faults of the links between nodes: parents, children and circles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.shape import (
    Document,
    items_of,
    place,
    quoted,
    texts_of,
)
from counterpoint.dialects.foundry.rules.tree import Tree, cycles, parent_of
from counterpoint.dialects.foundry.rules.validation.table import Diagnostic
from counterpoint.kernel.canonical import object_of

_WAY_SHOWN: Final = 10
"""Nodes of a circle that a message names."""


def link_faults(document: Document, tree: Tree) -> Iterator[Diagnostic]:
    """Return the faults of the links between the nodes of a document."""
    hierarchy = document.get("hierarchy")
    if "hierarchy" in document and not isinstance(hierarchy, dict):
        message = f"the hierarchy is {quoted(hierarchy)}"
        yield Diagnostic("INVALID_HIERARCHY_TYPE", message, "hierarchy")
    elif hierarchy == {}:
        yield Diagnostic("EMPTY_HIERARCHY", "the hierarchy has no node", "hierarchy")
    elif "hierarchy" in document and tree.root is None:
        yield Diagnostic("MISSING_SPEC_ROOT", "there is no spec-root", f"hierarchy.{ROOT}")
    for name, node in object_of(hierarchy).items():
        if not isinstance(node, dict):
            message = f"the node {quoted(name)} is {quoted(node)}"
            yield Diagnostic("INVALID_NODE_STRUCTURE", message, place(name))
    yield from _parent_faults(tree)
    for name in tree.nodes:
        yield from _children_faults(name, tree, object_of(hierarchy))
    yield from _orphan_faults(tree)
    for circle in cycles(tree.listed):
        message = f"the children go in a circle: {way_told(circle)}"
        yield Diagnostic("CYCLE_DETECTED", message, place(circle[0], "children"))


def way_told(circle: list[str]) -> str:
    """Return a circle in words, cut if it is long."""
    locations = [place(name) for name in circle[:_WAY_SHOWN]]
    return " → ".join(
        locations if len(circle) <= _WAY_SHOWN else [*locations, f"… ({len(circle) - 1} nodes)"]
    )


def _parent_faults(tree: Tree) -> Iterator[Diagnostic]:
    for name, node in tree.nodes.items():
        where = place(name, "parent")
        parent = node.get("parent")
        if name == ROOT:
            if parent is not None:
                message = f"spec-root has the parent {quoted(parent)}"
                yield Diagnostic("INVALID_ROOT_PARENT", message, where)
        elif parent is None:
            if "parent" in node:
                yield Diagnostic("NULL_PARENT", f"{quoted(name)} has no parent", where)
        elif not isinstance(parent, str) or parent not in tree.nodes:
            message = f"{quoted(name)} has the parent {quoted(parent)}, which there is not"
            yield Diagnostic("MISSING_PARENT", message, where)


def _children_faults(name: str, tree: Tree, hierarchy: Document) -> Iterator[Diagnostic]:
    node, where = tree.nodes[name], place(name, "children")
    listed = node.get("children", [])
    if not isinstance(listed, list):
        message = f"the children of {quoted(name)} are {quoted(listed)}"
        yield Diagnostic("INVALID_CHILDREN_TYPE", message, where)
    seen: set[str] = set()
    for number, child in enumerate(items_of(listed)):
        if not isinstance(child, str) or child not in hierarchy:
            message = f"{quoted(name)} has the child {quoted(child)}, which there is not"
            yield Diagnostic("MISSING_CHILD", message, f"{where}[{number}]")
        elif child in seen:
            message = f"{quoted(name)} lists {quoted(child)} again"
            yield Diagnostic("DUPLICATE_CHILD", message, f"{where}[{number}]")
        else:
            seen.add(child)
            if child in tree.nodes and not agrees(tree, name, child):
                parent = quoted(tree.nodes[child].get("parent"))
                message = f"{quoted(name)} lists {quoted(child)}, whose parent is {parent}"
                yield Diagnostic("PARENT_CHILD_MISMATCH", message, f"{where}[{number}]")


def agrees(tree: Tree, name: str, child: str) -> bool:
    """Return whether a node that lists another is its parent; spec-root has none."""
    return child != ROOT and tree.nodes[child].get("parent") == name


def _orphan_faults(tree: Tree) -> Iterator[Diagnostic]:
    for name, goal in tree.placements():
        parent = parent_of(tree.nodes[name])
        if parent == goal:
            message = f"{quoted(parent)} does not list {quoted(name)}, whose parent it is"
            yield Diagnostic("PARENT_CHILD_MISMATCH", message, place(name, "parent"))
        else:
            count = len(tree.below(name)) - 1
            more = f", nor {count} below it" if count else ""
            message = f"{quoted(name)} does not hang from spec-root{more}"
            yield Diagnostic("ORPHANED_NODES", message, place(name))


def dependency_lists(tree: Tree, kind: str) -> dict[str, frozenset[str]]:
    """Return the ids that each node has under a type of dependency."""
    return {
        name: frozenset(texts_of(object_of(node.get("dependencies")).get(kind)))
        for name, node in tree.nodes.items()
    }
