"""Where `status` and the live view show an unattended run that is paused, and what a person does about it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Workshop
from counterpoint.cli.context import CommandContext
from counterpoint.cli.output import Output
from counterpoint.cli.top.snapshot import read
from counterpoint.cli.work.status import show_state
from fakes.gates import SPEC
from fakes.stepping import begin


def context_of(workshop: Workshop, *, is_json: bool = False) -> CommandContext:
    """Return what a command of a person works with there."""
    return CommandContext(app=workshop.app, out=Output(json=is_json))


def waiting(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> list[tuple[Any, ...]]:
    """Return what `status` says that waits for a person; the live view has the same."""
    show_state(context_of(workshop, is_json=True))
    told = json.loads(capsys.readouterr().out)["waiting_for_you"]
    cells = [row.cells for row in read(context_of(workshop)).panes["waiting"]]
    assert [(one["id"], one["what"], one["title"]) for one in told] == cells[: len(told)]
    return [(one["id"], one["what"], one["run"]) for one in told]


def test_a_run_that_somebody_paused_is_shown_with_its_reason(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begin(workshop)
    run.does()
    assert waiting(workshop, capsys) == []
    run.manages("pause")
    what = "a paused run: Somebody asked this run to stop."
    go_on = f"counterpoint supervise {SPEC} --resume -- AGENT…"
    assert waiting(workshop, capsys) == [(run.item("phase-1").parent, what, go_on)]
    run.manages("resume")
    assert waiting(workshop, capsys) == []


def test_a_gate_that_failed_its_last_cycle_waits_for_a_person_and_not_for_agents(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the command that opens it."""
    run = begin(workshop, max_fidelity_review_cycles_per_phase=1)
    run.does()
    run.reports()
    run.works()
    run.reviews()
    run.reports()
    assert run.data["pause_reason"] == "fidelity_cycle_limit"
    phase = run.item("phase-1").id
    what = "a gate of a paused run: The phase was reviewed as often as it may be, without a pass."
    assert waiting(workshop, capsys) == [(phase, what, f"counterpoint approve {phase}")]
    show_state(context_of(workshop))
    text = capsys.readouterr().out
    assert "Waiting for you" in text
    assert "Waiting for agents" not in text
    panes = read(context_of(workshop)).panes["waiting"]
    assert [row.key for row in panes if row.key.startswith("agents ")] == []
