"""Many processes on one PostgreSQL database: races, kills, and a server that goes away."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from counterpoint import __version__
from counterpoint.app import NOUNS, Identity, open_app
from counterpoint.cli.doctor import clock_of
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record, StateEntry
from counterpoint.core.ports.circuits import REST, Breaker
from counterpoint.kernel.clock import elapsed_ms
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    CircuitOpen,
    CounterpointError,
    NotReady,
    StoreBusy,
    StoreUnreachable,
)
from fakes.long_forms import IS_LONG, draw
from fakes.servers import connected

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

SERVER = (sys.executable, "-m", "counterpoint", "mcp", "--in-process")
ROUNDS = 40 if IS_LONG else 3
FEWER = tuple(noun for noun in NOUNS if noun.table != "briefs")
"""As a program knew them whose format had one table less."""
PATIENCE = 60
YEAR = 365 * 86400
PROGRAM = Path(__file__).parent / "programs" / "frozen.py"


@pytest.fixture
def address(databases: Any) -> Iterator[str]:
    """Give the address of a database without tables."""
    made = databases.empty()
    yield made
    databases.drop(made)


@pytest.fixture
def siege(acts: Any, folder: Path, address: str) -> Iterator[Any]:
    """Give the database that the programs write to, opened by this process."""
    opened = acts.open_shifted(str(folder), address)
    yield opened
    opened.close()


@pytest.fixture
def agent(wire: Any, folder: Path, address: str) -> Iterator[Any]:
    """Give what starts servers of their own on the database; they are ended with the test."""
    clients: list[Any] = []

    def start(name: str) -> Any:
        words = (*SERVER, "--db", address, "--project", "siege", "--agent", name)
        clients.append(wire.Client(folder, words))
        clients[-1].greet()
        return clients[-1]

    yield start
    for client in clients:
        client.close()


def test_two_servers_on_one_database_see_each_others_work(agent, wire, siege, assert_whole):
    """What one plans the other takes; what one holds the other is refused."""
    ada, bob = agent("ada"), agent("bob")
    ada.call("plan", markdown="# Two\n- [ ] First\n- [ ] Second\n")
    first = ada.call("next", claim=True)["item"]["id"]
    with pytest.raises(wire.Refused) as refused:
        bob.call("start", id=first)
    assert "ada" in str(refused.value)
    assert bob.call("next", claim=True)["item"]["title"] == "Second"
    bob.call("note", kind="finding", text="the harbour is deep")
    assert "harbour" in str(ada.call("find", query="harbour"))
    assert_whole(siege)


def test_what_was_answered_survives_the_death_of_its_writer(agent, wire, siege, assert_whole):
    """Killed at any moment, a server takes nothing with it and holds nobody up."""
    chance = draw("deaths on a server")
    answered: set[str] = set()

    def write(client: Any, turn: int) -> None:
        try:
            for number in itertools.count():
                text = f"note {turn}-{number}"
                client.call("note", kind="finding", text=text)
                answered.add(text)
        except wire.Gone:
            return

    for turn in range(ROUNDS):
        client = agent("ada")
        client.call("note", kind="finding", text=f"first {turn}")
        writer = threading.Thread(target=write, args=(client, turn))
        writer.start()
        writer.join(chance.uniform(0.02, 0.4))
        client.process.kill()
        writer.join(PATIENCE)
        assert not writer.is_alive()
    assert len(answered) > ROUNDS
    with siege.store.reading(siege.project) as view:
        kept = {record.body for record in view.select(Record)}
    assert answered <= kept
    assert_whole(siege)


def test_a_server_that_stops_and_starts_is_found_again(databases, acts, folder, assert_whole):
    """Calls meanwhile are refused with what to do; then the same program goes on by itself.

    Who is guarded asks five times in vain, and then once when it is time.
    """
    with tempfile.TemporaryDirectory(prefix="counterpoint-pg-") as place:
        other = type(databases)(Path(place))
        app = acts.open_shifted(str(folder), other.empty())
        seconds = [0.0]
        app.breaker = Breaker(seconds=lambda: seconds[0])
        core, guarded = (app.core(acts.identity("ada"), guarded=one) for one in (False, True))
        core.memory.put("project", "before", "1")
        heard: list[Any] = []
        waiting = threading.Thread(target=_hear, args=(app, heard))
        waiting.start()
        other.server.stop()
        with pytest.raises(StoreUnreachable) as refused:
            core.memory.put("project", "meanwhile", "1")
        assert refused.value.retryable
        with pytest.raises(StoreUnreachable):
            core.projects.find()
        waiting.join(PATIENCE)
        assert isinstance(heard[0], StoreUnreachable)
        for _ in range(5):
            with pytest.raises(StoreUnreachable):
                guarded.projects.find()
        other.folder.chmod(0o700)
        other.server.start()
        with pytest.raises(CircuitOpen):
            guarded.projects.find()
        seconds[0] += REST
        assert guarded.projects.find()
        guarded.memory.put("project", "meanwhile", "1")
        core.memory.put("project", "after", "1")
        with app.store.reading(app.project) as view:
            assert {one.name for one in view.select(StateEntry)} == {"before", "meanwhile", "after"}
        assert app.store.wait(app.project, -1, 0)
        assert_whole(app)
        app.close()
        other.close()


@pytest.mark.long
def test_a_writer_that_is_frozen_in_its_transaction_keeps_nobody_out_and_writes_nothing_twice(
    siege, folder, address, assert_whole
):
    """A stopped process: others have their turn while they are patient; woken, it is told that nothing of it landed, and repeats it."""
    other = siege.core(Identity(kind="agent", name="ada", session="ses_ada"))
    words = [sys.executable, str(PROGRAM), str(folder), address]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as frozen:
        os.waitpid(frozen.pid, os.WUNTRACED)
        other.journal.append(Note(kind="finding", body="not kept out"))
        with siege.store.reading(siege.project) as view:
            assert [record.body for record in view.select(Record)] == ["not kept out"]
        frozen.send_signal(signal.SIGCONT)
        said, _ = frozen.communicate(timeout=PATIENCE)
    assert said.split("\n")[:3] == ['"StoreBusy True"', '"done"', '"done"']
    with siege.store.reading(siege.project) as view:
        kept = sorted(record.body for record in view.select(Record))
    assert kept == ["frozen 1", "frozen 2", "not kept out"]
    assert_whole(siege)


def test_leases_and_entries_have_the_databases_time_and_doctor_tells_how_a_machine_differs(
    acts, folder, address, assert_whole
):
    """A machine that is a year ahead takes nobody's task, and writes no entry of the future."""
    open_here = partial(open_app, folder, {}, db=address, project="siege")
    here, ahead = open_here(), open_here()
    ahead.clock = acts.ShiftedClock(YEAR)
    ada, bob = here.core(acts.identity("ada")), ahead.core(acts.identity("bob"))
    item = ada.plans.create(Draft(kind="task", title="one")).root.id
    ada.claims.start(item)
    with pytest.raises((AlreadyClaimed, NotReady)):
        bob.claims.start(item)
    written = bob.journal.append(Note(kind="finding", body="now"))
    assert abs(elapsed_ms(written.created_at, here.clock.now())) < PATIENCE * 1000
    state = bob.overview.state()
    assert state.ahead is None
    assert [live.claim.is_live(state.now) for live in state.live] == [True]
    found = clock_of(ahead)
    assert (found.verdict, found.found) == (
        "warn",
        "this machine's is 365 d ahead of the database's",
    )
    assert clock_of(here).verdict == "ok"
    assert_whole(here)
    for one in (here, ahead):
        one.close()


def test_tables_are_not_changed_while_an_older_program_has_them_open(address):
    """It is named, with its version; once it has ended they are."""
    older = connected(address, nouns=FEWER)
    with pytest.raises(StoreBusy, match=f"counterpoint {__version__} .{os.getpid()} on"):
        connected(address)
    # Who has it open in the same version is no obstacle.
    connected(address, nouns=FEWER).close()
    older.close()
    connected(address).close()


def _hear(app: Any, heard: list[Any]) -> None:
    """Wait for an entry that never comes."""
    try:
        heard.append(app.store.wait(app.project, 10_000, PATIENCE))
    except CounterpointError as refusal:
        heard.append(refusal)
