"""Agents that speak the colibri dialect, and how their answers are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Workshop
from counterpoint.settings import Settings
from fakes.speaker import Speaker

PROOFS = Settings(proofs="1")


@pytest.fixture
def speaker(workshop: Workshop) -> Callable[..., Speaker]:
    """Answer what makes an agent that speaks the dialect."""

    def speaking(name: str = "ada", **settings: Any) -> Speaker:
        chosen = Settings(proofs="1", **settings)
        return Speaker(workshop.agent(name, surface="colibri", settings=chosen))

    return speaking


@pytest.fixture
def ada(speaker: Callable[..., Speaker]) -> Speaker:
    """Answer an agent with every tool of the dialect."""
    return speaker()
