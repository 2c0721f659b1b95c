"""Notices what other servers commit: PostgreSQL notifies each of them.

Each committed entry is notified on the channel `counterpoint` as `<sequence> <project>`. A notification
only wakes: what there is to read stands in the ledger, so nothing is missed when a connection breaks.
What comes while nobody listens stays on the connection for the next who does.
"""

from __future__ import annotations

import time
from typing import Final

from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.pool import connect
from counterpoint.storage.waiters import Waiters

_LISTEN: Final = b"LISTEN counterpoint"
_TURN: Final = 0.25
"""Seconds after which whoever listens sees whether the store was closed."""


class ListeningWaiters(Waiters):
    """Those who wait for entries of a database on a server."""

    def __init__(self, address: str, *, patience: float) -> None:
        """Prepare to listen; nothing is connected before somebody waits."""
        super().__init__()
        self._address = address
        self._patience = patience
        self._link: Link | None = None

    def _watch(self, wakes: int, until: float) -> bool:
        # Listening takes long, and this thread alone uses the connection: the others may go on.
        self._changed.release()
        try:
            while self._is_quiet(wakes) and (seconds_left := until - time.monotonic()) > 0:
                if self._listen(min(seconds_left, _TURN)):
                    return True
        finally:
            self._changed.acquire()
        return False

    def _listen(self, timeout: float) -> bool:
        """Return whether a notification came; beginning to listen is taken for one."""
        if self._link is None:
            self._link = connect(self._address, self._patience, 0)
            self._link.execute(_LISTEN)
            return True
        is_told = any(True for _ in self._link.notifies(timeout=timeout, stop_after=1))
        if is_told:
            # One look at the ledger answers all that came: any role that may connect can notify, and as often as it likes.
            for _ in self._link.notifies(timeout=0):
                pass
        return is_told

    def _stop_watching(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()
