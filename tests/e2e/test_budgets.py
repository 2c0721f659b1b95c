"""Processes of one ledger hold the limit of a day together, and one that was killed holds nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import open_app
from counterpoint.evidence.running.configuration import read_checking
from fakes.scripted_searches import NAME, Found, SearchServer

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.timeout(180)]

PATIENCE = 30.0
LIMITS = "[models]\ndaily_usd = 1.5\n"
PRICE = "usd_per_thousand = 1000\n"
"""A dollar for each search, so that a day pays for one."""
Asking = Callable[[], "subprocess.Popen[str]"]


class Engine:
    """Finds one page; the first who asks waits until it is let go."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.is_asked, self.let_go = threading.Event(), threading.Event()

    def __call__(self, _query: str) -> Found:
        """Answer what is found."""
        if not self.is_asked.is_set():
            self.is_asked.set()
            self.let_go.wait(PATIENCE)
        return [{"url": "https://example.com/", "title": "A", "content": "words"}]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    """Give the options of a command that name the ledger: one of this repository, or one in PostgreSQL."""
    if request.param == "sqlite":
        yield ()
        return
    databases: Any = request.getfixturevalue("databases")
    address = databases.empty()
    yield ("--db", address, "--project", "budgets")
    databases.drop(address)


@pytest.fixture
def searches() -> Iterator[tuple[SearchServer, Engine]]:
    """Give who is asked, and what holds its first answer back."""
    engine = Engine()
    with SearchServer(by=engine) as server:
        yield server, engine
        engine.let_go.set()


@pytest.fixture
def ask(
    folder: Path, place: tuple[str, ...], searches: tuple[SearchServer, Engine]
) -> Iterator[Asking]:
    """Give what starts a process that searches once, in a project whose limit a person trusted."""
    (folder / "counterpoint.toml").write_text(LIMITS + searches[0].configuration + PRICE)
    app = open_app(folder, os.environ, **dict(zip(("db", "project"), place[1::2], strict=False)))
    app.itself().projects.trust(read_checking(folder), os.environ["PATH"])
    app.close()
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "counterpoint", "provider", "test", NAME, "--json", *place]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(words, cwd=folder, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


def told(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Answer what a process said once it has ended."""
    out, error = process.communicate(timeout=PATIENCE)
    return json.loads(out or error)


def test_two_processes_do_not_pass_the_limit_together(
    ask: Asking, searches: tuple[SearchServer, Engine]
) -> None:
    """While one asks for what the day pays for, another is refused; what was paid for counts afterwards too."""
    server, engine = searches
    first = ask()
    assert engine.is_asked.wait(PATIENCE)
    second = ask()
    refused = told(second)
    assert (second.returncode, "BUDGET_SPENT" in str(refused).upper()) == (1, True), refused
    assert len(server.asked) == 1
    engine.let_go.set()
    assert told(first)["cost_micros"] == 1_000_000
    third = ask()
    assert "$1.0000 today" in str(told(third))
    assert len(server.asked) == 1


def test_what_a_killed_process_had_reserved_is_free_again(
    ask: Asking, searches: tuple[SearchServer, Engine]
) -> None:
    """Nobody has to wait until it would have answered."""
    server, engine = searches
    first = ask()
    assert engine.is_asked.wait(PATIENCE)
    first.kill()
    first.wait(PATIENCE)
    assert told(ask())["cost_micros"] == 1_000_000
    assert len(server.asked) == 2
