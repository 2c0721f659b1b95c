"""The site of the board: who is let in, what every answer carries, and which page a path is.

1. GET changes nothing. What changes something is a POST from a page of this very server: `Origin` is the scheme and the host
with its port, `Sec-Fetch-Site` is `same-origin` where a browser says it, and the form carries the sitting's token.
2. The one exception is /login, which a private file posts to; it takes nothing but a code that nobody else can have.
3. Every answer has `HEADERS`: no script, style or picture but those of this server, and no text is ever markup.
4. What changes on a page that is open is pushed to it (`pump.py`); that stream is read like a page.
5. Reads of all boards take `READERS` threads of their own, so that agents wait for no page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.background import BackgroundTask
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Message, Receive, Scope, Send

from counterpoint.board import words
from counterpoint.board.acts import Acted, perform
from counterpoint.board.forms import TYPED, Form, read_number
from counterpoint.board.live_parts import LiveParts, Rendering
from counterpoint.board.markdown import PageProse
from counterpoint.board.pages import Answer, PageAddress, SiteFacts, ToolScopes
from counterpoint.board.proofs import load_verifier, write_bundle
from counterpoint.board.pump import LiveStream, Pumps
from counterpoint.board.routes import BAR, KEYS, LOOKS, MENU, ROUTES
from counterpoint.board.sittings import (
    CODE_SECONDS,
    SITTING_SECONDS,
    Caller,
    ReadChanges,
    Services,
    Sitting,
    Sittings,
)
from counterpoint.board.views.settings import change_settings
from counterpoint.core.coordinator import Core
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, Forbidden, InvalidInput, Kind
from counterpoint.protocol.http.app import PAGE
from counterpoint.protocol.http.events import Stream
from counterpoint.protocol.workers import Workers

READERS: Final = 2
MAX_FORM_BYTES: Final = 256 * 1024
MAX_TEXT_BYTES: Final = 8 * 1024 * 1024
"""Of a form with a plan or a file in it, which is escaped on its way."""
FORM_SECONDS: Final = 10.0
_HERE: Final = Path(__file__).parent
_STATIC: Final[Mapping[str, str]] = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types board",
    # With `no-referrer` a browser says of a form of this very server that it comes from nowhere.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_STATUS: Final[Mapping[Kind, int]] = {
    "not_found": 404,
    "invalid": 400,
    "conflict": 409,
    "gate": 409,
    "forbidden": 403,
    "integrity": 500,
    "unavailable": 503,
}
_OWN_PATHS: Final = frozenset({"login", "logout", "static", "acts", "live", "verify", "bundle"})
_COMMAND: Final = "Type `counterpoint board` in a terminal, in a folder of this project."

_FIRST_PAGE: Final = "Go back to the first page: /"


class Site:
    """The pages of one server, as an ASGI application."""

    def __init__(
        self,
        *,
        cookie: str,
        address: str,
        sittings: Sittings | None = None,
        workers: Workers | None = None,
        tools: ToolScopes | None = None,
    ) -> None:
        """Let nobody in yet. cookie: its name, which no other database has. address: where the site is, without a path."""
        self.cookie = cookie
        self.address = address
        self.sittings = sittings or Sittings()
        self._workers = workers or Workers(READERS)
        self._files = {
            path.name: (path.read_bytes(), _STATIC[path.suffix])
            for path in sorted((_HERE / "static").iterdir())
            if path.suffix in _STATIC
        }
        self._environment = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=words.shown,
        )
        # What every template calls; the library types these by what it has itself.
        cast("dict[str, Any]", self._environment.globals).update(
            {**words.CALLED_BY_TEMPLATES, "bar": BAR, "menu": MENU, "keys": KEYS}
        )
        self._facts = SiteFacts(address=address, tools=tools or ToolScopes())
        self._verifier = load_verifier()
        self._pumps = Pumps(self.sittings, self._render_apart)

    def admit(
        self,
        open_core: Callable[[], Core],
        read_changes: ReadChanges,
        tend: Callable[[], None] = lambda: None,
        services: Services | None = None,
    ) -> dict[str, Json]:
        """Return where the board is, and a code with which a browser becomes a caller; see `Caller`."""
        caller = Caller(
            open_core=open_core,
            read_changes=read_changes,
            tend=tend,
            services=services or Services(),
        )
        code = self.sittings.mint(caller)
        return {"address": self.address, "code": code, "seconds": CODE_SECONDS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except CounterpointError as fault:
            response = self._refusal(fault)
        await response(scope, receive, _with_headers(send))

    async def _answer(self, request: Request) -> Response:
        name, _, subpath = request.url.path.removeprefix("/").partition("/")
        if name in _OWN_PATHS or name in ROUTES:
            request.scope[PAGE] = f"/{name}"
        if name == "static":
            return self._static(request, subpath)
        if name == "login" and not subpath:
            return await self._login(request)
        if name == "verify" and not subpath and request.method in {"GET", "HEAD"}:
            content, policy = self._verifier
            headers = {"content-security-policy": policy}
            return Response(content, media_type="text/html; charset=utf-8", headers=headers)
        sitting = self.sittings.find(request.cookies.get(self.cookie, ""))
        if sitting is None:
            return self._message(403, "You are not logged in here", _COMMAND)
        return await self._serve(request, sitting, name, subpath)

    async def _serve(self, request: Request, sitting: Sitting, name: str, subpath: str) -> Response:
        """Answer whoever is logged in."""
        if name in {"logout", "bundle"} and not subpath:
            serve = self._logout if name == "logout" else self._bundle
            return await serve(request, sitting)
        act = {"acts": self._act, "settings": self._change_settings}.get(name)
        if act is not None and (name == "acts" or request.method == "POST"):
            return await act(request, sitting, subpath)
        is_live = name == "live" and not subpath
        if name not in ROUTES and not is_live:
            return self._message(404, "There is no such page", _FIRST_PAGE)
        form: Mapping[str, str] = {}
        if request.method == "POST" and name in LOOKS:
            form = await read_form(request, MAX_TEXT_BYTES)
            check_post(request, form, sitting)
        elif request.method not in {"GET", "HEAD"}:
            return _not_allowed("GET, HEAD")
        if is_live:
            return await self._live(request, sitting)
        address = PageAddress(name, subpath, tuple(sorted(request.query_params.items())))
        return await self._workers.run(lambda: self._page(address, sitting, form))

    def _page(self, address: PageAddress, sitting: Sitting, form: Mapping[str, str]) -> Response:
        core = self.sittings.open_core(sitting)
        text, _ = self._show(address, sitting, core, LiveParts(), form)
        return _html(text)

    def _show(
        self,
        address: PageAddress,
        sitting: Sitting,
        core: Core,
        parts: LiveParts,
        form: Mapping[str, str],
    ) -> tuple[str, LiveParts]:
        """Return a page as one caller sees it, whole or apart."""
        page = ROUTES[address.name]
        answer = Answer(
            core=core,
            subpath=address.subpath,
            query=dict(address.query),
            read_changes=sitting.caller.read_changes,
            facts=self._facts,
            services=sitting.caller.services,
            form=form,
        )
        # A look at what would be written is a transaction of its own, undone at its end.
        with nullcontext() if address.name in LOOKS else core.one_moment():
            variables = page.read(answer)
            state = answer.project
            parts.sequence = answer.state.ledger_size - 1
        text = self._environment.get_template(page.template).render(
            page=address.name,
            project=state,
            you=core.caller.actor,
            form_token="" if parts.is_apart else sitting.form_token,
            now=answer.now,
            live=parts,
            prose=PageProse(),
            **variables,
        )
        return text, parts

    def _render_apart(self, address: PageAddress, sitting: Sitting, core: Core) -> Rendering:
        text, parts = self._show(address, sitting, core, LiveParts(is_apart=True), {})
        return parts.rendering(text)

    async def _live(self, request: Request, sitting: Sitting) -> Response:
        """Return the stream of what changes on a page that the query names."""
        address, sequence = _page_of(request)
        stream = LiveStream(sitting=sitting, loop=asyncio.get_running_loop())

        def join() -> Callable[[], None]:
            return self._pumps.join(address, sequence, stream, self.sittings.open_core(sitting))

        return Stream(stream.pieces(), await self._workers.run(join))

    def _static(self, request: Request, name: str) -> Response:
        if request.method not in {"GET", "HEAD"}:
            return _not_allowed("GET, HEAD")
        if name not in self._files:
            return self._message(404, "There is no such file", _FIRST_PAGE)
        content, kind = self._files[name]
        return Response(content, media_type=kind)

    async def _login(self, request: Request) -> Response:
        """Let a browser in that posts a code; a GET only says how."""
        if request.method in {"GET", "HEAD"}:
            return self._message(200, "Log in", _COMMAND)
        if request.method != "POST":
            return _not_allowed("GET, HEAD, POST")
        form = await read_form(request)
        opened = self.sittings.redeem(form.get("code", ""))
        if opened is None:
            why = f"This code is wrong, was used, or is older than {CODE_SECONDS} seconds"
            return self._message(403, why, _COMMAND)
        secret, _ = opened
        # No redirect: a browser counts that as made by the file, and leaves out a cookie that is strict.
        response = self.render("entered.html", page="", now="")
        response.set_cookie(
            self.cookie, secret, max_age=SITTING_SECONDS, httponly=True, samesite="strict"
        )
        return response

    async def _bundle(self, request: Request, sitting: Sitting) -> Response:
        """Return the ledger as a file that verifies offline."""
        if request.method not in {"GET", "HEAD"}:
            return _not_allowed("GET, HEAD")
        core = self.sittings.open_core(sitting)
        path = await self._workers.run(lambda: write_bundle(core))
        # It is gone when it was sent, or when who asked for it has gone.
        return FileResponse(
            path,
            media_type="application/octet-stream",
            filename=f"{core.project}.bundle",
            background=BackgroundTask(path.unlink, missing_ok=True),
        )

    async def _logout(self, request: Request, sitting: Sitting) -> Response:
        if request.method != "POST":
            return _not_allowed("POST")
        check_post(request, await read_form(request), sitting)
        self.sittings.end(sitting)
        response = self._message(200, "You are logged out", _COMMAND)
        response.delete_cookie(self.cookie, httponly=True, samesite="strict")
        return response

    async def _act(self, request: Request, sitting: Sitting, subpath: str) -> Response:
        """Do what a form asks for, and lead back to where it stood."""
        if request.method != "POST":
            return _not_allowed("POST")
        fields = await read_form(request, MAX_TEXT_BYTES)
        check_post(request, fields, sitting)
        verb, _, subject = subpath.partition("/")
        # It goes to the key, and to nothing that is shown, logged or kept.
        passphrase = fields.pop("passphrase", "")

        def act() -> Acted:
            form, services = Form(subject, fields), sitting.caller.services
            acted = perform(self.sittings.open_core(sitting), verb, form, services, passphrase)
            if acted.fault is None:
                sitting.caller.tend()
            elif passphrase and isinstance(acted.fault, Forbidden):
                self.sittings.count_wrong(sitting)
            return acted

        acted = await self._workers.run(act)
        back = "review" if fields.get("from") == "review" else "items"
        id_ = fields.get("at") or (acted.item.id if acted.item is not None else "")
        page = f"/{back}/{quote(id_, safe='')}" if id_ else "/new"
        if fields.get("from") == "board":
            page = f"/board?{urlencode(parse_qsl(fields.get('query', '')))}"
        if acted.fault is None:
            after = "/review" if back == "review" and verb in {"approve", "reject"} else page
            return Response(status_code=303, headers={"location": after})
        return self.render(
            "refused.html",
            _STATUS[acted.fault.kind],
            page="",
            now=acted.entries[-1].time if acted.entries else "",
            fault=acted.fault,
            back=page,
            entries=acted.entries,
            typed={name: text for name, text in fields.items() if name in TYPED and text.strip()},
        )

    async def _change_settings(self, request: Request, sitting: Sitting, path: str) -> Response:
        """Change a setting, and lead back to the page that shows it."""
        fields = await read_form(request)
        check_post(request, fields, sitting)
        verb, _, subject = path.partition("/")

        def change() -> None:
            core, form = self.sittings.open_core(sitting), Form(subject, fields)
            change_settings(core, verb, form, self._facts.tools)
            sitting.caller.tend()

        await self._workers.run(change)
        page = f"/settings/{quote(subject, safe='')}" if verb == "tools" else "/settings"
        return Response(status_code=303, headers={"location": page})

    def render(self, template: str, status: int = 200, **variables: Any) -> Response:
        """Return a page."""
        page = self._environment.get_template(template)
        return _html(page.render(prose=PageProse(), **variables), status)

    def _message(self, status: int, what: str, step: str) -> Response:
        return self.render("message.html", status, page="", now="", what=what, step=step)

    def _refusal(self, fault: CounterpointError) -> Response:
        what = fault.message[:1].upper() + fault.message[1:]
        return self._message(_STATUS[fault.kind], what, fault.hint)


def open_site(ledger: str, address: str, tools: ToolScopes) -> Site:
    """Return the site of a ledger at an address: its cookie is that ledger's, for browsers tell no ports apart."""
    mark = sha256(ledger.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    # Whoever listens at every address is met at that of this machine.
    near = address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    return Site(cookie=f"counterpoint-{mark}", address=near, tools=tools)


async def read_form(request: Request, limit: int = MAX_FORM_BYTES) -> dict[str, str]:
    """Return the fields of a form that was posted; Forbidden for one that is too large, too slow or no form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Forbidden("only forms of the board are taken here", hint=_FIRST_PAGE)
    content = bytearray()
    try:
        async with asyncio.timeout(FORM_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > limit:
                    raise Forbidden(f"a form has at most {limit:,} bytes", hint="Send less text.")
    except TimeoutError:
        raise Forbidden("the form did not arrive in time", hint="Send it again.") from None
    text = content.decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))


def check_post(request: Request, form: Mapping[str, str], sitting: Sitting) -> None:
    """Refuse what no page of this server posted in this sitting; Forbidden."""
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    site = request.headers.get("sec-fetch-site", "same-origin")
    token = form.get("token", "").encode("utf-8", "replace")
    is_own = request.headers.get("origin", "").lower() == own.lower() and site == "same-origin"
    if not (is_own and compare_digest(token, sitting.form_token.encode())):
        raise Forbidden(
            "this was not sent by a page of the board",
            hint="Load the page again, and send it from there.",
        )


def _page_of(request: Request) -> tuple[PageAddress, int]:
    """Return which page a stream is of, and the last entry that it tells of; InvalidInput."""
    page = urlsplit(request.query_params.get("page", ""))
    sequence = request.query_params.get("seq", "")
    name, _, subpath = page.path.removeprefix("/").partition("/")
    if name not in ROUTES or read_number(sequence.removeprefix("-")) is None:
        raise InvalidInput("a stream names a page and the last entry of it", hint=_FIRST_PAGE)
    query = dict(parse_qsl(page.query, keep_blank_values=True, max_num_fields=100))
    address = PageAddress(name, unquote(subpath), tuple(sorted(query.items())))
    return address, int(sequence)


def _html(text: str, status: int = 200) -> Response:
    # A lone half of a pair has no bytes.
    return Response(text.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")


def _not_allowed(methods: str) -> Response:
    return Response(f"Only {methods} is taken here.", 405, {"allow": methods}, "text/plain")


def _with_headers(send: Send) -> Send:
    """Return what sends an answer with the headers that every page has."""

    async def send_safe(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, text in HEADERS.items():
                headers.setdefault(name, text)
        await send(message)

    return send_safe
