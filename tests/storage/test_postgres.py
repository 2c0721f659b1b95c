"""What the store on PostgreSQL does beyond the contract: guards, faults, waiting, backups."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.app import NOUNS
from counterpoint.core.model.catalogue import NOUNS as CORE
from counterpoint.core.model.rows import columns
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item, Label
from counterpoint.dialects.colibri.nouns.actions import Action
from counterpoint.kernel.errors import (
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreNewer,
    StoreOlder,
    StoreReadOnly,
    StoreUnreachable,
    Unavailable,
)
from counterpoint.storage import statements
from counterpoint.storage.postgres.address import is_address, masked
from counterpoint.storage.postgres.dialect import fold, unfold
from counterpoint.storage.postgres.pool import ConnectionPool
from counterpoint.storage.postgres.schema import OWN, TYPES
from counterpoint.storage.postgres.semaphore import FairSemaphore
from counterpoint.storage.postgres.store import is_made
from counterpoint.storage.schema import FIRST, Migration, migrations
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.servers import connected

_CHARACTERS = st.text(st.sampled_from("\x00\x01\x02ab\uffff"), max_size=8)


@pytest.fixture
def shell(address):
    """Give a bare connection to a database with two entries, as a stranger would have."""
    connected(address).close()
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("SET search_path TO counterpoint")
        for sequence in (0, 1):
            link.execute("INSERT INTO entries VALUES ('p', %s, '', '', '', '')", (sequence,))
        yield link


@given(one=_CHARACTERS, other=_CHARACTERS)
def test_folded_texts_come_back_and_keep_their_order(one, other):
    """No NUL is left, every text comes back, and bytes compare as before."""
    assert "\x00" not in fold(one)
    assert unfold(fold(one)) == one
    assert (fold(one).encode() < fold(other).encode()) == (one.encode() < other.encode())


def test_a_password_is_never_shown():
    """Neither one before the host nor one among the options."""
    assert masked("postgresql://ada:sesame@host/db") == "postgresql://ada:***@host/db"
    assert masked("postgresql:///db?password=sesame&x=1") == "postgresql:///db?password=***&x=1"
    assert masked("postgresql://host/db?sslpassword=sesame") == (
        "postgresql://host/db?sslpassword=***"
    )
    assert masked("postgresql://ada@host/db") == "postgresql://ada@host/db"
    assert is_address("postgres://host/db")
    assert not is_address("postgresql/ledger.db")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:ses/ame@host/db",
        "postgresql://ada:ses%zzame@host/db",
        "postgresql://h?ses",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_without_quoting_it(address):
    """What is in it may be a piece of the password."""
    with pytest.raises(InvalidInput) as refused:
        connected(address)
    assert "ses" not in refused.value.message
    assert "ses" not in masked("postgresql://ada:ses/ame@host/db")


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.table)
def test_the_columns_of_a_table_are_the_fields_of_its_noun(shell, noun):
    """Same names, same order, same types, same key; nothing may be NULL; texts compare as bytes."""
    found = shell.execute(
        "SELECT column_name, data_type, is_nullable, coalesce(collation_name, '')"
        " FROM information_schema.columns WHERE table_schema = 'counterpoint'"
        " AND table_name = %s ORDER BY ordinal_position",
        (noun.table,),
    ).fetchall()
    assert found == [
        (column.name, "bigint", "NO", "")
        if column.sort == "int"
        else (column.name, "text", "NO", "C")
        for column in columns(noun)
    ]
    key = shell.execute(
        "SELECT a.attname FROM pg_index AS i, unnest(i.indkey) WITH ORDINALITY AS k (n, place)"
        " JOIN pg_attribute AS a ON a.attrelid = %(t)s::regclass AND a.attnum = k.n"
        " WHERE i.indrelid = %(t)s::regclass AND i.indisprimary ORDER BY k.place",
        {"t": noun.table},
    ).fetchall()
    assert tuple(name for (name,) in key) == noun.key


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET data = 'x' WHERE sequence = 0",
        "UPDATE entries SET sequence = 9 WHERE sequence = 1",
        "DELETE FROM entries WHERE sequence = 1",
        "DELETE FROM entries",
        "TRUNCATE entries",
        "INSERT INTO entries VALUES ('p', 3, '', '', '', '')",
        "INSERT INTO entries VALUES ('p', -1, '', '', '', '')",
        "INSERT INTO entries VALUES ('p', 1, 'x', '', '', '') ON CONFLICT DO NOTHING",
        "INSERT INTO entries VALUES ('q', 1, '', '', '', '')",
    ],
)
def test_a_stranger_with_a_shell_cannot_change_the_ledger(shell, statement):
    """Nothing is changed, deleted, emptied, or appended out of order."""
    with pytest.raises(psycopg.errors.RaiseException):
        shell.execute(statement)


def test_several_that_open_an_empty_database_make_it_once(bare_address):
    """One makes the tables, the others find them made."""
    assert not is_made(bare_address)
    with ThreadPoolExecutor(4) as pool:
        for opened in pool.map(connected, [bare_address] * 4):
            opened.close()
    assert is_made(bare_address)
    with psycopg.connect(bare_address) as link:
        (many,) = link.execute("SELECT count(*) FROM counterpoint.migrations").fetchone()
    assert many == len(migrations(NOUNS, TYPES, OWN))


@pytest.mark.parametrize(
    ("noun", "equal", "index"),
    [
        # Without rows either of its two costs the same.
        (Claim, {"session": "s", "state": "live"}, "claims_s"),
        (Claim, {"state": "live"}, "claims_s"),
        (
            Item,
            {"root": "r", "kind": "k", "category": "active", "blockers": 0},
            "items_root_kind_category_blockers_priority_number",
        ),
    ],
)
def test_a_question_for_what_is_in_hand_reads_an_index_of_nothing_else(shell, noun, equal, index):
    """The planner sees from the word in the statement that the partial index has every such row."""
    shape, values = statements.shaped(noun, equal)
    shell.execute("SET enable_seqscan = off")
    asked = statements.exists(noun, shape).replace("?", "%s")
    plan = shell.execute(f"EXPLAIN {asked}", ("p", *values)).fetchall()
    assert f" {index}" in " ".join(line for (line,) in plan)


def test_a_newer_database_is_refused_by_its_version(shell, address):
    """An older program touches nothing."""
    shell.execute("INSERT INTO migrations VALUES (99, 'later', '')")
    with pytest.raises(StoreNewer, match="version 99"):
        connected(address)


def test_a_database_from_before_the_first_release_is_refused(shell, address):
    """Nobody can bring it forward; the refusal says which version it has and where one begins."""
    shell.execute("DELETE FROM migrations")
    shell.execute("INSERT INTO migrations VALUES (9, '0009_actions.sql', '')")
    with pytest.raises(StoreOlder, match=f"version 9.*version {FIRST}"):
        connected(address)


def test_a_noun_that_is_new_gets_its_table(bare_address):
    """One program knows it and another does not; both use the database."""
    connected(bare_address, nouns=CORE).close()
    opened = connected(bare_address)
    with opened.writing("p") as writing:
        assert not writing.exists(Action)
    opened.close()
    connected(bare_address, nouns=CORE).close()


def test_a_database_made_by_other_files_is_refused(shell, address):
    """An applied migration is never edited."""
    shell.execute("UPDATE migrations SET sha256 = 'other' WHERE name = 'actions'")
    with pytest.raises(StoreCorrupt, match="another text of actions"):
        connected(address)


def test_a_schema_of_another_program_is_left_alone(bare_address):
    """Its tables stay, and none of ours stands beside them."""
    with psycopg.connect(bare_address, autocommit=True) as link:
        link.execute("CREATE SCHEMA counterpoint CREATE TABLE theirs (x int)")
        with pytest.raises(StoreCorrupt, match="another program"):
            connected(bare_address)
        found = link.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'counterpoint'"
        )
        assert found.fetchall() == [("theirs",)]


def test_a_migration_that_fails_leaves_the_shape_before_it(address, task, save):
    """All that was missing lands together or not at all."""
    connected(address).close()
    known = migrations(NOUNS, TYPES, OWN)
    number = known[-1].number
    wrong = (
        Migration(number + 1, "good", "CREATE TABLE good (x int)"),
        Migration(number + 2, "bad", "CREATE TABLE bad (x nothing)"),
    )
    with pytest.raises(psycopg.errors.UndefinedObject):
        connected(address, known=(*known, *wrong))
    opened = connected(address, known=(*known, wrong[0]))
    with opened.writing("p") as writing:
        save(writing, task(1))
    opened.close()


def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path):
    """The message names the address and asks to try again."""
    with pytest.raises(StoreUnreachable) as refused:
        connected(f"postgresql://ada:sesame@/db?host={tmp_path}")
    assert refused.value.retryable
    assert "sesame" not in refused.value.message
    assert "ada:***@" in refused.value.message


def test_a_database_that_does_not_exist_is_told_as_such(address):
    """Trying again would not help."""
    with pytest.raises(Unavailable, match="does not exist") as refused:
        connected(address.replace("/test_", "/no_test_"))
    assert not refused.value.retryable


def test_a_database_for_reading_only_is_read(address, task, save):
    """A write is refused with what to do; a reading goes on."""
    connected(address).close()
    with psycopg.connect(address, autocommit=True) as link:
        name = link.info.dbname
        link.execute(f"ALTER DATABASE {name} SET default_transaction_read_only TO on".encode())
    store = connected(address)
    with pytest.raises(StoreReadOnly), store.writing("p") as writing:
        save(writing, task(1))
    with store.reading("p") as reading:
        assert not reading.exists(Item)
    store.close()


def test_a_writer_that_waits_too_long_is_told_so(address, postgres_store):
    """Another project is written meanwhile."""
    hasty = connected(address, patience=0.2)
    with postgres_store.writing("p"):
        with pytest.raises(StoreBusy), hasty.writing("p"):
            pass
        with hasty.writing("q"):
            pass
    with hasty.writing("p"):
        pass
    hasty.close()


def test_a_key_that_no_index_takes_is_the_callers_to_shorten(postgres_store, example, save):
    """It is refused, not half kept."""
    endless = "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(6000))
    with pytest.raises(InvalidInput), postgres_store.writing("p") as writing:
        save(writing, example(Label, name=endless))
    with postgres_store.reading("p") as reading:
        assert not reading.exists(Label)


def test_a_reading_stays_at_the_moment_it_began(postgres_store, task, save):
    """What is written meanwhile is seen by the next reading."""
    with postgres_store.reading("p") as reading:
        assert not reading.exists(Item)
        with postgres_store.writing("p") as writing:
            save(writing, task(1))
        assert not reading.exists(Item)
    with postgres_store.reading("p") as reading:
        assert reading.exists(Item)


def test_long_tables_are_read_in_pages_without_gap(postgres_store, task, save, entry, monkeypatch):
    """Rows, texts and entries come whole and in order, however small the pages."""
    monkeypatch.setattr("counterpoint.storage.postgres.ledger.PAGE", 3)
    monkeypatch.setattr("counterpoint.storage.rows.PAGE", 3)
    with postgres_store.writing("p") as writing:
        save(writing, *(task(n, body=f"text {n}") for n in range(10)))
        for n in range(10):
            writing.append(entry(n))
        assert [row[1] for row in writing.table(Item)] == [f"T-{n}" for n in range(10)]
        assert len(dict(writing.texts())) == 10
        assert list(writing.entries(2, 9)) == [entry(n).data for n in range(2, 9)]


def test_connections_that_died_while_idle_are_replaced(postgres_store, shell, task, save):
    """Nothing was under way on them, so nobody hears of it."""
    with postgres_store.writing("p") as writing:
        save(writing, task(1))
    with postgres_store.reading("p") as reading:
        assert reading.exists(Item)
    _terminate_others(shell)
    with postgres_store.writing("p") as writing:
        save(writing, task(2))
    with postgres_store.reading("p") as reading:
        assert len(reading.select(Item)) == 2


def test_a_connection_that_dies_in_a_write_leaves_nothing(postgres_store, shell, task, save):
    """The caller hears that the server went away, and may try again at once."""

    def interrupted() -> None:
        with postgres_store.writing("p") as writing:
            save(writing, task(1))
            _terminate_others(shell)
            save(writing, task(2))

    with pytest.raises(StoreUnreachable):
        interrupted()
    with postgres_store.writing("p") as writing:
        assert not writing.exists(Item)
        save(writing, task(1))


def test_a_commit_that_dies_says_that_its_end_is_not_known(postgres_store, shell, task, save):
    """The hint names the idempotency key."""

    def interrupted() -> None:
        with postgres_store.writing("p") as writing:
            save(writing, task(1))
            writing.finish()
            _terminate_others(shell)

    with pytest.raises(StoreUnreachable) as gone:
        interrupted()
    assert "idempotency key" in gone.value.hint


def test_a_failed_statement_cannot_be_overlooked(postgres_store, task, save):
    """A block that goes on after it has landed nothing, and hears so."""

    def careless() -> None:
        with postgres_store.writing("p") as writing:
            save(writing, task(1))
            writing.finish()
            with contextlib.suppress(psycopg.Error):
                writing._link.execute("SELECT nothing")

    with pytest.raises(AssertionError, match="ROLLBACK"):
        careless()
    with postgres_store.reading("p") as reading:
        assert not reading.exists(Item)


def test_only_so_many_connections_are_lent(address):
    """Who finds none waits its turn, and hears when it does not come."""
    lender = ConnectionPool(address, most=1, patience=0.1)
    with lender.lent("BEGIN"), pytest.raises(StoreBusy), lender.lent("BEGIN"):
        pass
    with lender.lent("BEGIN") as link:
        assert link.execute("SELECT 1").fetchone() == (1,)
    lender.close()


def test_turns_come_in_the_order_they_were_asked_for():
    """Whoever gives a turn up does not overtake the line; who waited too long leaves it."""
    turns = FairSemaphore(1)
    assert turns.take(0)
    assert not turns.take(0.01)
    order: list[int] = []

    def stand(number: int) -> None:
        assert turns.take(20)
        order.append(number)
        turns.give()

    line = [threading.Thread(target=stand, args=(number,)) for number in range(5)]
    for place, one in enumerate(line):
        one.start()
        while len(turns._line) <= place:
            one.join(0.001)
    turns.give()
    for one in line:
        one.join(20)
    assert order == [0, 1, 2, 3, 4]


def test_writers_of_one_store_get_alike_many_turns(postgres_store, task, save):
    """Of eight that write without a pause none waits for the whole run."""
    written = [0] * 8
    over = threading.Event()

    def write(number: int) -> None:
        while not over.is_set():
            with postgres_store.writing("p") as writing:
                save(writing, task(number))
            written[number] += 1
            if sum(written) > 400:
                over.set()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(50)
    assert min(written) > 25


def test_a_database_in_another_encoding_is_refused(databases):
    """It could not hold every text."""
    with psycopg.connect(databases.server.get_uri(), autocommit=True) as link:
        link.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(StoreCorrupt, match="UTF-8"):
        connected(databases.server.get_uri("latin"))


def test_those_who_wait_hear_of_entries_of_other_servers(address, postgres_store, entry):
    """Two threads of one store are woken by what another store commits."""
    other = connected(address)
    heard = []

    def wait() -> None:
        heard.append(postgres_store.wait("p", 0, 20))

    waiting = [threading.Thread(target=wait) for _ in range(2)]
    began = time.monotonic()
    for one in waiting:
        one.start()
    with other.writing("p") as writing:
        writing.append(entry(0))
    assert not postgres_store.wait("p", 0, 0.1)
    with other.writing("p") as writing:
        writing.append(entry(1))
    for one in waiting:
        one.join(20)
    assert heard == [True, True]
    assert time.monotonic() - began < 10
    assert postgres_store.wait("p", 0, 0)
    other.close()


def test_a_store_that_closes_wakes_those_who_wait(address):
    """They hear that there is nothing."""
    store = connected(address)
    heard = []
    waiting = threading.Thread(target=lambda: heard.append(store.wait("p", 0, 50)))
    began = time.monotonic()
    waiting.start()
    store.close()
    waiting.join(20)
    assert heard == [False]
    assert time.monotonic() - began < 10


def test_a_backup_is_a_file_with_the_same_ledger(postgres_store, tmp_path, written):
    """Every project of the server is in it, and nothing of its making is left beside it."""
    written(postgres_store)
    target = tmp_path / "kept.db"
    postgres_store.backup(target)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.db"]
    kept = SqliteStore(target)
    with postgres_store.reading("demo") as here, kept.reading("demo") as there:
        assert list(here.entries()) == list(there.entries())
        assert here.head() == there.head()
        assert list(here.table(Item)) == list(there.table(Item))
    kept.close()


def test_what_is_wrong_with_the_tables_is_found(postgres_store, shell, task, save):
    """A guard that was switched off or taken away, a document too few, a head that lies."""
    with postgres_store.writing("q") as writing:
        save(writing, task(1, project="q"))
    assert postgres_store.faults() == []
    shell.execute("ALTER TABLE entries DISABLE TRIGGER entries_stay")
    shell.execute("DROP TRIGGER entries_remain ON entries")
    shell.execute("DELETE FROM documents")
    shell.execute("INSERT INTO heads VALUES ('p', 3, '', '', '')")
    found = "; ".join(postgres_store.faults())
    for words in ("entries_stay is switched off", "is gone", "0 of them", "3 entries, but there"):
        assert words in found


def _terminate_others(shell) -> None:
    shell.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
