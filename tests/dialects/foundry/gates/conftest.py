"""What tests of gates begin with."""

from __future__ import annotations

import pytest

from builders import Workshop, let_run
from fakes.gates import SPEC, Begin, Gated, gated_draft


@pytest.fixture
def run_of(workshop: Workshop) -> Begin:
    """Answer what begins a run of a spec with gates."""

    def begin(command: str = "true", **terms: str) -> Gated:
        let_run(workshop.root)
        workshop.agent("ada").core.plans.create(gated_draft(command))
        agent = workshop.agent("fay", surface="foundry")
        begun = agent.does("task", action="session", command="start", spec_id=SPEC, **terms)
        return Gated(workshop=workshop, agent=agent, session=begun["data"]["session_id"])

    return begin


@pytest.fixture
def done(run_of: Begin) -> Begin:
    """Answer what begins a run of which the first phase is done."""

    def begin(command: str = "true", **terms: str) -> Gated:
        run = run_of(command, **terms)
        run.work()
        run.verify()
        return run

    return begin
