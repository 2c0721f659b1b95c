"""Addresses of pages: what leads to this machine, its networks or anywhere odd is refused, however it is spelled."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.core.model.web import PageLimits
from counterpoint.kernel.errors import AddressRefused, InvalidInput, PageFailed
from counterpoint.providers.web.fetching import PageFetcher, is_public, parse, refuse_place

PUBLIC = "93.184.215.14"
NUMBERS = (
    # this machine
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "[::1]", "[::]",  # noqa: S104 -- an address that is refused
    # private, shared, link-local, the metadata of clouds
    "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "169.254.169.254",
    "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fec0::1]",
    # multicast, broadcast, reserved, documentation, benchmarks, relays
    "224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "192.0.0.1", "192.0.2.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1",
    "[ff02::1]", "[2001:db8::1]", "[100::1]", "[3fff::1]", "[5f00::1]",
    # IPv4 inside of IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP
    "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[::ffff:93.184.215.14]",
    "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:c0a8:1::1]", "[2001:0:7f00:1::]",
    "[fe80::5efe:127.0.0.1]",
    # with marks that mean nothing
    "127.0.0.1.", "[0:0:0:0:0:0:0:1]", "[::FFFF:127.0.0.1]", "①②⑦.⓪.⓪.①", "\uff11\uff12\uff17.0.0.1",
    "127。0。0。1", "127.0.0.1#@example.com:80@x", "127.0.0.1?@example.com",
)  # fmt: skip
NAMES = (
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "printer.local", "metadata.google.internal",
    "router.lan", "x.home.arpa", "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54", "abc.onion",
)  # fmt: skip
ODD = (
    # numbers in spellings that other programs take for 127.0.0.1
    "http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://0x7f.0.0.1/",
    "http://0177.0.0.1/", "http://127.1/", "http://127.0.1/", "http://0/", "http://127.0.0.01/",
    "http://127.0.0.0x1/", "http://0x/", "http://1.2.3.4.5/", "http://256.0.0.1/", "http://a.127/",
    # users, odd schemes, no host, no address at all
    "http://user@example.com/", "http://user:secret@example.com/", "http://example.com@127.0.0.1/", "https://@example.com/",
    "file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1:6379/_x", "dict://127.0.0.1:1/",
    "data:text/html,x", "javascript:alert(1)", "ws://example.com/", "jar:http://x!/", "//example.com/",
    "example.com", "http:example.com", "http:///x", "http://", "", "http://[::1", "http://[fe80::1%25eth0]/",
    "http://[::1%lo]/", "http://[v1.x]/", "http://[127.0.0.1]/",
    # signs that programs read in two ways
    "http://127.0.0.1\\@example.com/", "http://example.com\\.127.0.0.1/", "http://exa mple.com/",
    "http://example.com/\r\nHost: x", "http://exam\tple.com/", " http://example.com/", "http://example.com\x00/",
    "http://-example.com/", "http://exa%6dple.com/", "http://example..com/", "http://.example.com/",
    "http://ex_ample!.com/", f"http://{'a' * 64}.com/", "http://" + ".".join(["a" * 60] * 5) + "/",
    "http://example.com:0x50/", "http://example.com:99999/", "http://example.com:-1/", "http://example.com:٨٠/",
    "http://" + "a" * 2_000,
)  # fmt: skip
PORTS = (22, 25, 0, 1, 3306, 6379, 8080, 9200, 11211, 65535)


def never(host: str, port: int) -> list[str]:
    """Look no name up."""
    raise AssertionError((host, port))


def fetched(url: str, look_up: Any = never, hosts: Any = ()) -> Any:
    """Answer what fetching comes to where nothing may be connected to."""
    return PageFetcher(look_up=look_up).fetch(url, hosts, PageLimits(), lambda _: None)


@pytest.mark.parametrize("host", [*NUMBERS, *NAMES])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_is_no_public_host_is_refused_before_anything_is_looked_up(
    scheme: str, host: str
) -> None:
    """By its number or its name, in all forms of it."""
    with pytest.raises(AddressRefused) as caught:
        fetched(f"{scheme}://{host}/latest/meta-data/")
    assert "host and port below [web]" in caught.value.hint


@pytest.mark.parametrize("url", ODD)
def test_what_is_no_plain_address_is_refused_as_such(url: str) -> None:
    """Whatever some program would make of it."""
    with pytest.raises(InvalidInput):
        fetched(url)


@pytest.mark.parametrize("port", PORTS)
def test_ports_of_other_services_are_refused(port: int) -> None:
    """A page is on 80 or 443, unless a person says otherwise."""
    with pytest.raises(AddressRefused, match=f"port {port}"):
        fetched(f"http://example.com:{port}/")


@pytest.mark.parametrize(
    "ips",
    [
        [host.strip("[]")]
        for host in NUMBERS
        if host[-1] != "." and "@" not in host and host.isascii()
    ]
    + [[PUBLIC, "127.0.0.1"], ["10.0.0.1", PUBLIC], ["fe80::1%eth0"], ["nonsense"]],
)
def test_a_name_that_leads_anywhere_else_is_refused(ips: list[str]) -> None:
    """All that it leads to has to be public: which of them is taken is not for its owner to say."""
    with pytest.raises(AddressRefused, match=r"example\.com leads to"):
        fetched("http://example.com/", lambda *_: ips)


def test_a_name_that_leads_nowhere_is_no_page() -> None:
    """Neither one that is not known nor one without an address."""

    def lost(*_: Any) -> list[str]:
        raise OSError("not known")

    for look_up in (lost, lambda *_: []):
        with pytest.raises(PageFailed, match="leads nowhere"):
            fetched("http://example.com/", look_up)


def test_what_a_person_trusted_is_exempt_by_host_and_port_alone() -> None:
    refuse_place(parse("http://127.0.0.1:8080/"), ["127.0.0.1:8080"])
    refuse_place(parse("http://[0:0::1]:8080/"), ["[::1]:8080"])
    refuse_place(parse("http://localhost/"), ["localhost:80"])
    for url in ("http://127.0.0.1:8081/", "http://127.0.0.2:8080/", "http://localhost:8080/"):
        with pytest.raises(AddressRefused):
            refuse_place(parse(url), ["127.0.0.1:8080"])


@pytest.mark.parametrize(
    ("url", "made"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com:443/a?b=c#d", "https://example.com/a?b=c"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com./", "http://example.com/"),
        ("http://bücher.example/ä?ö=%20", "http://xn--bcher-kva.example/%C3%A4?%C3%B6=%20"),
        ("http://93.184.215.14/", "http://93.184.215.14/"),
        ("https://[2606:2800:21F:CB07::1]/", "https://[2606:2800:21f:cb07::1]/"),
    ],
)
def test_a_public_address_is_made_anew_of_its_parts(url: str, made: str) -> None:
    """In one spelling, without what a server is not sent."""
    address = parse(url)
    assert address.url == made
    refuse_place(address, ())


def test_public_numbers_are_public() -> None:
    """So that the lists refuse no more than they should."""
    for ip in (PUBLIC, "8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::1", "172.32.0.1"):
        assert is_public(ip)
