"""Phases of a spec: added with their tasks, moved, reworded, and removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import Attribute, Dependency, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import item_named, value_of
from counterpoint.core.operations.recording.links import depend, undepend
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.models.specs import (
    NODE,
    PURPOSE,
    MadePhase,
    MovedPhase,
    PhaseDraft,
    Relinked,
    RemovedPhase,
    Tally,
)
from counterpoint.dialects.foundry.nodes.queries import Nodes, get_spec, node_name
from counterpoint.dialects.foundry.nodes.rules.progress import folder_of, is_node
from counterpoint.dialects.foundry.nodes.rules.shape import next_phase_number, phase_id
from counterpoint.dialects.foundry.nodes.writing import perform, placed, refuse_held_at, take_out
from counterpoint.dialects.foundry.specs.rules.authoring import phase_draft
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput
from counterpoint.kernel.plurals import counted

PHASE_NOT_FOUND = "PHASE_NOT_FOUND"


class Phases(Verbs):
    """Verbs for the phases of a spec."""

    def add(self, spec: str, phase: PhaseDraft, *, dry_run: bool = False) -> MadePhase:
        """Add a phase with its tasks and verifications; NotFound, InvalidInput, Conflict, PathOutside."""
        tasks = tuple(
            replace(task, file_path=placed(self._context, task.file_path)) for task in phase.tasks
        )
        whole = replace(phase, tasks=tasks)
        return perform(
            self._context, lambda context: _add_phase(context, spec, whole), dry_run=dry_run
        )

    def remove(
        self, spec: str, name: str, *, force: bool = False, dry_run: bool = False
    ) -> RemovedPhase:
        """Remove a phase with all its nodes; completed work stays in the history.

        Raises NotFound, Conflict for unfinished work without `force`, AlreadyClaimed.
        """

        def act(context: Context) -> RemovedPhase:
            with recording(context, "phase.removed") as change:
                change.open_session()
                nodes, phase = _get_phase(change.writing, spec, name)
                change.subject = phase.id
                return _remove_phase(change, nodes, phase, force=force)

        return perform(self._context, act, dry_run=dry_run)

    def move(
        self,
        spec: str,
        name: str,
        position: int,
        *,
        link_previous: bool = True,
        dry_run: bool = False,
    ) -> MovedPhase:
        """Move a phase to a position, counted from 1; link_previous: keep phases waiting for those before them.

        Raises NotFound, InvalidInput for a position that does not exist, CyclicDependency.
        """

        def act(context: Context) -> MovedPhase:
            # Opened here so that nobody moves another phase meanwhile.
            with recording(context, "phase.looked") as change:
                nodes, phase = _get_phase(change.writing, spec, name)
                line = _list_phases(change.writing, nodes.root)
            before = [sibling.id for sibling in line].index(phase.id)
            _refuse_no_place(position - 1, len(line) - 1, 1)
            if position - 1 == before:
                return _build_answer(nodes, phase, before, before, ())
            _set_position(context, phase, line, position - 1)
            links = _relink(context, phase, line, position - 1) if link_previous else ()
            return _build_answer(nodes, phase, before, position - 1, links)

        return perform(self._context, act, dry_run=dry_run)

    def word(
        self, spec: str, name: str, changes: Mapping[str, str], *, dry_run: bool = False
    ) -> tuple[str, str, Item, list[dict[str, Json]]]:
        """Change the description and the purpose of a phase; return spec, phase, item, and each change with the value before."""

        def act(context: Context) -> tuple[str, str, Item, list[dict[str, Json]]]:
            with recording(context, "phase.looked") as change:
                nodes, phase = _get_phase(change.writing, spec, name)
                attribute = change.writing.find(Attribute, phase.id, PURPOSE)
            before: dict[str, Json] = {
                "description": phase.body or None,
                PURPOSE: value_of(attribute) if attribute else None,
            }
            own = {field: text or None for field, text in changes.items() if field == PURPOSE}
            edit = Edit(body=changes.get("description"), attributes=own)
            after = Items(context).edit(phase.id, edit)
            edits: list[dict[str, Json]] = [
                {"field": field, "previous_value": before[field], "new_value": text}
                for field, text in changes.items()
            ]
            return nodes.spec, name, after, edits

        return perform(self._context, act, dry_run=dry_run)


def _get_phase(view: Reading, spec: str, name: str) -> tuple[Nodes, Item]:
    nodes = Nodes(view, get_spec(view, spec))
    phase = nodes.get(name, PHASE_NOT_FOUND)
    if phase.kind != "phase" or phase.parent != nodes.root.id:
        raise InvalidInput(f"{name} is no phase", hint="Name a phase of the spec.")
    return nodes, phase


def _list_phases(view: Reading, root: Item) -> list[Item]:
    """List the phases of a spec in order."""
    below = view.select(Item, parent=root.id, order="position,number")
    return [item for item in below if item.kind == "phase" and is_node(item)]


def _refuse_no_place(position: int, last: int, first: int) -> None:
    if not 0 <= position <= last:
        raise InvalidInput(
            f"there is no position {position + first}",
            hint=f"Give one from {first} to {last + first}.",
            error_code="INVALID_POSITION",
        )


def _add_phase(context: Context, spec: str, phase: PhaseDraft) -> MadePhase:
    # Opened here so that nobody takes the number before the phase is made.
    with recording(context, "phase.named") as change:
        view = change.writing
        nodes = Nodes(view, get_spec(view, spec))
        if nodes.root.is_closed:
            folder = folder_of(nodes.root.category)
            raise Conflict(f"{nodes.spec} is {folder}", hint=f"{Act.REOPEN} first.")
        line = _list_phases(view, nodes.root)
        position = len(line) if phase.position is None else phase.position
        _refuse_no_place(position, len(line), 0)
        name = _free_id(nodes)
        draft, tasks = phase_draft(nodes.spec, name, phase, _is_taken_in(view, nodes.spec))
    previous = line[position - 1] if position and phase.link_previous else None
    new_phase = Plans(context).create(draft, nodes.root.id).root
    _set_position(context, new_phase, [*line, new_phase], position)
    if previous is not None:
        _chain(context, new_phase, previous, line[position] if position < len(line) else None)
    with context.reading() as view:
        linked = Nodes(view, nodes.root).id(previous.id) if previous else ""
    task_count = len(phase.tasks)
    return MadePhase(
        spec=nodes.spec,
        id=name,
        title=new_phase.title,
        position=position,
        linked=linked,
        tasks=tasks,
        scaffold=tuple(task.id for task in tasks[task_count:]),
    )


def _free_id(nodes: Nodes) -> str:
    """Return the next id of a phase; numbers of removed phases are not used again."""
    phases = nodes.view.cells(Item, ("id",), parent=nodes.root.id, kind="phase")
    number = next_phase_number(nodes.ids(name for (name,) in phases).values())
    while item_named(nodes.view, node_name(nodes.spec, phase_id(number)), NODE) is not None:
        number += 1
    return phase_id(number)


def _is_taken_in(view: Reading, spec: str) -> Callable[[str], bool]:
    return lambda name: item_named(view, node_name(spec, name), NODE) is not None


def _set_position(context: Context, phase: Item, line: Sequence[Item], position: int) -> None:
    """Set a phase's position among the listed phases; others that are not listed may stand between them."""
    others = [sibling for sibling in line if sibling.id != phase.id]
    if position == len(others) and line[-1].id == phase.id:
        return
    with context.reading() as view:
        below = [
            item.id for item in view.select(Item, parent=phase.parent, order="position,number")
        ]
    below.remove(phase.id)
    at = below.index(others[position].id) if position < len(others) else len(below)
    Items(context).edit(phase.id, Edit(position=at))


def _chain(context: Context, item: Item, previous: Item, following: Item | None) -> None:
    """Let a new phase wait for the one before it; one that waited for that now waits for the new phase."""
    with recording(context, "phase.linked", item.id) as change:
        change.open_session()
        depend(change, change.get(Item, item.id), change.get(Item, previous.id))
        if following is not None and _has_edge(change, following, previous):
            undepend(change, change.get(Item, following.id), previous.id)
            refuse_held_at(change, following)
            depend(change, change.get(Item, following.id), change.get(Item, item.id))
        change.add_facts(after=previous.id)


def _has_edge(change: Change, item: Item, other: Item) -> bool:
    return change.find(Dependency, item.id, other.id) is not None


def _remove_phase(change: Change, nodes: Nodes, phase: Item, *, force: bool) -> RemovedPhase:
    tally = nodes.tallies().get(phase.id, Tally())
    unfinished = tally.total - tally.completed
    name = nodes.id(phase.id)
    if unfinished and not force:
        raise Conflict(
            f"{name} has {unfinished} unfinished of {counted(tally.total, 'task')}",
            hint="Finish them, or remove it with force.",
            unfinished=unfinished,
        )
    children = len(nodes.children((phase.id,)).get(phase.id, ()))
    line = _list_phases(change.writing, nodes.root)
    position = [sibling.id for sibling in line].index(phase.id)
    previous = line[position - 1] if position else None
    following = line[position + 1] if position + 1 < len(line) else None
    chained = following is not None and _has_edge(change, following, phase)
    take_out(change, phase, f"{name} was removed")
    if following is not None and chained and previous is not None:
        depend(change, change.get(Item, following.id), change.get(Item, previous.id))
    change.add_facts(removed=name)
    return RemovedPhase(spec=nodes.spec, id=name, title=phase.title, children=children, tally=tally)


def _build_answer(
    nodes: Nodes, phase: Item, before: int, after: int, links: Sequence[tuple[str, str, str]]
) -> MovedPhase:
    names = nodes.ids(item for _, origin, target in links for item in (origin, target))
    return MovedPhase(
        spec=nodes.spec,
        id=nodes.id(phase.id),
        title=phase.title,
        before=before + 1,
        after=after + 1,
        relinked=tuple(
            Relinked(action=action, origin=names[origin], target=names[target])
            for action, origin, target in links
        ),
    )


def _relink(
    context: Context, phase: Item, line: Sequence[Item], position: int
) -> list[tuple[str, str, str]]:
    """Let phases wait for their predecessors in the new order where they did in the old one."""
    others = [sibling for sibling in line if sibling.id != phase.id]
    ordered = [*others[:position], phase, *others[position:]]
    changes: list[tuple[str, str, str]] = []
    with recording(context, "phase.linked", phase.id) as change:
        change.open_session()
        chained = {
            following.id
            for before, following in pairwise(line)
            if _has_edge(change, following, before)
        }
        # The first phase waits for nothing; it does if it gets a predecessor in a chain that waits.
        chained |= {line[0].id} if chained else set()
        chained.add(phase.id)
        old = {(following.id, before.id) for before, following in pairwise(line)}
        new = {(following.id, before.id) for before, following in pairwise(ordered)}
        for item_id, before in sorted(old - new):
            if change.find(Dependency, item_id, before) is not None:
                undepend(change, change.get(Item, item_id), before)
                changes.append(("removed", item_id, before))
        for item_id, before in sorted(new - old):
            if item_id in chained and change.find(Dependency, item_id, before) is None:
                refuse_held_at(change, change.get(Item, item_id))
                depend(change, change.get(Item, item_id), change.get(Item, before))
                changes.append(("added", item_id, before))
        change.add_facts(relinked=len(changes))
    return changes
