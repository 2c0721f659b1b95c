"""A database is brought forward whole or not at all, never by an old program."""

from __future__ import annotations

import contextlib
import stat
import threading

import apsw
import pytest

from counterpoint.app import NOUNS
from counterpoint.core.model.catalogue import NOUNS as CORE
from counterpoint.dialects.colibri.nouns import Action
from counterpoint.kernel.errors import StoreBusy, StoreCorrupt, StoreNewer, StoreOlder
from counterpoint.storage import schema
from counterpoint.storage.schema import Migration
from counterpoint.storage.sqlite import forward
from counterpoint.storage.sqlite.queue import WriterQueue
from counterpoint.storage.sqlite.store import MEMORY, PASSING, SqliteStore
from fakes.looking import faults_of

FIRST = schema.migrations(CORE, "sqlite")
LAST = FIRST[-1].number


def _sql(place, text):
    connection = apsw.Connection(str(place))
    try:
        return connection.execute(text).fetchall()
    finally:
        connection.close()


@pytest.fixture
def place(tmp_path):
    """Give the file of a database of the version before."""
    file = tmp_path / "store.db"
    SqliteStore(file, migrations=FIRST).close()
    return file


def _next(sql):
    return (*FIRST, Migration(LAST + 1, "9001_next.sql", sql))


def test_the_first_shape_is_one_migration_and_later_ones_have_numbers_of_their_own():
    """Under the number that the first release begins with, each noun of a dialect is another one."""
    known = schema.migrations(NOUNS, "sqlite")
    assert [(one.number, one.name) for one in known] == [
        (schema.FIRST, "first"),
        (schema.FIRST, "actions"),
        (schema.FIRST, "briefs"),
        (14, "unattended"),
        (15, "models"),
        (15, "search"),
        (15, "research"),
        (15, "writing"),
        (15, "nearness"),
        (16, "presence"),
    ]


def test_a_noun_that_is_new_gets_its_table(place):
    """One program knows it and another does not; both use the file, and no backup is needed."""
    store = SqliteStore(place, nouns=NOUNS)
    with store.writing("p") as writing:
        assert not writing.exists(Action)
        assert list(writing.tables) == [noun.table for noun in NOUNS]
    store.close()
    store = SqliteStore(place)
    with store.reading("p") as reading:
        assert "actions" not in reading.tables
    store.close()
    assert list(place.parent.glob("*.backup")) == []


def test_a_database_from_before_the_first_release_is_refused(place):
    """Nobody can bring it forward; the refusal says which version it has and where one begins."""
    _sql(place, "PRAGMA user_version = 12")
    with pytest.raises(StoreOlder, match=r"store\.db has version 12.*version 13"):
        SqliteStore(place)


def test_a_fresh_database_is_made_while_others_look_at_it(tmp_path):
    """Whoever opens the same empty file at the same moment is waited for, not run into."""
    file = tmp_path / "store.db"
    file.touch()
    looking = apsw.Connection(str(file))
    looking.execute("BEGIN; SELECT * FROM sqlite_schema")
    leaving = threading.Timer(0.2, lambda: looking.execute("ROLLBACK"))
    leaving.start()
    try:
        store = SqliteStore(file)
        assert store.projects() == []
        store.close()
    finally:
        leaving.join(20)
        looking.close()
    assert _sql(file, "PRAGMA journal_mode") == [("wal",)]


def test_a_database_that_another_makes_meanwhile_is_not_taken_for_a_foreign_one(tmp_path):
    """Version, mark and tables are looked at in one moment, although another is migrating."""
    file = tmp_path / "store.db"
    file.touch()
    met: list[str] = []

    def interpose(_cursor, sql, _bindings):
        if "sqlite_schema" in sql and not met:
            met.append(sql)
            with contextlib.suppress(StoreBusy):
                SqliteStore(file, patience=0.1).close()
        return True

    looking = apsw.Connection(str(file))
    looking.exec_trace = interpose
    assert forward.missing(looking, str(file), FIRST) == FIRST
    assert met
    looking.close()
    SqliteStore(file).close()


def test_a_fresh_database_says_what_it_is(place):
    """Its version and mark are in the header; no backup of nothing is made."""
    assert _sql(place, "PRAGMA user_version") == [(LAST,)]
    assert _sql(place, "PRAGMA application_id") == [(forward.APPLICATION,)]
    assert _sql(place, "PRAGMA journal_mode") == [("wal",)]
    assert list(place.parent.glob("*.backup")) == []


def test_an_older_database_is_brought_forward_with_a_backup(place, task, save):
    """The copy has the old version and the rows; the database has both and the new table."""
    store = SqliteStore(place, migrations=FIRST)
    with store.writing("p") as writing:
        save(writing, task(1))
    store.close()
    store = SqliteStore(place, migrations=_next("CREATE TABLE added (x TEXT) STRICT"))
    with store.reading("p") as reading:
        assert reading.find(type(task(1)), "T-1") == task(1)
    store.close()
    assert _sql(place, "PRAGMA user_version") == [(LAST + 1,)]
    assert _sql(place, "SELECT count(*) FROM added") == [(0,)]
    backup = place.with_name(f"store.db.before-{LAST + 1}.backup")
    assert _sql(backup, "PRAGMA user_version") == [(LAST,)]
    assert _sql(backup, "SELECT id FROM items") == [("T-1",)]


def test_tables_are_not_changed_while_anybody_has_them_open(place, task, save, monkeypatch):
    """Not a server alone: one that an agent is in itself, too, though it has written and read nothing for long. Nothing is left of the attempt."""
    monkeypatch.setattr(forward, "_A_MOMENT", 0.05)
    older = SqliteStore(place, migrations=FIRST)
    known = _next("CREATE TABLE added (x TEXT) STRICT")
    with pytest.raises(StoreBusy, match=r"whose tables this program .* would change"):
        SqliteStore(place, migrations=known)
    with older.writing("p") as writing:
        save(writing, task(1))
    older.close()
    files = {file.name for file in place.parent.iterdir()}
    store = SqliteStore(place, migrations=known)
    assert _sql(place, "PRAGMA journal_mode") == [("wal",)]
    store.close()
    assert files <= {"store.db", "store.db-queue", "store.db-server.lock"}


def test_whoever_opens_it_while_tables_are_changed_looks_again(place):
    """He waits for the turn of whoever changes them, and is told that they are of a newer version."""
    known, met = _next("CREATE TABLE added (x TEXT) STRICT"), []

    def older():
        try:
            SqliteStore(place, migrations=FIRST).close()
        except StoreNewer as refusal:
            met.append(refusal)

    thread = threading.Thread(target=older)
    changing = apsw.Connection(str(place))
    with WriterQueue(place.with_name("store.db-queue"), patience=5).turn():
        changing.pragma("journal_mode", "delete")
        thread.start()
        changing.set_busy_timeout(5000)
        forward.bring_forward(changing, str(place), known)
        changing.pragma("journal_mode", "wal")
        changing.close()
    thread.join(20)
    assert len(met) == 1


def test_a_migration_that_fails_leaves_the_old_version(place):
    """All of the file runs or none of it, and an older program still opens the database."""
    broken = _next("CREATE TABLE added (x TEXT) STRICT; INSERT INTO nowhere VALUES (1)")
    with pytest.raises(StoreCorrupt, match="no such table: nowhere"):
        SqliteStore(place, migrations=broken)
    assert _sql(place, "PRAGMA user_version") == [(LAST,)]
    assert _sql(place, "SELECT name FROM sqlite_schema WHERE name = 'added'") == []
    SqliteStore(place, migrations=FIRST).close()


def test_a_newer_database_is_refused_by_name_and_version(place):
    """An older program does not touch what it does not know."""
    SqliteStore(place, migrations=_next("CREATE TABLE added (x TEXT) STRICT")).close()
    with pytest.raises(StoreNewer, match=rf"store\.db has version {LAST + 1}") as refusal:
        SqliteStore(place, migrations=FIRST)
    assert refusal.value.facts["version"] == LAST + 1
    assert refusal.value.facts["known"] == LAST


def test_an_edited_migration_is_refused(place):
    """A database made with another text of the same file has a shape nobody knows."""
    first = FIRST[0]
    edited = (first._replace(sql=first.sql + "-- edited"), *FIRST[1:])
    with pytest.raises(StoreCorrupt, match=first.name):
        SqliteStore(place, migrations=edited)


def test_a_database_of_another_program_is_refused(tmp_path):
    """Neither a foreign mark nor unmarked tables are taken over."""
    for name, sql in (("marked", "PRAGMA application_id = 7"), ("bare", "CREATE TABLE t (x)")):
        place = tmp_path / name
        _sql(place, sql)
        before = place.read_bytes()
        with pytest.raises(StoreCorrupt, match="another program"):
            SqliteStore(place)
        assert place.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(tmp_path):
    """And left as it is."""
    place = tmp_path / "letter.txt"
    place.write_text("Dear reader, " * 200)
    with pytest.raises(StoreCorrupt, match=r"letter\.txt"):
        SqliteStore(place)
    assert place.read_text() == "Dear reader, " * 200


@pytest.mark.parametrize("where", [MEMORY, PASSING])
def test_a_database_that_passes_away_has_every_migration_and_begins_empty(
    where, tmp_path, task, save
):
    """Its pages are those of the one before, as the tables were made; what that held is in none."""
    in_file = SqliteStore(tmp_path / "store.db")
    for _ in range(2):
        store = SqliteStore(where)
        assert faults_of(store) == []
        assert tables_of(store) == tables_of(in_file)
        assert store.projects() == []
        with store.writing("p") as writing:
            save(writing, task(1))
        store.close()
    in_file.close()


def tables_of(store):
    """Answer the header of a database, its schema and the migrations noted."""
    header = [store._writer.pragma(name) for name in ("application_id", "user_version")]
    schema = store._writer.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    return header, schema, store._writer.execute("SELECT * FROM migrations").fetchall()


def test_only_the_owner_can_read_what_is_made(tmp_path, task, save):
    """The folder, the database, its companions, a backup."""
    place = tmp_path / "made" / "store.db"
    store = SqliteStore(place)
    with store.writing("p") as writing:
        save(writing, task(1))
    store.backup(tmp_path / "made" / "copy.db")
    files = {file.name for file in place.parent.iterdir()}
    assert files == {"store.db", "store.db-wal", "store.db-shm", "store.db-queue", "copy.db"}
    for name in files:
        assert stat.S_IMODE((place.parent / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    store.close()
