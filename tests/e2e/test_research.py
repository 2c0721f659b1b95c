"""Deep research survives its server: whatever was paid for before it was killed is not paid for again."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import Window
from counterpoint.app import open_app
from counterpoint.cli.server.serving import end_server
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.protocol.rendezvous import find_rendezvous
from fakes.deep_world import DeepWorld

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.timeout(300)]

FOUNDRY = "--surface foundry"
PATIENCE = 60.0
KILLED = ("brief", "plan", "search", "findings")
"""In the middle of which the server is killed, each once; in the middle of the report it is told to end."""


def until(holds: Callable[[], Any]) -> Any:
    """Wait until something holds, and answer it."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < end, "it does not come to that"
        threading.Event().wait(0.05)
    return found


class Stops:
    """Holds the first answer of each deed back until it is let go."""

    def __init__(self, deeds: tuple[str, ...]) -> None:
        self.reached = {deed: threading.Event() for deed in deeds}
        self.released = {deed: threading.Event() for deed in deeds}
        self.asked: Counter[str] = Counter()

    def __call__(self, deed: str) -> None:
        """Hear of a deed that is asked for."""
        self.asked[deed] += 1
        if deed in self.reached and not self.reached[deed].is_set():
            self.reached[deed].set()
            self.released[deed].wait(PATIENCE)


@pytest.mark.long
def test_a_killed_server_repeats_nothing_that_was_paid_for(repository: Path) -> None:
    """Whatever it was killed in the middle of is asked once more, and nothing else; the next server of the ledger goes on by itself."""
    stops = Stops((*KILLED, "report"))
    with DeepWorld(before=stops) as world:
        world.configure(repository)
        app = open_app(repository, os.environ)
        app.itself().projects.trust(read_checking(repository), os.environ["PATH"])
        database = app.database
        app.close()
        meeting = find_rendezvous(database)
        window = Window(repository)

        def told(action: str, **more: Any) -> Any:
            return window.does(FOUNDRY, "research", action=action, **more)["data"]

        try:
            name = told("deep-research", query="Is it so?", max_iterations=1)["research_id"]
            for deed in KILLED:
                assert stops.reached[deed].wait(PATIENCE), deed
                pid = until(meeting.known)["pid"]
                os.kill(pid, signal.SIGKILL)
                stops.released[deed].set()
                # Whoever looks has the next server started, which goes on with it.
                assert told("deep-research-status", research_id=name)["is_failed"] is False
            assert stops.reached["report"].wait(PATIENCE)
            began = time.monotonic()
            assert end_server(database)
            assert time.monotonic() - began < PATIENCE
            stops.released["report"].set()
            done = until(
                lambda: (
                    found
                    if (found := told("deep-research-status", research_id=name))["is_complete"]
                    else None
                )
            )
            report = told("deep-research-report", research_id=name)["report"]
        finally:
            window.close()
            end_server(database)
    assert (done["source_count"], done["total_tokens_used"]) == (6, 4 * 15)
    assert "[1] Page 11" in report
    assert stops.asked == {"brief": 2, "plan": 2, "search": 3, "findings": 2, "report": 2}
    taken = [path for path in world.pages.asked if path.strip("/").isdecimal()]
    assert sorted(Counter(taken).values()) == [1] * 6
    app = open_app(repository, os.environ)
    assert app.itself().audit.verify().faults == ()
    app.close()
