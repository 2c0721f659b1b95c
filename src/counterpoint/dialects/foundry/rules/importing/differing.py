"""What has to be done so that a spec becomes as a wanted document says.

Two parts: the structure, from the root down, and what the nodes hold, which is asked again once the structure stands. What is
derived is no difference: counts, progress, the status of what has children but for its blockers, and when something ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from counterpoint.core.model.work import Kind
from counterpoint.dialects.foundry.nouns.nodes import KEPT, ROOT, TYPE
from counterpoint.dialects.foundry.rules.entries import said_of
from counterpoint.dialects.foundry.rules.importing.drafting import (
    OF_BLOCKERS,
    NodeFields,
    Place,
    fields_of,
    kind_of,
    root_fields,
    usual_type,
)
from counterpoint.dialects.foundry.rules.shape import (
    dependencies_of,
    items_of,
    metadata_of,
    same,
    text_of,
)
from counterpoint.dialects.foundry.rules.tree import END, Tree, hard_needs, moments
from counterpoint.kernel.canonical import Json, object_of

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


def paths_changed(current: Mapping[str, Json], wanted: Mapping[str, Json]) -> frozenset[str]:
    """Return the paths of files that one of two documents has of a node, or of the whole, and the other has not."""
    here, there = _paths(current), _paths(wanted)
    changed = [name for name in here.keys() | there.keys() if here.get(name) != there.get(name)]
    return frozenset(one[name] for one in (here, there) for name in changed if name in one)


def _paths(document: Mapping[str, Json]) -> dict[str, str]:
    kept = {name: metadata_of(node) for name, node in Tree(document).nodes.items()}
    kept[""] = metadata_of(document)
    return {name: path for name, one in kept.items() if (path := text_of(one.get("file_path")))}


def differences(
    current: Mapping[str, Json], wanted: Mapping[str, Json], place: Place
) -> Differences:
    """Return what has to be done; both documents are whole trees."""
    here, there = Tree(current), Tree(wanted)
    return Differences(
        tuple(_structure(here, there)), tuple(_contents(current, wanted, here, there, place))
    )


def _structure(here: Tree, there: Tree) -> Iterator[Difference]:
    for name in there.reachable[1:]:
        parent = there.owner[name]
        if name not in here.nodes:
            change = NodeChange(node=name, field="", after=there.nodes[name].get("title"))
            yield Difference("add", change)
        elif here.owner.get(name) != parent:
            yield _found("move", name, "parent", here.owner.get(name), parent)
    for name in here.reachable[1:]:
        if name not in there.nodes and here.owner[name] in {*there.nodes, ROOT}:
            yield _found("remove", name, "", here.nodes[name].get("title"), None)


def _contents(
    current: Mapping[str, Json], wanted: Mapping[str, Json], here: Tree, there: Tree, place: Place
) -> Iterator[Difference]:
    yield from _written(ROOT, root_fields(current, place), root_fields(wanted, place))
    kinds = _kinds(here)
    for name in there.reachable[1:]:
        if name in here.nodes:
            usual = usual_type(kinds[name], is_in_task=kinds[here.owner[name]] == "task")
            before, after = (
                fields_of(name, one.nodes[name], metadata_of(one.nodes[name]), usual, place)
                for one in (here, there)
            )
            stands = {one.nodes[name].get("status") for one in (here, there)}
            yield from _written(name, before, after, OF_BLOCKERS if "blocked" in stands else ())
    yield from _orders(here, there)
    yield from _edges(here, there)
    yield from _statuses(here, there)
    yield from _entries(current, wanted)


def _entries(current: Mapping[str, Json], wanted: Mapping[str, Json]) -> Iterator[Difference]:
    """Return the entries that are in the wanted journal more often; who wrote them and when is not asked."""
    known = Counter(said_of(entry) for entry in items_of(current.get("journal")))
    for entry in items_of(wanted.get("journal")):
        said = said_of(entry)
        known[said] -= 1
        if known[said] < 0 and isinstance(entry, dict):
            name = text_of(object_of(entry).get("task_id")) or ROOT
            yield Difference("entry", NodeChange(node=name, field="journal", after=entry))


def _orders(here: Tree, there: Tree) -> Iterator[Difference]:
    for name in there.reachable:
        before = [kid for kid in here.kids.get(name, []) if there.owner.get(kid) == name]
        after = [kid for kid in there.kids[name] if here.owner.get(kid) == name]
        if before != after:
            yield _found("order", name, "children", list[Json](before), list[Json](after))


def _kinds(tree: Tree) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {ROOT: "spec"}
    for name in tree.reachable[1:]:
        kinds[name] = kind_of(tree.nodes[name], kinds[tree.owner[name]])
    return kinds


def _written(
    name: str, before: NodeFields, after: NodeFields, told: Collection[str] = ()
) -> Iterator[Difference]:
    """Return how the fields of a node differ; told: metadata that follows from how it stands."""
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
    for field in [one for one in {**old_values, **new_values} if one not in told]:
        old, new = old_values.get(field), new_values.get(field)
        if not same(old, new):
            shown = {TYPE: "type", KEPT: "fields"}.get(field, f"metadata.{field}")
            whole = before.attributes.get(field), after.attributes.get(field)
            yield _found("write", name, shown, *whole)


def _values(fields: NodeFields) -> dict[str, Json]:
    found = {name: value for name, value in fields.attributes.items() if name not in DERIVED}
    kept = object_of(found.get(KEPT))
    around = {k: v for k, v in object_of(kept.get("document")).items() if k != "generated"}
    kept = {**kept, "document": around} if around else {**kept}
    if not around:
        kept.pop("document", None)
    if kept:
        found[KEPT] = kept
    else:
        found.pop(KEPT, None)
    return found


def _edges(here: Tree, there: Tree) -> Iterator[Difference]:
    before, after = _needs(here), _needs(there)
    for name in there.reachable:
        if name not in here.nodes:
            continue
        old, new = (
            before[name],
            [one for one in after[name] if one not in there.nodes or one in here.nodes],
        )
        if set(old) != set(new):
            yield _found("write", name, "dependencies.blocked_by", sorted(old), sorted(new))
        soft = [dependencies_of(tree.nodes[name], "depends") for tree in (here, there)]
        if soft[0] != soft[1]:
            yield _found("write", name, "dependencies.depends", list(soft[0]), list(soft[1]))


def _needs(tree: Tree) -> dict[str, list[str]]:
    """Return what each node waits for: nodes, and what is outside of the spec by its own id."""
    inside = hard_needs(tree.nodes)
    return {
        name: [
            *(one for one in dependencies_of(node, "blocked_by") if one not in tree.nodes),
            *inside[name],
        ]
        for name, node in tree.nodes.items()
    }


def _statuses(here: Tree, there: Tree) -> Iterator[Difference]:
    """Return the words for how nodes stand: what is opened first, and what is completed after what it waits for."""
    place = {name: number for number, name in enumerate(finishing_order(there))}
    found: list[tuple[int, int, Difference]] = []
    for name in there.reachable[1:]:
        if name not in here.nodes:
            continue
        old, new = (text_of(tree.nodes[name].get("status")) for tree in (here, there))
        is_leaf = not (here.kids[name] or there.kids[name])
        has_ended = (old, new) == ("in_progress", "pending")
        if old == new or not (is_leaf or has_ended or "blocked" in {old, new}):
            continue
        rank = {"pending": 0 if is_leaf else 3, "blocked": 2}.get(new, 1)
        found.append((rank, place[name], _found("status", name, "status", old, new)))
    return (one for _, _, one in sorted(found, key=lambda one: one[:2]))


def finishing_order(tree: Tree) -> list[str]:
    """Return the nodes so that each comes after those below it and after what it, or what holds it, waits for.

    Nodes that wait for each other come last, in their order.
    """
    waits = moments(tree, _needs(tree))
    left = {moment: len(others) for moment, others in waits.items()}
    waiters: dict[str, list[str]] = {moment: [] for moment in waits}
    for moment, others in waits.items():
        for other in others:
            waiters[other].append(moment)
    free = [moment for moment, count in left.items() if not count]
    order: dict[str, None] = {}
    for moment in free:
        if moment.endswith(END):
            order[moment.removesuffix(END)] = None
        for waiter in waiters[moment]:
            left[waiter] -= 1
            if not left[waiter]:
                free.append(waiter)
    return list(order | dict.fromkeys(tree.reachable))


def _found(way: Way, name: str, field: str, before: Json, after: Json) -> Difference:
    return Difference(way, NodeChange(node=name, field=field, before=before, after=after))
