"""Nodes added to a spec, moved in it, and taken out of it."""

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
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks, node_name, spec_named
from counterpoint.dialects.foundry.verbs.reading import node_of
from counterpoint.dialects.foundry.verbs.removing import take_out
from counterpoint.dialects.foundry.verbs.tasks.moving import type_in
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Conflict, InvalidInput

_HOLD: Final = frozenset({"phase", "group", "task", "subtask"})
"""Types of nodes that may hold others."""


class Shaping:
    """Verbs that change which nodes a spec has, and where."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(self, spec: str, asked: NodeDraft, *, dry_run: bool = False) -> AddedNode:
        """Make a node below another, with the next free number of its phase.

        Raises NotFound, InvalidInput for the parent or the place, Conflict below what has ended, PathOutside, AlreadyClaimed
        below what somebody else is at.
        """
        asked = replace(asked, file_path=placed(self._context, asked.file_path))
        return perform(self._context, lambda context: _add(context, spec, asked), dry_run=dry_run)

    def remove(
        self, spec: str, task: str, *, cascade: bool = False, dry_run: bool = False
    ) -> RemovedNode:
        """Take a node out with all below it; what was done stays in the history.

        Raises NotFound, InvalidInput for one with children unless they go too, AlreadyClaimed.
        """

        def act(context: Context) -> RemovedNode:
            with recording(context, "task.removed") as change:
                change.open_session()
                return _remove(change, spec, task, cascade=cascade)

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
        """Move a node below another one, or to a place, counted from 1, or both; its id stays.

        Raises NotFound, InvalidInput for the parent or the place, CyclicDependency below itself, AlreadyClaimed.
        """
        if not parent and position is None:
            raise InvalidInput("say where to: give `parent`, `position` or both")
        return perform(
            self._context,
            lambda context: _move(context, spec, task, parent, position),
            dry_run=dry_run,
        )


def _add(context: Context, spec: str, asked: NodeDraft) -> AddedNode:
    # Opened here so that nobody takes the number between the look and the making.
    with recording(context, "task.named") as change:
        change.open_session()
        known = Nodes(change.writing, spec_named(change.writing, spec))
        above = known.named(asked.parent, "NOT_FOUND")
        _refuse_parent(known, above)
        _refuse_closed(known, above)
        refuse_held_over(change, above)
        name = _free_id(known, above, asked.type)
        change.add_facts(node=name)
    usual = "subtask" if above.is_workable else "task"
    kept = dict(asked.kept)
    if asked.type not in {usual, "task"}:
        kept[TYPE] = asked.type
    draft = Draft(
        kind="task",
        title=asked.title,
        body=asked.description,
        areas=(asked.file_path,) if asked.file_path else (),
        aliases=((NODE, node_name(known.spec, name)),),
        attributes=kept,
    )
    made = Plans(context).create(draft, above.id).root
    with context.reading() as view:
        line = _line(view, above.id)
        place = _place_of(view, line[:-1], asked)
    if place < len(line) - 1:
        _place(context, made, line, place)
    return AddedNode(spec=known.spec, id=name, parent=known.id(above.id), position=place)


def _place_of(view: Reading, line: Sequence[Item], asked: NodeDraft) -> int:
    """Return where a node comes among its siblings: where it was asked for, else the last, but before what verifies them."""
    if asked.position is not None:
        _refuse_place(asked.position, len(line), first=0)
        return asked.position
    ending = takewhile(lambda one: type_in(view, one) == "verify", reversed(line))
    return len(line) - (0 if asked.type == "verify" else sum(1 for _ in ending))


def _remove(change: Change, spec: str, task: str, *, cascade: bool) -> RemovedNode:
    known = Nodes(change.writing, spec_named(change.writing, spec))
    item = known.named(task)
    change.subject = item.id
    name = known.id(item.id)
    if not item.is_workable or not item.parent:
        raise InvalidInput(f"{name} is a {type_in(change.writing, item)}, and no task")
    node = node_of(known, item)
    if node.children and not cascade:
        raise InvalidInput(
            f"{name} has {len(node.children)} nodes below it", hint="Remove them with `cascade`."
        )
    below = known.below([item])
    gone = {item.id, *(one.id for some in below.values() for one in some)}
    take_out(change, item, "removed from the spec")
    _forget(change, gone)
    change.add_facts(removed=sorted(gone)[:50])
    return RemovedNode(
        spec=known.spec, id=name, children=len(node.children), leaves=node.tally.total
    )


def _forget(change: Change, gone: set[str]) -> None:
    """Let nothing depend softly on what is no node any more."""
    holders = [name for (name,) in change.writing.cells(Attribute, ("item",), name=DEPENDS)]
    for name in holders:
        kept = texts_of(value_of(change.get(Attribute, name, DEPENDS)))
        left = [one for one in kept if one not in gone]
        if left != kept:
            set_attributes(change, change.get(Item, name), {DEPENDS: [*left] or None})


def _move(context: Context, spec: str, task: str, parent: str, position: int | None) -> MovedNode:
    with recording(context, "task.looked") as change:
        view = change.writing
        known = Nodes(view, spec_named(view, spec))
        item = known.named(task)
        refuse_held_at(change, item)
        if not item.is_workable or not item.parent:
            raise InvalidInput(f"{known.id(item.id)} is a {type_in(view, item)}, and no task")
        goal = known.find(parent) if parent else known.named(known.id(item.parent))
        if goal is None:
            raise InvalidInput(f"there is no node {parent!r}", error_code="INVALID_PARENT")
        _refuse_parent(known, goal)
        if goal.id != item.parent:
            refuse_held_over(change, goal)
            if not item.is_closed:
                _refuse_closed(known, goal)
        before = [one.id for one in _line(view, item.parent)].index(item.id) + 1
        others = [one for one in _line(view, goal.id) if one.id != item.id]
        size = 1 + sum(map(len, known.below([item]).values()))
    moves = goal.id != item.parent
    stays = len(others) + 1 if moves else before
    place = position if position is not None else stays
    _refuse_place(place - 1, len(others), first=1)
    if moves:
        Items(context).edit(item.id, Edit(parent=goal.id))
    with context.reading() as view:
        line = _line(view, goal.id)
    if [one.id for one in line].index(item.id) != place - 1:
        _place(context, item, line, place - 1)
    return MovedNode(
        spec=known.spec,
        id=known.id(item.id),
        origin=known.id(item.parent),
        goal=known.id(goal.id),
        before=before,
        after=place,
        size=size,
    )


def _place(context: Context, item: Item, line: Sequence[Item], place: int) -> None:
    """Put an item at a place, from 0, of the nodes beside it; what is no node any more counts for the core."""
    others = [one for one in line if one.id != item.id]
    with context.reading() as view:
        beside = view.select(Item, parent=line[0].parent, order="position,number")
    order = [one.id for one in beside if one.id != item.id]
    core = order.index(others[place].id) if place < len(others) else len(order)
    Items(context).edit(item.id, Edit(position=core))


def _line(view: Reading, parent: str) -> list[Item]:
    """Return the nodes directly below one, in their order."""
    return [
        item for item in view.select(Item, parent=parent, order="position,number") if is_node(item)
    ]


def _refuse_parent(known: Nodes, above: Item) -> None:
    kind = type_in(known.view, above)
    if kind not in _HOLD:
        what = "spec" if above.id == known.root.id else kind
        raise InvalidInput(
            f"a {what} holds no tasks",
            hint="Give a phase, a group or a task.",
            error_code="INVALID_PARENT",
        )


def _refuse_closed(known: Nodes, above: Item) -> None:
    """Raise Conflict where no work can be added, since what is to hold it has ended."""
    if above.is_closed:
        raise Conflict(
            f"{known.id(above.id)} is {status_of(above.category)}: nothing is put below it",
            hint=f"{Act.REOPEN} first, or choose another parent.",
        )


def _refuse_place(place: int, last: int, *, first: int) -> None:
    """Raise InvalidInput unless a place, from 0, is one; first: what callers count from."""
    if not 0 <= place <= last:
        raise InvalidInput(
            f"there is no position {place + first}",
            hint=f"Give one from {first} to {last + first}.",
            error_code="INVALID_POSITION",
        )


def _free_id(known: Nodes, above: Item, node_type: NodeType) -> str:
    """Return the next free id of a type below a node; numbers of nodes that were removed are not given again."""
    parent = known.id(above.id)
    parent = "phase-0" if parent == ROOT else parent
    taken: list[str] = []
    below = [name for (name,) in known.view.cells(Item, ("id",), parent=above.id)]
    for some in chunks(below):
        found = known.view.select(Alias, item=some, order="item")
        taken += [one.name for one in found if one.scope == NODE]
    names = [one.removeprefix(f"{known.spec}/") for one in taken]
    while True:
        name = next_node_id(node_type, parent, names)
        # One that has moved away keeps its id.
        if known.view.find(Alias, NODE, node_name(known.spec, name)) is None:
            return name
        names.append(name)
