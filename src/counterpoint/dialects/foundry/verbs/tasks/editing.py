"""Edits of nodes' values, for one or for many."""

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
from counterpoint.dialects.foundry.verbs.queries import Nodes, get_spec
from counterpoint.dialects.foundry.verbs.reading import all_nodes, node_of
from counterpoint.dialects.foundry.verbs.tasks.edges import harden
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput

_DIGITS: Final = 9
_REQUIRE: Final = frozenset({"task", "subtask", "verify"})
"""Types of nodes that have requirements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFilter:
    """A selection of nodes; empty fields match all. pattern: a regular expression for ids and titles."""

    status: Status | str = ""
    parent: str = ""
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedNodes:
    """The outcome of an edit of many nodes: those that changed, and how many matched."""

    spec: str
    matched: int
    changed: tuple[EditedNode, ...]


class Editing:
    """Verbs that edit nodes' values."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def edit(
        self, spec: str, task: str, changes: Mapping[str, Json], *, dry_run: bool = False
    ) -> EditedNode:
        """Set values of a node: its title, texts and files, and any under a name of their own; None removes one.

        Raises NotFound, InvalidInput with every fault, Forbidden for whoever may not relax it, AlreadyClaimed.
        """
        if not changes:
            raise InvalidInput("nothing is to be changed", error_code="MISSING_REQUIRED")

        def act(context: Context) -> EditedNode:
            with context.reading() as view:
                nodes = Nodes(view, get_spec(view, spec))
                node = node_of(nodes, nodes.get(task))
            return _edit(context, nodes, node, _place_file(context, changes))

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
        """Set the estimate of a node, its complexity, or both; NotFound, InvalidInput for neither."""
        changes: dict[str, Json] = {}
        if hours is not None:
            changes[ESTIMATE] = hours
        if complexity is not None:
            changes[COMPLEXITY] = complexity
        return self.edit(spec, task, changes, dry_run=dry_run)

    def require(
        self, spec: str, task: str, sort: str, text: str, *, dry_run: bool = False
    ) -> tuple[EditedNode, dict[str, Json]]:
        """Add a requirement to a task, and return it; NotFound, InvalidInput for one too many, or no task, AlreadyClaimed."""

        def act(context: Context) -> tuple[EditedNode, dict[str, Json]]:
            with recording(context, "task.required") as change:
                change.open_session()
                nodes = Nodes(change.writing, get_spec(change.writing, spec))
                item = change.get(Item, nodes.get(task).id)
                change.subject = item.id
                refuse_other(change, item)
                node = node_of(nodes, item)
                if node.type not in _REQUIRE:
                    raise InvalidInput(f"a {node.type} has no requirements")
                requirements = items_of(attributes_of(change.writing, item.id).get(REQUIREMENTS))
                if len(requirements) >= MANY_REQUIREMENTS:
                    raise InvalidInput(
                        f"{node.id} has {MANY_REQUIREMENTS} requirements, which is the most"
                    )
                numbers = [
                    _number(text_of(object_of(requirement).get("id")))
                    for requirement in requirements
                ]
                requirement: dict[str, Json] = {
                    "id": f"req-{max(numbers, default=0) + 1}",
                    "type": sort,
                    "text": text,
                }
                after = [*requirements, requirement]
                set_attributes(change, item, {REQUIREMENTS: after})
                return _describe_edit(
                    nodes, node, {REQUIREMENTS: list(requirements)}, {REQUIREMENTS: after}
                ), requirement

        return perform(self._context, act, dry_run=dry_run)

    def edit_many(
        self, spec: str, chosen: NodeFilter, changes: Mapping[str, Json], *, dry_run: bool = False
    ) -> EditedNodes:
        """Set the same values of all matching nodes; nodes that have them already are passed over.

        Raises NotFound for spec or parent, InvalidInput for the pattern or with every fault, AlreadyClaimed.
        """

        def act(context: Context) -> EditedNodes:
            with context.reading() as view:
                nodes = Nodes(view, get_spec(view, spec))
                matched = _select_nodes(nodes, chosen)
            placed_changes = _place_file(context, changes)
            with joined(context):
                changed = [_edit(context, nodes, node, placed_changes) for node in matched]
            return EditedNodes(
                spec=nodes.spec,
                matched=len(matched),
                changed=tuple(node for node in changed if node.after),
            )

        return perform(self._context, act, dry_run=dry_run)

    def mend_verification(self, spec: str, *, dry_run: bool = False) -> EditedNodes:
        """Give each verification a known type: `run-tests` where it has none, `manual` where it has another."""

        def act(context: Context) -> EditedNodes:
            with context.reading() as view:
                nodes = Nodes(view, get_spec(view, spec))
                verifications = [node for node in all_nodes(nodes) if node.type == "verify"]
            wrong = [
                node
                for node in verifications
                if node.metadata.get(VERIFICATION_TYPE) not in VERIFICATION_TYPES
            ]
            with joined(context):
                changed = [
                    _edit(context, nodes, node, {VERIFICATION_TYPE: _fallback_type(node)})
                    for node in wrong
                ]
            return EditedNodes(spec=nodes.spec, matched=len(wrong), changed=tuple(changed))

        return perform(self._context, act, dry_run=dry_run)


def _place_file(context: Context, changes: Mapping[str, Json]) -> Mapping[str, Json]:
    path = changes.get("file_path")
    return {**changes, "file_path": placed(context, path)} if isinstance(path, str) else changes


def _fallback_type(node: Node) -> str:
    return "manual" if node.metadata.get(VERIFICATION_TYPE) else "run-tests"


def _edit(context: Context, nodes: Nodes, node: Node, changes: Mapping[str, Json]) -> EditedNode:
    now: dict[str, Json] = {**node.metadata, "title": node.item.title}
    differing = {
        name: value
        for name, value in changes.items()
        if now.get(name) != value or (name not in now and value is not None)
    }
    edit = values_of(differing)
    if not differing:
        return _describe_edit(nodes, node, {}, {})
    with joined(context):
        with recording(context, "task.looked") as change:
            refuse_other(change, node.item)
        areas = None
        if edit.file_path is not None:
            with context.reading() as view:
                old = [area.pattern for area in view.select(Area, item=node.item.id)]
            areas = (edit.file_path, *old[1:])
        Items(context).edit(
            node.item.id,
            Edit(
                title=edit.title,
                body=edit.body,
                areas=areas,
                acceptance=edit.acceptance,
                attributes=edit.kept,
            ),
        )
        mode = edit.kept.get(BLOCKING_MODE)
        if node.type == "research" and isinstance(mode, str):
            with recording(context, "dependency.changed", node.item.id) as change:
                within = Nodes(change.writing, nodes.root)
                harden(change, within, change.get(Item, node.item.id), mode)
    return _describe_edit(nodes, node, {name: now.get(name) for name in differing}, differing)


def _describe_edit(
    nodes: Nodes, node: Node, before: Mapping[str, Json], after: Mapping[str, Json]
) -> EditedNode:
    return EditedNode(
        spec=nodes.spec,
        id=node.id,
        title=node.item.title,
        type=node.type,
        status=node.status,
        before=before,
        after=after,
        now=node.metadata,
    )


def _select_nodes(nodes: Nodes, chosen: NodeFilter) -> Sequence[Node]:
    parent = nodes.id(nodes.get(chosen.parent, "NOT_FOUND").id) if chosen.parent else ""
    fits = _parse_pattern(chosen.pattern) if chosen.pattern else None
    return [
        node
        for node in all_nodes(nodes)
        if node.type in LEAF_TYPES
        and chosen.status in {"", node.status}
        and parent in {"", node.parent}
        and (fits is None or fits.matches(node.id) or fits.matches(node.item.title))
    ]


def _parse_pattern(text: str) -> Pattern:
    """Parse a pattern that may match anywhere in a line; InvalidInput."""
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
