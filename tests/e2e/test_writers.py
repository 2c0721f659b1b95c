"""Connections sign what was written for them, with plain flags and one name for every client, on both databases."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import AgentProgram
from counterpoint.app import App, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note
from counterpoint.protocol.rendezvous import find_rendezvous

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

VERIFIER = Path(__file__).parents[2] / "docs" / "verifier" / "verify.py"


class Place:
    """A repository with a database, and the agents' processes that work in it."""

    def __init__(self, folder: Path, address: str, held: ExitStack) -> None:
        """Open it as this process sees it."""
        self.folder = folder
        self.words = ["--db", address, "--project", "demo"] if address else []
        self.app: App = open_app(folder, {}, **({"db": address} if address else {}), project="demo")
        self.is_served = not address
        self._agents: list[AgentProgram] = []
        held.callback(self.app.close)
        held.callback(self.end)

    def agent(self) -> AgentProgram:
        """Start one more window of the same client."""
        made = AgentProgram(self.folder)
        self._agents.append(made)
        made.order(connect="main", words=self.words)
        return made

    def note(self, agent: AgentProgram, text: str) -> int:
        """Let an agent write; answer the place of the entry."""
        told = agent.order(call="main", tool="note", arguments={"kind": "comment", "text": text})
        assert "answer" in told, told
        return self.app.itself().feed.last()

    def forge(self, place: int) -> int:
        """Append an entry behind the server's back, in the name of whom an entry is of."""
        actor = self.app.itself().audit.entry(place).actor
        itself = self.app.itself()
        Core(self.app.ports, replace(itself.caller, actor=actor)).journal.append(
            Note(kind="comment", body="I never said this")
        )
        return itself.feed.last()

    def end(self) -> None:
        """Let every agent leave, and the server with them."""
        while self._agents:
            self._agents.pop().close()
        if self.is_served:
            assert self.command("down").returncode == 0

    def kill(self, agent: AgentProgram) -> None:
        """Kill who serves an agent: the one server of a file, or of another database its own process."""
        if self.is_served:
            told = find_rendezvous(self.app.database).ask("status")
            assert told is not None
            os.kill(int(told["pid"]), signal.SIGKILL)
            return
        below = agent.order(run=["sh", "-c", "cat /proc/$PPID/task/$PPID/children"])["out"]
        for number in map(int, below.split()):
            command = Path(f"/proc/{number}/cmdline")
            if command.exists() and b"counterpoint" in command.read_bytes():
                os.kill(number, signal.SIGKILL)
        agent.order(connect="main", words=self.words)

    def runs(self, *words: str) -> Any:
        """Run a command that answers JSON, and answer it."""
        ran = self.command(*words, "--json")
        assert ran.returncode in (0, 1), ran.stderr
        return json.loads(ran.stdout)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return subprocess.run(
            [sys.executable, "-m", "counterpoint", *words, *self.words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, repository: Path) -> Iterator[Place]:
    """Give a repository with a database of each kind."""
    with ExitStack() as held:
        address = ""
        if request.param == "postgresql":
            databases = request.getfixturevalue("databases")
            address = databases.empty()
            held.callback(databases.drop, address)
        yield Place(repository, address, held)


@pytest.mark.alike
def test_an_entry_forged_in_another_windows_name_is_told_by_every_verifier(
    place: Place, tmp_path: Path
) -> None:
    """Appended between two of that window, while its server runs, and signed with the head above it."""
    one, other = place.agent(), place.agent()
    place.note(one, "first")
    mine = place.note(other, "second")
    forged = place.forge(mine)
    place.note(other, "third")
    place.note(one, "fourth")
    place.end()
    found = place.runs("audit", "verify")
    assert (found["sound"], found["unsigned"], found["unsigned_places"]) == (True, 1, [forged])
    quick = place.runs("audit", "verify", "--quick")
    assert quick["unsigned_places"] == [forged]
    assert place.runs("audit", "prove", str(mine))["by_writer"] == "signed"
    assert place.runs("audit", "prove", str(forged))["by_writer"] == "unsigned"
    bundle = tmp_path / "demo.bundle"
    assert place.command("audit", "export", str(bundle)).returncode == 0
    told = json.loads(
        subprocess.run(
            [sys.executable, "-m", "counterpoint", "verify", str(bundle), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        ).stdout
    )
    assert (told["sound"], told["unsigned_places"]) == (True, [forged])
    again = subprocess.run(
        [sys.executable, "-I", str(VERIFIER), str(bundle), found["key"]],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert again.stdout == f"Sound. Not signed by their writers: 1 entries ({forged}).\n"


@pytest.mark.alike
def test_a_server_that_is_killed_loses_nothing_and_leaves_entries_unsigned(place: Place) -> None:
    """What it answered is there; the next server signs what it writes itself, and nothing else."""
    agent = place.agent()
    lost = [place.note(agent, f"before {number}") for number in range(3)]
    place.kill(agent)
    after = [place.note(agent, f"after {number}") for number in range(2)]
    place.end()
    found = place.runs("audit", "verify")
    assert found["sound"], found["faults"]
    assert set(found["unsigned_places"]) <= set(lost)
    entries = list(place.app.itself().audit.log())
    # The first entry and that of the first key, which need no signature, are counted where they have one.
    assert len(entries) - (found["signed"] + found["unsigned"]) in {0, 1, 2}
    acts = [one for one in entries if one.actor.kind == "agent"]
    assert [one.sequence for one in reversed(acts)] == lost + after
