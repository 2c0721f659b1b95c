"""What a supervisor decides: the whole table, and what is held against it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from counterpoint.dialects.foundry.models.runs import LOOP_SIGNALS, PAUSE_REASONS, STATUSES
from counterpoint.dialects.foundry.runs.rules.signals import (
    AGENT_STATES,
    CODE_SIGNALS,
    LINGER_SECONDS,
    PAUSE_SIGNALS,
    REASONS,
    RUN_STATES,
    TABLE,
    AgentState,
    Decision,
    RunState,
    Situation,
    Standing,
    decide,
    run_state,
)

ENDED: tuple[AgentState, ...] = ("left", "failed", "timed_out")
EXPECTED: dict[RunState, dict[AgentState, tuple[str, str, str]]] = {
    "absent": {
        "none": ("start", "", "begin"),
        **dict.fromkeys(ENDED, ("escalate", "ended", "")),
    },
    "running": {
        "none": ("start", "", "go_on"),
        "left": ("escalate", "agent_left", ""),
        "failed": ("escalate", "agent_failed", ""),
        "timed_out": ("escalate", "timed_out", ""),
    },
    "phase_complete": {
        "none": ("start", "", "resume"),
        **dict.fromkeys(ENDED, ("start", "", "resume")),
    },
    "spec_complete": dict.fromkeys(("none", *ENDED), ("stop", "spec_complete", "")),
    "failed": dict.fromkeys(("none", *ENDED), ("escalate", "failed", "")),
    "blocked_runtime": dict.fromkeys(("none", *ENDED), ("escalate", "blocked_runtime", "")),
    "paused_needs_attention": dict.fromkeys(
        ("none", *ENDED), ("escalate", "paused_needs_attention", "")
    ),
    "paused": {
        "none": ("start", "", "resume"),
        **dict.fromkeys(ENDED, ("stop", "paused", "")),
    },
    "ended": {
        "none": ("start", "", "begin"),
        **dict.fromkeys(ENDED, ("stop", "ended", "")),
    },
}
"""What each pair comes to, but that an agent which works is always waited for."""


def _told(said: Decision) -> tuple[str, str, str]:
    return said.act, said.reason, said.way


@pytest.mark.parametrize(("run", "agent"), [*product(RUN_STATES, AGENT_STATES)])
def test_every_pair_of_run_and_agent_is_decided(run: RunState, agent: AgentState) -> None:
    """As the contract of the loop says."""
    expected = EXPECTED[run].get(agent, ("wait", "", ""))
    assert _told(decide(Situation(run=run, agent=agent))) == expected
    assert _told(TABLE[run][agent]) == expected


@pytest.mark.parametrize(("run", "agent"), [*product(RUN_STATES, ENDED)])
def test_after_an_agent_only_a_complete_phase_goes_on(run: RunState, agent: AgentState) -> None:
    """Every other signal, and none, stops the loop."""
    goes_on = decide(Situation(run=run, agent=agent, limit=9)).act == "start"
    assert goes_on == (run == "phase_complete")


@pytest.mark.parametrize("signal", LOOP_SIGNALS)
def test_every_loop_signal_is_a_state_of_a_run(signal: str) -> None:
    """So none is met that the table does not know."""
    assert signal in RUN_STATES


@pytest.mark.parametrize("reason", PAUSE_REASONS)
def test_a_pause_stands_for_its_signal(reason: str) -> None:
    """One that somebody asked for is a pause and nothing more."""
    found = run_state(Standing(status="paused", pause_reason=reason))
    assert found == (PAUSE_SIGNALS[reason] or "paused")


def test_the_state_of_a_run_is_that_of_its_row() -> None:
    """Every status is one; without a status there is no run; a refusal stands for its signal, if it has one."""
    found = {status: run_state(Standing(status=status)) for status in STATUSES}
    assert found == {
        "running": "running",
        "paused": "paused_needs_attention",
        "completed": "spec_complete",
        "failed": "failed",
        "ended": "ended",
    }
    assert run_state(Standing()) == "absent"
    refused = {code: run_state(Standing(error_code=code)) for code in CODE_SIGNALS}
    assert refused == CODE_SIGNALS


@pytest.mark.parametrize("run", RUN_STATES)
def test_who_is_asked_to_stop_ends_the_agent_and_stops(run: RunState) -> None:
    """Whatever the run says: also where it would go on."""
    working = Situation(run=run, agent="working", is_asked=True)
    assert _told(decide(working)) == ("end_agent", "asked", "")
    for agent in ("none", *ENDED):
        assert _told(decide(replace(working, agent=agent))) == ("stop", "asked", "")


@pytest.mark.parametrize("run", RUN_STATES)
def test_an_agent_that_stays_is_ended_unless_its_run_goes_on(run: RunState) -> None:
    """It gets a while to hear that the run has stopped."""
    early = Situation(run=run, agent="working", lingered=LINGER_SECONDS - 1)
    late = replace(early, lingered=LINGER_SECONDS)
    assert decide(early).act == "wait"
    expected = ("wait", "") if run == "running" else ("end_agent", "lingering")
    assert (decide(late).act, decide(late).reason) == expected


def test_a_run_that_needs_somebody_goes_on_if_that_was_seen_to() -> None:
    """Once: an agent that comes back with the same stops it."""
    needing = Situation(run="paused_needs_attention", agent="none", is_seen_to=True)
    assert _told(decide(needing)) == ("start", "", "resume")
    assert decide(replace(needing, agent="left")).act == "escalate"
    for run in ("failed", "blocked_runtime"):
        assert decide(replace(needing, run=run)).act == "escalate"


def test_a_round_that_brought_nothing_is_the_last() -> None:
    """Or a run that says the same again and again would cost for ever."""
    stuck = Situation(run="phase_complete", agent="left", has_moved=False, rounds=1, limit=9)
    assert _told(decide(stuck)) == ("escalate", "no_progress", "")
    assert decide(replace(stuck, agent="none", rounds=0)).act == "start"


@pytest.mark.parametrize("run", [run for run in RUN_STATES if TABLE[run]["none"].act == "start"])
def test_nobody_is_started_past_the_last_round(run: RunState) -> None:
    """What is left is for the next call."""
    used = Situation(run=run, agent="none", rounds=3, limit=3)
    assert _told(decide(used)) == ("stop", "rounds_used_up", "")
    assert decide(replace(used, rounds=2)).act == "start"
    complete = replace(used, run="phase_complete", agent="left")
    assert decide(complete).reason == "rounds_used_up"


def test_every_reason_is_given_and_only_a_complete_spec_is_a_success() -> None:
    """So the words for people have no reason that does not come."""
    pairs = product(RUN_STATES, AGENT_STATES)
    plain = [Situation(run=run, agent=agent) for run, agent in pairs]
    more = [
        change
        for one in plain
        for change in (
            one,
            replace(one, is_asked=True),
            replace(one, lingered=LINGER_SECONDS),
            replace(one, has_moved=False),
            replace(one, rounds=1),
        )
    ]
    found = {decide(one) for one in more}
    assert {one.reason for one in found} == set(REASONS)
    assert {one.reason for one in found if one.is_success} == {"spec_complete"}
