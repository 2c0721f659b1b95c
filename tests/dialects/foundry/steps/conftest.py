"""A run that the tests of steps begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Workshop
from fakes.stepping import Stepper, begin

Begin = Callable[..., Stepper]


@pytest.fixture
def run_of(workshop: Workshop) -> Begin:
    """Answer what begins a run."""

    def make(command: str = "true", **terms: Any) -> Stepper:
        return begin(workshop, command, **terms)

    return make


@pytest.fixture
def run(run_of: Begin) -> Stepper:
    """Answer such a run."""
    return run_of()
