"""The live view beside agents at work, each behind a relay of its own: it follows them, and decides about their work."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from counterpoint.app import App
from counterpoint.cli.context import open_context
from counterpoint.cli.main import run
from counterpoint.cli.top.view import TopView
from counterpoint.protocol.rendezvous import find_rendezvous
from fakes.looking_on import Play, sees
from fakes.windows import Agent

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
WIDE = (150, 45)


@pytest.fixture
def on_view(repository: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Play something on a view of the repository; its commands run in this process."""
    del where
    monkeypatch.chdir(repository)

    def typed(words: Sequence[str]) -> int:
        return run(words)

    def play(act: Play) -> None:
        async def through() -> None:
            with open_context(as_json=False, db=None, project=None) as context:
                view = TopView(context, run_command=typed)
                async with view.run_test(size=WIDE, notifications=True) as pilot:
                    await act(view, pilot)

        asyncio.run(through())

    return play


@pytest.mark.both_databases
def test_it_follows_agents_and_has_their_work_approved(
    on_view: Callable[..., None],
    worker: Agent,
    hire: Callable[[], Agent],
    phase: str,
    app: App,
) -> None:
    """A review that is due, an agent that comes and takes a task, and the approval, which the command makes."""

    async def play(view, pilot):
        await sees(view, pilot, "hands it in", "Planting", "claude-code", "connected")
        other = await asyncio.to_thread(hire)
        made = await asyncio.to_thread(
            lambda: other.does("plan", markdown="# Pond\n- [ ] Dig a pond\n")
        )
        assert made
        await asyncio.to_thread(lambda: other.does("next", claim=True))
        await sees(view, pilot, "task.started", "Dig a pond", "Claims 1", "left")
        await pilot.press("1", "a", "enter")
        await sees(view, pilot, f"approve {phase}: done", "Waiting 0", "item.approved")

    assert worker
    on_view(play)
    assert app.person().items.get(phase).status == "done"


# On PostgreSQL each agent serves itself.
@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_it_goes_on_when_the_server_is_killed(
    on_view: Callable[..., None], worker: Agent, app: App
) -> None:
    """What comes through the next server is seen as what came through the first."""

    async def play(view, pilot):
        await sees(view, pilot, "hands it in", "claude-code")
        known = find_rendezvous(app.database).known()
        assert known is not None
        os.kill(known["pid"], signal.SIGKILL)
        await asyncio.to_thread(lambda: worker.does("plan", markdown="# Mole\n- [ ] Catch it\n"))
        await sees(view, pilot, "Catch it", "plan.created")

    on_view(play)
