"""A server on the process's own standard input and output.

While it serves, descriptor 1 leads to standard error and descriptor 0 to nothing, so that a print or
a child process never touches the wire. SIGINT, SIGTERM, SIGHUP and the end of the input all end it
cleanly: the function returns, and a signal that comes after the first is ignored.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from counterpoint.kernel.starting.signals import ending_signals
from counterpoint.protocol.server import create_server
from counterpoint.protocol.surface import Caller, Surface
from counterpoint.protocol.wire.direct import Direct
from counterpoint.protocol.wire.inbox import Inbox
from counterpoint.protocol.wire.outbox import Outbox
from counterpoint.protocol.workers import Workers

C = TypeVar("C")

UNWIND = 0.5
"""Seconds that a server gets at most to say of what it has open that it is lost."""

_SIGNALS = ending_signals()


def serve_stdio(surface: Surface[C], call_for: Callable[[Caller], C]) -> None:
    """Serve a surface until the client leaves or a signal says to end; needs the main thread."""
    gc.freeze()
    with _own_streams() as (source, sink):
        was_told = asyncio.run(_serve(surface, call_for, source, sink))
    # What is left goes with the process; collecting it first would take longer than a client waits.
    gc.freeze()
    if was_told:
        # The second signal of an impatient client must not spoil a clean end.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


async def _serve(
    surface: Surface[C], call_for: Callable[[Caller], C], source: int, sink: int
) -> bool:
    """Serve over two descriptors; answer whether a signal ended it."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    outbox, workers = Outbox(sink), Workers()
    direct = Direct(surface, workers, outbox)
    inbox = Inbox(source, outbox, direct=direct)
    server = create_server(surface, call_for, workers=workers, direct=direct)
    serving = asyncio.ensure_future(
        server.run(inbox, outbox, server.create_initialization_options())
    )
    waiting = asyncio.ensure_future(stopping.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if serving.done():
        serving.result()
    else:
        serving.cancel()
        await asyncio.wait({serving}, timeout=UNWIND)
        inbox.refuse_rest()
    await outbox.drain(UNWIND)
    return stopping.is_set()


@contextmanager
def _own_streams() -> Generator[tuple[int, int]]:
    """Take descriptors 0 and 1 for the wire, and give them back."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    blocking = [(fd, os.get_blocking(fd)) for fd in (source, sink)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    # A child that reads its input would otherwise take messages from the wire.
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for fd in (source, sink):
        os.set_blocking(fd, False)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        # The mode belongs to the open file, which a terminal shares with the shell.
        for fd, mode in blocking:
            os.set_blocking(fd, mode)
        os.dup2(source, 0)
        os.dup2(sink, 1)
        os.close(source)
        os.close(sink)
