"""What roles may call, and how long who is refused again and again waits."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.models.runs import STEP_TYPES
from counterpoint.dialects.foundry.runs.rules.deciding import StepPlace, instructions
from counterpoint.dialects.foundry.runs.rules.limits import (
    Denials,
    may_call,
    refuse_call,
    role_named,
)
from counterpoint.kernel.errors import Forbidden, RateLimited

RUNNER = [
    *(
        f"task session {one}"
        for one in ("start", "resume", "heartbeat", "rebase", "list", "status")
    ),
    *(f"task session-step {one}" for one in ("next", "report", "replay", "heartbeat")),
    *("spec find", "server capabilities", "review fidelity-gate", "verification execute"),
    "task prepare",
]
REFUSED_TO_RUNNERS = [
    *("task gate-waiver", "task session reset", "task session end", "task session pause"),
    *("authoring phase-add", "lifecycle complete", "task remove", "spec get"),
]


@pytest.mark.parametrize("call", RUNNER)
def test_a_runner_may_call_what_a_run_needs(call):
    refuse_call("autonomy_runner", call)
    refuse_call("maintainer", call)
    reads = {"task session status", "task session list", "task prepare", "spec find"}
    assert may_call("observer", call) == (call in reads | {"server capabilities"})


@pytest.mark.parametrize("call", REFUSED_TO_RUNNERS)
def test_a_runner_may_not_open_its_own_gates_or_change_the_spec(call):
    """The refusal has the code that a supervisor looks for."""
    for role in ("autonomy_runner", "observer"):
        with pytest.raises(Forbidden) as refused:
            refuse_call(role, call)
        assert code_of(refused.value) == "AUTHORIZATION"
    refuse_call("maintainer", call)


@pytest.mark.parametrize("kind", STEP_TYPES)
def test_a_runner_may_make_every_call_that_its_instructions_name(kind):
    """So that following them works."""
    place = StepPlace(spec="x", session="s-1", step="step-1", has_command=True)
    for one in instructions(kind, place):
        command = "next" if one.action == "session-step" else ""
        assert may_call("autonomy_runner", " ".join(filter(None, (one.tool, one.action, command))))


def test_the_preflight_works_for_every_role():
    """It lists runs before one is started."""
    for role in ("maintainer", "autonomy_runner", "observer"):
        assert may_call(role, "task session list")


def test_a_role_that_there_is_not_is_that_of_an_observer():
    """Case and dashes do not matter."""
    assert role_named(" Maintainer ") == "maintainer"
    assert role_named("autonomy-runner") == "autonomy_runner"
    assert role_named("admin") == role_named("") == "observer"


def denied(times):
    """Return the denials after some more, at these times."""
    found = Denials()
    for time in times:
        found = found.denied(time)
    return found


def test_ten_denials_in_a_minute_close_the_door_for_five_seconds():
    """Then it is open, and the count begins anew."""
    found = denied(range(9))
    found.refuse(8.0)
    found = found.denied(9.0)
    with pytest.raises(RateLimited) as refused:
        found.refuse(9.5)
    assert code_of(refused.value) == "RATE_LIMITED"
    assert refused.value.facts["retry_after"] == 5
    found.refuse(14.0)
    found.denied(14.0).refuse(14.1)


def test_denials_that_are_a_minute_apart_close_nothing():
    """Only those within it count."""
    denied([*range(9), 60.0]).refuse(60.0)
    with pytest.raises(RateLimited):
        denied([*range(9), 59.9]).refuse(60.0)
