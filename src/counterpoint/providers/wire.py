"""Sends a question over HTTP and hears its answer, by events or whole.

Rule 1: a redirect is followed nowhere: it would take the key along. Rule 2: to this machine no proxy is asked. Rule 3: nothing that was sent or received stands in
an error but what the provider says of it, at a bounded length and without the key. Rule 4: what blocks runs in a thread of its own; whoever asked
is heard each second, and may go.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
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
)
from counterpoint.providers.format import table, words
from counterpoint.providers.waiting import Ask, Over, Put, wait_for

LARGEST: Final = 8_000_000
"""Bytes that the events of an answer may have together."""
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


def listen_to(sent: Sent, hear: Hear, listen: Listen) -> None:
    """Send a question and hear the events of its answer until they end; ProviderFailed and what is below it."""

    def told(put: Put, over: threading.Event) -> None:
        for name, event in _events(sent, over):
            if piece := hear(name, event):
                put(piece)

    _wait_for(sent, told, listen)


def whole_answer(sent: Sent, listen: Listen) -> dict[str, Any]:
    """Send a request and return the JSON object that answers it; ProviderFailed and what is below it."""
    found: list[dict[str, Any]] = []

    def told(_put: Put, over: threading.Event) -> None:
        with _answered(sent) as answer:
            found.append(_object(sent, b"".join(_parts(sent, answer, over)).decode()))

    _wait_for(sent, told, listen)
    return found[0]


def _wait_for(sent: Sent, work: Ask, listen: Listen) -> None:
    """Have something asked, with what goes wrong in our words."""

    def ask(put: Put, over: threading.Event) -> None:
        _ask(sent, work, put, over)

    wait_for(ask, sent.seconds, lambda: _late(sent), listen)


def _ask(sent: Sent, work: Ask, put: Put, over: threading.Event) -> None:
    """Have the question answered, in a thread of its own: pieces, then nothing, or what went wrong."""
    try:
        work(put, over)
    except CounterpointError as fault:
        # What a provider says in the middle of an answer may have the key in it too.
        put(type(fault)(sent.masked(fault.message), **fault.facts))
    except httpx2.TimeoutException:
        put(_late(sent))
    except httpx2.HTTPError as fault:
        said = sent.masked(str(fault)) or type(fault).__name__
        put(ProviderBusy(f"{sent.provider} cannot be reached, or broke off: {said}"))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as fault:
        put(_strange(sent, type(fault).__name__))
    except Over:
        return
    else:
        put(None)


@contextmanager
def _answered(sent: Sent) -> Generator[httpx2.Response]:
    """Send it, and have an answer that is none of a refusal during the block."""
    times = httpx2.Timeout(sent.seconds, connect=min(_CONNECT, sent.seconds))
    verb, body = ("GET", None) if sent.body is None else ("POST", dict(sent.body))
    with (
        httpx2.Client(timeout=times, trust_env=not sent.is_here, follow_redirects=False) as client,
        client.stream(verb, sent.url, headers=dict(sent.headers), json=body) as answer,
    ):
        if answer.status_code != _OK:
            _refuse(sent, answer)
        yield answer


def _parts(sent: Sent, answer: httpx2.Response, over: threading.Event) -> Iterator[bytes]:
    """Return the parts of a whole answer, as many as are taken."""
    size = 0
    for part in answer.iter_bytes():
        if over.is_set():
            raise Over
        size += len(part)
        if size > LARGEST:
            raise ProviderFailed(f"{sent.provider} answered more than {LARGEST} bytes")
        yield part


def _events(sent: Sent, over: threading.Event) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each event of the answer."""
    with _answered(sent) as answer:
        size, name, lines = 0, "", list[str]()
        for line in _lines(answer):
            if over.is_set():
                raise Over
            size += len(line) + 1
            if size > LARGEST:
                raise ProviderFailed(f"{sent.provider} answered more than {LARGEST} bytes")
            if line.startswith("event:"):
                name = line[6:].strip()
            elif line.startswith("data:"):
                lines.append(line[5:].removeprefix(" "))
            elif not line and lines:
                text = "\n".join(lines)
                if text != "[DONE]":
                    yield name, _object(sent, text)
                name, lines = "", []


def _lines(answer: httpx2.Response) -> Iterator[str]:
    """Return the lines of an answer; one that has no end is not waited for beyond what is taken."""
    rest, size = b"", 0
    for part in answer.iter_bytes():
        size += len(part)
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode()
        if len(rest) > LARGEST:
            # The caller counts, and ends it.
            yield rest.decode(errors="replace")
    if rest:
        yield rest.decode()


def _object(sent: Sent, text: str) -> dict[str, Any]:
    try:
        # A text may be as deep as it likes, and is valid Unicode, or it is none.
        found = canonical.load(sent.without_secret(text))
    except InvalidInput as fault:
        raise _strange(sent, "what it says is no JSON") from fault
    if not isinstance(found, dict):
        raise _strange(sent, "what it says is no object")
    return cast("dict[str, Any]", found)


def _refuse(sent: Sent, answer: httpx2.Response) -> NoReturn:
    """Raise what a status means."""
    content = b""
    for part in answer.iter_bytes():
        content += part
        if len(content) > LARGEST // 100:
            break
    said = sent.masked(_message(content) or answer.reason_phrase)
    told = f"{sent.provider} answered {answer.status_code}: {said}"
    if answer.status_code in _BUSY:
        wait = _seconds(answer.headers.get("retry-after", ""))
        if wait is None:
            raise ProviderBusy(told, status=answer.status_code)
        raise ProviderBusy(told, status=answer.status_code, retry_after=wait)
    if answer.is_redirect:
        told = f"{sent.provider} answered {answer.status_code}: it is elsewhere, and no key is sent after it"
    if answer.status_code == _TOO_LARGE or _code(content) in _TOO_LONG:
        raise QuestionTooLong(told, status=answer.status_code)
    raise ProviderRefused(told, status=answer.status_code)


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
        found = canonical.load(content)
        # Google's are a list of one.
        told = table(found[0] if isinstance(found, list) else found)
        # Tavily has it one floor deeper.
        within = told.get("detail", told)
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
        left = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError):
        return None
    return min(max(0.0, left), _LONGEST_WAIT)


def _late(sent: Sent) -> ProviderTimedOut:
    return ProviderTimedOut(f"{sent.provider} did not answer within {sent.seconds:.0f} s")


def _strange(sent: Sent, what: str) -> ProviderFailed:
    return ProviderFailed(f"{sent.provider} answers in another format than it is said to: {what}")
