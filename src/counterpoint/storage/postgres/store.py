"""The store on PostgreSQL: many servers write to one database, in turn.

Rules: (1) a write stands in the line of its project (an advisory lock), then locks the project's row
of `heads`: so sequences have no gap, and writers take turns in the order they came, whichever machine
they are on. (2) A write is answered when it is durable: `synchronous_commit` is never off. (3) A
reading is REPEATABLE READ, READ ONLY: it sees one moment. (4) Connections of writers and of readers
are lent from two pools, so that a reading inside of a writing never waits for itself. (5) A server
that went away is told as such and found again by the next call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from counterpoint.core.model.catalogue import NOUNS
from counterpoint.core.model.rows import Noun, noun_of
from counterpoint.core.model.work import Project
from counterpoint.core.ports.store import Reading, Store, Writing
from counterpoint.kernel.errors import CounterpointError, StoreBusy, StoreUnreachable
from counterpoint.settings import masked
from counterpoint.storage import schema, statements
from counterpoint.storage.move import move_project
from counterpoint.storage.postgres import forward, ledger
from counterpoint.storage.postgres.check import faults_of
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.faults import translate_errors
from counterpoint.storage.postgres.link import PostgresLink
from counterpoint.storage.postgres.listening import ListeningWaiters
from counterpoint.storage.postgres.pool import ConnectionPool, connect
from counterpoint.storage.postgres.schema import OWN, TYPES
from counterpoint.storage.postgres.semaphore import FairSemaphore
from counterpoint.storage.rows import StoreReading, StoreWriting
from counterpoint.storage.schema import Migration

Fresh = Callable[[Path], AbstractContextManager[Store]]
"""Opens a database file that appears at a path when the block ends, whole or not at all."""
_PATIENCE: Final = 10.0
_WRITERS: Final = 8
_READERS: Final = 16
_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE: Final = "BEGIN"


def open_postgres(
    address: str, nouns: tuple[type[Noun], ...] = NOUNS, *, fresh_file: Fresh
) -> PostgresStore:
    """Open the database at an address; its tables are made on first use.

    nouns: what it has tables for. fresh_file: what a backup is written into.
    Raises StoreUnreachable, Unavailable, StoreNewer, StoreOlder, StoreCorrupt, StoreReadOnly or StoreBusy.
    """
    return PostgresStore(address, nouns=nouns, fresh_file=fresh_file)


def _begin(project: str) -> str:
    """Return what opens a transaction that stands in the server's line for a project.

    Locks of rows are not given in the order in which they were asked for; such locks are.
    """
    # The keys of advisory locks are signed numbers of 64 bits, and not texts.
    number = int.from_bytes(sha256(project.encode()).digest()[:8], "big", signed=True)
    return f"{_WRITE}; SELECT pg_advisory_xact_lock({number})"


def is_made(address: str) -> bool:
    """Return whether there is a ledger's database at an address, without making one."""
    with translate_errors(masked(address)):
        link = connect(address, _PATIENCE)
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
        nouns: tuple[type[Noun], ...] = NOUNS,
        fresh_file: Fresh,
        patience: float = _PATIENCE,
        known: tuple[Migration, ...] | None = None,
    ) -> None:
        """Open the database and bring it forward.

        nouns: what it has tables for. fresh_file: what a backup is written into.
        patience: how many seconds a writer waits for its turn.
        known: the migrations to bring it forward by; those of the nouns if None.
        """
        self._tables = {noun.table: noun for noun in nouns}
        self._known = schema.migrations(nouns, TYPES, OWN) if known is None else known
        self._fresh_file = fresh_file
        self._where = masked(address)
        self._writers = ConnectionPool(address, most=_WRITERS, patience=patience)
        self._readers = ConnectionPool(address, most=_READERS, patience=patience)
        self._waiters = ListeningWaiters(address, patience=patience)
        self._mine = threading.local()
        self._patience = patience
        self._turns: dict[str, FairSemaphore] = {}
        try:
            self._bring_forward(self._known)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self, project: str) -> Generator[Reading]:
        """Open a consistent view of a project; its iterators end with the block."""
        with translate_errors(self._where), self._readers.lent(_READ) as link:
            yield StoreReading(PostgresLink(link, project), self._tables)

    @contextmanager
    def writing(self, project: str) -> Generator[Writing]:
        """Open a transaction: durable when the block has ended, undone if it raises.

        Raises StoreBusy when no turn came in time, StoreUnreachable, StoreFull, StoreReadOnly.
        """
        if getattr(self._mine, "writes", False):
            raise AssertionError("this thread is already writing to the store")
        self._mine.writes = True
        try:
            with (
                translate_errors(self._where),
                self._turn(project),
                self._writers.lent(_begin(project)) as link,
            ):
                head = ledger.lock(link, project)
                writing = StoreWriting(PostgresLink(link, project), self._tables, head)
                yield writing
                writing.finish()
                self._commit(link)
        finally:
            self._mine.writes = False

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
        asked = statements.projects().encode()
        with translate_errors(self._where), self._readers.lent(_READ) as link:
            return [noun_of(Project, row) for row in link.execute(asked)]

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

    def purge(self) -> None:
        """Write the tables anew that texts were deleted from; the server's own log keeps them for a while."""
        with translate_errors(self._where), self._writers.lent("SELECT 1") as link:
            link.execute("VACUUM (FULL) texts, documents")

    def close(self) -> None:
        """Let go of the database."""
        self._waiters.close()
        self._readers.close()
        self._writers.close()

    def _bring_forward(self, known: tuple[Migration, ...]) -> None:
        with translate_errors(self._where), self._writers.lent(_WRITE) as link:
            forward.bring_forward(link, self._where, known)
            link.execute(b"COMMIT")
