"""The command `up`: who is let in, and on which addresses.

The server in the foreground: HTTP for callers elsewhere, the socket for relays.
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
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, partial
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

import click
import orjson
from starlette.datastructures import Address

from counterpoint.app import App, Identity
from counterpoint.cli.context import open_here, project_options, require
from counterpoint.cli.grouping import examples
from counterpoint.cli.present import present_entry
from counterpoint.cli.server.background import Checkpoints
from counterpoint.cli.server.connect import surface_named
from counterpoint.cli.server.serving import SHARING, WORKERS, end_server, serve_sockets
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Bearer, Principal, Token, Usage
from counterpoint.core.model.identity import Attested, Origin, Peer
from counterpoint.core.rules import access
from counterpoint.core.rules.identity import unseen_caller
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects import registry
from counterpoint.dialects.call import Call
from counterpoint.evidence.processes import boot
from counterpoint.evidence.trust.addresses import is_own_address
from counterpoint.evidence.trust.local_token import LocalToken, local_token
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import CounterpointError, Forbidden, InvalidInput, Unavailable
from counterpoint.kernel.ids import RandomMint
from counterpoint.kernel.starting.garbage import settle
from counterpoint.kernel.starting.signals import ending_signals
from counterpoint.kernel.visible import dump_visible, label, visible
from counterpoint.protocol.http.access_log import AccessLogLine
from counterpoint.protocol.http.app import Gauges, HttpApp, OwnPage, ServerConfig
from counterpoint.protocol.http.events import Events, SentEvent
from counterpoint.protocol.http.grants import Grant
from counterpoint.protocol.http.guards import LOOPBACK, SESSION_HEADER, Hosts
from counterpoint.protocol.http.oauth import Issuer, KeySet, spare_name
from counterpoint.protocol.http.serving import Listener, listen
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.protocol.surface import Caller
from counterpoint.protocol.workers import Workers
from counterpoint.settings import Settings

if TYPE_CHECKING:
    from counterpoint.board.site import Site


def listen_for(database: Path, host: str, port: int, *, replace: bool) -> list[socket.socket]:
    """Return sockets that listen; Unavailable. replace: a server of this ledger ends if something has the address."""
    try:
        return listen(host, port)
    except Unavailable as fault:
        server = find_rendezvous(database).ask("status")
        if not server:
            raise
        if not replace:
            raise Unavailable(
                fault.message,
                hint=f"A server of this ledger runs (process {server['pid']}): `counterpoint up --replace` takes its place,"
                " `counterpoint down` ends it. If another program has the port, choose another.",
            ) from fault
        end_server(database)
        return listen(host, port)


def open_issuer(issuer: str | None, audience: str | None, jwks: str | None) -> Issuer | None:
    """Return the OAuth server that options name, if they name one; wrong usage."""
    options = (issuer, audience, jwks)
    if not any(options):
        return None
    if not (issuer and audience and jwks):
        raise click.UsageError("--oauth-issuer, --oauth-audience and --jwks go together.")
    keys = KeySet(jwks)
    return Issuer(name=issuer, audience=audience, keys=keys)


def has_tokens(app: App) -> bool:
    """Return whether the ledger has a token that somebody can use now."""
    now, core = app.clock.now(), app.itself()
    return not core.projects.why_elsewhere() and any(
        access.is_in_force(token, now) for token in core.tokens.list()
    )


def refuse_open_doors(host: str, names: tuple[str, ...], *, is_open: bool) -> None:
    """Refuse to be reached from elsewhere while nobody there could come in; wrong usage."""
    if is_open or (_is_near(host) and not names):
        return
    how = f"{host} can be reached" if not names else f"under the name {names[0]} it can be reached"
    raise click.UsageError(
        f"{how} from other machines, and nothing says who may come in."
        " Make a token with `counterpoint token create NAME`, or name an OAuth server with"
        " --oauth-issuer, --oauth-audience and --jwks."
    )


def open_local(app: App, *, is_needed: bool) -> LocalToken | None:
    """Return the token of this account, made unless it is there; Unavailable where nobody else could come in."""
    token = local_token(app.environ, app.place, app.project)
    try:
        token.make()
    except Unavailable:
        if is_needed:
            raise
        return None
    return token


def _is_near(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def own_names(host: str) -> tuple[str, ...]:
    """Return the names this server goes by: this machine's, and the address it was given."""
    try:
        address = ip_address(host)
    except ValueError:
        own = [host]
    else:
        name = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004 -- the version of the protocol
        own = [] if address.is_unspecified else [name]
    return tuple(dict.fromkeys([*LOOPBACK, *own]))


PORT: Final = 8765
NOBODY: Final = "agent"
"""The name of a caller who gives none and brings the token of this account."""
LOCAL: Final = "local:"
"""What begins the id under which a caller with that token is counted, before a mark of the token."""
_MARK: Final = 12
LEAST_ROOM: Final = 64 * 1024 * 1024
"""Bytes that must be free on the database's disk for the server to call itself ready."""

MOST_PLACES: Final = 10_000
"""Connections of which is known in which session they are before they wrote anything."""

_PAGE: Final = 100
_HINT: Final = (
    "callers of this account send `Authorization: Bearer …` with the token of that file;"
    " `counterpoint token local` prints it"
)
_ENDING: Final = ending_signals()


@dataclass(kw_only=True)
class HttpBackend:
    """What HTTP asks of the project: who a caller is, and what a tool gets.

    local: the token of this account; None without one. checkpoints: has what is written signed. calls_a_month: what all callers together may call; 0 for no limit.
    """

    app: App
    issuer: Issuer | None
    connections: Callable[[], int]
    local: LocalToken | None = None
    calls_a_month: int = 0
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    _places: OrderedDict[str, str] = field(init=False, default_factory=OrderedDict[str, str])

    @cached_property
    def _secret(self) -> bytes:
        return self.app.secret

    @cached_property
    def _visit(self) -> str:
        """What callers of this account have in common who bring no session: it lasts as long as the server."""
        return token_hex()

    @property
    def _core(self) -> Core:
        return self.app.core(Identity(kind="system", name="counterpoint"))

    def open(self) -> None:
        """Open what several threads would otherwise open at once."""
        with SHARING:
            self.app.ports.store.projects()
        _ = self._secret, self._visit

    def find(self, token: str, address: str) -> Grant | None:
        """Return what the bearer of a token may do; None if it is not valid here."""
        if not access.is_secret(token):
            return self.issuer.find(token) if self.issuer is not None else None
        if self._is_local(token) and is_own_address(address):
            return Grant(id=LOCAL + access.digest_of(token)[:_MARK], name=NOBODY, session="")
        stored = self._core.tokens.authenticate(token, address)
        return _grant(stored) if stored else None

    def _is_local(self, token: str) -> bool:
        """Whether a text is the token of this account, which is read anew each time."""
        stored = self.local.read() if self.local is not None else ""
        # In constant time, so that it cannot be measured how much of it is right.
        return bool(stored) and compare_digest(stored.encode(), token.encode())

    def call_for(self, grant: Grant, caller: Caller) -> Call:
        """Return what a tool gets; Forbidden, InvalidInput for a name or session that is not theirs.

        A call belongs to the token, and to the conversation that the client names in it, else to the `Mcp-Session-Id`
        that this server made, if it brings one; what comes without either is in a session that all those share.
        """
        headers: Any = getattr(caller.request, "headers", {})
        agent = headers.get("counterpoint-agent", "")
        if not agent and _is_local(grant) and access.is_agent(caller.client):
            agent = caller.client
        system = Identity(kind="system", name="counterpoint")
        visit = caller.conversation or headers.get(SESSION_HEADER, "")
        subject = (visit and "local") or self._visit if _is_local(grant) else grant.id
        capability = access.capability_of("http", subject, visit)
        session = "" if visit else grant.session
        # Clients that share a token are one principal, and have sessions of their own: the capability decides.
        bearer = Bearer(
            name=grant.name,
            capability=capability,
            session=session,
            spare_name=spare_name(grant.id),
        )
        call_identity = self.app.core(system, guarded=caller.guarded).tokens.identify(
            bearer,
            agent=agent,
            session=headers.get("counterpoint-session", ""),
            # Calls that come together at first must not make two sessions of one connection.
            fresh=self._places.setdefault(capability, RandomMint().mint("ses")),
        )
        self.app.host.hear(call_identity.seat)
        # Until something is written in it, nothing else knows which session a connection has.
        self._places[capability] = call_identity.session
        while len(self._places) > MOST_PLACES:
            self._places.popitem(last=False)
        identity = Identity(
            kind="agent",
            name=call_identity.agent,
            session=call_identity.session,
            profile=self.app.settings.profile,
            client=label(caller.client),
            item=self.app.item,
            capability=capability,
            seat=call_identity.seat,
            is_shared=not visit,
            attested=self._attested(grant, getattr(caller.request, "client", None)),
        )
        core = self.app.core(identity, guarded=caller.guarded)
        if not self.app.settings.is_read_only:
            core.claims.keep()
            self.checkpoints.tend(self.app.project, self.app.itself)
            self.checkpoints.mirrors.tend(self.app)
            self.checkpoints.research.tend(self.app)
        return Call(core=core, secret=lambda: self._secret, settings=self.app.settings)

    def _attested(self, grant: Grant, address: Address | None) -> Attested:
        """Return who brings a token: whatever clients share it or call themselves, they are one.

        That of this account is nobody's: whatever runs under it can bring it.
        """
        unseen = None
        if address is not None and is_own_address(address.host):
            now = self.app.clock.now()
            unseen = unseen_caller(boot(), project=self.app.project, now=now)
        if _is_local(grant):
            return Attested(principal=None, origin=Origin(unseen=unseen))
        return Attested(
            principal=Principal(strength="credential", id=grant.id),
            scopes=frozenset(grant.scopes),
            origin=Origin(unseen=unseen),
        )

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
                sequence=entry.sequence,
                action=entry.action,
                text=dump_visible(present_entry(entry))[1],
            )
            for entry in self._core.feed.entries(after, _PAGE, seconds)
        ]

    def _is_in_force(self, grant: Grant) -> bool:
        """Whether a grant is what it was when its request came; an issuer's ends with its stream."""
        if _is_local(grant):
            stored = self.local.read() if self.local is not None else ""
            return bool(stored) and grant.id.endswith(access.digest_of(stored)[:_MARK])
        now = self.app.clock.now()
        own_tokens = [
            stored_token for stored_token in self._core.tokens.list() if stored_token.id == grant.id
        ]
        return not grant.id.startswith("tok_") or any(
            access.is_in_force(stored_token, now) for stored_token in own_tokens
        )

    def troubles(self) -> list[str]:
        """Return what keeps the server from being ready: a store that is silent, a disk that is full."""
        troubles: list[str] = []
        try:
            _ = self._size()
        except CounterpointError as fault:
            troubles.append(fault.code)
        circuit = self.app.breaker.circuit()
        if circuit.state == "open":
            troubles.append(f"circuit_open: {circuit.last}, a trial in {circuit.retry_after} s")
        try:
            if shutil.disk_usage(self.app.folder).free < LEAST_ROOM:
                troubles.append("disk_full")
        except OSError:
            troubles.append("disk_unreadable")
        return troubles

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


def _is_local(grant: Grant) -> bool:
    return grant.id.startswith(LOCAL)


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
    fields = {name: value for name, value in facts.items() if value not in ("", None)}
    line = orjson.dumps({"time": SystemClock().now(), "event": event, **fields})
    sys.stderr.buffer.write(line + b"\n")
    sys.stderr.buffer.flush()


def _log_request(line: AccessLogLine) -> None:
    log_line("request", **asdict(line))


class _JsonLog(logging.Handler):
    """Writes what the program logs as lines of the same log, without secrets."""

    def emit(self, record: logging.LogRecord) -> None:
        text = visible(mask(self.format(record)))
        log_line("log", level=record.levelname.lower(), logger=record.name, text=text)


@click.command("up", epilog=examples("counterpoint up", "counterpoint up --port 8765"))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    help="The port to listen on; 0 takes any free one.",
)
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Another name of this server; repeatable.",
)
@click.option("--oauth-issuer", metavar="URL", help="Accept tokens of this OAuth server.")
@click.option(
    "--oauth-audience",
    metavar="URL",
    help="The audience that tokens must name: this server's address.",
)
@click.option("--jwks", metavar="URL|FILE", help="The address of the OAuth server's public keys.")
@click.option(
    "--calls-a-month",
    type=click.IntRange(1, access.MOST_CALLS_A_MONTH),
    metavar="N",
    help="The most calls of all HTTP clients together in a calendar month.",
)
@click.option("--replace", is_flag=True, help="Stop the running server and take its place.")
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
    """Serve agents over HTTP.

    It serves MCP at /mcp until Ctrl-C, and also the agents of this machine.

    Each client needs a token. On this machine `counterpoint token local` prints one. To serve other machines, or under another
    name, make tokens with `counterpoint token create`, or use an OAuth server.
    """
    issuer = open_issuer(oauth_issuer, oauth_audience, jwks)
    app = open_here(db=db, project=project)
    require(app)
    backend = HttpBackend(
        app=app, issuer=issuer, connections=lambda: 0, calls_a_month=calls_a_month or 0
    )
    with ExitStack() as stack:
        stack.callback(app.close)
        # Looked for as a command does: the server has the database open only while it has its lock.
        with closing(open_here(db=db, project=project)) as looking:
            is_open = issuer is not None or has_tokens(looking)
            why = looking.itself().projects.why_elsewhere()
        refuse_open_doors(host, names, is_open=is_open)
        backend.local = open_local(app, is_needed=not is_open)
        if issuer is not None:
            issuer.keys.load()
        offered = tuple(name for name in registry.names() if _is_offered(name, app.settings))
        if not offered:
            # What is wrong with the settings is wrong for the first of them too.
            surface_named(registry.names()[0], app.settings)
        sockets = listen_for(app.database, host, port, replace=replace)
        if why:
            text = f"{why}, so no token of it opens anything"
            log_line("untrusted", text=text, hint="`counterpoint doctor` says what to do")
        logging.basicConfig(level=logging.WARNING, handlers=[_JsonLog()], force=True)
        settle()
        ports = tuple({each.getsockname()[1] for each in sockets})
        hosts = Hosts(own=own_names(host), ports=ports, allowed=names)
        asyncio.run(_run(backend, hosts, sockets, offered, replace=replace))
        gc.freeze()
        # The second signal of an impatient person must not spoil a clean end.
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        log_line("ended")
        if fault := app.lost():
            # Whoever looks after this process shall not take that for an end that was asked for.
            raise fault


def _is_offered(name: str, settings: Settings) -> bool:
    """Whether a surface can be started so; where none can, the start is refused."""
    try:
        registry.surface(name, settings)
    except InvalidInput:
        # A role, a mode or a tool that this dialect does not have may be one of another.
        return False
    return True


def _open_site(app: App, listening: socket.socket) -> Site:
    # Most servers show no page in their first minutes.
    from counterpoint.board.pages import ToolScopes
    from counterpoint.board.site import open_site
    from counterpoint.dialects.symphony.scope import CRITICAL, TYPES

    address, tools = _address(listening).removesuffix("/mcp"), ToolScopes(TYPES, CRITICAL)
    return open_site(f"{app.place}\0{app.project}", address, tools)


def _admit(
    site: Callable[[], Site], backend: HttpBackend, app: App, peer: Peer
) -> Mapping[str, Json]:
    """Let whoever asks for the board in, as the command line knows him; Forbidden where a scope file narrows the tools."""
    if app.settings.tool_scope:
        raise Forbidden("this server shows no board: a scope file narrows what its callers see")
    from counterpoint.board.sittings import Services
    from counterpoint.cli.importing.command import TEXT_SOURCES, read_text_source
    from counterpoint.cli.trust.signing import find_key
    from counterpoint.cli.work.changes import read_changes

    app.share(backend.app)
    tend = partial(backend.checkpoints.tend, app.project, app.itself)
    services = Services(
        sources=TEXT_SOURCES,
        read_import=read_text_source,
        find_key=partial(find_key, app, storage="passphrase"),
        confirm=partial(app.confirmed, peer=peer),
    )
    return site().admit(partial(app.person, peer=peer), partial(read_changes, app), tend, services)


def _pages(backend: HttpBackend) -> dict[str, OwnPage]:
    # They tell what tools would that a scope file does not open.
    events = Events(backend.present, backend.last)
    return {} if backend.app.settings.tool_scope else {"/events": events.page}


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
    site = cache(partial(_open_site, app, listening[0]))
    http = HttpApp(
        config=ServerConfig(
            surfaces=offered,
            build=lambda name: registry.surface(name, app.settings),
            call_for=backend.call_for,
            find=backend.find,
            troubles=backend.troubles,
            gauges=backend.gauges,
            log=_log_request,
            hosts=hosts,
            issuer=backend.issuer,
            quotas=backend,
            pages=_pages(backend),
            site=None if app.settings.tool_scope else site,
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
        elif server := find_rendezvous(app.database).ask("status"):
            # It may take as long as a server that leaves; nobody waits for that in silence.
            log_line("waiting", server=server["pid"], hint="`--replace` ends that server")
        async with (
            serve_sockets(
                app,
                workers=workers,
                by_starter=replace,
                checkpoints=backend.checkpoints,
                board=partial(_admit, site, backend),
            ) as sockets,
            http.opened(),
        ):
            starting.close()
            await asyncio.to_thread(backend.open)
            at_once = asyncio.Event()

            def told() -> None:
                # Whoever says it twice does not wait for what is being answered.
                if sockets.over.is_set():
                    at_once.set()
                sockets.over.set()

            for number in _ENDING:
                asyncio.get_running_loop().add_signal_handler(number, told)
            where = str(backend.local.path) if backend.local else ""
            addresses = [_address(endpoint) for endpoint in listening]
            log_line(
                "listening", addresses=addresses, token_file=where, hint=_HINT if where else ""
            )
            await listener.serve(sockets.over, at_once)
            # Of a store that fails, what was drawn and not spent is lost, and no more.
            with suppress(CounterpointError):
                await http.close()


def _address(listening: socket.socket) -> str:
    try:
        host, port = listening.getsockname()[:2]
    except OSError as fault:
        raise Unavailable("the address that was listened on is gone") from fault
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"
