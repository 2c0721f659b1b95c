"""A board for each test, with who hands over and who looks."""

from __future__ import annotations

import pytest

from counterpoint.core.coordinator import Core
from fakes.boards import Board
from fakes.seats import ada, bob, person, studio
from fakes.studio import Studio

__all__ = ["ada", "bob", "person", "studio"]


@pytest.fixture(autouse=True)
def board(studio: Studio, person: Core, ada: Core) -> Board:
    """Give a board with the contracts of four phases."""
    return Board(studio, person, ada)
