"""Agents that speak the agentic dialect, and a plan with two phases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from builders import Agent, Workshop
from fakes.scripted_models import ModelServer

PHASES = [
    {"name": "Design", "description": "Draw it", "tasks": ["TemplatePart", "Review"]},
    {"name": "Build", "tasks": ["Code", "Test", "Ship"], "dependencies": [1]},
]


@pytest.fixture
def opus(workshop: Workshop) -> Agent:
    """Answer an agent named opus."""
    return workshop.agent("opus", surface="agentic")


@pytest.fixture
def haiku(workshop: Workshop) -> Agent:
    """Answer an agent named haiku, in a session of its own."""
    return workshop.agent("haiku", surface="agentic")


@pytest.fixture
def plan(opus: Agent) -> str:
    """Answer the slug of a draft plan."""
    return opus.does("plan_create", title="Login", slug="login", phases=PHASES)["plan"]["slug"]


@pytest.fixture
def session(opus: Agent, plan: str) -> str:
    """Answer the id of a session of opus about that plan."""
    answer = opus.does("session_start", agent_type="opus", plan_slug=plan, context={"goal": "go"})
    return answer["session"]["session_id"]


@pytest.fixture
def models(request: pytest.FixtureRequest, workshop: Workshop) -> Iterator[ModelServer]:
    """Answer a server that the project asks; it says what the test's parameter has."""
    with ModelServer(*getattr(request, "param", ("forty-two",))) as server:
        server.configure(workshop.root)
        yield server
