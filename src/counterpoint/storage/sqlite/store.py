"""The store on SQLite: one writer at a time, any number of readers.

Rules: (1) a write stands in line, shares a transaction with its neighbours (batch.py), and is on the
disk when its block has ended (WAL, synchronous=FULL); what the block raises undoes all of it.
(2) A reading sees the moment it began, however many write meanwhile. (3) Every statement carries
the project it is bound to. (4) The writer's connection is used only in turn; readers have connections of their own, kept
for the next. A store in memory has a single connection, which readers and writers share in turn.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final, cast

import apsw

from counterpoint.core.model.catalogue import NOUNS
from counterpoint.core.model.rows import Noun, noun_of
from counterpoint.core.model.work import Project
from counterpoint.core.ports.store import Reading, Store, Writing
from counterpoint.kernel.errors import CounterpointError, StateDiffers, StoreBusy
from counterpoint.storage import schema, statements
from counterpoint.storage.rows import StoreReading, StoreWriting
from counterpoint.storage.schema import Migration
from counterpoint.storage.sqlite import forward
from counterpoint.storage.sqlite.batch import MOST_MEMBERS, Batches
from counterpoint.storage.sqlite.check import faults_of
from counterpoint.storage.sqlite.faults import translate_errors, translate_file_errors
from counterpoint.storage.sqlite.link import SqliteLink
from counterpoint.storage.sqlite.memory import Memory
from counterpoint.storage.sqlite.polling import PollingWaiters
from counterpoint.storage.sqlite.queue import WriterQueue
from counterpoint.storage.sqlite.schema import OWN, TYPES

MEMORY: Final = ":memory:"
PASSING: Final = ""
"""What SQLite calls a database that only this process sees: in memory, and in a nameless file beyond that."""
_PATIENCE: Final = 10.0
# Our own writers stand in the queue: SQLite itself only waits for strangers and for checkpoints.
_BUSY_MS: Final = 2000
_IDLE_READERS: Final = 8
_A_LOOK: Final = 1e-3
# secure_delete: a text that was redacted must leave the file, not only its table. trusted_schema:
# the views and triggers of a file that somebody else made call nothing that has effects.
_PRAGMAS: Final = """
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA wal_autocheckpoint = 2000;
PRAGMA journal_size_limit = 16777216;
"""


def open_sqlite(path: Path | str, nouns: tuple[type[Noun], ...] = NOUNS) -> Store:
    """Open the database at a path, made on first use; `:memory:` is one that passes away.

    nouns: what it has tables for; those it lacks are made.
    Raises StoreCorrupt, StoreNewer, StoreOlder, StoreReadOnly, StoreFull, StoreBusy or Unavailable.
    """
    return SqliteStore(path, nouns=nouns)


def open_scratch(nouns: tuple[type[Noun], ...]) -> Store:
    """Open an empty store that passes away, to replay a ledger into; it finds nothing by words."""
    return ScratchStore(PASSING, nouns=nouns)


@contextmanager
def fresh_file(target: Path, nouns: tuple[type[Noun], ...] = NOUNS) -> Generator[Store]:
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
        finally:
            for rest in ("", "-wal", "-shm", "-queue"):
                passing.with_name(f"{passing.name}{rest}").unlink(missing_ok=True)


class SqliteStore:
    """A database on SQLite."""

    def __init__(
        self,
        path: Path | str,
        *,
        nouns: tuple[type[Noun], ...] = NOUNS,
        patience: float = _PATIENCE,
        known: tuple[Migration, ...] | None = None,
        together: int = MOST_MEMBERS,
    ) -> None:
        """Open or make the database.

        nouns: what it has tables for.
        patience: how many seconds a writer waits for its turn.
        together: how many writings share a commit at most.
        known: the migrations to bring it forward by; those of the nouns if None.
        """
        self._tables = {noun.table: noun for noun in nouns}
        self._known = schema.migrations(nouns, TYPES, OWN) if known is None else known
        self._in_memory = str(path) in {MEMORY, PASSING}
        self._where = str(path)
        self._busy = min(_BUSY_MS, int(patience * 1000))
        # One that its owner may take again: in memory, a reading inside of a writing has the same
        # connection.
        self._alone = threading.RLock()
        self._writing_thread = 0
        self._idle: list[apsw.Connection] = []
        self._polling: apsw.Connection | None = None
        self._closed = False
        file = Path(path or MEMORY)
        self._line = WriterQueue(file.with_name(f"{file.name}-queue"), patience=patience)
        with translate_errors(self._where), translate_file_errors(self._where):
            if not self._in_memory:
                _make_file(file)
            self._writer = self._connect()
            self._bring_forward(self._known)
        self._translated = translate_errors(self._where, self._writer)
        self._waiters = PollingWaiters(None if self._in_memory else self._version)
        self._memory = Memory(self._open_writing)
        self._batches = Batches(
            self._writer,
            self._line,
            self._memory,
            self._where,
            patience=patience,
            most=together,
            landed=self._waiters.wake,
        )

    @contextmanager
    def reading(self, project: str) -> Generator[Reading]:
        """Open a consistent view of a project; its iterators end with the block."""
        with self._reader() as connection, translate_errors(self._where, connection):
            if connection.in_transaction:  # in memory, inside this thread's own writing
                yield StoreReading(SqliteLink(connection, project), self._tables)
                return
            # Without it each statement would see a moment of its own.
            connection.execute("BEGIN")
            try:
                yield StoreReading(SqliteLink(connection, project), self._tables)
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
        return StoreWriting(SqliteLink(self._writer, project), self._tables)

    def wait(self, project: str, after: int, timeout: float) -> bool:
        """Wait until the ledger has an entry with a sequence above `after`; answer whether it has."""
        return self._waiters.wait(lambda: self._size(project) - 1 > after, timeout)

    def projects(self) -> list[Project]:
        """Return every project of the database, by id."""
        with self._reader() as connection, translate_errors(self._where, connection):
            return [noun_of(Project, row) for row in connection.execute(statements.projects())]

    def faults(self) -> list[CounterpointError]:
        """Return what is wrong with the file, its schema and its search; nothing when it is sound."""
        if self._in_memory:
            with self._reader() as connection:
                return faults_of(connection, self._tables, self._known)
        # A connection that checked FTS5 before remembers its structure, which others have changed.
        connection = self._connect()
        try:
            connection.execute("BEGIN")
            return faults_of(connection, self._tables, self._known)
        finally:
            connection.close()

    def backup(self, target: Path) -> None:
        """Write a consistent copy while others go on writing; it appears whole or not at all."""
        with (
            self._reader() as connection,
            translate_errors(str(target)),
            translate_file_errors(str(target)),
        ):
            forward.copy(connection, target)

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
                with translate_errors(self._where, connection):
                    with self._line.turn():
                        connection.execute("VACUUM")
                    found = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.close()
            if found[0][0]:
                raise StoreBusy(f"somebody reads for so long that the log stays: {self._where}")

    def close(self) -> None:
        """Let go of the database."""
        # First: a connection that is given back from now on is closed, and not kept.
        self._closed = True
        self._waiters.close()
        while self._idle:
            self._idle.pop().close()
        if self._polling is not None:
            self._polling.close()
        self._writer.close()

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
            with translate_errors(self._where, connection):
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
            connection = self._connect()
        try:
            yield connection
        finally:
            if self._closed or len(self._idle) >= _IDLE_READERS:
                connection.close()
            else:
                self._idle.append(connection)

    def _connect(self) -> apsw.Connection:
        with translate_errors(self._where):
            # Without CREATE: a database that is gone is then an error, and not a new and empty one.
            flags = apsw.SQLITE_OPEN_READWRITE
            connection = apsw.Connection(self._where, flags=flags, statementcachesize=256)
            connection.set_busy_timeout(self._busy)
            # Fetched: whoever asks for no answer gets none of the statements behind the first that has one.
            connection.execute(_PRAGMAS).fetchall()
            return connection

    def _bring_forward(self, known: tuple[Migration, ...]) -> None:
        """Bring a database of an older version forward, in turn like any writer."""
        connection = self._writer
        try:
            # The usual case: nothing is to be done, and whoever only reads need not stand among the
            # writers.
            if not forward.missing(connection, self._where, known) and self._has_log(connection):
                return
            with nullcontext() if self._in_memory else self._line.turn():
                if not self._in_memory:
                    self._keep_log(connection)
                forward.bring_forward(connection, self._where, known)
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
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Made here because SQLite would let others read the file, as far as the umask does.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return


def _undo(connection: apsw.Connection) -> None:
    """Roll back what is open; SQLite may have done so by itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
