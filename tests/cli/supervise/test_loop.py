"""What a supervisor does to a run and its agents, with both of them in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.output import Output
from counterpoint.cli.supervise.command import code_of
from counterpoint.cli.supervise.loop import StopRequest, Supervision
from counterpoint.cli.supervise.outcome import tell_outcome
from counterpoint.cli.supervise.screens import open_screen
from counterpoint.cli.supervise.specrun import LIST_SPECS, SpecRun
from counterpoint.dialects.foundry.runs.rules.signals import LINGER_SECONDS
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    ProgramMissing,
    Unavailable,
)
from fakes.spec_runs import FakeAgents, FakeRuns, Part, ended, refused


class Told:
    """What came of a supervision: its code, the events, and why it ended."""

    def __init__(self, code: int, lines: str) -> None:
        self.code = code
        self.events: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
        self.last = self.events[-1]

    def names(self) -> list[str]:
        """Return the events by their names."""
        return [one["event"] for one in self.events]


Supervise = Callable[..., Told]


@pytest.fixture
def supervise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Supervise:
    """Supervise a run with agents, as `--json` tells it."""

    def run(runs: FakeRuns, *parts: Any, limit: int = 9, **more: Any) -> Told:
        agents = more.pop("agents", None) or FakeAgents([*parts])
        out, clock = Output(json=True), SystemClock()
        with open_screen(out, clock, is_verbose=False) as screen:
            found = Supervision(
                run=SpecRun(spec="harbour", caller=runs),
                agent=agents,
                screen=screen,
                folder=tmp_path,
                limit=limit,
                clock=clock,
                stopping=more.pop("stopping", StopRequest()),
                poll_seconds=0.0,
                **more,
            ).supervise()
        tell_outcome(out, clock, "harbour", found)
        return Told(code_of(found.decision), capsys.readouterr().out)

    return run


def _finishes(runs: FakeRuns, done: int, reason: str = "phase_complete") -> Part:
    """An agent that ends with so many tasks done: the run pauses, or is complete with the last."""

    def part(_heard: object, _ends: object) -> None:
        runs.pauses(reason, done)
        if done == runs.total:
            runs.status, runs.pause_reason = "completed", ""

    return part


def test_a_spec_is_worked_on_phase_by_phase_until_it_is_complete(supervise: Supervise) -> None:
    """Each phase by an agent of its own; the run is resumed in between, and only then."""
    runs = FakeRuns()
    agents = FakeAgents([_finishes(runs, 2), _finishes(runs, 4)])
    told = supervise(runs, agents=agents)
    assert (told.code, told.last["because"], told.last["signal"]) == (
        0,
        "spec_complete",
        "spec_complete",
    )
    assert runs.calls == ["start", "resume"]
    assert runs.given["start"]["stop_on_phase_completion"] is True
    assert [one["round"] for one in agents.values] == ["1", "2"]
    assert all(one["session"] == "sess_1" for one in agents.values)
    assert told.names().count("round.started") == 2


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("gate_failed", "review_gate_findings"),
        ("context_limit", "resume_in_fresh_context"),
        ("blocked", "resolve_task_blockers"),
        ("task_limit", "start_followup_session"),
    ],
)
def test_every_other_signal_stops_and_asks_for_somebody(
    supervise: Supervise, reason: str, advice: str
) -> None:
    runs = FakeRuns()
    told = supervise(runs, _finishes(runs, 1, reason))
    assert (told.code, told.last["act"], told.last["because"]) == (
        1,
        "escalate",
        "paused_needs_attention",
    )
    assert told.last["reason"] == reason
    assert told.last["recommended_actions"][0]["action"] == advice
    assert "counterpoint supervise harbour --resume" in told.last["advice"][-1]
    assert runs.calls == ["start"]


def test_a_run_that_failed_is_not_gone_on_with(supervise: Supervise) -> None:
    runs = FakeRuns()

    def part(_heard: object, _ends: object) -> None:
        runs.status, runs.failure_reason = "failed", "spec_structure_changed"

    assert supervise(runs, part).last["because"] == "failed"
    again = supervise(runs)
    assert (again.code, again.last["because"], again.last["reason"]) == (
        1,
        "failed",
        "spec_structure_changed",
    )
    assert next(one["action"] for one in again.last["recommended_actions"]) == (
        "rebase_session_to_spec"
    )


@pytest.mark.parametrize(
    ("how", "because"),
    [
        (ended(), "agent_left"),
        (ended(3), "agent_failed"),
        (ended(-15, "time"), "timed_out"),
        (ended(0, "time"), "timed_out"),
    ],
)
def test_an_agent_that_leaves_its_run_alone_stops_it(
    supervise: Supervise, how: Any, because: str
) -> None:
    """The run is paused, so that it does not seem that somebody worked on it, and its spec can be changed."""
    runs = FakeRuns()
    told = supervise(runs, lambda _heard, _ends: how)
    assert (told.code, told.last["because"], told.last["signal"]) == (1, because, "paused")
    assert told.last["reason"] == ""
    assert told.last["log"] == next(one["log"] for one in told.events if "log" in one)
    assert runs.calls == ["start", "pause"]


def test_what_a_supervisor_that_was_killed_has_left_goes_on(supervise: Supervise) -> None:
    runs = FakeRuns(status="running", done=1)
    assert supervise(runs, _finishes(runs, 4)).code == 0
    assert runs.calls == []
    runs = FakeRuns(status="paused", pause_reason="user", done=1)
    assert supervise(runs, _finishes(runs, 4)).code == 0
    assert runs.calls == ["resume"]


def test_a_run_of_which_nothing_was_heard_is_taken_up_afresh(supervise: Supervise) -> None:
    runs = FakeRuns(status="running", done=1, is_stale=True)
    assert supervise(runs, _finishes(runs, 4)).code == 0
    assert runs.calls == ["pause", "resume"]


def test_what_needs_somebody_goes_on_once_that_was_seen_to(supervise: Supervise) -> None:
    runs = FakeRuns()
    runs.pauses("blocked", 1)
    assert supervise(runs).code == 1
    assert supervise(runs, _finishes(runs, 4), is_seen_to=True).code == 0
    assert runs.calls == ["resume"]


def test_what_was_not_seen_to_is_refused_by_the_server_and_told(supervise: Supervise) -> None:
    runs = FakeRuns(refusals={"resume": refused("MANUAL_GATE_ACK_REQUIRED", "validation")})
    runs.pauses("gate_review_required", 2)
    told = supervise(runs, is_seen_to=True)
    assert (told.code, told.last["because"]) == (1, "paused_needs_attention")
    assert told.names().count("refused") == 1
    runs.pauses("phase_complete", 2)
    with pytest.raises(InvalidInput):
        supervise(runs, is_seen_to=True)


def test_a_phase_that_is_complete_with_nothing_more_done_goes_on(supervise: Supervise) -> None:
    runs = FakeRuns()
    runs.pauses("gate_review_required", 3)
    parts = (_finishes(runs, 3), _finishes(runs, 4))
    assert supervise(runs, *parts, is_seen_to=True).code == 0


def test_a_gate_that_waits_for_a_person_is_named(supervise: Supervise) -> None:
    runs = FakeRuns(attempt="gate_7")
    runs.pauses("gate_review_required", 2)
    told = supervise(runs)
    assert (told.code, told.last["gate_attempt_id"]) == (1, "gate_7")
    assert any("counterpoint approve" in line for line in told.last["advice"])
    assert supervise(runs, _finishes(runs, 4), is_seen_to=True).code == 0
    assert runs.given["resume"]["context_usage_pct"] == 0
    assert set(runs.given["resume"]) == {"action", "command", "session_id", "context_usage_pct"}


def test_the_rounds_are_counted(supervise: Supervise) -> None:
    runs = FakeRuns()
    told = supervise(runs, _finishes(runs, 1), _finishes(runs, 2), limit=2)
    assert (told.code, told.last["act"], told.last["because"]) == (1, "stop", "rounds_used_up")
    assert told.last["tasks"] == {"done": 2, "total": 4}
    assert runs.status == "paused"


def test_a_run_that_says_the_same_again_is_stopped(supervise: Supervise) -> None:
    runs = FakeRuns()
    told = supervise(runs, _finishes(runs, 2), _finishes(runs, 2), _finishes(runs, 2))
    assert told.last["because"] == "no_progress"
    assert told.names().count("round.started") == 2


def test_a_complete_spec_is_not_begun_again_unless_there_is_more_in_it(
    supervise: Supervise,
) -> None:
    runs = FakeRuns(status="completed", done=4)
    assert supervise(runs).code == 0
    assert runs.calls == []
    runs.total = 5
    assert supervise(runs, _finishes(runs, 5)).code == 0
    assert runs.calls == ["start"]


def test_who_has_completed_the_spec_is_left_to_be_said(supervise: Supervise) -> None:
    """By somebody who sees that it has achieved its goals; once that was said, nothing is left to do."""
    runs = FakeRuns(status="completed", done=4)
    (told,) = supervise(runs).last["advice"]
    assert "action=complete, spec_id=harbour" in told
    runs.folder = "completed"
    assert supervise(runs).last["advice"] == []


def test_no_agent_is_started_on_a_spec_without_tasks(supervise: Supervise) -> None:
    runs = FakeRuns(total=0)
    with pytest.raises(Conflict, match="no tasks in harbour"):
        supervise(runs)
    assert runs.calls == []


def test_who_is_asked_to_stop_ends_the_agent_and_pauses_the_run(supervise: Supervise) -> None:
    runs, stopping = FakeRuns(), StopRequest()

    def part(_heard: object, ends: Callable[[], bool]) -> Any:
        assert not ends()
        stopping.is_asked = True
        assert ends()
        return ended(-15, "asked")

    told = supervise(runs, part, stopping=stopping)
    assert (told.code, told.last["because"], told.last["signal"]) == (130, "asked", "paused")
    assert runs.calls == ["start", "pause"]
    assert supervise(runs, _finishes(runs, 4)).code == 0
    assert runs.calls == ["start", "pause", "resume"]


def test_an_agent_that_stays_is_ended_a_while_after_its_run_has_stopped(
    supervise: Supervise,
) -> None:
    runs, seconds = FakeRuns(), iter([0.0, 1.0, 1.0, 2.0, 2.0, *[LINGER_SECONDS + 9] * 9])

    def part(_heard: object, ends: Callable[[], bool]) -> Any:
        runs.pauses("phase_complete", 2)
        assert not ends()
        assert not ends()
        assert ends()
        return ended(-9, "asked")

    told = supervise(runs, part, _finishes(runs, 4), seconds=lambda: next(seconds))
    assert told.code == 0


def test_a_server_that_is_away_for_a_while_ends_nobody(supervise: Supervise) -> None:
    runs = FakeRuns()

    def part(_heard: object, ends: Callable[[], bool]) -> None:
        runs.refusals["status"] = Unavailable("gone")
        assert not ends()
        del runs.refusals["status"]
        assert not ends()
        _finishes(runs, 4)(bytearray().extend, ends)

    told = supervise(runs, part)
    assert told.code == 0
    assert "refused" in told.names()


def test_an_agent_that_cannot_be_started_leaves_the_run_paused(supervise: Supervise) -> None:
    runs = FakeRuns()
    with pytest.raises(ProgramMissing):
        supervise(runs, ProgramMissing("no such program"))
    assert runs.calls == ["start", "pause"]


def test_a_reader_that_goes_away_leaves_the_run_paused(supervise: Supervise) -> None:
    runs = FakeRuns()

    def part(_heard: object, _ends: object) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        supervise(runs, part)
    assert runs.calls == ["start", "pause"]


def test_what_went_wrong_with_an_agent_is_told_though_the_server_is_gone(
    supervise: Supervise,
) -> None:
    runs = FakeRuns()

    def part(_heard: object, _ends: object) -> None:
        runs.refusals["progress"] = Unavailable("gone")
        raise ProgramMissing("no such program")

    with pytest.raises(ProgramMissing):
        supervise(runs, part)


def test_a_run_that_cannot_be_paused_is_left_as_it_is(supervise: Supervise) -> None:
    runs = FakeRuns(refusals={"pause": refused("AUTHORIZATION", "authorization")})
    told = supervise(runs, lambda _heard, _ends: None)
    assert (told.code, told.last["because"], told.last["signal"]) == (1, "agent_left", "running")
    assert "refused" in told.names()


def test_nothing_is_begun_where_runs_are_refused(supervise: Supervise) -> None:
    """The refusal of the server comes back in its words; so does that of a spec that there is not."""
    runs = FakeRuns(refusals={"list": refused("AUTHORIZATION", "authorization", "Ask Ada.")})
    with pytest.raises(Forbidden, match="it is AUTHORIZATION") as caught:
        supervise(runs)
    assert caught.value.hint == "Ask Ada."
    runs = FakeRuns(refusals={"progress": refused("SPEC_NOT_FOUND", "not_found")})
    with pytest.raises(NotFound) as missing:
        supervise(runs)
    assert missing.value.hint == LIST_SPECS
    assert runs.calls == []


def test_a_refusal_that_is_a_signal_asks_for_somebody(supervise: Supervise) -> None:
    runs = FakeRuns(refusals={"status": refused("GATE_AUDIT_FAILURE", "validation")})
    told = supervise(runs)
    assert (told.code, told.last["because"], told.last["reason"]) == (
        1,
        "blocked_runtime",
        "GATE_AUDIT_FAILURE",
    )
    runs = FakeRuns(refusals={"status": refused("INTERNAL_ERROR", "internal")})
    with pytest.raises(Unavailable):
        supervise(runs)
