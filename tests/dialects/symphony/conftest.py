"""What the tests of the symphony surface share: typed agents, and issues that are ready."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.filters import Edit
from counterpoint.settings import Settings
from fakes.boards import Make, Seat


@pytest.fixture
def seat(workshop: Workshop) -> Seat:
    """Give what seats an agent of a type, bound to an issue and a run."""

    def seated(name: str, type_: str = "", item: str = "", run: str = "run-1", **more: Any) -> Any:
        settings = Settings(surface="symphony", profile=type_, item=item, run=run)
        return workshop.agent(
            name, profile=type_, item=item, surface="symphony", settings=settings, **more
        )

    return seated


@pytest.fixture
def make(workshop: Workshop, seat: Seat) -> Make:
    """Give what makes an issue that is ready (or in another state); answer its identifier."""

    def made(title: str = "Make it float", status: str = "open", **more: Any) -> str:
        maker = workshop.agent("maker", profile="architect", surface="symphony")
        answer = maker.does("create_issue", title=title, **more)
        if status != "backlog":
            workshop.app.person().items.edit(answer["id"], Edit(status=status))
        return answer["identifier"]

    return made


@pytest.fixture
def worker(seat: Seat, make: Make) -> Agent:
    """Give a worker who is bound to a fresh issue."""
    return seat("will", "worker", make())
