"""The server's end of the socket that relays connect to.

A connection is one of (1) an agent's: its first line is `{"counterpoint": 1, "version", "flags",
"environ", "folder", "secret", "run"}`, answered by `{"ok": true, "version"}`, and from then on it is newline-delimited
JSON-RPC as on standard streams; (2) a question: `{"counterpoint": 1, "ask": "status" | "agents" | "stop"}`,
answered by one line and the end, and with the fields of an agent's first line `"ask": "board"`, answered by where the board
is and a code to log in with, nothing where there is none; (3) an event that a hook reports: the first line is that of an agent with `"event",
"size", "kept"`, and so many bytes follow; answered by `{"ok": true}` once it is in memory, and the end. Anything else, another number than 1, and a peer of another user
are answered by `{"ok": false, "error": {"code", "message", "hint"}}` and the end.

A connection holds nothing but memory: what its client asked for is answered, or not, and whoever
does not read `UNREAD` bytes of answers is let go, so that the others do not wait for it.

No account takes all places (protocol/limits.py): there are so many for agents that the process has descriptors for
them, and half as many for those who have not said their first line yet, which must come whole in
`PATIENCE` seconds. Who finds no place is refused at once, in words. A question takes no place of an agent, so that
a server that is full can be asked, and stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import resource
import socket
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, Final, Generic, TypeVar, cast

import orjson

from counterpoint import __version__
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, Forbidden, InvalidInput, RateLimited
from counterpoint.kernel.releases import release
from counterpoint.protocol.limits import Shares
from counterpoint.protocol.peers import PeerProcess, held_peer
from counterpoint.protocol.rendezvous import PROTOCOL
from counterpoint.protocol.surface import Caller, Surface, contained
from counterpoint.protocol.wire.direct import Direct
from counterpoint.protocol.wire.inbox import Inbox
from counterpoint.protocol.wire.outbox import Outbox
from counterpoint.protocol.wire.reports import HOOKS, Reported, read_report
from counterpoint.protocol.workers import CALLER, CONNECTION, Workers

C = TypeVar("C")

UNREAD: Final = 8_000_000
"""Bytes of answers that may wait for one connection."""
GREETING: Final = 2_000_000
"""Bytes that a first line may have: an environment is in it."""
PATIENCE: Final = 10.0
"""Seconds until a first line must have come."""
PLACES: Final = 2_000
"""How many agents may be connected at once, all accounts together."""
_APIECE: Final = 3
"""Descriptors kept for one connection: its socket, its process, and a share of those for HTTP."""
_OWN: Final = 100
"""Descriptors that the server needs for itself."""
UNWIND: Final = 0.1
"""Seconds that calls under way get when the server leaves."""

_ENDS: Final = 0.05

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a relay says first: the flags and variables its agent was started with, and where.

    secret: what only this connection has. has_run: whether it is known which run it is of, so that its conversations
    are not told apart. peer: the relay's process, as the kernel says.
    """

    flags: dict[str, str]
    environ: dict[str, str] = field(repr=False)
    folder: str
    version: str
    peer: PeerProcess
    secret: str = field(default="", repr=False)
    has_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionContext(Generic[C]):
    """What a connection is served with; `leave` is called once, in the event loop, when it has ended.

    caller: whose calls are counted together, so that nobody takes all threads.
    """

    surface: Surface[C]
    call_for: Callable[[Caller], C]
    leave: Callable[[], None] = lambda: None
    caller: str = ""


@dataclass(eq=False, slots=True, kw_only=True)
class _Open:
    """A connection that is served."""

    inbox: Inbox
    outbox: Outbox
    serving: asyncio.Task[None]


class Sockets(Generic[C]):
    """Every connection to one listening socket, and when it is time to leave."""

    def __init__(
        self,
        listener: socket.socket,
        admit: Callable[[Greeting], ConnectionContext[C]],
        *,
        workers: Workers,
        started_at: str,
        more: Callable[[], Mapping[str, Json]] = dict,
        agents: Callable[[], Sequence[Mapping[str, Json]]] = tuple[Mapping[str, Json], ...],
        hear: Callable[[Greeting, Reported], Callable[[bool], None]] | None = None,
        users: Collection[int] = (),
        is_check: Callable[[int], bool] = lambda _pid: False,
        board: Callable[[Greeting], Mapping[str, Json]] = lambda _greeting: {},
    ) -> None:
        """Accept nothing yet; `admit` refuses with a CounterpointError.

        more: what else stands in the answer to the question `status`; asked each time. agents: who was seen to connect,
        for the question `agents`. hear: takes an event of a hook into memory, or refuses it; what it answers is called with whether
        that reached the hook. users: who may come
        in besides the user of this process; nobody of them ends it. is_check: answers whether a process belongs to a check in a
        sandbox, which is refused whatever it asks. board: answers who asks for the board.
        """
        self._listener = listener
        self._admit = admit
        self._workers = workers
        self._started_at = started_at
        self._more = more
        self._agents = agents
        self._hear = hear
        self._users = frozenset(users) | {os.getuid()}
        self._is_check = is_check
        self._board = board
        places = _places()
        self._seats, self._unidentified = Shares(places), Shares(places // 2)
        self._hooks = Shares(HOOKS)
        self._open: set[_Open] = set()
        self._greeted: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None
        self.over = asyncio.Event()
        """Set when it is time to leave."""
        self.changed = asyncio.Event()
        """Set whenever a client comes or goes."""

    @property
    def clients(self) -> int:
        """How many agents are connected."""
        return len(self._open)

    def start(self) -> None:
        """Begin to accept."""
        self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> bool:
        """Let no one in, finish what is under way, at most for a moment; answer whether it was."""
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait({self._accepting})
        self._listener.close()
        connections = list(self._open)
        for connection in connections:
            connection.inbox.end()
        if connections:
            await asyncio.wait({connection.serving for connection in connections}, timeout=UNWIND)
        was_quiet = not any(connection.outbox.open for connection in connections)
        tasks = {task for task in self._greeted if not task.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=UNWIND)
        return was_quiet

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                to, _ = await loop.sock_accept(self._listener)
            except OSError:
                # Out of descriptors: the connection waits in the queue until one is free.
                logger.exception("a connection could not be accepted")
                self.changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), 1)
                continue
            to.setblocking(False)
            task = asyncio.create_task(self._welcome(to))
            # The loop holds tasks weakly: one that nobody keeps may be collected while it runs.
            self._greeted.add(task)
            task.add_done_callback(self._greeted.discard)

    async def _welcome(self, to: socket.socket) -> None:
        """Read a first line and act on it."""
        with to:
            try:
                with contained("a connection"):
                    await self._receive(to)
            except CounterpointError as refusal:
                error = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
                await _send(to, {"ok": False, "version": __version__, "error": error})

    async def _receive(self, to: socket.socket) -> None:
        with held_peer(to, self._users) as peer:
            try:
                with _place(self._unidentified, peer, "that have not said who they are"):
                    line, begun = await asyncio.wait_for(_first_line(to), PATIENCE)
            except (TimeoutError, ConnectionError):
                return
            if not line:
                return
            if self._is_check(peer.pid):
                raise Forbidden(
                    "a check in a sandbox reaches no server: what it did would be done in another's name",
                    hint="Do it before or after the check, outside of it.",
                )
            first = _parsed(line)
            if "ask" in first:
                await self._answer(to, first, peer)
                return
            if "event" in first:
                with _place(self._hooks, peer, "of hooks"):
                    await self._take_event(to, first, begun, peer)
                return
            with _place(self._seats, peer, "of agents"):
                # A dialect may have to be loaded for it, which the others need not wait for.
                greeting = _greeting(first, peer)
                _refuse_other(greeting.version)
                context = await asyncio.to_thread(self._admit, greeting)
                await _send(to, {"ok": True, "version": __version__})
                CALLER.set(context.caller)
                CONNECTION.set(str(to.fileno()))
                # The process is held as long as it is served: so its end is known before that of the connection.
                await self._serve(to, context, begun)

    async def _answer(self, to: socket.socket, first: Mapping[str, Any], peer: PeerProcess) -> None:
        """Answer a question about the server itself."""
        question = first["ask"]
        if not isinstance(question, str) or question not in {"status", "agents", "stop", "board"}:
            raise InvalidInput(
                "a server is asked for its status, for agents, for its board, or to stop"
            )
        if peer.user != os.getuid():
            raise Forbidden("only the account of this server asks about it")
        if question == "board":
            board = await asyncio.to_thread(self._board, _greeting(first, peer))
            await _send(to, {"ok": True, **board})
            return
        if question == "agents":
            await _send(to, {"ok": True, "agents": [*self._agents()]})
            return
        status = {
            "pid": os.getpid(),
            "version": __version__,
            "clients": self.clients,
            "started_at": self._started_at,
            **self._more(),
        }
        await _send(to, {"ok": True, **status})
        if question == "stop":
            self.over.set()
            # The end of the connection tells that the server is gone.
            await asyncio.Event().wait()

    async def _take_event(
        self, to: socket.socket, first: Mapping[str, Any], begun: bytes, peer: PeerProcess
    ) -> None:
        """Take in one event that a hook reports; an agent waits for its end."""
        if self._hear is None:
            raise InvalidInput("events of hooks are not taken in here")
        greeting = _greeting(first, peer)
        report = await read_report(to, first, begun)
        settle = await asyncio.to_thread(self._hear, greeting, report)
        settle(await _send(to, {"ok": True}))

    async def _serve(self, to: socket.socket, context: ConnectionContext[C], begun: bytes) -> None:
        outbox = Outbox(to.fileno(), limit=UNREAD)
        direct = Direct(context.surface, self._workers, outbox, context.call_for)
        inbox = Inbox(to.fileno(), outbox, begun, direct)
        serving = asyncio.create_task(self._run(context, inbox, outbox, direct))
        connection = _Open(inbox=inbox, outbox=outbox, serving=serving)
        self._open.add(connection)
        self.changed.set()
        try:
            await asyncio.wait({serving})
        finally:
            self._open.discard(connection)
            self.changed.set()
            serving.cancel()
            await asyncio.wait({serving}, timeout=_ENDS)
            # A writer that stays registered would outlive its descriptor.
            outbox.leave()
            context.leave()

    async def _run(
        self, context: ConnectionContext[C], inbox: Inbox, outbox: Outbox, direct: Direct[C]
    ) -> None:
        """Serve one connection; what goes wrong in it ends it and no other."""
        with contextlib.suppress(CounterpointError), contained("a connection"):
            if await inbox.wants_sdk():
                direct.leave_to_sdk()
                sdk = await asyncio.to_thread(_load_sdk)
                server = sdk.create_server(
                    context.surface, context.call_for, workers=self._workers, direct=direct
                )
                await server.run(inbox, outbox, server.create_initialization_options())
            await outbox.drain(UNWIND)


def _places() -> int:
    """Return how many agents may be connected, as far as descriptors go."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        PLACES if most == resource.RLIM_INFINITY else min(PLACES, max(4, (most - _OWN) // _APIECE))
    )


@contextlib.contextmanager
def _place(places: Shares, peer: PeerProcess, whose: str) -> Generator[None]:
    """Have a place of those for an account during the block; RateLimited."""
    account = f"uid {peer.user}"
    if not places.take(account):
        raise RateLimited(
            f"this account has too many connections {whose}",
            hint="End agents that are not needed, or connect again later.",
        )
    try:
        yield
    finally:
        places.give_back(account)


@cache
def _load_sdk() -> ModuleType:
    """Return the module that serves with the SDK, loaded by the first connection that needs it."""
    from counterpoint.protocol import server

    # What was loaded stays; to look for garbage in it again and again would stop every call.
    gc.freeze()
    return server


async def _first_line(to: socket.socket) -> tuple[bytes, bytes]:
    """Return the first line and what came after it; an empty line if there is none."""
    loop = asyncio.get_running_loop()
    received = bytearray()
    while b"\n" not in received:
        if len(received) > GREETING:
            raise InvalidInput(f"a first line has at most {GREETING} bytes")
        chunk = await loop.sock_recv(to, 65536)
        if not chunk:
            return b"", b""
        received += chunk
    line, _, begun = bytes(received).partition(b"\n")
    return line, begun


def _refuse_other(version: str) -> None:
    """Raise InvalidInput for a relay of another release: its lists of tools are not those that are served."""
    own, other = release(__version__), release(version)
    if other < own:
        raise InvalidInput(
            f"this relay is of version {version or '?'}, and the server of the database is of the newer version {__version__}",
            hint="Start this agent again: its relay is then of the version that is installed.",
        )
    if other > own:
        raise InvalidInput(
            f"an older server (version {__version__}, process {os.getpid()}) has this database,"
            f" and this relay is of version {version}",
            hint="Run `counterpoint down`; the next call starts a server of the newer version.",
        )


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the object of a first line; InvalidInput for any other conversation than ours."""
    try:
        first: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        first = None
    number = cast("dict[str, Any]", first).get("counterpoint") if isinstance(first, dict) else None
    if number != PROTOCOL:
        raise InvalidInput(
            f"this server speaks version {PROTOCOL} of the conversation with its relays,"
            f" not {number if isinstance(number, int) else 'whatever that was'}",
            hint="Run `counterpoint down` and connect again: the newest version starts then.",
        )
    return cast("dict[str, Any]", first)


def _greeting(first: Mapping[str, Any], peer: PeerProcess) -> Greeting:
    """Return the greeting of a first line; InvalidInput if it is none."""
    flags, environ, folder = first.get("flags"), first.get("environ"), first.get("folder")
    secret = first.get("secret", "")
    if not (_is_text(flags) and _is_text(environ) and isinstance(folder, str)):
        raise InvalidInput("a relay tells flags, variables and its folder first")
    return Greeting(
        flags=cast("dict[str, str]", flags),
        environ=cast("dict[str, str]", environ),
        folder=folder,
        version=str(first.get("version", "")),
        peer=peer,
        secret=secret if isinstance(secret, str) else "",
        has_run=first.get("run") is True,
    )


def _is_text(names: object) -> bool:
    if not isinstance(names, dict):
        return False
    return all(isinstance(value, str) for value in cast("dict[str, object]", names).values())


async def _send(to: socket.socket, answer: Mapping[str, Json]) -> bool:
    """Return whether anybody was left to tell."""
    with contextlib.suppress(ConnectionError):
        line = orjson.dumps(answer) + b"\n"
        await asyncio.get_running_loop().sock_sendall(to, line)
        return True
    return False
