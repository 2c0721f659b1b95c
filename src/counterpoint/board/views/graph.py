"""The page of the graph: tasks by level, dependencies and the critical path.

Rules: (1) A task stands one level behind the last of what it comes after. (2) Where a phase comes after another, each task without
one before it in its phase comes after a milestone, the end of that other phase. (3) The critical path is the chain with most tasks
that are not closed. (4) Two tasks overlap if their areas do and neither waits for the other. (5) A page draws `NODES` tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any, Final

from counterpoint.board.pages import Answer
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import WORKABLE, Area, Dependency, Item
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.rules.areas import list_overlaps

NODES: Final = 90
OVERLAPS: Final = 24
_LEVELS: Final = 4
_COLUMN: Final = 212
_ROW: Final = 50
_WIDTH: Final = 172
_HEIGHT: Final = 38


@dataclass(slots=True)
class Node:
    """A task, or the end of a phase (without `item`). x, y: its upper left corner."""

    name: str
    item: Item | None
    needs: tuple[str, ...]
    level: int = 0
    x: int = 0
    y: int = 0
    is_critical: bool = False


@dataclass(slots=True)
class Graph:
    """What a page draws. critical: the tasks of the critical path. overlaps: pairs with their areas. total: how many tasks there are."""

    nodes: dict[str, Node]
    total: int
    outside: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    critical: list[Node] = field(default_factory=list[Node])
    overlaps: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    width: int = 0
    height: int = 0

    @property
    def edges(self) -> list[tuple[str, bool]]:
        """The curves of a drawing, each with whether it is critical."""
        return [
            (_curve(self.nodes[need], node), self.nodes[need].is_critical and node.is_critical)
            for node in self.nodes.values()
            for need in node.needs
        ]

    @property
    def levels(self) -> list[list[Node]]:
        """The tasks of each level, from the top."""
        levels: dict[int, list[Node]] = defaultdict(list)
        for node in sorted(self.nodes.values(), key=lambda node: (node.level, node.y)):
            if node.item is not None:
                levels[node.level].append(node)
        return [*levels.values()]


class GraphReads(Verbs):
    """Reads of the graph, each from one look at the store."""

    def roots(self, limit: int = 40) -> list[Item]:
        """Return the items at the top that are not closed, the oldest first."""
        with self._context.reading() as view:
            return view.select(Item, parent="", category=UNCLOSED, order="number", limit=limit)

    def graph(self, whole: Item) -> Graph:
        """Return the tasks below an item, those that are not closed before the others."""
        with self._context.reading() as view:
            parts: list[Item] = [whole]
            parents: tuple[str, ...] = (whole.id,)
            for _ in range(_LEVELS):
                wholes = view.select(Item, parent=parents, kind=("phase", "plan"), limit=NODES)
                parts += wholes
                parents = tuple(item.id for item in wholes)
                if not parents:
                    break
            owners = tuple(item.id for item in parts)
            total = sum(view.counts(Item, "category", parent=owners, kind=WORKABLE).values())
            tasks: list[Item] = []
            for categories in (UNCLOSED, ("done",)):
                if len(tasks) < NODES:
                    order = "number" if categories == UNCLOSED else "number desc"
                    limit = NODES - len(tasks)
                    tasks += view.select(
                        Item,
                        parent=owners,
                        kind=WORKABLE,
                        category=categories,
                        order=order,
                        limit=limit,
                    )
            ids = tuple(item.id for item in (*tasks, *parts))
            edges = view.select(Dependency, item=ids)
            areas: dict[str, list[str]] = defaultdict(list)
            for area in view.select(Area, item=tuple(task.id for task in tasks)) if tasks else ():
                areas[area.item].append(area.pattern)
        return build_graph(sorted(tasks, key=lambda item: item.number), parts, edges, areas, total)


def build_graph(
    tasks: Sequence[Item],
    parts: Sequence[Item],
    edges: Iterable[Dependency],
    areas: Mapping[str, Sequence[str]],
    total: int,
) -> Graph:
    """Return the graph of some tasks, laid out."""
    needs: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        needs[edge.item].append(edge.needs)
    nodes = {task.id: Node(task.id, task, tuple(need for need in needs[task.id])) for task in tasks}
    outside = {
        name: beyond
        for name, node in nodes.items()
        if (beyond := [need for need in node.needs if need not in nodes])
    }
    for node in nodes.values():
        node.needs = tuple(need for need in node.needs if need in nodes)
    _add_milestones(nodes, parts, needs)
    graph = Graph(nodes=nodes, total=total, outside=outside)
    before = _set_levels(nodes)
    _mark_critical(graph)
    graph.overlaps = [*_list_overlaps(nodes, areas, before)]
    _lay_out(graph)
    return graph


def _list_overlaps(
    nodes: Mapping[str, Node],
    areas: Mapping[str, Sequence[str]],
    before: Mapping[str, set[str]],
) -> Iterator[tuple[str, str, str]]:
    """Return the pairs of open tasks that can run at once, and the first area that both touch."""
    open_nodes = (node for node in nodes.values() if node.item and not node.item.is_closed)
    # Many tasks have the same few areas: each pair of these is compared once.
    compare = cache(list_overlaps)
    for first, other in combinations((node.name for node in open_nodes if areas.get(node.name)), 2):
        if other in before[first] or first in before[other]:
            continue
        if overlaps := compare(tuple(areas[first]), tuple(areas[other])):
            yield first, other, overlaps[0][0]


def _add_milestones(
    nodes: dict[str, Node], parts: Sequence[Item], needs: Mapping[str, Sequence[str]]
) -> None:
    """Put the end of a phase between its tasks and those of the phases behind it."""
    by_part: dict[str, list[Node]] = defaultdict(list)
    for node in nodes.values():
        if node.item is not None:
            by_part[node.item.parent].append(node)
    for part in parts:
        for need in needs.get(part.id, ()):
            if not (by_part[need] and by_part[part.id]):
                continue
            name = f"end of {need}"
            if name not in nodes:
                inner = {other for node in by_part[need] for other in node.needs}
                last = tuple(node.name for node in by_part[need] if node.name not in inner)
                nodes[name] = Node(name, None, last)
            own = {node.name for node in by_part[part.id]}
            for node in by_part[part.id]:
                if own.isdisjoint(node.needs):
                    node.needs = (*node.needs, name)


def _set_levels(nodes: Mapping[str, Node]) -> dict[str, set[str]]:
    """Set the level of each node; return what comes before each. What waits for itself stands behind all else."""
    before: dict[str, set[str]] = {}
    waiting = dict(nodes)
    while waiting:
        free = [
            node for node in waiting.values() if all(need in before for need in node.needs)
        ] or [*waiting.values()]
        for node in free:
            node.level = max(
                (nodes[need].level + 1 for need in node.needs if need in before), default=0
            )
            ancestors = {ancestor for need in node.needs for ancestor in before.get(need, ())}
            before[node.name] = ancestors.union(node.needs)
            del waiting[node.name]
    return before


def _mark_critical(graph: Graph) -> None:
    """Find the chain with most tasks that are not closed."""
    length: dict[str, int] = {}
    best: dict[str, str] = {}
    for node in sorted(graph.nodes.values(), key=lambda node: node.level):
        own = int(node.item is not None and not node.item.is_closed)
        need = max(node.needs, key=lambda need: length.get(need, 0), default="")
        length[node.name] = own + length.get(need, 0)
        best[node.name] = need if length.get(need, 0) else ""
    name = max(length, key=lambda name: length[name], default="")
    seen: set[str] = set()
    while name and length[name] and name not in seen:
        seen.add(name)
        node = graph.nodes[name]
        if node.item is None or not node.item.is_closed:
            node.is_critical = True
        if node.item is not None and node.is_critical:
            graph.critical.insert(0, node)
        name = best[name]


def _lay_out(graph: Graph) -> None:
    """Give each node its place: a column for each level, in it near to what it comes after."""
    columns: dict[int, list[Node]] = defaultdict(list)
    for node in graph.nodes.values():
        columns[node.level].append(node)
    for level in sorted(columns):
        column = columns[level]

        def middle(node: Node) -> float:
            places = [graph.nodes[need].y for need in node.needs]
            return sum(places) / len(places) if places else 0.0

        column.sort(key=middle)
        for position, node in enumerate(column):
            node.x, node.y = 8 + level * _COLUMN, 8 + position * _ROW
    graph.width = 8 + len(columns) * _COLUMN
    graph.height = 8 + max((len(column) for column in columns.values()), default=0) * _ROW


def _curve(start: Node, end: Node) -> str:
    left, right = start.x + _WIDTH, end.x
    top, bottom = start.y + _HEIGHT // 2, end.y + _HEIGHT // 2
    middle = (left + right) // 2
    return f"M{left} {top}C{middle} {top} {middle} {bottom} {right} {bottom}"


def read_graph(answer: Answer) -> dict[str, Any]:
    """Return the graph below the item that the query names, or below the first that is not closed."""
    reads = answer.core.use(GraphReads)
    roots = reads.roots()
    name = answer.query.get("below", "")
    whole = answer.core.items.named(name) if name else next(iter(roots), None)
    graph = reads.graph(whole) if whole else None
    phases = [part for part, _ in answer.reads.phases()]
    return {
        "whole": whole,
        "wholes": list({item.id: item for item in (*roots, *phases)}.values()),
        "graph": graph,
        "most_overlaps": OVERLAPS,
        "node_width": _WIDTH,
        "node_height": _HEIGHT,
    }
