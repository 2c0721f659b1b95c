"""Faults of single nodes: their fields, counts and metadata."""

from __future__ import annotations

from collections.abc import Iterator

from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.rollup import rollup
from counterpoint.dialects.foundry.rules.shape import (
    CATEGORIES,
    COMPLEXITIES,
    FILE_CATEGORIES,
    LEAF_TYPES,
    NODE_FIELDS,
    NODE_TYPES,
    SPEC_STATUSES,
    STATUSES,
    VERIFICATION_TYPES,
    Document,
    Node,
    description_of,
    has_text,
    is_count,
    is_one_of,
    items_of,
    metadata_of,
    place,
    quoted,
    same,
    text_of,
)
from counterpoint.dialects.foundry.rules.tree import Tree
from counterpoint.dialects.foundry.rules.validation.table import Diagnostic
from counterpoint.kernel.canonical import Json


def node_faults(tree: Tree) -> Iterator[Diagnostic]:
    """Return the faults of the nodes of a document, one by one."""
    for name, node in tree.nodes.items():
        yield from _field_faults(name, node)
    for name, counts in rollup(tree).counts.items():
        yield from _count_faults(name, tree, counts)
    for name, node in tree.nodes.items():
        yield from _metadata_faults(name, node)


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


def _metadata_faults(name: str, node: Node) -> Iterator[Diagnostic]:
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
