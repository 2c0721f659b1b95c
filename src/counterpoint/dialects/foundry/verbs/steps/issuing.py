"""What a decision makes of a run: it goes on, pauses, fails or is complete."""

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
from counterpoint.dialects.foundry.verbs.steps.scene import Scene

STEP_PREFIX: Final = "step"
ATTEMPT_PREFIX: Final = "gate"
"""How the ids of steps, and of attempts at gates, begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A run after a decision. step: the one that was issued with it; None without one."""

    row: SpecSession
    step: SessionStep | None = None
    title: str = ""


def settled(change: Change, scene: Scene, decision: Decision, key: bytes) -> Issued:
    """Return a run as a decision leaves it, with its step, both for the caller to keep. key: of the project."""
    known, row = scene.known, scene.row
    before = known.id(row.phase)
    goal = phase_after(decision, before)
    if goal != before:
        row = replace(row, phase=known.named(goal).id if goal else "")
    if isinstance(decision, Issue):
        return _issue(change, replace(scene, row=row), decision, key)
    if isinstance(decision, Pause):
        return _pause(change, replace(scene, row=row), decision, key)
    if isinstance(decision, Fail):
        return _fail(change, row, decision)
    return _complete(change, replace(scene, row=row), decision, key)


def _issue(change: Change, scene: Scene, decision: Issue, key: bytes) -> Issued:
    task = decision.task
    step = _step(
        change,
        scene,
        decision.type,
        key,
        task=scene.known.named(task.id).id if task else "",
        phase=scene.row.phase,
        attempt=change.context.ports.mint.mint(ATTEMPT_PREFIX) if decision.needs_attempt else "",
        command=task.command if task else "",
    )
    note_event(
        change,
        scene.row,
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
    return Issued(row=scene.row, step=step, title=task.title if task else "")


def _pause(change: Change, scene: Scene, decision: Pause, key: bytes) -> Issued:
    row, step = scene.row, _step(change, scene, "pause", key, reason=decision.reason)
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
    return Issued(row=row, step=step)


def _fail(change: Change, row: SpecSession, decision: Fail) -> Issued:
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
    return Issued(row=after)


def _complete(change: Change, scene: Scene, decision: Complete, key: bytes) -> Issued:
    if decision.is_over:
        return Issued(row=scene.row)
    step = _step(change, scene, "complete_spec", key)
    row = replace(scene.row, status="completed", pause_reason="")
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
    return Issued(row=row, step=step)


def _step(
    change: Change,
    scene: Scene,
    kind: StepType,
    key: bytes,
    *,
    task: str = "",
    phase: str = "",
    attempt: str = "",
    command: str = "",
    reason: str = "",
) -> SessionStep:
    """Return a step that is issued now, with the digest of its proof."""
    row, name = scene.row, change.context.ports.mint.mint(STEP_PREFIX)
    change.add_facts(issued=name, type=kind)
    return SessionStep(
        project=row.project,
        session=row.session,
        number=scene.last.number + 1 if scene.last else 1,
        id=name,
        type=kind,
        task=task,
        phase=phase,
        attempt=attempt,
        reason=reason,
        proof=proof_digest(proof_of(key, row.session, name)),
        command=Prose(command),
        # By the clock, as receipts are: what lasts is measured by it.
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
