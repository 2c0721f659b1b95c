"""What is written to a pipe by the event loop and by workers: whole lines, and none too late."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable
from typing import Any

from two_ways import PATIENCE

from counterpoint.protocol.wire.outbox import Outbox


def run(course: Awaitable[Any]) -> Any:
    """Run a course of events that must not hang."""

    async def bounded() -> Any:
        async with asyncio.timeout(PATIENCE * 2):
            return await course

    return asyncio.run(bounded())


def test_nothing_is_written_to_a_client_that_was_let_go() -> None:
    """What the rest of its calls answer is for nobody: the descriptor may be another's by then."""

    async def course() -> bytes:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            outbox = Outbox(theirs.fileno())
            outbox.post(b"before\n")
            outbox.leave()
            outbox.post(b"after\n")
            return ours.recv(100)

    assert run(course()) == b"before\n"


def test_what_a_worker_could_not_write_whole_is_written_before_anything_else() -> None:
    """The loop goes on where the other side had no room, and another line waits behind it."""
    long = b"x" * 3_000_000 + b"\n"

    async def course() -> bytes:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.setblocking(False)
            outbox = Outbox(theirs.fileno())
            assert outbox.post_now(long)
            begun = ours.recv(1 << 20)  # there is room now, but the loop has not seen it
            assert not outbox.post_now(b"between\n")
            outbox.post(b"behind\n")
            received = asyncio.ensure_future(asyncio.to_thread(_all_of, ours))
            await outbox.drain(PATIENCE)
            assert await asyncio.to_thread(outbox.post_now, b"x" * 9)
            assert outbox.post_now(long)
            await outbox.drain(PATIENCE)
            theirs.shutdown(socket.SHUT_WR)
            return begun + await received

    assert run(course()) == long + b"behind\n" + b"x" * 9 + long


def test_a_worker_leaves_a_client_that_takes_nothing_to_the_loop() -> None:
    """Full or gone: nothing is written there, and one for whom too much waits is let go."""

    async def course() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.setblocking(False)
            outbox = Outbox(theirs.fileno(), limit=1000)
            assert await asyncio.to_thread(outbox.post_now, b"x" * 3_000_000)
            await asyncio.sleep(0)
            assert outbox.is_gone
            assert not outbox.post_now(b"more")
            assert not Outbox(theirs.fileno()).post_now(b"more")

    run(course())


def _all_of(to: socket.socket) -> bytes:
    """Answer everything up to the end."""
    parts: list[bytes] = []
    while part := to.recv(1 << 20):
        parts.append(part)
    return b"".join(parts)
