"""Phases of a spec: added with their tasks, moved, worded anew, and taken out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import Attribute, Dependency, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import item_named, value_of
from counterpoint.core.operations.recording.links import depend, undepend
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.nodes import NODE, Tally
from counterpoint.dialects.foundry.nouns.specs import (
    PURPOSE,
    MadePhase,
    MovedPhase,
    PhaseDraft,
    Relinked,
    RemovedPhase,
)
from counterpoint.dialects.foundry.rules.bulk import phase_draft
from counterpoint.dialects.foundry.rules.numbering import next_phase_number, phase_id
from counterpoint.dialects.foundry.rules.standing import folder_of, is_node
from counterpoint.dialects.foundry.verbs.holding import refuse_held_at
from counterpoint.dialects.foundry.verbs.performing import perform
from counterpoint.dialects.foundry.verbs.placing import placed
from counterpoint.dialects.foundry.verbs.queries import Nodes, node_name, spec_named
from counterpoint.dialects.foundry.verbs.removing import take_out
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput

PHASE_NOT_FOUND = "PHASE_NOT_FOUND"


class Phases:
    """Verbs for the phases of a spec."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(self, spec: str, phase: PhaseDraft, *, dry_run: bool = False) -> MadePhase:
        """Add a phase with its tasks and what verifies it; NotFound, InvalidInput, Conflict, PathOutside."""
        tasks = tuple(
            replace(one, file_path=placed(self._context, one.file_path)) for one in phase.tasks
        )
        whole = replace(phase, tasks=tasks)
        return perform(self._context, lambda context: _add(context, spec, whole), dry_run=dry_run)

    def remove(
        self, spec: str, name: str, *, force: bool = False, dry_run: bool = False
    ) -> RemovedPhase:
        """Take a phase out with all that is in it; what was done in it stays in the history.

        Raises NotFound, Conflict for unfinished work unless it is forced, AlreadyClaimed.
        """

        def act(context: Context) -> RemovedPhase:
            with recording(context, "phase.removed") as change:
                change.open_session()
                known, phase = _phase(change.writing, spec, name)
                change.subject = phase.id
                return _remove(change, known, phase, force=force)

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
        """Move a phase to a place, counted from 1; link_previous: let phases wait for those before them as they did.

        Raises NotFound, InvalidInput for a place that there is not, CyclicDependency.
        """

        def act(context: Context) -> MovedPhase:
            # Opened here so that nobody moves another between the look and the move.
            with recording(context, "phase.looked") as change:
                known, phase = _phase(change.writing, spec, name)
                line = _line(change.writing, known.root)
            before = [one.id for one in line].index(phase.id)
            _refuse_no_place(position - 1, len(line) - 1, 1)
            if position - 1 == before:
                return _moved(known, phase, before, before, ())
            _place(context, phase, line, position - 1)
            links = _relink(context, phase, line, position - 1) if link_previous else ()
            return _moved(known, phase, before, position - 1, links)

        return perform(self._context, act, dry_run=dry_run)

    def word(
        self, spec: str, name: str, changes: Mapping[str, str], *, dry_run: bool = False
    ) -> tuple[str, str, Item, list[dict[str, Json]]]:
        """Change the description and the purpose of a phase; answer each with what it was before, after the phase and its id."""

        def act(context: Context) -> tuple[str, str, Item, list[dict[str, Json]]]:
            with recording(context, "phase.looked") as change:
                known, phase = _phase(change.writing, spec, name)
                kept = change.writing.find(Attribute, phase.id, PURPOSE)
            before: dict[str, Json] = {
                "description": phase.body or None,
                PURPOSE: value_of(kept) if kept else None,
            }
            own = {field: text or None for field, text in changes.items() if field == PURPOSE}
            edit = Edit(body=changes.get("description"), attributes=own)
            after = Items(context).edit(phase.id, edit)
            told: list[dict[str, Json]] = [
                {"field": field, "previous_value": before[field], "new_value": text}
                for field, text in changes.items()
            ]
            return known.spec, name, after, told

        return perform(self._context, act, dry_run=dry_run)


def _phase(view: Reading, spec: str, name: str) -> tuple[Nodes, Item]:
    known = Nodes(view, spec_named(view, spec))
    found = known.named(name, PHASE_NOT_FOUND)
    if found.kind != "phase" or found.parent != known.root.id:
        raise InvalidInput(f"{name} is no phase", hint="Name a phase of the spec.")
    return known, found


def _line(view: Reading, root: Item) -> list[Item]:
    """Return the phases of a spec in their order."""
    below = view.select(Item, parent=root.id, order="position,number")
    return [item for item in below if item.kind == "phase" and is_node(item)]


def _refuse_no_place(place: int, last: int, first: int) -> None:
    if not 0 <= place <= last:
        raise InvalidInput(
            f"there is no position {place + first}",
            hint=f"Give one from {first} to {last + first}.",
            error_code="INVALID_POSITION",
        )


def _add(context: Context, spec: str, phase: PhaseDraft) -> MadePhase:
    # Opened here so that nobody takes the number between the look and the making.
    with recording(context, "phase.named") as change:
        view = change.writing
        known = Nodes(view, spec_named(view, spec))
        if known.root.is_closed:
            folder = folder_of(known.root.category)
            raise Conflict(f"{known.spec} is {folder}", hint=f"{Act.REOPEN} first.")
        line = _line(view, known.root)
        place = len(line) if phase.position is None else phase.position
        _refuse_no_place(place, len(line), 0)
        name = _free(known)
        draft, tasks = phase_draft(known.spec, name, phase, _taken(view, known.spec))
    previous = line[place - 1] if place and phase.link_previous else None
    made = Plans(context).create(draft, known.root.id).root
    _place(context, made, [*line, made], place)
    if previous is not None:
        _chain(context, made, previous, line[place] if place < len(line) else None)
    with context.reading() as view:
        linked = Nodes(view, known.root).id(previous.id) if previous else ""
    given = len(phase.tasks)
    return MadePhase(
        spec=known.spec,
        id=name,
        title=made.title,
        position=place,
        linked=linked,
        tasks=tasks,
        scaffold=tuple(one.id for one in tasks[given:]),
    )


def _free(known: Nodes) -> str:
    """Return the next id of a phase: also of one that was taken out the number is not used again."""
    phases = known.view.cells(Item, ("id",), parent=known.root.id, kind="phase")
    number = next_phase_number(known.ids(name for (name,) in phases).values())
    while item_named(known.view, node_name(known.spec, phase_id(number)), NODE) is not None:
        number += 1
    return phase_id(number)


def _taken(view: Reading, spec: str) -> Callable[[str], bool]:
    return lambda name: item_named(view, node_name(spec, name), NODE) is not None


def _place(context: Context, phase: Item, line: Sequence[Item], place: int) -> None:
    """Put a phase at a place among the phases that are shown: others stand between them that are not."""
    others = [one for one in line if one.id != phase.id]
    if place == len(others) and line[-1].id == phase.id:
        return
    with context.reading() as view:
        below = [one.id for one in view.select(Item, parent=phase.parent, order="position,number")]
    below.remove(phase.id)
    at = below.index(others[place].id) if place < len(others) else len(below)
    Items(context).edit(phase.id, Edit(position=at))


def _chain(context: Context, made: Item, previous: Item, following: Item | None) -> None:
    """Let a new phase wait for the one before it, and the one after it for it if that one waited there."""
    with recording(context, "phase.linked", made.id) as change:
        change.open_session()
        depend(change, change.get(Item, made.id), change.get(Item, previous.id))
        if following is not None and _waits(change, following, previous):
            undepend(change, change.get(Item, following.id), previous.id)
            refuse_held_at(change, following)
            depend(change, change.get(Item, following.id), change.get(Item, made.id))
        change.add_facts(after=previous.id)


def _waits(change: Change, one: Item, other: Item) -> bool:
    return change.find(Dependency, one.id, other.id) is not None


def _remove(change: Change, known: Nodes, phase: Item, *, force: bool) -> RemovedPhase:
    tally = known.tallies().get(phase.id, Tally())
    unfinished = tally.total - tally.completed
    name = known.id(phase.id)
    if unfinished and not force:
        raise Conflict(
            f"{name} has {unfinished} unfinished of {tally.total} tasks",
            hint="Finish them, or remove it with force.",
            unfinished=unfinished,
        )
    children = len(known.children((phase.id,)).get(phase.id, ()))
    line = _line(change.writing, known.root)
    place = [one.id for one in line].index(phase.id)
    previous = line[place - 1] if place else None
    following = line[place + 1] if place + 1 < len(line) else None
    chained = following is not None and _waits(change, following, phase)
    take_out(change, phase, f"{name} was removed")
    if following is not None and chained and previous is not None:
        depend(change, change.get(Item, following.id), change.get(Item, previous.id))
    change.add_facts(removed=name)
    return RemovedPhase(spec=known.spec, id=name, title=phase.title, children=children, tally=tally)


def _moved(
    known: Nodes, phase: Item, before: int, after: int, links: Sequence[tuple[str, str, str]]
) -> MovedPhase:
    names = known.ids(item for _, origin, target in links for item in (origin, target))
    return MovedPhase(
        spec=known.spec,
        id=known.id(phase.id),
        title=phase.title,
        before=before + 1,
        after=after + 1,
        relinked=tuple(
            Relinked(action=action, origin=names[origin], target=names[target])
            for action, origin, target in links
        ),
    )


def _relink(
    context: Context, phase: Item, line: Sequence[Item], place: int
) -> list[tuple[str, str, str]]:
    """Let phases wait for those before them in their new order where they did in the old one."""
    others = [one for one in line if one.id != phase.id]
    wanted = [*others[:place], phase, *others[place:]]
    told: list[tuple[str, str, str]] = []
    with recording(context, "phase.linked", phase.id) as change:
        change.open_session()
        chained = {one.id for before, one in pairwise(line) if _waits(change, one, before)}
        # The first phase waits for nothing; it does if another comes before it in a line that waits.
        chained |= {line[0].id} if chained else set()
        chained.add(phase.id)
        old = {(one.id, before.id) for before, one in pairwise(line)}
        new = {(one.id, before.id) for before, one in pairwise(wanted)}
        for one, before in sorted(old - new):
            if change.find(Dependency, one, before) is not None:
                undepend(change, change.get(Item, one), before)
                told.append(("removed", one, before))
        for one, before in sorted(new - old):
            if one in chained and change.find(Dependency, one, before) is None:
                refuse_held_at(change, change.get(Item, one))
                depend(change, change.get(Item, one), change.get(Item, before))
                told.append(("added", one, before))
        change.add_facts(relinked=len(told))
    return told
