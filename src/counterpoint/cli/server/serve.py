"""The one server of a database: everything joined behind its socket, and its end."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import click

from counterpoint.app import App, open_app
from counterpoint.cli.context import open_here, project_options
from counterpoint.cli.output import output_for
from counterpoint.cli.server.connect import Connection
from counterpoint.dialects import registry
from counterpoint.dialects.call import Call
from counterpoint.evidence.places import FOLDER, open_folder
from counterpoint.kernel.errors import InvalidInput, StoreBusy, Unavailable
from counterpoint.protocol.rendezvous import Rendezvous, find_rendezvous
from counterpoint.protocol.sockets import ConnectionContext, Greeting, Sockets
from counterpoint.protocol.workers import Workers

WORKERS: Final = 32
"""How many calls of all connections may run at once; a gate that runs for minutes takes one."""
FIRST: Final = 20.0
"""Seconds that a server waits for its first client, whatever is set."""
GLANCE: Final = 1.0
"""Seconds between two looks whether the database's folder is still there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionApps:
    """Where relays get what serves them: one app of the database, and one more for each connection."""

    host: App

    def admit(self, greeting: Greeting) -> ConnectionContext[Call]:
        """Return the context for a relay; InvalidInput for another database or a wrong setting."""
        app = open_app(Path(greeting.folder), greeting.environ, **greeting.flags)
        if app.database != self.host.database:
            raise InvalidInput(
                f"this is the server of {self.host.database}, not of {app.database}",
                hint="Run `counterpoint down` there and connect again.",
            )
        connection = Connection(app, self.host)
        surface = registry.surface(app.settings.surface, app.settings)
        _freeze(app.settings.surface)
        return ConnectionContext(
            surface=surface, call_for=lambda caller: connection.call(caller.client)
        )


@cache
def _freeze(_surface: str) -> None:
    """Take what a dialect has loaded out of the search for garbage, once for each."""
    gc.freeze()


@asynccontextmanager
async def serve_sockets(
    app: App, *, workers: Workers, idle: float | None = None, by_starter: bool = False
) -> AsyncGenerator[Sockets[Call]]:
    """Be the server of a database during the block; StoreBusy if another one is.

    What is answered has an event `over`, set when it is time to leave: it was asked to, its folder
    is gone, or nobody was connected for `idle` seconds (None: however long).
    by_starter: whoever started this process keeps others from starting one.
    """
    if app.folder.name == FOLDER:
        # Each call that would write says what keeps it from that.
        with suppress(OSError):
            open_folder(app.folder)
    rendezvous = find_rendezvous(app.database)
    with ExitStack() as held:
        with ExitStack() as starting:
            if not by_starter:
                starting.enter_context(rendezvous.turn("starting"))
            held.enter_context(rendezvous.turn("lock"))
            listener = rendezvous.listen(app.clock)
        sockets = Sockets(
            listener,
            ConnectionApps(host=app).admit,
            workers=workers,
            started_at=app.clock.now(),
            more=lambda: {"circuit": asdict(app.breaker.circuit())},
        )
        sockets.start()
        mine = _identity(rendezvous)
        watching = [asyncio.create_task(_watch(rendezvous, mine, sockets))]
        if idle is not None:
            watching.append(asyncio.create_task(_leave_when_idle(sockets, idle)))
        try:
            yield sockets
        finally:
            for task in watching:
                task.cancel()
            if _identity(rendezvous) == mine:
                rendezvous.clear()
            # Closing the store under a call that runs would wait for it, or break it.
            if await sockets.close():
                app.close()


async def _leave_when_idle(sockets: Sockets[Call], idle: float) -> None:
    """Set `over` when nobody was there for so long; the first client gets a longer time."""
    patience = max(idle, FIRST)
    while True:
        sockets.changed.clear()
        try:
            limit = None if sockets.clients else patience
            await asyncio.wait_for(sockets.changed.wait(), limit)
        except TimeoutError:
            break
        patience = idle
    sockets.over.set()


async def _watch(
    rendezvous: Rendezvous, mine: tuple[int, int] | None, sockets: Sockets[Call]
) -> None:
    """Set `over` when the files of the meeting point are gone, or are somebody else's."""
    while _identity(rendezvous) == mine and not sockets.over.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(sockets.over.wait(), GLANCE)
    sockets.over.set()


def _identity(rendezvous: Rendezvous) -> tuple[int, int] | None:
    try:
        found = rendezvous.file("lock").stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@click.command("serve", hidden=True)
@click.option("--db", metavar="PATH", help="The database.")
@click.option("--ready-fd", type=int, help="Where to write one byte when the socket listens.")
@click.option("--turn-fd", type=int, help="The lock of who starts a server; closed then.")
def serve_command(db: str | None, ready_fd: int | None, turn_fd: int | None) -> None:
    """Serve the relays of a database until none was there for a while: what a relay starts."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    app = open_here(db=str(Path(db).expanduser().resolve()) if db else None)
    # Where it was started is a working tree, which may go while the server stays.
    os.chdir("/")
    gc.freeze()
    asyncio.run(_serve(app, ready_fd, turn_fd))
    gc.freeze()


async def _serve(app: App, ready_fd: int | None, turn_fd: int | None) -> None:
    idle = app.settings.idle_minutes * 60
    workers = Workers(WORKERS)
    starter = turn_fd is not None
    async with serve_sockets(app, workers=workers, idle=idle, by_starter=starter) as sockets:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, sockets.over.set)
        # Whoever started this may be gone.
        with suppress(BrokenPipeError):
            if ready_fd is not None:
                os.write(ready_fd, b"+")
        for descriptor in (ready_fd, turn_fd):
            if descriptor is not None:
                os.close(descriptor)
        await sockets.over.wait()


@click.command("down")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@project_options
def down_command(as_json: bool, db: str | None, project: str | None) -> None:
    """End the server of this database; agents that are connected start another one."""
    out = output_for(json=as_json)
    app = open_here(db=db, project=project)
    was = end_server(app.database)
    if out.json:
        out.answer({"ended": was})
    elif was:
        out.line(f"Ended the server {was['pid']}.")
    else:
        out.line("No server runs.")


def end_server(database: Path) -> dict[str, Any] | None:
    """End the server of a database and wait until it is gone; None if there was none.

    Raises Unavailable if it does not go.
    """
    rendezvous = find_rendezvous(database)
    was = rendezvous.ask("stop")
    if was is None:
        return None
    try:
        with rendezvous.turn("lock"):
            pass
    except StoreBusy:
        raise Unavailable(
            f"the server {was.get('pid')} does not leave",
            hint=f"End the process {was.get('pid')}; nothing that was answered is lost by it.",
        ) from None
    return {"pid": was["pid"], "version": was["version"], "clients": cast("int", was["clients"])}
