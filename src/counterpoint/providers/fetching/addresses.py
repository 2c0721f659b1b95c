"""Which addresses may be asked for a page.

An address is taken apart once, strictly, and what is asked is made anew of its parts. Rule 1: http and https, ports 80 and 443, no user, no
blanks, control signs or backslashes. Rule 2: a host that ends in a number is four plain decimal numbers, or it is refused: `127.1`, `0x7f.0.0.1`,
`2130706433` and `0177.0.0.1` mean this machine to some. Rule 3: of IPv4 what is not public is refused; of IPv6 all but 2000::/3, which
leaves out addresses that hold one of IPv4 (mapped, compatible, NAT64), and of that what is no public host or leads on (6to4, Teredo).
Rule 4: a name is looked up once, all that it leads to must be public, and one of these is connected to. Rule 5: `host:port` that a person trusted is exempt
from the rules about ports and public addresses, and from no other.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

from counterpoint.kernel.errors import AddressRefused, InvalidInput

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
