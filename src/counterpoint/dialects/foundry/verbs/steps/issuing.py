"""Applies a decision to a run: it goes on, pauses, fails or is complete."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.change import Change
from counterpoint.dialects.foundry.nouns.autonomy import SessionStep, SpecSession, StepType
from counterpoint.dialects.foundry.rules.autonomy.deciding import (
    Complete,
    Decision,
    Fail,
    Issue,
    Pause,
    phase_after,
)
from counterpoint.dialects.foundry.rules.autonomy.results import proof_digest, proof_of
from counterpoint.dialects.foundry.verbs.sessions import holding
from counterpoint.dialects.foundry.verbs.sessions.events import SESSION_TYPE, STEP_TYPE, note_event
from counterpoint.dialects.foundry.verbs.steps.loaded_run import LoadedRun

STEP_PREFIX: Final = "step"
ATTEMPT_PREFIX: Final = "gate"
"""How the ids of steps, and of attempts at gates, begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedDecision:
    """A run after a decision. step: issued with it; None without one."""

    row: SpecSession
    step: SessionStep | None = None
    title: str = ""


def apply_decision(
    change: Change, run: LoadedRun, decision: Decision, key: bytes
) -> AppliedDecision:
    """Apply a decision to a run; return run and step, which the caller stores. key: of the project."""
    nodes, row = run.nodes, run.row
    before = nodes.id(row.phase)
    goal = phase_after(decision, before)
    if goal != before:
        row = replace(row, phase=nodes.get(goal).id if goal else "")
    if isinstance(decision, Issue):
        return _issue(change, replace(run, row=row), decision, key)
    if isinstance(decision, Pause):
        return _pause(change, replace(run, row=row), decision, key)
    if isinstance(decision, Fail):
        return _fail(change, row, decision)
    return _complete(change, replace(run, row=row), decision, key)


def _issue(change: Change, run: LoadedRun, decision: Issue, key: bytes) -> AppliedDecision:
    task = decision.task
    step = _make_step(
        change,
        run,
        decision.type,
        key,
        task=run.nodes.get(task.id).id if task else "",
        phase=run.row.phase,
        attempt=change.context.ports.mint.mint(ATTEMPT_PREFIX) if decision.needs_attempt else "",
        command=task.command if task else "",
    )
    note_event(
        change,
        run.row,
        f"Step issued: {decision.type} {task.id if task else decision.phase}",
        decision.message,
        type_=STEP_TYPE,
        action="step_issued",
        step_id=step.id,
        step_type=step.type,
        task_id=task.id if task else "",
        phase_id=decision.phase,
        gate_attempt_id=step.attempt,
    )
    return AppliedDecision(row=run.row, step=step, title=task.title if task else "")


def _pause(change: Change, run: LoadedRun, decision: Pause, key: bytes) -> AppliedDecision:
    row, step = run.row, _make_step(change, run, "pause", key, reason=decision.reason)
    holding.hand_over(change, row.session)
    change.add_facts(paused=decision.reason)
    if row.status != "paused":
        row = replace(row, status="paused", paused_at=change.now)
        row = replace(row, pause_reason=decision.reason, last_pause=decision.reason)
        note_event(
            change,
            row,
            "Session paused",
            decision.message,
            type_=SESSION_TYPE,
            action="pause",
            status=row.status,
            pause_reason=decision.reason,
            phase_id=decision.phase,
        )
    return AppliedDecision(row=row, step=step)


def _fail(change: Change, row: SpecSession, decision: Fail) -> AppliedDecision:
    after = replace(row, status="failed", pause_reason="", failure_reason=decision.reason)
    holding.hand_over(change, row.session)
    change.add_facts(failed=decision.reason)
    note_event(
        change,
        after,
        "Session failed",
        decision.message,
        type_=SESSION_TYPE,
        action="fail",
        status="failed",
        failure_reason=decision.reason,
    )
    return AppliedDecision(row=after)


def _complete(change: Change, run: LoadedRun, decision: Complete, key: bytes) -> AppliedDecision:
    if decision.is_over:
        return AppliedDecision(row=run.row)
    step = _make_step(change, run, "complete_spec", key)
    row = replace(run.row, status="completed", pause_reason="")
    note_event(
        change,
        row,
        "Spec completed",
        decision.message,
        type_=SESSION_TYPE,
        action="spec_complete",
        status=row.status,
    )
    holding.end(change, row.session, "completed")
    return AppliedDecision(row=row, step=step)


def _make_step(
    change: Change,
    run: LoadedRun,
    kind: StepType,
    key: bytes,
    *,
    task: str = "",
    phase: str = "",
    attempt: str = "",
    command: str = "",
    reason: str = "",
) -> SessionStep:
    """Build the step that is issued now, with the digest of its proof."""
    row, name = run.row, change.context.ports.mint.mint(STEP_PREFIX)
    change.add_facts(issued=name, type=kind)
    return SessionStep(
        project=row.project,
        session=row.session,
        number=run.last.number + 1 if run.last else 1,
        id=name,
        type=kind,
        task=task,
        phase=phase,
        attempt=attempt,
        reason=reason,
        proof=proof_digest(proof_of(key, row.session, name)),
        command=Prose(command),
        # The clock of receipts, since durations are measured by it.
        issued_at=change.clock,
        renewed_at="",
        consumed_at="",
        outcome="",
        note=Prose(""),
        files=(),
        receipt="",
        report=Prose(""),
        answer=Prose(""),
    )
