"""Has something asked in a thread of its own, and lets whoever waits go.

What blocks (a name that is looked up, a server that is silent) blocks that thread alone: whoever asked is heard each second, and is not kept beyond his time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

from counterpoint.core.ports.models import Listen
from counterpoint.kernel.errors import CounterpointError, Unexpected

TICK: Final = 1.0

Put = Callable[[str | CounterpointError | None], None]
Ask = Callable[[Put, threading.Event], None]
"""Asks: puts pieces as they come, then nothing, or what went wrong; ends once the event says that nobody waits any more."""


class Over(Exception):
    """Ends the thread of what nobody waits for any more."""


def wait_for(
    ask: Ask, seconds: float, late: Callable[[], CounterpointError], listen: Listen
) -> None:
    """Return once what was asked has ended; raises what went wrong, what `late` answers after so many seconds, and what `listen` raises."""
    queue: SimpleQueue[str | CounterpointError | None] = SimpleQueue()
    over = threading.Event()

    def run() -> None:
        try:
            ask(queue.put, over)
        finally:
            # Nobody waits for a thread that ended without a word; after its last one this is not heard.
            queue.put(Unexpected())

    thread = threading.Thread(target=run, name="outside", daemon=True)
    end = time.monotonic() + seconds
    thread.start()
    try:
        while True:
            seconds_left = end - time.monotonic()
            if seconds_left <= 0:
                raise late()
            try:
                report = queue.get(timeout=min(TICK, seconds_left))
            except Empty:
                listen("")
                continue
            if report is None:
                return
            if isinstance(report, CounterpointError):
                raise report
            listen(report)
    finally:
        over.set()
