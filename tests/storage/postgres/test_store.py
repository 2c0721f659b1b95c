"""What the store on PostgreSQL does beyond the contract: guards, faults, waiting, backups."""

from __future__ import annotations

import contextlib
import threading
import time

import psycopg
import pytest

from counterpoint.core.model.work import Item, Label, Project
from counterpoint.kernel.errors import (
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreReadOnly,
    StoreUnreachable,
    Unavailable,
)
from counterpoint.storage.postgres.pool import ConnectionPool
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.looking import faults_of
from fakes.servers import connected


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


def test_a_role_that_may_not_come_in_or_look_hears_so(address):
    connected(address).close()
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("DROP ROLE IF EXISTS stranger")
        link.execute("CREATE ROLE stranger LOGIN")
    for role, words in (("nobody", "not let this address in"), ("stranger", "lacks a right")):
        with pytest.raises(Unavailable, match=words):
            connected(address.replace("postgres:", f"{role}:", 1)).projects()


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


def test_who_waited_for_a_turn_waits_for_the_row_less_long(address, postgres_store, example, save):
    """Its patience is one for both: another program may hold the row, and a writer before wait for it in the line."""
    limits: list[int] = []
    patient = connected(address, patience=60.0)
    with postgres_store.writing("p") as writing:
        save(writing, example(Project, project="p"))

    def write():
        with patient.writing("p") as writing:
            limits.append(
                writing._link.execute(
                    "SELECT setting FROM pg_settings WHERE name = 'lock_timeout'"
                ).fetchone()
            )

    write()
    waiting = threading.Thread(target=write)
    with psycopg.connect(address, autocommit=True) as looking:
        stands = """SELECT count(*) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '0.3 s'"""
        with postgres_store.writing("p"):
            waiting.start()
            while looking.execute(stands).fetchone() < (1,):
                pass
    waiting.join()
    write()
    first, waited, again = (int(limit[0]) for limit in limits)
    assert first == again == 60_000
    assert waited < 59_750
    patient.close()


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
        # A title and a text of each.
        assert len(dict(writing.texts())) == 20
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
    lender = ConnectionPool(address, most=1, patience=0.1, silence=1, fresh=lambda _link: None)
    with lender.lent("BEGIN"), pytest.raises(StoreBusy), lender.lent("BEGIN"):
        pass
    with lender.lent("BEGIN") as link:
        assert link.execute("SELECT 1").fetchone() == (1,)
    lender.close()


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
    assert faults_of(postgres_store) == []
    shell.execute("ALTER TABLE entries DISABLE TRIGGER entries_stay")
    shell.execute("DROP TRIGGER entries_remain ON entries")
    shell.execute("DELETE FROM documents")
    shell.execute("INSERT INTO heads VALUES ('p', 3, '', '', '')")
    found = "; ".join(faults_of(postgres_store))
    for words in (
        "entries_stay is not as it was",
        "entries_remain is missing",
        "0 documents of 1",
        "3 entries, but there",
    ):
        assert words in found


def _terminate_others(shell) -> None:
    shell.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
