"""One request to a witness over HTTP, bounded in time and size.

Nothing is followed: an answer that sends elsewhere is no answer. Nothing of the environment is asked: no proxy
is used. The whole request has one limit of time, name look-up aside, whatever the other side does byte by byte.
"""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from counterpoint import __version__
from counterpoint.kernel.errors import InvalidInput, Unavailable

LARGEST: Final = 65_536
"""Bytes of an answer that are read."""
LIMIT_SECONDS: Final = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a witness answered."""

    status: int
    kind: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a witness is asked: its submission prefix."""

    is_tls: bool
    host: str
    port: int | None
    path: str

    @classmethod
    def from_text(cls, url: str) -> Address:
        """Return the address that a URL spells; InvalidInput."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
        if parts.scheme not in {"http", "https"} or not parts.hostname or not is_plain:
            raise InvalidInput(
                f"{url[:100]!r} is no address of a witness",
                hint="Give `https://HOST/PATH`, or `http://` on a network of your own.",
            )
        is_tls = parts.scheme == "https"
        return cls(is_tls=is_tls, host=parts.hostname, port=port, path=parts.path.rstrip("/"))

    def post(self, name: str, body: bytes, limit: float = LIMIT_SECONDS) -> Answered:
        """Return the answer to a POST of a plain text; Unavailable without one in time."""
        sort = http.client.HTTPSConnection if self.is_tls else http.client.HTTPConnection
        connection = sort(self.host, self.port, timeout=limit)
        late = threading.Event()
        over = threading.Timer(limit, _cut, (connection, late))
        over.daemon = True
        headers = {
            "Content-Type": "text/plain; charset=utf-8",
            "User-Agent": f"counterpoint/{__version__}",
        }
        try:
            with closing(connection):
                over.start()
                connection.request("POST", f"{self.path}/{name}", body, headers)
                answer = connection.getresponse()
                content = answer.read(LARGEST + 1)
                kind = answer.headers.get_content_type()
                status = answer.status
                # What was cut off may look like the end of an answer.
                is_late = late.is_set()
        except (OSError, http.client.HTTPException, ValueError) as fault:
            why = str(fault) or type(fault).__name__
            raise Unavailable(f"it does not answer: {why}", hint=_HINT) from fault
        finally:
            over.cancel()
        if is_late:
            raise Unavailable("it does not answer in time", hint=_HINT)
        if len(content) > LARGEST:
            raise Unavailable(f"its answer has more than {LARGEST} bytes", hint=_HINT)
        return Answered(status=status, kind=kind, body=content)


def _cut(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    """End a connection that takes too long: whoever reads from it hears so at once."""
    # First: whoever reads looks at this as soon as the connection ends.
    late.set()
    # It is gone already, or was never there.
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


_HINT: Final = "See whether the witness runs, and whether its address is right."
