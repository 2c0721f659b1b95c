"""Moving phases and tasks along, by a word for how they stand.

Rule 1: a phase starts when all that it needs is done; a task starts its phase, and so does the same.
Rule 2: what is blocked has an open blocker that says why; any other word for it resolves that.
Rule 3: whoever completes or skips a whole says that nothing more is needed in it: what is open below
is skipped, and named in the answer. Rule 4: the last phase that is completed completes the plan.
Rule 5: a plan that is archived or paused takes nothing up; one that was not offered yet is begun. What
refuses a word for a start is what `holds_against_word` of the core's readiness says. Rule 6: whoever says that a
task is in progress has claimed it; said again, it renews the lease; any other word ends the claim, but for
`blocked`. What somebody holds in another session of his own is his there too. Rule 7: criteria are marked by word and hold nothing back; whoever completes hears which are not met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from counterpoint.core.model.answers import ItemView, Standing
from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.core.operations.claims import Claims
from counterpoint.core.operations.closing.part_status import (
    block,
    bring,
    holder_context,
    open_blockers,
    part_status,
)
from counterpoint.core.operations.gates import refuse_stale_word
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import set_attributes
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.queries.overview import ItemReader
from counterpoint.core.rules.readiness import part_state
from counterpoint.dialects.agentic.nouns import NOTES, REASON, MovedStep
from counterpoint.dialects.agentic.rules.progress import plan_standing
from counterpoint.dialects.agentic.verbs.plans import (
    PHASE,
    PLAN,
    TASK,
    Place,
    criterion_at,
    parts_below,
    phase_at,
    plan_named,
    task_at,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict

_TOGGLED: Final = "toggled"


class Steps(Verbs):
    """Verbs for the phases and tasks of plans."""

    def phase(self, plan: str, phase: Place) -> ItemView:
        """Return a phase of a plan; NotFound."""
        with self._context.reading() as view:
            item = phase_at(view, plan_named(view, plan), phase)
            return ItemReader(view).one(item, *PHASE, below="task")

    def tasks(self, phase: str, after: int, limit: int) -> list[ItemView]:
        """Return the tasks of the phase of an id, beyond an index (-1: all)."""
        with self._context.reading() as view:
            return ItemReader(view).views(parts_below(view, phase, "task", after, limit), *TASK)

    def around(self, task: str) -> tuple[ItemView, ItemView, ItemView]:
        """Return the task of an id, its phase and its plan; NotFound."""
        with self._context.reading() as view:
            reader = ItemReader(view)
            item = _get_item(view, task)
            phase = _get_item(view, item.parent)
            return (
                reader.one(item, *TASK),
                reader.one(phase, *PHASE, below="task"),
                reader.one(_get_item(view, phase.parent), *PLAN, below="phase"),
            )

    def checkpoints(self, phase: str, after: int, limit: int) -> list[Record]:
        """Return the checkpoints of the phase of an id, the oldest first, beyond a record's number."""
        with self._context.reading() as view:
            return view.select(
                Record, item=phase, kind="checkpoint", order="number", after=(after,), limit=limit
            )

    def add_checkpoint(self, plan: str, phase: Place, note: str, content: Json) -> Record:
        """Write down a place to go on from; NotFound."""
        with self._context.reading() as view:
            item = phase_at(view, plan_named(view, plan), phase)
        details: dict[str, Json] = {} if content is None else {"data": content}
        checkpoint = Note(kind="checkpoint", body=note, item=item.id, details=details)
        return Journal(self._context).append(checkpoint)

    def move_phase(
        self,
        plan: str,
        phase: Place,
        to: Standing,
        reason: str = "",
        *,
        met: Sequence[Place] = (),
    ) -> MovedStep:
        """Bring a phase to stand so; the same again changes nothing, but another reason for it is kept.

        met: the criteria of its completion that are true now, by index or text.
        Raises NotFound, NotReady with what it waits for, Conflict for a plan that is put away,
        GateClosed, AlreadyClaimed for a task below it.
        """
        if to == "done":
            refuse_stale_word(self._context, self.phase(plan, phase).item.id, to)
        with recording(self._context, "phase.moved") as change:
            change.open_session()
            above = plan_named(change.writing, plan)
            item = change.get(Item, phase_at(change.writing, above, phase).id)
            _refuse_put_away(change, above)
            _mark_met(change, item, met)
            if reason and part_status(change, item) == to:
                _explain(change, item, to, reason)
            return _bring(change, item, to, reason)

    def move_task(
        self,
        plan: str,
        phase: Place,
        task: Place,
        to: Standing | None = None,
        *,
        notes: str | None = None,
    ) -> MovedStep:
        """Bring a task to stand so, and note something of it; the same again changes nothing.

        Raises NotFound, NotReady, Conflict for a plan that is put away, GateClosed, AlreadyClaimed.
        """
        return self._move_task(plan, phase, task, to, notes)

    def toggle(self, plan: str, phase: Place, task: Place) -> MovedStep:
        """Bring a task that is completed back to be open, and complete any other; as `move_task`."""
        return self._move_task(plan, phase, task, _TOGGLED, None)

    def _move_task(
        self, plan: str, phase: Place, task: Place, to: str | None, notes: str | None
    ) -> MovedStep:
        if to in {"done", _TOGGLED}:
            with self._context.reading() as view:
                parent = phase_at(view, plan_named(view, plan), phase)
                task_id = task_at(view, parent, task).id
            refuse_stale_word(self._context, task_id, "done")
        # Before the transaction: nobody waits to write while git is asked.
        is_claimed = to == "active" and bool(self._context.caller.actor.session)
        evidence, root = self._context.ports.evidence, self._context.caller.root
        snapshot = evidence.snapshot(root) if is_claimed else None
        with recording(self._context, "task.moved") as change:
            change.open_session()
            above = plan_named(change.writing, plan)
            within = phase_at(change.writing, above, phase)
            item = change.get(Item, task_at(change.writing, within, task).id)
            _refuse_put_away(change, above)
            if notes is not None:
                change.subject = item.id
                set_attributes(change, item, {NOTES: notes or None})
                change.add_facts(notes=True)
            if to == _TOGGLED:
                to = "open" if part_state(*item.state_key) == "done" else "done"
            goal = to if to is not None else part_status(change, item)
            moved = _bring(change, item, goal, notes or "")  # pyright: ignore[reportArgumentType] -- one of the words
            if snapshot is None:
                return moved
            taken = Claims(holder_context(self._context, change, item.id)).take(
                change, moved.item, snapshot
            )
            return replace(moved, item=taken.item)


def _explain(change: Change, phase: Item, standing: Standing, reason: str) -> None:
    """Keep another reason for what a phase is already."""
    change.subject = phase.id
    if standing == "blocked":
        if all(str(blocker.body) != reason for blocker in open_blockers(change, phase)):
            block(change, phase, reason)
    elif standing == "skipped":
        set_attributes(change, phase, {REASON: reason})


def _mark_met(change: Change, phase: Item, met: Sequence[Place]) -> None:
    for criterion_ref in met:
        criterion = criterion_at(change.writing, phase, criterion_ref)
        if not criterion.met:
            change.subject = phase.id
            change.put(replace(criterion, met=True))


def _get_item(view: Reading, name: str) -> Item:
    item = view.find(Item, name)
    if item is None:
        raise missing(Item, name)
    return item


def _refuse_put_away(change: Change, plan: Item) -> None:
    how = plan_standing(ItemReader(change.writing).one(plan, "labels"))
    if how in {"archived", "paused"}:
        raise Conflict(f"the plan {plan.title!r} is {how}", hint="Make it active first.", state=how)


def _bring(change: Change, item: Item, to: Standing, reason: str = "") -> MovedStep:
    """Bring a phase or a task to stand so, within a change."""
    moved = bring(change, item, to, reason, keeps=REASON)
    after = moved.item
    phase = after if after.kind == "phase" else change.get(Item, after.parent)
    return MovedStep(item=after, standing=to, phase=phase, skipped=moved.skipped)
