"""What comes next in a run, as an agent is told: every decision, with what a supervisor makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Workshop
from fakes.gates import SPEC
from fakes.stepping import Stepper

Begin = Callable[..., Stepper]
NEEDED = "paused_needs_attention"


def test_a_run_goes_through_a_spec_to_its_end(run: Stepper, workshop: Workshop) -> None:
    """Task, verification, gate, and so on; a phase without a verification needs a person, who did none of the work."""
    seen: list[str] = []
    run.does()
    while run.type not in {"pause", ""}:
        assert run.data["status"] == "running"
        assert run.data["loop_signal"] is None
        seen.append(f"{run.type} {run.step['task_id'] or run.step['phase_id']}")
        run.works()
    assert seen == [
        "implement_task task-1-1",
        "execute_verification verify-1-1",
        "run_fidelity_gate phase-1",
        "implement_task task-2-1",
        "run_fidelity_gate phase-2",
    ]
    assert run.data["pause_reason"] == "gate_review_required"
    assert run.data["phase_id"] == "phase-2"
    judge = workshop.agent("jo", surface="foundry")
    attempt = run.data["gate_attempt_id"]
    run.manages("resume", judge, acknowledge_gate_review=True, acknowledged_gate_attempt_id=attempt)
    ended = run.reports()
    assert (run.type, ended["status"], ended["loop_signal"]) == (
        "complete_spec",
        "completed",
        "spec_complete",
    )
    assert ended["satisfied_gates"] == ["phase-1", "phase-2"]
    over = run.reports()
    assert (over["next_step"], over["status"]) == (None, "completed")
    assert run.does()["loop_signal"] == "spec_complete"
    assert [run.item(name).status for name in ("task-1-1", "phase-1", "phase-2")] == ["done"] * 3
    assert run.events()[-1] == "step_consumed"


def test_what_a_run_completes_is_seen_by_every_dialect(run: Stepper, workshop: Workshop) -> None:
    """Who runs the session holds the task meanwhile, and its end is that of every task: measured, with its criteria met."""
    run.does()
    held = run.item("task-1-1")
    assert (held.status, held.assignee) == ("active", "fay")
    native = workshop.agent("nat")
    assert native.call("start", {"item": held.id}).is_error
    run.works()
    assert run.item("task-1-1").status == "done"
    shown = native.does("show", id=held.id, include=["outcomes"])
    assert "src/part1.py" in str(shown)


def test_a_task_that_the_agent_completed_itself_is_reported_all_the_same(run: Stepper) -> None:
    """As its instructions say."""
    run.does()
    for action, more in (
        ("update-status", {"status": "in_progress"}),
        ("complete", {"completion_note": "written"}),
    ):
        about = {"spec_id": SPEC, "session_id": run.session, "task_id": "task-1-1"}
        run.agent.does("task", action=action, **about, **more)
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"
    assert run.status()["counters"]["tasks_completed"] == 1


def test_a_person_reviews_the_gate_that_waits_and_no_other(
    run: Stepper, workshop: Workshop
) -> None:
    """Also where two phases were judged in the same moment."""
    run.does()
    while run.type != "pause":
        now = workshop.clock.now()
        run.works()
        workshop.clock.pass_by(seconds=-1)
        assert workshop.clock.now() == now
    attempt = run.data["gate_attempt_id"]
    assert run.status()["gate_attempt_id"] == attempt
    judge = workshop.agent("jo", surface="foundry")
    asked = {"action": "session", "command": "resume", "session_id": run.session}
    refused = judge.is_refused("task", **asked)["data"]
    assert refused["details"]["gate_attempt_id"] == attempt
    given = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": attempt}
    run.manages("resume", judge, **given)
    assert run.reports()["status"] == "completed"


def test_a_verification_for_people_is_reported_without_a_receipt(run_of: Begin) -> None:
    run = run_of("")
    run.goes_on_to("execute_verification")
    assert run.calls == ["info", "complete"]
    assert run.reports()["next_step"]["type"] == "run_fidelity_gate"


def stopped(run: Stepper, **facts: Any) -> dict[str, Any]:
    """Check that a run paused for a reason; answer what was told."""
    assert (run.type, run.data["status"]) == ("pause", "paused"), run.data
    told = {name: run.data[name] for name in facts}
    assert told == facts
    return run.data


def test_a_file_stops_a_run_before_its_next_step(run: Stepper, workshop: Workshop) -> None:
    """Once: it is taken away as soon as the run has paused."""
    run.does()
    folder = workshop.root / "specs/.autonomy/signals"
    folder.mkdir(parents=True)
    file = folder / f"{SPEC}.stop"
    file.write_text("stop")
    run.reports()
    stopped(run, pause_reason="user", loop_signal=None, recommended_actions=[])
    assert not file.exists()
    run.manages("resume")
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"


def test_a_pause_that_is_told_again_takes_no_later_request_away(
    run: Stepper, workshop: Workshop
) -> None:
    """The run goes on when somebody asks it to stop once more, and the answer of before is repeated."""
    run.does()
    first = run.result()
    run.manages("pause")
    run.reports()
    run.manages("resume")
    file = workshop.root / f"specs/.autonomy/signals/{SPEC}.stop"
    file.parent.mkdir(parents=True)
    file.write_text("stop")
    pause = run.result()
    assert run.does(last_step_result=first)["pause_reason"] == "user"
    assert file.exists()
    assert run.does(last_step_result=pause)["pause_reason"] == "user"
    assert not file.exists()


def test_the_report_of_a_pause_writes_nothing_while_the_run_is_paused(run: Stepper) -> None:
    """An agent that reports whatever it is given hears of the same pause; once the run goes on, its report is taken."""
    run.does()
    run.manages("pause")
    paused = run.reports()
    stopped(run, pause_reason="user", loop_signal=None)
    before = run.events(), run.agent.ledger_size
    for _ in range(3):
        assert run.reports() == paused
    assert (run.events(), run.agent.ledger_size) == before
    run.manages("resume")
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"


def test_a_run_that_somebody_paused_takes_the_report_of_its_step(run: Stepper) -> None:
    """What was done is done; then it stands still."""
    run.does()
    run.manages("pause")
    run.reports()
    stopped(run, pause_reason="user", loop_signal=None)
    assert run.item("task-1-1").status == "done"


@pytest.mark.parametrize(
    ("pct", "goes_on"), [(84, True), (85, False), (100, False)], ids=["below", "at", "full"]
)
def test_a_full_context_pauses_a_run(pct: int, goes_on: bool, run: Stepper) -> None:
    """It says so itself, with its report."""
    run.does()
    run.does(last_step_result=run.result(), context_usage_pct=pct)
    if goes_on:
        assert run.type == "execute_verification"
        return
    told = stopped(run, pause_reason="context_limit", loop_signal=NEEDED)
    assert told["recommended_actions"][0]["action"] == "resume_in_fresh_context"
    run.manages("resume")
    assert run.reports()["next_step"]["type"] == "execute_verification"


@pytest.mark.parametrize("more", [{"heartbeat": True}, {"context_usage_pct": 5}])
def test_a_sign_of_life_with_the_question_is_one(
    more: dict[str, Any], run: Stepper, workshop: Workshop
) -> None:
    """So that nobody has to ask twice."""
    workshop.clock.pass_by(minutes=11)
    assert run.does(**more)["next_step"]["type"] == "implement_task"


def test_a_step_that_takes_long_is_warned_of_and_then_given_up(
    run: Stepper, workshop: Workshop
) -> None:
    """A report that comes too late is refused; then the run pauses, and whoever resumes it is given the task anew."""
    run.does()
    workshop.clock.pass_by(minutes=6)
    reply = run.asks(last_step_result=run.result("skipped"))
    assert "heartbeats" in reply.answer["meta"]["warnings"][0]
    run.data = reply.answer["data"]
    workshop.clock.pass_by(minutes=61)
    assert run.code() == "STEP_STALE"
    old = run.result()
    reply = run.asks()
    run.data = reply.answer["data"]
    told = stopped(run, pause_reason="step_stale", loop_signal=NEEDED)
    assert told["recommended_actions"][0]["action"] == "replay_or_reset_stale_step"
    assert reply.answer["meta"]["warning_details"][0]["code"] == "STEP_STALE"
    assert run.fails(last_step_result=old)["error_code"] == "STEP_PROOF_MISMATCH"
    run.manages("resume")
    assert run.reports()["next_step"]["task_id"] == "task-1-1"


def test_a_gate_that_fails_is_answered_and_tried_again(run_of: Begin) -> None:
    """The reviewer finds no file; it is written, and the next attempt passes."""
    run = run_of()
    run.does()
    run.reports()
    run.works()
    assert run.reviews()["verdict"] == "fail"
    told = run.reports()
    assert (run.type, told["next_step"]["phase_id"]) == ("address_fidelity_feedback", "phase-1")
    assert run.status()["retry_counters"]["phase_retry_counts"] == {"phase-1": 1}
    (run.workshop.root / "src").mkdir()
    (run.workshop.root / "src/part1.py").write_text("PART = 1\n")
    run.reports()
    assert run.type == "run_fidelity_gate"
    run.reviews()
    run.reports()
    assert run.data["next_step"]["type"] in {"implement_task", "address_fidelity_feedback"}


def test_a_phase_is_reviewed_only_so_often(run_of: Begin) -> None:
    """Then somebody has to look at it."""
    run = run_of(max_fidelity_review_cycles_per_phase=2)
    run.does()
    run.reports()
    run.works()
    for kind in ("address_fidelity_feedback", "pause"):
        run.reviews()
        run.reports()
        assert run.type == kind
        if kind != "pause":
            run.reports()
    told = stopped(run, pause_reason="fidelity_cycle_limit", loop_signal=NEEDED)
    assert told["recommended_actions"][0]["action"] == "escalate_fidelity_cycle_limit"


def test_a_spec_that_changed_fails_the_run_and_a_rebase_lets_it_go_on(
    run: Stepper, workshop: Workshop
) -> None:
    """The report of the step that was out is kept; nothing is lost by it."""
    run.does()
    native = workshop.agent("nat")
    native.does("plan", tree={"title": "More", "kind": "task"}, parent=run.item("phase-1").id)
    reply = run.asks(last_step_result=run.result())
    assert reply.is_error
    told = reply.answer["data"]
    assert (told["error_code"], told["loop_signal"]) == ("SPEC_REBASE_REQUIRED", NEEDED)
    assert told["recommended_actions"][0]["action"] == "rebase_session_to_spec"
    stood = run.status()
    assert (stood["status"], stood["failure_reason"]) == ("failed", "spec_structure_changed")
    assert run.item("task-1-1").status == "done"
    assert run.fails()["error_code"] == "SESSION_UNRECOVERABLE"
    run.manages("rebase")
    assert run.does()["next_step"]["type"] == "implement_task"


def test_a_step_that_was_out_when_the_spec_changed_is_reported_after_a_rebase(
    run: Stepper, workshop: Workshop
) -> None:
    """Also of a task that is not there any more."""
    run.does()
    run.manages("pause")
    run.agent.does("task", action="remove", spec_id=SPEC, task_id="verify-1-1")
    run.manages("rebase")
    assert run.reports()["next_step"]["type"] == "run_fidelity_gate"


def test_a_run_that_ended_gives_no_steps(run: Stepper) -> None:
    """Neither for a report nor for a question."""
    run.does()
    run.manages("end", reason_code="testing")
    assert run.code() == "INVALID_STATE_TRANSITION"


def test_a_waived_gate_is_skipped_with_its_waiver(run_of: Begin) -> None:
    """Its step says no attempt, but the waiver."""
    run = run_of()
    run.goes_on_to("run_fidelity_gate")
    assert run.code("skipped", gate_attempt_id="waiver-x") == "REQUIRED_GATE_UNSATISFIED"
