"""Answers that were lost, told again; and signs of life, with how much of its context an agent has used."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from builders import Workshop
from counterpoint.app import App
from counterpoint.evidence.places import find_places
from counterpoint.settings import Settings
from fakes.gates import SPEC
from fakes.stepping import Stepper, begin

Begin = Callable[..., Stepper]


def test_a_step_is_told_again_as_it_was(run: Stepper) -> None:
    """As often as it is asked for; nothing is written for it."""
    told = run.does()
    before = run.agent.ledger_size
    assert run.does("replay") == told
    assert run.does("replay") == told
    assert run.agent.ledger_size == before
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"


@pytest.mark.parametrize("kind", ["execute_verification", "run_fidelity_gate", "pause"])
def test_steps_of_every_type_are_told_again(kind: str, run: Stepper) -> None:
    """With their attempts, reasons and instructions."""
    told = run.goes_on_to(kind)
    assert run.does("replay") == told


def test_no_step_is_told_again_before_the_first(run: Stepper) -> None:
    """Nor where the last one was reported and the run goes on."""
    told = run.fails("replay")
    assert (told["error_code"], told["remediation"]) == ("NOT_FOUND", "Ask for the next one.")


def test_a_stale_step_comes_again_with_another_proof(run: Stepper, workshop: Workshop) -> None:
    """The one of before is no more; its time begins anew."""
    run.does()
    old = run.result()
    workshop.clock.pass_by(minutes=61)
    told = run.does("replay")
    assert told["next_step"]["step_id"] == old["step_id"]
    assert told["next_step"]["step_proof"] != old["step_proof"]
    assert run.fails(last_step_result=old)["error_code"] == "STEP_PROOF_MISMATCH"
    workshop.clock.pass_by(minutes=59)
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"
    assert "step_reissued" in run.events()


def test_a_run_that_is_over_is_told_without_a_step(run: Stepper, workshop: Workshop) -> None:
    """A supervisor that comes late hears how it ended."""
    run.does()
    workshop.agent("nat").does(
        "plan", tree={"title": "More", "kind": "task"}, parent=run.item("phase-1").id
    )
    assert run.asks(last_step_result=run.result()).is_error
    told = run.does("replay")
    assert (told["next_step"], told["status"], told["loop_signal"]) == (None, "failed", "failed")
    assert told["failure_reason"] == "spec_structure_changed"


def test_another_agent_goes_on_where_a_run_was_resumed(run: Stepper, workshop: Workshop) -> None:
    """With a fresh context; it has none of the proofs, and asks for the step that is out."""
    run.does()
    run.does(last_step_result=run.result(), context_usage_pct=90)
    assert run.data["pause_reason"] == "context_limit"
    run.agent = workshop.agent("gus", surface="foundry")
    run.manages("resume")
    told = run.does("replay")
    assert told["next_step"]["type"] == "pause"
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"
    run.works()
    assert run.item("verify-1-1").assignee == "gus"


def test_a_sign_of_life_says_how_full_a_context_is(run: Stepper, workshop: Workshop) -> None:
    """As it was told last; what is told cannot fall but to what only a fresh context has."""
    told = run.does("heartbeat")
    assert told == {
        "session_id": run.session,
        "heartbeat_at": workshop.clock.now(),
        "context_usage_pct": 0,
        "context_source": "estimate",
    }
    for said, counted in ((40, 40), (35, 40), (50, 50), (5, 5)):
        told = run.does("heartbeat", context_usage_pct=said, estimated_tokens_used=said * 1_000)
        assert (told["context_usage_pct"], told["context_source"]) == (counted, "caller")
    assert run.row().context_tokens == 5_000


def test_who_says_the_same_each_time_is_never_taken_for_full(run_of: Begin) -> None:
    """An honest 20 percent stays 20; and who says nothing is at the share of its steps."""
    run = run_of()
    run.does()
    for _ in range(2):
        run.does(last_step_result=run.result("skipped"), context_usage_pct=20)
    assert run.status()["context"] == {"usage_pct": 20, "source": "caller"}
    run.does(last_step_result=run.result("skipped"))
    assert run.status()["context"] == {"usage_pct": 23, "source": "estimate"}


def test_a_heartbeat_keeps_a_run_alive_between_steps(run: Stepper, workshop: Workshop) -> None:
    """Each gives it as long again."""
    for _ in range(3):
        workshop.clock.pass_by(minutes=9)
        run.does("heartbeat")
    assert run.does()["next_step"]["type"] == "implement_task"


@pytest.mark.parametrize("state", ["ended", "failed"])
def test_a_run_that_is_over_has_no_life(state: str, run: Stepper, workshop: Workshop) -> None:
    """To say otherwise is refused."""
    run.does()
    if state == "ended":
        run.manages("end", reason_code="testing")
    else:
        draft = {"title": "More", "kind": "task"}
        workshop.agent("nat").does("plan", tree=draft, parent=run.item("phase-1").id)
        run.asks(last_step_result=run.result())
    assert run.fails("heartbeat")["error_code"] == "INVALID_STATE_TRANSITION"


@pytest.fixture
def boxed(workshop: Workshop) -> Stepper:
    """Answer a run whose agent works in a sandbox."""
    run = begin(workshop)
    environ = {**workshop.app.environ, "FOUNDRY_SANDBOX": "1"}
    app = App(
        settings=Settings(),
        places=find_places(workshop.root),
        environ=environ,
        clock=workshop.clock,
        is_open=True,
    )
    app.share(workshop.app)
    run.agent = workshop.agent("box", surface="foundry", app=app)
    return run


def beside(workshop: Workshop, text: str) -> None:
    """Write the file beside the sandbox."""
    folder = workshop.root / "specs/.autonomy/context"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "context.json").write_text(text)


def measured(workshop: Workshop, **said: Any) -> None:
    """Let the file say how full the context is, now if it does not say another time."""
    beside(workshop, json.dumps({"timestamp": workshop.clock.now(), **said}))


def test_what_is_measured_beside_a_sandbox_counts_before_what_is_said(
    boxed: Stepper, workshop: Workshop
) -> None:
    measured(workshop, context_usage_pct=70)
    told = boxed.does("heartbeat", context_usage_pct=10)
    assert (told["context_usage_pct"], told["context_source"]) == (70, "sidecar")
    workshop.clock.pass_by(seconds=121)
    told = boxed.does("heartbeat", context_usage_pct=75)
    assert (told["context_usage_pct"], told["context_source"]) == (75, "caller")
    boxed.does()
    measured(workshop, context_usage_pct=99)
    assert boxed.reports()["pause_reason"] == "context_limit"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        '{"context_usage_pct": "70"}',
        '{"context_usage_pct": true}',
        '{"context_usage_pct": 170}',
        '{"context_usage_pct": 70, "timestamp": "soon"}',
        '{"context_usage_pct": 70, "timestamp": "2026-01-02T03:04:05"}',
        '{"context_usage_pct": 70, "timestamp": "2099-01-02T03:04:05Z"}',
    ],
)
def test_a_file_that_says_nothing_counts_for_nothing(
    text: str, boxed: Stepper, workshop: Workshop
) -> None:
    """Nor does one of a time to come."""
    beside(workshop, text)
    assert boxed.does("heartbeat")["context_source"] == "estimate"


def test_outside_of_a_sandbox_nobody_measures(run: Stepper, workshop: Workshop) -> None:
    """Whoever can write the project would say what he likes; nor is a link followed."""
    measured(workshop, context_usage_pct=70)
    assert run.does("heartbeat")["context_source"] == "estimate"


def test_a_link_beside_a_sandbox_is_not_followed(boxed: Stepper, workshop: Workshop) -> None:
    """What lies elsewhere is not looked at."""
    measured(workshop, context_usage_pct=70)
    file = workshop.root / "specs/.autonomy/context/context.json"
    file.rename(workshop.root / "elsewhere.json")
    file.symlink_to(workshop.root / "elsewhere.json")
    assert boxed.does("heartbeat")["context_source"] == "estimate"


def test_the_spec_names_the_run_too(run: Stepper) -> None:
    """For each command."""
    told = run.does()
    asked = {"action": "session-step", "command": "replay", "spec_id": SPEC}
    assert run.agent.does("task", **asked)["data"] == told
