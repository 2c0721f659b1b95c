"""Notices what other processes commit to a file: asks SQLite at intervals.

SQLite tells nobody of a commit, but its `data_version` is another number after each one of another
connection. It is asked on a connection of its own, at intervals that grow while nothing happens.

The store on SQLite: one writer at a time, any number of readers.
Rules: (1) a write stands in line, shares a transaction with its neighbours (batch.py), and is on the
disk when its block has ended (WAL, synchronous=FULL); what the block raises undoes all of it.
(2) A reading sees the moment it began, however many write meanwhile. (3) Every statement carries
the project it is bound to. (4) The writer's connection is used only in turn; readers have connections of their own, kept
for the next. A store in memory has a single connection, which readers and writers share in turn. (5) Nothing is read or
acknowledged once the files are not those that were opened (opened.py).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, cast

import apsw

from counterpoint.core.model.catalogue import NOUNS, by_table
from counterpoint.core.model.journal import ASIDE
from counterpoint.core.model.rows import Noun, noun_of
from counterpoint.core.model.work import Project
from counterpoint.core.ports.store import Reading, Store, Writing
from counterpoint.kernel.durable import make_folder, sync, sync_names
from counterpoint.kernel.errors import CounterpointError, StateDiffers, StoreBusy
from counterpoint.kernel.places import short_name
from counterpoint.storage import schema, statements
from counterpoint.storage.rows import StoreReading, StoreWriting
from counterpoint.storage.schema import Migration
from counterpoint.storage.sqlite import forward, still
from counterpoint.storage.sqlite.batch import MOST_MEMBERS, Batches
from counterpoint.storage.sqlite.faults import check_length, translate_errors, translate_file_errors
from counterpoint.storage.sqlite.link import SqliteLink
from counterpoint.storage.sqlite.memory import Memory
from counterpoint.storage.sqlite.opened import CHECKPOINT, FileId, OpenedFiles
from counterpoint.storage.sqlite.queue import WriterQueue
from counterpoint.storage.waiters import Waiters

SHORTEST_LOOK: Final = 0.05
LONGEST_LOOK: Final = 0.25
_GROWTH: Final = 1.5


class PollingWaiters(Waiters):
    """Those who wait for entries of a database in a file, or in the memory of this process."""

    def __init__(self, open_version: Callable[[], Callable[[], int]] | None) -> None:
        """Prepare.

        open_version: opens what returns another number after others have committed; None if there
        are no others.
        """
        super().__init__()
        self._open_version = open_version
        self._version: Callable[[], int] | None = None
        self._seen = 0

    def _watch(self, wakes: int, until: float) -> bool:
        pause = SHORTEST_LOOK
        while self._is_quiet(wakes) and (seconds_left := until - time.monotonic()) > 0:
            if self._open_version is None:
                self._changed.wait(seconds_left)
            elif self._has_changed(self._open_version):
                return True
            else:
                # Waiting gives the lock up, so that a commit of this process ends it at once.
                self._changed.wait(min(pause, seconds_left))
                # Many processes may wait for hours at a ledger in which nothing happens.
                pause = min(pause * _GROWTH, LONGEST_LOOK)
        return False

    def _has_changed(self, open_version: Callable[[], Callable[[], int]]) -> bool:
        """Return whether others have committed since the last look; the first look is one too."""
        if self._version is None:
            self._version = open_version()
            # What was committed before this look may have been missed by whoever looked before it.
            self._seen = self._version()
            return True
        seen, self._seen = self._seen, self._version()
        return seen != self._seen


MEMORY: Final = ":memory:"
PASSING: Final = ""
"""What SQLite calls a database that only this process sees: in memory, and in a nameless file beyond that."""
_PATIENCE: Final = 10.0
# Our own writers stand in the queue: SQLite itself only waits for strangers and for checkpoints.
_BUSY_MS: Final = 2000
_IDLE_READERS: Final = 8
_A_LOOK: Final = 1e-3
_HEADER: Final = 20
_WAL: Final = b"\2\2"
"""What the bytes 18 and 19 of a database say that is in WAL mode."""
_RESCUED: Final = 3
"""How many copies of a database that was taken away are kept, the newest."""
# secure_delete: a text that was redacted must leave the file, not only its table. trusted_schema:
# the views and triggers of a file that somebody else made call nothing that has effects.
_PRAGMAS: Final = f"""
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA wal_autocheckpoint = {CHECKPOINT};
PRAGMA journal_size_limit = 16777216;
"""
_TO_THE_DISK: Final = "PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;"
"""On macOS a plain sync reaches the memory of the drive alone."""


def open_sqlite(
    path: Path | str, nouns: Sequence[type[Noun]] = NOUNS, *, rescued: Path | None = None
) -> Store:
    """Open the database at a path, made on first use; `:memory:` is one that passes away.

    nouns: what it has tables for; those it lacks are made. rescued: the folder for a copy of files that are taken away while
    they are open; None: none is made.
    Raises StoreCorrupt, StoreNewer, StoreOlder, StoreReadOnly, StoreFull, StoreBusy or Unavailable.
    """
    return SqliteStore(path, nouns=nouns, rescued=rescued)


def open_scratch(nouns: tuple[type[Noun], ...]) -> Store:
    """Open an empty store that passes away, to replay a ledger into; it finds nothing by words."""
    return ScratchStore(PASSING, nouns=nouns)


@contextmanager
def fresh_file(target: Path, nouns: Sequence[type[Noun]] = NOUNS) -> Generator[Store]:
    """Open a database that appears at a path when the block ends, whole or not at all."""
    # In the same folder: only within one file system does a rename replace a file at once.
    passing = target.with_name(f".{target.name}.{os.getpid()}.part")
    with translate_file_errors(str(target)):
        passing.unlink(missing_ok=True)
        try:
            store = SqliteStore(passing, nouns=nouns)
            try:
                yield store
            finally:
                store.close()
            passing.replace(target)
            sync(target.parent)
        finally:
            for suffix in ("", "-wal", "-shm", "-queue"):
                passing.with_name(f"{passing.name}{suffix}").unlink(missing_ok=True)


class SqliteStore:
    """A database on SQLite."""

    def __init__(
        self,
        path: Path | str,
        *,
        nouns: Sequence[type[Noun]] = NOUNS,
        patience: float = _PATIENCE,
        migrations: tuple[Migration, ...] | None = None,
        together: int = MOST_MEMBERS,
        rescued: Path | None = None,
    ) -> None:
        """Open or make the database.

        nouns: what it has tables for.
        patience: how many seconds a writer waits for its turn.
        together: how many writings share a commit at most.
        migrations: the migrations to bring it forward by; those of the nouns if None.
        rescued: the folder for a copy of files that are taken away; None: none is made.
        """
        self._tables = by_table(nouns)
        self._known = schema.migrations(nouns, "sqlite") if migrations is None else migrations
        self._in_memory = str(path) in {MEMORY, PASSING}
        self._where = str(path)
        self._busy = min(_BUSY_MS, int(patience * 1000))
        # One that its owner may take again: in memory, a reading inside of a writing has the same
        # connection.
        self._alone = threading.RLock()
        self._writing_thread = 0
        self._idle: list[apsw.Connection] = []
        self._polling: apsw.Connection | None = None
        self._near: dict[Any, Any] = {}
        self._closed = False
        self._rescued = rescued
        self._spare: apsw.Connection | None = None
        self._files = OpenedFiles(self._where, self._rescue)
        file = Path(path or MEMORY)
        self._line = WriterQueue(file.with_name(f"{file.name}-queue"), patience=patience)
        self._is_still = False
        with translate_errors(self._where), translate_file_errors(self._where):
            if not self._in_memory:
                check_length(self._where)
                self._is_still = still.is_still(file)
                if not self._is_still:
                    _make_file(file)
                self._files.expect()
            self._writer = self._connect()
            self._bring_forward(self._known)
            if not self._in_memory:
                self._files.remember(self._writer)
                self._spare = self._opened_spare()
        self._translated = translate_errors(self._where, self._writer, self._files.note)
        self._waiters = PollingWaiters(None if self._in_memory else self._version)
        self._memory = Memory(self._open_writing)
        self._batches = Batches(
            self._writer,
            self._line,
            self._memory,
            self._files,
            self._where,
            patience=patience,
            most=together,
            landed=self._waiters.wake,
        )

    @contextmanager
    def reading(self, project: str) -> Generator[Reading]:
        """Open a consistent view of a project; its iterators end with the block."""
        with self._reader() as connection, self._reads(connection):
            if connection.in_transaction:  # in memory, inside this thread's own writing
                yield StoreReading(SqliteLink(connection, project, self._near), self._tables)
                return
            # Without it each statement would see a moment of its own.
            connection.execute("BEGIN")
            try:
                yield StoreReading(SqliteLink(connection, project, self._near), self._tables)
            finally:
                _undo(connection)

    @contextmanager
    def writing(self, project: str) -> Generator[Writing]:
        """Open a transaction: durable when the block has ended, undone if it raises.

        Raises StoreBusy when no turn came in time, StoreFull, StoreReadOnly, StoreCorrupt.
        """
        me = threading.get_ident()
        # It would wait for a turn that only comes when the block around it has ended.
        if self._writing_thread == me:
            raise AssertionError("this thread is already writing to the store")
        turn = self._turn_in_memory() if self._in_memory else self._batches.member()
        with self._translated, turn:
            self._writing_thread = me
            try:
                yield self._memory.writing(project)
            finally:
                self._writing_thread = 0

    def _open_writing(self, project: str) -> StoreWriting:
        return StoreWriting(SqliteLink(self._writer, project, self._near), self._tables)

    def wait(self, project: str, after: int, timeout: float) -> bool:
        """Wait until the ledger has an entry with a sequence above `after`; answer whether it has."""
        return self._waiters.wait(lambda: self._size(project) - 1 > after, timeout)

    def projects(self) -> list[Project]:
        """Return every project of the database, by id."""
        with self._reader() as connection, self._reads(connection):
            return [noun_of(Project, row) for row in connection.execute(statements.projects())]

    def faults(self) -> list[CounterpointError]:
        """Return what is wrong with the file, its schema and its search; nothing when it is sound."""
        # Only who audits asks, and it reads the whole file.
        from counterpoint.storage.sqlite.check import faults_of

        if self._in_memory:
            with self._reader() as connection:
                return faults_of(connection, self._tables, self._known)
        # A connection that checked FTS5 before remembers its structure, which others have changed.
        connection = self._copied() if self._is_still else self._connect()
        try:
            connection.execute("BEGIN")
            return faults_of(connection, self._tables, self._known)
        finally:
            connection.close()

    def _copied(self) -> apsw.Connection:
        """Return a copy that passes away: FTS5 is checked by a statement that writes."""
        connection = apsw.Connection(PASSING)
        with self._reader() as source, connection.backup("main", source, "main") as backup:
            backup.step(-1)
        return connection

    def backup(self, target: Path) -> None:
        """Write a consistent copy while others go on writing; it appears whole or not at all."""
        with (
            self._reader() as connection,
            translate_errors(str(target)),
            translate_file_errors(str(target)),
        ):
            forward.copy(connection, target)

    def settle_vectors(self, project: str, model: str) -> None:
        """Do nothing: signs are compared by the process."""

    def purge(self) -> None:
        """Let nothing that was deleted stay in the files: neither in the search, nor in the log.

        A row that left the search stays in its older parts until they are put together; a row that was
        moved within the file left a copy in the room beside it, which nothing but a file made anew lacks.
        """
        turn = self._turn_in_memory() if self._in_memory else self._batches.member()
        with self._translated, turn:
            self._writer.execute("INSERT INTO search (search) VALUES ('optimize')")
        if not self._in_memory:
            connection = self._connect()
            try:
                # Both in turn: whoever writes next sees that somebody has committed since.
                with translate_errors(self._where, connection), self._line.turn():
                    connection.execute("VACUUM")
                    rows = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.close()
            if rows[0][0]:
                raise StoreBusy(f"somebody reads for so long that the log stays: {self._where}")

    def lost(self) -> CounterpointError | None:
        """Return why this process neither reads nor writes any more; looks, unless that is known already."""
        if self._files.fault is not None or self._in_memory or self._closed:
            return self._files.fault
        # The second: the log is closed by somebody else at this very moment.
        with suppress(CounterpointError, OSError):
            if self._files.differs():
                # Whether that was SQLite can be said only while nobody writes.
                with self._line.turn(), self._translated:
                    # The version is as of the last transaction, and in this one nobody else begins the log anew.
                    self._writer.execute("BEGIN IMMEDIATE")
                    try:
                        self._files.before_writing(self._writer)
                        self._files.before_commit(self._writer)
                    finally:
                        _undo(self._writer)
        return self._files.fault

    def close(self) -> None:
        """Let go of the database."""
        if self._closed:
            return
        # First: a connection that is given back from now on is closed, and not kept.
        self._closed = self._files.is_closed = True
        self._waiters.close()
        while self._idle:
            self._idle.pop().close()
        for connection in (self._polling, self._spare, self._writer):
            if connection is not None:
                if self._files.is_overwritten:
                    # The last one that is closed would bring the log into what is another database now.
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close()
        self._files.close()
        if self._files.is_overwritten:
            self._files.part_from_log()

    def _has_log(self, connection: apsw.Connection) -> bool:
        """Return whether it is in WAL mode; a restored backup is not."""
        return self._in_memory or connection.pragma("journal_mode") == "wal"

    def _keep_log(self, connection: apsw.Connection) -> None:
        """Switch to WAL; SQLite refuses at once while somebody looks, so ask until they have."""
        until = time.monotonic() + self._busy / 1000
        while True:
            try:
                connection.pragma("journal_mode", "wal")
            except apsw.BusyError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_A_LOOK)
            else:
                return

    @contextmanager
    def _turn_in_memory(self) -> Generator[None]:
        """Have the only connection: there is no disk to wait for, so each writer commits."""
        connection = self._writer
        with self._alone:
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._memory.begin(connection.data_version())
                yield
                self._memory.finish()
                connection.execute("COMMIT")
                self._memory.version = connection.data_version()
            except BaseException:
                _undo(connection)
                raise
        self._waiters.wake()

    def _size(self, project: str) -> int:
        with self.reading(project) as view:
            return view.head().size

    def _version(self) -> Callable[[], int]:
        """Return what tells, whenever it is asked, whether others have committed meanwhile."""
        connection = self._polling = self._connect()

        def version() -> int:
            self._files.check()
            with self._reads(connection):
                return cast("int", connection.pragma("data_version"))

        return version

    @contextmanager
    def _reader(self) -> Generator[apsw.Connection]:
        """Lend a connection for reading."""
        if self._in_memory:
            with self._alone:
                yield self._writer
            return
        try:
            connection = self._idle.pop()
        except IndexError:
            # Before it is opened there must be something, and after it that must be the same.
            self._files.check()
            connection = self._connect()
        try:
            self._files.check()
            if self._is_still:
                self._check_still()
            yield connection
        finally:
            if self._closed or len(self._idle) >= _IDLE_READERS:
                connection.close()
            else:
                self._idle.append(connection)

    def _check_still(self) -> None:
        """Pass if nobody has begun to write what is read as if nobody did; StoreBusy."""
        if still.has_log(Path(self._where)) or self._files.differs():
            raise StoreBusy(f"another program writes {self._where}, which is only read here")

    def _connect(self) -> apsw.Connection:
        with translate_errors(self._where):
            # Without CREATE: a database that is gone is then an error, and not a new and empty one.
            flags = still.FLAGS if self._is_still else apsw.SQLITE_OPEN_READWRITE
            address = still.address(Path(self._where)) if self._is_still else self._where
            if not (self._in_memory or self._is_still):
                with translate_file_errors(self._where):
                    _put_journal_aside(Path(self._where))
            connection = apsw.Connection(address, flags=flags, statementcachesize=256)
            connection.set_busy_timeout(self._busy)
            # Else a statement with a limit or an order is planned anew each time it is run, for its values.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            # Fetched: whoever asks for no answer gets none of the statements behind the first that has one.
            more = _TO_THE_DISK if sys.platform == "darwin" else ""
            connection.execute(_PRAGMAS + more).fetchall()
            return connection

    def _reads(self, connection: apsw.Connection) -> translate_errors:
        return translate_errors(self._where, connection, self._files.note)

    def _opened_spare(self) -> apsw.Connection:
        """Return a connection that has the files open, for when nobody can open them any more."""
        connection = self._connect()
        # SQLite opens the log at the first look at anything.
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        return connection

    def _rescue(self, file: FileId) -> str:
        """Copy what this process still has open, as it was committed; answer the path, or nothing if that cannot be."""
        if self._rescued is None or self._spare is None:
            return ""
        target = self._rescued / f"{short_name(self._where)}-{file.number}.db"
        try:
            self._rescued.mkdir(mode=0o700, parents=True, exist_ok=True)
            forward.copy(self._spare, target)
        # The last: it is closed by somebody else at this very moment.
        except (OSError, apsw.Error, CounterpointError, ValueError):
            return ""
        # The copy is there, whatever becomes of older ones.
        with suppress(OSError):
            copies = self._rescued.glob(f"{short_name(self._where)}-*.db")
            for old in sorted(copies, key=lambda path: -path.stat().st_mtime_ns)[_RESCUED:]:
                old.unlink(missing_ok=True)
        return str(target)

    def _bring_forward(self, migrations: tuple[Migration, ...]) -> None:
        """Bring a database of an older version forward, in turn like any writer."""
        connection = self._writer
        try:
            # The usual case: nothing is to be done, and whoever only reads need not stand among the
            # writers.
            missing = forward.missing(connection, self._where, migrations)
            if not missing and (self._is_still or self._has_log(connection)):
                return
            with nullcontext() if self._in_memory else self._line.turn():
                if not self._in_memory:
                    # A log that is begun now would be that of another file, if there is one by now.
                    self._files.check_place()
                    self._keep_log(connection)
                forward.bring_forward(connection, self._where, migrations)
                if not self._in_memory:
                    # Whoever changes tables that are there has ended it.
                    self._keep_log(connection)
        except BaseException:
            connection.close()
            raise


class ScratchStore(SqliteStore):
    """A database that passes away: what is replayed into it may be anything."""

    @contextmanager
    def writing(self, project: str) -> Generator[Writing]:
        """Open a transaction; StateDiffers for rows that no sound ledger writes."""
        try:
            with super().writing(project) as writing:
                yield writing
        except apsw.Error as fault:
            raise StateDiffers(f"the entries write rows that no table takes ({fault})") from fault

    def _open_writing(self, project: str) -> StoreWriting:
        return StoreWriting(SqliteLink(self._writer, project), self._tables, searched=False)


def _make_file(file: Path) -> None:
    """Make the folder and an empty file that only its owner can read, unless they are there."""
    make_folder(file.parent)
    with suppress(FileExistsError):
        # Made here because SQLite would let others read the file, as far as the umask does.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    if not file.stat().st_size:
        # Whoever made the folder, as a relay does for its socket, need not have waited for the disk. SQLite syncs what is in it.
        sync_names(file.parent.parent)


def _put_journal_aside(file: Path) -> None:
    """Give a rollback journal beside a database in WAL mode another name: SQLite would roll the database back with it. OSError.

    No writer of ours makes one: in that mode SQLite has a log instead.
    """
    journal = file.with_name(f"{file.name}-journal")
    try:
        if not journal.lstat().st_size:
            return
    except FileNotFoundError:
        return
    # By SQLite's own functions: to close a descriptor of our own would end the locks that it has on the file.
    database = apsw.VFSFile(
        "", str(file), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    )
    try:
        # A journal that is in use is that of whoever turns a new database to a log, and no reader is let in meanwhile.
        database.xLock(apsw.SQLITE_LOCK_SHARED)
        is_with_log = database.xFileSize() >= _HEADER and database.xRead(_HEADER, 0)[18:] == _WAL
        if is_with_log and not database.xCheckReservedLock():
            journal.rename(journal.with_name(f"{journal.name}{ASIDE}-{os.urandom(4).hex()}"))
        database.xUnlock(apsw.SQLITE_LOCK_NONE)
    except (apsw.BusyError, FileNotFoundError):
        # Whoever made it has gone on.
        return
    finally:
        database.xClose()


def _undo(connection: apsw.Connection) -> None:
    """Roll back what is open; SQLite may have done so by itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
