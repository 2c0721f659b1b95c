"""Judges a whole document by the table of faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from counterpoint.dialects.foundry.models.specs import ROOT
from counterpoint.dialects.foundry.nodes.rules.faults import Diagnostic, Severity
from counterpoint.dialects.foundry.nodes.rules.shape import (
    CATEGORIES,
    COMPLEXITIES,
    DEPENDENCY_TYPES,
    FILE_CATEGORIES,
    LEAF_TYPES,
    LEVELS,
    LIST_LIMIT,
    NESTING_LIMIT,
    NODE_FIELDS,
    NODE_TYPES,
    SPEC_FIELDS,
    SPEC_STATUSES,
    STATUSES,
    VERIFICATION_TYPES,
    Document,
    Node,
    dependencies_of,
    depth_of,
    description_of,
    has_text,
    is_count,
    is_one_of,
    is_spec_id,
    items_of,
    metadata_of,
    place,
    quoted,
    same,
    text_of,
    texts_of,
)
from counterpoint.dialects.foundry.nodes.rules.tree import (
    Tree,
    cycles,
    hard_edges,
    parent_of,
    rollup,
    soft_edges,
)
from counterpoint.kernel.canonical import Json, object_of

DATES = ("generated", "last_updated")


def document_faults(document: Document) -> Iterator[Diagnostic]:
    """Return the faults of a document outside of its nodes, and of its size."""
    yield from _size_faults(document)
    yield from _top_faults(document)
    yield from _document_metadata_faults(document)


def is_time(value: Json) -> bool:
    """Return whether a value is a time of ISO 8601."""
    try:
        datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _size_faults(document: Document) -> Iterator[Diagnostic]:
    for name, node in object_of(document.get("hierarchy")).items():
        if depth_of(node, NESTING_LIMIT) > NESTING_LIMIT:
            yield Diagnostic(
                "EXCESSIVE_NESTING", f"{quoted(name)} nests more than {NESTING_LIMIT}", place(name)
            )
        count = len(items_of(object_of(node).get("children")))
        if count > LIST_LIMIT:
            message = f"{quoted(name)} has {count} children, more than {LIST_LIMIT}"
            yield Diagnostic("EXCESSIVE_ARRAY_LENGTH", message, place(name, "children"))
    if depth_of(document.get("metadata"), NESTING_LIMIT) > NESTING_LIMIT:
        message = f"the metadata nest more than {NESTING_LIMIT}"
        yield Diagnostic("EXCESSIVE_NESTING", message, "metadata")
    count = len(items_of(document.get("journal")))
    if count > LIST_LIMIT:
        message = f"the journal has {count} entries, more than {LIST_LIMIT}"
        yield Diagnostic("EXCESSIVE_JOURNAL_LENGTH", message, "journal")


def _top_faults(document: Document) -> Iterator[Diagnostic]:
    for field in SPEC_FIELDS:
        if field not in document:
            yield Diagnostic("MISSING_REQUIRED_FIELD", f"{field} is missing", field)
    spec = document.get("spec_id")
    if "spec_id" in document and not (isinstance(spec, str) and is_spec_id(spec)):
        message = f"{quoted(spec)} is not of the form {{slug}}-{{YYYY-MM-DD}}-{{NNN}}"
        yield Diagnostic("INVALID_SPEC_ID_FORMAT", message, "spec_id")
    for field in DATES:
        if field in document and not is_time(document[field]):
            message = f"{quoted(document[field])} is not a time of ISO 8601"
            yield Diagnostic("INVALID_DATE_FORMAT", message, field)
    if "status" in document and not is_one_of(document["status"], SPEC_STATUSES):
        message = f"the spec has the status {quoted(document['status'])}"
        yield Diagnostic("INVALID_STATUS", message, "status")
    journal = document.get("journal", [])
    if not isinstance(journal, list):
        yield Diagnostic("INVALID_JOURNAL_TYPE", f"the journal is {quoted(journal)}", "journal")
    for number, entry in enumerate(items_of(journal)):
        if not isinstance(entry, dict):
            where = f"journal[{number}]"
            yield Diagnostic("INVALID_JOURNAL_TYPE", f"the entry is {quoted(entry)}", where)


def _document_metadata_faults(document: Document) -> Iterator[Diagnostic]:
    raw = document.get("metadata", {})
    if not isinstance(raw, dict):
        yield Diagnostic("INVALID_METADATA_TYPE", f"the metadata are {quoted(raw)}", "metadata")
    metadata = metadata_of(document)
    if not has_text(metadata.get("mission")):
        yield Diagnostic("MISSING_MISSION", "the spec has no mission", "metadata.mission")
    for code, field in (
        ("EMPTY_SUCCESS_CRITERIA", "success_criteria"),
        ("EMPTY_CONSTRAINTS", "constraints"),
    ):
        if not any(map(has_text, texts_of(metadata.get(field)))):
            yield Diagnostic(code, f"the spec has no {field}", place("metadata", field))
    yield from _risk_faults(metadata.get("risks"))
    for code, field in (
        ("MISSING_PLAN_PATH", "plan_path"),
        ("MISSING_PLAN_REVIEW_PATH", "plan_review_path"),
    ):
        if not has_text(metadata.get(field)):
            yield Diagnostic(code, f"the spec has no {field}", place("metadata", field))


def _risk_faults(risks: Json) -> Iterator[Diagnostic]:
    if risks is not None and not isinstance(risks, list):
        yield Diagnostic("INVALID_RISK_ENTRY", f"risks is {quoted(risks)}", "metadata.risks")
    for number, risk in enumerate(items_of(risks)):
        where = f"metadata.risks[{number}]"
        if not isinstance(risk, dict):
            yield Diagnostic("INVALID_RISK_ENTRY", f"the risk is {quoted(risk)}", where)
            continue
        fields = object_of(risk)
        if not has_text(fields.get("description")):
            message = "the risk has no description"
            yield Diagnostic("MISSING_RISK_DESCRIPTION", message, place(where, "description"))
        for field in ("likelihood", "impact"):
            level = fields.get(field)
            if level is not None and not is_one_of(level, LEVELS):
                message = f"{field} is {quoted(level)}"
                yield Diagnostic("INVALID_RISK_FIELD", message, place(where, field))
        if not isinstance(fields.get("mitigation", ""), str | None):
            yield Diagnostic(
                "INVALID_RISK_FIELD", "mitigation is no text", place(where, "mitigation")
            )


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


def node_faults(tree: Tree) -> Iterator[Diagnostic]:
    """Return the faults of the nodes of a document, one by one."""
    for name, node in tree.nodes.items():
        yield from _field_faults(name, node)
    for name, counts in rollup(tree).counts.items():
        yield from _count_faults(name, tree, counts)
    for name, node in tree.nodes.items():
        yield from _node_metadata_faults(name, node)


def statuses_of(name: str) -> tuple[str, ...]:
    """Return the statuses that a node can have; only the root is archived."""
    return SPEC_STATUSES if name == ROOT else STATUSES


def _field_faults(name: str, node: Node) -> Iterator[Diagnostic]:
    for field in NODE_FIELDS:
        if field not in node:
            yield Diagnostic(
                "MISSING_NODE_FIELD", f"{quoted(name)} has no {field}", place(name, field)
            )
    if "type" in node and not is_one_of(node["type"], NODE_TYPES):
        message = f"{quoted(name)} has the type {quoted(node['type'])}"
        yield Diagnostic("INVALID_NODE_TYPE", message, place(name, "type"))
    if "status" in node and not is_one_of(node["status"], statuses_of(name)):
        message = f"{quoted(name)} has the status {quoted(node['status'])}"
        yield Diagnostic("INVALID_STATUS", message, place(name, "status"))
    if "title" in node and not has_text(node["title"]):
        yield Diagnostic("EMPTY_TITLE", f"{quoted(name)} has no title", place(name, "title"))


def _count_faults(name: str, tree: Tree, counts: tuple[int, int]) -> Iterator[Diagnostic]:
    node = tree.nodes[name]
    said_total, said_completed = node.get("total_tasks"), node.get("completed_tasks")
    total, completed = counts
    if is_count(said_total) and is_count(said_completed) and said_completed > said_total:
        message = f"{quoted(name)} has more completed tasks than tasks"
        yield Diagnostic("COMPLETED_EXCEEDS_TOTAL", message, place(name, "completed_tasks"))
    if "total_tasks" in node and not same(said_total, total):
        is_leaf = not tree.kids[name] and is_one_of(node.get("type"), LEAF_TYPES)
        code = "INVALID_LEAF_COUNT" if is_leaf else "TOTAL_TASKS_MISMATCH"
        message = f"total_tasks of {quoted(name)} is not {total}, as its leaves have it"
        yield Diagnostic(code, message, place(name, "total_tasks"))
    if "completed_tasks" in node and not same(said_completed, completed):
        message = f"completed_tasks of {quoted(name)} is not {completed}, as its leaves have it"
        yield Diagnostic("COMPLETED_TASKS_MISMATCH", message, place(name, "completed_tasks"))


def _node_metadata_faults(name: str, node: Node) -> Iterator[Diagnostic]:
    raw = node.get("metadata", {})
    if not isinstance(raw, dict):
        message = f"the metadata of {quoted(name)} are {quoted(raw)}"
        yield Diagnostic("INVALID_METADATA_TYPE", message, place(name, "metadata"))
    elif node.get("type") == "verify":
        yield from _verify_faults(name, metadata_of(node))
    elif node.get("type") == "task":
        metadata = metadata_of(node)
        yield from _category_faults(name, metadata)
        if not description_of(metadata):
            yield _fault("MISSING_TASK_DESCRIPTION", name, "description")
        yield from _criteria_faults(name, metadata)
        yield from _complexity_faults(name, metadata)


def _fault(code: str, name: str, field: str, raw: Json = None) -> Diagnostic:
    """Return a fault of a field of the metadata, which is missing unless something is said of it."""
    is_missing = code.startswith("MISSING")
    message = f"has no {field}" if is_missing else f"has the {field} {quoted(raw)}"
    return Diagnostic(code, f"{quoted(name)} {message}", place(name, "metadata", field))


def _verify_faults(name: str, metadata: Document) -> Iterator[Diagnostic]:
    field = "verification_type"
    raw = metadata.get(field)
    if raw is None or raw == "":
        yield _fault("MISSING_VERIFICATION_TYPE", name, field)
    elif not is_one_of(raw, VERIFICATION_TYPES):
        yield _fault("INVALID_VERIFICATION_TYPE", name, field, raw)


def _category_faults(name: str, metadata: Document) -> Iterator[Diagnostic]:
    field = "task_category"
    raw = metadata.get(field)
    category = text_of(raw).strip().lower()
    if "category" in metadata:
        message = f"{quoted(name)} has a category, which is called {field}"
        yield Diagnostic("UNKNOWN_FIELD", message, place(name, "metadata", "category"))
    if raw is None or raw == "":
        yield _fault("MISSING_TASK_CATEGORY", name, field)
    elif category not in CATEGORIES:
        yield _fault("INVALID_TASK_CATEGORY", name, field, raw)
    if category in FILE_CATEGORIES and not has_text(metadata.get("file_path")):
        yield _fault("MISSING_FILE_PATH", name, "file_path")


def _criteria_faults(name: str, metadata: Document) -> Iterator[Diagnostic]:
    field = "acceptance_criteria"
    raw: Json = metadata.get(field)
    if raw is None or raw == []:
        yield _fault("MISSING_ACCEPTANCE_CRITERIA", name, field)
    elif not isinstance(raw, list):
        yield _fault("INVALID_ACCEPTANCE_CRITERIA", name, field, raw)
    else:
        for number, criterion in enumerate(items_of(raw)):
            if not has_text(criterion):
                yield _fault("INVALID_ACCEPTANCE_CRITERIA", name, f"{field}[{number}]", criterion)


def _complexity_faults(name: str, metadata: Document) -> Iterator[Diagnostic]:
    raw = metadata.get("complexity")
    if raw is None or raw == "":
        yield _fault("MISSING_COMPLEXITY", name, "complexity")
    elif not is_one_of(raw, COMPLEXITIES):
        yield _fault("INVALID_COMPLEXITY", name, "complexity", raw)


@dataclass(frozen=True, slots=True)
class Report:
    """All faults of a document."""

    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_valid(self) -> bool:
        """Whether the spec can be worked on as written: warnings do not count."""
        return not self.count("error")

    def count(self, severity: Severity) -> int:
        """Return how many faults there are of a severity."""
        return sum(diagnostic.rule.severity == severity for diagnostic in self.diagnostics)

    def codes(self) -> Counter[str]:
        """Return how often each code is there."""
        return Counter(diagnostic.code for diagnostic in self.diagnostics)

    def as_json(self) -> dict[str, Json]:
        """Return the report as `spec validate` tells it."""
        return {
            "is_valid": self.is_valid,
            "error_count": self.count("error"),
            "warning_count": self.count("warning"),
            "info_count": self.count("info"),
            "diagnostics": [diagnostic.as_json() for diagnostic in self.diagnostics],
        }


def unread_report(document: Json, faults: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the report about a file that cannot be a spec, as `spec validate` tells it.

    faults: what keeps it from that, which come first as errors that nobody fixes but a person; the rest is what is wrong as well.
    """
    kept_out = {(fault["code"], fault["location"]) for fault in faults}
    others = [
        diagnostic
        for diagnostic in validate(document).diagnostics
        if document and (diagnostic.code, diagnostic.location) not in kept_out
    ]
    first: list[Json] = [
        {
            **Diagnostic(fault["code"], fault["message"], fault["location"]).as_json(),
            "severity": "error",
            "auto_fixable": False,
        }
        for fault in faults
    ]
    more = Report(tuple(others))
    return {
        **more.as_json(),
        "is_valid": False,
        "error_count": len(first) + more.count("error"),
        "diagnostics": [*first, *(other.as_json() for other in others)],
    }


def validate(document: Json) -> Report:
    """Return all faults of a document, which may be any JSON."""
    whole = object_of(document)
    tree = Tree(whole)
    return Report(
        (
            *document_faults(whole),
            *link_faults(whole, tree),
            *node_faults(tree),
            *edge_faults(whole, tree),
        )
    )
