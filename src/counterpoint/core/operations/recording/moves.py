"""Moves of items along their states, with what guards each.

What a table of states requires of a move beside its edge; records of moves.
Rule 1: verbs that move an item on somebody's word call `refuse_unguarded`; what a move brings about
for others (a closed part closes what is below it) is not asked. Rule 2: every move of an item whose
table is traced leaves a Transition, whoever made it and for whatever cause.

Moving items along their lifecycles, with everything a move brings about.
Rule 1: only `follow` changes a state; `move` does so on the caller's word, and asks first what the table of
rules/trust/moves.py says that such a word asks. What a word brings about is asked nothing. Rule 2: an item that becomes done releases what waits for it; one
that leaves done obstructs it again, and its gates are closed again. Rule 3: a part (phase or root)
starts with the first of its children, closes with the last if its gates are met (unless its table
wants a word for that), and reopens with any.
Rule 4: a claim ends when its item stops being active. Rule 5: nothing open stays below what has closed; it is
closed on the same word. But where an end is declared, tasks stay as they are, whoever is at them or may take them
up; to take one up reopens nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.journal import Record, Transition
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.proofs import Thought
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Gate, Item, Project
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.connection_sessions import (
    refuse_ending,
    refuse_foreign_claims,
)
from counterpoint.core.operations.recording.contributions import (
    contribute,
    note_part,
    refuse_own,
    relax,
)
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.operations.recording.links import obstruct, release, shift
from counterpoint.core.operations.recording.unallowed import find_unallowed, way_to_run
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.core.rules.trust.succession import asks
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
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


_RELEASED_TOLD = 50
"""How many released items an entry names."""
_FORMERLY = "formerly"
"""The fact that says what closed with a whole that was given up, by the state of before."""
_RESTORED = "restored"
"""The fact that says how many of these came back with it."""
_ENTRIES = 1_000
"""Entries about a whole that are looked at for what closed with it."""
_MEETS = {"check": Act.VERIFY, "artifact": Act.SUBMIT, "review": Act.REVIEW}
"""What meets a gate of each kind."""


def move(change: Change, item: Item, status: str, reason: str = "", *, but: str = "") -> Item:
    """Return the item in another state on the caller's word, with all that follows.

    status: a state of the item's table, or a verb's word for one. reason: for the account of moves.
    but: a tag of blockers that may stay open at an end. Raises IllegalMove, GateClosed, Forbidden to whoever judges or loosens his own work with it.
    """
    states = item.states
    goal = states.named(status)
    states.check(item.status, goal, item.id)
    for ask in asks(states, item.status, goal):
        if ask == "gates":
            _ask_gates(change, item, goal, but)
        elif ask == "drop":
            refuse_dropping(change, item)
        elif ask == "judge" and not _is_judged(change, item):
            refuse_own(change, item.id, "end", counts=True)
        elif ask == "take":
            note_part(change, item.id)
        else:
            contribute(change, item.id)
    after = follow(change, item, goal, reason, by_word=True)
    if item.category == "dropped" and not after.is_closed:
        return restore_below(change, after)
    return after


def follow(
    change: Change,
    item: Item,
    status: str,
    reason: str = "",
    *,
    by_word: bool = False,
    alone: bool = False,
) -> Item:
    """Return the item in another state, with all that follows; IllegalMove.

    by_word: whether what is open below it is closed on the caller's word too. alone: whether what an end brings about
        above and below it is somebody else's to do (closing/ending.py).
    """
    states = item.states
    after = bump_version(change, item.moved(states.named(status), change.now))
    change.put(after)
    if states.traced:
        trace(change, item, after, reason)
    parked = int(after.status in states.parked) - int(item.status in states.parked)
    after = shift(change, after, parked)
    if after.category == "done" and item.category != "done":
        # One entry may finish several items: what the others released is told too.
        freed = [*change.facts.get("released", ()), *release(change, after)]
        if freed:
            change.add_facts(released=list(dict.fromkeys(freed))[:_RELEASED_TOLD])
    elif item.category == "done" and after.category != "done":
        obstruct(change, after)
        _close_gates(change, after)
    if item.category == "active" and after.category != "active":
        _end_claim(change, after)
    if after.category == "active":
        wake(change, after.parent, reopens=item.is_closed)
    elif after.is_closed and not alone:
        _close_below(change, after, move if by_word else follow)
        close_when_done(change, after.parent)
    elif item.is_closed and not after.is_closed:
        _reopen(change, after.parent)
    # As it is now: what followed may have moved it on.
    return change.get(Item, after.id)


def give_back(change: Change, item: Item) -> Item:
    """Return an item that nobody holds any more; one that cannot become open again stays as it is."""
    if item.states.allows(item.status, "open"):
        return follow(change, item, "open")
    _end_claim(change, item)
    return item


def bump_version(change: Change, item: Item) -> Item:
    """Return the item with its version one higher and the time of this change."""
    return replace(item, version=item.version + 1, updated_at=change.now)


def _end_claim(change: Change, item: Item) -> None:
    claim = change.find(Claim, item.id)
    if claim is not None and claim.is_held:
        if claim.session != change.context.caller.actor.session:
            refuse_foreign_claims(change, [claim])
        change.put(replace(claim, state="released"))


def _close_gates(change: Change, item: Item) -> None:
    """Close the gates that the work of before had met: what comes now is looked at anew."""
    for gate in change.select(Gate, item=item.id, holds="finish", status="met"):
        change.put(gate.moved("closed", change.now))


def _close_below(change: Change, item: Item, end: Callable[..., Item]) -> None:
    """Close what is open below a closed item in the same way, or else cancel it.

    What ends by word may end while a task of it is not: that work is not thrown away.
    """
    below = change.select(Item, parent=item.id, category=UNCLOSED, order="position,number")
    is_declared = bool(below) and _has_ended_by_word(change, item.id)
    if below and not is_declared:
        refuse_ending(change, item)
    for name in [child.id for child in below]:
        child = change.get(Item, name)  # as it is now: closing the one before may have freed it
        if is_declared and child.is_workable:
            continue
        if item.category == "dropped":
            note_former(change, child)
        same = child.states.allows(child.status, item.status)
        why = f"{item.id} above it is {item.status}"
        end(change, child, item.status if same else "cancelled", why)


def wake(change: Change, parent: str, *, reopens: bool = True) -> None:
    """Start what holds a started item; a task above it is not started without a claim.

    reopens: whether what has ended by word takes it up again.
    """
    if not parent:
        return
    if not reopens and _has_ended_by_word(change, parent):
        return
    _reopen(change, parent)
    above = change.get(Item, parent)
    if above.is_workable:
        wake(change, above.parent)
    elif above.category == "open":
        follow(change, above, "active")


def _has_ended_by_word(change: Change, item: str) -> bool:
    """Return whether an item, or what holds it, has closed and ends by word only."""
    line = line_of(change, item)
    return any(ancestor.is_closed and not ancestor.states.closes_itself for ancestor in line)


def _reopen(change: Change, parent: str) -> None:
    """Reopen what holds a reopened item."""
    if parent:
        above = change.get(Item, parent)
        if above.is_closed:
            follow(
                change, above, "active" if above.states.allows(above.status, "active") else "open"
            )


def _step_through(change: Change, gate: Gate) -> str:
    """Return what meets a closed gate: of a review what comes next, and to a person who may not judge who may."""
    if gate.kind != "review":
        return str(_MEETS[gate.kind])
    item = change.get(Item, gate.item)
    if item.category != "review" and not item.is_workable:
        return str(Act.HAND_IN)
    actor, policy = change.context.caller.actor, change.get(Project).reviews
    if actor.kind == "agent" or policy == "self":
        return str(Act.REVIEW)
    is_own = change.writing.exists(
        Contribution, item=item.id, principal=principal_id_of(actor), how="worked"
    )
    return str(Act.WORK_ALONE if is_own else Act.REVIEW)


def note_former(change: Change, item: Item) -> None:
    """Add to the entry in which state an item was before it closed with what holds it."""
    formers: dict[str, list[str]] = change.facts.get(_FORMERLY, {})
    listed = [*formers.get(item.status, ()), item.id]
    change.add_facts(**{_FORMERLY: {**formers, item.status: listed}})


def restore_below(change: Change, top: Item) -> Item:
    """Reopen what closed with a whole that was given up, each in the state of before, and return the whole.

    What ended before that, or was closed again on its own since, stays. What somebody was at is open: nobody holds it.
    """
    formers = _formers(change, top)
    waiting = list(formers)
    while waiting:
        # From the top down, in whatever order the entries name them.
        held_back: list[str] = []
        for name in waiting:
            item = change.get(Item, name)
            if change.get(Item, item.parent).is_closed:
                held_back.append(name)
            else:
                _restore(change, item, formers[name])
        if len(held_back) == len(waiting):
            break
        waiting = held_back
    return change.get(Item, top.id)


def _restore(change: Change, item: Item, status: str) -> None:
    """Move an item back to a state, as far as its table has a way there."""
    states = item.states
    is_held = states.categories.get(status) == "active" and item.is_workable
    goal = states.named("open") if is_held else status
    for state in states.way(item.status, goal):
        item = follow(change, item, state)


def _formers(change: Change, top: Item) -> dict[str, str]:
    """Return the state of before of each item that closed with a whole, or with what holds that, and is closed since."""
    view, formers = change.writing, dict[str, str]()
    for above in line_of(change, top.id):
        for sequence in view.sequences(subject=above.id, limit=_ENTRIES):
            entry = load_fields(next(view.entries(sequence, sequence + 1)))
            facts = entry.get("f", {})
            if _RESTORED in facts:
                break
            for status, names in facts.get(_FORMERLY, {}).items():
                for name in names:
                    item = change.find(Item, name)
                    if item is None or item.category != "dropped" or item.closed_at != entry["t"]:
                        continue
                    if any(ancestor.id == top.id for ancestor in line_of(change, name)):
                        formers.setdefault(name, status)
    if formers:
        change.add_facts(**{_RESTORED: len(formers)})
    return formers


def close_when_done(change: Change, part: str) -> None:
    """Close a part whose last child has closed, unless a gate is closed.

    A child that failed holds it open until somebody decides: tries again, skips or cancels it.
    """
    if not part:
        return
    above = change.get(Item, part)
    if above.is_closed or above.is_workable or not above.states.closes_itself:
        return
    if change.writing.exists(Item, parent=part, category=UNCLOSED):
        return
    # Where all was dropped nothing was done: what that means is for somebody to say.
    if not change.writing.exists(Item, parent=part, category="done"):
        return
    dropped = change.select(Item, parent=part, category="dropped")
    if any(child.states.is_undecided(child.status) for child in dropped):
        return
    if not closed_gates(change, part):
        follow(change, above, "done")


def settle(change: Change, item: str) -> Item:
    """Return an item after a gate has opened: it closes if it only waited for that."""
    current = change.get(Item, item)
    if not current.is_workable:
        close_when_done(change, item)
    elif current.category == "review" and not (
        closed_gates(change, item) or change.writing.exists(Item, parent=item, category=UNCLOSED)
    ):
        follow(change, current, "done")
    return change.get(Item, item)


def closed_gates(change: Change, item: str) -> list[Gate]:
    """Return the gates that still hold back the end of an item."""
    return change.select(Gate, item=item, holds="finish", status="closed", order="name")


def _ask_gates(change: Change, item: Item, goal: str, but: str) -> None:
    """Refuse an end while a gate holds it back, or leave the work out past the gate if one may.

    Nothing ends past a review where that takes a person: it is waived first, which he signs.
    """
    if goal not in item.states.skips:
        refuse_blocked(change, item, but=but)
        refuse_closed_gates(change, item.id)
    elif closed := closed_gates(change, item.id):
        _leave_out(change, item, closed)


def refuse_dropping(change: Change, item: Item) -> None:
    """Raise Forbidden or GateClosed if a part of a whole cannot be dropped past the gates of it and of what it holds.

    What was done there stays, so whoever did it would get rid of its review. What nobody has begun may be planned anew,
    and a whole that is given up takes its parts along: nothing is finished by that.
    """
    if item.parent and not change.get(Item, item.parent).is_closed:
        for part in _wholes_from(change, item):
            closed = closed_gates(change, part.id)
            if closed and change.writing.exists(Contribution, item=part.id, how="worked"):
                # Whoever is at it is named first: only he can let it go at once.
                refuse_ending(change, item)
                _leave_out(change, part, closed)


def _wholes_from(change: Change, item: Item) -> Iterator[Item]:
    """Answer an item and all below it that has parts and is not closed."""
    if not item.is_workable:
        yield item
        for child in change.select(Item, parent=item.id, category=UNCLOSED, order="number"):
            yield from _wholes_from(change, child)


def _leave_out(change: Change, item: Item, closed: Sequence[Gate]) -> None:
    """Leave the work of an item out past closed gates, which is to loosen them."""
    relax(change, item.id, "leave out what is asked of")
    reviews = [gate.name for gate in closed if gate.kind == "review"]
    if reviews and change.get(Project).reviews == "person":
        raise GateClosed(
            f"{item.id} has reviews that a person has to waive first: {', '.join(reviews)}",
            hint=f"{Act.WAIVE}.",
            gates=list[Json](reviews),
        )


def _is_judged(change: Change, item: Item) -> bool:
    """Return whether somebody judged what is in review, or let the verdict go."""
    return change.writing.exists(
        Gate, item=item.id, kind="review", holds="finish", status=("met", "waived")
    )


def refuse_blocked(change: Change, item: Item, *, but: str = "") -> None:
    """Raise GateClosed if an open blocker says that the work of an item cannot go on; but: a tag of those that may stay."""
    # The counter says whether anything is in the way, so that what is free costs no look.
    if not item.is_workable or item.blockers == item.held:
        return
    blockers = change.select(Record, item=item.id, kind="blocker", status="open", order="number")
    blockers = [record for record in blockers if but not in record.tags]
    if blockers:
        raise GateClosed(
            f"{item.id} is blocked: {blockers[0].id}, {blockers[0].title}",
            hint=f"{Act.UNBLOCK}.",
            blockers=[record.id for record in blockers[:_RELEASED_TOLD]],
        )


def refuse_closed_gates(change: Change, item: str, *, but: str = "") -> list[Gate]:
    """Raise GateClosed, with the next step for each, if a gate holds back the end of an item.

    but: a kind of gate that is left out of the question; those of it that are closed are answered.
    """
    closed = closed_gates(change, item)
    gates = [gate for gate in closed if gate.kind != but]
    if gates:
        names = ", ".join(f"{gate.name} ({gate.kind})" for gate in gates)
        raise GateClosed(
            f"{item} has gates that are not met: {names}",
            hint=_way_through(change, gates),
            gates=[gate.name for gate in gates],
        )
    return closed


def _way_through(change: Change, gates: Sequence[Gate]) -> str:
    """Return as a hint what meets each of some closed gates; of checks that nothing runs how they come to be run."""
    checks = [gate.argv for gate in gates if gate.kind == "check" and gate.argv]
    lacking = find_unallowed(change.context, change.writing, checks) if checks else Lacking()
    unrun = {*lacking.commands}
    steps = dict.fromkeys(
        _step_through(change, gate)
        for gate in gates
        if gate.kind != "check" or gate.argv not in unrun
    )
    ways = [way_to_run(lacking)] if unrun else []
    return " ".join([*([f"{'; '.join(steps)}."] if steps else []), *ways])
