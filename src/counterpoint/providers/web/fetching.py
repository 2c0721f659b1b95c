"""Fetches pages of the web from public addresses, and reads their text.

Which addresses may be asked for a page.
An address is taken apart once, strictly, and what is asked is made anew of its parts. Rule 1: http and https, ports 80 and 443, no user, no
blanks, control signs or backslashes. Rule 2: a host that ends in a number is four plain decimal numbers, or it is refused: `127.1`, `0x7f.0.0.1`,
`2130706433` and `0177.0.0.1` mean this machine to some. Rule 3: of IPv4 what is not public is refused; of IPv6 all but 2000::/3, which
leaves out addresses that hold one of IPv4 (mapped, compatible, NAT64), and of that what is no public host or leads on (6to4, Teredo).
Rule 4: a name is looked up once, all that it leads to must be public, and one of these is connected to. Rule 5: `host:port` that a person trusted is exempt
from the rules about ports and public addresses, and from no other.

Fetches a page from addresses that were checked, and connected to as checked.
Rule 1: a name is looked up once for each step; what was checked is what is connected to, by its number, with the name in the head and in TLS, so that a
name which leads elsewhere a moment later changes nothing. Rule 2: each redirect is an address like the first. Rule 3: no proxy, no cookies, no keys.
Rule 4: size, time and redirects are limited, also where bytes come one by one; what blocks is a thread of its own.
"""

from __future__ import annotations

import codecs
import html
import ipaddress
import re
import socket
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

import httpx2

from counterpoint.core.model.web import Page, PageLimits
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.documents import extract, is_pdf
from counterpoint.kernel.errors import (
    AddressRefused,
    CounterpointError,
    InvalidInput,
    PageFailed,
    PageTimedOut,
)
from counterpoint.providers.wire import OpenSockets, Over, Put, trust_store, wait_for

LONGEST: Final = 2_000
_PORTS: Final = {"http": 80, "https": 443}
_WRONG: Final = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_HOST: Final = 253
_LOCAL: Final = (
    "localhost",
    "local",
    "internal",
    "intranet",
    "lan",
    "home.arpa",
    "localdomain",
    "onion",
)
_SAFE: Final = "!$&'()*+,;=:@/?%~-._[]"
_NOT_PUBLIC_4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24"),
            *("192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24"),
            *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
        ),
    )
)
_PUBLIC_6: Final = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(
        ipaddress.IPv6Network,
        ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An address of a page, taken apart. host: in small letters, an IPv6 address without brackets; target: path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def place(self) -> str:
        """Host and port, as configurations name them."""
        return f"{self._bracketed}:{self.port}"

    @property
    def head(self) -> str:
        """What the head `Host` says."""
        return self._bracketed if self.port == _PORTS[self.scheme] else self.place

    @property
    def url(self) -> str:
        """The address, made anew of its parts."""
        return f"{self.scheme}://{self.head}{self.target}"

    def at(self, ip: str) -> str:
        """Return the same page at an address of numbers."""
        host = f"[{ip}]" if ":" in ip else ip
        return f"{self.scheme}://{host}:{self.port}{self.target}"


def parse(url: str) -> Address:
    """Return an address of a page, taken apart; InvalidInput for what is none."""
    if not url or len(url) > LONGEST or _WRONG.search(url):
        raise _no_address(
            f"it is empty, longer than {LONGEST} characters or has signs in it that none has"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _no_address("its host or its port is none") from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise _no_address("it begins neither with http:// nor with https://")
    if "@" in parts.netloc:
        raise _no_address("it names a user")
    if ("[" in parts.netloc) != (":" in (parts.hostname or "")):
        raise _no_address("what stands in brackets is no address of numbers")
    path, query = quote(parts.path or "/", safe=_SAFE), quote(parts.query, safe=_SAFE)
    return Address(
        scheme=scheme,
        host=_host(parts.hostname or ""),
        port=_PORTS[scheme] if port is None else port,
        target=(path if path.startswith("/") else f"/{path}") + (f"?{query}" if query else ""),
    )


def _host(name: str) -> str:
    """Return a host in the one form that it has here; InvalidInput."""
    try:
        if ":" in name:
            # A zone is one of this machine's own networks.
            return ipaddress.IPv6Address("" if "%" in name else name).compressed
        ascii_name = name if name.isascii() else name.encode("idna").decode().lower()
        plain = ascii_name.removesuffix(".")
        labels = plain.split(".")
        if _NUMBER.fullmatch(labels[-1]):
            # Leading zeros are octal to some; the library refuses them.
            return str(ipaddress.IPv4Address(plain))
    except ValueError:
        plain, labels = "", [""]
    if len(plain) > _HOST or not all(map(_LABEL.fullmatch, labels)):
        raise _no_address("its host is none, or an address of numbers in an odd spelling")
    return plain


def refuse_place(address: Address, hosts: Collection[str]) -> None:
    """Raise AddressRefused for what is seen to be refused before a name is looked up."""
    if address.place in hosts:
        return
    if address.port not in _PORTS.values():
        raise AddressRefused(f"port {address.port} is none of public pages", place=address.place)
    if any(address.host == suffix or address.host.endswith(f".{suffix}") for suffix in _LOCAL):
        raise AddressRefused(f"{address.host} is a name of this machine or network")
    if is_number(address.host):
        refuse_not_public(address, [address.host], hosts)


def refuse_not_public(address: Address, ips: Collection[str], hosts: Collection[str]) -> None:
    """Raise AddressRefused unless all that a host leads to is public, or a person trusted it."""
    if address.place in hosts:
        return
    for ip in ips:
        if not is_public(ip):
            leads = "is" if ip == address.host else f"leads to {ip}, which is"
            raise AddressRefused(f"{address.host} {leads} no public address")


def is_number(host: str) -> bool:
    """Return whether a host is an address of numbers."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_public(ip: str) -> bool:
    """Return whether an address of numbers is one of a public host."""
    try:
        parsed = ipaddress.ip_address(ip)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NOT_PUBLIC_4)
    is_out = parsed.scope_id is not None or any(parsed in network for network in _NOT_PUBLIC_6)
    return parsed in _PUBLIC_6 and not is_out


def _no_address(why: str) -> InvalidInput:
    return InvalidInput(
        f"this is no address of a page: {why}",
        hint="Give a whole address such as https://example.com/page.",
    )


ENCODINGS: Final = "gzip, deflate"
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
PDF: Final = "application/pdf"
_PLAIN: Final = re.compile(
    r"text/(?:plain|markdown|x-markdown|csv|xml|x-rst)|application/(?:json|xml|ld\+json|atom\+xml|rss\+xml)"
)
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_META: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_TITLE: Final = re.compile(
    r"<title[^>]{0,200}>(.{0,1000}?)</title\s{0,9}>", re.IGNORECASE | re.DOTALL
)
_BLOCK: Final = re.compile(
    r"<(?=/?(?:p|div|h[1-6]|li|ul|ol|dl|dt|dd|tr|table|br|hr|section|article|main|header|footer|nav|aside|pre|blockquote|figure|body)[\s/>])",
    re.IGNORECASE,
)
_KNOWN: Final = re.compile(
    r"utf-?8|utf-?16(?:-?[lb]e)?|ascii|(?:iso-?)?8859-?\d+|latin-?1|cp125\d|koi8-[ru]|gb(?:k|2312|18030)|big5(?:hkscs)?|shift_?jis|euc_?(?:jp|kr)",
)
_HEAD: Final = 4_096
_GAPS: Final = re.compile(r"\n{3,}")
_NO_TAG: Final = re.compile(r"<(?!/?[a-zA-Z]|[!?])")
_TITLED: Final = 50_000
"""Within so many characters of a page its title is looked for."""
_LONGEST_TITLE: Final = 300


def media_type(head: str) -> str:
    """Return the content type that a head names, without its parameters; PageFailed for one that is not read."""
    kind = head.partition(";")[0].strip().lower() or "text/html"
    if kind not in {*_HTML, PDF} and not _PLAIN.fullmatch(kind):
        raise PageFailed(f"pages of the content type {kind[:80]!r} are not read")
    return kind


def unpacked(parts: Iterable[bytes], encoding: str, most: int) -> bytes:
    """Return what parts of a page unpack to; PageFailed for more bytes than may be, before or after, and for what cannot be unpacked."""
    name = encoding.strip().lower()
    if name not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise PageFailed(f"the page is packed as {name[:40]!r}, which nobody asked for")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32) if name not in {"", "identity"} else None
    content, sent = bytearray(), 0
    for part in parts:
        sent += len(part)
        if sent > most:
            raise _large(most)
        try:
            content += part if unpack is None else unpack.decompress(part, most + 1 - len(content))
        except zlib.error as fault:
            raise PageFailed("the page cannot be unpacked") from fault
        if len(content) > most or (unpack is not None and unpack.unconsumed_tail):
            raise _large(most)
    if unpack is not None and sent and not unpack.eof:
        raise PageFailed("the page broke off")
    return bytes(content)


def text_of(content: bytes, kind: str, head: str) -> tuple[str, str]:
    """Return title and text of a page; the title is empty where it has none. head: its content type as it was sent."""
    text = content.decode(_charset(content, head), errors="replace").replace("\0", "")
    if kind not in _HTML:
        return "", text.replace("\r\n", "\n")
    match = _TITLE.search(text, 0, _TITLED)
    title = " ".join(html.unescape(match[1]).split())[:_LONGEST_TITLE] if match else ""
    # Pages are sent without the line breaks that they are shown with.
    untitled = text[: match.start()] + text[match.end() :] if match else text
    broken = _BLOCK.sub("\n<", _NO_TAG.sub("&lt;", untitled))
    extracted = extract("page.html", broken.encode(errors="replace")).text
    return title, _GAPS.sub("\n\n", extracted).strip()


def _charset(content: bytes, head: str) -> str:
    """Return the encoding that a page says it has, if it is one of texts."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    match = _CHARSET.search(head)
    meta = _META.search(content[:_HEAD])
    name = match[1] if match else meta[1].decode("ascii") if meta else "utf-8"
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        return "utf-8"
    return codec if _KNOWN.fullmatch(codec) else "utf-8"


def _large(most: int) -> PageFailed:
    return PageFailed(f"the page is larger than {most} bytes")


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
