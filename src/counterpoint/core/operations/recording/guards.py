"""What a table of states requires of a move beside its edge; records of moves.

Rule 1: verbs that move an item on somebody's word call `refuse_unguarded`; what a move brings about
for others (a closed part closes what is below it) is not asked. Rule 2: every move of an item whose
table is traced leaves a Transition, whoever made it and for whatever cause.
"""

from __future__ import annotations

from counterpoint.core.model.journal import Record, Transition
from counterpoint.core.model.proofs import Thought
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import GateClosed

# In the core, though one dialect asks for it: whichever dialect moves an item of such a table is held to
# what the table asks, also where that dialect is not installed (decision 0026).
_REFLECTIONS = ("decision", "reflection")


def refuse_unguarded(change: Change, item: Item, status: str, reason: str) -> None:
    """Raise IllegalMove without an edge, GateClosed if what the table asks of it is not there."""
    states = item.states
    goal = states.named(status)
    states.check(item.status, goal, item.id)
    guard = states.guards.get(goal)
    if guard == "reason" and not reason.strip():
        raise GateClosed(
            f"{item.id} becomes {goal} only with a reason",
            hint="Say why, and repeat the call.",
            missing_fields=["reason"],
        )
    if guard == "reflection" and not _is_reflected(change.writing, item):
        raise GateClosed(
            f"{item.id} becomes {goal} only with a thought of the type reflection or decision"
            f" that was recorded after it last became {states.since}",
            hint="Record what was learned or decided, then repeat the call.",
            missing_fields=["thought_record"],
        )


def last_transition(view: Reading, item: str, goal: str = "") -> Transition | None:
    """Return the last move of an item, or the last one into a state; None if there was none."""
    only = {"goal": goal} if goal else {}
    transitions = view.select(Transition, item=item, order="number desc", limit=1, **only)
    return transitions[0] if transitions else None


def trace(change: Change, before: Item, after: Item, reason: str) -> None:
    """Write a move of an item down, as its table wants."""
    last = last_transition(change.writing, after.id)
    attempt = last.attempt if last else 1
    actor = change.context.caller.actor
    change.put(
        Transition(
            project=after.project,
            item=after.id,
            number=last.number + 1 if last else 1,
            origin=before.status,
            goal=after.status,
            reason=Prose(reason),
            agent=actor.name,
            session=actor.session,
            attempt=attempt + int((before.status, after.status) in after.states.retries),
            # What was recorded until now has a number up to this one: a guard asks for what came
            # later.
            mark=change.next_number(Record) - 1,
            at=change.now,
        )
    )


def _is_reflected(view: Reading, item: Item) -> bool:
    since = last_transition(view, item.id, item.states.since)
    mark = since.mark if since else 0
    thoughts = view.select(
        Thought, task=item.id, type=_REFLECTIONS, order="number", after=(mark,), limit=1
    )
    return bool(thoughts)
