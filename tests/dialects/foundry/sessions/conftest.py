"""A spec that the tests of sessions begin with, and who works with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Workshop
from fakes.run_party import Party


@pytest.fixture
def party(workshop: Workshop, made: Callable[..., str]) -> Party:
    """Answer a spec of two phases with two tasks each, and who works with it."""
    made()
    fay, gus = (workshop.agent(name, surface="foundry") for name in ("fay", "gus"))
    return Party(workshop=workshop, fay=fay, gus=gus)
