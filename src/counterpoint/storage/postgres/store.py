"""The time of a PostgreSQL server, one for all machines that use it.

Rules: (1) it is what the server said last, and as much as has passed here since, by a clock that nobody sets. (2) It is
asked in statements that are sent anyway: whenever a writer locks the head, and by each fresh connection. (3) Before the
first of them there is only the machine's own.

The store on PostgreSQL: many servers write to one database, in turn.
Rules: (1) a write stands in the line of its project (locks.py), then locks the project's row
of `heads`: so sequences have no gap, and writers take turns in the order they came, whichever machine
they are on. (2) A write is answered when it is durable: `synchronous_commit` is never off. (3) A
reading is REPEATABLE READ, READ ONLY: it sees one moment. (4) Connections of writers and of readers
are lent from two pools, so that a reading inside of a writing never waits for itself. A writer that is silent in its transaction, as a process that
was stopped, is undone by the server before the patience of the others ends. (5) A server
that went away is told as such and found again by the next call.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final

from psycopg import errors

from counterpoint.core.model.catalogue import NOUNS, by_table
from counterpoint.core.model.rows import Noun, noun_of
from counterpoint.core.model.work import Project
from counterpoint.core.ports.store import Reading, Store, Writing
from counterpoint.kernel.clock import Clock, Timestamp, later, stamp
from counterpoint.kernel.errors import CounterpointError, StoreBusy, StoreOlder, StoreUnreachable
from counterpoint.settings import masked
from counterpoint.storage import schema, statements
from counterpoint.storage.move import move_project
from counterpoint.storage.postgres import forward, ledger, locks, signs
from counterpoint.storage.postgres.check import faults_of
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.faults import translate_errors
from counterpoint.storage.postgres.link import PostgresLink
from counterpoint.storage.postgres.listening import ListeningWaiters
from counterpoint.storage.postgres.pool import STATEMENT_MS, ConnectionPool, FairSemaphore, connect
from counterpoint.storage.rows import StoreReading, StoreWriting
from counterpoint.storage.schema import Migration


def _running() -> float:
    """Return seconds that nobody sets back, and that go on while the machine sleeps where the system can count them."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class DatabaseClock:
    """A clock that follows the server's."""

    def __init__(self, machine: Clock, seconds: Callable[[], float] = _running) -> None:
        """Know nothing yet but the clock of this machine. seconds: tells a time that never goes back."""
        self._machine = machine
        self._seconds = seconds
        self._heard: tuple[Timestamp, float] | None = None

    def now(self) -> Timestamp:
        """Return the present moment, as the server would say it."""
        # One look: another thread may hear something between two.
        heard = self._heard
        if heard is None:
            return self._machine.now()
        server_time, at = heard
        return later(server_time, self._seconds() - at)

    def hear(self, server_time: datetime) -> None:
        """Go on from what the server says."""
        self._heard = stamp(server_time), self._seconds()


Fresh = Callable[[Path], AbstractContextManager[Store]]
"""Opens a database file that appears at a path when the block ends, whole or not at all."""
_PATIENCE: Final = 10.0
_NOTICED: Final = 0.1
"""Seconds of waiting that are worth a statement to take them off what is left."""
_WRITERS: Final = 8
_READERS: Final = 16
_SILENT: Final = 5.0
"""Seconds that a writer may be silent inside its transaction: less than others wait for their turn."""
_READING: Final = 600.0
"""Seconds that a reading may be silent: it keeps nobody waiting."""
_WITH_TEXTS: Final = ("texts", "documents", "vectors")
"""The tables that words of people and agents are deleted from."""
_WITH_OLD_VIEWS: Final = """
SELECT pid, coalesce(backend_xid, backend_xmin)::text FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL AND datname = current_database())
"""
_NUMBER: Final = re.compile(r"\d+")
_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE: Final = "BEGIN"


def database_clock(machine: Clock) -> DatabaseClock:
    """Return what follows the clock of a server, once a store tells it."""
    return DatabaseClock(machine)


def _unheard(_said: datetime) -> None:
    """Let nobody know what time it is there."""


def open_postgres(
    address: str,
    nouns: Sequence[type[Noun]] = NOUNS,
    *,
    fresh_file: Fresh,
    clock: Clock | None = None,
) -> PostgresStore:
    """Open the database at an address; its tables are made on first use.

    nouns: what it has tables for. fresh_file: what a backup is written into. clock: one that follows this database's.
    Raises StoreUnreachable, Unavailable, StoreNewer, StoreOlder, StoreCorrupt, StoreReadOnly or StoreBusy.
    """
    hear = clock.hear if isinstance(clock, DatabaseClock) else _unheard
    return PostgresStore(address, nouns=nouns, fresh_file=fresh_file, hear=hear)


def is_made(address: str) -> bool:
    """Return whether there is a ledger's database at an address, without making one."""
    with translate_errors(masked(address)):
        link = connect(address, _PATIENCE, _SILENT)
        try:
            return forward.is_made(link)
        finally:
            link.close()


class PostgresStore:
    """A database on a PostgreSQL server."""

    def __init__(
        self,
        address: str,
        *,
        nouns: Sequence[type[Noun]] = NOUNS,
        fresh_file: Fresh,
        patience: float = _PATIENCE,
        migrations: tuple[Migration, ...] | None = None,
        hear: Callable[[datetime], None] = _unheard,
    ) -> None:
        """Open the database and bring it forward.

        hear: is told what time it is there, whenever the server says it. nouns: what it has tables for. fresh_file: what a backup is written into.
        patience: how many seconds a writer waits for its turn.
        migrations: the migrations to bring it forward by; those of the nouns if None.
        """
        self._tables = by_table(nouns)
        self._known = schema.migrations(nouns, "postgres") if migrations is None else migrations
        self._fresh_file = fresh_file
        self._where = masked(address)
        self._hear = hear
        self._writers = ConnectionPool(
            address, most=_WRITERS, patience=patience, silence=_SILENT, fresh=self._join
        )
        self._readers = ConnectionPool(
            address, most=_READERS, patience=patience, silence=_READING, fresh=self._join
        )
        self._waiters = ListeningWaiters(address, patience=patience)
        self._mine = threading.local()
        self._patience = patience
        self._turns: dict[str, FairSemaphore] = {}
        self._near: dict[Any, Any] = {}
        try:
            self._bring_forward(address)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self, project: str) -> Generator[Reading]:
        """Open a consistent view of a project; its iterators end with the block."""
        with translate_errors(self._where), self._readers.lent(_READ) as link:
            yield StoreReading(PostgresLink(link, project, self._near), self._tables)

    @contextmanager
    def writing(self, project: str) -> Generator[Writing]:
        """Open a transaction: durable when the block has ended, undone if it raises.

        Raises StoreBusy when no turn came in time, StoreUnreachable, StoreFull, StoreReadOnly.
        """
        if getattr(self._mine, "writes", False):
            raise AssertionError("this thread is already writing to the store")
        self._mine.writes = True
        began = monotonic()
        try:
            with (
                translate_errors(self._where),
                self._turn(project),
                self._writers.lent(f"{_WRITE}; {locks.turn_of(project)}") as link,
            ):
                self._hurry(link, monotonic() - began)
                head = ledger.lock(link, project, self._hear)
                writing = StoreWriting(PostgresLink(link, project, self._near), self._tables, head)
                yield writing
                writing.finish()
                self._commit(link)
        except StoreBusy as fault:
            if isinstance(fault.__cause__, errors.LockNotAvailable):
                raise self._busy(project, fault) from fault.__cause__
            raise
        finally:
            self._mine.writes = False

    def _busy(self, project: str, fault: StoreBusy) -> StoreBusy:
        """Return the refusal of a write that names who holds what it waited for, as far as that is known."""
        # Of a server that has no connection left it is not.
        with suppress(CounterpointError), translate_errors(self._where):
            with self._readers.lent(_READ) as link:
                holders = locks.holders_of(link, project)
            if holders:
                return locks.busy(f"no turn came to write to {project!r} in {self._where}", holders)
        return fault

    def _hurry(self, link: Link, waited: float) -> None:
        """Have a transaction that waited for its turn wait for rows only as long as its patience lasts."""
        seconds_left = self._patience - waited
        if seconds_left < self._patience - _NOTICED:
            link.execute(f"SET LOCAL lock_timeout TO {max(1, int(seconds_left * 1000))}".encode())

    @contextmanager
    def _turn(self, project: str) -> Generator[None]:
        """Let one thread of this process at a project: more would only crowd at its lock."""
        # `setdefault` is one step of the interpreter: two threads that come at once get the same
        # one.
        turns = self._turns.setdefault(project, FairSemaphore(1))
        if not turns.take(self._patience):
            raise StoreBusy(f"no turn came to write to {project!r} in {self._where}")
        try:
            yield
        finally:
            turns.give()

    def _commit(self, link: Link) -> None:
        """Make a transaction durable; say what a caller must know if the server goes away now."""
        try:
            with translate_errors(self._where):
                ended = link.execute(b"COMMIT").statusmessage
        except StoreUnreachable as fault:
            raise StoreUnreachable(
                f"{fault.message}; it may have kept the write or not",
                hint="Repeat the call with the same idempotency key; without one, look first.",
            ) from fault
        if ended != "COMMIT":
            # What failed in it was not told on: PostgreSQL then undoes all, and is content.
            raise AssertionError(f"the transaction ended with {ended}")

    def projects(self) -> list[Project]:
        """Return every project of the database, by id."""
        statement = statements.projects().encode()
        with translate_errors(self._where), self._readers.lent(_READ) as link:
            return [noun_of(Project, row) for row in link.execute(statement)]

    def faults(self) -> list[CounterpointError]:
        """Return what is wrong with the tables, their guards and the search; nothing if sound."""
        with translate_errors(self._where), self._readers.lent(_READ) as link:
            return faults_of(link, self._tables, self._known, self._where)

    def backup(self, target: Path) -> None:
        """Write every project into a database file; it appears whole or not at all.

        Such a file is a ledger of its own: it verifies, can be used, restored, or moved back here.
        """
        with self._fresh_file(target) as copied:
            for project in self.projects():
                move_project(self, copied, project.project)

    def wait(self, project: str, after: int, timeout: float) -> bool:
        """Return whether there is an entry beyond `after`, as soon as there is one.

        Raises StoreUnreachable when the server goes away; the next call listens anew.
        """

        def is_there() -> bool:
            with self.reading(project) as view:
                return view.head().size > after + 1

        with translate_errors(self._where):
            return self._waiters.wait(is_there, timeout)

    def lost(self) -> CounterpointError | None:
        """Return None: whether its files are those that it opened is for the server to know."""
        return None

    def purge(self) -> None:
        """Write the tables anew that texts were deleted from; the server's own log keeps them for a while.

        Raises StoreBusy when somebody who reads keeps them in the data files for longer than the patience.
        """
        with self._unhurried() as link:
            _rewrite(link, (*_WITH_TEXTS, *signs.tables(link)), self._patience)

    def settle_vectors(self, project: str, model: str) -> None:
        """Make the index that pgvector finds many vectors by; nobody waits for it."""
        with self._unhurried() as link:
            signs.settle(link, project, model)

    @contextmanager
    def _unhurried(self) -> Generator[Link]:
        """Lend a connection outside of a transaction, whose statements may take as long as they like."""
        with translate_errors(self._where), self._writers.lent("SELECT 1") as link:
            link.execute(b"SET statement_timeout TO 0")
            try:
                yield link
            finally:
                link.execute(f"SET statement_timeout TO {STATEMENT_MS}".encode())

    def close(self) -> None:
        """Let go of the database."""
        self._waiters.close()
        self._readers.close()
        self._writers.close()

    def _bring_forward(self, address: str) -> None:
        with translate_errors(self._where):
            link = connect(address, self._patience, _SILENT)
            try:
                forward.bring_forward(link, self._where, self._known)
                signs.arrange(link)
                self._hear(forward.time_of(link))
            except BaseException:
                link.close()
                raise
            self._writers.keep(link)

    def _join(self, link: Link) -> None:
        """Look at a fresh connection: while there was none, another program may have changed the tables."""
        forward.join(link)
        if forward.missing(link, self._where, self._known):
            raise StoreOlder(
                f"the tables of {self._where} are not those that were opened",
                hint="End this server with `counterpoint down`; the next one opens what is there.",
            )


def _rewrite(link: Link, tables: Sequence[str], patience: float) -> None:
    """Write tables anew until none has a deleted row left; StoreBusy if somebody may see one after so many seconds.

    PostgreSQL writes a deleted row over into the new file too as long as any transaction may still see it: of this
    database, or a writing one of another. link: one outside of a transaction.
    """
    end = monotonic() + patience
    for table in tables:
        while _rows_kept(link, table):
            if not _outwait(link, end):
                raise StoreBusy(
                    "an older transaction, or a replica, may still read what was deleted",
                    hint="The texts are gone from all tables and stay in the data files; repeat the command when it has ended.",
                )


def _rows_kept(link: Link, table: str) -> int:
    """Write a table anew; return how many deleted rows its new file still has.

    That is told by VERBOSE alone, in a notice whose words follow the server's language; its first number is that of
    the rows (commands/cluster.c, copy_table_data).
    """
    details: list[str] = []

    def take(notice: errors.Diagnostic) -> None:
        details.append(notice.message_detail or "")

    link.add_notice_handler(take)
    try:
        link.execute(f"VACUUM (FULL, VERBOSE) {table}".encode())
    finally:
        link.remove_notice_handler(take)
    counts = [_NUMBER.match(detail) for detail in details]
    return max(int(count[0]) for count in counts if count)


def _outwait(link: Link, end: float) -> bool:
    """Return whether every transaction that is open now has ended in time, up to a moment of the process's clock."""
    open_now = set(link.execute(_WITH_OLD_VIEWS.encode()))
    while open_now and monotonic() < end:
        link.execute("SELECT pg_sleep(0.05)")
        open_now &= set(link.execute(_WITH_OLD_VIEWS.encode()))
    return monotonic() < end
