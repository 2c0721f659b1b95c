"""The one server of a database: everything joined behind its socket, and its end.

What a relay starts is this file, without the command line: a client waits for it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from socket import gethostname
from typing import TYPE_CHECKING, Any, Final, cast

from counterpoint.app import App, Identity, open_app
from counterpoint.cli.server.background import Checkpoints
from counterpoint.cli.server.events import ReceivedEvent, peer_of
from counterpoint.core.model.identity import Attested, Peer
from counterpoint.core.model.presence import ProcessMark
from counterpoint.core.rules.access import capability_of
from counterpoint.core.rules.identity import agent_behind, share_of
from counterpoint.dialects import registry
from counterpoint.dialects.call import Call
from counterpoint.evidence.host import ServedConnection
from counterpoint.evidence.places import FOLDER, open_folder
from counterpoint.evidence.processes import is_check, marked, variables_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, InvalidInput, StoreBusy, Unavailable
from counterpoint.kernel.places import has_lost_ledger
from counterpoint.kernel.starting.garbage import settle
from counterpoint.kernel.starting.signals import ending_signals
from counterpoint.kernel.visible import label
from counterpoint.protocol.peers import held_process
from counterpoint.protocol.rendezvous import PATIENCE, Rendezvous, find_rendezvous
from counterpoint.protocol.sockets import ConnectionContext, Greeting, Sockets
from counterpoint.protocol.surface import Caller
from counterpoint.protocol.wire.reports import Reported
from counterpoint.protocol.workers import Workers

if TYPE_CHECKING:
    from counterpoint.cli.server.foreign import OpenSocket

WORKERS: Final = 32
"""How many calls of all connections may run at once; a gate that runs for minutes takes one."""
FIRST: Final = 20.0
"""Seconds that a server waits for its first client, whatever is set."""
GLANCE: Final = 1.0
"""Seconds between two looks whether the database's folder is still there."""

CONVERSATIONS: Final = 1_000
"""How many conversations of one connection are remembered; who is forgotten is known again by its next call."""

logger = logging.getLogger(__name__)

_KEPT: Final[list[ExitStack]] = []
"""Locks of databases that could not be closed, kept to the end of the process."""
_LISTENS: Final = threading.Event()
"""Set before the descriptor is closed on which whoever started this process hears of it."""
_REASON_BYTES: Final = 2_000
SHARING: Final = threading.Lock()
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
        _tell_starter(int(ready), refusal.message)
        # The command line has the words for it, and takes long to load.
        from counterpoint.cli.main import refused

        return refused(refusal)
    except OSError as fault:
        _tell_starter(int(ready), str(fault))
        raise
    return 0


def _tell_starter(ready_fd: int, reason: str) -> None:
    """Say to whoever started this why nothing listens: a disk that is full takes no line of a log."""
    if not _LISTENS.is_set():
        with suppress(OSError):
            os.write(ready_fd, f"-{reason}".encode("utf-8", "replace")[:_REASON_BYTES])


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
    settle()
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
        presence: ServedConnection | None = None,
        *,
        has_run: bool = False,
    ) -> None:
        """Decide who calls, and open nothing.

        peer: who is at the other end. secret: what only this connection has; empty without one. has_run: whether that
        is kept for a run; else each conversation that the client names in its calls has a session of its own. host: the app
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
        self._presence = presence or ServedConnection()
        self._has_run = has_run
        self._attested: Attested | None = None
        self._user = peer.lineage[0].uid if peer.lineage else -1
        self._seated: dict[str, tuple[Identity, ServedConnection]] = {}
        self._host_process = (host or app).host
        self.caller = share_of(peer, (host or app).connected, app.credential)
        self._opening = threading.Lock()

    @cached_property
    def _secret(self) -> bytes:
        return self._app.secret

    @cached_property
    def _is_guarded(self) -> bool:
        return registry.surface(self._app.settings.surface).guarded

    def call(self, caller: Caller) -> Call:
        """Return what a tool gets; CounterpointError while the ledger cannot be opened."""
        client = label(caller.client)
        name = self._app.settings.agent or client or self._identity.name
        identity = replace(self._identity, name=name, client=client)
        conversation = "" if self._has_run else caller.conversation
        with self._opening:
            if self._host is not None:
                with SHARING:
                    self._app.share(self._host, guarded=self._is_guarded)
                self._host = None
            if self._peer is not None:
                core = self._app.core(identity, guarded=self._is_guarded)
                self._attested = core.identities.attest(
                    self._peer, self._app.connected, self._credential
                )
                # One that was revoked ends with the next call: so a credential is asked for each time.
                if not self._credential:
                    self._peer = None
            attested = self._attested
            if attested is not None and attested.name and not self._app.settings.agent:
                name = attested.name
            identity = replace(self._seat(conversation, client), name=name, client=client)
            identity = replace(identity, attested=attested)
        core = self._app.core(identity, guarded=self._is_guarded)
        if not self._app.settings.is_read_only:
            core.claims.keep()
        if self._checkpoints is not None and not self._app.settings.is_read_only:
            self._checkpoints.tend(self._app.project, self._app.itself)
            self._checkpoints.mirrors.tend(self._app)
            self._checkpoints.research.tend(self._app)
        return Call(core=core, secret=lambda: self._secret, settings=self._app.settings)

    def _seat(self, conversation: str, client: str) -> Identity:
        """Return as whom a call is heard that belongs to a conversation; empty: to the connection itself."""
        seated = self._seated.get(conversation)
        if seated is None:
            identity, presence = self._identity, self._presence
            presence.origin = _origin_of(presence.origin, client)
            if conversation:
                # Who knows it by hearsay, under another account, has another capability.
                user = str(self._user)
                capability = capability_of("conversation", user, conversation)
                identity = replace(self._app.agent(), capability=capability)
                presence = replace(presence, seat="")
            seated = self._take_seat(identity, presence), presence
            if len(self._seated) >= CONVERSATIONS:
                _, oldest = self._seated.pop(next(name for name in self._seated if name))
                self._host_process.depart(oldest)
            self._seated[conversation] = seated
        return seated[0]

    def _take_seat(self, identity: Identity, presence: ServedConnection) -> Identity:
        """Return the identity in the session that it came with before, or comes with now."""
        host = self._host_process
        if not self._app.settings.session:
            # Who was killed in its first call may come again before that call is written.
            fresh = host.fresh_session(identity.capability, identity.session)
            core = self._app.core(identity, guarded=self._is_guarded)
            session, seat = core.identities.recall(identity.capability, fresh)
            if host.take_seat(seat, presence, alone=True):
                if not self._app.settings.is_read_only:
                    core.presences.renew(seat)
                return replace(identity, session=session, seat=seat)
            # Two that live are not one, whoever copied the secret.
            identity = replace(self._app.agent(), capability=capability_of("secret", token_hex()))
        host.take_seat(identity.seat or identity.session, presence)
        return identity

    def leave(self) -> None:
        """Let others know that this connection has ended; waits for nothing that a call does."""
        self._presence.is_over = True
        for _, presence in list(self._seated.values()):
            self._host_process.depart(presence)


@dataclass(slots=True)
class Patience:
    """How many seconds a server stays when nobody is left: the longest that anybody whom it served is set to.

    Whoever happened to start it may have asked for none, as a look at whether it starts does.
    """

    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hear(self, minutes: int) -> None:
        """Stay as long as one more agent is set to."""
        with self._lock:
            self.seconds = max(self.seconds, minutes * 60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionApps:
    """Where relays get what serves them: one app of the database, and one more for each connection."""

    host: App
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    patience: Patience = field(default_factory=Patience)

    def _app(self, greeting: Greeting) -> App:
        if greeting.peer.user == os.getuid():
            return open_app(Path(greeting.folder), greeting.environ, **greeting.flags)
        from counterpoint.cli.server.foreign import app_for

        return app_for(greeting, self.host)

    def app(self, greeting: Greeting) -> App:
        """Return the app for who greets; InvalidInput for another database or a wrong setting."""
        app = self._app(greeting)
        # A relay sends no secrets; the kernel says which it has, so that they are masked all the same.
        if greeting.peer.user == os.getuid():
            app.hiding = variables_of(greeting.peer.pid) or app.environ
        if not _is_one(app.database, self.host.database):
            raise InvalidInput(
                f"this is the server of {self.host.database}, not of {app.database}",
                hint="Run `counterpoint down` there and connect again.",
            )
        if self.host.settings.is_read_only:
            app.settings = replace(app.settings, mode=self.host.settings.mode)
        return app

    def hear(self, greeting: Greeting, report: Reported) -> Callable[[bool], None]:
        """Take an event of a hook into memory, as `HookEvents.take`; InvalidInput for another database."""
        app = self.app(greeting)

        def tend() -> None:
            # Its project is asked for once it shares the store: before that it would open one of its own.
            self.checkpoints.tend(app.project, app.itself)

        return self.checkpoints.events.take(ReceivedEvent(self.host, app, greeting, report, tend))

    def admit(self, greeting: Greeting) -> ConnectionContext[Call]:
        """Return the context for a relay; InvalidInput for another database or a wrong setting."""
        app = self.app(greeting)
        caller = peer_of(greeting)
        peer = greeting.peer
        presence = served_connection(app, caller, peer.user, greeting.folder, peer.has_ended)
        connection = Connection(
            app,
            caller,
            greeting.secret,
            self.host,
            self.checkpoints,
            presence,
            has_run=greeting.has_run,
        )
        surface = registry.surface(app.settings.surface, app.settings)
        _freeze(app.settings.surface)
        self.patience.hear(app.settings.idle_minutes)
        return ConnectionContext(
            surface=surface,
            call_for=connection.call,
            leave=connection.leave,
            caller=connection.caller,
        )


def _origin_of(origin: str, client: str) -> str:
    """Return the hash that tells where a client is started; origin: as it is known before its name."""
    return sha256(f"{origin}\0{client}".encode("utf-8", "surrogatepass")).hexdigest()


def served_connection(
    app: App, peer: Peer, user: int, folder: str, has_ended: Callable[[float], bool] | None = None
) -> ServedConnection:
    """Return a connection as the host knows it: its processes, and where it comes from.

    has_ended: whether its process ended within so many seconds; None for this process.
    """
    nearest = peer.lineage[0] if peer.lineage else None
    agent = agent_behind(peer, app.clock.now())
    settings = app.settings
    words = (gethostname(), str(user), folder, settings.agent, settings.profile, settings.surface)
    return ServedConnection(
        has_ended=has_ended or (lambda _seconds: False),
        process=marked(nearest, peer.boot, peer.namespace) if nearest else ProcessMark(),
        agent=agent.mark if agent else ProcessMark(),
        origin="\0".join(words),
    )


def _is_one(first: Path, other: Path) -> bool:
    """Return whether two paths lead to one database, as where a folder is mounted twice."""
    with suppress(OSError):
        return first == other or first.samefile(other)
    return False


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
    board: Callable[[App, Peer], Mapping[str, Json]] = lambda _app, _peer: {},
) -> AsyncGenerator[Sockets[Call]]:
    """Be the server of a database during the block; StoreBusy if another one is.

    What is answered has an event `over`, set when it is time to leave: it was asked to, its folder
    or its database is gone or another one, or nobody was connected for `idle` seconds (None: however long), or for longer if an agent that came is set so.
    by_starter: whoever started this process keeps others from starting one. others: where to listen, so
    that other accounts are served as well. checkpoints: has what is written signed; ended here. board: lets whoever asks for it in.
    """
    rendezvous = find_rendezvous(app.database)
    # Where a ledger was that is gone, nothing is made.
    if app.folder.name == FOLDER and not has_lost_ledger(str(app.database)):
        # Each call that would write says what keeps it from that.
        with suppress(OSError):
            open_folder(app.folder)
    checkpoints = checkpoints or Checkpoints()
    if others is not None:
        rendezvous = replace(rendezvous, at=others.path)
    with ExitStack() as stack:
        with ExitStack() as starting:
            if not by_starter:
                starting.enter_context(rendezvous.turn("starting"))
            stack.enter_context(rendezvous.turn("lock"))
            stack.enter_context(rendezvous.alone())
            listener = rendezvous.listen(app.clock)
            if others is not None:
                others.open()
        patience = Patience(idle or 0.0)
        apps = ConnectionApps(host=app, checkpoints=checkpoints, patience=patience)
        sockets = Sockets(
            listener,
            apps.admit,
            workers=workers,
            started_at=app.clock.now(),
            more=lambda: {"circuit": asdict(app.breaker.circuit())},
            agents=lambda: [asdict(agent) for agent in app.connected.agents()],
            hear=apps.hear,
            users=others.users if others is not None else (),
            is_check=is_check,
            board=lambda greeting: board(apps.app(greeting), peer_of(greeting)),
        )
        sockets.start()
        own_identity = _identity(rendezvous)
        watching = [asyncio.create_task(_watch(app, rendezvous, _meeting(rendezvous), sockets))]
        if idle is not None:
            watching.append(asyncio.create_task(_leave_when_idle(sockets, patience, checkpoints)))
        try:
            yield sockets
        finally:
            for task in watching:
                task.cancel()
            if _identity(rendezvous) == own_identity:
                rendezvous.clear()
            # Whoever is cut off now goes on with the next server.
            app.host.stop_noting()
            was_quiet = await sockets.close()
            has_ended = await asyncio.to_thread(checkpoints.close)
            # Closing the store under a call that runs would wait for it, or break it.
            if was_quiet and has_ended:
                await asyncio.to_thread(app.close)
            else:
                # Whoever has the lock has the database alone: so it lasts as long as this process.
                _KEPT.append(stack.pop_all())


async def _leave_when_idle(
    sockets: Sockets[Call], patience: Patience, checkpoints: Checkpoints
) -> None:
    """Set `over` when nobody was there for so long; the first client gets a longer time.

    Deep research that was begun goes on without a client, for as long as it may take.
    """
    least = FIRST
    while True:
        sockets.changed.clear()
        try:
            limit = None if sockets.clients else max(patience.seconds, least)
            await asyncio.wait_for(sockets.changed.wait(), limit)
        except TimeoutError:
            if not checkpoints.research.is_busy:
                break
            least = GLANCE
            continue
        least = 0.0
    sockets.over.set()


async def _watch(
    app: App, rendezvous: Rendezvous, meeting: tuple[object, ...], sockets: Sockets[Call]
) -> None:
    """Set `over` when the files of the meeting point or the database are gone, or are somebody else's.

    Whom nobody finds any more keeps others from serving: so what makes him known is looked at too. Where a ledger is gone, it is met elsewhere.
    """
    while _meeting(rendezvous) == meeting and not sockets.over.is_set():
        if lost := await asyncio.to_thread(app.lost):
            logger.error("%s %s", lost.message, lost.hint)
            break
        if not _is_met(rendezvous):
            break
        with suppress(TimeoutError):
            await asyncio.wait_for(sockets.over.wait(), GLANCE)
    sockets.over.set()


def _is_met(rendezvous: Rendezvous) -> bool:
    """Return whether who looks for the server of the database looks here: not once a ledger was brought back, or is gone."""
    with suppress(Unavailable):
        return find_rendezvous(rendezvous.database).prefix == rendezvous.prefix
    return True


def _meeting(rendezvous: Rendezvous) -> tuple[object, ...]:
    """Return which files the meeting point has, and what makes it known."""
    with suppress(OSError, Unavailable):
        file, at = rendezvous.file("json").stat(), rendezvous.socket.stat()
        file_mark = file.st_ino, file.st_size, file.st_mtime_ns
        return _identity(rendezvous), file_mark, at.st_dev, at.st_ino
    return ()


def _identity(rendezvous: Rendezvous) -> tuple[int, int] | None:
    try:
        status = rendezvous.file("lock").stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
        for number in ending_signals():
            loop.add_signal_handler(number, sockets.over.set)
        # Whoever started this may be gone.
        _LISTENS.set()
        with suppress(BrokenPipeError):
            if ready_fd is not None:
                os.write(ready_fd, b"+")
        for descriptor in (ready_fd, turn_fd):
            if descriptor is not None:
                os.close(descriptor)
        await sockets.over.wait()


def _wait_for_unknown(rendezvous: Rendezvous) -> None:
    """Pass once nobody is the server; one that cannot be found ends by itself. Unavailable if it does not."""
    if not rendezvous.is_held():
        return
    try:
        with rendezvous.turn("lock"):
            pass
    except StoreBusy as fault:
        raise Unavailable(
            f"a server has {rendezvous.database} and cannot be found: {rendezvous.file('json')} does not lead to it",
            hint=f"End the process that holds {rendezvous.file('lock')}; nothing that was answered is lost by it.",
        ) from fault


def end_server(database: Path) -> dict[str, Any] | None:
    """End the server of a database and wait until it is gone; None if there was none.

    Raises Unavailable if it does not go.
    """
    rendezvous = find_rendezvous(database)
    server = rendezvous.known()
    # Held before it is asked, so that its number is not another's when it has gone.
    with held_process(int(server["pid"]) if server else 0) as process:
        was = rendezvous.ask("stop")
        if was is None:
            _wait_for_unknown(rendezvous)
            return None
        try:
            with rendezvous.turn("lock"):
                pass
        except StoreBusy:
            # Another one, which waited for its place, may have that now.
            has_ended = process is not None and process.has_ended(0)
        else:
            # What it does last, it does without the lock: it has answered for all of it when it is gone.
            has_ended = process is None or process.has_ended(PATIENCE)
    if not has_ended:
        raise Unavailable(
            f"the server {was.get('pid')} does not leave",
            hint=f"End the process {was.get('pid')}; nothing that was answered is lost by it.",
        )
    return {"pid": was["pid"], "version": was["version"], "clients": cast("int", was["clients"])}
