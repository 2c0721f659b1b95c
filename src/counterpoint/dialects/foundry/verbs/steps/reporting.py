"""Applies a report to its run, after it was judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.foundry.nouns.autonomy import GateStatus, SessionStep, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.contexts import count_step
from counterpoint.dialects.foundry.rules.autonomy.counting import Result, count_result
from counterpoint.dialects.foundry.rules.autonomy.receipts import receipt_of
from counterpoint.dialects.foundry.rules.autonomy.results import Judged
from counterpoint.dialects.foundry.verbs.gates.judging import Judging
from counterpoint.dialects.foundry.verbs.sessions.events import STEP_TYPE, note_event
from counterpoint.dialects.foundry.verbs.sessions.gates import mark_answered
from counterpoint.dialects.foundry.verbs.sessions.rows import (
    context_in,
    counters_in,
    with_context,
    with_counters,
)
from counterpoint.dialects.foundry.verbs.steps.loaded_run import LoadedRun, receipts_in

_MAX_FILES: Final = 50
"""Paths that an event names."""


def judge_gate(context: Context, run: LoadedRun, judged: Judged) -> GateStatus:
    """Apply a report to the gate of its phase, in an entry of its own; return the gate's status after it.

    A report that is about no gate returns `pending`, which says nothing.
    """
    step = run.outstanding
    if step is None or judged.result.outcome != "success":
        return "pending"
    if step.type == "run_fidelity_gate":
        return Judging(context).act_upon(step.attempt)
    if step.type == "address_fidelity_feedback":
        with recording(context, "gate.answered", step.phase) as change:
            change.open_session()
            mark_answered(change, step.session, step.phase)
            change.add_facts(run=step.session)
    return "pending"


def apply_report(
    change: Change,
    row: SpecSession,
    run: LoadedRun,
    out: SessionStep,
    judged: Judged,
    gate: GateStatus,
) -> tuple[SpecSession, SessionStep]:
    """Apply a report to run and step, and write it into the journal; the caller stores both.

    out: the reported step. gate: status of its phase's gate since.
    """
    result = judged.result
    about = Result(
        type=out.type,
        outcome=result.outcome,
        task=run.nodes.id(out.task),
        phase=run.nodes.id(out.phase),
        gate=gate,
    )
    after = with_counters(row, count_result(counters_in(row), about))
    after = with_context(after, count_step(context_in(after)))
    after = replace(after, heartbeat_at=change.clock, evidence_faults=0)
    receipt = receipt_of(result.verification_receipt, receipts_in(run))
    step = replace(
        out,
        consumed_at=change.clock,
        outcome=result.outcome,
        note=Prose(result.note),
        files=result.files_touched,
        receipt=receipt.id if receipt else "",
        report=Prose(judged.digest),
    )
    change.add_facts(step=out.id, outcome=result.outcome)
    note_event(
        change,
        after,
        f"Step reported: {out.type} {about.task or about.phase}".rstrip(),
        result.note or f"It was reported as {result.outcome}.",
        type_=STEP_TYPE,
        action="step_consumed",
        step_id=out.id,
        step_type=out.type,
        outcome=result.outcome,
        task_id=about.task,
        phase_id=about.phase,
        gate_attempt_id=out.attempt,
        files_touched=list(result.files_touched[:_MAX_FILES]),
    )
    return after, step
