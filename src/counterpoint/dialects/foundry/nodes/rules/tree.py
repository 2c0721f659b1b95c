"""The tree of a document: what it refers to, counts, and cannot be without.

The tree that the nodes of a document make, and the circles of a graph.
Each node has at most one owner: its parent, if that lists it; else the first node that lists it. So no node is
counted twice, and every walk takes a time that grows with the document. Nodes whose owners go in a circle are apart.

Derived fields of a document: counts, statuses and progress.
A leaf counts as one task, completed or not; a parent as all leaves below it. A parent is completed if all of them are,
in progress if some are or a child is in progress, and pending otherwise; one that is blocked or archived stays so, and
one with nothing to count stays as it is said to be. The spec is blocked if any node is.

What keeps a document from being a spec: every fault together, with its place.
The codes are those of validation. What can be mended without a question keeps nothing from being taken in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from counterpoint.core.model.work import BODY_LIMIT, DEPTH_LIMIT, TITLE_LIMIT
from counterpoint.dialects.foundry.models.specs import AS_IMPORTED, ROOT
from counterpoint.dialects.foundry.nodes.rules.faults import Diagnostic
from counterpoint.dialects.foundry.nodes.rules.shape import (
    LEAF_TYPES,
    NODE_TYPES,
    SPEC_STATUSES,
    Node,
    Nodes,
    dependencies_of,
    is_one_of,
    is_safe_id,
    metadata_of,
    natural_key,
    nodes_of,
    quoted,
    same,
    text_of,
    texts_of,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import CounterpointError, MalformedDocument

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


VALUE_BYTES: Final = 64_000
"""Bytes of JSON that one value of the metadata may have, and all fields together that nobody knows."""
NAME_LIMIT: Final = 200
NODE_FIELDS: Final = frozenset(
    {"type", "title", "status", "parent", "children"}
    | {"total_tasks", "completed_tasks", "metadata", "dependencies"}
)
SPEC_FIELDS: Final = frozenset(
    {"spec_id", "title", "last_updated", "metadata", "status"}
    | {"progress_percentage", "current_phase", "hierarchy", "journal"}
)
_AROUND: Final = (
    ("metadata", "INVALID_METADATA_TYPE", dict),
    ("journal", "INVALID_JOURNAL_TYPE", list),
)
_FAULTS_TOLD: Final = 50
_IN_WORDS: Final = 5
_WAY_TOLD: Final = 8


def refuse(faults: Sequence[Diagnostic]) -> None:
    """Raise MalformedDocument if there are faults."""
    if not faults:
        return
    lines = "; ".join(
        f"{fault.location}: {fault.code}, {fault.message}" for fault in faults[:_IN_WORDS]
    )
    more = f"; and {len(faults) - _IN_WORDS} more" if len(faults) > _IN_WORDS else ""
    raise MalformedDocument(
        f"the spec cannot be read: {lines}{more}",
        hint="Mend what is named; nothing of the document was taken over.",
        faults=[fault.as_fault() for fault in faults[:_FAULTS_TOLD]],
        fault_count=len(faults),
    )


def faults_in(refusal: CounterpointError, location: str) -> list[dict[str, Json]]:
    """Return why a document was refused, each with its code and location; location: that of what says no other."""
    listed: Json = refusal.facts.get("faults") or ()
    faults = [object_of(fault) for fault in cast("Sequence[Json]", listed)]
    located = [fault for fault in faults if fault.get("location")]
    code = refusal.facts.get("error_code", refusal.code)
    return located or [{"code": code, "message": refusal.message, "location": location}]


def faults_of(
    document: Mapping[str, Json], tree: Tree, outside: Collection[str] = ()
) -> Iterator[Diagnostic]:
    """Return what keeps a document from being a spec; what can be mended without a question does not.

    outside: ids that dependencies may name beside nodes.
    """
    if not is_safe_id(document.get("spec_id")):
        quoted_id = quoted(document.get("spec_id"))
        yield Diagnostic(
            "INVALID_SPEC_ID_FORMAT",
            f"{quoted_id} is no id: letters, digits, `.`, `_`, `-`",
            "spec_id",
        )
    for name, code, kind in _AROUND:
        if not isinstance(document.get(name) or kind(), kind):
            yield Diagnostic(code, f"it is {quoted(document[name])}", name)
    if not isinstance(document.get("hierarchy"), dict):
        yield Diagnostic("INVALID_HIERARCHY_TYPE", "there is no object of nodes", "hierarchy")
        return
    for name, node in object_of(document["hierarchy"]).items():
        if not isinstance(node, dict):
            yield Diagnostic("INVALID_NODE_STRUCTURE", f"it is {quoted(node)}", _at(name))
    if ROOT not in tree.nodes:
        yield Diagnostic("MISSING_SPEC_ROOT", f"there is no node {ROOT!r}", "hierarchy")
        return
    around = {key: value for key, value in document.items() if key not in SPEC_FIELDS}
    yield from _size_faults("metadata", metadata_of(document))
    yield from _size_faults("", {"": around})
    letters = NAME_LIMIT - len(text_of(document.get("spec_id"))) - 1
    for name, node in tree.nodes.items():
        if name != name.strip() or not 0 < len(name) <= letters or not name.isprintable():
            quoted_id = f"its id is blank, not printable, or longer than {letters} letters"
            yield Diagnostic(
                "INVALID_NODE_STRUCTURE", quoted_id, _at(name) if name.strip() else "hierarchy"
            )
        yield from _node_faults(name, node, tree, outside)
    yield from _tree_faults(tree)


def _node_faults(
    name: str, node: Node, tree: Tree, outside: Collection[str]
) -> Iterator[Diagnostic]:
    if not is_one_of(node.get("type"), NODE_TYPES):
        yield Diagnostic(
            "INVALID_NODE_TYPE", f"its type is {quoted(node.get('type'))}", _at(name, "type")
        )
    if not is_one_of(node.get("status"), SPEC_STATUSES):
        quoted_status = quoted(node.get("status"))
        yield Diagnostic("INVALID_STATUS", f"its status is {quoted_status}", _at(name, "status"))
    if node.get("title") is not None and not isinstance(node["title"], str):
        yield Diagnostic("EMPTY_TITLE", f"its title is {quoted(node['title'])}", _at(name, "title"))
    if len(text_of(node.get("title"))) > TITLE_LIMIT:
        yield Diagnostic(
            "FIELD_TOO_LONG", f"a title has {TITLE_LIMIT} letters at most", _at(name, "title")
        )
    children = node.get("children", [])
    if not isinstance(children, list):
        yield Diagnostic(
            "INVALID_CHILDREN_TYPE", f"it is {quoted(children)}", _at(name, "children")
        )
    for child in cast("list[Json]", children) if isinstance(children, list) else ():
        if not isinstance(child, str) or child not in tree.nodes:
            yield Diagnostic(
                "MISSING_CHILD", f"there is no node {quoted(child)}", _at(name, "children")
            )
    if not isinstance(node.get("metadata") or {}, dict):
        quoted_status = quoted(node["metadata"])
        yield Diagnostic("INVALID_METADATA_TYPE", f"it is {quoted_status}", _at(name, "metadata"))
    yield from _size_faults(_at(name, "metadata"), metadata_of(node))
    extra = {key: value for key, value in node.items() if key not in NODE_FIELDS}
    yield from _size_faults(name, {"": extra})
    yield from _edge_faults(name, node, tree, outside)


def _size_faults(where: str, values: Mapping[str, Json]) -> Iterator[Diagnostic]:
    for key, value in values.items():
        is_body = key == "description" and isinstance(value, str) and len(value) <= BODY_LIMIT
        if not is_body and _is_too_large(value):
            what = "all that has no other place" if key == AS_IMPORTED else "a value"
            message = f"{what} has {VALUE_BYTES} bytes at most"
            yield Diagnostic(
                "FIELD_TOO_LONG", message, ".".join(filter(None, (where, key[:NAME_LIMIT])))
            )


def _edge_faults(
    name: str, node: Node, tree: Tree, outside: Collection[str]
) -> Iterator[Diagnostic]:
    said_of: Json = node.get("dependencies") or {}
    edges = object_of(said_of)
    if not isinstance(said_of, dict):
        quoted_value = quoted(said_of)
        yield Diagnostic(
            "INVALID_DEPENDENCIES_TYPE", f"it is {quoted_value}", _at(name, "dependencies")
        )
        return
    for kind in ("blocks", "blocked_by", "depends"):
        others: Json = edges.get(kind) or []
        where = _at(name, "dependencies", kind)
        if not isinstance(others, list):
            yield Diagnostic("INVALID_DEPENDENCY_FIELD", f"it is {quoted(others)}", where)
            continue
        for other in cast("list[Json]", others):
            is_known = isinstance(other, str) and (other in tree.nodes or other in outside)
            if not is_known:
                quoted_value = quoted(other)
                yield Diagnostic(
                    "MISSING_DEPENDENCY_TARGET", f"there is no node {quoted_value}", where
                )


def _tree_faults(tree: Tree) -> Iterator[Diagnostic]:
    reachable = set(tree.reachable)
    for name in tree.nodes:
        if name in reachable:
            continue
        if name in tree.owner:
            yield Diagnostic(
                "CYCLE_DETECTED", "it is below itself, or below one that is", _at(name)
            )
        else:
            yield Diagnostic("ORPHANED_NODES", "no node has it among its children", _at(name))
    for name, depth in tree.depths().items():
        if depth >= DEPTH_LIMIT:
            yield Diagnostic(
                "EXCESSIVE_NESTING", f"it lies deeper than {DEPTH_LIMIT} levels", _at(name)
            )
            break
    circles = cycles(hard_edges(tree.nodes))
    for circle in circles:
        message = f"these wait for each other: {_way(circle)}"
        yield Diagnostic("CIRCULAR_DEPENDENCY", message, _at(circle[0], "dependencies", "blocks"))
    needs = hard_needs(tree.nodes)
    for circle in () if circles else held_circles(tree):
        waiter = next((name for name in circle if not {*needs[name]}.isdisjoint(circle)), circle[0])
        message = f"these wait for each other, with what holds them: {_way(circle)}"
        yield Diagnostic("CIRCULAR_DEPENDENCY", message, _at(waiter, "dependencies"))


def _way(names: Sequence[str]) -> str:
    return " → ".join(name[:NAME_LIMIT] for name in names[:_WAY_TOLD])


def _is_too_large(value: Json) -> bool:
    is_plain = value is None or isinstance(value, bool | int | float)
    return not is_plain and len(canonical.dump_any(value)) > VALUE_BYTES


def _at(name: str, *fields: str) -> str:
    return ".".join((name[:NAME_LIMIT], *(field[:NAME_LIMIT] for field in fields)))
