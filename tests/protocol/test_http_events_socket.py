"""A surface's events on a WebSocket: who may, what is said, and how it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from contextlib import contextmanager, suppress

import pytest
from live_door import PATIENCE, TOKENS, running, until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.http import serving, subscriptions
from counterpoint.protocol.limits import Shares

NAME = subscriptions.NAME


@pytest.fixture
def live(small, story, monkeypatch):
    """Give a running server whose first surface tells events."""
    monkeypatch.setattr(subscriptions, "A_WHILE", 0.05)
    with running(small, tell=story.tell) as found:
        yield found


class Peer:
    """A client with a WebSocket."""

    def __init__(self, wire):
        """Take over a connection, whose first message says where it is."""
        self.wire = wire
        first = self.hear()
        assert first["event"] == "following"
        self.start = first["id"]

    def hear(self):
        """Answer the next message."""
        return json.loads(self.wire.recv(PATIENCE))

    def say(self, message):
        """Send a message: text and bytes as they are, all else as JSON."""
        raw = isinstance(message, str | bytes)
        self.wire.send(message if raw else json.dumps(message))

    def ask(self, message):
        """Send a message; answer what comes back, events on the way left out."""
        self.say(message)
        while ":" in (answer := self.hear())["event"]:
            continue
        return answer

    def events(self, count):
        """Answer the places and names of so many events."""
        heard = []
        while len(heard) < count:
            message = self.hear()
            assert message["event"] != "error", message
            if ":" in message["event"]:
                heard.append((message["id"], message["event"]))
        return heard


def address(live, query="", path="/events/small"):
    """Answer where a WebSocket is opened."""
    return f"ws://127.0.0.1:{live.port}{path}{query}"


@contextmanager
def talking(live, query="", by="reader", **more):
    """Open a conversation."""
    headers = {"Authorization": f"Bearer {by}"} if by else {}
    with connect(address(live, query), additional_headers=headers, **more) as wire:
        yield Peer(wire)


def refused(live, query="", path="/events/small", headers=(), **more):
    """Answer status and body of a conversation that is not opened."""
    with pytest.raises(InvalidStatus) as answer:
        connect(address(live, query, path), additional_headers=headers, **more).close()
    response = answer.value.response
    return response.status_code, json.loads(response.body)


def test_events_are_told_with_names_places_and_words(live, story):
    """What was there first, then what comes."""
    with talking(live, "?after=-1") as peer:
        assert peer.start == "-1"
        assert peer.hear() == {"event": "a:created", "id": "0.1", "data": {"about": "x", "x": ""}}
        assert peer.events(1) == [("0.2", "b:created")]
        story.grow(("a:updated", "x"))
        assert peer.events(1) == [("2.1", "a:updated")]


def test_whoever_comes_back_goes_on_where_it_was(live, story):
    """Also one that had heard no event yet, and one that left within an entry."""
    with talking(live) as peer:
        assert peer.start == "1"
    story.grow(("a:updated", "x"), ("b:updated", "y"))
    with talking(live, f"?after={peer.start}") as again:
        ((place, _),) = again.events(1)
    with talking(live, f"?after={place}") as third:
        assert third.events(1) == [("2.2", "b:updated")]


def test_a_client_hears_of_what_it_subscribes_to(live, story):
    """All of it before the first subscription; nothing when it has left the last."""
    with talking(live) as peer:
        story.grow(("a:updated", "x"))
        assert peer.events(1) == [("2.1", "a:updated")]
        answer = peer.ask({"subscribe": ["y", "w"]})
        assert (answer["event"], answer["data"]) == ("following", {"about": ["w", "y"]})
        story.grow(("a:updated", "x"), ("b:updated", "y"))
        assert peer.events(1) == [("3.2", "b:updated")]
        assert peer.ask({"unsubscribe": ["y", "never"]})["data"] == {"about": ["w"]}
        story.grow(("b:updated", "y"))
        assert peer.ask({"unsubscribe": ["w"], "subscribe": ["x"]})["data"] == {"about": ["x"]}
        story.grow(("a:closed", "x"))
        assert peer.events(1) == [("5.1", "a:closed")]
        assert peer.ask({"unsubscribe": ["x"]})["data"] == {"about": []}
        story.grow(("a:reopened", "x"), ("b:closed", "y"))
        peer.say({"subscribe": ["x"], "after": "4"})
        assert peer.events(2) == [("5.1", "a:closed"), ("6.1", "a:reopened")]


def test_the_query_subscribes_too(live, story):
    """As for readers of the stream."""
    with talking(live, "?after=-1&about=y") as peer:
        assert peer.events(1) == [("0.2", "b:created")]


def test_a_client_moves_back_and_forth(live, story):
    """An answer stands before the first event from the place."""
    with talking(live, "?after=-1") as peer:
        assert peer.events(2) == [("0.1", "a:created"), ("0.2", "b:created")]
        assert peer.ask({"after": "0.1"})["id"] == "0.1"
        assert peer.events(1) == [("0.2", "b:created")]
        assert peer.ask({"after": 0})["id"] == "0"
        story.grow(("a:updated", "x"))
        assert peer.events(1) == [("2.1", "a:updated")]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("not json", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "not a JSON object"),
        (b"\x00\x01", "not text"),
        ({"subscribed": ["x"]}, "did you mean `subscribe`"),
        ({"zzz": 1}, "no key 'zzz'"),
        ({"subscribe": "x"}, "`subscribe` is not a list"),
        ({"subscribe": [1]}, "`subscribe` is not a list"),
        ({"unsubscribe": None}, "`unsubscribe` is not a list"),
        ({"subscribe": ["a" * 201]}, "at most 200"),
        ({"subscribe": [str(n) for n in range(1001)]}, "1000 subscriptions"),
        ({"after": "x"}, "`after`"),
        ({"after": None}, "`after`"),
        ({"after": "99"}, "no entry 99"),
        ({"after": "x", "subscribe": 1, "zzz": 1}, "`subscribe`"),
    ],
)
def test_a_message_that_is_none_is_answered_and_changes_nothing(live, story, message, words):
    """The connection stays open, its place and its subscriptions are what they were."""
    with talking(live) as peer:
        answer = peer.ask(message)
        assert (answer["event"], answer["id"]) == ("error", "1")
        assert words in answer["data"]["message"]
        assert answer["data"]["error"] == "invalid_input"
        story.grow(("a:updated", "x"))
        assert peer.events(1) == [("2.1", "a:updated")]


def test_every_fault_of_a_message_is_told_at_once(live):
    """And no part of it is done."""
    with talking(live) as peer:
        told = peer.ask({"after": "x", "unsubscribe": 1, "zzz": 1, "subscribe": ["x"]})
        assert told["data"]["message"].count(";") == 2
        assert peer.ask({"unsubscribe": []})["data"] == {"about": None}


def test_a_token_comes_among_the_sub_protocols(live, story):
    """As a browser must send it; the answer names the other one, and never the token."""
    with connect(address(live), subprotocols=[NAME, "bearer.reader"]) as wire:
        assert wire.subprotocol == NAME
        peer = Peer(wire)
        story.grow(("a:updated", "x"))
        assert peer.events(1) == [("2.1", "a:updated")]
    assert live.logged(1)[0].grant == "tok_reader"


@pytest.mark.parametrize(
    ("words", "headers", "status", "error"),
    [
        ([NAME, "bearer.unknown"], {}, 401, "invalid_token"),
        ([NAME, "bearer."], {}, 401, "invalid_token"),
        ([NAME], {}, 401, "unauthorized"),
        ([NAME, "bearer.nothing"], {}, 403, "insufficient_scope"),
        ([NAME, "bearer.echo"], {}, 403, "insufficient_scope"),
        ([NAME, "bearer.elsewhere"], {}, 403, "insufficient_scope"),
        (["bearer.reader", "bearer.all"], {}, 400, "invalid_request"),
        (["bearer.reader"], {"Authorization": "Bearer reader"}, 400, "invalid_request"),
        ([NAME, "bearer.reader"], {"Origin": "https://elsewhere.example"}, 403, "forbidden_origin"),
        ([NAME, "bearer.reader"], {"Origin": "null"}, 403, "forbidden_origin"),
    ],
)
def test_who_may_not_enter_is_told_why(live, story, words, headers, status, error):
    """With the answer that any other request would have; nobody's ledger is looked at."""
    got, body = refused(live, headers=headers, subprotocols=words)
    assert (got, body["error"]) == (status, error)
    assert story.looks == []


@pytest.mark.parametrize(
    ("query", "path", "status", "error"),
    [
        ("?after=x", "/events/small", 400, "invalid_input"),
        ("?after=2", "/events/small", 400, "invalid_input"),
        ("", "/events/other", 404, "unknown_surface"),
        ("", "/events", 404, "unknown_surface"),
        ("", "/mcp", 404, "unknown_surface"),
        ("", "/healthz", 404, "unknown_surface"),
    ],
)
def test_a_wrong_address_is_refused(live, query, path, status, error):
    """There are WebSockets for the events of surfaces, and no others."""
    got, body = refused(live, query, path, {"Authorization": "Bearer reader"})
    assert (got, body["error"]) == (status, error)


def test_a_page_of_another_name_is_refused(live, story):
    """A name that leads here from elsewhere is not this server's."""
    with socket.create_connection(("127.0.0.1", live.port), PATIENCE) as wire:
        wire.sendall(_handshake(host="elsewhere.example"))
        assert b"403 Forbidden" in wire.recv(100)
    assert story.looks == []


def _handshake(host="127.0.0.1", query=""):
    lines = [
        f"GET /events/small{query} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Authorization: Bearer reader",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.mark.parametrize(("by", "begin"), [("reader", b"101"), ("nothing", b"403")])
def test_what_is_said_too_early_waits_or_is_never_heard(
    small, story, monkeypatch, by, begin, caplog
):
    """Frames before the answer, be they sound or not, are read after it, if at all."""
    monkeypatch.setattr(serving, "PING", 0.1)
    with (
        running(small, tell=story.tell) as live,
        socket.create_connection(("127.0.0.1", live.port), PATIENCE) as wire,
    ):
        wire.sendall(_handshake().replace(b"Bearer reader", f"Bearer {by}".encode()))
        wire.sendall(b"\xff\xff\xff")
        got = b""
        with suppress(ConnectionResetError):
            while chunk := wire.recv(10_000):
                got += chunk
    assert got.startswith(b"HTTP/1.1 " + begin)
    assert caplog.records == []


def test_what_is_no_frame_or_no_text_ends_it(live):
    """With the code that the WebSocket protocol has for it."""
    for said, code in ((b"\xff\xff\xff", 1002), (b"\x81\x81\0\0\0\0\xff", 1007)):
        with socket.create_connection(("127.0.0.1", live.port), PATIENCE) as wire:
            wire.sendall(_handshake())
            got = wire.recv(10_000)
            wire.sendall(said)
            while chunk := wire.recv(10_000):
                got += chunk
            assert code.to_bytes(2, "big") in got
    _until_alone(live)


def test_messages_take_calls(live):
    """One to open, one for each message; beyond that the client is told to wait."""
    with talking(live, by="slow") as peer:
        assert peer.ask({"subscribe": ["x"]})["event"] == "following"
        answer = peer.ask({"subscribe": ["y"]})
        assert answer["data"]["error"] == "too_many_calls"
        assert "Wait 30 s" in answer["data"]["hint"]
    assert refused(live, headers={"Authorization": "Bearer slow"})[0] == 429


def ended(peer):
    """Answer the last message and the code with which the server closes."""
    last = None
    while True:
        try:
            last = peer.hear()
        except ConnectionClosed as closed:
            return last, closed.rcvd.code if closed.rcvd else None


def test_a_token_that_is_not_in_force_any_more_ends_it(live, monkeypatch):
    """The client is told, and closed off."""
    with talking(live) as peer:
        monkeypatch.delitem(TOKENS, "reader")
        last, code = ended(peer)
    assert (last["event"], last["data"]["error"], code) == ("error", "forbidden", 1008)


def test_a_fault_that_stays_ends_it(live, story):
    """With its words."""
    with talking(live) as peer:
        with story.grown:
            story.fault = NotFound("it is gone")
            story.grown.notify_all()
        last, code = ended(peer)
    assert (last["data"]["message"], code) == ("it is gone", 1011)


def test_a_quiet_client_learns_how_far_it_is(live, story, monkeypatch):
    """Once for each time that the place has moved on."""
    monkeypatch.setattr(subscriptions, "QUIET", 0.02)
    with talking(live, "?about=z") as peer:
        story.grow(("a:updated", "x"))
        assert peer.hear() == {"event": "following", "id": "2", "data": {"about": ["z"]}}
        with pytest.raises(TimeoutError):
            peer.wire.recv(0.3)


def test_the_server_pings_and_lets_go_of_who_does_not_answer(small, story, monkeypatch):
    """A connection whose other end is gone takes no place for long."""
    monkeypatch.setattr(serving, "PING", 0.1)
    monkeypatch.setattr(subscriptions, "A_WHILE", 0.05)
    with (
        running(small, tell=story.tell) as live,
        socket.create_connection(("127.0.0.1", live.port), PATIENCE) as wire,
    ):
        wire.sendall(_handshake())
        got = b""
        while chunk := wire.recv(1000):
            got += chunk
        assert b"\x89\x04" in got
        _until_alone(live)


def test_a_client_that_takes_nothing_is_let_go_and_harms_nobody(live, story, monkeypatch):
    """Others hear everything meanwhile; its connection is gone as well as its place."""
    monkeypatch.setattr(subscriptions, "STALL", 0.3)
    monkeypatch.setattr(serving, "LINGER", 0.1)
    story.width = 100_000
    sleeper = socket.socket()
    sleeper.settimeout(PATIENCE)
    sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sleeper.connect(("127.0.0.1", live.port))
    sleeper.sendall(_handshake(query="?after=-1"))
    for _ in range(150):
        story.grow(("a:updated", "x"), ("a:updated", "x"))
    with talking(live, "?after=1") as peer:
        heard = peer.events(300)
    assert [place for place, _ in heard] == [f"{n}.{k}" for n in range(2, 152) for k in (1, 2)]
    until(lambda: live.connections() == 0)
    _until_alone(live)
    sleeper.close()


def test_pings_of_a_client_that_takes_nothing_do_not_pile_up(live, story, monkeypatch):
    """Nobody listens to it while it does not listen: what it sends stays with it."""
    monkeypatch.setattr(subscriptions, "STALL", PATIENCE)
    story.width = 100_000
    for _ in range(50):
        story.grow(("a:updated", "x"))
    rude = socket.socket()
    for side in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        rude.setsockopt(socket.SOL_SOCKET, side, 4096)
    rude.connect(("127.0.0.1", live.port))
    rude.sendall(_handshake(query="?after=-1"))
    rude.settimeout(1)
    assert rude.recv(12) == b"HTTP/1.1 101"
    pings = (b"\x89\xfd" + b"\0\0\0\0" + b"x" * 125) * 1000
    sent = 0
    with suppress(TimeoutError):
        while sent < 20_000_000:
            sent += rude.send(pings[sent % len(pings) :])
    assert sent < 20_000_000
    rude.close()
    _until_alone(live)


def _until_alone(live):
    def is_alone():
        answer = live.send("GET", "/metrics", authorization="Bearer reader")
        return b"counterpoint_event_readers 0" in answer.body

    until(is_alone)


def test_places_are_shared_with_the_readers_of_streams(live, monkeypatch):
    """One too many is told to come again."""
    monkeypatch.setattr(live.door._audience, "_places", Shares(1))
    with talking(live):
        assert refused(live, headers={"Authorization": "Bearer all"})[0] == 503
        answer = live.send("GET", "/events/small", authorization="Bearer all")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    _until_alone(live)


def test_a_conversation_is_counted_and_logged_like_any_request(live):
    """Once it is over, with no word of the client's."""
    with talking(live, "?about=secret-word") as peer:
        peer.ask({"subscribe": ["secret-word"]})
    refused(live, headers={"Authorization": "Bearer secret-word"})
    first, second = live.logged(2)
    assert (first.method, first.path, first.status, first.outcome, first.grant) == (
        "WEBSOCKET", "/events/small", 101, "ok", "tok_reader",
    )  # fmt: skip
    assert (second.status, second.outcome) == (401, "invalid_token")
    assert "secret-word" not in repr(live.lines)
    body = live.send("GET", "/metrics", authorization="Bearer reader").body
    assert b'{method="WEBSOCKET",tool="",outcome="ok"} 1' in body
    assert b'{method="WEBSOCKET",tool="",outcome="invalid_token"} 1' in body


def test_the_end_of_the_server_ends_conversations_at_once(small, story, caplog, monkeypatch):
    """The client is told to come back, and nothing is logged as a fault."""
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(serving, "GRACE", PATIENCE)
    with running(small, tell=story.tell) as live, talking(live) as peer, talking(live):
        live.stop()
        assert live.ended.wait(PATIENCE / 2)
        assert ended(peer)[1] == 1012
    assert caplog.records == []


@pytest.mark.parametrize(("fault", "told"), [(asyncio.CancelledError, 0), (ValueError, 1)])
def test_what_is_cut_off_is_no_fault_however_late(live, caplog, fault, told):
    """A slow machine ends as quietly as a quick one; faults are logged as ever."""
    logging.getLogger("uvicorn.error").error("it ended", exc_info=fault())
    assert len(caplog.records) == told


def test_a_message_that_is_far_too_large_ends_it(live):
    """As the protocol has it, and nobody else notices."""
    with talking(live) as peer:
        peer.say("x" * (subscriptions.LARGEST_MESSAGE + 1))
        assert ended(peer)[1] == 1009
    _until_alone(live)


def test_several_hear_the_same(live, story):
    """Each once, in the same order, with the same places."""
    with talking(live) as one, talking(live) as other, talking(live, "?after=-1") as third:
        for n in range(20):
            story.grow(("a:updated", str(n)))
        heard = one.events(20)
        assert heard == other.events(20)
        assert third.events(22)[2:] == heard
