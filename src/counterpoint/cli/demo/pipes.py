"""How an agent of the demonstration talks to its stage: lines over two pipes.

An agent says one JSON object a line on its standard output. On its standard input every line
means: something has changed, look again; the end of the input means: leave. An agent with nothing
to do waits there. It also looks again after a while by itself, since a lease that runs out makes
no entry in the ledger that anybody could tell it of.
"""

from __future__ import annotations

import os
import selectors
import sys

from counterpoint.kernel.canonical import Json, dump_any

LOOK_AGAIN = 1.0
"""Seconds that an agent waits at most before it looks again by itself."""

_CHUNK = 4096


class WakeSignal:
    """The agent's end of the pipe that wakes it."""

    def __init__(self, fd: int = 0) -> None:
        """Listen at a descriptor."""
        self._fd = fd
        self._selector = selectors.DefaultSelector()
        self._selector.register(fd, selectors.EVENT_READ)

    def wait(self, seconds: float | None = LOOK_AGAIN) -> bool:
        """Wait until something has changed, or for a while; answer whether to stay."""
        return not self._selector.select(seconds) or bool(os.read(self._fd, _CHUNK))

    def wait_for_the_end(self) -> None:
        """Wait until it is time to leave, whatever else happens."""
        while self.wait(None):
            continue


def tell(doing: str, **facts: Json) -> None:
    """Say what this agent does, with what a program wants to know of it."""
    sys.stdout.write(dump_any({"doing": doing, **facts}) + "\n")
    sys.stdout.flush()
