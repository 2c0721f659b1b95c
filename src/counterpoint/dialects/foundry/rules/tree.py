"""The tree that the nodes of a document make, and the circles of a graph.

Each node has at most one owner: its parent, if that lists it; else the first node that lists it. So no node is
counted twice, and every walk takes a time that grows with the document. Nodes whose owners go in a circle are apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.numbering import natural_key
from counterpoint.dialects.foundry.rules.shape import (
    Node,
    Nodes,
    dependencies_of,
    nodes_of,
    text_of,
    texts_of,
)
from counterpoint.kernel.canonical import Json

Graph = Mapping[str, Sequence[str]]

END = "\n"
"""What the end of a node has behind its id, where its beginning is the id."""

CYCLES_LIMIT = 100
"""How many circles are told of one graph."""
_STEPS_LIMIT = 100_000
"""How many nodes all circles that are told may have together, once there is one."""


class Tree:
    """The nodes of a document with their owners."""

    def __init__(self, document: Json) -> None:
        """Read a document of any shape."""
        self.nodes: Nodes = nodes_of(document)
        self.listed: dict[str, list[str]] = {
            name: [child for child in texts_of(node.get("children")) if child in self.nodes]
            for name, node in self.nodes.items()
        }
        self.owner: dict[str, str] = self._owners()
        self.kids: dict[str, list[str]] = {name: self._own(name) for name in self.nodes}

    @property
    def root(self) -> Node | None:
        """The node that all others hang from."""
        return self.nodes.get(ROOT)

    @cached_property
    def upwards(self) -> list[str]:
        """All nodes that are in no circle and not below one, each after those below it."""
        return self._downwards([name for name in self.nodes if name not in self.owner])[::-1]

    @cached_property
    def reachable(self) -> list[str]:
        """The root and all below it, each after its owner, in the order of the document."""
        return self._downwards([ROOT]) if ROOT in self.nodes else []

    @cached_property
    def orphans(self) -> list[str]:
        """The nodes that nothing owns, without the root and those whose parent has no list of children to read."""
        return [
            name
            for name, node in self.nodes.items()
            if name != ROOT and name not in self.owner and self.has_list(parent_of(node))
        ]

    def phases(self) -> list[str]:
        """Return the phases of the root, in their order."""
        return [name for name in self.kids.get(ROOT, []) if self.nodes[name].get("type") == "phase"]

    def has_list(self, name: str) -> bool:
        """Return whether a node has a list of children, or none at all; also if there is no such node."""
        return isinstance(self.nodes.get(name, {}).get("children", []), list)

    def placements(self) -> list[tuple[str, str]]:
        """Return each orphan that can be attached, with its place: its parent, or the root.

        It is the root if there is no such parent, or if that hangs below the orphan.
        """
        top: dict[str, str] = {}
        for name in reversed(self.upwards):
            top[name] = top[self.owner[name]] if name in self.owner else name
        placements: list[tuple[str, str]] = []
        for name in self.orphans:
            parent = parent_of(self.nodes[name])
            if parent not in self.nodes or _top(parent, top) == name:
                parent = ROOT
            if parent in self.nodes and self.has_list(parent):
                top[name] = _top(parent, top)
                placements.append((name, parent))
        return placements

    def below(self, name: str) -> list[str]:
        """Return a node and all below it."""
        return self._downwards([name])

    def phase_of(self, name: str) -> str:
        """Return the phase that a node is or is in; empty without one."""
        seen: set[str] = set()
        while name in self.nodes and name not in seen:
            if self.nodes[name].get("type") == "phase":
                return name
            seen.add(name)
            name = self.owner.get(name, "")
        return ""

    def depths(self) -> dict[str, int]:
        """Return how far below the root each node is that hangs from it."""
        depths: dict[str, int] = {}
        for name in self.reachable:
            depths[name] = depths[self.owner[name]] + 1 if name in self.owner else 0
        return depths

    def _owners(self) -> dict[str, str]:
        owner: dict[str, str] = {}
        for name, children in self.listed.items():
            for child in children:
                if child == ROOT:
                    continue
                if child not in owner or self.nodes[child].get("parent") == name:
                    owner[child] = name
        return owner

    def _own(self, name: str) -> list[str]:
        """Return the children that a node owns, each once."""
        return [kid for kid in dict.fromkeys(self.listed[name]) if self.owner.get(kid) == name]

    def _downwards(self, tops: Iterable[str]) -> list[str]:
        order: list[str] = []
        seen: set[str] = set()
        waiting = list(tops)[::-1]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            order.append(name)
            waiting += reversed(self.kids[name])
        return order


def _top(name: str, top: dict[str, str]) -> str:
    """Return what a node hangs from at last."""
    while top.get(name, name) != name:
        top[name] = top.get(top[name], top[name])  # halves the way for who asks next
        name = top[name]
    return name


def hard_edges(nodes: Nodes) -> dict[str, list[str]]:
    """Return which nodes each node blocks, told by either side, each once."""
    edges: dict[str, dict[str, None]] = {name: {} for name in nodes}
    for name, node in nodes.items():
        for other in dependencies_of(node, "blocks"):
            if other in nodes:
                edges[name][other] = None
        for other in dependencies_of(node, "blocked_by"):
            if other in nodes:
                edges[other][name] = None
    return {name: list(others) for name, others in edges.items()}


def hard_needs(nodes: Nodes) -> dict[str, list[str]]:
    """Return which nodes each node waits for, told by either side, each once."""
    needs: dict[str, list[str]] = {name: [] for name in nodes}
    for name, others in hard_edges(nodes).items():
        for other in others:
            needs[other].append(name)
    return needs


def soft_edges(nodes: Nodes) -> dict[str, list[str]]:
    """Return which nodes each node depends on softly, each once."""
    return {
        name: [other for other in dict.fromkeys(dependencies_of(node, "depends")) if other in nodes]
        for name, node in nodes.items()
    }


def moments(tree: Tree, needs: Graph) -> dict[str, list[str]]:
    """Return what the beginning and the end of each node wait for, of a whole tree; an end is the id and `END`.

    needs: what each node waits for. A beginning waits for the ends of these, and for the beginning of what holds the node; an
    end for the beginning, and for the ends of what lies below.
    """
    waits: dict[str, list[str]] = {}
    for name in tree.reachable:
        waits[name] = [f"{need}{END}" for need in needs[name] if need in tree.nodes]
        if name in tree.owner:
            waits[name].append(tree.owner[name])
        waits[f"{name}{END}"] = [name, *(f"{kid}{END}" for kid in tree.kids[name])]
    return waits


def held_circles(tree: Tree) -> list[list[str]]:
    """Return circles of nodes that wait for each other, also through what holds them and what they hold."""
    return [
        list(dict.fromkeys(moment.removesuffix(END) for moment in circle))
        for circle in cycles(moments(tree, hard_needs(tree.nodes)))
    ]


def parent_of(node: Node) -> str:
    """Return what a node says its parent is; empty without one."""
    return text_of(node.get("parent"))


def cycles(graph: Graph) -> list[list[str]]:
    """Return circles of a graph, each once, as the way from a node back to it.

    One is told for each edge that closes one on a walk: who removes these edges has no circle left. A graph can
    have more circles than anyone can read, so no more than `CYCLES_LIMIT` are told.
    """
    circles: list[list[str]] = []
    steps = 0
    for circle in _closed_ways(graph):
        if circles and (len(circles) == CYCLES_LIMIT or steps + len(circle) > _STEPS_LIMIT):
            break
        steps += len(circle)
        circles.append(_from_first(circle))
    return circles


def _closed_ways(graph: Graph) -> Iterator[list[str]]:
    done: set[str] = set()
    for start in graph:
        if start in done:
            continue
        path, indices = [start], {start: 0}
        branches = [iter(graph[start])]
        while branches:
            for other in branches[-1]:
                if other in indices:
                    yield path[indices[other] :]
                elif other not in done and other in graph:
                    indices[other] = len(path)
                    path.append(other)
                    branches.append(iter(graph[other]))
                    break
            else:
                branches.pop()
                last = path.pop()
                del indices[last]
                done.add(last)


def _from_first(circle: Sequence[str]) -> list[str]:
    """Return a circle from the first of its nodes on and back to it."""
    first = circle.index(min(circle, key=natural_key))
    return [*circle[first:], *circle[:first], circle[first]]
