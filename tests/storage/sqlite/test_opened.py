"""Files that are taken away, exchanged or written while a database is open: nothing more is acknowledged."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import StoreBusy, StoreCorrupt, StoreReplaced, Unavailable
from counterpoint.kernel.places import short_name
from counterpoint.storage.sqlite.opened import OpenedFiles
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.looking import faults_of
from fakes.texts import committed, salted

pytestmark = [pytest.mark.faults, pytest.mark.durable]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give the path of a database in a folder of its own."""
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder / "ledger.db"


@pytest.fixture
def opened(place: Path, tmp_path: Path, task, save) -> Iterator[SqliteStore]:
    """Give a database in which one task was written, and acknowledged."""
    made = SqliteStore(place, patience=5, rescued=tmp_path / "rescued")
    with made.writing("p") as writing:
        save(writing, task(1))
    yield made
    made.close()


def removed(place: Path) -> None:
    """Take the database away."""
    place.unlink()


def renamed(place: Path) -> None:
    """Give the database another name."""
    place.rename(place.with_name("old.db"))


def exchanged(place: Path) -> None:
    """Put another database in its place."""
    shutil.copyfile(place, place.with_name("other.db"))
    place.with_name("other.db").replace(place)


def moved(place: Path) -> None:
    """Move the folder that it lies in."""
    place.parent.rename(place.parent.with_name("elsewhere"))


def cleaned(place: Path) -> None:
    """Take all of the folder away, as git does with what it ignores."""
    shutil.rmtree(place.parent)


def without_log(place: Path) -> None:
    """Take the log away."""
    place.with_name("ledger.db-wal").unlink()


def without_index(place: Path) -> None:
    """Take the index of the log away."""
    place.with_name("ledger.db-shm").unlink()


AWAY = (removed, renamed, exchanged, moved, cleaned, without_log, without_index)


def cut_off(place: Path) -> None:
    """Leave nothing in the file."""
    os.truncate(place, 0)


def spoiled(place: Path) -> None:
    """Write over some pages."""
    with place.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 8192)


def written_over(place: Path) -> None:
    """Write another file over it, of the same length."""
    place.write_bytes(b"\xff" * place.stat().st_size)


def log_of(place: Path) -> Path:
    """Return the path of the log."""
    return place.with_name("ledger.db-wal")


def log_cut_off(place: Path) -> None:
    """Leave nothing in the log."""
    os.truncate(log_of(place), 0)


def log_cut_in_half(place: Path) -> None:
    """Leave the first half of the log."""
    os.truncate(log_of(place), log_of(place).stat().st_size // 2)


def log_without_last_frame(place: Path) -> None:
    """Leave all but what was written last."""
    os.truncate(log_of(place), log_of(place).stat().st_size - 4120)


def log_of_zeros(place: Path) -> None:
    """Write zeros over all of the log."""
    log_of(place).write_bytes(bytes(log_of(place).stat().st_size))


def log_without_header(place: Path) -> None:
    """Write zeros over the header of the log."""
    with log_of(place).open("r+b") as file:
        file.write(bytes(32))


def log_spoiled(place: Path) -> None:
    """Write over pages in the middle of the log, at another time than that of the last commit."""
    before = log_of(place).stat()
    while log_of(place).stat().st_mtime_ns == before.st_mtime_ns:
        with log_of(place).open("r+b") as file:
            file.seek(before.st_size // 2)
            file.write(b"\xff" * 8192)


LOG = (
    log_cut_off,
    log_cut_in_half,
    log_without_last_frame,
    log_of_zeros,
    log_without_header,
    log_spoiled,
)
OVER = (cut_off, spoiled, written_over, *LOG)


@pytest.mark.parametrize("harm", [*AWAY, *OVER])
def test_nothing_is_acknowledged_once_the_files_are_others(opened, place, task, save, harm):
    """The next write is refused, and so is everything after it, by whoever asks; who asks the store is told."""
    harm(place)
    with pytest.raises(StoreReplaced, match=r"ledger\.db") as told, opened.writing("p") as writing:
        save(writing, task(2))
    assert (told.value.retryable, told.value.facts["path"]) == (False, str(place))
    with pytest.raises(StoreReplaced), opened.reading("p"):
        pass
    with pytest.raises(StoreReplaced):
        opened.projects()
    with pytest.raises(StoreReplaced):
        opened.wait("p", 5, 0)
    assert isinstance(opened.lost(), StoreReplaced)


@pytest.mark.parametrize("harm", [*AWAY, *OVER])
def test_who_only_looks_after_the_store_is_told_too(opened, place, harm):
    """A server that nobody asks for anything notices as well, and its readers then."""
    assert opened.lost() is None
    harm(place)
    assert isinstance(opened.lost(), StoreReplaced)
    with pytest.raises(StoreReplaced), opened.reading("p"):
        pass


@pytest.mark.parametrize("harm", AWAY)
def test_what_is_still_open_is_kept_before_it_is_gone(opened, place, task, save, harm):
    """The refusal names a whole copy of all that was acknowledged, and of nothing that was not."""
    harm(place)
    with pytest.raises(StoreReplaced) as told, opened.writing("p") as writing:
        save(writing, task(2))
    copy = Path(told.value.facts["saved"])
    assert str(copy) in told.value.message
    with_it = SqliteStore(copy)
    with with_it.reading("p") as reading:
        assert reading.select(Item) == [task(1)]
    assert faults_of(with_it) == []
    with_it.close()


def test_of_copies_the_newest_are_kept(opened, place, task, save):
    """Three of a database; those of others stay."""
    folder = place.parent.parent / "rescued"
    folder.mkdir()
    name = short_name(str(place))
    for number in range(4):
        (folder / f"{name}-{number}.db").touch()
        os.utime(folder / f"{name}-{number}.db", (number, number))
    (folder / "another-1.db").touch()
    place.unlink()
    with pytest.raises(StoreReplaced) as told, opened.writing("p") as writing:
        save(writing, task(2))
    kept = {Path(told.value.facts["saved"]).name, f"{name}-3.db", f"{name}-2.db", "another-1.db"}
    assert {one.name for one in folder.iterdir()} == kept


def test_a_copy_is_named_though_older_ones_cannot_be_looked_at(opened, place, task, save):
    folder = place.parent.parent / "rescued"
    folder.mkdir()
    (folder / f"{short_name(str(place))}-0.db").symlink_to("nowhere")
    place.unlink()
    with pytest.raises(StoreReplaced) as told, opened.writing("p") as writing:
        save(writing, task(2))
    assert Path(told.value.facts["saved"]).exists()


def test_without_a_folder_for_it_no_copy_is_promised(place, task, save):
    """Nor where it cannot be written."""
    for number, rescued in enumerate((None, Path("/dev/null/nowhere"))):
        path = place.with_name(f"{number}.db")
        store = SqliteStore(path, rescued=rescued)
        path.unlink()
        with pytest.raises(StoreReplaced, match="files that were there") as told:
            store.projects()
        assert told.value.facts["saved"] == ""
        store.close()


def test_a_removal_between_commit_and_acknowledgment_is_told(opened, place, task, save):
    """Who looks only before the commit would acknowledge what nobody finds."""

    def away() -> bool:
        place.unlink()
        return False

    opened._writer.set_commit_hook(away)
    with pytest.raises(StoreReplaced), opened.writing("p") as writing:
        save(writing, task(2))
    opened._writer.set_commit_hook(None)


def test_writes_between_the_looks_of_one_commit_are_told(opened, place, task, save):
    """Nothing but a checkpoint of its own explains them, and there was none."""

    def over() -> bool:
        spoiled(place)
        return False

    opened._writer.set_commit_hook(over)
    with pytest.raises(StoreReplaced, match="overwritten"), opened.writing("p") as writing:
        save(writing, task(2))
    opened._writer.set_commit_hook(None)


@pytest.mark.parametrize("harm", [log_cut_off, log_of_zeros, log_without_header])
def test_a_log_that_is_spoiled_while_a_commit_is_made_is_told(opened, task, save, place, harm):
    """SQLite writes on behind a hole, so what was there before is looked for too; it may find that itself, as it reads."""

    def write() -> None:
        with opened.writing("p") as writing:
            save(writing, task(2))
            harm(place)

    with pytest.raises((StoreReplaced, StoreCorrupt)):
        write()
    assert opened.lost() is not None


@pytest.mark.parametrize("harm", LOG)
def test_a_log_that_is_spoiled_before_anything_was_written_here_is_told(
    opened, task, save, place, harm
):
    """Who has opened it only just now knows how it was."""
    other = SqliteStore(place)
    harm(place)
    with pytest.raises(StoreReplaced), other.writing("p") as writing:
        save(writing, task(2))
    other.close()


def test_a_log_that_is_spoiled_before_another_process_writes_is_told(opened, task, save, place):
    log_without_header(place)
    stranger = apsw.Connection(str(place))
    stranger.execute("CREATE TABLE of_others (number)").fetchall()
    with pytest.raises(StoreReplaced), opened.writing("p") as writing:
        save(writing, task(2))
    stranger.close()


def test_what_was_given_up_in_the_log_is_no_harm(opened, task, save, place):
    """It was written there, and nobody has committed: all that counts is as it was."""
    before = log_of(place).stat().st_mtime_ns
    stranger = apsw.Connection(str(place))
    stranger.execute("PRAGMA cache_size = 1").fetchall()
    while log_of(place).stat().st_mtime_ns == before:
        stranger.execute("BEGIN IMMEDIATE; CREATE TABLE of_others (number)").fetchall()
        rows = ((bytes(3000),) for _ in range(50))
        stranger.executemany("INSERT INTO of_others VALUES (?)", rows)
        stranger.execute("ROLLBACK")
    stranger.close()
    assert opened.lost() is None
    with opened.writing("p") as writing:
        save(writing, task(2))


def test_checkpoints_purges_and_other_processes_are_no_harm(opened, place, task, save):
    """Whoever writes by the rules changes the same file."""
    with opened.writing("p") as writing:
        texts = (f"{number} " + "long " * 20_000 for number in range(100))
        writing.keep({committed(text): salted(text) for text in texts})
    assert place.stat().st_size > 8_000_000
    other = SqliteStore(place)
    for number, store in enumerate((opened, other, opened, other, opened), 2):
        with store.writing("p") as writing:
            save(writing, task(number))
        other.purge()
        assert (opened.lost(), other.lost()) == (None, None)
    other.close()
    assert opened.lost() is None
    with opened.reading("p") as reading:
        assert len(reading.select(Item)) == 6


def test_a_backup_that_was_copied_over_the_database_is_what_is_found_then(
    opened, place, tmp_path, task, save
):
    """The log of what was there before is laid aside: pages of both would be a ledger of nobody."""
    opened.backup(tmp_path / "backup.db")
    with opened.writing("p") as writing:
        save(writing, task(2))
    shutil.copyfile(tmp_path / "backup.db", place)
    with pytest.raises(StoreReplaced), opened.writing("p") as writing:
        save(writing, task(3))
    opened.close()
    assert len(list(place.parent.glob("ledger.db-wal.replaced-*"))) == 1
    again = SqliteStore(place)
    with again.reading("p") as reading:
        assert reading.select(Item) == [task(1)]
    assert faults_of(again) == []
    again.close()


def test_what_sqlite_finds_broken_stays_so(opened, place, task, save):
    """A reader met a page that cannot be: nothing is written around it."""
    with opened.writing("p") as writing:
        save(writing, *(task(number, body=f"body {number}") for number in range(2, 200)))
    opened.purge()
    content = place.read_bytes()
    place.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(StoreCorrupt), opened.reading("p") as reading:
        list(reading.texts())
    with pytest.raises(StoreCorrupt), opened.writing("p") as writing:
        save(writing, task(3))
    assert isinstance(opened.lost(), StoreCorrupt)


def test_a_file_that_is_exchanged_while_it_is_opened_is_told(place):
    """Whoever asks again opens the one that is there."""
    place.write_bytes(b"")
    files = OpenedFiles(str(place), lambda _mark: "")
    files.expect()
    place.with_name("other").write_bytes(b"")
    place.with_name("other").replace(place)
    with pytest.raises(StoreBusy, match="while it was opened"):
        files.check_place()


def test_who_comes_after_the_end_is_told_of_that(opened):
    """With the last connection the log goes, and nobody has taken it away."""
    opened.close()
    with pytest.raises(Unavailable, match="was closed") as told, opened.reading("p"):
        pass
    assert type(told.value) is Unavailable
    assert opened.lost() is None


def test_a_passing_database_has_no_files_to_lose():
    """It lies in memory, or in a file that nobody else can name."""
    with_none = SqliteStore(":memory:")
    assert with_none.lost() is None
    with_none.close()
    assert with_none.lost() is None
