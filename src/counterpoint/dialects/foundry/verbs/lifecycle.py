"""Specs moved between folders: taken up, completed, put away and brought back.

Rules: (1) which folder a spec is in follows from its root and its labels; one that is pending stays so until it is activated,
whatever is begun in it.
(2) What leaves the folder `active` is given back first: nobody is at work in a spec that waits, and what somebody else
holds is not taken from him. (3) Whoever completes a spec by force skips what is open in it, and resolves what blocks that.
(4) An archived spec is parked where it is not closed: no dialect offers anything of it, so that no run may be at it.
"""

from __future__ import annotations

from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import WORKABLE, Item
from counterpoint.core.operations.closing.standing import (
    open_blockers,
    refuse_other,
    unblock,
    walk,
)
from counterpoint.core.operations.gates import refuse_stale_word
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import labels_of, relabel
from counterpoint.core.operations.recording.moves import follow, give_back, move, touched
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.foundry.nouns.autonomy import SpecSession
from counterpoint.dialects.foundry.nouns.nodes import PENDING, Folder, Tally
from counterpoint.dialects.foundry.nouns.specs import MovedSpec
from counterpoint.dialects.foundry.rules.folders import (
    LABELS,
    STATES,
    refuse_awaiting,
    refuse_move,
    refuse_unfinished,
)
from counterpoint.dialects.foundry.rules.standing import folder_of
from counterpoint.dialects.foundry.verbs.queries import Nodes, spec_named
from counterpoint.kernel.errors import Conflict


class Lifecycle:
    """Verbs that move specs between folders."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def move(self, spec: str, to: Folder, *, force: bool = False) -> MovedSpec:
        """Bring a spec into a folder; one that is there already stays as it is.

        force: complete it even if it is not finished.
        Raises NotFound, Conflict for a move that there is not and for an unfinished spec, AlreadyClaimed, GateClosed.
        """
        if to == "completed":
            with self._context.reading() as view:
                root = spec_named(view, spec)
            refuse_stale_word(self._context, root.id, STATES[to])
        with recording(self._context, "spec.moved") as change:
            change.open_session()
            root = change.get(Item, spec_named(change.writing, spec).id)
            change.subject = root.id
            known = Nodes(change.writing, root)
            before = folder_of(root.category, labels_of(change.writing, root.id))
            if before == to:
                return MovedSpec(spec=known.spec, before=before, after=to)
            refuse_move(known.spec, before, to)
            _refuse_run(change, known, to)
            change.add_facts(moved=[before, to])
            skipped = 0
            if to == "completed":
                if not force:
                    refuse_unfinished(known.spec, known.tallies().get(root.id, Tally()))
                    refuse_awaiting(known.awaiting())
                skipped = _skip_rest(change, root)
            elif to != "active" and before in {"pending", "active"}:
                _give_back_below(change, root)
            _bring(change, root.id, to)
            return MovedSpec(spec=known.spec, before=before, after=to, skipped=skipped)

    def rest(self, spec: str) -> None:
        """Let a pending spec be as if nothing had begun in it; NotFound, AlreadyClaimed."""
        with recording(self._context, "spec.moved") as change:
            change.open_session()
            root = change.get(Item, spec_named(change.writing, spec).id)
            change.subject = root.id
            _give_back_below(change, root)
            _bring(change, root.id, "pending")


def _refuse_run(change: Change, known: Nodes, to: Folder) -> None:
    """Raise Conflict where a run would go on with a spec of which nothing is offered any more."""
    if to != "archived":
        return
    for row in change.writing.select(SpecSession, spec=known.root.id, status="running", limit=1):
        raise Conflict(
            f"run {row.session} is working on {known.spec}",
            hint="End it first with `task session end`.",
            session_id=row.session,
        )


def keep_pending(change: Change, root: Item) -> None:
    """Let a spec stay pending in which something begins. root: as it was before that."""
    if root.category == "open":
        relabel(change, root.id, add=(PENDING,))


def _bring(change: Change, name: str, to: Folder) -> None:
    relabel(
        change,
        name,
        add=[label for folder, label in LABELS.items() if folder == to],
        drop=[label for folder, label in LABELS.items() if folder != to],
    )
    root = change.get(Item, name)
    if to == "archived" and root.is_closed:
        change.put(touched(change, root))
        return
    way = root.states.way(root.status, STATES[to]) if root.status != STATES[to] else ()
    if not way:
        change.put(touched(change, root))
    for state in way:
        move(change, change.get(Item, name), state)


def _give_back_below(change: Change, root: Item) -> None:
    """Let nothing below a spec be in work any more."""
    tasks = change.select(Item, root=root.id, kind=WORKABLE, category=("active", "review"))
    for item in tasks:
        refuse_other(change, item)
        give_back(change, change.get(Item, item.id))
    for phase in change.select(Item, root=root.id, category=("active", "review"), order="number"):
        if phase.id != root.id and not phase.is_workable:
            follow(change, change.get(Item, phase.id), "open")


def _skip_rest(change: Change, root: Item) -> int:
    """Skip what is open or failed below a spec, from the leaves up; answer how many tasks that are."""
    left = change.select(Item, root=root.id, category=UNCLOSED, order="number desc")
    left += change.select(Item, root=root.id, status="failed", order="number desc")
    left = [item for item in left if item.id != root.id]
    for item in left:
        refuse_other(change, item)
        unblock(change, item, open_blockers(change, item), "its spec was completed")
    for item in left:
        here = change.get(Item, item.id)
        # Closing one may have closed what holds it.
        if not here.is_closed or here.status == "failed":
            walk(change, here, "skipped")
    return sum(item.is_workable for item in left)
