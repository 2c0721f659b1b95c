"""Rebases unattended runs on specs that were changed meanwhile.

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
from counterpoint.dialects.foundry.rules.autonomy.counting import count_rebase
from counterpoint.dialects.foundry.rules.autonomy.structure import (
    Difference,
    Structure,
    rebase,
    structure_of,
)
from counterpoint.dialects.foundry.verbs.documents.history import History
from counterpoint.dialects.foundry.verbs.sessions.commanding import (
    open_run,
    refuse_beside,
    store_command,
)
from counterpoint.dialects.foundry.verbs.sessions.finding import get_run
from counterpoint.dialects.foundry.verbs.sessions.gates import ask_gates, judge_afresh, phase_gates
from counterpoint.dialects.foundry.verbs.sessions.rows import (
    counters_in,
    ref_of,
    shown_terms,
    spec_of,
    with_counters,
)
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape, shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import Rebased, RunSelector
from counterpoint.dialects.foundry.verbs.sessions.watching import view_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, StaleVersion

_NAMED: Final = 20


class Rebasing:
    """Commands that rebase runs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def rebase(self, selector: RunSelector, *, force: bool = False) -> Rebased:
        """Let a run that is paused or has failed go on with the present spec.

        Raises NotFound, Conflict, InvalidInput if completed tasks are gone, StaleVersion if the run was changed meanwhile.
        """
        with self._context.reading() as view:
            seen = get_run(view, selector)
            refuse_command("rebase", ref_of(seen, spec_of(view, seen)))
        # Before the transaction: nobody waits to write while the ledger is read.
        before = self._load_structure(seen)
        with joined(self._context):
            with recording(self._context, "run.rebased") as change:
                row = open_run(change, selector)
                refuse_beside(change.writing, row)
                if (row.session, row.version) != (seen.session, seen.version):
                    raise StaleVersion(f"run {row.session} was changed meanwhile")
                shape = shape_of(change.writing, change.get(Item, row.spec))
                satisfied = [
                    gate.phase
                    for gate in phase_gates(change.writing, shape, row, shown_terms(row))
                    if gate.is_satisfied
                ]
                done = _completed_tasks(change.writing, shape, row)
                difference = rebase(before, shape.structure, done, satisfied, force=force)
                judge_afresh(change, row.session, shape, difference.kept_gates)
                ask_gates(change, shape)
                after = _rebase_row(row, shape, difference, change.writing.head().size)
                after = replace(after, heartbeat_at=change.clock)
                changes = {name: value for name, value in difference.told().items() if value}
                store_command(
                    change,
                    after,
                    "rebase",
                    "Session rebased",
                    _describe(difference),
                    **_limit_names(changes),
                )
            with self._context.reading() as view:
                again = get_run(view, RunSelector(session=row.session))
                now = self._context.ports.clock.now()
                return Rebased(view=view_of(view, again, now), difference=difference)

    def _load_structure(self, row: SpecSession) -> Structure | None:
        """Return the structure that a run knows, from the ledger; None if it is not there any more."""
        try:
            document = History(self._context).document(row.spec, str(row.place))
        except CounterpointError as fault:
            if fault.kind not in {"not_found", "invalid"}:
                raise
            return None
        structure = structure_of(document)
        return structure if structure.digest == row.structure else None


def _completed_tasks(view: Reading, shape: SpecShape, row: SpecSession) -> list[str]:
    """Return the tasks that a run has completed, by the ids of their nodes."""
    steps = view.select(SessionStep, session=row.session, outcome="success")
    return list(shape.nodes.ids(step.task for step in steps if step.type in TASK_STEPS).values())


def _rebase_row(
    row: SpecSession, shape: SpecShape, difference: Difference, size: int
) -> SpecSession:
    names = frozenset(shape.structure.tasks) | frozenset(shape.structure.phases)
    counters = count_rebase(counters_in(row), names, len(difference.completed_removed))
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


def _limit_names(changes: Mapping[str, Json]) -> dict[str, Json]:
    """Return a difference with the first names of each list, for a journal."""
    return {
        name: cast("list[Json]", value)[:_NAMED] if isinstance(value, list) else value
        for name, value in changes.items()
    }


def _describe(difference: Difference) -> str:
    """Return what changed, in words."""
    if not difference.is_change:
        return "Its spec had not changed."
    counts: Iterable[tuple[int, str]] = (
        (len(difference.added_phases), "phases added"),
        (len(difference.removed_phases), "phases removed"),
        (len(difference.added_tasks), "tasks added"),
        (len(difference.removed_tasks), "tasks removed"),
        (len(difference.moved_tasks), "tasks in another phase"),
        (int(difference.is_reordered), "phases in another order"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count) + "."
