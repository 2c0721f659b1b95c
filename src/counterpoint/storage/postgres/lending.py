"""Connections to a PostgreSQL server, lent one at a time and kept for the next.

Rules: (1) at most so many are lent at once; who finds none waits its turn, at most so many seconds.
(2) A connection is in autocommit: transactions begin and end in words. (3) One that was lent before
may have died since: what begins its next transaction is repeated on a fresh one, as nothing was done
yet. (4) One that comes back broken, or inside a transaction that cannot be undone, is thrown away.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from counterpoint.kernel.errors import StoreBusy, StoreCorrupt
from counterpoint.storage.postgres.address import masked
from counterpoint.storage.postgres.dialect import Link, adapt

SCHEMA = "counterpoint"
_CONNECT_SECONDS = 10
_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)


def connect(address: str, patience: float) -> Link:
    """Answer a fresh connection; waits for locks no longer than so many seconds."""
    link = psycopg.connect(
        address,
        autocommit=True,
        connect_timeout=_CONNECT_SECONDS,
        application_name="counterpoint",
        row_factory=tuple_row,
    )
    if link.info.parameter_status("server_encoding") != "UTF8":
        link.close()
        raise StoreCorrupt(
            f"{masked(address)} is not encoded in UTF-8",
            hint="Make a database with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`.",
        )
    link.execute(f"SET search_path TO {SCHEMA}".encode())
    link.execute(f"SET lock_timeout TO {int(patience * 1000)}".encode())
    link.execute(_DURABLE)
    adapt(link)
    return link


class Lender:
    """Lends connections to one database."""

    def __init__(self, address: str, *, most: int, patience: float) -> None:
        """Prepare to lend; nothing is connected before it is needed."""
        self._address = address
        self._patience = patience
        self._free = threading.BoundedSemaphore(most)
        self._idle: list[Link] = []
        self._closed = False

    @contextmanager
    def lent(self, begin: str) -> Generator[Link]:
        """Lend a connection inside the transaction that `begin` opens; undone unless it was ended.

        Raises StoreBusy when none came free in time.
        """
        if not self._free.acquire(timeout=self._patience):
            raise StoreBusy(f"all connections to {masked(self._address)} are in use")
        try:
            link = self._begun(begin.encode())
            try:
                yield link
            finally:
                self._take_back(link)
        finally:
            self._free.release()

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
            except psycopg.OperationalError:
                link.close()
            else:
                return link
        link = connect(self._address, self._patience)
        link.execute(begin)
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
