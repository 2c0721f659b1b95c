"""Turns errors of PostgreSQL into errors of the product.

    PostgreSQL                                       product
    no connection, the server went away or stops     StoreUnreachable  try again
    wrong password, no such database, no right       Unavailable       by the server's own words
    a lock not in time, deadlock, serialization,
    silence inside a transaction,
    too many connections, the server is starting     StoreBusy         try again
    disk full                                        StoreFull         nothing was written
    a read-only transaction, no privilege            StoreReadOnly     without one also for a read
    damaged tables or indexes; a table, a column
    or a function gone, or of another type           StoreCorrupt
    a value too long for an index                    InvalidInput
    a trigger of the ledger refused                  LedgerBroken

Errors of the program itself (a wrong statement, a broken constraint) go through as they are.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    LedgerBroken,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
    Unavailable,
)

_GONE: tuple[type[psycopg.Error], ...] = (
    errors.UndefinedTable,
    errors.UndefinedColumn,
    errors.UndefinedFunction,
    errors.UndefinedObject,
    errors.InvalidSchemaName,
    errors.DatatypeMismatch,
    errors.CannotCoerce,
    errors.WrongObjectType,
    errors.FeatureNotSupported,
    errors.InvalidTextRepresentation,
    errors.IndeterminateDatatype,
    # What was wrong before in the same transaction is told where it was met.
    errors.InFailedSqlTransaction,
)

# The first that fits counts: OperationalError is a base class of most of those before it.
_MEANINGS: tuple[tuple[type[psycopg.Error], type[CounterpointError]], ...] = (
    (errors.LockNotAvailable, StoreBusy),
    (errors.DeadlockDetected, StoreBusy),
    (errors.SerializationFailure, StoreBusy),
    (errors.QueryCanceled, StoreBusy),
    # It was silent for too long in its transaction, of which nothing is kept.
    (errors.IdleInTransactionSessionTimeout, StoreBusy),
    (errors.TooManyConnections, StoreBusy),
    (errors.CannotConnectNow, StoreBusy),
    (errors.DiskFull, StoreFull),
    (errors.ReadOnlySqlTransaction, StoreReadOnly),
    (errors.InsufficientPrivilege, StoreReadOnly),
    (errors.DataCorrupted, StoreCorrupt),
    (errors.IndexCorrupted, StoreCorrupt),
    # Every statement is made from the nouns: what it names was there when the database was made.
    *((gone, StoreCorrupt) for gone in _GONE),
    (errors.ProgramLimitExceeded, InvalidInput),
    (errors.RaiseException, LedgerBroken),
    (errors.InvalidAuthorizationSpecification, Unavailable),
    (errors.InvalidCatalogName, Unavailable),
    (psycopg.OperationalError, StoreUnreachable),
)
_HINTS: dict[type[CounterpointError], str] = {
    InvalidInput: "Shorten the names of the call.",
    StoreFull: "Free some space on the database server and repeat the call.",
    StoreReadOnly: "Give the role of the address the right to read and write, on the primary server.",
    StoreCorrupt: "Keep the server's files aside and restore its last sound backup.",
    Unavailable: "Check the address: user, password and the name of the database.",
}
_LEADS: dict[type[CounterpointError], str] = {
    Unavailable: "the database server does not let this address in",
}
_NO_RIGHT = "the role of the address lacks a right"
_SAID: dict[type[CounterpointError], tuple[str, ...]] = {
    StoreBusy: ("starting up", "too many clients", "remaining connection slots", "too many conn"),
    Unavailable: ("authentication failed", "does not exist", "pg_hba.conf", "is not permitted"),
}


def meaning(fault: psycopg.Error, where: str) -> CounterpointError | None:
    """Return the product's error for one of PostgreSQL's; None for a fault of the program."""
    kind = next((ours for theirs, ours in _MEANINGS if isinstance(fault, theirs)), None)
    if kind is None:
        return None
    if kind is StoreUnreachable:
        kind = _classify_refusal(str(fault))
    lead = _LEADS.get(kind, (kind.__doc__ or "").strip().rstrip("."))
    if isinstance(fault, errors.InsufficientPrivilege):
        lead = _NO_RIGHT
    text = " ".join(str(fault).split())[:300]
    return kind(f"{lead}: {where} ({text})", hint=_HINTS.get(kind, ""), address=where)


def _classify_refusal(text: str) -> type[CounterpointError]:
    """Return the error of a refused connection by the server's words: it has no code."""
    for kind, words in _SAID.items():
        if "FATAL:" in text and any(phrase in text for phrase in words):
            return kind
    return StoreUnreachable


@contextmanager
def translate_errors(where: str) -> Generator[None]:
    """Turn what PostgreSQL raises inside the block into errors of the product."""
    try:
        yield
    except psycopg.Error as fault:
        ours = meaning(fault, where)
        if ours is None:
            raise
        raise ours from fault
