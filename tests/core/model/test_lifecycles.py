"""Lifecycles: the tables, and that nothing leaves them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model import lifecycles
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.lifecycles import (
    LIFECYCLES,
    PART,
    TASK,
    UNCLOSED,
    add_source,
    category_of,
    lifecycle,
    register,
)
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Gate, Item
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import IllegalMove, InvalidInput

NOW = Timestamp("2026-01-02T03:04:05.000Z")
LATER = Timestamp("2026-01-02T04:04:05.000Z")

tables = st.sampled_from(sorted(LIFECYCLES.values(), key=lambda table: table.name))


def make(table, status):
    """Answer something that moves on a table."""
    if table.name == "session":
        return Session(
            project="p", id="s", agent="a", profile="", client="", status=status, continues="",
            started_at=NOW, ended_at="", item="", details=Prose(""), purpose="connection", writer="",
            principal="", capability="", active_at=NOW, entered=0,
        )  # fmt: skip
    if table.name == "gate":
        return Gate(
            project="p", item="p-1", name="g", kind="check", holds="finish", argv=(),
            status=status, proof="old", reason=Prose("old"), updated_at=NOW,
        )  # fmt: skip
    return Item(
        project="p", id="p-1", number=1, kind="task" if table is TASK else "phase", title="T",
        lifecycle=table.name, status=status, category=table.category(status), parent="",
        root="p-1", position=0, priority=2, blockers=0, held=0, assignee="", profile="",
        body=Prose(""), version=1, created_at=NOW, updated_at=NOW, closed_at="",
    )  # fmt: skip


@given(table=tables, walk=st.lists(st.integers(0, 9), max_size=30))
def test_no_walk_leaves_its_table(table, walk):
    """Whatever is tried, the state stays one of the table's and follows its edges."""
    thing = make(table, table.first)
    for step in walk:
        states = list(table.categories)
        wanted = states[step % len(states)]
        if wanted in table.moves[thing.status]:
            thing = thing.moved(wanted, LATER)
            assert thing.status == wanted
        elif table.name == "gate" and wanted == thing.status:
            assert thing.moved(wanted, LATER).status == wanted
        else:
            before = thing
            with pytest.raises(IllegalMove) as caught:
                thing.moved(wanted, LATER)
            assert caught.value.facts["moves"] == list(table.moves[thing.status])
            ways = caught.value.facts["moves"]
            assert all(way in caught.value.hint for way in ways or ["nothing: it is final"])
            assert thing == before


@given(table=tables)
def test_every_table_is_whole(table):
    """Each state has a category and moves, and can be reached from the first."""
    assert set(table.categories) == set(table.moves)
    assert {end for ends in table.moves.values() for end in ends} <= set(table.categories)
    reached, waiting = {table.first}, [table.first]
    while waiting:
        fresh = set(table.moves[waiting.pop()]) - reached
        reached |= fresh
        waiting += fresh
    assert reached == set(table.categories)


def test_a_move_keeps_category_and_end_in_step():
    """Closing notes the time; reopening forgets it."""
    closed = make(TASK, "active").moved("done", LATER)
    assert (closed.category, closed.closed_at, closed.is_closed) == ("done", LATER, True)
    again = closed.moved("open", LATER)
    assert (again.category, again.closed_at, again.is_closed) == ("open", "", False)
    assert make(TASK, "open").is_workable
    assert not make(PART, "open").is_workable
    ended = make(LIFECYCLES["session"], "active").moved("completed", LATER)
    assert (ended.has_ended, ended.ended_at) == (True, LATER)
    paused = make(LIFECYCLES["session"], "active").moved("paused", LATER)
    assert (paused.has_ended, paused.ended_at) == (False, "")


def test_a_gate_takes_the_fresher_proof_in_the_same_state():
    """Passing again is no move, but the later receipt counts."""
    gate = make(LIFECYCLES["gate"], "met").moved("met", LATER, proof="new")
    assert (gate.status, gate.proof, gate.reason, gate.updated_at) == ("met", "new", "", LATER)


def test_only_a_failure_awaits_a_decision():
    """A cancelled item was decided; a failed one may still be skipped."""
    assert [state for state in TASK.categories if TASK.is_undecided(state)] == ["failed"]
    assert [state for state in PART.categories if PART.is_undecided(state)] == ["failed"]
    assert UNCLOSED == ("open", "active", "review")


def test_unknown_names_are_refused_with_the_known_ones():
    """Of a table and of a state."""
    with pytest.raises(InvalidInput):
        lifecycle("cycle")
    with pytest.raises(InvalidInput) as caught:
        TASK.category("started")
    assert "open, active" in caught.value.hint


def test_a_lease_runs_until_its_end():
    claim = Claim(
        project="p", item="p-1", token=1, session="s", agent="a", state="live", claimed_at=NOW,
        leased_until=LATER, seconds=1 << 40,
    )  # fmt: skip
    assert claim.is_live(NOW)
    assert not claim.is_live(LATER)
    assert not replace(claim, state="released").is_live(NOW)


def test_a_draft_is_walked_from_the_top():
    """Parents before children, in their order."""
    draft = Draft(
        kind="plan", title="1",
        children=(
            Draft(kind="phase", title="2", children=(Draft(kind="task", title="3"),)),
            Draft(kind="task", title="4"),
        ),
    )  # fmt: skip
    assert [part.title for part in draft.walk()] == ["1", "2", "3", "4"]


def test_a_table_that_a_dialect_brings_is_known_by_its_name(monkeypatch):
    """A second time changes nothing; another table of the same name is refused."""
    monkeypatch.delitem(LIFECYCLES, "brought", raising=False)
    brought = replace(TASK, name="brought")
    with pytest.raises(InvalidInput, match="no lifecycle 'brought'"):
        lifecycle("brought")
    monkeypatch.setitem(LIFECYCLES, "brought", brought)
    register(brought)
    assert lifecycle("brought") is brought
    with pytest.raises(ValueError, match="already"):
        register(replace(PART, name="brought"))


def test_a_state_is_of_one_category_in_every_table_of_work(monkeypatch):
    """Progress counts states of several tables; those of sessions and gates are none of work."""
    table = replace(TASK, name="odd", categories={"open": "active"}, moves={"open": ()})
    with pytest.raises(ValueError, match="the state 'open' is open in 'task'"):
        register(table)
    assert "odd" not in LIFECYCLES
    monkeypatch.setitem(LIFECYCLES, "shop", TASK)
    monkeypatch.delitem(LIFECYCLES, "shop")
    register(replace(table, name="shop", categories={"closed": "done"}, moves={"closed": ()}))
    assert category_of("closed") == "done"
    del LIFECYCLES["shop"]


def test_a_table_that_is_not_known_is_looked_for(monkeypatch):
    """By whoever offered to, and only then; once for each that asks."""
    asked = []

    def bring(name):
        asked.append(name)
        monkeypatch.setitem(LIFECYCLES, name, TASK)

    monkeypatch.setattr(lifecycles, "_SOURCES", [])
    add_source(bring)
    add_source(bring)
    assert (lifecycle("task"), lifecycle("far")) == (TASK, TASK)
    assert asked == ["far"]


def test_a_state_of_a_table_that_is_not_installed_is_neither_waiting_nor_over() -> None:
    """Where nothing but the name of a state is known."""
    assert [category_of(name) for name in ("open", "skipped", "baked")] == [
        "open",
        "done",
        "active",
    ]
