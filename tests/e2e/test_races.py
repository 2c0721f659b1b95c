"""What many want at once one gets; the others hear so, and nothing happens twice."""

from __future__ import annotations

import collections

import pytest

from counterpoint.core.model.journal import Outcome, Record, StateEntry
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import ClaimLost

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

MINUTES = 60
LEASE = 30 * MINUTES


def make_tasks(app, count):
    """Make so many tasks; answer their ids."""
    core = app.person()
    lines = "\n".join(f"- [ ] Task {number}" for number in range(count))
    return list(core.plans.create(core.plans.read(f"# Race\n{lines}\n")).ready)


def start(item):
    """Answer the asking for a claim."""
    return {"verb": "start", "with": {"item": item}}


@pytest.fixture(params=["file", "server"])
def address(request, tmp_path):
    """Give where a database that is not there yet will be, in a file and on a PostgreSQL server."""
    if request.param == "file":
        yield str(tmp_path / "siege.db")
        return
    databases = request.getfixturevalue("databases")
    made = databases.empty()
    yield made
    databases.drop(made)


@pytest.fixture
def opened(acts, folder, address):
    """Give the database of the racers, opened by this process."""
    app = acts.open_shifted(str(folder), address)
    yield app
    app.close()


@pytest.mark.alike
@pytest.mark.timeout(600)
def test_a_claim_raced_by_16_processes_has_one_winner(race, opened, address, assert_whole, is_long):
    """Each of many items is wanted by all at the same moment; the losers are told who has it."""
    items = make_tasks(opened, 1000 if is_long else 16)
    heard = race([start(item) for item in items], racers=16, db=address)
    winners: list[int] = []
    for answers in heard:
        [won] = [one for one in answers if "answer" in one]
        winners.append(won["racer"])
        assert {one["error"] for one in answers if one is not won} == {"already_claimed"}
        assert all(f"racer{won['racer']}" in one["message"] for one in answers if one is not won)
    with opened.store.reading(opened.project) as view:
        claims = {claim.item: (claim.agent, claim.token) for claim in view.select(Claim)}
    assert claims == {
        item: (f"racer{winner}", 1) for item, winner in zip(items, winners, strict=True)
    }
    assert len(set(winners)) > 1
    assert_whole(opened)


def test_an_expired_lease_is_taken_over_once_and_the_late_worker_cannot_write(
    race, siege, acts, assert_whole, folder
):
    """Eight want the work of one who has gone; his finish is refused and leaves nothing behind."""
    items = make_tasks(siege, 10)
    late = siege.core(acts.identity("late"))
    tokens = {item: late.claims.start(item).claim.token for item in items}
    heard = race([start(item) for item in items], racers=8, ahead=LEASE + 5)
    for answers in heard:
        won = [one["answer"] for one in answers if "answer" in one]
        assert won == [{"token": 2, "taken_over_from": "late"}]
        assert {one.get("error") for one in answers if "answer" not in one} == {"already_claimed"}
    woken = acts.open_shifted(str(folder), str(siege.database), LEASE + 10)
    before = woken.person().audit.verify().size
    for item in items:
        asked = {"item": item, "token": tokens[item], "summary": "late, but done"}
        with pytest.raises(ClaimLost):
            acts.perform(woken.core(acts.identity("late")), {"verb": "finish", "with": asked})
    assert woken.person().audit.verify().size == before
    with woken.store.reading(woken.project) as view:
        assert view.select(Outcome) == []
        assert {item.status for item in view.select(Item, kind="task")} == {"active"}
    assert_whole(woken)
    woken.close()


def test_a_key_used_by_8_processes_at_once_is_one_write(race, siege, assert_whole):
    siege.person()
    rounds = [
        {"verb": "note", "with": {"text": f"note {number}"}, "key": f"key {number}"}
        for number in range(25)
    ]
    heard = race(rounds, racers=8, same=True)
    for answers in heard:
        assert len({one["answer"]["record"] for one in answers}) == 1
    with siege.store.reading(siege.project) as view:
        bodies = collections.Counter(record.body for record in view.select(Record))
    assert bodies == {f"note {number}": 1 for number in range(25)}
    assert_whole(siege)


@pytest.mark.alike
def test_16_writers_at_once_all_make_their_quota(race, opened, address, assert_whole):
    """None is refused and none of what any wrote is missing."""
    opened.person()
    quota = 15
    rounds = [
        [{"verb": "remember", "with": {"name": f"{racer}-{number}"}} for racer in range(16)]
        for number in range(quota)
    ]
    heard = race(rounds, racers=16, together=False, db=address)
    assert [one for answers in heard for one in answers if "error" in one] == []
    with opened.store.reading(opened.project) as view:
        kept = {entry.name for entry in view.select(StateEntry)}
    assert kept == {f"{racer}-{number}" for racer in range(16) for number in range(quota)}
    assert_whole(opened)


@pytest.mark.alike
def test_a_database_opened_by_8_processes_that_is_not_there_yet_is_made_once(
    race, acts, folder, address, assert_whole, is_long
):
    """None of them takes the others' half-made database for a foreign, broken or locked one."""
    rounds = [[{"verb": "remember", "with": {"name": f"{racer}"}} for racer in range(8)]]
    places = (
        [address]
        if "://" in address
        else [f"{address}.{n}/siege.db" for n in range(5 if is_long else 2)]
    )
    for place in places:
        [answers] = race(rounds, racers=8, db=place)
        assert [one for one in answers if "error" in one] == []
        app = acts.open_shifted(str(folder), place)
        assert len(app.person().audit.log(action="project.opened")) == 1
        assert_whole(app)
        app.close()


def test_programs_whose_clocks_are_far_apart_all_write_and_time_never_runs_backwards(
    race, siege, assert_whole
):
    """One that was a year ahead locks nobody out: time stands still until the others have caught up."""
    siege.person()
    for ahead in (-60 * MINUTES, 365 * 24 * 60 * MINUTES, 0, -20):
        wanted = [{"verb": "remember", "with": {"name": f"ahead{ahead}"}}]
        [[taken]] = race(wanted, racers=1, ahead=ahead)
        assert taken["answer"] == {"version": 1}
    entries = siege.person().audit.log(limit=10)
    assert [entry.time for entry in entries] == sorted((e.time for e in entries), reverse=True)
    assert_whole(siege)
