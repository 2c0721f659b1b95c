"""What is wrong with disk or file is told clearly, and nothing is half-done."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import threading
from pathlib import Path

import apsw
import pytest

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    Unavailable,
)
from counterpoint.storage.sqlite.queue import WriterQueue
from counterpoint.storage.sqlite.store import SqliteStore, open_sqlite
from fakes.looking import faults_of
from fakes.texts import committed, salted

SETTINGS = {
    "synchronous": 2,
    "foreign_keys": 1,
    "trusted_schema": 0,
    "secure_delete": 1,
    "temp_store": 2,
    "wal_autocheckpoint": 2000,
    "journal_size_limit": 16_777_216,
}


def test_every_connection_is_set_as_it_is_told_to_the_last_word(file_store):
    """Some settings answer when they are set; those behind them hold too."""
    with file_store._reader() as reader:
        for connection in (file_store._writer, reader):
            told = {name: connection.pragma(name) for name in SETTINGS}
            assert told == SETTINGS


def test_on_macos_a_sync_reaches_more_than_the_memory_of_a_drive(tmp_path, monkeypatch):
    """For commits and checkpoints, of every connection; elsewhere a plain sync does."""
    for platform in ("darwin", "linux"):
        monkeypatch.setattr(sys, "platform", platform)
        opened = open_sqlite(tmp_path / platform)
        with opened._reader() as reader:
            for connection in (opened._writer, reader):
                set_ = {connection.pragma(name) for name in ("fullfsync", "checkpoint_fullfsync")}
                assert set_ == {int(platform == "darwin")}
        monkeypatch.undo()
        opened.close()


def test_a_full_database_refuses_and_goes_on_when_there_is_room(file_store, task, save):
    """Nothing of the refused write stays; the next one that fits is done."""
    with file_store.writing("p") as writing:
        save(writing, task(1))
    pages = file_store._writer.pragma("page_count")
    file_store._writer.pragma("max_page_count", pages)
    with pytest.raises(StoreFull), file_store.writing("p") as writing:
        save(writing, task(2, body="long " * 20_000))
    with file_store.reading("p") as reading:
        assert reading.select(Item) == [task(1)]
        assert [text.body for _, text in reading.texts()] == ["Task 1"]
    file_store._writer.pragma("max_page_count", pages * 100)
    with file_store.writing("p") as writing:
        save(writing, task(2, body="long " * 20_000))
    assert faults_of(file_store) == []


@pytest.mark.durable
def test_a_disk_that_takes_no_more_is_told_as_full(file_store, task, save):
    """The operating system refuses in the middle of the commit; nothing of it is seen."""
    with file_store.writing("p") as writing:
        save(writing, task(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
    try:
        with pytest.raises(StoreFull), file_store.writing("p") as writing:
            save(writing, task(2, body="long " * 400_000))
        with file_store.reading("p") as reading:
            assert reading.select(Item) == [task(1)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with file_store.writing("p") as writing:
        save(writing, task(3))
    assert faults_of(file_store) == []


@pytest.fixture
def shelf():
    """Give a folder that somebody without privileges can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        SqliteStore(Path(folder) / "store.db").close()
        for file in Path(folder).iterdir():
            file.chmod(0o444)
        Path(folder).chmod(0o555)
        yield Path(folder)
        Path(folder).chmod(0o755)


def test_a_database_in_a_read_only_folder_is_read_and_verified(shelf, ordinary):
    """As an archive on a read-only mount is; nothing is made beside it, and a log that appears ends the reading."""
    before = sorted(shelf.iterdir())
    store = SqliteStore(shelf / "store.db")
    try:
        with store.reading("p") as reading:
            assert reading.select(Item) == []
        assert faults_of(store) == []
        assert sorted(shelf.iterdir()) == before
        with tempfile.TemporaryDirectory() as elsewhere:
            store.backup(Path(elsewhere) / "copy.db")
            SqliteStore(Path(elsewhere) / "copy.db").close()
        os.seteuid(os.getuid())
        (shelf / "store.db-wal").write_bytes(b"somebody writes")
        with pytest.raises(StoreBusy, match="another program"), store.reading("p"):
            pass
    finally:
        store.close()


def test_a_log_in_a_read_only_folder_is_to_be_copied_first(shelf, ordinary):
    """It may have what was committed last, and cannot be read where its index cannot be made."""
    os.seteuid(os.getuid())
    (shelf / "store.db-wal").write_bytes(b"the last commits")
    if os.geteuid() == 0:
        os.seteuid(65534)
    with pytest.raises(StoreReadOnly, match="may have the last commits") as refusal:
        SqliteStore(shelf / "store.db")
    assert "Copy the database and its `-wal`" in refusal.value.hint


def test_a_read_only_file_in_a_read_only_folder_is_told(shelf, ordinary):
    """Opening or, at the latest, writing names the file."""
    with pytest.raises(StoreReadOnly, match=r"store\.db"):
        _open_and_write(shelf / "store.db")


def test_a_read_only_file_in_a_folder_that_is_not_is_told(shelf, ordinary):
    """The companions could be made, the file itself could not be written."""
    os.seteuid(os.getuid())
    shelf.chmod(0o777)
    (shelf / "store.db-queue").chmod(0o666)
    if os.geteuid() == 0:
        os.seteuid(65534)
    with pytest.raises(StoreReadOnly, match=r"store\.db"):
        _open_and_write(shelf / "store.db")


def test_a_folder_that_cannot_be_made_is_told(ordinary):
    """There is no place for the database."""
    with pytest.raises(StoreReadOnly):
        SqliteStore("/nowhere-to-write/store.db")


def test_a_path_below_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable):
        SqliteStore(tmp_path / "file" / "store.db")


def test_a_folder_in_place_of_the_file_is_told(tmp_path):
    """It cannot be opened as a database."""
    with pytest.raises(Unavailable):
        SqliteStore(tmp_path)


def _open_and_write(place):
    store = SqliteStore(place)
    try:
        with store.writing("p") as writing:
            writing.keep({committed("text"): salted("text")})
    finally:
        store.close()


def test_a_database_locked_by_another_program_is_busy_and_then_free(file_store, task, save):
    """Writing waits and gives up with StoreBusy; reading goes on; afterwards all is well."""
    stranger = apsw.Connection(file_store._where)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy) as refusal, file_store.writing("p"):
        pass
    assert refusal.value.retryable
    with file_store.reading("p") as reading:
        assert reading.select(Item) == []
    stranger.execute("ROLLBACK")
    stranger.close()
    with file_store.writing("p") as writing:
        save(writing, task(1))


def test_a_long_writer_makes_the_others_busy_not_wrong(file_store, tmp_path):
    """Whoever stands in line too long is told so."""
    line = WriterQueue(tmp_path / "store.db-queue", patience=1)
    with line.turn(), pytest.raises(StoreBusy, match="turn"), file_store.writing("p"):
        pass


def _damage(place, table):
    connection = apsw.Connection(str(place))
    wanted = "SELECT pageno FROM dbstat WHERE name = ?"
    pages = [row[0] for row in connection.execute(wanted, (table,))]
    connection.close()
    with place.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 2048)


def test_a_damaged_database_is_told_as_corrupt(tmp_path, task, save):
    """Questions that meet the damage end in StoreCorrupt; the check names faults."""
    place = tmp_path / "store.db"
    store = SqliteStore(place)
    with store.writing("p") as writing:
        save(writing, *(task(n, body=f"body {n}") for n in range(1, 200)))
    store.close()
    _damage(place, "texts")
    store = SqliteStore(place)
    with pytest.raises(StoreCorrupt), store.reading("p") as reading:
        list(reading.texts())
    assert faults_of(store) != []
    store.close()


def test_a_damaged_beginning_is_told_on_opening(tmp_path):
    """The header is overwritten."""
    place = tmp_path / "store.db"
    SqliteStore(place).close()
    place.write_bytes(b"\xff" * 64 + place.read_bytes()[64:])
    with pytest.raises(StoreCorrupt):
        SqliteStore(place)


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM documents WHERE key = 'T-1'",
        "DELETE FROM search WHERE rowid = (SELECT min(id) FROM documents)",
        "INSERT INTO documents (id, shelf, source, key, item, kind) VALUES (1, 99, 'x', 'y', '', '')",
    ],
)
def test_a_search_out_of_step_is_a_fault(file_store, task, save, harm):
    """The check compares what is indexed with what there is."""
    with file_store.writing("p") as writing:
        save(writing, task(1), task(2))
    assert faults_of(file_store) == []
    file_store._writer.execute("PRAGMA foreign_keys = OFF")
    file_store._writer.execute(harm)
    assert faults_of(file_store)


def test_the_check_is_right_while_another_process_writes(file_store, task, save):
    """What was looked through before is not remembered: the index has changed since."""
    other = SqliteStore(file_store._where)
    for number in range(1, 40):
        with other.writing("p") as writing:
            save(writing, task(number, title=f"word{number}"))
        assert faults_of(file_store) == []
    other.close()


def test_a_backup_during_writes_is_one_moment(file_store, tmp_path, entry, task, save):
    """The copy is sound, its rows and its ledger agree, and the writer never stopped."""
    end = threading.Event()
    written = threading.Event()

    def write() -> None:
        number = 0
        while not end.is_set():
            with file_store.writing("p") as writing:
                writing.append(entry(number))
                number += 1
                save(writing, task(number))
            if number == 20:
                written.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert written.wait(20)
    try:
        for round_ in range(3):
            file_store.backup(tmp_path / f"copy{round_}.db")
    finally:
        end.set()
        writer.join(20)
    for round_ in range(3):
        copy = SqliteStore(tmp_path / f"copy{round_}.db")
        with copy.reading("p") as reading:
            assert reading.head().size == len(list(reading.entries())) == reading.last_number(Item)
            assert reading.head().size >= 20
        assert faults_of(copy) == []
        copy.close()
    assert list(tmp_path.glob(".*")) == []


def test_a_backup_that_fails_leaves_what_was_there(file_store, tmp_path):
    """No half of a copy takes the place of an older one."""
    with pytest.raises(Unavailable):
        file_store.backup(tmp_path / "missing" / "copy.db")
    target = tmp_path / "copy.db"
    target.mkdir()
    with pytest.raises(Unavailable):
        file_store.backup(target)
    assert list(tmp_path.glob(".*")) == []


def test_a_purge_leaves_no_byte(file_store, example, save):
    """Neither the file, nor its log, nor the older parts of the search have a word of it."""
    with file_store.writing("p") as writing:
        for number in range(40):
            save(writing, example(Record, id=f"r{number}", body=f"marmalade {number}"))
    texts = [committed(f"marmalade {number}") for number in range(40)]
    with file_store.writing("p") as writing:
        for text in texts:
            writing.forget([text])
    file_store.purge()
    files = Path(file_store._where).parent.glob(f"{Path(file_store._where).name}*")
    assert not any(b"marmal" in file.read_bytes() for file in files)


def test_a_purge_says_that_somebody_still_reads(file_store, task, save):
    """Whoever reads for long holds the log."""
    file_store._busy = 50
    with file_store.writing("p") as writing:
        save(writing, task(1))
    with file_store.reading("p") as reading:
        reading.head()
        with file_store.writing("p") as writing:
            save(writing, task(2))
        with pytest.raises(StoreBusy):
            file_store.purge()
    file_store.purge()
