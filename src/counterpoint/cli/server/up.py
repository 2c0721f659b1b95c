"""The server in the foreground: HTTP for callers elsewhere, the socket for relays.

Standard error gets one JSON object a line: `listening` with its addresses, `request` for each request,
`log` for what the program has to say, `ended`. None of them has a token or an argument in it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import shutil
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from ipaddress import ip_address
from secrets import token_hex
from typing import Any, Final

import click
import orjson

from counterpoint.app import App, Identity
from counterpoint.cli.context import open_here, project_options, require
from counterpoint.cli.present import present_entry
from counterpoint.cli.server.checkpoints import Checkpoints
from counterpoint.cli.server.connect import surface_named
from counterpoint.cli.server.serving import WORKERS, end_server, serve_sockets
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Bearer, Principal, Token, Usage
from counterpoint.core.model.identity import Attested
from counterpoint.core.rules import access
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects import registry
from counterpoint.dialects.call import Call
from counterpoint.kernel.canonical import dump_any
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import CounterpointError, Forbidden, InvalidInput, Unavailable
from counterpoint.kernel.ids import RandomMint
from counterpoint.protocol.http.access_log import AccessLogLine
from counterpoint.protocol.http.app import Gauges, HttpApp, ServerConfig
from counterpoint.protocol.http.events import Events, SentEvent
from counterpoint.protocol.http.grants import Grant
from counterpoint.protocol.http.guards import LOOPBACK, SESSION_HEADER, Hosts
from counterpoint.protocol.http.oauth import Issuer, KeySet
from counterpoint.protocol.http.serving import Listener, listen
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.protocol.surface import Caller
from counterpoint.protocol.workers import Workers
from counterpoint.settings import Settings

PORT: Final = 8765
NOBODY: Final = "agent"
"""The name of a caller who gives none and brings no token."""
LEAST_ROOM: Final = 64 * 1024 * 1024
"""Bytes that must be free on the database's disk for the server to call itself ready."""

MOST_PLACES: Final = 10_000
"""Connections of which is known in which session they are before they wrote anything."""

_PAGE: Final = 100
_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(kw_only=True)
class HttpBackend:
    """What HTTP asks of the project: who a caller is, and what a tool gets.

    checkpoints: has what is written signed. calls_a_month: what all callers together may call; 0 for no limit.
    """

    app: App
    issuer: Issuer | None
    connections: Callable[[], int]
    calls_a_month: int = 0
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    _places: OrderedDict[str, str] = field(init=False, default_factory=OrderedDict[str, str])

    @cached_property
    def _secret(self) -> bytes:
        return self.app.secret

    @cached_property
    def _visit(self) -> str:
        """What callers have in common who bring neither a token nor a session: it lasts as long as the server."""
        return token_hex()

    @property
    def _core(self) -> Core:
        return self.app.core(Identity(kind="system", name="counterpoint"))

    def open(self) -> None:
        """Open what several threads would otherwise open at once."""
        self.app.ports.store.projects()
        _ = self._secret, self._visit

    def find(self, token: str, address: str) -> Grant | None:
        """Return what the bearer of a token may do; None if it is not valid here."""
        if access.is_secret(token):
            found = self._core.tokens.authenticate(token, address)
            return _grant(found) if found else None
        return self.issuer.find(token) if self.issuer is not None else None

    def anyone(self) -> Grant | None:
        """Return what a caller without a token may do: all, as long as there was never a token."""
        if self.issuer is not None or self._core.tokens.are_needed():
            return None
        return Grant(id="", name=NOBODY, session="")

    def call_for(self, grant: Grant, caller: Caller) -> Call:
        """Return what a tool gets; Forbidden, InvalidInput for a name or session that is not theirs.

        A call belongs to the token and to the `Mcp-Session-Id` that this server made, if it brings one.
        """
        headers: Any = getattr(caller.request, "headers", {})
        named = headers.get("counterpoint-agent", "")
        if not named and not grant.id and access.is_agent(caller.client):
            named = caller.client
        system = Identity(kind="system", name="counterpoint")
        visit = headers.get(SESSION_HEADER, "")
        capability = access.capability_of(
            "http", grant.id or (visit and "open") or self._visit, visit
        )
        session = "" if visit else grant.session
        # Clients that share a token are one principal, and have sessions of their own: the capability decides.
        bearer = Bearer(name=grant.name, capability=capability, session=session)
        found = self.app.core(system, guarded=caller.guarded).tokens.identify(
            bearer,
            agent=named,
            wanted=headers.get("counterpoint-session", ""),
            # Calls that come together at first must not make two sessions of one connection.
            fresh=self._places.setdefault(capability, RandomMint().mint("ses")),
        )
        # Until something is written in it, nothing else knows which session a connection has.
        self._places[capability] = found.session
        while len(self._places) > MOST_PLACES:
            self._places.popitem(last=False)
        identity = Identity(
            kind="agent",
            name=found.agent,
            session=found.session,
            profile=self.app.settings.profile,
            client=caller.client,
            item=self.app.item,
            capability=capability,
            seat=found.seat,
            attested=_attested(grant),
        )
        core = self.app.core(identity, guarded=caller.guarded)
        if not self.app.settings.is_read_only:
            self.checkpoints.tend(self.app.project, self.app.itself)
        return Call(core=core, secret=lambda: self._secret, settings=self.app.settings)

    def draw(self, subject: str, most: int) -> Usage:
        """Take some calls of this month, for a token or for all."""
        return self._core.tokens.take(subject, most)

    def give_back(self, subject: str, month: str, calls: int) -> None:
        """Put back calls that were taken and not made."""
        self._core.tokens.give_back(subject, month, calls)

    def last(self, grant: Grant) -> int:
        """Return the sequence of the last entry."""
        del grant
        return self._core.feed.last()

    def present(self, grant: Grant, after: int, seconds: float) -> list[SentEvent]:
        """Return the entries above a sequence, waiting for the first; Forbidden without a token."""
        if not self._is_in_force(grant):
            raise Forbidden("this token is not in force any more")
        return [
            SentEvent(
                sequence=entry.sequence, action=entry.action, text=dump_any(present_entry(entry))
            )
            for entry in self._core.feed.entries(after, _PAGE, seconds)
        ]

    def _is_in_force(self, grant: Grant) -> bool:
        """Whether a grant is what it was when its request came; an issuer's ends with its stream."""
        if not grant.id:
            return self.anyone() is not None
        now = self.app.clock.now()
        mine = [one for one in self._core.tokens.list() if one.id == grant.id]
        return not grant.id.startswith("tok_") or any(access.is_in_force(one, now) for one in mine)

    def troubles(self) -> list[str]:
        """Return what keeps the server from being ready: a store that is silent, a disk that is full."""
        found: list[str] = []
        try:
            _ = self._size()
        except CounterpointError as fault:
            found.append(fault.code)
        circuit = self.app.breaker.circuit()
        if circuit.state == "open":
            found.append(f"circuit_open: {circuit.last}, a trial in {circuit.retry_after} s")
        try:
            if shutil.disk_usage(self.app.folder).free < LEAST_ROOM:
                found.append("disk_full")
        except OSError:
            found.append("disk_unreadable")
        return found

    def gauges(self) -> Gauges:
        """Return what is measured beside the requests; of a store that fails, not its entries."""
        circuit = self.app.breaker.circuit()
        gauges = {
            "counterpoint_open_connections": ("Open HTTP connections.", self.connections()),
            "counterpoint_circuit_state": (
                "The breaker before the store: 0 closed, 1 half open, 2 open.",
                ("closed", "half_open", "open").index(circuit.state),
            ),
            "counterpoint_circuit_failures": (
                "Faults of the store that the breaker counts now.",
                circuit.failures,
            ),
            "counterpoint_circuit_openings_total": (
                "How many times the breaker has opened.",
                circuit.opened,
            ),
            "counterpoint_circuit_refusals_total": (
                "Calls that the open breaker refused.",
                circuit.refused,
            ),
        }
        with suppress(CounterpointError):
            gauges["counterpoint_ledger_entries"] = ("Entries in the ledger.", self._size())
        return gauges

    def _size(self) -> int:
        with self.app.store.reading(self.app.project) as view:
            return view.head().size


def _attested(grant: Grant) -> Attested | None:
    """Return who brings a token: whatever clients share it or call themselves, they are one."""
    if not grant.id:
        return None
    return Attested(
        principal=Principal(strength="credential", id=grant.id), scopes=frozenset(grant.scopes)
    )


def _grant(token: Token) -> Grant:
    return Grant(
        id=token.id,
        name=token.name,
        session=token.session,
        scopes=token.scopes,
        surfaces=token.surfaces,
        tools=token.tools,
        calls_a_minute=token.calls_a_minute,
        calls_a_month=token.calls_a_month,
        tool_limits=access.tool_limits_of(token.tool_limits),
    )


def log_line(event: str, **facts: Any) -> None:
    """Write one line of the log; what is empty is left out."""
    given = {name: value for name, value in facts.items() if value not in ("", None)}
    line = orjson.dumps({"time": SystemClock().now(), "event": event, **given})
    sys.stderr.buffer.write(line + b"\n")
    sys.stderr.buffer.flush()


def _log_request(line: AccessLogLine) -> None:
    log_line("request", **asdict(line))


class _JsonLog(logging.Handler):
    """Writes what the program logs as lines of the same log, without secrets."""

    def emit(self, record: logging.LogRecord) -> None:
        text = mask(self.format(record))
        log_line("log", level=record.levelname.lower(), logger=record.name, text=text)


@click.command("up")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True)
@click.option(
    "--allow-host", "names", metavar="NAME", multiple=True, help="Also goes by it; repeatable."
)
@click.option("--oauth-issuer", metavar="URL", help="Takes the tokens of this OAuth server.")
@click.option("--oauth-audience", metavar="URL", help="This server's address, as tokens name it.")
@click.option("--jwks", metavar="URL|FILE", help="The OAuth server's public keys.")
@click.option(
    "--calls-a-month",
    type=click.IntRange(1, access.MOST_CALLS_A_MONTH),
    metavar="N",
    help="What all callers over HTTP may call in a calendar month.",
)
@click.option("--replace", is_flag=True, help="End the server that runs now, and take its place.")
@project_options
def up_command(
    host: str,
    port: int,
    names: tuple[str, ...],
    oauth_issuer: str | None,
    oauth_audience: str | None,
    jwks: str | None,
    calls_a_month: int | None,
    replace: bool,
    db: str | None,
    project: str | None,
) -> None:
    """Serve agents over HTTP, at /mcp, and those on this machine, until Ctrl-C.

    Beyond this machine it serves only with tokens (`counterpoint token create`) or an OAuth server.
    """
    issuer = _issuer(oauth_issuer, oauth_audience, jwks)
    app = open_here(db=db, project=project)
    require(app)
    backend = HttpBackend(
        app=app, issuer=issuer, connections=lambda: 0, calls_a_month=calls_a_month or 0
    )
    backend.open()
    with ExitStack() as held:
        held.callback(app.close)
        _refuse_open_doors(app, host, issuer)
        if issuer is not None:
            issuer.keys.load()
        offered = tuple(name for name in registry.names() if _is_offered(name, app.settings))
        if not offered:
            # What is wrong with the settings is wrong for the first of them too.
            surface_named(registry.names()[0], app.settings)
        sockets = listen(host, port)
        logging.basicConfig(level=logging.WARNING, handlers=[_JsonLog()], force=True)
        gc.freeze()
        known = Hosts(names=_names(host, names))
        asyncio.run(_run(backend, known, sockets, offered, replace=replace))
        gc.freeze()
        # The second signal of an impatient person must not spoil a clean end.
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        log_line("ended")


def _issuer(issuer: str | None, audience: str | None, jwks: str | None) -> Issuer | None:
    given = (issuer, audience, jwks)
    if not any(given):
        return None
    if not (issuer and audience and jwks):
        raise click.UsageError("--oauth-issuer, --oauth-audience and --jwks go together.")
    keys = KeySet(jwks)
    return Issuer(name=issuer, audience=audience, keys=keys)


def _is_offered(name: str, settings: Settings) -> bool:
    """Whether a surface can be started so; a file that opens no tool is wrong usage."""
    if settings.tool_scope:
        surface_named(name, settings)
    try:
        registry.surface(name, settings)
    except InvalidInput:
        # A role that this dialect does not have may be one of another.
        return False
    return True


def _refuse_open_doors(app: App, host: str, issuer: Issuer | None) -> None:
    """Refuse to listen beyond this machine while anyone could come in; wrong usage."""
    if issuer is not None or _is_near(host):
        return
    now = app.clock.now()
    if any(access.is_in_force(token, now) for token in app.person().tokens.list()):
        return
    raise click.UsageError(
        f"{host} can be reached from other machines, and nothing says who may come in."
        " Make a token with `counterpoint token create NAME`, or name an OAuth server with"
        " --oauth-issuer, --oauth-audience and --jwks."
    )


def _is_near(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _names(host: str, more: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names this server goes by: this machine's, the address it was given, and more."""
    try:
        address = ip_address(host)
    except ValueError:
        own = [host]
    else:
        shown = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004 -- the version of the protocol
        own = [] if address.is_unspecified else [shown]
    return tuple(dict.fromkeys([*LOOPBACK, *own, *more]))


async def _run(
    backend: HttpBackend,
    hosts: Hosts,
    listening: list[socket.socket],
    offered: tuple[str, ...],
    *,
    replace: bool,
) -> None:
    """Serve both doors until a signal, or `counterpoint down`, says to end."""
    app, workers = backend.app, Workers(WORKERS)
    http = HttpApp(
        config=ServerConfig(
            surfaces=offered,
            build=lambda name: registry.surface(name, app.settings),
            call_for=backend.call_for,
            find=backend.find,
            anyone=backend.anyone,
            troubles=backend.troubles,
            gauges=backend.gauges,
            log=_log_request,
            hosts=hosts,
            issuer=backend.issuer,
            quotas=backend,
            pages={"/events": Events(backend.present, backend.last).page},
        ),
        workers=workers,
    )
    listener = Listener(http, listening)
    backend.connections = lambda: listener.connections
    with ExitStack() as starting:
        if replace:
            # While this is held no relay starts another server in the place of the one that ends.
            starting.enter_context(find_rendezvous(app.database).turn("starting"))
            end_server(app.database)
        async with (
            serve_sockets(
                app, workers=workers, by_starter=replace, checkpoints=backend.checkpoints
            ) as sockets,
            http.opened(),
        ):
            starting.close()
            for number in _ENDING:
                asyncio.get_running_loop().add_signal_handler(number, sockets.over.set)
            log_line("listening", addresses=[_address(one) for one in listening])
            await listener.serve(sockets.over)
            # Of a store that fails, what was drawn and not spent is lost, and no more.
            with suppress(CounterpointError):
                await http.close()


def _address(listening: socket.socket) -> str:
    try:
        host, port = listening.getsockname()[:2]
    except OSError as fault:
        raise Unavailable("the address that was listened on is gone") from fault
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"
