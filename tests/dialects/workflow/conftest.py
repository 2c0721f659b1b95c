"""An orchestrator with a workflow, a phase and tasks in them."""

from __future__ import annotations

import pytest

from builders import Agent, Workshop
from fakes.flows import Flow


@pytest.fixture
def lead(workshop: Workshop) -> Agent:
    """Answer an agent that speaks the workflow dialect."""
    return workshop.agent("lead", surface="workflow")


@pytest.fixture
def other(workshop: Workshop) -> Agent:
    """Answer another agent that speaks it, in a session of its own."""
    return workshop.agent("other", surface="workflow")


@pytest.fixture
def flow(lead: Agent) -> Flow:
    """Give a workflow of the orchestrator."""
    return Flow(lead)
