"""The tables fit the nouns, the ledger only grows, questions find an index."""

from __future__ import annotations

import apsw
import pytest

from counterpoint.app import NOUNS
from counterpoint.core.model.journal import Receipt, Record, Submission, Verdict
from counterpoint.core.model.rows import columns
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.work import Dependency, Item, Label
from counterpoint.dialects.agentic.nouns import Brief
from counterpoint.storage import statements
from counterpoint.storage.sqlite.store import SqliteStore


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    """Give a bare connection to a database with two entries, as a stranger would have."""
    place = tmp_path_factory.mktemp("schema") / "store.db"
    SqliteStore(place, nouns=NOUNS).close()
    opened = apsw.Connection(str(place))
    for sequence in (0, 1):
        opened.execute("INSERT INTO entries VALUES ('p', ?, x'00', x'00', '', '')", (sequence,))
    yield opened
    opened.close()


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.table)
def test_the_columns_of_a_table_are_the_fields_of_its_noun(connection, noun):
    """Same names, same order, same types, same key; nothing may be NULL."""
    kinds = {"int": "INTEGER", "prose": "BLOB", "proses": "BLOB", "hash": "BLOB"}
    found = connection.execute(f"PRAGMA table_info({noun.table})").fetchall()
    assert [(name, kind, required) for _, name, kind, required, _, _ in found] == [
        (column.name, kinds.get(column.sort, "TEXT"), 1) for column in columns(noun)
    ]
    key = sorted((place, name) for _, name, _, _, _, place in found if place)
    assert tuple(name for _, name in key) == noun.key


def test_every_table_is_strict(connection):
    """No column holds a value of another type."""
    (loose,) = connection.execute(
        "SELECT group_concat(name) FROM pragma_table_list"
        " WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite%'"
    ).fetchone()
    assert loose is None


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.table)
def test_rows_that_only_their_key_finds_are_kept_once(connection, noun):
    """No index repeats the key of such a table; other indexes point to a row by its number."""
    (within,) = connection.execute(
        "SELECT wr FROM pragma_table_list WHERE name = ?", (noun.table,)
    ).fetchone()
    assert bool(within) is not bool(noun.indexes or noun.unique or noun.partial)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET data = x'01' WHERE sequence = 0",
        "UPDATE entries SET sequence = 9 WHERE sequence = 1",
        "DELETE FROM entries WHERE sequence = 1",
        "DELETE FROM entries",
        "INSERT INTO entries VALUES ('p', 3, x'00', x'00', '', '')",
        "INSERT INTO entries VALUES ('p', -1, x'00', x'00', '', '')",
        "INSERT OR REPLACE INTO entries VALUES ('p', 1, x'01', x'00', '', '')",
        "REPLACE INTO entries VALUES ('p', 0, x'01', x'00', '', '')",
        "INSERT INTO entries VALUES ('q', 1, x'00', x'00', '', '')",
    ],
)
def test_a_stranger_with_a_shell_cannot_change_the_ledger(connection, statement):
    """Nothing is changed, deleted, replaced, or appended out of order."""
    with pytest.raises(apsw.ConstraintError):
        connection.execute(statement)
    rows = connection.execute("SELECT sequence, data FROM entries ORDER BY sequence").fetchall()
    assert rows == [(0, b"\0"), (1, b"\0")]


READY = "items_root_kind_category_blockers_priority_number"

SHAPES = [
    (Item, {"kind": "k", "category": "open", "blockers": 0}, "priority,number", True),
    (Item, {"kind": "k", "category": "open", "blockers": 0, "root": "r"}, "priority,number", True),
    (Item, {"parent": "x"}, "position", True),
    (Item, {}, "number", True),
    (Item, {}, "number desc", True),
    (Label, {"name": "x"}, "item", True),
    (Dependency, {"needs": "x"}, "item", False),
    (Dependency, {"item": "x"}, "needs", False),
    (Claim, {"state": "live"}, "item", True),
    (Record, {"item": "x", "kind": "k"}, "number desc", True),
    (Record, {"kind": "k", "status": "open"}, "number", True),
    (Record, {}, "number desc", True),
    (Handoff, {"session": "x"}, "number desc", True),
    (Handoff, {"item": "x"}, "number desc", True),
    (Receipt, {"item": "x"}, "number desc", True),
    (Submission, {"item": "x"}, "number desc", True),
    (Verdict, {"item": "x"}, "number desc", True),
    (Brief, {}, "number desc", True),
    (Brief, {"status": "s"}, "number desc", True),
    (Brief, {"item": "x"}, "number desc", True),
    (Brief, {"slug": "x"}, "slug", False),
]


@pytest.mark.parametrize(("noun", "equal", "order", "after"), SHAPES)
def test_listing_reads_an_index_in_order(connection, noun, equal, order, after):
    """Neither a whole table nor a sorting of all that match: the cost is that of the page."""
    shape, _ = statements.shaped(noun, equal)
    for going_on in {False, after}:
        text = statements.selected(noun, shape, order, going_on).text
        plan = _plan(connection, text)
        assert "SCAN" not in plan
        assert "TEMP B-TREE" not in plan
        assert " INDEX " in plan or "PRIMARY KEY" in plan


@pytest.mark.parametrize(
    ("noun", "equal", "order"),
    [
        (Item, {"parent": "x"}, ""),
        (Item, {"parent": ("x", "y")}, ""),
        (Item, {"root": "x", "category": ("a", "b")}, "number"),
        (Dependency, {"needs": ("x", "y")}, ""),
        (Record, {"item": ("x", "y"), "kind": ("k", "l")}, "number desc"),
    ],
)
def test_all_that_a_filter_matches_is_looked_up_whatever_its_order(connection, noun, equal, order):
    """Few rows are sorted, rather than all of a project read in that order."""
    shape, _ = statements.shaped(noun, equal)
    read = statements.row_key(noun)
    texts = [statements.selected(noun, shape, order, after=False, is_page=False).text]
    texts += [] if order else [statements.cells(noun, read, shape)]
    for text in texts:
        plan = _plan(connection, text).splitlines()[0]
        assert any(f"{name}=?" in plan for name in equal), plan


@pytest.mark.parametrize(
    "text",
    [
        *(statements.find(noun) for noun in NOUNS),
        *(statements.last_number(n) for n in (Item, Record, Receipt, Submission, Verdict, Handoff)),
        statements.selected(Claim, (("session", -1), ("state", "live")), is_exists=True).text,
        statements.selected(Session, (("agent", -1),), is_exists=True).text,
        statements.selected(Item, (("category", 3), ("parent", -1)), is_exists=True).text,
        statements.counts(Item, ("category",), (("parent", -1),)),
    ],
)
def test_looking_up_reads_no_whole_table(connection, text):
    """Keys, last numbers and existence are answered from an index, without sorting."""
    plan = _plan(connection, text)
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan
    assert "(project=? AND" in plan or "max(number)" in text or "projects" in text


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ({"subject": "p-1", "action": ""}, "entries_subject"),
        ({"subject": "", "action": "task.started"}, "entries_action"),
        ({"subject": "", "action": ""}, "PRIMARY KEY"),
    ],
)
@pytest.mark.parametrize("after", [None, 7])
def test_entries_are_found_by_an_index_in_order(connection, asked, index, after):
    """That of the subjects holds no entry without one, and the planner sees that none is asked for."""
    text, _ = statements.sequences("p", before=None, after=after, limit=5, **asked)
    plan = _plan(connection, text)
    assert f" {index} (" in plan
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan


def test_an_entry_without_a_subject_takes_no_room_in_the_index_of_subjects(connection):
    """The index says of itself that it is of some of the rows."""
    partial = "SELECT name FROM pragma_index_list('entries') WHERE partial"
    assert connection.execute(partial).fetchall() == [("entries_subject",)]


def test_going_on_in_ready_work_starts_at_the_place(connection):
    """The page after a place is found by the index, not by walking from the beginning."""
    shape, _ = statements.shaped(Item, {"kind": "k", "category": "open", "blockers": 0})
    plan = _plan(connection, statements.selected(Item, shape, "priority,number", after=True).text)
    assert "blockers=? AND (priority,number)>(?,?)" in plan


LIVE = "claims_state_item"
QUESTIONS = [
    (Claim, {"session": "s", "state": "live"}, "claimed_at,item", "claims_session_state"),
    (Claim, {"state": "live"}, "claimed_at,item", LIVE),
    (Claim, {"state": "live"}, "", LIVE),
    (Item, {"root": "r", "kind": "k", "category": "open", "blockers": 0}, "priority,number", READY),
    (
        Item,
        {"root": "r", "kind": ("k", "l"), "category": "active", "blockers": 0},
        "priority,number",
        READY,
    ),
]


@pytest.mark.parametrize(("noun", "equal", "order", "index"), QUESTIONS)
def test_a_question_for_what_is_in_hand_reads_an_index_of_nothing_else(
    connection, noun, equal, order, index
):
    """The planner sees from the word in the statement that the partial index has every such row."""
    shape, values = statements.shaped(noun, equal)
    assert not set(values) & {"live", "open", "active"}
    assert f"INDEX {index} " in _plan(
        connection, statements.selected(noun, shape, order, after=False).text
    )
    partial = connection.execute(
        "SELECT name FROM pragma_index_list(?) WHERE partial", (noun.table,)
    ).fetchall()
    assert (index,) in partial


def test_no_word_but_that_of_an_index_stands_in_a_statement():
    """Whatever else is asked for travels as a parameter."""
    assert statements.shaped(Claim, {"state": "released"}) == ((("state", -1),), ["released"])
    assert statements.shaped(Item, {"status": "open"}) == ((("status", -1),), ["open"])
    with pytest.raises(AssertionError, match="no word"):
        statements.selected(Claim, (("state", "' OR 1 --"),), is_exists=True)


def _plan(connection: apsw.Connection, text: str) -> str:
    bindings = (None,) * text.count("?")
    rows = connection.execute(f"EXPLAIN QUERY PLAN {text}", bindings)
    return "\n".join(row[3] for row in rows)
