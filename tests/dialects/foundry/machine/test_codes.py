"""Every code that sessions, steps and gates are refused with, by calls of tools.

Which there are is read out of the modules that raise them, so that a code more fails until somebody is refused with it here.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from builders import Agent
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.models import environment
from counterpoint.dialects.foundry.models.environment import TYPES
from counterpoint.dialects.foundry.models.runs import GateEvidence, SpecSession
from counterpoint.dialects.foundry.runs.starting import Rebasing
from counterpoint.settings import Settings
from fakes.run_party import set_run
from fakes.run_yard import PAUSED, STANDING, Yard
from fakes.stepping import Stepper

SLICE: Final = Path(environment.__file__).parents[1]
MODULES: Final = (
    "runs/*.py",
    "runs/rules/*.py",
    *(f"tools/{name}.py" for name in ("runs", "steps", "review")),
)
CONTRACT: Final = """
    SPEC_SESSION_EXISTS NO_ACTIVE_SESSION AMBIGUOUS_ACTIVE_SESSION INVALID_STATE_TRANSITION
    SPEC_REBASE_REQUIRED REBASE_COMPLETED_TASKS_REMOVED REBASE_BACKUP_MISSING VERSION_CONFLICT LOCK_TIMEOUT
    AUTONOMY_WRITE_LOCK_ACTIVE STEP_RESULT_REQUIRED STEP_MISMATCH STEP_STALE
    STEP_PROOF_MISSING STEP_PROOF_MISMATCH STEP_PROOF_CONFLICT STEP_PROOF_EXPIRED
    INVALID_GATE_EVIDENCE GATE_INTEGRITY_CHECKSUM GATE_AUDIT_FAILURE REQUIRED_GATE_UNSATISFIED
    MANUAL_GATE_ACK_REQUIRED INVALID_GATE_ACK GATE_BLOCKED ALL_TASKS_BLOCKED
    VERIFICATION_RECEIPT_MISSING VERIFICATION_RECEIPT_INVALID INVALID_CURSOR SESSION_UNRECOVERABLE
    AUTO_MODE_SPEC_REQUIRED HEARTBEAT_STALE
"""
"""The codes of autonomy, by the reference."""
UNGIVEN: Final = frozenset({"LOCK_TIMEOUT"})
"""No lock is waited for here: a busy store says RESOURCE_BUSY."""
TOLD: Final = {
    "GATE_BLOCKED": "gate_failed",
    "ALL_TASKS_BLOCKED": "blocked",
    "HEARTBEAT_STALE": "heartbeat_stale",
}
"""Codes that are told beside a pause and refuse nothing."""
REASON: Final = {"reason_code": "testing"}

Refusal = tuple[Agent, str, Mapping[str, Any]]
"""Who makes which call that is refused: of a tool, with arguments."""


def at(run: Stepper, said: str, who: Agent | None = None, **given: Any) -> Refusal:
    """Answer a command to a run."""
    asked = {"action": "session", "command": said, "session_id": run.session, **given}
    return who or run.agent, "task", asked


def step(run: Stepper, said: str = "next", **given: Any) -> Refusal:
    """Answer a command to the steps of a run."""
    asked = {"action": "session-step", "command": said, "session_id": run.session, **given}
    return run.agent, "task", asked


def report(run: Stepper, outcome: str = "success", **changed: Any) -> Refusal:
    """Answer a report of the step that is out."""
    return step(run, last_step_result=run.result(outcome, **changed))


def out(yard: Yard, **terms: Any) -> Stepper:
    """Answer a run with its first step out."""
    run = yard.begin(**terms)
    run.does()
    return run


def again(yard: Yard, seconds: int, **changed: Any) -> Refusal:
    """Answer a report that was taken some seconds ago, made once more."""
    run = out(yard)
    old = run.result()
    run.reports()
    yard.workshop.clock.pass_by(seconds=seconds)
    return step(run, last_step_result={**old, **changed})


def _ambiguous(yard: Yard) -> Refusal:
    yard.begin()
    run = yard.begin()
    return run.agent, "task", {"action": "session", "command": "status"}


def _rebase_required(yard: Yard) -> Refusal:
    run = STANDING["failed"](yard)
    return at(run, "resume", force=True)


def _completed_removed(yard: Yard) -> Refusal:
    run = out(yard)
    run.works()
    run.manages("pause")
    run.agent.does("task", action="remove", spec_id=run.spec, task_id="task-1-1", cascade=True)
    return at(run, "rebase")


def _backup_missing(yard: Yard) -> Refusal:
    run = STANDING["paused"](yard)
    run.edit(SpecSession, {"session": run.session}, structure="0" * 64)
    return at(run, "rebase")


def _locked(yard: Yard) -> Refusal:
    run = yard.begin()
    asked = {"action": "add", "spec_id": run.spec, "parent": "phase-1", "title": "x"}
    return yard.agent("gus"), "task", asked


def _stale(yard: Yard) -> Refusal:
    run = out(yard)
    yard.workshop.clock.pass_by(minutes=61)
    return report(run)


def _edited_evidence(yard: Yard) -> Refusal:
    run = yard.at_gate()
    run.reviews()
    run.edit(GateEvidence, {"id": run.step["gate_attempt_id"]}, verdict="warn")
    return report(run)


def _unproven(yard: Yard) -> Refusal:
    run = PAUSED["gate_review_required"](yard)
    about = {"item": run.item("phase-2").id, "name": "manual_review"}
    run.edit(Gate, about, status="met", proof=run.data["gate_attempt_id"])
    run.manages("resume")
    return report(run)


def _unacknowledged(yard: Yard, **given: Any) -> Refusal:
    return at(PAUSED["gate_review_required"](yard), "resume", yard.agent("jo"), **given)


def _receipt(yard: Yard, **changed: Any) -> Refusal:
    run = yard.begin()
    run.goes_on_to("execute_verification")
    return report(run, verification_receipt={**run.executes(), **changed} if changed else None)


def _cursor(yard: Yard) -> Refusal:
    run = yard.begin()
    return run.agent, "task", {"action": "session-events", "session_id": run.session, "cursor": "x"}


def _edited_row(yard: Yard) -> Refusal:
    run = out(yard)
    run.edit(SpecSession, {"session": run.session}, policy="lenient")
    return at(run, "pause")


def _denied(yard: Yard, times: int = 0) -> Refusal:
    looker = yard.workshop.agent("ron", surface="foundry", settings=Settings(role="observer"))
    asked = {"action": "session", "command": "start", "spec_id": yard.spec()}
    for _ in range(times):
        assert looker.call("task", asked).is_error
    return looker, "task", asked


def _waiver(yard: Yard, posture: str = "", **changed: Any) -> Refusal:
    run = yard.begin()
    settings = Settings(posture=posture)
    who = yard.workshop.agent("max", surface="foundry", settings=settings)
    asked = {"action": "gate-waiver", "spec_id": run.spec, "phase_id": "phase-1", **REASON}
    return who, "task", {**asked, **changed}


def _review(yard: Yard, action: str = "fidelity-gate", **changed: Any) -> Refusal:
    run = yard.at_gate()
    asked = {"action": action, "spec_id": run.spec, "session_id": run.session}
    if action == "fidelity-gate":
        asked |= {"phase_id": "phase-1", "step_id": run.step["step_id"]}
    return run.agent, "review", {**asked, **changed}


def _meanwhile(yard: Yard) -> Refusal:
    """Somebody else changes the run between the look and the change."""
    run, look = STANDING["paused"](yard), Rebasing._load_structure

    def slow(self: Rebasing, row: SpecSession) -> Any:
        yard.patch.setattr(Rebasing, "_load_structure", look)
        set_run(yard.agent("gus"), row.session, version=row.version + 1)
        return look(self, row)

    yard.patch.setattr(Rebasing, "_load_structure", slow)
    return at(run, "rebase")


CASES: Final[Mapping[str, Callable[[Yard], Refusal]]] = {
    "SPEC_SESSION_EXISTS": lambda yard: at(
        run := yard.begin(), "start", spec_id=run.spec, session_id=""
    ),
    "NO_ACTIVE_SESSION": lambda yard: (
        yard.agent("fay"),
        "task",
        {"action": "session", "command": "status", "spec_id": yard.spec()},
    ),
    "AMBIGUOUS_ACTIVE_SESSION": _ambiguous,
    "INVALID_STATE_TRANSITION": lambda yard: at(yard.begin(), "resume"),
    "SPEC_REBASE_REQUIRED": _rebase_required,
    "REBASE_COMPLETED_TASKS_REMOVED": _completed_removed,
    "REBASE_BACKUP_MISSING": _backup_missing,
    "VERSION_CONFLICT": _meanwhile,
    "AUTONOMY_WRITE_LOCK_ACTIVE": _locked,
    "STEP_RESULT_REQUIRED": lambda yard: step(out(yard)),
    "STEP_MISMATCH": lambda yard: report(out(yard), task_id="task-2-1"),
    "STEP_STALE": _stale,
    "STEP_PROOF_MISSING": lambda yard: report(out(yard), step_proof=None),
    "STEP_PROOF_MISMATCH": lambda yard: report(out(yard), step_proof="ab" * 32),
    "STEP_PROOF_CONFLICT": lambda yard: again(yard, 1, note="otherwise"),
    "STEP_PROOF_EXPIRED": lambda yard: again(yard, 31),
    "INVALID_GATE_EVIDENCE": lambda yard: report(yard.at_gate()),
    "GATE_INTEGRITY_CHECKSUM": _edited_evidence,
    "GATE_AUDIT_FAILURE": _unproven,
    "REQUIRED_GATE_UNSATISFIED": lambda yard: report(yard.at_gate(), "skipped"),
    "MANUAL_GATE_ACK_REQUIRED": _unacknowledged,
    "INVALID_GATE_ACK": lambda yard: _unacknowledged(
        yard, acknowledge_gate_review=True, acknowledged_gate_attempt_id="other"
    ),
    "VERIFICATION_RECEIPT_MISSING": _receipt,
    "VERIFICATION_RECEIPT_INVALID": lambda yard: _receipt(yard, output_digest="ab" * 32),
    "INVALID_CURSOR": _cursor,
    "SESSION_UNRECOVERABLE": _edited_row,
    "AUTO_MODE_SPEC_REQUIRED": lambda yard: (
        yard.agent("fay"),
        "task",
        {"action": "session-config", "auto_mode": True},
    ),
    "AUTHORIZATION": _denied,
    "RATE_LIMITED": lambda yard: _denied(yard, 10),
    "FORBIDDEN": _waiver,
    "NOT_FOUND": lambda yard: _waiver(yard, "supervised", phase_id="phase-9"),
    "PHASE_NOT_FOUND": lambda yard: _review(yard, phase_id="phase-9"),
    "TASK_NOT_FOUND": lambda yard: _review(yard, "fidelity", task_id="task-9-9"),
    "SPEC_NOT_FOUND": lambda yard: at(yard.begin(), "start", spec_id="nope", session_id=""),
    "MISSING_REQUIRED": lambda yard: report(out(yard), task_id=None),
}
"""What is refused with each code."""
COUNTED: Final = frozenset({"INVALID_GATE_EVIDENCE"})
"""The only refusal of which something is written: how many came in a row."""


def given() -> Iterator[str]:
    """Answer the codes that modules of runs name."""
    for pattern in MODULES:
        for file in SLICE.glob(pattern):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Constant) and node.value in TYPES:
                    yield str(node.value)


def test_every_code_of_the_contract_and_of_the_modules_is_tried() -> None:
    """And none that nobody gives."""
    assert set(CONTRACT.split()) <= set(TYPES)
    known = set(CASES) | set(TOLD)
    assert set(given()) - known == set()
    assert set(CONTRACT.split()) - known == UNGIVEN
    assert known <= set(given()) | set(CONTRACT.split())


@pytest.mark.parametrize("code", CASES)
def test_each_code_is_heard_by_who_calls_a_tool(code: str, yard: Yard) -> None:
    """As `data.error_code`, with its type and with what to do; nothing is written, and no proof is told."""
    who, tool, asked = CASES[code](yard)
    asked = {name: value for name, value in asked.items() if value != ""}
    before = who.ledger_size
    reply = who.call(tool, asked)
    told = reply.answer["data"]
    assert (reply.is_error, told["error_code"], told["error_type"]) == (True, code, TYPES[code])
    assert told["remediation"]
    assert reply.answer["error"]
    if code != "VERSION_CONFLICT":
        assert who.ledger_size == before + (code in COUNTED)
    proof = (asked.get("last_step_result") or {}).get("step_proof")
    assert not proof or proof not in json.dumps(reply.answer)


@pytest.mark.parametrize("code", TOLD)
def test_each_code_that_refuses_nothing_is_told_beside_a_pause(code: str, yard: Yard) -> None:
    """In `meta.warning_details`, with what it means."""
    run = PAUSED[TOLD[code]](yard)
    reply = run.asks(last_step_result=run.result())
    (said,) = reply.answer["meta"]["warning_details"]
    assert (said["code"], said["message"]) == (code, reply.answer["data"]["next_step"]["message"])
