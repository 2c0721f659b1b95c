"""Moves of specs between folders: activated, completed, archived and restored.

Rules: (1) which folder a spec is in follows from its root and its labels; one that is pending stays so until it is activated,
whatever is begun in it.
(2) Work in a spec that leaves the folder `active` is released first: nobody works in a spec that waits, and what others
hold is not taken from them. (3) Completing a spec by force skips its unfinished items, and resolves their blockers.
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
from counterpoint.dialects.foundry.verbs.queries import Nodes, get_spec
from counterpoint.kernel.errors import Conflict


class Lifecycle:
    """Verbs that move specs between folders."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def move(self, spec: str, to: Folder, *, force: bool = False) -> MovedSpec:
        """Move a spec to a folder; one that is there already stays as it is.

        force: complete it even if it is not finished.
        Raises NotFound, Conflict for a move that does not exist and for an unfinished spec, AlreadyClaimed, GateClosed.
        """
        if to == "completed":
            with self._context.reading() as view:
                root = get_spec(view, spec)
            refuse_stale_word(self._context, root.id, STATES[to])
        with recording(self._context, "spec.moved") as change:
            change.open_session()
            root = change.get(Item, get_spec(change.writing, spec).id)
            change.subject = root.id
            nodes = Nodes(change.writing, root)
            before = folder_of(root.category, labels_of(change.writing, root.id))
            if before == to:
                return MovedSpec(spec=nodes.spec, before=before, after=to)
            refuse_move(nodes.spec, before, to)
            _refuse_run(change, nodes, to)
            change.add_facts(moved=[before, to])
            skipped = 0
            if to == "completed":
                if not force:
                    refuse_unfinished(nodes.spec, nodes.tallies().get(root.id, Tally()))
                    refuse_awaiting(nodes.awaiting())
                skipped = _skip_unfinished(change, root)
            elif to != "active" and before in {"pending", "active"}:
                _release_below(change, root)
            _set_folder(change, root.id, to)
            return MovedSpec(spec=nodes.spec, before=before, after=to, skipped=skipped)

    def rest(self, spec: str) -> None:
        """Set a pending spec back, as if nothing had begun in it; NotFound, AlreadyClaimed."""
        with recording(self._context, "spec.moved") as change:
            change.open_session()
            root = change.get(Item, get_spec(change.writing, spec).id)
            change.subject = root.id
            _release_below(change, root)
            _set_folder(change, root.id, "pending")


def _refuse_run(change: Change, nodes: Nodes, to: Folder) -> None:
    """Raise Conflict where a run would continue in an archived spec."""
    if to != "archived":
        return
    for row in change.writing.select(SpecSession, spec=nodes.root.id, status="running", limit=1):
        raise Conflict(
            f"run {row.session} is working on {nodes.spec}",
            hint="End it first with `task session end`.",
            session_id=row.session,
        )


def keep_pending(change: Change, root: Item) -> None:
    """Keep a pending spec pending when work in it begins. root: before the change."""
    if root.category == "open":
        relabel(change, root.id, add=(PENDING,))


def _set_folder(change: Change, name: str, to: Folder) -> None:
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
    moves = root.states.way(root.status, STATES[to]) if root.status != STATES[to] else ()
    if not moves:
        change.put(touched(change, root))
    for state in moves:
        move(change, change.get(Item, name), state)


def _release_below(change: Change, root: Item) -> None:
    """Release all work below a spec."""
    tasks = change.select(Item, root=root.id, kind=WORKABLE, category=("active", "review"))
    for item in tasks:
        refuse_other(change, item)
        give_back(change, change.get(Item, item.id))
    for phase in change.select(Item, root=root.id, category=("active", "review"), order="number"):
        if phase.id != root.id and not phase.is_workable:
            follow(change, change.get(Item, phase.id), "open")


def _skip_unfinished(change: Change, root: Item) -> int:
    """Skip the open and failed items of a spec, from the leaves up; return how many tasks they are."""
    unfinished = change.select(Item, root=root.id, category=UNCLOSED, order="number desc")
    unfinished += change.select(Item, root=root.id, status="failed", order="number desc")
    unfinished = [item for item in unfinished if item.id != root.id]
    for item in unfinished:
        refuse_other(change, item)
        unblock(change, item, open_blockers(change, item), "its spec was completed")
    for item in unfinished:
        current = change.get(Item, item.id)
        # Closing one item may have closed its parent.
        if not current.is_closed or current.status == "failed":
            walk(change, current, "skipped")
    return sum(item.is_workable for item in unfinished)
