"""A view of the ledger of the tests, without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from counterpoint.cli.context import CommandContext, open_context
from counterpoint.cli.top.view import TopView
from fakes.looking_on import Play


@pytest.fixture
def context(ledger: Path) -> Iterator[CommandContext]:
    """The context of a command in the copy."""
    del ledger
    with open_context(as_json=False, db=None, project=None) as opened:
        yield opened


@pytest.fixture
def typed() -> list[Sequence[str]]:
    """The commands that the view has run."""
    return []


@pytest.fixture
def on_view(context: CommandContext, typed: list[Sequence[str]]) -> Callable[..., None]:
    """Play something on a view of the copy, at a size; commands are written down, and not run."""

    def play(act: Play, size: tuple[int, int] = (80, 24)) -> None:
        def keep(words: Sequence[str]) -> int:
            typed.append(words)
            return 0

        async def through() -> None:
            view = TopView(context, run_command=keep)
            async with view.run_test(size=size, notifications=True) as pilot:
                await act(view, pilot)

        asyncio.run(through())

    return play
