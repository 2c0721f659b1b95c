"""Adds, moves, links, edits and removes tasks.

Dependencies of nodes: added, removed, and listed.
Rules: (1) `blocks` and `blocked_by` are one edge of the core, told from either end. (2) `depends` holds nothing back: it is
kept with the node that has it. (3) A research node stops what waits for it only where its `blocking_mode` is hard: any other
edge from it is kept as a soft one. (4) No circle of either sort is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final, Literal

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import Alias, Area, Attribute, Dependency, Item
from counterpoint.core.operations.closing.part_status import refuse_other
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes, value_of
from counterpoint.core.operations.recording.links import depend, undepend
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.templating.reading import Pattern
from counterpoint.dialects.foundry.models.specs import (
    DEPENDS,
    NODE,
    ROOT,
    TYPE,
    Node,
    NodeType,
    Status,
)
from counterpoint.dialects.foundry.models.tasks import (
    BLOCKING_MODE,
    COMPLEXITY,
    ESTIMATE,
    MANY_REQUIREMENTS,
    REQUIREMENTS,
    VERIFICATION_TYPE,
    AddedNode,
    Edges,
    EditedNode,
    Linked,
    MovedNode,
    NodeDraft,
    RemovedNode,
)
from counterpoint.dialects.foundry.nodes.queries import (
    Nodes,
    all_nodes,
    chunks,
    get_spec,
    node_name,
    node_of,
)
from counterpoint.dialects.foundry.nodes.rules.progress import is_node, status_of
from counterpoint.dialects.foundry.nodes.rules.shape import (
    LEAF_TYPES,
    VERIFICATION_TYPES,
    items_of,
    next_node_id,
    text_of,
    texts_of,
)
from counterpoint.dialects.foundry.nodes.writing import (
    perform,
    placed,
    refuse_held_at,
    refuse_held_over,
    take_out,
)
from counterpoint.dialects.foundry.tasks.moving import type_in
from counterpoint.dialects.foundry.tasks.rules import values_of
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import Conflict, CyclicDependency, InvalidInput, NotFound
from counterpoint.kernel.plurals import counted

DependencyType = Literal["blocks", "blocked_by", "depends"]
_MAX_VISITED = 2_000
"""How many nodes a way is looked for among."""


class Linking(Verbs):
    """Verbs for the dependencies of nodes."""

    def add(
        self, spec: str, source: str, target: str, sort: DependencyType, *, dry_run: bool = False
    ) -> Linked:
        """Let a node block another, be blocked by it, or depend on it softly.

        Raises NotFound, InvalidInput for the same node twice, Conflict for one that exists, CyclicDependency with the path,
        AlreadyClaimed for a node that another agent holds.
        """

        def act(change: Change, nodes: Nodes, first: Item, other: Item) -> None:
            if first.id == other.id:
                raise InvalidInput(f"{source} cannot wait for itself", error_code="SELF_REFERENCE")
            item, needs = (other, first) if sort == "blocks" else (first, other)
            if has_edge(change.writing, item, needs, sort):
                raise Conflict(
                    f"{source} has this dependency on {target} already",
                    error_code="DUPLICATE_ENTRY",
                )
            if sort != "depends" and is_stopping(change.writing, needs):
                refuse_held_at(change, item)
            else:
                refuse_other(change, item)
            link(change, nodes, item, needs, is_hard=sort != "depends")

        return self._change(spec, source, target, act, dry_run=dry_run)

    def remove(
        self, spec: str, source: str, target: str, sort: DependencyType, *, dry_run: bool = False
    ) -> Linked:
        """Remove a dependency; NotFound if there is none, AlreadyClaimed for a soft one of a node that another agent holds."""

        def act(change: Change, _known: Nodes, first: Item, other: Item) -> None:
            item, needs = (other, first) if sort == "blocks" else (first, other)
            if change.find(Dependency, item.id, needs.id) is not None and sort != "depends":
                undepend(change, item, needs.id)
            elif has_edge(change.writing, item, needs, sort):
                refuse_other(change, item)
                remaining = [name for name in soft_of(change.writing, item.id) if name != needs.id]
                set_attributes(change, item, {DEPENDS: [*remaining] or None})
            else:
                raise NotFound(
                    f"{source} has no such dependency on {target}",
                    error_code="DEPENDENCY_NOT_FOUND",
                )

        return self._change(spec, source, target, act, dry_run=dry_run)

    def _change(
        self,
        spec: str,
        source: str,
        target: str,
        act: Callable[[Change, Nodes, Item, Item], None],
        *,
        dry_run: bool,
    ) -> Linked:
        def run(context: Context) -> Linked:
            with recording(context, "dependency.changed") as change:
                change.open_session()
                nodes = Nodes(change.writing, get_spec(change.writing, spec))
                first, other = (change.get(Item, nodes.get(name).id) for name in (source, target))
                if nodes.root.id in {first.id, other.id}:
                    raise InvalidInput(f"nothing waits for the whole spec {nodes.spec}")
                change.subject = first.id
                act(change, nodes, first, other)
                return Linked(
                    spec=nodes.spec,
                    source=nodes.id(first.id),
                    target=nodes.id(other.id),
                    source_edges=edges_of(nodes, first.id),
                    target_edges=edges_of(nodes, other.id),
                )

        return perform(self._context, run, dry_run=dry_run)


def link(change: Change, nodes: Nodes, item: Item, needs: Item, *, is_hard: bool) -> None:
    """Let a node wait for another, softly where that stops nothing; CyclicDependency with the path."""
    if is_hard and is_stopping(change.writing, needs):
        try:
            depend(change, item, needs)
        except CyclicDependency as fault:
            path = _find_path(needs.id, item.id, lambda name: _list_needs(change.writing, name))
            raise _report_circle(nodes, item, path) if path else fault from None
        return
    path = _find_path(needs.id, item.id, lambda name: soft_of(change.writing, name))
    if path:
        raise _report_circle(nodes, item, path)
    depends = soft_of(change.writing, item.id)
    set_attributes(change, item, {DEPENDS: [*depends, needs.id]})


def has_edge(view: Reading, item: Item, needs: Item, sort: DependencyType) -> bool:
    """Return whether a node waits for another; soft edges count where no other kind is possible."""
    if sort == "depends" or not is_stopping(view, needs):
        return needs.id in soft_of(view, item.id)
    return view.find(Dependency, item.id, needs.id) is not None


def is_stopping(view: Reading, needs: Item) -> bool:
    """Return whether a node holds back its dependents: research does only where it says so."""
    attributes = attributes_of(view, needs.id)
    return attributes.get(TYPE) != "research" or attributes.get(BLOCKING_MODE) == "hard"


def harden(change: Change, nodes: Nodes, item: Item, mode: str) -> None:
    """Apply the new `blocking_mode` of a research node to its dependents."""
    if mode == "hard":
        for name in _list_soft_dependents(change, item.id):
            depends = [other for other in soft_of(change.writing, name) if other != item.id]
            waiting = change.get(Item, name)
            refuse_held_at(change, waiting)
            set_attributes(change, waiting, {DEPENDS: [*depends] or None})
            link(change, nodes, waiting, item, is_hard=True)
        return
    for edge in change.select(Dependency, needs=item.id):
        waiting = undepend(change, change.get(Item, edge.item), item.id)
        depends = soft_of(change.writing, waiting.id)
        set_attributes(change, waiting, {DEPENDS: [*depends, item.id]})


def soft_of(view: Reading, item: str) -> list[str]:
    """Return the ids of the items that a node depends on softly."""
    attribute = view.find(Attribute, item, DEPENDS)
    return texts_of(value_of(attribute)) if attribute else []


def edges_of(nodes: Nodes, item: str) -> Edges:
    """Return what a node waits for and what waits for it."""
    view = nodes.view
    blocks = [edge.item for edge in view.select(Dependency, needs=item)]
    blocked_by = [edge.needs for edge in view.select(Dependency, item=item)]
    depends = soft_of(view, item)
    names = nodes.ids([*blocks, *blocked_by, *depends])
    return Edges(
        blocks=tuple(names[item_id] for item_id in blocks),
        blocked_by=tuple(names[item_id] for item_id in blocked_by),
        depends=tuple(names[item_id] for item_id in depends),
    )


def _list_soft_dependents(change: Change, item: str) -> list[str]:
    holders = [name for (name,) in change.writing.cells(Attribute, ("item",), name=DEPENDS)]
    return [name for name in holders if item in soft_of(change.writing, name)]


def _list_needs(view: Reading, item: str) -> Iterable[str]:
    return [edge.needs for edge in view.select(Dependency, item=item)]


def _find_path(start: str, goal: str, onward: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the shortest path from an item to another; empty without one."""
    before: dict[str, str] = {start: ""}
    waiting = [start]
    for current in waiting:
        if current == goal:
            path = [current]
            while before[path[-1]]:
                path.append(before[path[-1]])
            return path[::-1]
        if len(before) > _MAX_VISITED:
            break
        for name in onward(current):
            if name not in before:
                before[name] = current
                waiting.append(name)
    return []


def _report_circle(nodes: Nodes, item: Item, cycle: list[str]) -> CyclicDependency:
    names = nodes.ids([item.id, *cycle])
    path = [names[item_id] for item_id in (item.id, *cycle)]
    return CyclicDependency(f"these would wait for each other: {' → '.join(path)}", path=[*path])


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


class Editing(Verbs):
    """Verbs that edit nodes' values."""

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
            with transaction(context):
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
            with transaction(context):
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
    with transaction(context):
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


_HOLD: Final = frozenset({"phase", "group", "task", "subtask"})
"""Types of nodes that may hold others."""


class Shaping(Verbs):
    """Verbs that change the tree of a spec."""

    def add(self, spec: str, draft: NodeDraft, *, dry_run: bool = False) -> AddedNode:
        """Add a node below another, with the next free number of its phase.

        Raises NotFound, InvalidInput for the parent or the position, Conflict below an ended node, PathOutside, AlreadyClaimed
        below a node that another agent holds.
        """
        draft = replace(draft, file_path=placed(self._context, draft.file_path))
        return perform(
            self._context, lambda context: _add_node(context, spec, draft), dry_run=dry_run
        )

    def remove(
        self, spec: str, task: str, *, cascade: bool = False, dry_run: bool = False
    ) -> RemovedNode:
        """Remove a node with all below it; completed work stays in the history.

        Raises NotFound, InvalidInput for one with children without `cascade`, AlreadyClaimed.
        """

        def act(context: Context) -> RemovedNode:
            with recording(context, "task.removed") as change:
                change.open_session()
                return _remove_node(change, spec, task, cascade=cascade)

        return perform(self._context, act, dry_run=dry_run)

    def move(
        self,
        spec: str,
        task: str,
        parent: str = "",
        position: int | None = None,
        *,
        dry_run: bool = False,
    ) -> MovedNode:
        """Move a node below another one, or to a position, counted from 1, or both; its id stays.

        Raises NotFound, InvalidInput for the parent or the position, CyclicDependency below itself, AlreadyClaimed.
        """
        if not parent and position is None:
            raise InvalidInput("say where to: give `parent`, `position` or both")
        return perform(
            self._context,
            lambda context: _move_node(context, spec, task, parent, position),
            dry_run=dry_run,
        )


def _add_node(context: Context, spec: str, node_draft: NodeDraft) -> AddedNode:
    # Opened here so that nobody takes the number before the node is made.
    with recording(context, "task.named") as change:
        change.open_session()
        nodes = Nodes(change.writing, get_spec(change.writing, spec))
        above = nodes.get(node_draft.parent, "NOT_FOUND")
        _refuse_parent(nodes, above)
        _refuse_closed(nodes, above)
        refuse_held_over(change, above)
        name = _free_id(nodes, above, node_draft.type)
        change.add_facts(node=name)
    usual = "subtask" if above.is_workable else "task"
    attributes = dict(node_draft.kept)
    if node_draft.type not in {usual, "task"}:
        attributes[TYPE] = node_draft.type
    draft = Draft(
        kind="task",
        title=node_draft.title,
        body=node_draft.description,
        areas=(node_draft.file_path,) if node_draft.file_path else (),
        aliases=((NODE, node_name(nodes.spec, name)),),
        attributes=attributes,
    )
    item = Plans(context).create(draft, above.id).root
    with context.reading() as view:
        line = _list_children(view, above.id)
        position = _find_position(view, line[:-1], node_draft)
    if position < len(line) - 1:
        _set_position(context, item, line, position)
    return AddedNode(spec=nodes.spec, id=name, parent=nodes.id(above.id), position=position)


def _find_position(view: Reading, line: Sequence[Item], draft: NodeDraft) -> int:
    """Return the position of a new node among its siblings: the requested one, else the last, but before verifications."""
    if draft.position is not None:
        _refuse_place(draft.position, len(line), first=0)
        return draft.position
    verifications = takewhile(lambda node: type_in(view, node) == "verify", reversed(line))
    return len(line) - (0 if draft.type == "verify" else sum(1 for _ in verifications))


def _remove_node(change: Change, spec: str, task: str, *, cascade: bool) -> RemovedNode:
    nodes = Nodes(change.writing, get_spec(change.writing, spec))
    item = nodes.get(task)
    change.subject = item.id
    name = nodes.id(item.id)
    if not item.is_workable or not item.parent:
        raise InvalidInput(f"{name} is a {type_in(change.writing, item)}, and no task")
    node = node_of(nodes, item)
    if node.children and not cascade:
        raise InvalidInput(
            f"{name} has {counted(len(node.children), 'node')} below it",
            hint="Remove them with `cascade`.",
        )
    below = nodes.below([item])
    gone = {item.id, *(node.id for some in below.values() for node in some)}
    take_out(change, item, "removed from the spec")
    _drop_soft_edges(change, gone)
    change.add_facts(removed=sorted(gone)[:50])
    return RemovedNode(
        spec=nodes.spec, id=name, children=len(node.children), leaves=node.tally.total
    )


def _drop_soft_edges(change: Change, gone: set[str]) -> None:
    """Remove soft dependencies on nodes that are gone."""
    holders = [name for (name,) in change.writing.cells(Attribute, ("item",), name=DEPENDS)]
    for name in holders:
        depends = texts_of(value_of(change.get(Attribute, name, DEPENDS)))
        remaining = [item_id for item_id in depends if item_id not in gone]
        if remaining != depends:
            set_attributes(change, change.get(Item, name), {DEPENDS: [*remaining] or None})


def _move_node(
    context: Context, spec: str, task: str, parent: str, position: int | None
) -> MovedNode:
    with recording(context, "task.looked") as change:
        view = change.writing
        nodes = Nodes(view, get_spec(view, spec))
        item = nodes.get(task)
        refuse_held_at(change, item)
        if not item.is_workable or not item.parent:
            raise InvalidInput(f"{nodes.id(item.id)} is a {type_in(view, item)}, and no task")
        goal = nodes.find(parent) if parent else nodes.get(nodes.id(item.parent))
        if goal is None:
            raise InvalidInput(f"there is no node {parent!r}", error_code="INVALID_PARENT")
        _refuse_parent(nodes, goal)
        if goal.id != item.parent:
            refuse_held_over(change, goal)
            if not item.is_closed:
                _refuse_closed(nodes, goal)
        before = [sibling.id for sibling in _list_children(view, item.parent)].index(item.id) + 1
        others = [sibling for sibling in _list_children(view, goal.id) if sibling.id != item.id]
        size = 1 + sum(map(len, nodes.below([item]).values()))
    moves = goal.id != item.parent
    stays = len(others) + 1 if moves else before
    target = position if position is not None else stays
    _refuse_place(target - 1, len(others), first=1)
    if moves:
        Items(context).edit(item.id, Edit(parent=goal.id))
    with context.reading() as view:
        line = _list_children(view, goal.id)
    if [sibling.id for sibling in line].index(item.id) != target - 1:
        _set_position(context, item, line, target - 1)
    return MovedNode(
        spec=nodes.spec,
        id=nodes.id(item.id),
        origin=nodes.id(item.parent),
        goal=nodes.id(goal.id),
        before=before,
        after=target,
        size=size,
    )


def _set_position(context: Context, item: Item, line: Sequence[Item], position: int) -> None:
    """Set an item's position, from 0, among the nodes beside it; the core counts removed nodes too."""
    others = [sibling for sibling in line if sibling.id != item.id]
    with context.reading() as view:
        beside = view.select(Item, parent=line[0].parent, order="position,number")
    order = [sibling.id for sibling in beside if sibling.id != item.id]
    core = order.index(others[position].id) if position < len(others) else len(order)
    Items(context).edit(item.id, Edit(position=core))


def _list_children(view: Reading, parent: str) -> list[Item]:
    """Return the nodes directly below one, in their order."""
    return [
        item for item in view.select(Item, parent=parent, order="position,number") if is_node(item)
    ]


def _refuse_parent(nodes: Nodes, above: Item) -> None:
    kind = type_in(nodes.view, above)
    if kind not in _HOLD:
        what = "spec" if above.id == nodes.root.id else kind
        raise InvalidInput(
            f"a {what} holds no tasks",
            hint="Give a phase, a group or a task.",
            error_code="INVALID_PARENT",
        )


def _refuse_closed(nodes: Nodes, above: Item) -> None:
    """Raise Conflict where no work can be added, since the parent has ended."""
    if above.is_closed:
        raise Conflict(
            f"{nodes.id(above.id)} is {status_of(above.category)}: nothing is put below it",
            hint=f"{Act.REOPEN} first, or choose another parent.",
        )


def _refuse_place(position: int, last: int, *, first: int) -> None:
    """Raise InvalidInput unless a position, from 0, exists; first: what callers count from."""
    if not 0 <= position <= last:
        raise InvalidInput(
            f"there is no position {position + first}",
            hint=f"Give one from {first} to {last + first}.",
            error_code="INVALID_POSITION",
        )


def _free_id(nodes: Nodes, above: Item, node_type: NodeType) -> str:
    """Return the next free id of a type below a node; numbers of nodes that were removed are not given again."""
    parent = nodes.id(above.id)
    parent = "phase-0" if parent == ROOT else parent
    taken: list[str] = []
    below = [name for (name,) in nodes.view.cells(Item, ("id",), parent=above.id)]
    for some in chunks(below):
        aliases = nodes.view.select(Alias, item=some, order="item")
        taken += [alias.name for alias in aliases if alias.scope == NODE]
    names = [alias_name.removeprefix(f"{nodes.spec}/") for alias_name in taken]
    while True:
        name = next_node_id(node_type, parent, names)
        # A node that was moved away keeps its id.
        if nodes.view.find(Alias, NODE, node_name(nodes.spec, name)) is None:
            return name
        names.append(name)
