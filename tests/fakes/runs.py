"""Unattended runs as the tests of their rules see them: steps, reports and situations in which nothing is wrong."""

from __future__ import annotations

from typing import Any, Final

from counterpoint.dialects.foundry.models.runs import Evidence, IssuedStep, Limits
from counterpoint.dialects.foundry.runs.rules.commands import PhaseGate, Reading, integrity_of
from counterpoint.dialects.foundry.runs.rules.deciding import PhaseState, Situation, TaskRef
from counterpoint.dialects.foundry.runs.rules.results import (
    KeptReceipt,
    ReportContext,
    StepResult,
    proof_digest,
)
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.clock import Timestamp, later

ISSUED: Final = Timestamp("2026-02-03T04:00:00.000Z")
NOW: Final = later(ISSUED, 600)
PROOF: Final = "a1" * 32
COMMAND: Final = sha256(b"pytest -q")
OUTPUT: Final = sha256(b"4 passed")
KEY: Final = b"k" * 32
SESSION: Final = "s-1"


def step(kind: str = "implement_task", **more: Any) -> IssuedStep:
    """Return a step that is out, of a type."""
    about: dict[str, Any] = {"phase": "phase-1"}
    if kind == "implement_task":
        about |= {"task": "task-1-1"}
    if kind == "execute_verification":
        about |= {"task": "verify-1-1", "command": COMMAND}
    if kind == "run_fidelity_gate":
        about |= {"attempt": "attempt-1"}
    if kind in {"pause", "complete_spec"}:
        about = {}
    given: dict[str, Any] = {
        "id": "step-1",
        "type": kind,
        "proof": proof_digest(PROOF),
        "issued_at": ISSUED,
        **about,
        **more,
    }
    return IssuedStep(**given)


def receipt(**more: Any) -> dict[str, Any]:
    """Return the receipt of a verification that passed."""
    return {
        "command_hash": COMMAND,
        "exit_code": 0,
        "output_digest": OUTPUT,
        "issued_at": "2026-02-03T04:05:00.000Z",
        "step_id": "step-1",
        **more,
    }


KEPT: Final = KeptReceipt(
    id="c1",
    command_hash=COMMAND,
    exit_code=0,
    output_digest=OUTPUT,
    issued_at=Timestamp("2026-02-03T04:05:00.000Z"),
)


def evidence(**more: Any) -> Evidence:
    """Return what a reviewer found about the step of a gate, with its integrity."""
    given: dict[str, Any] = {
        "attempt": "attempt-1",
        "session": SESSION,
        "step": "step-1",
        "phase": "phase-1",
        "verdict": "pass",
        "findings": "[]",
        "reviewer": "deterministic",
        "issued_at": str(NOW),
        **more,
    }
    bare = Evidence(**given)
    return bare if bare.integrity else Evidence(**{**given, "integrity": integrity_of(bare, KEY)})


def report(kind: str = "implement_task", **more: Any) -> StepResult:
    """Return the report of a success of such a step."""
    about: dict[str, Any] = {}
    if kind == "implement_task":
        about = {"task_id": "task-1-1"}
    if kind == "execute_verification":
        about = {"task_id": "verify-1-1", "verification_receipt": receipt()}
    if kind == "run_fidelity_gate":
        about = {"phase_id": "phase-1", "gate_attempt_id": "attempt-1"}
    given: dict[str, Any] = {
        "step_id": "step-1",
        "step_type": kind,
        "outcome": "success",
        "step_proof": PROOF,
        **about,
        **more,
    }
    return StepResult(**given)


def known(kind: str = "implement_task", **more: Any) -> ReportContext:
    """Return what the server knows while such a step is out, and all that it needs is there."""
    out = more.pop("outstanding", step(kind))
    given: dict[str, Any] = {
        "session": SESSION,
        "now": NOW,
        "outstanding": out,
        "proven": out,
        "receipts": (KEPT,),
        "evidence": evidence(),
        "key": KEY,
        "limits": Limits(),
        **more,
    }
    return ReportContext(**given)


def phase(name: str = "phase-1", **more: Any) -> PhaseState:
    """Return a phase with two tasks and a verification, all of them open, and a gate."""
    number = name.rpartition("-")[2]
    given: dict[str, Any] = {
        "id": name,
        "open_tasks": 2,
        "open_verifications": 1,
        "task": TaskRef(id=f"task-{number}-1"),
        "verification": TaskRef(id=f"verify-{number}-1", command=COMMAND),
        "gate": PhaseGate(phase=name),
        **more,
    }
    return PhaseState(**given)


def done(name: str = "phase-1", **gate: Any) -> PhaseState:
    """Return a phase whose work is completed. gate: how its gate stands."""
    return phase(
        name,
        open_tasks=0,
        open_verifications=0,
        task=None,
        verification=None,
        gate=PhaseGate(phase=name, **gate),
    )


def situation(**more: Any) -> Situation:
    """Return a situation in which the first task is next."""
    given: dict[str, Any] = {
        "now": NOW,
        "context": Reading(pct=20, source="caller"),
        "heartbeat_at": later(NOW, -60),
        "phases": (phase("phase-1"), phase("phase-2")),
        "had_step": True,
        **more,
    }
    return Situation(**given)
