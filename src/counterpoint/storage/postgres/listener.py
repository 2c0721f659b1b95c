"""Hears of fresh entries: PostgreSQL tells each server what others commit.

Each committed entry is told on the channel `counterpoint` as `<sequence> <project>`. A telling only
wakes: what there is to read stands in the ledger, so nothing is missed when a connection breaks. Of
all who wait in this process one listens and wakes the others; nobody listens while nobody waits, and
what is told meanwhile stays on the connection for the next who listens.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.pool import connect

_LISTEN: Final = b"LISTEN counterpoint"
_TURN: Final = 0.25
"""Seconds after which whoever listens sees whether the store was closed."""


class Listener:
    """Wakes those who wait for entries of one database."""

    def __init__(self, address: str, *, patience: float) -> None:
        """Prepare to listen; nothing is connected before somebody waits."""
        self._address = address
        self._patience = patience
        self._link: Link | None = None
        self._changed = threading.Condition()
        self._rung = 0
        self._is_attended = False
        self._is_closed = False

    def wait(self, is_there: Callable[[], bool], timeout: float) -> bool:
        """Wait until it is there; answer whether it is, False too when the store was closed."""
        until = time.monotonic() + timeout
        while not self._is_closed:
            rung = self._rung
            if is_there():
                return True
            if time.monotonic() >= until:
                return False
            self._sleep(rung, until)
        return False

    def close(self) -> None:
        """Stop listening, and wake everybody for the last time."""
        with self._changed:
            self._is_closed = True
            if not self._is_attended:
                self._hang_up()
            self._changed.notify_all()

    def _sleep(self, rung: int, until: float) -> None:
        with self._changed:
            while self._is_quiet(rung) and (left := until - time.monotonic()) > 0:
                if self._is_attended:
                    self._changed.wait(left)
                else:
                    self._attend(rung, until)

    def _is_quiet(self, rung: int) -> bool:
        return self._rung == rung and not self._is_closed

    def _attend(self, rung: int, until: float) -> None:
        """Listen for all until something is told; another one takes over at the end."""
        self._is_attended = True
        self._changed.release()
        heard = False
        try:
            while not heard and self._is_quiet(rung) and (left := until - time.monotonic()) > 0:
                heard = self._listen(min(left, _TURN))
        except BaseException:
            self._hang_up()
            raise
        finally:
            self._changed.acquire()
            self._is_attended = False
            self._rung += heard
            if self._is_closed:
                self._hang_up()
            self._changed.notify_all()

    def _listen(self, timeout: float) -> bool:
        """Return whether something was told; beginning to listen is taken for it."""
        if self._link is None:
            self._link = connect(self._address, self._patience)
            self._link.execute(_LISTEN)
            return True
        return any(True for _ in self._link.notifies(timeout=timeout, stop_after=1))

    def _hang_up(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()
