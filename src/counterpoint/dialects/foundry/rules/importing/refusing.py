"""What keeps a document from being a spec: every fault together, with its place.

The codes are those of validation. What can be mended without a question keeps nothing from being taken in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from counterpoint.core.model.work import BODY_LIMIT, DEPTH_LIMIT, TITLE_LIMIT
from counterpoint.dialects.foundry.nouns.nodes import ROOT
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
from counterpoint.dialects.foundry.rules.tree import Tree, cycles, hard_edges
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import MalformedDocument

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
_FAULTS_TOLD: Final = 50
_IN_WORDS: Final = 5
_WAY_TOLD: Final = 8


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a document is refused: a code, words, and the node and field."""

    code: str
    message: str
    location: str


def refuse(faults: Sequence[Fault]) -> None:
    """Raise MalformedDocument if there are faults."""
    if not faults:
        return
    shown = "; ".join(f"{one.location}: {one.message}" for one in faults[:_IN_WORDS])
    more = f"; and {len(faults) - _IN_WORDS} more" if len(faults) > _IN_WORDS else ""
    raise MalformedDocument(
        f"the spec cannot be read: {shown}{more}",
        hint="Mend what is named; nothing of the document was taken over.",
        faults=[
            {"code": one.code, "message": one.message, "location": one.location}
            for one in faults[:_FAULTS_TOLD]
        ],
        fault_count=len(faults),
    )


def faults_of(
    document: Mapping[str, Json], tree: Tree, outside: Collection[str] = ()
) -> Iterator[Fault]:
    """Return what keeps a document from being a spec; what can be mended without a question does not.

    outside: ids that dependencies may name beside nodes.
    """
    if not is_safe_id(document.get("spec_id")):
        said = quoted(document.get("spec_id"))
        yield Fault(
            "INVALID_SPEC_ID_FORMAT",
            f"{said} is no id: letters, digits, `.`, `_`, `-`",
            "spec_id",
        )
    for name, kind in (("metadata", dict), ("journal", list)):
        if not isinstance(document.get(name) or kind(), kind):
            yield Fault("INVALID_STRUCTURE", f"{name} is {quoted(document[name])}", name)
    if not isinstance(document.get("hierarchy"), dict):
        yield Fault("INVALID_HIERARCHY_TYPE", "there is no object of nodes", "hierarchy")
        return
    for name, node in object_of(document["hierarchy"]).items():
        if not isinstance(node, dict):
            yield Fault("INVALID_NODE_STRUCTURE", f"it is {quoted(node)}", _at(name))
    if ROOT not in tree.nodes:
        yield Fault("MISSING_SPEC_ROOT", f"there is no node {ROOT!r}", "hierarchy")
        return
    around = {key: value for key, value in document.items() if key not in SPEC_FIELDS}
    yield from _size_faults("metadata", metadata_of(document))
    yield from _size_faults("", {"": around})
    room = NAME_LIMIT - len(text_of(document.get("spec_id"))) - 1
    for name, node in tree.nodes.items():
        if name != name.strip() or not 0 < len(name) <= room or not name.isprintable():
            said = f"its id is blank, not printable, or longer than {room} letters"
            yield Fault("INVALID_NODE_STRUCTURE", said, _at(name))
        yield from _node_faults(name, node, tree, outside)
    yield from _tree_faults(tree)


def _node_faults(name: str, node: Node, tree: Tree, outside: Collection[str]) -> Iterator[Fault]:
    if not is_one_of(node.get("type"), NODE_TYPES):
        yield Fault(
            "INVALID_NODE_TYPE", f"its type is {quoted(node.get('type'))}", _at(name, "type")
        )
    if not is_one_of(node.get("status"), SPEC_STATUSES):
        said = quoted(node.get("status"))
        yield Fault("INVALID_STATUS", f"its status is {said}", _at(name, "status"))
    if node.get("title") is not None and not isinstance(node["title"], str):
        yield Fault("EMPTY_TITLE", f"its title is {quoted(node['title'])}", _at(name, "title"))
    if len(text_of(node.get("title"))) > TITLE_LIMIT:
        yield Fault(
            "FIELD_TOO_LONG", f"a title has {TITLE_LIMIT} letters at most", _at(name, "title")
        )
    children = node.get("children", [])
    if not isinstance(children, list):
        yield Fault("INVALID_CHILDREN_TYPE", f"it is {quoted(children)}", _at(name, "children"))
    for child in cast("list[Json]", children) if isinstance(children, list) else ():
        if not isinstance(child, str) or child not in tree.nodes:
            yield Fault("MISSING_CHILD", f"there is no node {quoted(child)}", _at(name, "children"))
    if not isinstance(node.get("metadata") or {}, dict):
        said = quoted(node["metadata"])
        yield Fault("INVALID_METADATA_TYPE", f"it is {said}", _at(name, "metadata"))
    yield from _size_faults(_at(name, "metadata"), metadata_of(node))
    extra = {key: value for key, value in node.items() if key not in NODE_FIELDS}
    yield from _size_faults(name, {"": extra})
    yield from _edge_faults(name, node, tree, outside)


def _size_faults(where: str, values: Mapping[str, Json]) -> Iterator[Fault]:
    for key, value in values.items():
        is_body = key == "description" and isinstance(value, str) and len(value) <= BODY_LIMIT
        if not is_body and _is_too_large(value):
            said = f"a value has {VALUE_BYTES} bytes at most"
            yield Fault("FIELD_TOO_LONG", said, ".".join(filter(None, (where, key[:NAME_LIMIT]))))


def _edge_faults(name: str, node: Node, tree: Tree, outside: Collection[str]) -> Iterator[Fault]:
    said_of: Json = node.get("dependencies") or {}
    edges = object_of(said_of)
    if not isinstance(said_of, dict):
        said = quoted(said_of)
        yield Fault("INVALID_DEPENDENCIES_TYPE", f"it is {said}", _at(name, "dependencies"))
        return
    for kind in ("blocks", "blocked_by", "depends"):
        others: Json = edges.get(kind) or []
        where = _at(name, "dependencies", kind)
        if not isinstance(others, list):
            yield Fault("INVALID_DEPENDENCY_FIELD", f"it is {quoted(others)}", where)
            continue
        for other in cast("list[Json]", others):
            is_known = isinstance(other, str) and (other in tree.nodes or other in outside)
            if not is_known:
                said = quoted(other)
                yield Fault("MISSING_DEPENDENCY_TARGET", f"there is no node {said}", where)


def _tree_faults(tree: Tree) -> Iterator[Fault]:
    reachable = set(tree.reachable)
    for name in tree.nodes:
        if name in reachable:
            continue
        if name in tree.owner:
            yield Fault("CYCLE_DETECTED", "it is below itself, or below one that is", _at(name))
        else:
            yield Fault("ORPHANED_NODES", "no node has it among its children", _at(name))
    for name, depth in tree.depths().items():
        if depth >= DEPTH_LIMIT:
            yield Fault("EXCESSIVE_NESTING", f"it lies deeper than {DEPTH_LIMIT} levels", _at(name))
            break
    for way in cycles(hard_edges(tree.nodes)):
        shown = " → ".join(one[:NAME_LIMIT] for one in way[:_WAY_TOLD])
        yield Fault(
            "CIRCULAR_DEPENDENCY",
            f"these wait for each other: {shown}",
            _at(way[0], "dependencies", "blocks"),
        )


def _is_too_large(value: Json) -> bool:
    is_plain = value is None or isinstance(value, bool | int | float)
    return not is_plain and len(canonical.dump_any(value)) > VALUE_BYTES


def _at(name: str, *fields: str) -> str:
    return ".".join((name[:NAME_LIMIT], *(one[:NAME_LIMIT] for one in fields)))
