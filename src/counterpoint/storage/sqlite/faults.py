"""Turns errors of SQLite into errors of the product.

    SQLite                                  product
    BUSY, LOCKED, PROTOCOL                  StoreBusy       try again
    FULL; write errors over a quota         StoreFull       nothing was written
    READONLY, PERM, AUTH                    StoreReadOnly
    CANTOPEN                                StoreReadOnly, Unavailable without the folder or file
    CORRUPT, NOTADB                         StoreCorrupt
    IOERR, NOMEM, everything else it meets  Unavailable

    a text that is no UTF-8; a table, index   StoreCorrupt
    or column gone, or there unnoted; a format
    that no SQLite writes

Other errors of the program itself (a wrong statement, a broken constraint) go through as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Final

import apsw

from counterpoint.kernel.durable import NO_ROOM, file_fault
from counterpoint.kernel.errors import (
    CounterpointError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    Unavailable,
)
from counterpoint.kernel.matching.expressions import expression
from counterpoint.kernel.places import TOO_LONG_HINT, too_long

_MEANINGS: dict[type[apsw.Error], type[Unavailable]] = {
    apsw.BusyError: StoreBusy,
    apsw.LockedError: StoreBusy,
    apsw.ProtocolError: StoreBusy,
    apsw.FullError: StoreFull,
    apsw.ReadOnlyError: StoreReadOnly,
    apsw.PermissionsError: StoreReadOnly,
    apsw.AuthError: StoreReadOnly,
    apsw.CantOpenError: StoreReadOnly,
    apsw.CorruptError: StoreCorrupt,
    apsw.NotADBError: StoreCorrupt,
    apsw.IOError: Unavailable,
    apsw.NoMemError: Unavailable,
    apsw.InterruptError: Unavailable,
}
_GONE = expression(
    r"no such (table|column|index|module)|malformed|.* already exists$|table \w+ has no column"
    r"|unsupported file format"
)
_SAYS_NOTHING = "not an error"
"""What SQLite calls a failure that another connection had, as the target of a backup."""
_SHM_SIZE: Final = apsw.SQLITE_IOERR_SHMSIZE
"""Says that the index of the log could not be made longer, without the number of the system."""


def meaning(fault: apsw.Error, where: str, system: int = 0) -> CounterpointError | None:
    """Return the product's error for one of SQLite's; None for a fault of the program.

    system: the operating system's error number of the connection's last failure.
    """
    kind = _MEANINGS.get(type(fault))
    if type(fault) is apsw.SQLError and _GONE.match(str(fault)):
        # Every statement is made from the nouns: what it names was there when the database was made.
        kind = StoreCorrupt
    if kind is None:
        return None
    # Of a quota or a disk that is full while the log is written SQLite only says that writing
    # failed.
    if kind is Unavailable and (
        system in NO_ROOM or getattr(fault, "extendedresult", 0) == _SHM_SIZE
    ):
        kind = StoreFull
    lead = (kind.__doc__ or "").strip().rstrip(".")
    detail = "" if str(fault) == _SAYS_NOTHING else f" ({fault})"
    return kind(f"{lead}: {where}{detail}", path=where)


class translate_errors(AbstractContextManager[None]):  # noqa: N801 -- read as a verb where it opens a block
    """Turn what SQLite raises inside the block into errors of the product."""

    __slots__ = ("_broken", "_connection", "_where")

    def __init__(
        self,
        where: str,
        connection: apsw.Connection | None = None,
        broken: Callable[[CounterpointError], None] | None = None,
    ) -> None:
        """Name the database, and the connection whose last failure counts. broken: hears that the files are no good."""
        self._where = where
        self._connection = connection
        self._broken = broken

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise the error of the product, if there is one for what came."""
        if isinstance(fault, UnicodeDecodeError):
            raise StoreCorrupt(f"a text in {self._where} is no UTF-8", path=self._where) from fault
        if isinstance(fault, apsw.ConnectionClosedError):
            # Whoever writes in the background may come late; a closed connection answers nothing more.
            raise Unavailable(f"{self._where} was closed", path=self._where) from fault
        if isinstance(fault, apsw.Error):
            system = 0 if self._connection is None else self._connection.system_errno
            ours = meaning(fault, self._where, system)
            if ours is not None:
                if self._broken is not None and is_broken(fault, ours):
                    self._broken(ours)
                raise ours from fault


def is_broken(fault: apsw.Error, ours: CounterpointError) -> bool:
    """Return whether SQLite says that the files cannot be read or written, and not for want of room."""
    is_full = isinstance(ours, StoreFull)
    return isinstance(fault, apsw.CorruptError | apsw.NotADBError | apsw.IOError) and not is_full


def check_length(where: str) -> None:
    """Pass if SQLite takes a path: of one that is too long it says that it cannot be opened; Unavailable."""
    if reason := too_long(where):
        raise Unavailable(reason, hint=TOO_LONG_HINT, path=where)


@contextmanager
def translate_file_errors(where: str) -> Generator[None]:
    """Turn what the operating system refuses inside the block into errors of the product."""
    try:
        yield
    except OSError as fault:
        raise file_fault(fault, where) from fault
