"""Creates the items of a plan, with everything that belongs to them at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from counterpoint.core.model.drafts import PLAN_NAME, Draft
from counterpoint.core.model.lifecycles import PART, TASK, lifecycle
from counterpoint.core.model.rows import Prose, Proses, shared_fields
from counterpoint.core.model.work import (
    WORKABLE,
    Area,
    Criterion,
    Dependency,
    Gate,
    Item,
    Label,
    Project,
)
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.contributions import note_part
from counterpoint.core.operations.recording.facets import give_name, set_attributes
from counterpoint.core.operations.recording.links import depend, next_position
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.drafting import PlannedItem, refuse_misplaced
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Conflict, InvalidInput


def holder_of(view: Reading, parent: str, draft: Draft) -> Item | None:
    """Return what a draft is to be put below; None for the top."""
    if not parent:
        refuse_misplaced(draft.kind, None)
        return None
    above = view.find(Item, parent)
    if above is None:
        raise InvalidInput(f"there is no item {parent!r} to put this below")
    if above.is_closed:
        raise Conflict(f"{parent} is {above.status}", hint=f"{Act.REOPEN}, or put this at the top.")
    refuse_misplaced(draft.kind, above)
    return above


def put_items(
    change: Change,
    planned: Sequence[PlannedItem],
    items: list[Item],
    batch: Sequence[PlannedItem],
    parent: str,
    *,
    first: int = 0,
) -> None:
    """Put some items of a plan, each with the count of what will be in its way.

    items: those before them, to which they are added. first: the number of the plan's first item; 0: the next one.
    """
    project = change.get(Project)
    for part in batch:
        if part.parent is None:
            above = holder_of(change.writing, parent, part.draft)
            position = next_position(change, parent)
            number = first or change.next_number(Item)
        else:
            above, position, number = items[part.parent], part.position, items[-1].number + 1
        item = _item(change, project, number, part, above, position)
        held_above = int(above is not None and above.blockers > 0)
        unfinished = sum(not planned[need].draft.done for need in part.needs)
        parked = int(item.status in item.states.parked)
        waits = held_above + unfinished + parked + int(part.draft.approval and not part.draft.done)
        item = replace(item, held=held_above, blockers=waits)
        _put_with_facets(change, item, part.draft)
        if item.category != "open":
            # Work that comes as begun or done is put down to whoever says so.
            with change.writing.unveiled():
                note_part(change, item.id, below=parent if first else "")
        items.append(item)


def _item(
    change: Change,
    project: Project,
    number: int,
    planned: PlannedItem,
    above: Item | None,
    position: int,
) -> Item:
    draft = planned.draft
    usual = TASK if draft.kind in WORKABLE else PART
    states = lifecycle(draft.lifecycle) if draft.lifecycle else usual
    status = "done" if draft.done else draft.status or states.first
    name = f"{project.prefix}-{number}"
    copied = {name: getattr(draft, name) for name in shared_fields(Draft, Item)}
    settled: dict[str, Any] = {
        "title": draft.title.strip(),
        "lifecycle": states.name,
        "status": status,
    }
    return Item(
        **(copied | settled),
        project=project.project,
        id=name,
        number=number,
        category=states.category(status),
        parent=above.id if above else "",
        root=above.root if above else name,
        position=position,
        blockers=0,
        held=0,
        version=1,
        created_at=change.now,
        updated_at=change.now,
        closed_at=change.now if draft.done else "",
    )


def _put_with_facets(change: Change, item: Item, draft: Draft) -> None:
    change.put(item)
    for name in dict.fromkeys(draft.labels):
        change.put(Label(project=item.project, item=item.id, name=name))
    for pattern in dict.fromkeys(draft.areas):
        change.put(Area(project=item.project, item=item.id, pattern=pattern))
    for position, sentence in enumerate(draft.acceptance):
        change.put(
            Criterion(
                project=item.project,
                item=item.id,
                position=position,
                text=Prose(sentence),
                met=draft.done,
            )
        )
    for scope, name in dict.fromkeys(draft.aliases):
        give_name(change, item, scope, name)
    set_attributes(change, item, draft.attributes)
    # What has an alias is found by that when its plan is read again.
    if draft.name and not draft.aliases and "\n" not in draft.name:
        set_attributes(change, item, {PLAN_NAME: draft.name})
    for gate in _gates_of(change, item, draft):
        change.put(gate)


def _gates_of(change: Change, item: Item, draft: Draft) -> list[Gate]:
    """Return the gates a draft asks for."""
    plain = Gate(
        project=item.project,
        item=item.id,
        name="",
        kind="review",
        holds="finish",
        argv=Proses(()),
        status="met" if draft.done else "closed",
        proof="",
        reason=Prose(""),
        updated_at=change.now,
    )
    gates = [
        replace(plain, name=f"check-{number}", kind="check", argv=Proses(argv))
        for number, argv in enumerate(draft.checks, 1)
    ]
    if draft.artifact:
        gates.append(replace(plain, name="artifact", kind="artifact"))
    if draft.review:
        gates.append(replace(plain, name="review"))
    if draft.approval:
        gates.append(replace(plain, name="approval", holds="start"))
    return gates


def put_edges(
    change: Change, planned: Sequence[PlannedItem], names: Sequence[str], batch: range
) -> None:
    """Let some items of a plan wait for others of it: `plan_of` has ruled out circles."""
    for index in batch:
        for need in planned[index].needs:
            change.put(
                Dependency(project=change.context.project, item=names[index], needs=names[need])
            )


def wait_outside(
    change: Change, planned: Sequence[PlannedItem], items: Sequence[Item], *, is_known: bool
) -> None:
    """Let items of a plan wait for what is outside of it. is_known: whether each is asked for a circle."""
    for index, part in enumerate(planned):
        for name in part.outside:
            item = change.get(Item, items[index].id)
            depend(change, item, change.get(Item, name), is_known=is_known)
