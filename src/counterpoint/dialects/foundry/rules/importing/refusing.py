"""What keeps a document from being a spec: every fault together, with its place.

The codes are those of validation. What can be mended without a question keeps nothing from being taken in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, cast

from counterpoint.core.model.work import BODY_LIMIT, DEPTH_LIMIT, TITLE_LIMIT
from counterpoint.dialects.foundry.nouns.nodes import AS_IMPORTED, ROOT
from counterpoint.dialects.foundry.rules.importing.parsing import is_safe_id
from counterpoint.dialects.foundry.rules.shape import (
    NODE_TYPES,
    SPEC_STATUSES,
    Node,
    is_one_of,
    metadata_of,
    quoted,
    text_of,
)
from counterpoint.dialects.foundry.rules.tree import (
    Tree,
    cycles,
    hard_edges,
    hard_needs,
    held_circles,
)
from counterpoint.dialects.foundry.rules.validation.table import Diagnostic
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import CounterpointError, MalformedDocument

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
