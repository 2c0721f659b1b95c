"""The commands to unattended runs, as an agent gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.models.runs import PAUSE_REASONS, GateEvidence
from counterpoint.dialects.foundry.runs.sessions import Commanding
from fakes.run_party import SPEC, Party, add_evidence, run_row, set_run

OTHER = "other-2026-01-02-001"
REASON = {"reason_code": "testing"}
REFUSED = "INVALID_STATE_TRANSITION"


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("status", {}),
        ("pause", {}),
        ("resume", {}),
        ("rebase", {}),
        ("end", REASON),
        ("status", {"session_id": "ses_nobody"}),
        ("status", {"spec_id": SPEC}),
        ("reset", {"session_id": "ses_nobody", **REASON}),
    ],
)
def test_a_command_to_no_run_says_so(party: Party, command: str, given: dict[str, Any]) -> None:
    """By its session, by its spec, or by nothing."""
    assert party.code(command, **given) == "NO_ACTIVE_SESSION"


def test_a_run_is_found_by_its_session_its_spec_or_as_the_only_one(
    party: Party, made: Callable[..., str]
) -> None:
    """Where several are live, one has to be named; the two names have to agree."""
    made(spec=OTHER)
    first = party.start()
    for given in ({"session_id": first}, {"spec_id": SPEC}, {}):
        assert party.does("status", **given)["session_id"] == first
    second = party.start(spec_id=OTHER)
    refused = party.fay.is_refused("task", action="session", command="status")["data"]
    assert refused["error_code"] == "AMBIGUOUS_ACTIVE_SESSION"
    named = {one["session_id"] for one in refused["details"]["sessions"]}
    assert named == {first, second}
    assert party.does("status", spec_id=OTHER)["session_id"] == second
    assert party.code("status", spec_id=OTHER, session_id=first) == "NO_ACTIVE_SESSION"
    assert party.code("status", spec_id="nope") == "SPEC_NOT_FOUND"


def test_the_latest_run_of_a_spec_is_told_where_none_is_live(party: Party) -> None:
    """How it ended can be read by the name of the spec."""
    party.does("end", **{"session_id": party.start(), **REASON})
    last = party.start()
    party.does("end", **{"session_id": last, **REASON})
    assert party.does("status", spec_id=SPEC)["session_id"] == last


def test_a_start_with_the_same_key_answers_the_same_run(party: Party) -> None:
    """Also over another connection, and while it is paused; with another key there is a run already."""
    first = party.start(idempotency_key="once")
    assert party.start(idempotency_key="once") == first
    party.does("pause")
    again = party.does("start", party.gus, spec_id=SPEC, idempotency_key="once")
    assert (again["session_id"], again["status"]) == (first, "paused")
    assert party.code("start", party.gus, spec_id=SPEC, idempotency_key="two") == (
        "SPEC_SESSION_EXISTS"
    )


def test_a_start_takes_every_limit_and_tells_all_faults_at_once(party: Party) -> None:
    """Those that are listed and those that are not; nothing begins if one is wrong."""
    given = {
        "gate_policy": "lenient",
        "max_tasks_per_session": 7,
        "stop_on_phase_completion": True,
        "auto_retry_fidelity_gate": False,
        "max_consecutive_errors": 4,
        "context_threshold_pct": 60,
        "heartbeat_stale_minutes": 30,
        "heartbeat_grace_minutes": 3,
        "step_stale_minutes": 9,
        "max_fidelity_review_cycles_per_phase": 2,
        "enforce_write_lock": False,
    }
    told = party.does("start", spec_id=SPEC, **given)
    held = {**told["limits"], **told["stop_conditions"], "gate_policy": told["gate_policy"]}
    held["enforce_write_lock"] = told["write_lock_enforced"]
    assert {name: held[name] for name in given} == given
    wrong = {"max_tasks_per_session": 0, "heartbeat_stale_minutes": 5, "context_threshold_pct": 101}
    asked = {"action": "session", "command": "start", "spec_id": SPEC, "force": True, **wrong}
    refused = party.fay.is_refused("task", **asked)["data"]
    assert refused["error_code"] == "INVALID_FORMAT"
    named = {fault["path"] for fault in refused["details"]["faults"]}
    assert named == {"max_tasks_per_session", "context_threshold_pct", "heartbeat_grace_minutes"}
    assert party.code("start", spec_id=SPEC, gate_policy="soft") == "INVALID_FORMAT"


def test_a_posture_sets_what_a_start_does_not(party: Party) -> None:
    """What the call gives goes before it."""
    told = party.does("start", spec_id=SPEC, posture_profile="debug", max_consecutive_errors=2)
    assert (told["gate_policy"], told["posture_profile"]) == ("manual", "debug")
    limits = told["limits"]
    assert (limits["max_tasks_per_session"], limits["max_consecutive_errors"]) == (250, 2)


def test_a_spec_that_is_not_there_or_archived_has_no_run(party: Party) -> None:
    """Named with what is wrong."""
    assert party.code("start", spec_id="nope") == "SPEC_NOT_FOUND"
    assert party.code("start") == "MISSING_REQUIRED"
    party.fay.does("lifecycle", action="archive", spec_id=SPEC)
    assert party.code("start", spec_id=SPEC) == "CONFLICT"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "MISSING_REQUIRED"),
        ({"reason_code": ""}, "MISSING_REQUIRED"),
        ({"reason_code": "bored"}, "INVALID_FORMAT"),
        ({"reason_code": "testing", "reason_detail": "x" * 2_001}, "INVALID_FORMAT"),
    ],
)
@pytest.mark.parametrize("command", ["end", "reset"])
def test_a_run_is_ended_and_reset_for_a_reason_of_the_list(
    party: Party, command: str, given: dict[str, Any], code: str
) -> None:
    """And for no other."""
    session = party.start()
    set_run(party.fay, session, status="failed")
    assert party.code(command, session_id=session, **given) == code
    told = party.does(command, session_id=session, reason_code="stuck_agent", reason_detail="gone")
    assert (told["status"], told["reason_code"]) == ("ended", "stuck_agent")


def test_only_a_run_that_is_named_is_reset(party: Party) -> None:
    """Nobody gives up the wrong one."""
    set_run(party.fay, party.start(), status="failed")
    assert party.code("reset", **REASON) == "MISSING_REQUIRED"
    assert party.code("reset", spec_id=SPEC, **REASON) == "MISSING_REQUIRED"


def test_a_failed_run_is_resumed_only_by_force_and_with_its_structure(party: Party) -> None:
    """A spec that was changed asks for a rebase."""
    session = party.start()
    set_run(party.fay, session, status="failed", failure_reason="state_corrupt")
    assert party.code("resume", spec_id=SPEC) == REFUSED
    told = party.does("resume", session_id=session, force=True)
    assert (told["status"], told["failure_reason"]) == ("running", None)
    set_run(party.fay, session, status="failed")
    party.fay.does("task", action="add", spec_id=SPEC, parent="phase-1", title="More")
    assert party.code("resume", session_id=session, force=True) == "SPEC_REBASE_REQUIRED"


def test_a_run_that_failed_does_not_go_on_beside_another(party: Party) -> None:
    first = party.start()
    set_run(party.fay, first, status="failed")
    party.start()
    assert party.code("resume", session_id=first, force=True) == "SPEC_SESSION_EXISTS"
    assert party.code("rebase", session_id=first) == "SPEC_SESSION_EXISTS"


@pytest.mark.parametrize("reason", PAUSE_REASONS)
def test_a_paused_run_goes_on_with_what_its_reason_gives_it_anew(party: Party, reason: str) -> None:
    """A fresh context, no errors in a row, more reviews of the phase that had enough of them."""
    session = party.start()
    retries = '{"phase_retries":{"phase-1":3,"phase-2":1},"task_retries":{"task-1-1":2}}'
    used = {"context_pct": 90, "context_source": "caller", "consecutive_errors": 3}
    paused = {"status": "paused", "pause_reason": reason, "last_pause": reason}
    set_run(party.fay, session, retries=Prose(retries), **used, **paused)
    told = party.does("resume")
    assert (told["status"], told["pause_reason"]) == ("running", None)
    assert told["resume_context"]["last_pause_reason"] == reason
    counts = told["retry_counters"]
    assert told["context"]["usage_pct"] == (0 if reason == "context_limit" else 90)
    assert counts["consecutive_errors"] == (0 if reason == "error_threshold" else 3)
    left = {"phase-2": 1} if reason == "fidelity_cycle_limit" else {"phase-1": 3, "phase-2": 1}
    assert counts["phase_retry_counts"] == left
    assert counts["task_retry_counts"] == {"task-1-1": 2}


@pytest.mark.parametrize(
    ("before", "pct", "after"), [(40, 0, 0), (40, 35, 40), (5, 0, 5), (40, None, 40)]
)
def test_whoever_resumes_says_how_full_the_context_is_of_the_agent_that_goes_on(
    party: Party, before: int, pct: int | None, after: int
) -> None:
    """A supervisor starts one with an empty context; as always what is told falls only as deep as a fresh one does."""
    session = party.start()
    set_run(party.fay, session, context_pct=before, context_source="caller", context_steps=9)
    party.does("pause")
    told = party.does("resume", **({} if pct is None else {"context_usage_pct": pct}))
    estimate = after if pct is not None else after + 9 * 3 + 5
    assert told["context"]["usage_pct"] == estimate
    assert party.code("resume", context_usage_pct=101) == "INVALID_FORMAT"


@pytest.mark.parametrize("reason", ["gate_failed", "fidelity_cycle_limit"])
def test_a_gate_that_failed_is_judged_afresh_after_a_resumption(party: Party, reason: str) -> None:
    """What was found before says nothing any more."""
    session = party.start()
    attempt = add_evidence(party.fay, session, "phase-1", "fail")
    set_run(party.fay, session, status="paused", pause_reason=reason)
    party.does("resume")
    assert evidence_of(party, attempt).answered_at
    assert run_row(party.fay, session).acknowledged == ""


def evidence_of(party: Party, attempt: str) -> Any:
    """Answer the row of an attempt at a gate."""

    def read(context: Any) -> Any:
        with context.reading() as view:
            return view.find(GateEvidence, attempt)

    return party.fay.core.use(read)


def awaiting(party: Party) -> tuple[str, str]:
    """Let a run wait for a person to review a gate of a phase that fay has worked on; answer it and the attempt."""
    session = party.start()
    party.ends(party.fay, "task-1-1", "task-1-2", session_id=session)
    attempt = add_evidence(party.fay, session, "phase-1")
    set_run(party.fay, session, status="paused", pause_reason="gate_review_required")
    return session, attempt


def test_a_run_that_waits_for_a_person_is_resumed_with_the_attempt_that_he_has_reviewed(
    party: Party,
) -> None:
    """Whoever did not work on the phase opens its gate with that, in every dialect."""
    session, attempt = awaiting(party)
    told = party.does("status")
    assert told["gate_attempt_id"] == attempt
    assert told["recommended_actions"][0]["action"] == "acknowledge_manual_gate_review"
    assert party.code("resume", party.gus) == "MANUAL_GATE_ACK_REQUIRED"
    wrong = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": "other"}
    assert party.code("resume", party.gus, **wrong) == "INVALID_GATE_ACK"
    right = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": attempt}
    told = party.does("resume", party.gus, **right)
    assert (told["status"], told["resume_context"]["completed_phases"]) == ("running", ["phase-1"])
    assert run_row(party.fay, session).acknowledged == attempt
    party.does("pause")


def test_nobody_opens_the_gate_of_what_he_worked_on(party: Party) -> None:
    """Not by saying that it was reviewed either."""
    _, attempt = awaiting(party)
    right = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": attempt}
    assert party.code("resume", **right) == "FORBIDDEN"
    assert party.does("status")["status"] == "paused"


def test_a_gate_that_was_opened_elsewhere_needs_no_word(party: Party) -> None:
    """Where somebody approved the phase in another dialect, the run just goes on."""
    awaiting(party)
    judge = party.workshop.agent("jo")
    judge.does("review", id=party.item("phase-1"), verdict="approve", reason="it is well")
    assert party.does("resume")["status"] == "running"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"status": "ended"}, REFUSED),
        ({"pause_reason": "gate_review_required"}, "VERSION_CONFLICT"),
    ],
)
def test_a_run_that_was_changed_between_the_look_and_the_resumption_stays_as_it_is(
    party: Party, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], code: str
) -> None:
    """Neither is one that was ended revived, nor a gate passed that nobody has reviewed."""
    session, attempt = awaiting(party)
    set_run(party.fay, session, pause_reason="user")
    look = Commanding._refuse_resumption

    def late(self: Commanding, view: Any, row: Any, how: Any) -> Any:
        found = look(self, view, row, how)
        monkeypatch.setattr(Commanding, "_refuse_resumption", look)
        set_run(party.gus, session, **changes)
        return found

    monkeypatch.setattr(Commanding, "_refuse_resumption", late)
    given = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": attempt}
    asked = {"action": "session", "command": "resume", "session_id": session, **given}
    assert party.fay.call("task", asked).answer["data"]["error_code"] == code
    assert run_row(party.fay, session).status == changes.get("status", "paused")


def test_what_a_run_leaves_behind_is_told_at_its_end(party: Party) -> None:
    """Gates that it asked for stay: no word of one agent takes them away."""
    session = party.start()
    reply = party.fay.does("task", action="session", command="end", session_id=session, **REASON)
    assert "phase-1, phase-2" in reply["meta"]["warnings"][0]
    party.ends(party.fay, "task-1-1", "task-1-2")
    assert party.fay.does("task", action="next", spec_id=SPEC)["data"]["found"] is False


def test_a_start_takes_the_released_names_of_what_a_run_is_held_to(party: Party) -> None:
    """Also those that no list shows."""
    told = party.does(
        "start",
        spec_id=SPEC,
        enforce_autonomy_write_lock=False,
        avg_pct_per_step=7,
        context_staleness_threshold=8,
        context_staleness_penalty_pct=9,
    )
    assert told["write_lock_enforced"] is False
    names = ("avg_pct_per_step", "context_staleness_threshold", "context_staleness_penalty_pct")
    assert [told["limits"][name] for name in names] == [7, 8, 9]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"command": "status", "force": True}, "VALIDATION_ERROR"),
        ({"command": "start", "spec_id": SPEC, "reason_code": "testing"}, "VALIDATION_ERROR"),
        ({"command": "nap"}, "INVALID_FORMAT"),
        ({}, "MISSING_REQUIRED"),
    ],
)
def test_a_command_takes_its_own_arguments_alone(
    party: Party, given: dict[str, Any], code: str
) -> None:
    refused = party.fay.is_refused("task", action="session", **given)["data"]["error_code"]
    assert refused == code


def test_a_run_of_a_spec_whose_work_was_done_before_asks_no_gate_of_it(
    party: Party, ada: Agent
) -> None:
    """A phase that is closed stays closed."""
    party.ends(party.fay, "task-1-1", "task-1-2")
    party.start()
    assert gates_of(ada, party.item("phase-1")) == []
    assert gates_of(ada, party.item("phase-2")) == ["manual_review"]


def gates_of(ada: Agent, item: str) -> list[str]:
    """Answer the names of the gates of an item."""

    def read(context: Any) -> list[str]:
        with context.reading() as view:
            return [gate.name for gate in view.select(Gate, item=item)]

    return ada.core.use(read)


def test_a_phase_with_a_verification_asks_for_fidelity(party: Party, ada: Agent) -> None:
    """Any other for a person."""
    phase = party.item("phase-1")
    ada.core.plans.create(
        Draft(kind="task", title="Verify it", attributes={"type": "verify"}), phase
    )
    party.start()
    assert gates_of(ada, phase) == ["fidelity"]
    assert gates_of(ada, party.item("phase-2")) == ["manual_review"]
