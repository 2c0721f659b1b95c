"""What a run does next: each rule, and the order in which they are asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.models.environment import TYPES
from counterpoint.dialects.foundry.models.runs import (
    PAUSE_REASONS,
    STATUSES,
    STEP_TYPES,
    Counters,
    Limits,
    StopConditions,
)
from counterpoint.dialects.foundry.runs.rules.commands import GateEvent, PhaseGate, Reading
from counterpoint.dialects.foundry.runs.rules.deciding import (
    PAUSE_CODES,
    PAUSE_MESSAGES,
    Complete,
    Fail,
    Issue,
    Pause,
    PhaseState,
    TaskRef,
    decide,
    liveness,
    phase_after,
    warns_of_silence,
)
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import CounterpointError
from fakes.runs import ISSUED, NOW, done, phase, situation, step

STALE = {"outstanding": step(), "now": later(ISSUED, 3_601), "heartbeat_at": later(ISSUED, 3_600)}
SILENT = {"had_step": False, "heartbeat_at": later(NOW, -601)}
FULL = {"context": Reading(pct=85, source="caller")}
ERRORS = {"counters": Counters(consecutive_errors=3)}
TASKS = {"counters": Counters(tasks_completed=100)}
CYCLES = {"counters": Counters(phase_retries={"phase-1": 3})}
STUCK = {"phases": (phase(task=None), phase("phase-2", task=None))}
JUDGED = {"phases": (done(status="failed", verdict="fail"), phase("phase-2"))}
WAITING = {"phases": (done(verdict="pass", attempt="a1"), phase("phase-2"))}
NO_RETRY = {"stop": StopConditions(auto_retry_fidelity_gate=False)}
AT_END = {"stop": StopConditions(stop_on_phase_completion=True), "at_work": "phase-1"}
ENDED_PHASE = {"phases": (done(status="passed"), phase("phase-2"))}
UNVERIFIED = {"phases": (phase(open_tasks=0, task=None), phase("phase-2"))}
UNREVIEWED = {"phases": (done(), phase("phase-2"))}
ALL_DONE = {
    "phases": (done(status="passed", attempt="a1"), done("phase-2", status="waived", waiver="w1")),
    "events": (
        GateEvent(phase="phase-1", kind="gate_passed", attempt="a1"),
        GateEvent(phase="phase-2", kind="gate_waived", attempt="w1"),
    ),
}

ORDER = [
    ({"is_sound": False}, "fail state_corrupt"),
    ({"has_spec": False}, "fail spec_not_found"),
    ({"structure": "changed"}, "fail spec_structure_changed"),
    ({"status": "paused", "pause_reason": "gate_failed"}, "pause gate_failed"),
    (STALE, "pause step_stale"),
    (SILENT, "pause heartbeat_stale"),
    ({"stop_requested": True}, "pause user"),
    (FULL, "pause context_limit"),
    (ERRORS, "pause error_threshold"),
    (TASKS, "pause task_limit"),
    (CYCLES, "pause fidelity_cycle_limit"),
    (STUCK, "pause blocked"),
    ({**AT_END, **ENDED_PHASE}, "pause phase_complete"),
    (WAITING, "pause gate_review_required"),
    ({**JUDGED, **NO_RETRY}, "pause gate_failed"),
    (JUDGED, "issue address_fidelity_feedback phase-1"),
    (UNVERIFIED, "issue execute_verification phase-1 verify-1-1"),
    (UNREVIEWED, "issue run_fidelity_gate phase-1"),
    (ENDED_PHASE, "issue implement_task phase-2 task-2-1"),
    ({}, "issue implement_task phase-1 task-1-1"),
    (ALL_DONE, "complete"),
]
"""Each rule with what makes it answer, in the order in which they are asked."""


def told(decision):
    """Return a decision in a few words."""
    match decision:
        case Issue():
            about = f" {decision.task.id}" if decision.task else ""
            return f"issue {decision.type} {decision.phase}{about}"
        case Pause() | Fail():
            return f"{type(decision).__name__.lower()} {decision.reason}"
        case _:
            return "over" if decision.is_over else "complete"


@pytest.mark.parametrize(("facts", "expected"), ORDER)
def test_each_rule_answers_when_nothing_else_does(facts, expected):
    """A run in order with one thing of note."""
    assert told(decide(situation(**facts))) == expected


PHASELESS = [
    (place, facts) for place, (facts, _) in enumerate(ORDER) if "phases" not in facts and facts
]


@pytest.mark.parametrize(("place", "facts"), PHASELESS)
def test_an_earlier_rule_answers_before_every_later_one(place, facts):
    """Whatever else holds at the same time."""
    for other, expected in ORDER[place + 1 :]:
        keys = (facts.keys() & other.keys()) - {"status"}
        if not keys and not {"counters", "phases"} <= facts.keys() | other.keys():
            both = situation(**{**other, **facts})
            assert told(decide(both)) == ORDER[place][1], expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("completed", "over"),
        ("failed", "SESSION_UNRECOVERABLE"),
        ("ended", "INVALID_STATE_TRANSITION"),
    ],
)
def test_a_run_that_is_over_decides_nothing_more(status, expected):
    """Whatever is wrong with it, or with its spec; but that it is complete only its own row says."""
    unsound = ({"is_sound": False},) if status != "completed" else ()
    for facts in ({}, {"has_spec": False}, {"structure": "x"}, FULL, *unsound):
        try:
            found = told(decide(situation(status=status, **facts)))
        except CounterpointError as refused:
            found = code_of(refused)
        assert found == expected
    assert {"running", "paused", status} <= set(STATUSES)


def test_a_run_that_somebody_wrote_to_be_complete_is_not():
    """A supervisor would stop, and take it for done."""
    facts = {"status": "completed", "is_sound": False}
    assert told(decide(situation(**facts))) == "fail state_corrupt"


def test_a_pause_without_a_reason_is_one_that_somebody_made():
    """The row of a run that says nothing reads so."""
    assert told(decide(situation(status="paused"))) == "pause user"


@pytest.mark.parametrize(
    ("seconds", "had_step", "paused", "warned"),
    [
        (300, True, False, False),
        (301, True, False, True),
        (601, True, False, True),
        (600, False, False, False),
        (601, False, True, False),
    ],
)
def test_silence_is_a_warning_while_a_step_is_out_and_a_pause_otherwise(
    seconds, had_step, paused, warned
):
    """A grace of five minutes before the warning, ten before the pause."""
    facts = situation(had_step=had_step, heartbeat_at=later(NOW, -seconds))
    assert isinstance(decide(facts), Pause) == paused
    assert warns_of_silence(facts) == warned
    expected = "stale" if seconds > 600 else "late" if seconds > 300 else "well"
    assert liveness(facts.heartbeat_at, NOW, Limits()) == expected


def test_the_limit_of_tasks_holds_back_tasks_only():
    """After the last one the gate is still run, and the spec is completed."""
    counters = {"counters": Counters(tasks_completed=100)}
    assert told(decide(situation(**counters, **UNREVIEWED))) == "issue run_fidelity_gate phase-1"
    assert told(decide(situation(**counters, **ALL_DONE))) == "complete"
    assert told(decide(situation(**counters, **UNVERIFIED))) == "pause task_limit"


def test_no_blocked_task_is_handed_out_and_what_is_free_is_done_first():
    """A phase whose tasks are blocked is passed over as long as another can go on."""
    blocked = phase(task=None)
    assert told(decide(situation(phases=(blocked, phase("phase-2"))))).endswith("task-2-1")
    assert told(decide(situation(phases=(blocked, done("phase-2", status="passed"))))) == (
        "pause blocked"
    )
    unverified = phase(open_tasks=0, task=None, verification=None)
    assert told(decide(situation(phases=(unverified,)))) == "pause blocked"
    behind_tasks = phase(task=None)
    assert told(decide(situation(phases=(behind_tasks,)))) == "pause blocked"


def test_a_phase_at_its_end_is_told_once():
    """Then the run is in no phase, and goes on in the next."""
    first = situation(**AT_END, **ENDED_PHASE)
    decision = decide(first)
    assert told(decision) == "pause phase_complete"
    after = replace(first, at_work=phase_after(decision, "phase-1"))
    assert told(decide(after)) == "issue implement_task phase-2 task-2-1"


def test_the_end_of_a_phase_is_told_before_anything_of_the_next():
    """Even if that was judged already."""
    for gate in ({"status": "failed", "verdict": "fail"}, {"verdict": "pass"}):
        phases = (done(status="passed"), done("phase-2", **gate))
        assert told(decide(situation(**AT_END, phases=phases))) == "pause phase_complete"


def test_the_last_phase_at_its_end_is_told_too():
    """Before the spec is complete."""
    last = situation(**{**AT_END, "at_work": "phase-2"}, **ALL_DONE)
    decision = decide(last)
    assert told(decision) == "pause phase_complete"
    assert told(decide(replace(last, at_work=phase_after(decision, "phase-2")))) == "complete"


def test_a_phase_that_is_gone_or_not_complete_is_not_told():
    """After a rebase the run may have been in one that is not there."""
    assert told(decide(situation(**{**AT_END, "at_work": "phase-9"}))).startswith("issue")
    assert told(decide(situation(**AT_END))).startswith("issue")


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ({"status": "waived", "waiver": "w1"}, "issue implement_task phase-2 task-2-1"),
        ({"status": "waived", "verdict": "fail"}, "issue implement_task phase-2 task-2-1"),
        ({"status": "passed", "verdict": "warn"}, "issue implement_task phase-2 task-2-1"),
        ({"required": "manual_review"}, "issue run_fidelity_gate phase-1"),
    ],
)
def test_a_gate_that_is_satisfied_is_not_asked_for_again(gate, expected):
    """A waived one least of all; one of a person is reviewed before that person is asked."""
    assert told(decide(situation(phases=(done(**gate), phase("phase-2"))))) == expected


def test_cycles_of_a_phase_that_has_no_open_gate_stop_nothing():
    counters = Counters(phase_retries={"phase-2": 3, "phase-1": 3})
    ended = (done(status="passed"), phase("phase-3", gate=None))
    assert told(decide(situation(counters=counters, phases=ended))).startswith("issue implement")
    only = {"counters": Counters(phase_retries={"phase-2": 3})}
    assert told(decide(situation(**only))) == "issue implement_task phase-1 task-1-1"


def test_a_phase_without_anything_in_it_stops_nothing():
    """It needs no gate either."""
    empty = PhaseState(id="phase-0")
    assert told(decide(situation(phases=(empty, phase())))).endswith("task-1-1")
    assert told(decide(situation(phases=()))) == "complete"


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({**ALL_DONE, "events": ()}, "GATE_AUDIT_FAILURE"),
        ({**ALL_DONE, "events": ALL_DONE["events"][:1]}, "GATE_AUDIT_FAILURE"),
    ],
)
def test_a_spec_is_not_complete_while_the_ledger_does_not_say_so(facts, code):
    """A gate that was opened by hand in the database is found."""
    with pytest.raises(CounterpointError) as refused:
        decide(situation(**facts))
    assert code_of(refused.value) == code


def test_a_gate_step_begins_an_attempt_and_no_other_does():
    """It is known before the gate is reviewed."""
    assert decide(situation(**UNREVIEWED)).needs_attempt
    assert not decide(situation(**JUDGED)).needs_attempt
    assert not decide(situation()).needs_attempt


def test_every_reason_and_every_step_of_the_contract_is_decided_somewhere():
    """With a message, and where it is known as a refusal, its code."""
    seen = {told(decide(situation(**facts))) for facts, _ in ORDER}
    assert {f"pause {reason}" for reason in PAUSE_REASONS} <= seen
    issued = {one.split()[1] for one in seen if one.startswith("issue")}
    assert issued == set(STEP_TYPES) - {"pause", "complete_spec"}
    assert set(PAUSE_MESSAGES) == set(PAUSE_REASONS)
    assert set(PAUSE_CODES.values()) <= set(TYPES)


def test_failures_have_the_code_of_the_refusal_that_follows():
    """The caller hears it once the failure is written."""
    found = {}
    for facts, expected in ORDER[:3]:
        decision = decide(situation(**facts))
        assert isinstance(decision, Fail)
        found[expected] = decision.code
    assert list(found.values()) == [
        *("SESSION_UNRECOVERABLE", "SPEC_NOT_FOUND", "SPEC_REBASE_REQUIRED"),
    ]


def test_the_phase_at_work_follows_what_is_decided():
    """A step moves it, a pause keeps it, and the end of the spec leaves none."""
    assert phase_after(decide(situation()), "") == "phase-1"
    assert phase_after(decide(situation(**FULL)), "phase-1") == "phase-1"
    assert phase_after(decide(situation(structure="x")), "phase-1") == "phase-1"
    assert phase_after(Complete(), "phase-1") == ""


def test_a_verification_waits_for_the_tasks_of_its_phase():
    """Even if nothing else is in its way."""
    open_phase = phase(task=TaskRef(id="task-1-2"), gate=PhaseGate(phase="phase-1"))
    assert told(decide(situation(phases=(open_phase,)))).startswith("issue implement_task")
