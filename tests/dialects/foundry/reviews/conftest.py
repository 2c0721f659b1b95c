"""Who asks for reviews in the tests."""

from __future__ import annotations

import pytest

from builders import Agent, Workshop


@pytest.fixture
def ada(workshop: Workshop) -> Agent:
    """Answer an agent that speaks foundry."""
    return workshop.agent("ada", surface="foundry")
