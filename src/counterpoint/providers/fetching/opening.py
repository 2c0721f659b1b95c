"""Fetches a page from addresses that were checked, and connected to as checked.

Rule 1: a name is looked up once for each step; what was checked is what is connected to, by its number, with the name in the head and in TLS, so that a
name which leads elsewhere a moment later changes nothing. Rule 2: each redirect is an address like the first. Rule 3: no proxy, no cookies, no keys.
Rule 4: size, time and redirects are limited, also where bytes come one by one; what blocks is a thread of its own.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin

import httpx2

from counterpoint.core.model.web.pages import Page, PageLimits
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.documents import is_pdf
from counterpoint.kernel.errors import CounterpointError, PageFailed, PageTimedOut
from counterpoint.providers.fetching.addresses import (
    Address,
    is_number,
    parse,
    refuse_not_public,
    refuse_place,
)
from counterpoint.providers.fetching.reading import ENCODINGS, PDF, media_type, text_of, unpacked
from counterpoint.providers.sockets import OpenSockets, trust_store
from counterpoint.providers.waiting import Over, Put, wait_for

_AGENT: Final = "counterpoint (research)"
_ACCEPTED: Final = "text/html, application/xhtml+xml, text/plain, text/markdown, application/pdf;q=0.5, application/json;q=0.5, */*;q=0.1"
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_OK: Final = 200
_STEP: Final = 10.0
_TRIED: Final = 3
"""To how many of the addresses of a name a connection is tried."""

Resolve = Callable[[str, int], Sequence[str]]
"""Looks a name up: answers addresses of numbers; OSError."""


def resolve(host: str, port: int) -> list[str]:
    """Return all addresses of numbers that a name leads to; OSError."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFetcher:
    """Implements the port. look_up: what names lead to."""

    look_up: Resolve = field(default=resolve)

    def check(self, url: str, hosts: Collection[str]) -> str:
        """Return `host:port` of an address, checked without looking its name up."""
        address = parse(url)
        refuse_place(address, hosts)
        return address.place

    def fetch(self, url: str, hosts: Collection[str], limits: PageLimits, listen: Listen) -> Page:
        """Return a page."""
        self.check(url, hosts)
        job = _Job(url=url, hosts=frozenset(hosts), limits=limits, look_up=self.look_up)
        late = f"{url[:200]} did not come within {limits.seconds:g} s"
        try:
            wait_for(job.run, limits.seconds, lambda: PageTimedOut(late), listen)
        finally:
            # Who is silent, or sends a byte now and then, keeps no thread.
            job.end()
        return job.found[0]


@dataclass(kw_only=True)
class _Job:
    """One page on its way, in a thread of its own."""

    url: str
    hosts: frozenset[str]
    limits: PageLimits
    look_up: Resolve
    found: list[Page] = field(default_factory=list[Page])
    _sockets: OpenSockets = field(default_factory=OpenSockets)
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self, put: Put, over: threading.Event) -> None:
        """Fetch the page: put nothing once it is there, or what went wrong."""
        self._over = over
        try:
            self.found.append(self._followed())
        except CounterpointError as fault:
            put(fault)
        except httpx2.TimeoutException:
            put(PageTimedOut(f"{self.url[:200]} was silent for {_STEP:g} s"))
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as fault:
            reason = " ".join(str(fault).split())[:200] or type(fault).__name__
            put(PageFailed(f"{self.url[:200]} cannot be fetched: {reason}"))
        except Over:
            return
        else:
            put(None)

    def end(self) -> None:
        """Cut whatever is open."""
        self._sockets.end()

    def _followed(self) -> Page:
        url = self.url
        for _ in range(self.limits.redirects + 1):
            address = parse(url)
            refuse_place(address, self.hosts)
            page, url = self._asked(address)
            if page is not None:
                return page
        raise PageFailed(f"{self.url[:200]} leads on more than {self.limits.redirects} times")

    def _asked(self, address: Address) -> tuple[Page | None, str]:
        """Return the page at an address, or where that leads on to."""
        ips = self._looked_up(address)
        for ip in ips[:-1]:
            try:
                return self._at(address, ip)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return self._at(address, ips[-1])

    def _looked_up(self, address: Address) -> Sequence[str]:
        """Return the addresses that a host leads to, all of them checked."""
        if is_number(address.host):
            ips: Sequence[str] = [address.host]
        else:
            try:
                ips = self.look_up(address.host, address.port)
            except (OSError, UnicodeError) as fault:
                raise PageFailed(f"the name {address.host} leads nowhere") from fault
        if not ips:
            raise PageFailed(f"the name {address.host} leads nowhere")
        refuse_not_public(address, ips, self.hosts)
        return ips[:_TRIED]

    def _at(self, address: Address, ip: str) -> tuple[Page | None, str]:
        if self._over.is_set():
            raise Over
        step = min(_STEP, self.limits.seconds)
        # The name for TLS: the certificate has to be that of the host, whatever number is connected to.
        names = {} if is_number(address.host) else {"sni_hostname": address.host}
        heads = {
            "host": address.head,
            "user-agent": _AGENT,
            "accept": _ACCEPTED,
            "accept-encoding": ENCODINGS,
        }
        with httpx2.Client(
            verify=trust_store(is_from_environment=False),
            timeout=httpx2.Timeout(step),
            trust_env=False,
            follow_redirects=False,
        ) as client:
            extensions = {**names, **self._sockets.extensions}
            request = httpx2.Request("GET", address.at(ip), headers=heads, extensions=extensions)
            answer = client.send(request, stream=True)
            try:
                return self._answered(address, answer)
            finally:
                answer.close()

    def _answered(self, address: Address, answer: httpx2.Response) -> tuple[Page | None, str]:
        where = answer.headers.get("location", "")
        if answer.status_code in _MOVED and where:
            return None, urljoin(address.url, where)
        if answer.status_code != _OK:
            raise PageFailed(
                f"{address.url[:200]} answered {answer.status_code}", status=answer.status_code
            )
        head = answer.headers.get("content-type", "")
        kind, packed = media_type(head), answer.headers.get("content-encoding", "")
        most = self.limits.pdf_size if kind == PDF else self.limits.size
        content = unpacked(self._parts(answer), packed, most)
        # What it is goes before what its head says: as text it would be signs that say nothing.
        kind = PDF if is_pdf(content) else kind
        # A PDF is read elsewhere, by a process that has limits.
        title, text = ("", "") if kind == PDF else text_of(content, kind, head)
        return Page(
            url=self.url,
            final_url=address.url,
            kind=kind,
            title=title,
            text=text,
            size=len(content),
            content=content if kind == PDF else b"",
        ), ""

    def _parts(self, answer: httpx2.Response) -> Iterator[bytes]:
        for part in answer.iter_raw():
            if self._over.is_set():
                raise Over
            yield part
