"""Models that research asks in the tests: servers on this machine that speak their format."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from builders import Agent, Workshop
from fakes.scripted_models import ModelServer


@pytest.fixture
def ada(workshop: Workshop) -> Agent:
    """Answer an agent that speaks foundry."""
    return workshop.agent("ada", surface="foundry")


@pytest.fixture
def models(request: pytest.FixtureRequest, workshop: Workshop) -> Iterator[ModelServer]:
    """Answer a server that the project asks; it says what the test's parameter has."""
    with ModelServer(*getattr(request, "param", ("forty-two",))) as server:
        server.configure(workshop.root)
        yield server
