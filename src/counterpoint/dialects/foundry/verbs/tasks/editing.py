"""What is kept with nodes, changed for one or for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import Area, Item
from counterpoint.core.operations.closing.standing import refuse_other
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.rules.templating.patterns import Pattern
from counterpoint.dialects.foundry.nouns.nodes import Node, Status
from counterpoint.dialects.foundry.nouns.tasks import (
    BLOCKING_MODE,
    COMPLEXITY,
    ESTIMATE,
    MANY_REQUIREMENTS,
    REQUIREMENTS,
    VERIFICATION_TYPE,
    EditedNode,
)
from counterpoint.dialects.foundry.rules.editing.values import values_of
from counterpoint.dialects.foundry.rules.shape import (
    LEAF_TYPES,
    VERIFICATION_TYPES,
    items_of,
    text_of,
)
from counterpoint.dialects.foundry.verbs.performing import perform
from counterpoint.dialects.foundry.verbs.placing import placed
from counterpoint.dialects.foundry.verbs.queries import Nodes, spec_named
from counterpoint.dialects.foundry.verbs.reading import all_nodes, node_of
from counterpoint.dialects.foundry.verbs.tasks.edges import harden
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput

_DIGITS: Final = 9
_REQUIRE: Final = frozenset({"task", "subtask", "verify"})
"""Types of nodes that have requirements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFilter:
    """Which nodes many are chosen by; empty fields ask for all. pattern: a regular expression for ids and titles."""

    status: Status | str = ""
    parent: str = ""
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedNodes:
    """What a change of many did: the nodes that it changed, and how many fitted."""

    spec: str
    matched: int
    changed: tuple[EditedNode, ...]


class Editing:
    """Verbs that change what is kept with nodes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def edit(
        self, spec: str, task: str, given: Mapping[str, Json], *, dry_run: bool = False
    ) -> EditedNode:
        """Give a node values: its title, texts and files, and any under a name of their own; None takes one away.

        Raises NotFound, InvalidInput with every fault, Forbidden for who may not ask less of it, AlreadyClaimed.
        """
        if not given:
            raise InvalidInput("nothing is to be changed", error_code="MISSING_REQUIRED")

        def act(context: Context) -> EditedNode:
            with context.reading() as view:
                known = Nodes(view, spec_named(view, spec))
                node = node_of(known, known.named(task))
            return _edit(context, known, node, _placed(context, given))

        return perform(self._context, act, dry_run=dry_run)

    def estimate(
        self,
        spec: str,
        task: str,
        hours: float | None,
        complexity: str | None,
        *,
        dry_run: bool = False,
    ) -> EditedNode:
        """Say how long a node takes, or how hard it is, or both; NotFound, InvalidInput for neither."""
        given: dict[str, Json] = {}
        if hours is not None:
            given[ESTIMATE] = hours
        if complexity is not None:
            given[COMPLEXITY] = complexity
        return self.edit(spec, task, given, dry_run=dry_run)

    def require(
        self, spec: str, task: str, sort: str, text: str, *, dry_run: bool = False
    ) -> tuple[EditedNode, dict[str, Json]]:
        """Give a task a requirement, which it answers; NotFound, InvalidInput for one too many, or no task, AlreadyClaimed."""

        def act(context: Context) -> tuple[EditedNode, dict[str, Json]]:
            with recording(context, "task.required") as change:
                change.open_session()
                known = Nodes(change.writing, spec_named(change.writing, spec))
                item = change.get(Item, known.named(task).id)
                change.subject = item.id
                refuse_other(change, item)
                node = node_of(known, item)
                if node.type not in _REQUIRE:
                    raise InvalidInput(f"a {node.type} has no requirements")
                kept = items_of(attributes_of(change.writing, item.id).get(REQUIREMENTS))
                if len(kept) >= MANY_REQUIREMENTS:
                    raise InvalidInput(
                        f"{node.id} has {MANY_REQUIREMENTS} requirements, which is the most"
                    )
                numbers = [_number(text_of(object_of(one).get("id"))) for one in kept]
                made: dict[str, Json] = {
                    "id": f"req-{max(numbers, default=0) + 1}",
                    "type": sort,
                    "text": text,
                }
                after = [*kept, made]
                set_attributes(change, item, {REQUIREMENTS: after})
                return _edited(known, node, {REQUIREMENTS: list(kept)}, {REQUIREMENTS: after}), made

        return perform(self._context, act, dry_run=dry_run)

    def edit_many(
        self, spec: str, chosen: NodeFilter, given: Mapping[str, Json], *, dry_run: bool = False
    ) -> EditedNodes:
        """Give all nodes that fit the same values; what has them already is passed over.

        Raises NotFound for spec or parent, InvalidInput for the pattern or with every fault, AlreadyClaimed.
        """

        def act(context: Context) -> EditedNodes:
            with context.reading() as view:
                known = Nodes(view, spec_named(view, spec))
                matched = _chosen(known, chosen)
            wanted = _placed(context, given)
            with joined(context):
                changed = [_edit(context, known, node, wanted) for node in matched]
            return EditedNodes(
                spec=known.spec,
                matched=len(matched),
                changed=tuple(one for one in changed if one.after),
            )

        return perform(self._context, act, dry_run=dry_run)

    def mend_verification(self, spec: str, *, dry_run: bool = False) -> EditedNodes:
        """Give each verification a type that there is: tests are run where none was said, people look where it is another."""

        def act(context: Context) -> EditedNodes:
            with context.reading() as view:
                known = Nodes(view, spec_named(view, spec))
                found = [node for node in all_nodes(known) if node.type == "verify"]
            wrong = [
                node
                for node in found
                if node.metadata.get(VERIFICATION_TYPE) not in VERIFICATION_TYPES
            ]
            with joined(context):
                changed = [
                    _edit(context, known, node, {VERIFICATION_TYPE: _mended(node)})
                    for node in wrong
                ]
            return EditedNodes(spec=known.spec, matched=len(wrong), changed=tuple(changed))

        return perform(self._context, act, dry_run=dry_run)


def _placed(context: Context, given: Mapping[str, Json]) -> Mapping[str, Json]:
    path = given.get("file_path")
    return {**given, "file_path": placed(context, path)} if isinstance(path, str) else given


def _mended(node: Node) -> str:
    return "manual" if node.metadata.get(VERIFICATION_TYPE) else "run-tests"


def _edit(context: Context, known: Nodes, node: Node, given: Mapping[str, Json]) -> EditedNode:
    now: dict[str, Json] = {**node.metadata, "title": node.item.title}
    differing = {
        name: value
        for name, value in given.items()
        if now.get(name) != value or (name not in now and value is not None)
    }
    wanted = values_of(differing)
    if not differing:
        return _edited(known, node, {}, {})
    with joined(context):
        with recording(context, "task.looked") as change:
            refuse_other(change, node.item)
        areas = None
        if wanted.file_path is not None:
            with context.reading() as view:
                old = [one.pattern for one in view.select(Area, item=node.item.id)]
            areas = (wanted.file_path, *old[1:])
        Items(context).edit(
            node.item.id,
            Edit(
                title=wanted.title,
                body=wanted.body,
                areas=areas,
                acceptance=wanted.acceptance,
                attributes=wanted.kept,
            ),
        )
        mode = wanted.kept.get(BLOCKING_MODE)
        if node.type == "research" and isinstance(mode, str):
            with recording(context, "dependency.changed", node.item.id) as change:
                within = Nodes(change.writing, known.root)
                harden(change, within, change.get(Item, node.item.id), mode)
    return _edited(known, node, {name: now.get(name) for name in differing}, differing)


def _edited(
    known: Nodes, node: Node, before: Mapping[str, Json], after: Mapping[str, Json]
) -> EditedNode:
    return EditedNode(
        spec=known.spec,
        id=node.id,
        title=node.item.title,
        type=node.type,
        status=node.status,
        before=before,
        after=after,
        now=node.metadata,
    )


def _chosen(known: Nodes, chosen: NodeFilter) -> Sequence[Node]:
    parent = known.id(known.named(chosen.parent, "NOT_FOUND").id) if chosen.parent else ""
    fits = _pattern(chosen.pattern) if chosen.pattern else None
    return [
        node
        for node in all_nodes(known)
        if node.type in LEAF_TYPES
        and chosen.status in {"", node.status}
        and parent in {"", node.parent}
        and (fits is None or fits.matches(node.id) or fits.matches(node.item.title))
    ]


def _pattern(text: str) -> Pattern:
    """Return a pattern that is looked for anywhere in a line; InvalidInput."""
    try:
        Pattern(text)
        return Pattern(f"(?s:.*(?:{text}).*)")
    except InvalidInput as fault:
        raise InvalidInput(
            fault.message, hint=fault.hint, error_code="INVALID_REGEX_PATTERN"
        ) from None


def _number(name: str) -> int:
    digits = name.removeprefix("req-")
    return int(digits) if digits.isdecimal() and len(digits) <= _DIGITS else 0
