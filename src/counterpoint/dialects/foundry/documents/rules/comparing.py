"""How two documents differ.

What has to be done so that a spec becomes as a wanted document says.
Two parts: the structure, from the root down, and what the nodes hold, which is asked again once the structure stands. What is
derived is no difference: counts, progress, the status of what has children but for its blockers, and when something ended.

What differs between two documents of a spec, node by node and field by field.
Metadata and dependencies are compared key by key. What the spec has outside of its nodes is told as a node `spec`,
without `last_updated`, which every writing sets. Long values are cut: a difference is for reading, the documents are
there to be asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from counterpoint.core.model.work import Kind
from counterpoint.dialects.foundry.journal.rules import said_of
from counterpoint.dialects.foundry.models.specs import KEPT, ROOT, TYPE
from counterpoint.dialects.foundry.nodes.rules.drafting import (
    OF_BLOCKERS,
    NodeFields,
    Place,
    fields_of,
    kind_of,
    root_fields,
    usual_type,
)
from counterpoint.dialects.foundry.nodes.rules.shape import (
    DEPENDENCY_TYPES,
    Node,
    dependencies_of,
    items_of,
    metadata_of,
    natural_key,
    nodes_of,
    same,
    text_of,
)
from counterpoint.dialects.foundry.nodes.rules.tree import END, Tree, hard_needs, moments
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.plurals import counted

DERIVED: Final = frozenset(("completed_at", "failed_at", "skipped"))
"""Metadata that says what the ledger knows."""
Way = Literal["add", "move", "order", "remove", "write", "status", "entry", "folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """One difference of a node; field: as the document names it, empty for the whole node."""

    node: str
    field: str
    before: Json = None
    after: Json = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference and how it is done; what writes fields has them as the core keeps them."""

    way: Way
    change: NodeChange


@dataclass(frozen=True, slots=True)
class Differences:
    """All that has to be done."""

    structure: tuple[Difference, ...]
    contents: tuple[Difference, ...]


def paths_changed(current: Mapping[str, Json], document: Mapping[str, Json]) -> frozenset[str]:
    """Return the paths of files that one of two documents has of a node, or of the whole, and the other has not."""
    before, after = _paths(current), _paths(document)
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    return frozenset(paths[name] for paths in (before, after) for name in changed if name in paths)


def _paths(document: Mapping[str, Json]) -> dict[str, str]:
    metadata = {name: metadata_of(node) for name, node in Tree(document).nodes.items()}
    metadata[""] = metadata_of(document)
    return {
        name: path
        for name, fields in metadata.items()
        if (path := text_of(fields.get("file_path")))
    }


def differences(
    current: Mapping[str, Json], document: Mapping[str, Json], place_file: Place
) -> Differences:
    """Return what has to be done; both documents are whole trees."""
    tree, goal = Tree(current), Tree(document)
    return Differences(
        tuple(_structure(tree, goal)), tuple(_contents(current, document, tree, goal, place_file))
    )


def _structure(tree: Tree, goal: Tree) -> Iterator[Difference]:
    for name in goal.reachable[1:]:
        parent = goal.owner[name]
        if name not in tree.nodes:
            change = NodeChange(node=name, field="", after=goal.nodes[name].get("title"))
            yield Difference("add", change)
        elif tree.owner.get(name) != parent:
            yield _found("move", name, "parent", tree.owner.get(name), parent)
    for name in tree.reachable[1:]:
        if name not in goal.nodes and tree.owner[name] in {*goal.nodes, ROOT}:
            yield _found("remove", name, "", tree.nodes[name].get("title"), None)


def _contents(
    current: Mapping[str, Json],
    document: Mapping[str, Json],
    tree: Tree,
    goal: Tree,
    place_file: Place,
) -> Iterator[Difference]:
    yield from _written(ROOT, root_fields(current, place_file), root_fields(document, place_file))
    kinds = _kinds(tree)
    for name in goal.reachable[1:]:
        if name in tree.nodes:
            usual = usual_type(kinds[name], is_in_task=kinds[tree.owner[name]] == "task")
            before, after = (
                fields_of(name, side.nodes[name], metadata_of(side.nodes[name]), usual, place_file)
                for side in (tree, goal)
            )
            stands = {side.nodes[name].get("status") for side in (tree, goal)}
            yield from _written(name, before, after, OF_BLOCKERS if "blocked" in stands else ())
    yield from _orders(tree, goal)
    yield from _edges(tree, goal)
    yield from _statuses(tree, goal)
    yield from _entries(current, document)


def _entries(current: Mapping[str, Json], document: Mapping[str, Json]) -> Iterator[Difference]:
    """Return the entries that are in the wanted journal more often; who wrote them and when is not asked."""
    counter = Counter(said_of(entry) for entry in items_of(current.get("journal")))
    for entry in items_of(document.get("journal")):
        content = said_of(entry)
        counter[content] -= 1
        if counter[content] < 0 and isinstance(entry, dict):
            name = text_of(object_of(entry).get("task_id")) or ROOT
            yield Difference("entry", NodeChange(node=name, field="journal", after=entry))


def _orders(tree: Tree, goal: Tree) -> Iterator[Difference]:
    for name in goal.reachable:
        before = [kid for kid in tree.kids.get(name, []) if goal.owner.get(kid) == name]
        after = [kid for kid in goal.kids[name] if tree.owner.get(kid) == name]
        if before != after:
            yield _found("order", name, "children", list[Json](before), list[Json](after))


def _kinds(tree: Tree) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {ROOT: "spec"}
    for name in tree.reachable[1:]:
        kinds[name] = kind_of(tree.nodes[name], kinds[tree.owner[name]])
    return kinds


def _written(
    name: str, before: NodeFields, after: NodeFields, derived: Collection[str] = ()
) -> Iterator[Difference]:
    """Return how the fields of a node differ; derived: metadata that follows from how it stands."""
    pairs: Sequence[tuple[str, Json, Json]] = (
        ("title", before.title, after.title),
        ("description", before.body, after.body),
        ("acceptance_criteria", before.acceptance, after.acceptance),
        ("file_path", before.areas, after.areas),
    )
    for field, old, new in pairs:
        if old != new:
            yield _found("write", name, field, old, new)
    old_values, new_values = _values(before), _values(after)
    for field in [key for key in {**old_values, **new_values} if key not in derived]:
        old, new = old_values.get(field), new_values.get(field)
        if not same(old, new):
            label = {TYPE: "type", KEPT: "fields"}.get(field, f"metadata.{field}")
            whole = before.attributes.get(field), after.attributes.get(field)
            yield _found("write", name, label, *whole)


def _values(fields: NodeFields) -> dict[str, Json]:
    values = {name: value for name, value in fields.attributes.items() if name not in DERIVED}
    extra = object_of(values.get(KEPT))
    around = {k: v for k, v in object_of(extra.get("document")).items() if k != "generated"}
    extra = {**extra, "document": around} if around else {**extra}
    if not around:
        extra.pop("document", None)
    if extra:
        values[KEPT] = extra
    else:
        values.pop(KEPT, None)
    return values


def _edges(tree: Tree, goal: Tree) -> Iterator[Difference]:
    before, after = _needs(tree), _needs(goal)
    for name in goal.reachable:
        if name not in tree.nodes:
            continue
        old, new = (
            before[name],
            [need for need in after[name] if need not in goal.nodes or need in tree.nodes],
        )
        if set(old) != set(new):
            yield _found("write", name, "dependencies.blocked_by", sorted(old), sorted(new))
        soft = [dependencies_of(tree.nodes[name], "depends") for tree in (tree, goal)]
        if soft[0] != soft[1]:
            yield _found("write", name, "dependencies.depends", list(soft[0]), list(soft[1]))


def _needs(tree: Tree) -> dict[str, list[str]]:
    """Return what each node waits for: nodes, and what is outside of the spec by its own id."""
    inside = hard_needs(tree.nodes)
    return {
        name: [
            *(need for need in dependencies_of(node, "blocked_by") if need not in tree.nodes),
            *inside[name],
        ]
        for name, node in tree.nodes.items()
    }


def _statuses(tree: Tree, goal: Tree) -> Iterator[Difference]:
    """Return the words for how nodes stand: what is opened first, and what is completed after what it waits for."""
    ranks = {name: number for number, name in enumerate(finishing_order(goal))}
    ranked: list[tuple[int, int, Difference]] = []
    for name in goal.reachable[1:]:
        if name not in tree.nodes:
            continue
        old, new = (text_of(tree.nodes[name].get("status")) for tree in (tree, goal))
        is_leaf = not (tree.kids[name] or goal.kids[name])
        has_ended = (old, new) == ("in_progress", "pending")
        if old == new or not (is_leaf or has_ended or "blocked" in {old, new}):
            continue
        rank = {"pending": 0 if is_leaf else 3, "blocked": 2}.get(new, 1)
        ranked.append((rank, ranks[name], _found("status", name, "status", old, new)))
    return (
        difference for _, _, difference in sorted(ranked, key=lambda difference: difference[:2])
    )


def finishing_order(tree: Tree) -> list[str]:
    """Return the nodes so that each comes after those below it and after what it, or what holds it, waits for.

    Nodes that wait for each other come last, in their order.
    """
    waits = moments(tree, _needs(tree))
    open_counts = {moment: len(others) for moment, others in waits.items()}
    waiters: dict[str, list[str]] = {moment: [] for moment in waits}
    for moment, others in waits.items():
        for other in others:
            waiters[other].append(moment)
    free = [moment for moment, count in open_counts.items() if not count]
    order: dict[str, None] = {}
    for moment in free:
        if moment.endswith(END):
            order[moment.removesuffix(END)] = None
        for waiter in waiters[moment]:
            open_counts[waiter] -= 1
            if not open_counts[waiter]:
                free.append(waiter)
    return list(order | dict.fromkeys(tree.reachable))


def _found(kind: Way, name: str, field: str, before: Json, after: Json) -> Difference:
    return Difference(kind, NodeChange(node=name, field=field, before=before, after=after))


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
