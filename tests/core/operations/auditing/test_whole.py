"""One look finds everything: what no entry tells of, and entries that no table takes."""

from __future__ import annotations

import shutil
from dataclasses import replace

import apsw
import pytest

from counterpoint.core.ledger.entry import RowImage
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.model.filters import Note
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.journal import Record
from counterpoint.core.operations.auditing import sameness, texts
from counterpoint.core.ports.store import Append
from fakes.filled import fill, tamper
from fakes.people import Person
from fakes.studio import Studio


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Give a filled database and its anchors, made once and copied by each test."""
    opened = Studio(tmp_path_factory.mktemp("filled") / "store.db")
    fill(opened)
    opened.check()
    opened.close()
    return opened


@pytest.fixture
def studio(filled, tmp_path):
    """Give a filled project in a file, anchored at its end."""
    shutil.copy(filled.database, tmp_path / "store.db")
    opened = Studio(tmp_path / "store.db")
    opened.mint = filled.mint
    opened.drawer.notes |= filled.drawer.notes
    yield opened
    opened.close()


def verify(studio):
    """Answer the faults a verification finds."""
    return studio.system.audit.verify().faults


UNSEEN = {
    "subject of an entry": "UPDATE entries SET subject = 'demo-9' WHERE sequence = 3",
    "action of an entry": "UPDATE entries SET action = 'task.lost' WHERE sequence = 3",
    "hash of an entry": "UPDATE entries SET leaf = zeroblob(32) WHERE sequence = 3",
    "time of the head": "UPDATE heads SET time = '2020-01-01T00:00:00.000Z'",
    "a superseded text": "UPDATE texts SET body = body || '!' WHERE body LIKE '%:7%' OR body = '7'",
    "a text of nobody": "INSERT INTO texts SELECT project, zeroblob(16), salt, body FROM texts LIMIT 1",
    "a text without a commitment": "INSERT INTO texts SELECT project, x'', salt, body FROM texts LIMIT 1",
    "a document": "UPDATE documents SET kind = 'decision' WHERE kind = 'finding'",
    "no document": "DELETE FROM documents WHERE id = (SELECT max(id) FROM documents)",
    "words of the search": (
        "INSERT INTO search (rowid, title, body) VALUES ((SELECT min(id) + 9 FROM documents), 'a', 'b')"
    ),
    "a number of words": "UPDATE search_docsize SET sz = x'0909' WHERE id = (SELECT min(id) FROM documents)",
    "the settings of the search": "UPDATE search_config SET v = 999 WHERE k = 'pgsz'",
    "a migration": "UPDATE migrations SET sha256 = 'x' WHERE name = 'first'",
    "the number of a migration": "UPDATE migrations SET number = 0 WHERE name = 'actions'",
    "a migration more": "INSERT INTO migrations VALUES (12, 'labels2', 'x')",
    "a trigger": "CREATE TRIGGER quiet AFTER INSERT ON items BEGIN SELECT 1; END",
    "an index less": "DROP INDEX entries_action",
    "an index more": "CREATE INDEX mine ON items (title)",
    "a view": "CREATE VIEW all_items AS SELECT * FROM items",
    "a table": "CREATE TABLE mine (a TEXT)",
    "a row of nobody": "INSERT INTO labels (project, item, name) VALUES ('nobody', 'a', 'b')",
    "a hash more": "INSERT INTO nodes VALUES ('demo', 4, 99, zeroblob(32))",
    "a level more": "INSERT INTO nodes VALUES ('demo', 3, 0, zeroblob(32))",
    "the mark of the file": "PRAGMA application_id = 7",
}


@pytest.mark.parametrize("statement", UNSEEN.values(), ids=UNSEEN)
def test_what_no_entry_tells_of_is_looked_at_too(studio, statement):
    """Columns beside the entries, texts of all versions, search, schema and migrations; all in one run."""
    connection = apsw.Connection(str(studio.database))
    asked = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
    guards = connection.execute(asked).fetchall()
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    for _, made in guards:
        connection.execute(made)
    connection.close()
    faults = verify(studio)
    assert faults
    assert all(fault.code and fault.message and fault.hint for fault in faults)


def test_every_fault_is_found_in_one_run(studio):
    """One table, one text, one column and one trigger at once."""
    tamper(
        studio,
        ("UPDATE items SET assignee = 'x' WHERE id = 'demo-3'", ()),
        ("UPDATE entries SET subject = 'demo-9' WHERE sequence = 3", ()),
        ("UPDATE texts SET body = 'x' WHERE body = 'a finding'", ()),
    )
    connection = apsw.Connection(str(studio.database))
    connection.execute("DROP TRIGGER entries_remain")
    connection.close()
    told = " ".join(fault.message for fault in verify(studio))
    for words in ("demo-3 of items", "beside entry 3", "text", "entries_remain is missing"):
        assert words in told


def test_entries_that_no_table_takes_are_faults_and_never_a_crash(studio):
    """Somebody with the key to the database writes entries that chain, whose rows are anything."""
    rows = (
        RowImage(table="labels", key={"item": "a"}, values={}),
        RowImage(table="labels", key={"item": 1, "name": "b"}, values={}),
        RowImage(table="items", key={"id": "demo-x"}, values={"title": ["a"]}),
        RowImage(table="items", key={"id": "demo-x"}, values={"number": "a"}),
        RowImage(table="items", key={"id": "demo-x"}, values={"labels": 1}),
        RowImage(table="items", key={"id": "demo-x"}, values={"body": {"a": 1}}),
        RowImage(table="criteria", key={"item": "x", "position": 1}, values={"text": "bare"}),
        RowImage(table="items", key={"id": "demo-x"}, values={"title": "x"}, whole=False),
        RowImage(table="items", key={"id": "demo-x"}, values=None),
        RowImage(table="gates", key={"item": "x", "name": "y"}, values={"nowhere": 1}),
    )
    append(studio, rows)
    told = [fault.message for fault in verify(studio)]
    size = studio.last().sequence
    assert sum(one.startswith(f"entry {size}: ") for one in told) == len(rows)


def append(studio, rows, **told):
    """Append an entry with any rows as the program would, without writing the rows."""
    last = studio.last()
    with studio.store.writing("demo") as writing:
        head = writing.head()
        entry = replace(
            last, sequence=head.size, rows=rows, previous=head.leaf, **{"facts": {}, **told}
        )
        data = entry.to_bytes()
        frontier, nodes = Frontier.from_bytes(head.frontier).append(leaf_hash(data))
        writing.append(
            Append(
                sequence=head.size,
                previous=head.leaf,
                data=data,
                leaf=leaf_hash(data),
                time=entry.time,
                subject=entry.subject,
                action=entry.action,
                frontier=frontier.to_bytes(),
                nodes=tuple(nodes),
            )
        )


def test_rows_that_no_table_takes_end_the_replay_and_not_the_look(studio):
    """Two rows of what a project has once only: the entries are read all the same."""
    append(
        studio,
        tuple(
            RowImage(table="tokens", key={"id": name}, values={"sha256": "same"}) for name in "xy"
        ),
    )
    assert any("no table takes" in fault.message for fault in verify(studio))
    assert studio.system.audit.verify(extent="entries").size == studio.last().sequence + 1


@pytest.mark.parametrize("statement", ["SELECT 1", "UPDATE nodes SET hash = zeroblob(32)"])
def test_the_tree_is_compared_some_hashes_at_a_time(studio, monkeypatch, statement):
    """However few at once, the same is found; nothing where nothing is wrong."""
    connection = apsw.Connection(str(studio.database))
    connection.execute(statement)
    connection.close()
    whole = [str(fault) for fault in verify(studio)]
    monkeypatch.setattr(sameness, "_NODES", 4)
    monkeypatch.setattr(texts, "_REMEMBERED", 2)
    assert [str(fault) for fault in verify(studio)] == whole
    assert bool(whole) is (statement != "SELECT 1")


def test_of_many_texts_that_are_missing_the_first_are_told(studio):
    """Twenty are enough to see that they are gone."""
    tamper(studio, ("DELETE FROM texts", ()))
    told = [fault.message for fault in verify(studio) if "is missing, and no" in fault.message]
    assert len(told) == 20


def test_a_text_that_nobody_wrote_is_not_missed_when_it_is_taken_away(studio):
    """A redaction may tell of anything; what no entry refers to is not waited for."""
    append(studio, (), action="text.redacted", facts={"texts": ["0" * 64]})
    assert verify(studio) == ()


def test_an_entry_under_another_number_is_found(studio):
    """Its bytes say where it stands."""
    tamper(
        studio, ("UPDATE entries SET sequence = sequence + 5 WHERE sequence = ?", (last(studio),))
    )
    assert any("the number beside entry" in fault.message for fault in verify(studio))


def last(studio):
    """Answer the number of the last entry."""
    return studio.last().sequence


def test_another_reason_of_a_person_is_found(tmp_path):
    """The statement that was signed commits to the reason."""
    studio = Studio(tmp_path / "store.db")
    record = studio.core("ada").journal.append(Note(kind="finding", body="a finding"))
    person = Person(studio=studio)
    person.enrol()
    redact = ProposedAct(action="text.redacted", decision={"row": f"records/{record.id}"})
    person.does(redact, "private").erasing.of_row(Record, record.id, reason="private")
    changed = "UPDATE texts SET body = replace(body, 'private', 'another') WHERE body LIKE ?"
    tamper(studio, (changed, ("%private%",)))
    told = [fault.message for fault in verify(studio)]
    studio.close()
    assert any("reason of a person's act" in one for one in told)
