"""Moving items along their lifecycles, with everything a move brings about.

Rule 1: only `move` changes a state. Rule 2: an item that becomes done releases what waits for it; one
that leaves done obstructs it again. Rule 3: a part (phase or root) starts with the first of its children
and closes with the last, if its gates are met. Rule 4: a claim ends when its item stops being active.
"""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.links import obstruct, release
from counterpoint.kernel.errors import GateClosed


def move(change: Change, item: Item, status: str) -> Item:
    """Answer the item in another state, with all that follows; IllegalMove."""
    after = touched(change, item.moved(status, change.now))
    change.put(after)
    if (item.category == "done") != (after.category == "done"):
        if after.category == "done":
            freed = release(change, after)
            if freed:
                change.told(released=freed[:50])
        else:
            obstruct(change, after)
    if item.category == "active" and after.category != "active":
        _end_claim(change, after)
    if after.category == "active":
        _wake(change, after.parent)
    elif after.is_closed:
        close_when_done(change, after.parent)
    elif item.is_closed:
        _reopen(change, after.parent)
    return change.get(Item, after.id)


def touched(change: Change, item: Item) -> Item:
    """Answer the item with its version one higher and the time of this change."""
    return replace(item, version=item.version + 1, updated_at=change.now)


def _end_claim(change: Change, item: Item) -> None:
    claim = change.find(Claim, item.id)
    if claim is not None and claim.state == "live":
        change.put(replace(claim, state="released"))


def _wake(change: Change, parent: str) -> None:
    """Start what holds a started item."""
    if parent:
        above = change.get(Item, parent)
        if above.category == "open":
            move(change, above, "active")


def _reopen(change: Change, parent: str) -> None:
    """Reopen what holds a reopened item."""
    if parent:
        above = change.get(Item, parent)
        if above.is_closed:
            move(
                change, above, "active" if "active" in above.states.moves[above.status] else "open"
            )


def close_when_done(change: Change, part: str) -> None:
    """Close a part whose last child has closed, unless a gate is closed or a child was dropped."""
    if not part:
        return
    above = change.get(Item, part)
    if above.is_closed or above.is_workable or "done" not in above.states.moves[above.status]:
        return
    if change.writing.exists(Item, parent=part, category=UNCLOSED):
        return
    if not change.writing.exists(Item, parent=part, category="done"):
        return
    if not closed_gates(change, part):
        move(change, above, "done")


def closed_gates(change: Change, item: str) -> list[Gate]:
    """Answer the gates that still hold back the end of an item."""
    return change.select(Gate, item=item, holds="finish", status="closed", order="name")


def refuse_closed_gates(change: Change, item: str, *, but: str = "") -> None:
    """Raise GateClosed, with the next step for each, if a gate holds back the end of an item.

    but: a kind of gate that is left out of the question.
    """
    gates = [gate for gate in closed_gates(change, item) if gate.kind != but]
    if gates:
        names = ", ".join(f"{gate.name} ({gate.kind})" for gate in gates)
        steps = {
            "check": "run `verify` on it until it passes",
            "artifact": "`submit` its artifact",
            "review": "ask another session to `review` it",
        }
        hint = "; ".join(dict.fromkeys(steps[gate.kind] for gate in gates))
        raise GateClosed(
            f"{item} has gates that are not met: {names}",
            hint=f"{hint[0].upper()}{hint[1:]}.",
            gates=[gate.name for gate in gates],
        )
