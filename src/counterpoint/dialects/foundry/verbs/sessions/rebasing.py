"""Brings unattended runs to specs that were changed meanwhile.

What a run knows of its spec is what the document said at a place of the ledger, which is there for ever. What was satisfied in phases that
nobody touched stays; every other gate is judged afresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, cast

from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import TASK_STEPS, SessionStep, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.commands import refuse_command
from counterpoint.dialects.foundry.rules.autonomy.counting import rebased
from counterpoint.dialects.foundry.rules.autonomy.structure import (
    Difference,
    Structure,
    rebase,
    structure_of,
)
from counterpoint.dialects.foundry.verbs.documents.history import History
from counterpoint.dialects.foundry.verbs.sessions.commanding import opened, refuse_beside, settle
from counterpoint.dialects.foundry.verbs.sessions.finding import run_named
from counterpoint.dialects.foundry.verbs.sessions.gates import ask_gates, judge_afresh, phase_gates
from counterpoint.dialects.foundry.verbs.sessions.rows import (
    counters_in,
    ref_of,
    shown_terms,
    spec_of,
    with_counters,
)
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape, shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import Rebased, RunOf
from counterpoint.dialects.foundry.verbs.sessions.watching import view_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, StaleVersion

_NAMED: Final = 20


class Rebasing:
    """Verbs that bring runs to specs as they are."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def rebase(self, wanted: RunOf, *, force: bool = False) -> Rebased:
        """Let a run that is paused or has failed go on with its spec as it is.

        Raises NotFound, Conflict, InvalidInput if completed tasks are gone, StaleVersion if the run was changed meanwhile.
        """
        with self._context.reading() as view:
            seen = run_named(view, wanted)
            refuse_command("rebase", ref_of(seen, spec_of(view, seen)))
        # Before the transaction: nobody waits to write while the ledger is read.
        before = self._before(seen)
        with joined(self._context):
            with recording(self._context, "run.rebased") as change:
                row = opened(change, wanted)
                refuse_beside(change.writing, row)
                if (row.session, row.version) != (seen.session, seen.version):
                    raise StaleVersion(f"run {row.session} was changed meanwhile")
                shape = shape_of(change.writing, change.get(Item, row.spec))
                satisfied = [
                    gate.phase
                    for gate in phase_gates(change.writing, shape, row, shown_terms(row))
                    if gate.is_satisfied
                ]
                done = _completed(change.writing, shape, row)
                found = rebase(before, shape.structure, done, satisfied, force=force)
                judge_afresh(change, row.session, shape, found.kept_gates)
                ask_gates(change, shape)
                after = _rebased(row, shape, found, change.writing.head().size)
                after = replace(after, heartbeat_at=change.clock)
                told = {name: value for name, value in found.told().items() if value}
                settle(change, after, "rebase", "Session rebased", _words(found), **_few(told))
            with self._context.reading() as view:
                again = run_named(view, RunOf(session=row.session))
                now = self._context.ports.clock.now()
                return Rebased(view=view_of(view, again, now), difference=found)

    def _before(self, row: SpecSession) -> Structure | None:
        """Return the structure that a run knows, from the ledger; None if it cannot be found there any more."""
        try:
            document = History(self._context).document(row.spec, str(row.place))
        except CounterpointError as fault:
            if fault.kind not in {"not_found", "invalid"}:
                raise
            return None
        found = structure_of(document)
        return found if found.digest == row.structure else None


def _completed(view: Reading, shape: SpecShape, row: SpecSession) -> list[str]:
    """Return the tasks that a run has completed, by the ids of their nodes."""
    steps = view.select(SessionStep, session=row.session, outcome="success")
    return list(shape.known.ids(one.task for one in steps if one.type in TASK_STEPS).values())


def _rebased(row: SpecSession, shape: SpecShape, found: Difference, size: int) -> SpecSession:
    names = frozenset(shape.structure.tasks) | frozenset(shape.structure.phases)
    counters = rebased(counters_in(row), names, len(found.completed_removed))
    is_there = any(phase.id == row.phase for phase in shape.phases)
    return replace(
        with_counters(row, counters),
        status="running",
        pause_reason="",
        failure_reason="",
        paused_at="",
        phase=row.phase if is_there else "",
        structure=shape.structure.digest,
        place=size - 1,
    )


def _few(told: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a journal tells of a difference: the first names of each list."""
    return {
        name: cast("list[Json]", value)[:_NAMED] if isinstance(value, list) else value
        for name, value in told.items()
    }


def _words(found: Difference) -> str:
    """Return what changed, in words."""
    if not found.is_change:
        return "Its spec had not changed."
    counts: Iterable[tuple[int, str]] = (
        (len(found.added_phases), "phases added"),
        (len(found.removed_phases), "phases removed"),
        (len(found.added_tasks), "tasks added"),
        (len(found.removed_tasks), "tasks removed"),
        (len(found.moved_tasks), "tasks in another phase"),
        (int(found.is_reordered), "phases in another order"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count) + "."
