"""Every move of an unattended run by calls of tools: states by commands, pauses, and steps by outcomes.

What is tried comes from the tables of the product, so that a row more fails until it is thought of here; what is expected is that of the
contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

import pytest

from counterpoint.dialects.foundry.models.runs import (
    COMMANDS,
    OUTCOMES,
    PAUSE_REASONS,
    STATUSES,
    STEP_TYPES,
    Command,
    Outcome,
    PauseReason,
    SessionStatus,
    StepType,
    move_of,
)
from fakes.run_yard import ISSUED, PAUSED, STANDING, Yard
from fakes.stepping import Stepper

REFUSED: Final = "INVALID_STATE_TRANSITION"
NEEDED: Final = "paused_needs_attention"
REASON: Final = {"reason_code": "testing"}
GIVEN: Final[Mapping[Command, Mapping[str, Any]]] = {"end": REASON, "reset": REASON}
MOVES: Final[Mapping[SessionStatus | None, Mapping[Command, str]]] = {
    None: {"start": "running"},
    "running": {"start": "SPEC_SESSION_EXISTS", "pause": "paused", "end": "ended"},
    "paused": {
        "start": "SPEC_SESSION_EXISTS",
        "resume": "running",
        "rebase": "running",
        "end": "ended",
    },
    "failed": {"start": "running", "rebase": "running", "end": "ended", "reset": "ended"},
    "completed": {"start": "running"},
    "ended": {"start": "running"},
}
"""What each command makes of a run in each state, by the reference; every other pair is refused."""


def command(run: Stepper, said: Command, **given: Any) -> tuple[dict[str, Any], bool]:
    """Give a command; answer the data that came back, and whether it was refused."""
    about = {"spec_id": run.spec} if said == "start" else {"session_id": run.session}
    asked = {"action": "session", "command": said, **about, **GIVEN.get(said, {}), **given}
    reply = run.agent.call("task", asked)
    return reply.answer["data"], reply.is_error


@pytest.mark.parametrize("status", STATUSES)
def test_each_command_makes_the_move_of_the_contract_in_each_state(
    status: SessionStatus, yard: Yard
) -> None:
    """What is in no row of it is refused, and neither the run nor the ledger is another."""
    assert set(STANDING) == set(STATUSES) == set(MOVES) - {None}
    run, taken = STANDING[status](yard), 0
    for said in sorted(COMMANDS, key=lambda one: one in MOVES[status]):
        wanted = MOVES[status].get(said, REFUSED)
        run = STANDING[status](yard) if taken else run
        before = run.agent.ledger_size
        told, is_refused = command(run, said)
        assert (told.get("error_code") if is_refused else told["status"]) == wanted, said
        taken += not is_refused
        stood = run.status()["status"]
        if is_refused:
            assert (stood, run.agent.ledger_size) == (status, before)
        elif said == "start":
            assert told["session_id"] != run.session
        else:
            assert stood == wanted
    assert taken == len([one for one in MOVES[status].values() if one.islower()])


@pytest.mark.parametrize("said", COMMANDS)
def test_each_command_to_no_run_begins_one_or_says_that_there_is_none(
    said: Command, yard: Yard
) -> None:
    """Named by the spec, and where it has to be by a session."""
    spec, fay = yard.spec(), yard.agent("fay")
    named = {"session_id": "ses_nobody"} if said == "reset" else {"spec_id": spec}
    asked = {"action": "session", "command": said, **named, **GIVEN.get(said, {})}
    told = fay.call("task", asked).answer["data"]
    wanted = MOVES[None].get(said, "NO_ACTIVE_SESSION")
    assert told.get("error_code", told.get("status")) == wanted


def _forced(yard: Yard, status: SessionStatus) -> None:
    run = STANDING[status](yard)
    told, is_refused = command(run, "start", force=True)
    assert (is_refused, run.status()["status"]) == (False, "ended")
    assert told["session_id"] != run.session


def _revived(yard: Yard, status: SessionStatus) -> None:
    run = yard.begin()
    more = yard.change(run)
    assert run.asks().is_error
    assert run.status()["status"] == status
    told, is_refused = command(run, "resume", force=True)
    assert (is_refused, told["error_code"]) == (True, "SPEC_REBASE_REQUIRED")
    node = more.rpartition("/")[2]
    run.agent.does("task", action="remove", spec_id=run.spec, task_id=node)
    told, is_refused = command(run, "resume", force=True)
    assert (is_refused, told["status"]) == (False, "running")


ASKING: Final = {
    ("start", "running"): _forced,
    ("start", "paused"): _forced,
    ("resume", "failed"): _revived,
}
"""Where a command asks for more: what happens with that, and without all of it."""


@pytest.mark.parametrize(
    ("said", "status"),
    [(one, status) for one in COMMANDS for status in STATUSES if move_of(one, status).asks],
)
def test_a_command_that_asks_for_more_does_what_it_says_with_that(
    said: Command, status: SessionStatus, yard: Yard
) -> None:
    """By force another run begins in place of one, and a failed one goes on if its spec is what it knows."""
    ASKING[said, status](yard, status)


ACTIONS: Final[Mapping[PauseReason, tuple[str | None, list[str]]]] = {
    "user": (None, []),
    "context_limit": (NEEDED, ["resume_in_fresh_context"]),
    "error_threshold": (NEEDED, ["inspect_recent_failures", "reset_session_if_needed"]),
    "blocked": (NEEDED, ["resolve_task_blockers"]),
    "gate_failed": (NEEDED, ["review_gate_findings"]),
    "gate_review_required": (NEEDED, ["acknowledge_manual_gate_review"]),
    "task_limit": (NEEDED, ["start_followup_session"]),
    "heartbeat_stale": (NEEDED, ["refresh_heartbeat_or_resume"]),
    "step_stale": (NEEDED, ["replay_or_reset_stale_step"]),
    "phase_complete": ("phase_complete", []),
    "fidelity_cycle_limit": (NEEDED, ["escalate_fidelity_cycle_limit"]),
}
"""The signal of each pause, and what is recommended."""
CODES: Final = {
    "blocked": "ALL_TASKS_BLOCKED",
    "gate_failed": "GATE_BLOCKED",
    "heartbeat_stale": "HEARTBEAT_STALE",
    "step_stale": "STEP_STALE",
}
"""What a pause is called among the codes of refusals."""
AFTER: Final[Mapping[PauseReason, tuple[str, str]]] = {
    "user": ("execute_verification", "execute_verification"),
    "context_limit": ("execute_verification", "pause context_limit"),
    "error_threshold": ("implement_task", "implement_task"),
    "blocked": ("pause blocked", "pause blocked"),
    "gate_failed": ("run_fidelity_gate", "pause gate_failed"),
    "gate_review_required": ("MANUAL_GATE_ACK_REQUIRED", "pause gate_review_required"),
    "task_limit": ("pause task_limit", "pause task_limit"),
    "heartbeat_stale": ("implement_task", "implement_task"),
    "step_stale": ("implement_task", "implement_task"),
    "phase_complete": ("implement_task", "implement_task"),
    "fidelity_cycle_limit": ("run_fidelity_gate", "pause fidelity_cycle_limit"),
}
"""What comes next once the run was resumed, and once it was rebased: a rebase answers nothing that somebody has to see to."""


def next_of(run: Stepper) -> str:
    """Report the step that is out; answer what comes next."""
    told = run.reports()
    return f"{run.type} {told.get('pause_reason', '')}".strip()


@pytest.mark.parametrize("reason", PAUSE_REASONS)
def test_each_pause_is_told_and_left_as_the_contract_says(reason: PauseReason, yard: Yard) -> None:
    """It is told again until somebody lets the run go on; who resumes and who rebases finds what comes next."""
    run = PAUSED[reason](yard)
    assert (run.type, run.data["pause_reason"], run.step["reason"]) == ("pause", reason, reason)
    named = [one["action"] for one in run.data["recommended_actions"]]
    assert (run.data["loop_signal"], named) == ACTIONS[reason]
    stood = run.status()
    assert (stood["status"], stood["pause_reason"]) == ("paused", reason)
    reply = run.asks(last_step_result=run.result())
    run.data = reply.answer["data"]
    said = [one["code"] for one in reply.answer["meta"].get("warning_details", ())]
    assert (run.data["pause_reason"], said) == (reason, [CODES[reason]] if reason in CODES else [])
    resumed, rebased = AFTER[reason]
    told, is_refused = command(run, "resume")
    assert told.get("error_code", next_of(run)) == resumed
    if is_refused:
        yard.acknowledge(run)
        assert next_of(run) == "complete_spec"
    run = PAUSED[reason](yard)
    assert command(run, "rebase")[0]["rebase_result"]["result"] == "no_change"
    assert next_of(run) == rebased
    assert command(run, "end")[0]["status"] == "ended"


STEPPED: Final[Mapping[StepType, tuple[str, str, str]]] = {
    "implement_task": (
        "execute_verification verify-1-1",
        "implement_task task-1-1",
        "implement_task task-1-1",
    ),
    "execute_verification": (
        "run_fidelity_gate phase-1",
        "execute_verification verify-1-1",
        "execute_verification verify-1-1",
    ),
    "run_fidelity_gate": (
        "implement_task task-2-1",
        "run_fidelity_gate phase-1",
        "REQUIRED_GATE_UNSATISFIED",
    ),
    "address_fidelity_feedback": (
        "run_fidelity_gate phase-1",
        "address_fidelity_feedback phase-1",
        "address_fidelity_feedback phase-1",
    ),
    "pause": ("pause", "INVALID_FORMAT", "pause"),
    "complete_spec": ("", "INVALID_FORMAT", ""),
}
"""What comes after each step, by its outcomes: success, failure, skipped."""
COUNTED: Final[Mapping[tuple[StepType, Outcome], tuple[int, dict[str, int], dict[str, int]]]] = {
    ("implement_task", "failure"): (1, {"task-1-1": 1}, {}),
    ("implement_task", "skipped"): (0, {"task-1-1": 1}, {}),
    ("execute_verification", "failure"): (1, {"verify-1-1": 1}, {}),
    ("execute_verification", "skipped"): (0, {"verify-1-1": 1}, {}),
    ("run_fidelity_gate", "failure"): (0, {}, {"phase-1": 1}),
    ("address_fidelity_feedback", "success"): (0, {}, {"phase-1": 1}),
    ("address_fidelity_feedback", "failure"): (1, {}, {"phase-1": 1}),
    ("address_fidelity_feedback", "skipped"): (0, {}, {"phase-1": 1}),
}
"""What is counted then: errors in a row, what was not done, and reviews that did not pass."""


@pytest.mark.parametrize("kind", STEP_TYPES)
def test_each_outcome_of_each_step_leads_where_the_contract_says(
    kind: StepType, yard: Yard
) -> None:
    """What was not done comes again; a gate is not skipped, and nothing fails in which nothing is to be done."""
    assert get_args(Outcome) == OUTCOMES
    for outcome, wanted in zip(OUTCOMES, STEPPED[kind], strict=True):
        run = ISSUED[kind](yard)
        assert run.type == kind
        old = run.result()
        if outcome == "success":
            reply = run.asks(last_step_result={**old, **proved(run)})
        else:
            reply = run.asks(last_step_result={**old, "outcome": outcome})
        told = reply.answer["data"]
        if reply.is_error:
            assert told["error_code"] == wanted, (kind, outcome)
            continue
        run.data = told
        step = told["next_step"] or {}
        about = step.get("task_id") or step.get("phase_id") or ""
        assert f"{run.type} {about}".strip() == wanted, (kind, outcome)
        # The report of a pause has no effect while the run stands still: it is given the same again.
        assert (step.get("step_id") == old["step_id"]) == (kind == "pause")
        counted = run.status()["retry_counters"]
        names = ("consecutive_errors", "task_retry_counts", "phase_retry_counts")
        found = tuple(counted[name] for name in names)
        assert found == COUNTED.get((kind, outcome), (0, {}, {})), (kind, outcome)


def proved(run: Stepper) -> dict[str, Any]:
    """Do what a success of the step that is out rests on; answer what its report says of that."""
    if run.type == "execute_verification":
        return {"verification_receipt": run.executes()}
    if run.type == "run_fidelity_gate":
        run.reviews()
    return {}
