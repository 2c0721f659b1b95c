"""Fixtures for tests of verbs: a studio with two agents and a person in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from counterpoint.core.coordinator import Core
from fakes.studio import Studio


@pytest.fixture
def studio() -> Iterator[Studio]:
    """Give a project in memory; after the test it must be sound."""
    opened = Studio()
    yield opened
    opened.check()
    opened.close()


@pytest.fixture
def ada(studio: Studio) -> Core:
    """Give the core as the agent ada may use it."""
    return studio.core("ada")


@pytest.fixture
def bob(studio: Studio) -> Core:
    """Give the core as the agent bob may use it."""
    return studio.core("bob")


@pytest.fixture
def person(studio: Studio) -> Core:
    """Give the core as a person at the command line may use it."""
    return studio.core("pat", kind="human")
