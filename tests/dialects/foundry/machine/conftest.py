"""The yard in which the tests of the machine of runs begin."""

from __future__ import annotations

import pytest

from builders import Workshop
from fakes.run_yard import Yard


@pytest.fixture
def yard(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Yard:
    """Answer those who are around runs."""
    return Yard(workshop=workshop, patch=monkeypatch)
