"""Fetching pages from a server on this machine, which the test lets be asked as a person would."""

from __future__ import annotations

import gzip
import threading
import zlib
from typing import Any

import pytest

from counterpoint.core.model.web import Page, PageLimits
from counterpoint.kernel.errors import (
    AddressRefused,
    CounterpointError,
    InvalidInput,
    PageFailed,
    PageTimedOut,
    Unavailable,
)
from counterpoint.providers import wire
from counterpoint.providers.web.fetching import PageFetcher, resolve
from fakes.paged import PageServer, Sent

HTML = "<html><head><title>A &amp; B</title><script>x()</script></head><body><h1>Head</h1><p>One</p>\n\n\n\n<p>Two</p></body>"


def fetched(pages: PageServer, path: str, look_up: Any = resolve, **limits: Any) -> Page:
    """Answer a page."""
    fetcher = PageFetcher(look_up=look_up)
    return fetcher.fetch(pages.url(path), [pages.place], PageLimits(**limits), lambda _: None)


def test_a_page_comes_as_its_text() -> None:
    """With its title; asked without cookies, keys and proxies."""
    with PageServer({"/a?b": Sent(HTML)}) as pages:
        page = fetched(pages, "/a?b")
    assert (page.title, page.kind, page.size) == ("A & B", "text/html", len(HTML))
    assert page.text == "# Head\n\nOne\n\nTwo"
    assert page.final_url == pages.url("/a?b")
    heads = pages.heads[0]
    assert heads["host"] == pages.place
    assert {"cookie", "authorization"}.isdisjoint(heads)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (Sent("a\r\nb\0", kind="text/plain"), "a\nb"),
        (Sent('{"a": 1}', kind="application/json"), '{"a": 1}'),
        (Sent("äö".encode("latin-1"), kind="text/plain; charset=ISO-8859-1"), "äö"),
        (Sent("äö".encode("utf-16"), kind="text/plain"), "äö"),
        (Sent('<meta charset="windows-1252"><p>\x93q\x94'.encode("latin-1"), kind="text/html"), "“q”"),
        (Sent(b"\xff\xfe\xfd", kind="text/plain; charset=nonsense"), None),
        (Sent(b"caf\xe9", kind="text/plain; charset=zlib_codec"), "caf\ufffd"),
        (Sent("plain", kind=""), "plain"),
        (Sent(gzip.compress(b"packed"), kind="text/plain", heads={"Content-Encoding": "gzip"}), "packed"),
        (Sent(zlib.compress(b"packed"), kind="text/plain", heads={"Content-Encoding": "deflate"}), "packed"),
        (Sent(b"", kind="text/plain"), ""),
    ],
)  # fmt: skip
def test_texts_are_read_as_they_say_they_are_written(sent: Sent, text: str | None) -> None:
    with PageServer({"/": sent}) as pages:
        page = fetched(pages, "/")
    assert text is None or page.text == text


def test_redirects_are_followed_as_far_as_each_may_be_asked() -> None:
    """And no more of them than are allowed; where they end is told."""
    on = {f"/{n}": Sent(status=302, heads={"Location": f"/{n + 1}"}) for n in range(8)}
    with PageServer({**on, "/8": Sent("<p>end</p>")}) as pages:
        page = fetched(pages, "/3", redirects=5)
        assert (page.text, page.url, page.final_url) == ("end", pages.url("/3"), pages.url("/8"))
        with pytest.raises(PageFailed, match="more than 5 times"):
            fetched(pages, "/2", redirects=5)


@pytest.mark.parametrize(
    ("location", "fault"),
    [
        ("http://127.0.0.1:1/", AddressRefused),
        ("http://169.254.169.254/latest/meta-data/", AddressRefused),
        ("//localhost/", AddressRefused),
        ("http://[::ffff:7f00:1]/", AddressRefused),
        ("file:///etc/passwd", InvalidInput),
        ("http://2130706433/", InvalidInput),
        ("http://x:y@example.com/", InvalidInput),
        ("gopher://example.com/", InvalidInput),
        ("http://rebound.example/", AddressRefused),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_nowhere_that_is_not_asked(
    location: str, fault: type[CounterpointError], status: int
) -> None:
    """Each is an address like the first, names included."""
    with (
        PageServer({"/": Sent(status=status, heads={"Location": location})}) as pages,
        pytest.raises(CounterpointError) as caught,
    ):
        fetched(pages, "/", look_up=lambda *_: ["10.0.0.1"])
    assert type(caught.value) is fault
    assert pages.asked == ["/"]


def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to() -> None:
    """One that leads elsewhere a moment later changes nothing; the page is asked for by its name."""
    with PageServer({"/": Sent("<p>here</p>")}) as pages:
        asked: list[str] = []

        def turning(host: str, port: int) -> list[str]:
            asked.append(f"{host}:{port}")
            return ["127.0.0.1"] if len(asked) == 1 else ["10.11.12.13"]

        name = f"pages.example:{pages.port}"
        fetcher = PageFetcher(look_up=turning)
        page = fetcher.fetch(f"http://{name}/", [name], PageLimits(), lambda _: None)
    assert (page.text, asked) == ("here", [name])
    assert pages.heads[0]["host"] == name


def test_another_address_of_a_name_is_tried_where_one_does_not_answer() -> None:
    """All of them were checked."""
    with PageServer({"/": Sent("<p>here</p>")}) as pages:
        name = f"pages.example:{pages.port}"
        fetcher = PageFetcher(look_up=lambda *_: ["127.0.0.2", "127.0.0.1"])
        assert fetcher.fetch(f"http://{name}/", [name], PageLimits(), lambda _: None).text == "here"
        fetcher = PageFetcher(look_up=lambda *_: ["127.0.0.3", "127.0.0.2"])
        with pytest.raises(PageFailed, match="cannot be fetched"):
            fetcher.fetch(f"http://{name}/", [name], PageLimits(), lambda _: None)


BOMB = zlib.compress(b"\0" * 30_000_000, 9)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (Sent("x" * 5_001), "larger than 5000 bytes"),
        (Sent("x" * 5_001, heads={"Content-Length": ""}), "larger than 5000 bytes"),
        (Sent(BOMB[:4_000], heads={"Content-Encoding": "deflate"}), "larger than 5000 bytes"),
        (Sent(gzip.compress(b"x" * 5_001), heads={"Content-Encoding": "gzip"}), "larger than 5000"),
        (Sent(b"nonsense", heads={"Content-Encoding": "gzip"}), "cannot be unpacked"),
        (Sent(gzip.compress(b"x" * 99)[:20], heads={"Content-Encoding": "gzip"}), "broke off"),
        (Sent("x", heads={"Content-Encoding": "br"}), "packed as 'br'"),
        (Sent("x", kind="application/octet-stream"), "content type 'application/octet-stream'"),
        (Sent("x", kind="image/png"), "content type 'image/png'"),
        (Sent("x", status=404), "answered 404"),
        (Sent("x", status=500), "answered 500"),
        (Sent("x", status=302), "answered 302"),
        (Sent("x", heads={"Content-Length": "99"}), "cannot be fetched"),
        (Sent("x", heads={"X-Long": "y" * 200_000}), "cannot be fetched"),
    ],
)  # fmt: skip
def test_what_is_too_large_or_no_text_or_broken_is_no_page(sent: Sent, words: str) -> None:
    """However little of it is sent."""
    with PageServer({"/": sent}) as pages, pytest.raises(PageFailed, match=words):
        fetched(pages, "/", size=5_000, seconds=10.0)


def test_who_is_slow_is_not_waited_for() -> None:
    """Neither before its first byte nor between two."""
    silent = PageServer({"/": Sent("x", wait=threading.Event())})
    with silent as pages, pytest.raises(PageTimedOut):
        fetched(pages, "/", seconds=0.2)


def test_who_asked_may_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is heard each second."""
    monkeypatch.setattr(wire, "TICK", 0.01)

    def gone(_: str) -> None:
        raise Unavailable("gone")

    silent = PageServer({"/": Sent("x", wait=threading.Event())})
    with silent as pages, pytest.raises(Unavailable, match="gone"):
        PageFetcher().fetch(pages.url("/"), [pages.place], PageLimits(), gone)
