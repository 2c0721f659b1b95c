"""What differs between two documents of a spec, node by node and field by field.

Metadata and dependencies are compared key by key. What the spec has outside of its nodes is told as a node `spec`,
without `last_updated`, which every writing sets. Long values are cut: a difference is for reading, the documents are
there to be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from counterpoint.dialects.foundry.rules.numbering import natural_key
from counterpoint.dialects.foundry.rules.shape import (
    DEPENDENCY_TYPES,
    Node,
    items_of,
    nodes_of,
    same,
    text_of,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.plurals import counted

SPEC: Final = "spec"
_OPENED: Final = frozenset({"metadata", "dependencies"})
"""Fields that are compared key by key."""
_LETTERS_SHOWN: Final = 200
_ITEMS_SHOWN: Final = 20
_UNTOLD: Final = frozenset({"last_updated", "hierarchy", "journal"})


def diff(old: Json, new: Json, limit: int = 100) -> dict[str, Json]:
    """Return what was added, removed and modified, at most so many of each kind; the summary counts all."""
    before, after = nodes_of(old), nodes_of(new)
    added = sorted(after.keys() - before.keys(), key=natural_key)
    removed = sorted(before.keys() - after.keys(), key=natural_key)
    modified = list(_modified(object_of(old), object_of(new)))
    kinds = (added, removed, modified)
    return {
        "summary": {
            "added_count": len(added),
            "removed_count": len(removed),
            "modified_count": len(modified),
            "total_changes": sum(map(len, kinds)),
        },
        "changes": {
            "added": [_named(name, after[name]) for name in added[:limit]],
            "removed": [_named(name, before[name]) for name in removed[:limit]],
            "modified": modified[:limit],
        },
        "partial": any(len(kind) > limit for kind in kinds),
    }


def field_changes(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the fields in which two nodes differ, with their old and new values; null where there is none."""
    return [
        {"field": name, "old": shown(before), "new": shown(after)}
        for name, before, after in _differences(old, new)
    ]


def shown(value: Json) -> Json:
    """Return a value as a difference shows it: long texts are cut, what holds much is counted."""
    text = text_of(value)
    if len(text) > _LETTERS_SHOWN:
        return f"{text[:_LETTERS_SHOWN]}… ({len(text)} letters)"
    fields, items = object_of(value), items_of(value)
    if not _is_small([*fields.values(), *items]):
        return (
            f"an object of {counted(len(fields), 'field')}"
            if fields
            else f"a list of {counted(len(items), 'item')}"
        )
    return value


def _is_small(parts: list[Json]) -> bool:
    return len(parts) <= _ITEMS_SHOWN and all(
        not isinstance(part, dict | list) and len(text_of(part)) <= _LETTERS_SHOWN for part in parts
    )


def _modified(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    whole = field_changes(_around(old), _around(new))
    if whole:
        title = text_of(new.get("title"))
        yield {"node_id": SPEC, "type": SPEC, "title": title, "field_changes": whole}
    before, after = nodes_of(old), nodes_of(new)
    for name in sorted(before.keys() & after.keys(), key=natural_key):
        changes = field_changes(before[name], after[name])
        if changes:
            yield {**_named(name, after[name]), "field_changes": changes}


def _around(document: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a document says outside of its nodes; of the journal, how long it is."""
    fields = {name: value for name, value in document.items() if name not in _UNTOLD}
    journal = document.get("journal")
    if isinstance(journal, list):
        fields["journal"] = counted(len(items_of(journal)), "entry")
    return fields


def _named(name: str, node: Node) -> dict[str, Json]:
    return {
        "node_id": name,
        "type": text_of(node.get("type")),
        "title": text_of(node.get("title")),
    }


def _differences(
    old: Mapping[str, Json], new: Mapping[str, Json]
) -> Iterator[tuple[str, Json, Json]]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if name in _OPENED and isinstance(before, dict) and isinstance(after, dict):
            yield from _inner(name, cast("Node", before), cast("Node", after))
        elif not same(before, after):
            yield name, before, after


def _inner(outer: str, old: Node, new: Node) -> Iterator[tuple[str, Json, Json]]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if outer == "dependencies" and name in DEPENDENCY_TYPES:
            # A list that is not there is an empty one.
            is_same = same([] if before is None else before, [] if after is None else after)
        else:
            is_same = same(before, after)
        if not is_same:
            yield f"{outer}.{name}", before, after
