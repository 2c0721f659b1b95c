"""Places for connections over HTTP: who says nothing takes none from others."""

from __future__ import annotations

import resource
import socket
from types import SimpleNamespace

import pytest
from live_door import PATIENCE, Live, until

from counterpoint.protocol import sockets
from counterpoint.protocol.http import quotas, serving
from counterpoint.protocol.http.quotas import Places

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Visitor(SimpleNamespace):
    """A connection from an address."""

    __hash__ = object.__hash__
    is_over = False

    def give_way(self) -> None:
        """End."""
        self.is_over = True


def test_who_waits_without_a_request_gives_way_and_no_other() -> None:
    """The one that waited longest, of the same address; nobody's address takes all."""
    held = Places(6)
    first, second, third = (Visitor(address="a") for _ in range(3))
    assert held.take(first)
    assert held.take(second)
    assert held.take(third)
    held.work(second)
    fourth = Visitor(address="a")
    assert held.take(fourth)
    assert (first.is_over, second.is_over, third.is_over) == (True, False, False)
    assert held.take(Visitor(address="b"))
    held.work(third)
    held.work(fourth)
    assert not held.take(Visitor(address="a"))
    held.leave(third)
    held.wait(third)
    assert held.take(Visitor(address="a"))


def test_agents_and_http_have_descriptors_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few the process may open, neither door takes what the other and the server need."""
    for most in (256, 1024, 4096):
        monkeypatch.setattr(resource, "getrlimit", lambda _, most=most: (most, most))
        agents, guests = sockets._places(), quotas._size()
        assert 2 * agents + guests + 50 <= most
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert quotas._size() == quotas.MOST_CONNECTIONS


def test_silent_connections_take_no_place_from_who_asks(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as there are: the next that asks is answered, those with a request under way stay."""
    wire = live.listener._server.config.http_protocol_class
    monkeypatch.setattr(wire, "places", Places(8))
    live.gate.clear()
    address = ("127.0.0.1", live.port)
    with socket.create_connection(address, PATIENCE) as under_way:
        call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}'
        head = (
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(call)}\r\n\r\n"
        )
        under_way.sendall(head.encode() + call)
        assert live.heard.wait(PATIENCE)
        silent = [socket.create_connection(address, PATIENCE) for _ in range(60)]
        assert live.send("GET", "/healthz").status == 200
        until(lambda: live.connections() <= 8)
        live.gate.set()
        assert b" 200 " in under_way.recv(100)
    for one in silent:
        one.close()


def test_a_head_that_does_not_come_whole_ends_its_connection(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether nothing comes or half of it, first or after an answer; a connection that asks again stays."""
    monkeypatch.setattr(serving, "HEAD", 0.2)
    for half in (b"", REQUEST[:20], REQUEST + REQUEST[:20]):
        with socket.create_connection(("127.0.0.1", live.port), PATIENCE) as slow:
            slow.sendall(half)
            heard = b""
            while piece := slow.recv(1000):
                heard += piece
            assert heard.count(b"HTTP/1.1 408") == 1
            assert heard.count(b" 200 OK") == half.count(REQUEST)
