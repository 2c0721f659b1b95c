"""A listening socket with the small surface behind it, and who connects to it."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

from counterpoint import __version__
from counterpoint.protocol.rendezvous import Rendezvous
from counterpoint.protocol.sockets import ConnectionContext, Greeting, Sockets
from counterpoint.protocol.workers import Workers

PATIENCE = 20.0
GREETING = {"counterpoint": 1, "version": __version__, "flags": {}, "environ": {}, "folder": "/"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


class Guest:
    """One connection to the socket that writes lines and reads them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take the two ends."""
        self.reader, self.writer = reader, writer

    async def say(self, *messages: Any) -> None:
        """Send messages; text goes as it is."""
        for one in messages:
            line = one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n"
            self.writer.write(line)
        await self.writer.drain()

    async def hear(self) -> dict[str, Any]:
        """Answer the next message."""
        return json.loads(await asyncio.wait_for(self.reader.readline(), PATIENCE))

    async def at_end(self) -> bool:
        """Wait for the end, and tell whether nothing came before it."""
        return await asyncio.wait_for(self.reader.read(), PATIENCE) == b""


class House:
    """A listening socket with the small surface behind it."""

    def __init__(self, meeting: Rendezvous, small: ModuleType) -> None:
        """Open nothing yet."""
        self.meeting, self.small = meeting, small
        self.greeted: list[Greeting] = []
        self.refusal: Exception | None = None
        self.guests: list[Guest] = []

    def admit(self, greeting: Greeting) -> ConnectionContext[Any]:
        """Let everybody in, or nobody."""
        self.greeted.append(greeting)
        if self.refusal is not None:
            raise self.refusal
        return ConnectionContext(
            surface=self.small.build(), call_for=lambda caller: self.small.Call(caller=caller)
        )

    @asynccontextmanager
    async def open(self):
        """Accept during the block."""
        sockets = Sockets(self.meeting.listen(), self.admit, workers=Workers(4), started_at="now")
        sockets.start()
        try:
            yield sockets
        finally:
            for guest in self.guests:
                guest.writer.close()
            await sockets.close()

    async def guest(self) -> Guest:
        """Connect."""
        to = str(self.meeting.socket)
        made = Guest(*await asyncio.open_unix_connection(to, limit=10_000_000))
        self.guests.append(made)
        return made

    async def seated(self) -> Guest:
        """Connect and shake hands, as relays do."""
        guest = await self.guest()
        await guest.say(GREETING, HELLO)
        assert (await guest.hear())["ok"] is True
        assert (await guest.hear())["result"]["protocolVersion"] == "2025-06-18"
        return guest
