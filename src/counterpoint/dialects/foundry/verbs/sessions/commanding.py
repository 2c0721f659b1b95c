"""Stops unattended runs, lets them go on, and ends them.

Each command is one entry of the ledger, about the spec, with its run among the facts; and one of the journal. What a person reviewed of
a gate is a verdict of the core besides, under all rules of verdicts.
"""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.operations.reviews import Reviews
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.autonomy_files import AutonomyFiles
from counterpoint.dialects.foundry.nouns.autonomy import (
    Command,
    ContextUse,
    GateEvidence,
    SpecSession,
)
from counterpoint.dialects.foundry.rules.autonomy.commands import (
    refuse_command,
    refuse_second,
    refuse_unacknowledged,
    refuse_unreasoned,
)
from counterpoint.dialects.foundry.rules.autonomy.contexts import told
from counterpoint.dialects.foundry.rules.autonomy.counting import resumed
from counterpoint.dialects.foundry.verbs.queries import Nodes
from counterpoint.dialects.foundry.verbs.sessions import holding
from counterpoint.dialects.foundry.verbs.sessions.events import SESSION_TYPE, note_event
from counterpoint.dialects.foundry.verbs.sessions.finding import run_named
from counterpoint.dialects.foundry.verbs.sessions.gates import answer, gate_of
from counterpoint.dialects.foundry.verbs.sessions.keeping import keep
from counterpoint.dialects.foundry.verbs.sessions.rows import (
    context_in,
    counters_in,
    live_run,
    ref_of,
    shown_terms,
    spec_of,
    standing_evidence,
    with_context,
    with_counters,
)
from counterpoint.dialects.foundry.verbs.sessions.shape import shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import Ending, Resumption, RunOf, RunView
from counterpoint.dialects.foundry.verbs.sessions.watching import view_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound, StaleVersion

GATE_REASONS = frozenset({"gate_failed", "fidelity_cycle_limit"})
"""Why a run pauses over a gate that is tried again when somebody resumes it."""
REPLACED = "operator_override"
"""The reason of a run that ended because another one was begun in its place."""


class Commanding:
    """Verbs that change how a run stands."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def pause(self, wanted: RunOf) -> RunView:
        """Let a run stop before its next step; NotFound, Conflict."""
        with joined(self._context):
            with recording(self._context, "run.paused") as change:
                row = opened(change, wanted)
                goal = refuse_command("pause", ref_of(row, spec_of(change.writing, row)))
                after = replace(row, status=goal, paused_at=change.now)
                after = replace(after, pause_reason="user", last_pause="user")
                holding.hand_over(change, row.session)
                text = "Somebody asked this run to stop."
                settle(change, after, "pause", "Session paused", text, pause_reason="user")
            self._obeyed(row)
            return self._view(row.session)

    def resume(self, wanted: RunOf, how: Resumption) -> RunView:
        """Let a run go on.

        Raises NotFound, Conflict, GateClosed and InvalidInput where a person has to review a gate first, Forbidden to whoever worked
        on what he says that he has reviewed.
        """
        with self._context.reading() as view:
            waiting = self._refuse_resumption(view, run_named(view, wanted), how)
        with joined(self._context):
            if waiting is not None:
                said = Judgment(approves=True, reason=f"reviewed attempt {waiting.id} at the gate")
                Reviews(self._context).review(waiting.phase, said)
            with recording(self._context, "run.resumed") as change:
                row = opened(change, wanted)
                # Since the look somebody may have ended it, or paused it again over another gate.
                if self._refuse_resumption(change.writing, row, how) is not None:
                    raise StaleVersion(f"run {row.session} was changed meanwhile")
                settle(change, _resumed(change, row, how), "resume", "Session resumed", _why(row))
            return self._view(row.session)

    def end(self, wanted: RunOf, why: Ending) -> RunView:
        """End a run, for a reason; NotFound, Conflict, InvalidInput."""
        return self._end("end", wanted, why)

    def reset(self, wanted: RunOf, why: Ending) -> RunView:
        """End a run that has failed, named by its session, for a reason; NotFound, Conflict, InvalidInput."""
        return self._end("reset", wanted, why)

    def _end(self, command: Command, wanted: RunOf, why: Ending) -> RunView:
        is_named = command != "reset" or bool(wanted.session)
        refuse_unreasoned(why.code, why.detail, session_named=is_named)
        with joined(self._context):
            action = "run.reset" if command == "reset" else "run.ended"
            with recording(self._context, action) as change:
                row = opened(change, wanted)
                end_run(change, row, command, why)
            self._obeyed(row)
            return self._view(row.session)

    def _refuse_resumption(
        self, view: Reading, row: SpecSession, how: Resumption
    ) -> GateEvidence | None:
        """Raise unless a run may be resumed; return what a person says that he has reviewed, if its gate is closed still."""
        is_awaited = row.pause_reason == _REVIEW
        found = standing_evidence(view, row.session, row.phase)[:1] if is_awaited else []
        gate = gate_of(view, found[0].phase) if found else None
        waits = gate is not None and gate.status == "closed"
        ref = ref_of(row, spec_of(view, row), found[0].id if found else "")
        is_same = row.status != "failed" or not how.force or _is_same(view, row)
        refuse_command("resume", ref, force=how.force, same_structure=is_same)
        refuse_beside(view, row)
        if not waits:
            return None
        root = view.find(Item, row.spec)
        phase = Nodes(view, root).id(found[0].phase) if root else ""
        refuse_unacknowledged(
            replace(ref, phase=phase), how.attempt, is_acknowledged=how.is_acknowledged
        )
        return found[0]

    def _obeyed(self, row: SpecSession) -> None:
        """Take a request to stop away that is done."""
        with self._context.reading() as view:
            spec = spec_of(view, row)
        self._context.ports.get(AutonomyFiles).clear_stop(spec)

    def _view(self, session: str) -> RunView:
        with self._context.reading() as view:
            row = run_named(view, RunOf(session=session))
            return view_of(view, row, self._context.ports.clock.now(), self._warnings(view, row))

    def _warnings(self, view: Reading, row: SpecSession) -> list[str]:
        """Return what whoever has ended a run should know of what it leaves."""
        root = view.find(Item, row.spec)
        if row.status != "ended" or root is None:
            return []
        shape = shape_of(view, root)
        closed = [
            shape.known.id(phase.id)
            for phase in shape.phases
            if (gate := gate_of(view, phase.id)) is not None and gate.status == "closed"
        ]
        if not closed:
            return []
        named = ", ".join(closed[:_NAMED])
        return [f"These phases still need their gates reviewed or waived: {named}."]


_NAMED = 20
_REVIEW = "gate_review_required"
_ENDS = frozenset({"end", "reset"})
"""What a run is met with whatever has become of its row."""


def refuse_beside(view: Reading, row: SpecSession) -> None:
    """Raise Conflict if a run is to go on beside another one of its spec."""
    live, spec = live_run(view, row.spec), spec_of(view, row)
    refuse_second(ref_of(row, spec), ref_of(live, spec) if live else None)


def opened(change: Change, wanted: RunOf) -> SpecSession:
    """Return the run that is meant, in a change that is about it."""
    change.open_session()
    row = change.get(SpecSession, run_named(change.writing, wanted).session)
    change.subject = row.spec
    change.add_facts(run=row.session)
    return row


def settle(
    change: Change, after: SpecSession, action: str, title: str, text: str, **details: Json
) -> None:
    """Keep a run as a command has left it, and write that into its journal; LedgerBroken."""
    kept = replace(after, version=after.version + 1, updated_at=change.now)
    keep(change, kept, must=action not in _ENDS)
    note_event(
        change,
        after,
        title,
        text,
        type_=SESSION_TYPE,
        action=action,
        status=after.status,
        **details,
    )


def end_run(change: Change, row: SpecSession, command: Command, why: Ending) -> None:
    """End a run in a change that is about it; Conflict."""
    goal = refuse_command(command, ref_of(row, spec_of(change.writing, row)))
    code, detail = str(why.code), str(why.detail or "")
    after = replace(
        row,
        status=goal,
        pause_reason="",
        reason_code=code,
        reason_detail=Prose(detail),
    )
    holding.end(change, row.session, "failed")
    change.add_facts(reason_code=code)
    title = "Session reset" if command == "reset" else "Session ended"
    settle(change, after, command, title, detail or code, reason_code=code)


def _is_same(view: Reading, row: SpecSession) -> bool:
    """Whether the spec of a run has the structure that it knows."""
    root = view.find(Item, row.spec)
    if root is None:
        raise NotFound("the spec of this run is gone", error_code="SPEC_NOT_FOUND")
    return shape_of(view, root).structure.digest == row.structure


def _resumed(change: Change, row: SpecSession, how: Resumption) -> SpecSession:
    """Return a run that goes on, with what whoever resumes it gives it anew."""
    reason = row.pause_reason
    after = with_counters(row, resumed(counters_in(row), reason, _at_limit(row)))
    if reason == "context_limit":
        after = with_context(after, ContextUse())
    if how.pct is not None:
        use = told(context_in(after), how.pct, change.clock, shown_terms(row).limits)
        after = with_context(after, use)
    if reason in GATE_REASONS:
        answer(change, row.session)
    return replace(
        after,
        status="running",
        pause_reason="",
        failure_reason="",
        paused_at="",
        acknowledged=how.attempt or row.acknowledged,
        heartbeat_at=change.clock,
    )


def _at_limit(row: SpecSession) -> str:
    """Return the phase of a run that was reviewed as often as it may be; empty if none was."""
    most = shown_terms(row).limits.max_fidelity_review_cycles_per_phase
    counted = counters_in(row).phase_retries
    return next((phase for phase, count in counted.items() if count >= most), "")


def _why(row: SpecSession) -> str:
    return f"It was {row.status}: {row.pause_reason or row.failure_reason or 'no reason is known'}."
