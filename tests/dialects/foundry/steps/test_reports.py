"""Reports that are refused, each with its code and what to do; and that the proof still holds after each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from builders import Workshop
from counterpoint.settings import Settings
from fakes.gates import SPEC
from fakes.stepping import Stepper

Begin = Callable[..., Stepper]
OTHER: Final = "ab" * 32
BLOCKED, NEEDED = "blocked_runtime", "paused_needs_attention"

REFUSED: Final[list[Any]] = [
    ({"step_proof": None}, "STEP_PROOF_MISSING", BLOCKED, "request_fresh_step_proof"),
    ({"step_proof": OTHER}, "STEP_PROOF_MISMATCH", BLOCKED, "request_fresh_step_proof"),
    ({"step_id": "step_x"}, "STEP_MISMATCH", None, ""),
    ({"step_type": "pause"}, "STEP_MISMATCH", None, ""),
    ({"task_id": "task-2-1"}, "STEP_MISMATCH", None, ""),
    ({"phase_id": "phase-2"}, "STEP_MISMATCH", None, ""),
    ({"gate_attempt_id": "gate_x"}, "STEP_MISMATCH", None, ""),
    ({"task_id": None}, "MISSING_REQUIRED", None, ""),
    ({"outcome": None}, "MISSING_REQUIRED", None, ""),
    ({"step_type": None}, "MISSING_REQUIRED", None, ""),
    ({"step_id": None}, "MISSING_REQUIRED", None, ""),
    ({"outcome": "done"}, "INVALID_FORMAT", None, ""),
    ({"step_type": "rest"}, "INVALID_FORMAT", None, ""),
    ({"note": "x" * 10_001}, "INVALID_FORMAT", None, ""),
    ({"files_touched": [1]}, "INVALID_FORMAT", None, ""),
    ({"verification_receipt": {}}, "INVALID_FORMAT", None, ""),
    ({"proof": "x"}, "INVALID_FORMAT", None, ""),
]


@pytest.mark.parametrize(
    ("changed", "code", "signal", "way"), REFUSED, ids=[f"{one[0]}" for one in REFUSED]
)
def test_a_wrong_report_is_refused_and_burns_nothing(
    changed: dict[str, Any], code: str, signal: str | None, way: str, run: Stepper
) -> None:
    """It writes nothing; put right, it is taken with the same proof."""
    run.does()
    told = run.fails(last_step_result=run.result(**changed))
    assert (told["error_code"], told["loop_signal"]) == (code, signal)
    assert [one["action"] for one in told["recommended_actions"]][:1] == ([way] if way else [])
    assert told["remediation"]
    assert run.step["step_proof"] not in str(told)
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"


def test_the_step_that_is_out_has_to_be_reported_first(run: Stepper) -> None:
    """Who has lost it asks for it again."""
    run.does()
    told = run.fails()
    assert told["error_code"] == "STEP_RESULT_REQUIRED"
    assert told["details"]["step_id"] == run.step["step_id"]
    assert "replayed" in told["remediation"]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"session_id": "ses_x"}, "NO_ACTIVE_SESSION"),
        ({"session_id": "", "spec_id": "nope"}, "SPEC_NOT_FOUND"),
        ({"last_step_result": "done"}, "INVALID_FORMAT"),
        ({"context_usage_pct": 101}, "INVALID_FORMAT"),
        ({"context_usage": 10}, "VALIDATION_ERROR"),
        ({"command": "rest"}, "INVALID_FORMAT"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(
    given: dict[str, Any], code: str, run: Stepper
) -> None:
    """With the code of what is wrong with it."""
    assert run.fails(**{"command": "next", **given})["error_code"] == code


def test_a_run_need_not_be_named_where_there_is_one(run: Stepper) -> None:
    """Nor where its spec is."""
    asked = {"action": "session-step", "command": "next"}
    told = run.agent.does("task", **asked)["data"]
    assert told["session_id"] == run.session
    again = {"action": "session-step", "command": "replay", "spec_id": SPEC}
    assert run.agent.does("task", **again)["data"] == told


def test_a_report_may_be_told_in_fields_of_its_own(run: Stepper) -> None:
    run.does()
    told = run.does("report", **run.result(note="done", files_touched=["a.py"]))
    assert told["next_step"]["task_id"] == "verify-1-1"
    assert run.fails("report")["error_code"] == "MISSING_REQUIRED"
    both = run.result()
    told = run.fails("report", last_step_result=both, outcome="success")
    assert told["error_code"] == "INVALID_FORMAT"


@pytest.mark.parametrize("name", ["next", "report", "replay", "heartbeat"])
def test_former_names_are_answered_with_the_present_ones(name: str, run: Stepper) -> None:
    """In `meta.deprecated`."""
    run.does()
    given = run.result() if name == "report" else {}
    if name == "next":
        given = {"last_step_result": run.result()}
    asked = {"action": f"session_step_{name}", "session_id": run.session, **given}
    told = run.agent.does("task", **asked)["meta"]["deprecated"]
    assert (told["action"], told["replacement"]) == (
        f"session-step-{name}",
        f"session-step {name}",
    )


def test_the_same_report_is_answered_alike_for_half_a_minute(
    run: Stepper, workshop: Workshop
) -> None:
    run.does()
    first = run.result()
    told = run.does(last_step_result=first)
    workshop.clock.pass_by(seconds=30)
    before = run.agent.ledger_size
    assert run.does(last_step_result=first) == told
    assert run.does("report", **first) == told
    assert run.agent.ledger_size == before
    other = {**first, "note": "more"}
    refused = run.fails(last_step_result=other)
    assert (refused["error_code"], refused["loop_signal"]) == ("STEP_PROOF_CONFLICT", BLOCKED)
    workshop.clock.pass_by(seconds=1)
    refused = run.fails(last_step_result=first)
    assert (refused["error_code"], refused["loop_signal"]) == ("STEP_PROOF_EXPIRED", BLOCKED)
    assert run.fails(last_step_result=other)["error_code"] == "STEP_PROOF_CONFLICT"
    assert run.does("replay") == told


def test_what_a_task_is_kept_by_refuses_its_report(run: Stepper, workshop: Workshop) -> None:
    """The core's gates and blockers hold here too: nothing is taken, and the step can be reported as it went."""
    run.does()
    about = {"spec_id": SPEC, "session_id": run.session, "task_id": "task-1-1"}
    run.agent.does("task", action="block", reason="no key", **about)
    assert run.code() == "CONFLICT"
    assert run.item("task-1-1").status == "open"
    told = run.reports("skipped")
    assert told["pause_reason"] == "blocked"


def test_a_task_that_others_hold_is_not_completed_by_a_report(
    run: Stepper, workshop: Workshop
) -> None:
    """A person released it, and another agent took it up."""
    run.does()
    held = run.item("task-1-1").id
    workshop.app.itself().claims.release(held)
    workshop.agent("nat").does("start", id=held)
    assert run.code() == "CONFLICT"
    told = run.reports("skipped")
    assert told["pause_reason"] == "blocked"


def test_who_is_no_part_of_a_run_gets_none_of_its_steps(run: Stepper, workshop: Workshop) -> None:
    """While its agent is at it; neither the step that is out, nor its proof, nor the next one."""
    run.does()
    eve = workshop.agent("eve", surface="foundry")
    for command in ("next", "replay", "heartbeat"):
        asked = {"action": "session-step", "command": command, "session_id": run.session}
        told = eve.is_refused("task", **asked)
        assert run.step["step_proof"] not in str(told)
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"


def test_whoever_asks_first_is_at_a_run_and_not_who_began_it(
    run: Stepper, workshop: Workshop
) -> None:
    """A supervisor begins it, and an agent works in it."""
    began, run.agent = run.agent, workshop.agent("gus", surface="foundry")
    run.does()
    assert run.item("task-1-1").assignee == "gus"
    asked = {"action": "session-step", "command": "replay", "session_id": run.session}
    began.is_refused("task", **asked)
    assert run.works()["next_step"]["task_id"] == "verify-1-1"


def test_a_role_that_only_looks_gets_no_steps(run: Stepper, workshop: Workshop) -> None:
    """And a supervisor is told to stop."""
    ron = workshop.agent("ron", surface="foundry", settings=Settings(role="observer"))
    asked = {"action": "session-step", "command": "next", "session_id": run.session}
    told = ron.is_refused("task", **asked)["data"]
    assert (told["error_code"], told["loop_signal"]) == ("AUTHORIZATION", BLOCKED)
    assert told["recommended_actions"][0]["action"] == "use_authorized_role"


def test_the_role_that_runs_may_do_all_that_a_run_needs(run_of: Begin, workshop: Workshop) -> None:
    """From its start to its end."""
    run = run_of()
    settings = Settings(role="autonomy_runner")
    run.agent = workshop.agent("ron", surface="foundry", settings=settings)
    run.goes_on_to("pause")
    assert run.data["pause_reason"] == "gate_review_required"
    run.does("heartbeat")
    run.does("replay")


def test_gate_steps_name_their_phase_and_attempt(run: Stepper) -> None:
    """And are refused without what they rest on."""
    run.goes_on_to("run_fidelity_gate")
    for name in ("phase_id", "gate_attempt_id"):
        assert run.code(**{name: None}) == "MISSING_REQUIRED"
    assert run.code("skipped") == "REQUIRED_GATE_UNSATISFIED"
    asked = run.fails(last_step_result=run.result("skipped"))
    assert (asked["error_code"], asked["loop_signal"]) == ("REQUIRED_GATE_UNSATISFIED", BLOCKED)
    assert asked["recommended_actions"][0]["action"] == "satisfy_or_waive_required_gate"


def test_evidence_that_there_is_not_needs_help_from_the_third_time_on(run: Stepper) -> None:
    """Each is counted, although nothing else is written."""
    run.goes_on_to("run_fidelity_gate")
    signals: list[Any] = []
    for _ in range(4):
        told = run.asks(last_step_result=run.result()).answer["data"]
        assert told["error_code"] == "INVALID_GATE_EVIDENCE"
        signals.append(told["loop_signal"])
    assert signals == [None, None, BLOCKED, BLOCKED]
    run.reviews()
    run.reports()
    assert run.row().evidence_faults == 0


def test_a_waived_gate_is_skipped_with_the_id_of_its_waiver(
    run_of: Begin, workshop: Workshop
) -> None:
    """Which the refusal tells."""
    run = run_of(posture_profile="supervised", stop_on_phase_completion=False)
    run.goes_on_to("run_fidelity_gate")
    (workshop.root / "foundry-mcp.toml").write_text(
        "[autonomy_security]\nallow_gate_waiver = true\n"
    )
    settings = Settings(role="maintainer")
    jo = workshop.agent(
        "jo", surface="foundry", app=workshop.beside(workshop.root), settings=settings
    )
    jo.does(
        "task",
        action="gate-waiver",
        session_id=run.session,
        phase_id="phase-1",
        reason_code="operator_override",
    )
    told = run.asks(last_step_result=run.result("skipped")).answer["data"]
    assert told["error_code"] == "INVALID_GATE_EVIDENCE"
    waiver = told["details"]["waiver_id"]
    told = run.reports("skipped", gate_attempt_id=waiver)
    assert (told["next_step"]["task_id"], told["satisfied_gates"]) == ("task-2-1", ["phase-1"])
