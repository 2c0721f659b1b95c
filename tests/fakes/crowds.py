"""Threads that stand in line to write to one store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from counterpoint.core.ports.store import Writing
from counterpoint.kernel.errors import CounterpointError
from counterpoint.storage.sqlite.store import SqliteStore

PATIENCE = 20.0
"""Seconds after which a test gives up."""


class Crowd:
    """Threads that write one after the other while the first one holds the turn."""

    def __init__(self, store: SqliteStore) -> None:
        """Begin with nobody."""
        self.store = store
        self.threads: list[threading.Thread] = []
        self.faults: dict[int, BaseException] = {}
        self.done: list[int] = []

    def join(self, number: int, block: Callable[[Writing], Any], project: str = "p") -> None:
        """Let a thread write a block, once it is in line behind those before it."""
        ahead = len(self.store._batches._waiting)
        thread = threading.Thread(target=self._write, args=(number, block, project))
        self.threads.append(thread)
        thread.start()
        until(lambda: len(self.store._batches._waiting) == ahead + 1)

    def _write(self, number: int, block: Callable[[Writing], Any], project: str) -> None:
        try:
            with self.store.writing(project) as writing:
                block(writing)
        except (CounterpointError, ZeroDivisionError) as fault:
            self.faults[number] = fault
        self.done.append(number)

    def wait(self) -> None:
        """Wait for all of them."""
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    pulse = threading.Event()
    while not true():
        assert time.monotonic() < end, "it took too long"
        pulse.wait(0.001)
