"""Reads an event that a hook reports: behind a line about it, its bytes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from counterpoint.kernel.errors import InvalidInput

LARGEST: Final = 1_000_000
"""Bytes that one may have."""
HOOKS: Final = 8
"""How many hooks are heard at once: few, for each is heard in a thread that others wait for too."""
PATIENCE: Final = 1.0
"""Seconds until all bytes must have come."""
_CHUNK: Final = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a hook of a client was told. body: empty if it is too large; size: how many bytes it has."""

    client: str
    body: bytes = field(repr=False)
    size: int


async def read_report(to: socket.socket, first: Mapping[str, Any], begun: bytes) -> Reported:
    """Return the event of a connection. first: its first line; begun: what came after that. InvalidInput."""
    client, size, sent_size = first.get("event"), first.get("size"), first.get("kept")
    if not (isinstance(client, str) and type(size) is int and type(sent_size) is int):
        raise InvalidInput("a hook tells its client, and how large its event is")
    if not 0 <= sent_size <= min(size, LARGEST):
        raise InvalidInput(f"an event of a hook has at most {LARGEST} bytes")
    loop, received = asyncio.get_running_loop(), bytearray(begun)
    try:
        async with asyncio.timeout(PATIENCE):
            while len(received) < sent_size and (piece := await loop.sock_recv(to, _CHUNK)):
                received += piece
    except TimeoutError:
        pass
    if len(received) != sent_size:
        raise InvalidInput("the event of a hook did not come whole")
    return Reported(client=client, body=bytes(received), size=size)
