"""Adds, moves and removes nodes of a spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import Alias, Attribute, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import set_attributes, value_of
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.nodes import DEPENDS, NODE, ROOT, TYPE, NodeType
from counterpoint.dialects.foundry.nouns.tasks import AddedNode, MovedNode, NodeDraft, RemovedNode
from counterpoint.dialects.foundry.rules.numbering import next_node_id
from counterpoint.dialects.foundry.rules.shape import texts_of
from counterpoint.dialects.foundry.rules.standing import is_node, status_of
from counterpoint.dialects.foundry.verbs.holding import refuse_held_at, refuse_held_over
from counterpoint.dialects.foundry.verbs.performing import perform
from counterpoint.dialects.foundry.verbs.placing import placed
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks, get_spec, node_name
from counterpoint.dialects.foundry.verbs.reading import node_of
from counterpoint.dialects.foundry.verbs.removing import take_out
from counterpoint.dialects.foundry.verbs.tasks.moving import type_in
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Conflict, InvalidInput
from counterpoint.kernel.plurals import counted

_HOLD: Final = frozenset({"phase", "group", "task", "subtask"})
"""Types of nodes that may hold others."""


class Shaping:
    """Verbs that change the tree of a spec."""

    def __init__(self, context: Context) -> None:
        self._context = context

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
