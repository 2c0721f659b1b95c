"""The one server of a database: everything joined behind its socket, and its end.

What a relay starts is this file, without the command line: a client waits for it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, cast

from counterpoint.app import App, Identity, open_app
from counterpoint.cli.server.checkpoints import Checkpoints
from counterpoint.core.coordinator import Core
from counterpoint.core.model.identity import Peer
from counterpoint.core.rules.access import capability_of, digest_of
from counterpoint.core.rules.identity import principal_of
from counterpoint.dialects import registry
from counterpoint.dialects.call import Call
from counterpoint.evidence.host import Presence
from counterpoint.evidence.places import FOLDER, open_folder
from counterpoint.evidence.processes import peer
from counterpoint.kernel.errors import CounterpointError, InvalidInput, StoreBusy, Unavailable
from counterpoint.protocol.rendezvous import Rendezvous, find_rendezvous
from counterpoint.protocol.sockets import ConnectionContext, Greeting, Sockets
from counterpoint.protocol.workers import Workers

if TYPE_CHECKING:
    from counterpoint.cli.server.foreign import OpenSocket

WORKERS: Final = 32
"""How many calls of all connections may run at once; a gate that runs for minutes takes one."""
FIRST: Final = 20.0
"""Seconds that a server waits for its first client, whatever is set."""
GLANCE: Final = 1.0
"""Seconds between two looks whether the database's folder is still there."""

_SHARING: Final = threading.Lock()
"""Held by whoever opens what connections share: it is opened once."""


def main(words: Sequence[str]) -> int | None:
    """Serve as a relay says, until it is time to leave; None if the call is the command line's."""
    match list(words):
        case ["--db", db, "--ready-fd", ready, "--turn-fd", turn] if (ready + turn).isdecimal():
            pass
        case _:
            return None
    try:
        serve(open_app(Path.cwd(), os.environ, db=db), int(ready), int(turn))
    except CounterpointError as refusal:
        # The command line has the words for it, and takes long to load.
        from counterpoint.cli.main import refused

        return refused(refusal)
    return 0


def serve(
    app: App,
    ready_fd: int | None = None,
    turn_fd: int | None = None,
    others: OpenSocket | None = None,
) -> None:
    """Serve the relays of a database until none was there for a while; those of other accounts for ever.

    ready_fd: where to write one byte when the socket listens. turn_fd: the lock of who starts a
    server; closed then. others: where to listen for other accounts too.
    """
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # Where it was started is a working tree, which may go while the server stays.
    os.chdir("/")
    gc.freeze()
    asyncio.run(_serve(app, ready_fd, turn_fd, others))
    gc.freeze()


class Connection:
    """One agent's connection: its first call opens the ledger, in whatever thread it runs."""

    def __init__(
        self,
        app: App,
        peer: Peer,
        secret: str,
        host: App | None = None,
        checkpoints: Checkpoints | None = None,
        presence: Presence | None = None,
    ) -> None:
        """Decide who calls, and open nothing.

        peer: who is at the other end. secret: what only this connection has; empty without one. host: the app
        of the same database whose store and key this connection shares. checkpoints: has what this
        connection writes signed. presence: tells when its process has ended.
        """
        self._checkpoints = checkpoints
        self._app = app
        self._peer: Peer | None = peer
        self._credential = app.credential
        (host or app).meet(peer, app.credential)
        self._host = host
        # Who brings no secret has one all the same, which he cannot show a second time.
        capability = capability_of("secret", secret or token_hex())
        self._identity = replace(app.agent(), capability=capability)
        self._presence = presence or Presence()
        self._hall = (host or app).host
        self.caller = self._caller(peer, (host or app).met)
        self._opening = threading.Lock()

    def _caller(self, peer: Peer, met: Collection[str]) -> str:
        """Return whose share of the threads its calls take: the principal's, as far as it is known before a call."""
        if self._app.credential:
            return digest_of(self._app.credential)
        process = principal_of(peer, met)
        # Those whom nothing attests are one: to be nobody must not bring more.
        return process.id if process else "unattested"

    @cached_property
    def _secret(self) -> bytes:
        return self._app.secret

    @cached_property
    def _is_guarded(self) -> bool:
        return registry.surface(self._app.settings.surface).guarded

    def call(self, client: str) -> Call:
        """Return what a tool gets; CounterpointError while the ledger cannot be opened."""
        name = self._app.settings.agent or client or self._identity.name
        identity = replace(self._identity, name=name, client=client)
        with self._opening:
            if self._host is not None:
                with _SHARING:
                    self._app.share(self._host, guarded=self._is_guarded)
                self._host = None
            if self._peer is not None:
                core = self._app.core(identity, guarded=self._is_guarded)
                attested = core.identities.attest(self._peer, self._app.met, self._credential)
                identity = replace(self._identity, attested=attested)
                self._identity = identity if self._presence.seat else self._seated(identity, core)
                # One that was revoked ends with the next call: so a credential is asked for each time.
                if not self._credential:
                    self._peer = None
        attested = self._identity.attested
        if attested is not None and attested.name and not self._app.settings.agent:
            name = attested.name
        identity = replace(self._identity, name=name, client=client)
        core = self._app.core(identity, guarded=self._is_guarded)
        if self._checkpoints is not None and not self._app.settings.is_read_only:
            self._checkpoints.tend(self._app.project, self._app.itself)
        return Call(core=core, secret=lambda: self._secret, settings=self._app.settings)

    def _seated(self, identity: Identity, core: Core) -> Identity:
        """Return the identity in the session that this connection came with before, if it is known."""
        if not self._app.settings.session:
            session, seat = core.identities.recall(identity.capability)
            if seat and self._hall.take_seat(seat, self._presence, alone=True):
                return replace(identity, session=session or identity.session, seat=seat)
            if seat:
                # Two that live are not one, whoever copied the secret.
                identity = replace(identity, capability=capability_of("secret", token_hex()))
        self._hall.take_seat(identity.seat or identity.session, self._presence)
        return identity

    def leave(self) -> None:
        """Let others know that this connection has ended; waits for nothing that a call does."""
        self._hall.depart(self._presence)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionApps:
    """Where relays get what serves them: one app of the database, and one more for each connection."""

    host: App
    checkpoints: Checkpoints = field(default_factory=Checkpoints)

    def _app(self, greeting: Greeting) -> App:
        if greeting.peer.user == os.getuid():
            return open_app(Path(greeting.folder), greeting.environ, **greeting.flags)
        from counterpoint.cli.server.foreign import app_for

        return app_for(greeting, self.host)

    def admit(self, greeting: Greeting) -> ConnectionContext[Call]:
        """Return the context for a relay; InvalidInput for another database or a wrong setting."""
        app = self._app(greeting)
        if app.database != self.host.database:
            raise InvalidInput(
                f"this is the server of {self.host.database}, not of {app.database}",
                hint="Run `counterpoint down` there and connect again.",
            )
        found = peer(greeting.peer.pid, lambda pid: pid == os.getpid())
        # Whoever is still there after the walk is who was looked at.
        if greeting.peer.has_ended():
            found = found._replace(lineage=())
        if self.host.settings.is_read_only:
            app.settings = replace(app.settings, mode=self.host.settings.mode)
        presence = Presence(has_ended=greeting.peer.has_ended)
        connection = Connection(app, found, greeting.secret, self.host, self.checkpoints, presence)
        surface = registry.surface(app.settings.surface, app.settings)
        _freeze(app.settings.surface)
        return ConnectionContext(
            surface=surface,
            call_for=lambda caller: connection.call(caller.client),
            leave=connection.leave,
            caller=connection.caller,
        )


@cache
def _freeze(_surface: str) -> None:
    """Take what a dialect has loaded out of the search for garbage, once for each."""
    gc.freeze()


@asynccontextmanager
async def serve_sockets(
    app: App,
    *,
    workers: Workers,
    idle: float | None = None,
    by_starter: bool = False,
    others: OpenSocket | None = None,
    checkpoints: Checkpoints | None = None,
) -> AsyncGenerator[Sockets[Call]]:
    """Be the server of a database during the block; StoreBusy if another one is.

    What is answered has an event `over`, set when it is time to leave: it was asked to, its folder
    is gone, or nobody was connected for `idle` seconds (None: however long).
    by_starter: whoever started this process keeps others from starting one. others: where to listen, so
    that other accounts are served as well. checkpoints: has what is written signed; ended here.
    """
    if app.folder.name == FOLDER:
        # Each call that would write says what keeps it from that.
        with suppress(OSError):
            open_folder(app.folder)
    rendezvous = find_rendezvous(app.database)
    checkpoints = checkpoints or Checkpoints()
    if others is not None:
        rendezvous = replace(rendezvous, at=others.path)
    with ExitStack() as held:
        with ExitStack() as starting:
            if not by_starter:
                starting.enter_context(rendezvous.turn("starting"))
            held.enter_context(rendezvous.turn("lock"))
            listener = rendezvous.listen(app.clock)
            if others is not None:
                others.open()
        sockets = Sockets(
            listener,
            ConnectionApps(host=app, checkpoints=checkpoints).admit,
            workers=workers,
            started_at=app.clock.now(),
            more=lambda: {"circuit": asdict(app.breaker.circuit())},
            users=others.users if others is not None else (),
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
            was_quiet = await sockets.close()
            has_ended = await asyncio.to_thread(checkpoints.close)
            # Closing the store under a call that runs would wait for it, or break it.
            if was_quiet and has_ended:
                await asyncio.to_thread(app.close)


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


async def _serve(
    app: App, ready_fd: int | None, turn_fd: int | None, others: OpenSocket | None
) -> None:
    idle = app.settings.idle_minutes * 60 if others is None else None
    workers = Workers(WORKERS)
    starter = turn_fd is not None
    async with serve_sockets(
        app, workers=workers, idle=idle, by_starter=starter, others=others
    ) as sockets:
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
