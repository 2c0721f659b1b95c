"""Many processes on one PostgreSQL database: races, kills, and a server that goes away."""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.model.journal import Record, StateEntry
from counterpoint.core.model.sessions import Claim
from counterpoint.kernel.errors import CircuitOpen, CounterpointError, StoreUnreachable
from counterpoint.storage.breaker import REST, Breaker

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

SERVER = (sys.executable, "-m", "counterpoint", "mcp", "--in-process")
ROUNDS = 6
PATIENCE = 60


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


def make_tasks(app, count):
    """Make so many tasks; answer their ids."""
    core = app.person()
    lines = "\n".join(f"- [ ] Task {number}" for number in range(count))
    return list(core.plans.create(core.plans.read(f"# Race\n{lines}\n")).ready)


def test_a_claim_raced_by_16_processes_on_a_server_has_one_winner(
    race, siege, address, assert_whole, is_long
):
    """Each of many items is wanted by all at the same moment; the losers are told who has it."""
    items = make_tasks(siege, 1000 if is_long else 30)
    asked = [{"verb": "start", "with": {"item": item}} for item in items]
    heard = race(asked, racers=16, db=address)
    winners: list[int] = []
    for answers in heard:
        [won] = [one for one in answers if "answer" in one]
        winners.append(won["racer"])
        assert {one["error"] for one in answers if one is not won} == {"already_claimed"}
    with siege.store.reading(siege.project) as view:
        claims = {claim.item: (claim.agent, claim.token) for claim in view.select(Claim)}
    assert claims == {
        item: (f"racer{winner}", 1) for item, winner in zip(items, winners, strict=True)
    }
    assert_whole(siege)


def test_16_writers_on_a_server_all_make_their_quota(race, siege, address, assert_whole):
    """None is refused and none of what any wrote is missing."""
    siege.person()
    rounds = [
        [{"verb": "remember", "with": {"name": f"{racer}-{number}"}} for racer in range(16)]
        for number in range(10)
    ]
    heard = race(rounds, racers=16, together=False, db=address)
    assert [one for answers in heard for one in answers if "error" in one] == []
    with siege.store.reading(siege.project) as view:
        kept = {entry.name for entry in view.select(StateEntry)}
    assert kept == {f"{racer}-{number}" for racer in range(16) for number in range(10)}
    assert_whole(siege)


def test_a_database_opened_by_8_processes_without_tables_is_made_once(
    race, acts, folder, databases, assert_whole
):
    """One makes the tables and opens the project; the others find both."""
    address = databases.empty()
    rounds = [[{"verb": "remember", "with": {"name": f"{racer}"}} for racer in range(8)]]
    [answers] = race(rounds, racers=8, db=address)
    assert [one for one in answers if "error" in one] == []
    app = acts.open_shifted(str(folder), address)
    assert len(app.person().audit.log(action="project.opened")) == 1
    assert_whole(app)
    app.close()
    databases.drop(address)


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
    chance = random.Random(14)  # noqa: S311 -- moments of death need no cryptographic source
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


def _hear(app: Any, heard: list[Any]) -> None:
    """Wait for an entry that never comes."""
    try:
        heard.append(app.store.wait(app.project, 10_000, PATIENCE))
    except CounterpointError as refusal:
        heard.append(refusal)
