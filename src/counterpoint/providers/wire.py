"""Requests over HTTP, with bounded time and size.

Cuts connections that another thread is reading from, and says whom TLS trusts.
To close a socket leaves whoever waits for its bytes waiting, and the other side believing that somebody listens; to shut it down ends both.

Has something asked in a thread of its own, and lets whoever waits go.
What blocks (a name that is looked up, a server that is silent) blocks that thread alone: whoever asked is heard each second, and is not kept beyond his time.

Sends a question over HTTP and hears its answer, by events or whole.
Rule 1: a redirect is followed nowhere: it would take the key along. Rule 2: to this machine no proxy is asked. Rule 3: nothing that was sent or received stands in
an error but what the provider says of it, at a bounded length and without the key. Rule 4: what blocks runs in a thread of its own; whoever asked
is heard each second, and may go, and then nothing stays open. Rule 5: what comes is counted as it is unpacked, before anything is made of it.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Final, NoReturn, cast

import httpx2

from counterpoint.core.ports.models import Listen
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    ProviderBusy,
    ProviderFailed,
    ProviderRefused,
    ProviderTimedOut,
    QuestionTooLong,
    Unexpected,
)
from counterpoint.providers.format import table, words

_OPENED: Final = (".connect_tcp.complete", ".start_tls.complete")
"""What an httpx2 client calls the moments at which it has another socket."""


def trust_store(*, is_from_environment: bool) -> ssl.SSLContext:
    """Return the context of TLS for a request; OSError if a file that the environment names is none of certificates.

    It takes 20 ms to load, more than a request on this machine, so that of the system is loaded once. A file that a
    person names is loaded again when it changes: a certificate that is added later counts at once.
    """
    file = os.environ.get("SSL_CERT_FILE") if is_from_environment else None
    if file:
        state = Path(file).stat()
        return _store_of(file, state.st_mtime_ns, state.st_size, state.st_ino)
    if is_from_environment and os.environ.get("SSL_CERT_DIR"):
        return httpx2.create_ssl_context()
    return _system_store()


@cache
def _system_store() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


@lru_cache(maxsize=2)
def _store_of(file: str, *_state: int) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=file)


class OpenSockets:
    """The sockets of a request, from the moment at which each is connected."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: list[socket.socket] = []
        self._is_over = False

    @property
    def extensions(self) -> dict[str, Any]:
        """What a request is sent with, so that its sockets are known."""
        return {"trace": self._hear}

    def end(self) -> None:
        """Cut every one of them, and whichever is still to come."""
        with self._lock:
            self._is_over = True
            for connection in self._open:
                _cut(connection)

    def _hear(self, name: str, info: Mapping[str, Any]) -> None:
        if not name.endswith(_OPENED):
            return
        opened: socket.socket = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._open.append(opened)
            if self._is_over:
                _cut(opened)


def _cut(connection: socket.socket) -> None:
    # It may have ended by itself, or be that of a layer below one of TLS by now.
    with suppress(OSError):
        # Not the method of a TLS socket, which takes away what its reader is using.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


TICK: Final = 1.0

Put = Callable[[str | CounterpointError | None], None]
Ask = Callable[[Put, threading.Event], None]
"""Asks: puts pieces as they come, then nothing, or what went wrong; ends once the event says that nobody waits any more."""


class Over(Exception):
    """Ends the thread of what nobody waits for any more."""


def wait_for(
    ask: Ask, seconds: float, late: Callable[[], CounterpointError], listen: Listen
) -> None:
    """Return once what was asked has ended; raises what went wrong, what `late` answers after so many seconds, and what `listen` raises."""
    queue: SimpleQueue[str | CounterpointError | None] = SimpleQueue()
    over = threading.Event()

    def run() -> None:
        try:
            ask(queue.put, over)
        finally:
            # Nobody waits for a thread that ended without a word; after its last one this is not heard.
            queue.put(Unexpected())

    thread = threading.Thread(target=run, name="outside", daemon=True)
    end = time.monotonic() + seconds
    thread.start()
    try:
        while True:
            seconds_left = end - time.monotonic()
            if seconds_left <= 0:
                raise late()
            try:
                report = queue.get(timeout=min(TICK, seconds_left))
            except Empty:
                listen("")
                continue
            if report is None:
                return
            if isinstance(report, CounterpointError):
                raise report
            listen(report)
    finally:
        over.set()


LARGEST: Final = 8_000_000
"""Bytes that an answer may have, unpacked."""
LINES: Final = 500_000
"""Lines that the events of an answer may have together: empty ones are next to nothing packed, and each takes its time here."""
_BEGUN: Final = 4_000
"""Characters of an answer that is no stream of events, within which it may say why."""
_SAID: Final = 300
_CONNECT: Final = 15.0
_OK: Final = 200
_TOO_LARGE: Final = 413
_TOO_LONG: Final = frozenset({"context_length_exceeded"})
_BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_LONGEST_WAIT: Final = 3_600.0
_SECRET: Final = 16
"""Characters from which on a key is taken out of answers: shorter ones are placeholders that servers of one's own are given, and may be words."""

Hear = Callable[[str, dict[str, Any]], str]
"""Takes the next event of an answer, by its name and its JSON; answers the text that it adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What is sent: to where, with which heads and body, within how many seconds. body: None for a request that only gets. secret: what must not be told."""

    provider: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Json] | None
    seconds: float
    is_here: bool
    secret: str = field(default="", repr=False)

    def without_secret(self, text: str) -> str:
        """Return what somebody answers without the key: servers that repeat what they were sent say it to whoever asks."""
        return text.replace(self.secret, "***") if len(self.secret) >= _SECRET else text

    def masked(self, text: str) -> str:
        """Return what somebody says, on one line, without the key."""
        clean = text.replace(self.secret, "***") if self.secret else text
        return " ".join(clean.split())[:_SAID]


@dataclass(frozen=True, slots=True)
class _Open:
    """What is open while somebody waits. over: set once nobody does."""

    client: httpx2.Client
    over: threading.Event
    sockets: OpenSockets


_Work = Callable[[Put, _Open], None]


def listen_to(sent: Sent, hear: Hear, listen: Listen) -> None:
    """Send a question and hear the events of its answer until they end; ProviderFailed and what is below it."""

    def send_events(put: Put, line: _Open) -> None:
        for name, event in _events(sent, line):
            if piece := hear(name, event):
                put(piece)

    _wait_for(sent, send_events, listen)


def whole_answer(sent: Sent, listen: Listen) -> dict[str, Any]:
    """Send a request and return the JSON object that answers it; ProviderFailed and what is below it."""
    answers: list[dict[str, Any]] = []

    def read_answer(_put: Put, line: _Open) -> None:
        with _answered(sent, line) as answer:
            answers.append(_object(sent, b"".join(_parts(sent, answer, line)).decode()))

    _wait_for(sent, read_answer, listen)
    return answers[0]


def _wait_for(sent: Sent, work: _Work, listen: Listen) -> None:
    """Have something asked, with what goes wrong in our words."""
    times = httpx2.Timeout(sent.seconds, connect=min(_CONNECT, sent.seconds))
    with httpx2.Client(
        verify=trust_store(is_from_environment=not sent.is_here),
        timeout=times,
        trust_env=not sent.is_here,
        follow_redirects=False,
    ) as client:
        sockets = OpenSockets()
        try:
            wait_for(
                lambda put, over: _ask(sent, work, put, _Open(client, over, sockets)),
                sent.seconds,
                lambda: _late(sent),
                listen,
            )
        finally:
            # Who is silent, or sends a byte now and then, keeps no thread, and learns that nobody listens.
            sockets.end()


def _ask(sent: Sent, work: _Work, put: Put, line: _Open) -> None:
    """Have the question answered, in a thread of its own: pieces, then nothing, or what went wrong."""
    try:
        work(put, line)
    except CounterpointError as fault:
        # What a provider says in the middle of an answer may have the key in it too.
        put(type(fault)(sent.masked(fault.message), **fault.facts))
    except httpx2.TimeoutException:
        put(_late(sent))
    except httpx2.HTTPError as fault:
        if _is_untrusted(fault):
            put(_untrusted(sent))
            return
        reason = sent.masked(str(fault)) or type(fault).__name__
        put(ProviderBusy(f"{sent.provider} cannot be reached, or broke off: {reason}"))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as fault:
        put(_strange(sent, type(fault).__name__))
    except RuntimeError:
        # So says a client that was closed meanwhile.
        if not line.over.is_set():
            raise
    except Over:
        return
    else:
        put(None)


@contextmanager
def _answered(sent: Sent, line: _Open) -> Generator[httpx2.Response]:
    """Send it, and have an answer that is none of a refusal during the block."""
    verb, body = ("GET", None) if sent.body is None else ("POST", dict(sent.body))
    heads, extensions = dict(sent.headers), line.sockets.extensions
    with line.client.stream(
        verb, sent.url, headers=heads, json=body, extensions=extensions
    ) as answer:
        if answer.status_code != _OK:
            _refuse(sent, answer, line)
        yield answer


def _parts(sent: Sent, answer: httpx2.Response, line: _Open) -> Iterator[bytes]:
    """Return the parts of an answer, as many as are taken."""
    size = 0
    # A part is of a MiB at most, however little it was packed to.
    for part in answer.iter_bytes():
        if line.over.is_set():
            raise Over
        size += len(part)
        if size > LARGEST:
            raise ProviderFailed(f"{sent.provider} answered more than {LARGEST} bytes")
        yield part


def _events(sent: Sent, line: _Open) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each event of the answer."""
    with _answered(sent, line) as answer:
        name, data_lines, other = "", list[str](), _Other()
        for number, text in enumerate(_lines(_parts(sent, answer, line)), 1):
            if number > LINES:
                raise ProviderFailed(f"{sent.provider} answered more than {LINES} lines")
            other.take(text)
            if text.startswith("event:"):
                name = text[6:].strip()
            elif text.startswith("data:"):
                data_lines.append(text[5:].removeprefix(" "))
            elif not text and data_lines:
                data = "\n".join(data_lines)
                if data != "[DONE]":
                    yield name, _object(sent, data)
                name, data_lines = "", []
        if other.text:
            head = answer.headers.get("content-type", "")
            reason = sent.masked(_message(other.text.encode()) or other.text)
            raise ProviderFailed(
                f"{sent.provider} answered {head[:80] or 'something'} in place of events, so that its address may be wrong: {reason}"
            )


@dataclass(slots=True)
class _Other:
    """The beginning of an answer that is no stream of events, as of a page or an error that comes as a success; empty once there is an event."""

    text: str = ""
    is_over: bool = False

    def take(self, line: str) -> None:
        """Hear the next line."""
        if self.is_over:
            return
        if line.startswith(("event:", "data:", ":", "id:", "retry:")):
            self.text, self.is_over = "", True
        elif len(self.text) < _BEGUN:
            self.text += line[:_BEGUN] + "\n" if line.strip() else ""


def _lines(parts: Iterable[bytes]) -> Iterator[str]:
    """Return the lines of an answer."""
    pieces: list[bytes] = []
    for part in parts:
        first, *others = part.split(b"\n")
        pieces.append(first)
        # What has no end yet is put together once, however small its parts are.
        for other in others:
            yield b"".join(pieces).removesuffix(b"\r").decode()
            pieces = [other]
    if last := b"".join(pieces):
        yield last.decode()


def _object(sent: Sent, text: str) -> dict[str, Any]:
    try:
        # A text may be as deep as it likes, and is valid Unicode, or it is none.
        parsed = canonical.load(sent.without_secret(text))
    except InvalidInput as fault:
        raise _strange(sent, "what it says is no JSON") from fault
    if not isinstance(parsed, dict):
        raise _strange(sent, "what it says is no object")
    return cast("dict[str, Any]", parsed)


def _refuse(sent: Sent, answer: httpx2.Response, line: _Open) -> NoReturn:
    """Raise what a status means."""
    content = b""
    for part in _parts(sent, answer, line):
        content += part
        if len(content) > LARGEST // 100:
            break
    reason = sent.masked(_message(content) or answer.reason_phrase)
    message = f"{sent.provider} answered {answer.status_code}: {reason}"
    if answer.status_code in _BUSY:
        wait = _seconds(answer.headers.get("retry-after", ""))
        if wait is None:
            raise ProviderBusy(message, status=answer.status_code)
        raise ProviderBusy(message, status=answer.status_code, retry_after=wait)
    if answer.is_redirect:
        message = f"{sent.provider} answered {answer.status_code}: it is elsewhere, and no key is sent after it"
    if answer.status_code == _TOO_LARGE or _code(content) in _TOO_LONG:
        raise QuestionTooLong(message, status=answer.status_code)
    raise ProviderRefused(message, status=answer.status_code)


def _code(content: bytes) -> str:
    """Return the code that an error has; empty without one."""
    try:
        error = table(table(canonical.load(content)).get("error"))
        return words(error.get("code"))
    except (InvalidInput, TypeError):
        return ""


def _message(content: bytes) -> str:
    """Return what an error says, as all providers have it: `error.message`, or what else is there."""
    try:
        parsed = canonical.load(content)
        # Google's are a list of one.
        fields = table(parsed[0] if isinstance(parsed, list) else parsed)
        # Tavily has it one floor deeper.
        within = fields.get("detail", fields)
        error = within if isinstance(within, str) else table(within).get("error", within)
        return error if isinstance(error, str) else words(table(error).get("message"))
    except (InvalidInput, TypeError, IndexError):
        return content[:_SAID].decode(errors="replace")


def _seconds(text: str) -> float | None:
    """Return how long to wait as a head says it, in seconds or by a date."""
    try:
        return min(max(0.0, float(text)), _LONGEST_WAIT)
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        seconds = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError):
        return None
    return min(max(0.0, seconds), _LONGEST_WAIT)


def _late(sent: Sent) -> ProviderTimedOut:
    return ProviderTimedOut(f"{sent.provider} did not answer within {sent.seconds:.0f} s")


def _is_untrusted(fault: BaseException | None) -> bool:
    """Return whether a connection came to nothing by the certificate of the other side: the next try finds the same one."""
    while fault is not None:
        if isinstance(fault, ssl.SSLCertVerificationError):
            return True
        fault = fault.__cause__ or fault.__context__
    return False


def _untrusted(sent: Sent) -> ProviderFailed:
    return ProviderFailed(
        f"{sent.provider} has a certificate that is not trusted, so that nothing was sent",
        hint="Have a person see to its address: to this machine it may be http."
        if sent.is_here
        else "Have a person see to its address; the variable SSL_CERT_FILE of the server names a certificate of your own.",
    )


def _strange(sent: Sent, what: str) -> ProviderFailed:
    return ProviderFailed(f"{sent.provider} answers in another format than it is said to: {what}")
