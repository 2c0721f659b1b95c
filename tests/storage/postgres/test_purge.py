"""Tables written anew: rows that were deleted are gone when it returns, or it says why not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from counterpoint.core.model.journal import Record
from counterpoint.kernel.errors import StoreBusy
from fakes.crowds import until
from fakes.servers import connected
from fakes.texts import committed

_WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"


@pytest.fixture
def reader(address) -> Iterator[psycopg.Connection]:
    """Give a transaction that sees the database as it was when first asked."""
    with psycopg.connect(address) as link:
        link.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield link


def remember_and_forget(store, reader, example, save) -> None:
    """Delete a text that the reader still sees."""
    with store.writing("p") as writing:
        save(writing, example(Record, body="marmalade"))
    reader.execute("SELECT 1")
    with store.writing("p") as writing:
        writing.forget([committed("marmalade")])


def files_with(address: str, word: bytes) -> list[str]:
    """Return the data files of a database that have a word in them."""
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("CHECKPOINT")
        paths = link.execute(
            "SELECT current_setting('data_directory') || '/' || pg_relation_filepath(oid) FROM pg_class"
            " WHERE relkind IN ('r', 'i', 't') AND pg_relation_filepath(oid) IS NOT NULL"
        ).fetchall()
    return [path for (path,) in paths if word in Path(path).read_bytes()]


def test_it_waits_for_whoever_still_reads_what_was_deleted(
    address, postgres_store, reader, example, save
):
    """Its return means that no data file has the text, however many transactions were open."""
    remember_and_forget(postgres_store, reader, example, save)
    assert files_with(address, b"marmalade")
    with ThreadPoolExecutor() as pool, psycopg.connect(address, autocommit=True) as looking:
        purge = pool.submit(postgres_store.purge)
        until(lambda: looking.execute(_WAITS).fetchone() == (1,))
        reader.rollback()
        purge.result()
    assert files_with(address, b"marmalade") == []


def test_it_says_that_somebody_reads_for_too_long(address, reader, example, save):
    """The text is in a data file still, and the next purge takes it away."""
    hasty = connected(address, patience=0.2)
    remember_and_forget(hasty, reader, example, save)
    with pytest.raises(StoreBusy, match="may still read what was deleted"):
        hasty.purge()
    assert files_with(address, b"marmalade")
    reader.rollback()
    hasty.purge()
    assert files_with(address, b"marmalade") == []
    hasty.close()
