"""Turns for the threads of one process, given in the order in which they came.

Connections to a PostgreSQL server, lent one at a time and kept for the next.
Rules: (1) at most so many are lent at once; who finds none waits its turn, at most so many seconds.
(2) A connection is in autocommit: transactions begin and end in words. (3) One that was lent before
may have died since: what begins its next transaction is repeated on a fresh one, as nothing was done
yet. (4) One that comes back broken, or inside a transaction that cannot be undone, is thrown away.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from platform import node
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from counterpoint import __version__
from counterpoint.kernel.errors import InvalidInput, StoreBusy, StoreCorrupt
from counterpoint.settings import masked
from counterpoint.storage.postgres.dialect import Link, adapt


class FairSemaphore:
    """At most so many have a turn at once; whoever gives one up hands it to the first in line."""

    def __init__(self, most: int) -> None:
        """Have so many turns to give."""
        self._free = most
        self._alone = threading.Lock()
        self._line: deque[threading.Lock] = deque()

    def take(self, patience: float) -> bool:
        """Return whether a turn came within so many seconds."""
        with self._alone:
            if self._free:
                self._free -= 1
                return True
            own_lock = threading.Lock()
            # Taken already, so that to take it once more is to sleep until somebody hands a turn
            # over.
            own_lock.acquire()
            self._line.append(own_lock)
        if own_lock.acquire(timeout=patience):
            return True
        with self._alone:
            if own_lock in self._line:
                self._line.remove(own_lock)
                return False
        return True  # it was handed over at the last moment

    def give(self) -> None:
        """Give a turn up."""
        with self._alone:
            if self._line:
                self._line.popleft().release()
            else:
                self._free += 1


SCHEMA = "counterpoint"
OPENING: Final = "opening "
"""What leads the name of a connection before it knows that the tables are those of this program."""
_NAME_BYTES: Final = 63
_CONNECT_SECONDS = 10
_SILENCE = 30
"""Seconds of silence after which a network connection is asked whether it still is one."""
_PROBES: Final = 3
_LOST_MS: Final = 30_000
"""Milliseconds after which what was sent and is not acknowledged ends a network connection, on both sides."""
STATEMENT_MS: Final = 120_000
"""Milliseconds that one statement may take."""
# Only `off` is raised: every other value waits for the disk of this server at least.
_SETTINGS: Final = """
SELECT set_config('search_path', %s, false), set_config('lock_timeout', %s, false),
  set_config('idle_in_transaction_session_timeout', %s, false),
  set_config('statement_timeout', %s, false), set_config('tcp_user_timeout', %s, false),
  set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
"""


def application() -> str:
    """Return the name of a connection of this program that has the tables open."""
    return f"counterpoint {__version__} ({os.getpid()} on {node()})"[:_NAME_BYTES]


def connect(address: str, patience: float, silence: float) -> Link:
    """Return a fresh connection; waits for locks no longer than so many seconds.

    silence: seconds after which the server ends it if nothing comes inside a transaction; 0: never. Raises InvalidInput, without a word of it, for an address that cannot be read.
    """
    _check(address)
    link = psycopg.connect(
        address,
        autocommit=True,
        connect_timeout=_CONNECT_SECONDS,
        keepalives_idle=_SILENCE,
        keepalives_interval=_SILENCE // _PROBES,
        keepalives_count=_PROBES,
        tcp_user_timeout=_LOST_MS,
        application_name=(OPENING + application())[:_NAME_BYTES],
        row_factory=tuple_row,
    )
    # Another encoding cannot hold every text, and would refuse some only when they are written.
    if link.info.parameter_status("server_encoding") != "UTF8":
        link.close()
        raise StoreCorrupt(
            f"{masked(address)} is not encoded in UTF-8",
            hint="Make a database with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`.",
        )
    limits = (int(patience * 1000), int(silence * 1000), STATEMENT_MS, _LOST_MS)
    link.execute(_SETTINGS, (SCHEMA, *map(str, limits)))
    adapt(link)
    return link


def _check(address: str) -> None:
    try:
        options = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        options = {"port": "unreadable"}
    if not all(port.isdecimal() for port in str(options.get("port", "0")).split(",") if port):
        # What libpq says of it would quote it, and perhaps a part of the password.
        raise InvalidInput(
            "the address of the database cannot be read",
            hint="Write postgresql://user:password@host:port/database, with `/` and `@` in the"
            " password as %2F and %40.",
        ) from None


class ConnectionPool:
    """Lends connections to one database."""

    def __init__(
        self,
        address: str,
        *,
        most: int,
        patience: float,
        silence: float,
        fresh: Callable[[Link], None],
    ) -> None:
        """Prepare to lend; nothing is connected before it is needed. fresh: looks at each new connection."""
        self._silence = silence
        self._fresh = fresh
        self._address = address
        self._patience = patience
        self._turns = FairSemaphore(most)
        self._idle: list[Link] = []
        self._closed = False

    @contextmanager
    def lent(self, begin: str) -> Generator[Link]:
        """Lend a connection inside the transaction that `begin` opens; undone unless it was ended.

        Raises StoreBusy when none came free in time.
        """
        if not self._turns.take(self._patience):
            raise StoreBusy(f"all connections to {masked(self._address)} are in use")
        try:
            link = self._begun(begin.encode())
            try:
                yield link
            finally:
                self._take_back(link)
        finally:
            self._turns.give()

    def keep(self, link: Link) -> None:
        """Take a connection to lend that was made elsewhere."""
        self._idle.append(link)

    def close(self) -> None:
        """Close what is not lent; what is lent is closed when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _begun(self, begin: bytes) -> Link:
        while self._idle:
            link = self._idle.pop()
            try:
                link.execute(begin)
            except psycopg.Error:
                # It is alive and refused the statement: a fresh one would be refused too.
                if not link.broken:
                    self._take_back(link)
                    raise
                link.close()
            else:
                return link
        link = connect(self._address, self._patience, self._silence)
        try:
            self._fresh(link)
            link.execute(begin)
        except BaseException:
            link.close()
            raise
        return link

    def _take_back(self, link: Link) -> None:
        status = link.info.transaction_status
        if status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
            status = _undone(link)
        if status is TransactionStatus.IDLE and not self._closed:
            self._idle.append(link)
        else:
            link.close()


def _undone(link: Link) -> TransactionStatus:
    """Roll back what is open; answer the state that the connection is in afterwards."""
    try:
        link.execute(b"ROLLBACK")
    except psycopg.OperationalError:
        return TransactionStatus.UNKNOWN
    return link.info.transaction_status
