"""Pauses, resumes and ends unattended runs.

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
from counterpoint.dialects.foundry.rules.autonomy.contexts import report_use
from counterpoint.dialects.foundry.rules.autonomy.counting import count_resumption
from counterpoint.dialects.foundry.verbs.queries import Nodes
from counterpoint.dialects.foundry.verbs.sessions import holding
from counterpoint.dialects.foundry.verbs.sessions.events import SESSION_TYPE, note_event
from counterpoint.dialects.foundry.verbs.sessions.finding import get_run
from counterpoint.dialects.foundry.verbs.sessions.gates import gate_of, mark_answered
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
from counterpoint.dialects.foundry.verbs.sessions.views import (
    Ending,
    Resumption,
    RunSelector,
    RunView,
)
from counterpoint.dialects.foundry.verbs.sessions.watching import view_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound, StaleVersion

GATE_REASONS = frozenset({"gate_failed", "fidelity_cycle_limit"})
"""Why a run pauses over a gate that is tried again when somebody resumes it."""
REPLACED = "operator_override"
"""The reason of a run that ended because another one was begun in its place."""


class Commanding:
    """Commands that change the status of a run."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def pause(self, selector: RunSelector) -> RunView:
        """Pause a run before its next step; NotFound, Conflict."""
        with joined(self._context):
            with recording(self._context, "run.paused") as change:
                row = open_run(change, selector)
                goal = refuse_command("pause", ref_of(row, spec_of(change.writing, row)))
                after = replace(row, status=goal, paused_at=change.now)
                after = replace(after, pause_reason="user", last_pause="user")
                holding.hand_over(change, row.session)
                text = "Somebody asked this run to stop."
                store_command(change, after, "pause", "Session paused", text, pause_reason="user")
            self._clear_stop(row)
            return self._view(row.session)

    def resume(self, selector: RunSelector, how: Resumption) -> RunView:
        """Resume a run.

        Raises NotFound, Conflict, GateClosed and InvalidInput where a person has to review a gate first, Forbidden to whoever worked
        on the phase that the caller says was reviewed.
        """
        with self._context.reading() as view:
            waiting = self._refuse_resumption(view, get_run(view, selector), how)
        with joined(self._context):
            if waiting is not None:
                judgment = Judgment(
                    approves=True, reason=f"reviewed attempt {waiting.id} at the gate"
                )
                Reviews(self._context).review(waiting.phase, judgment)
            with recording(self._context, "run.resumed") as change:
                row = open_run(change, selector)
                # Another call may have ended it meanwhile, or paused it again over another gate.
                if self._refuse_resumption(change.writing, row, how) is not None:
                    raise StaleVersion(f"run {row.session} was changed meanwhile")
                store_command(
                    change,
                    _resume_row(change, row, how),
                    "resume",
                    "Session resumed",
                    _describe_stop(row),
                )
            return self._view(row.session)

    def end(self, selector: RunSelector, why: Ending) -> RunView:
        """End a run, for a reason; NotFound, Conflict, InvalidInput."""
        return self._end("end", selector, why)

    def reset(self, selector: RunSelector, why: Ending) -> RunView:
        """End a run that has failed, named by its session, for a reason; NotFound, Conflict, InvalidInput."""
        return self._end("reset", selector, why)

    def _end(self, command: Command, selector: RunSelector, why: Ending) -> RunView:
        is_named = command != "reset" or bool(selector.session)
        refuse_unreasoned(why.code, why.detail, session_named=is_named)
        with joined(self._context):
            action = "run.reset" if command == "reset" else "run.ended"
            with recording(self._context, action) as change:
                row = open_run(change, selector)
                end_run(change, row, command, why)
            self._clear_stop(row)
            return self._view(row.session)

    def _refuse_resumption(
        self, view: Reading, row: SpecSession, how: Resumption
    ) -> GateEvidence | None:
        """Raise unless a run may be resumed; return the evidence that the caller says was reviewed, if its gate is still closed."""
        is_awaited = row.pause_reason == _REVIEW
        evidence = standing_evidence(view, row.session, row.phase)[:1] if is_awaited else []
        gate = gate_of(view, evidence[0].phase) if evidence else None
        waits = gate is not None and gate.status == "closed"
        ref = ref_of(row, spec_of(view, row), evidence[0].id if evidence else "")
        is_same = row.status != "failed" or not how.force or _has_same_structure(view, row)
        refuse_command("resume", ref, force=how.force, same_structure=is_same)
        refuse_beside(view, row)
        if not waits:
            return None
        root = view.find(Item, row.spec)
        phase = Nodes(view, root).id(evidence[0].phase) if root else ""
        refuse_unacknowledged(
            replace(ref, phase=phase), how.attempt, is_acknowledged=how.is_acknowledged
        )
        return evidence[0]

    def _clear_stop(self, row: SpecSession) -> None:
        """Remove a stop request that was obeyed."""
        with self._context.reading() as view:
            spec = spec_of(view, row)
        self._context.ports.get(AutonomyFiles).clear_stop(spec)

    def _view(self, session: str) -> RunView:
        with self._context.reading() as view:
            row = get_run(view, RunSelector(session=session))
            return view_of(view, row, self._context.ports.clock.now(), self._warnings(view, row))

    def _warnings(self, view: Reading, row: SpecSession) -> list[str]:
        """Return warnings about the gates that an ended run leaves closed."""
        root = view.find(Item, row.spec)
        if row.status != "ended" or root is None:
            return []
        shape = shape_of(view, root)
        closed = [
            shape.nodes.id(phase.id)
            for phase in shape.phases
            if (gate := gate_of(view, phase.id)) is not None and gate.status == "closed"
        ]
        if not closed:
            return []
        names = ", ".join(closed[:_MAX_NAMED])
        return [f"These phases still need their gates reviewed or waived: {names}."]


_MAX_NAMED = 20
_REVIEW = "gate_review_required"
_ENDS = frozenset({"end", "reset"})
"""Commands that a run takes whatever has become of its row."""


def refuse_beside(view: Reading, row: SpecSession) -> None:
    """Raise Conflict if a run is to go on beside another one of its spec."""
    live, spec = live_run(view, row.spec), spec_of(view, row)
    refuse_second(ref_of(row, spec), ref_of(live, spec) if live else None)


def open_run(change: Change, selector: RunSelector) -> SpecSession:
    """Get the selected run, in a change that is about it."""
    change.open_session()
    row = change.get(SpecSession, get_run(change.writing, selector).session)
    change.subject = row.spec
    change.add_facts(run=row.session)
    return row


def store_command(
    change: Change, after: SpecSession, action: str, title: str, text: str, **details: Json
) -> None:
    """Store a run as a command has left it, and write that into its journal; LedgerBroken."""
    stored = replace(after, version=after.version + 1, updated_at=change.now)
    keep(change, stored, must=action not in _ENDS)
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
    store_command(change, after, command, title, detail or code, reason_code=code)


def _has_same_structure(view: Reading, row: SpecSession) -> bool:
    """Whether the spec of a run still has the structure that the run knows."""
    root = view.find(Item, row.spec)
    if root is None:
        raise NotFound("the spec of this run is gone", error_code="SPEC_NOT_FOUND")
    return shape_of(view, root).structure.digest == row.structure


def _resume_row(change: Change, row: SpecSession, how: Resumption) -> SpecSession:
    """Return a run that goes on, with the values that its resumption resets."""
    reason = row.pause_reason
    after = with_counters(row, count_resumption(counters_in(row), reason, _phase_at_limit(row)))
    if reason == "context_limit":
        after = with_context(after, ContextUse())
    if how.pct is not None:
        use = report_use(context_in(after), how.pct, change.clock, shown_terms(row).limits)
        after = with_context(after, use)
    if reason in GATE_REASONS:
        mark_answered(change, row.session)
    return replace(
        after,
        status="running",
        pause_reason="",
        failure_reason="",
        paused_at="",
        acknowledged=how.attempt or row.acknowledged,
        heartbeat_at=change.clock,
    )


def _phase_at_limit(row: SpecSession) -> str:
    """Return the phase of a run that was reviewed as often as allowed; empty if none was."""
    most = shown_terms(row).limits.max_fidelity_review_cycles_per_phase
    counted = counters_in(row).phase_retries
    return next((phase for phase, count in counted.items() if count >= most), "")


def _describe_stop(row: SpecSession) -> str:
    return f"It was {row.status}: {row.pause_reason or row.failure_reason or 'no reason is known'}."
