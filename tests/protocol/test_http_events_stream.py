"""A surface's events as server-sent events: in order, resumed, and for those who may follow."""

from __future__ import annotations

import http.client
import json
import socket

import pytest
from live_door import PATIENCE, TOKENS, running, until

from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.http import events, serving, subscriptions
from counterpoint.protocol.http import subscriptions as audience
from counterpoint.protocol.limits import Shares


@pytest.fixture
def live(small, story, monkeypatch):
    """Give a running server whose first surface tells events."""
    monkeypatch.setattr(subscriptions, "A_WHILE", 0.05)
    with running(small, tell=story.tell) as found:
        yield found


class Reader:
    """Someone who reads the stream, field by field."""

    def __init__(self, live, query="", path="/events/small", by="reader", **headers):
        """Ask for it."""
        self.wire = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self.wire.request("GET", path + query, headers={"authorization": f"Bearer {by}", **named})
        self.got = self.wire.getresponse()
        assert self.got.status == 200
        self.last = ""

    def block(self):
        """Answer the next block as a browser reads it: its fields, and its comments under a dot."""
        found = {}
        while line := self.got.readline().decode().rstrip("\n"):
            name, _, text = line.partition(":")
            found[name or "."] = text.removeprefix(" ")
        if "id" in found:
            self.last = found["id"]
        return found

    def hear(self, count):
        """Answer the ids and names of so many events."""
        heard = []
        while len(heard) < count:
            block = self.block()
            assert block, "the stream ended"
            if "data" in block:
                heard.append((block["id"], block["event"]))
        return heard

    def close(self):
        """Leave."""
        self.got.close()
        self.wire.close()


def test_events_come_with_their_names_places_and_words(live, story):
    """What was there first, then what comes; the first block says where the reader is."""
    reader = Reader(live, "?after=-1")
    assert reader.got.headers["content-type"].startswith("text/event-stream")
    assert reader.block() == {"retry": "1000", "id": "-1"}
    first = reader.block()
    assert (first["id"], first["event"]) == ("0.1", "a:created")
    assert json.loads(first["data"]) == {"about": "x", "x": ""}
    assert reader.hear(1) == [("0.2", "b:created")]
    story.grow(("a:updated", "x"))
    assert reader.hear(1) == [("2.1", "a:updated")]
    reader.close()


def test_without_a_place_it_begins_now_and_says_where_that_is(live, story):
    """So that a reader who hears nothing can still come back."""
    reader = Reader(live)
    assert reader.block()["id"] == "1"
    reader.close()
    story.grow(("a:updated", "x"))
    again = Reader(live, last_event_id=reader.last)
    assert again.hear(1) == [("2.1", "a:updated")]
    again.close()


def test_a_reader_that_leaves_within_an_entry_goes_on_within_it(live):
    """The header wins over the address, as browsers need it."""
    reader = Reader(live, "?after=-1")
    assert reader.hear(1) == [("0.1", "a:created")]
    reader.close()
    again = Reader(live, "?after=-1", last_event_id=reader.last)
    assert again.hear(1) == [("0.2", "b:created")]
    again.close()


def test_a_reader_hears_of_what_it_names(live, story):
    """Of several ids; the ids of the events stay what they are for others."""
    story.grow(("c:created", "z"), ("a:updated", "x"))
    reader = Reader(live, "?after=-1&about=x&about=z")
    assert reader.hear(3) == [("0.1", "a:created"), ("2.1", "c:created"), ("2.2", "a:updated")]
    reader.close()


def test_a_quiet_stream_shows_that_it_lives_and_how_far_it_is(live, story, monkeypatch):
    """What the reader does not want moves its place on all the same."""
    monkeypatch.setattr(audience, "QUIET", 0.02)
    reader = Reader(live, "?about=z")
    reader.block()
    assert reader.block() == {".": ""}
    story.grow(("a:updated", "x"))
    while (block := reader.block()) == {".": ""}:
        continue
    assert block == {"id": "2"}
    reader.close()


@pytest.mark.parametrize(
    ("path", "by", "status", "error"),
    [
        ("/events/small?after=x", "reader", 400, "invalid_input"),
        ("/events/small?after=2", "reader", 400, "invalid_input"),
        ("/events/small?after=2.1", "reader", 400, "invalid_input"),
        ("/events/small?about=", "reader", 400, "invalid_input"),
        ("/events/small?about=" + "a" * 201, "reader", 400, "invalid_input"),
        ("/events/other", "reader", 404, "unknown_surface"),
        ("/events/", "reader", 404, "unknown_surface"),
        ("/events/small", "nothing", 403, "insufficient_scope"),
        ("/events/small", "echo", 403, "insufficient_scope"),
        ("/events/small", "elsewhere", 403, "insufficient_scope"),
        ("/events/small", "unknown", 401, "invalid_token"),
        ("/events/small?token=reader", "", 401, "unauthorized"),
    ],
)
def test_who_may_not_or_errs_is_told_so(live, story, path, by, status, error):
    """In words, before anything is streamed; and nobody else's ledger is looked at."""
    headers = {"authorization": f"Bearer {by}"} if by else {}
    answer = live.send("GET", path, **headers)
    assert (answer.status, answer.json["error"]) == (status, error)
    assert status == 400 or story.looks == []


@pytest.mark.parametrize(
    "header", [{"host": "elsewhere.example"}, {"origin": "https://elsewhere.example"}]
)
def test_pages_of_other_sites_hear_nothing(live, story, header):
    """Neither under another name nor from another page."""
    answer = live.send("GET", "/events/small", authorization="Bearer reader", **header)
    assert answer.status == 403
    assert story.looks == []


def test_it_is_read_and_not_written(live):
    """Only GET, and HEAD, which ends at once."""
    answer = live.send("POST", "/events/small", b"{}", authorization="Bearer reader")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    answer = live.send("HEAD", "/events/small", authorization="Bearer reader")
    assert (answer.status, answer.body) == (200, b"")


def test_to_follow_takes_a_call(live):
    """Like any other request."""
    for _ in range(2):
        live.send("HEAD", "/events/small", authorization="Bearer slow")
    answer = live.send("GET", "/events/small", authorization="Bearer slow")
    assert (answer.status, answer.json["error"]) == (429, "too_many_calls")


@pytest.mark.parametrize("change", ["expires", "narrows"])
def test_a_token_that_is_not_in_force_any_more_ends_the_stream(live, monkeypatch, change):
    """Asked at each look."""
    reader = Reader(live)
    reader.block()
    if change == "expires":
        monkeypatch.delitem(TOKENS, "reader")
    else:
        monkeypatch.setitem(TOKENS, "reader", TOKENS["nothing"])
    assert reader.got.read() == b""
    reader.close()


def test_without_any_token_it_ends_when_one_is_needed(live):
    """Whoever came in while nobody had to show one."""
    live.anyone = TOKENS["all"]
    wire = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
    wire.request("GET", "/events/small")
    got = wire.getresponse()
    assert got.status == 200
    live.anyone = None
    assert got.read().count(b"event:") == 0
    wire.close()


def test_a_fault_that_stays_ends_the_stream(live, story):
    """The reader comes back, and hears then what is wrong."""
    reader = Reader(live)
    with story.grown:
        story.fault = NotFound("gone")
        story.grown.notify_all()
    assert b"event:" not in reader.got.read()
    reader.close()
    assert live.send("GET", "/events/small", authorization="Bearer reader").status == 404


def test_places_are_counted_for_all_and_given_back(live, monkeypatch):
    """Who is refused, and who leaves, takes none."""
    monkeypatch.setattr(live.door._audience, "_places", Shares(1))
    for _ in range(3):
        assert live.send("GET", "/events/small?after=x", authorization="Bearer all").status == 400
        reader = Reader(live)
        answer = live.send("GET", "/events/small", authorization="Bearer reader")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert b"counterpoint_event_readers 1" in _metrics(live)
        reader.close()
        _until_alone(live)


def _metrics(live):
    return live.send("GET", "/metrics", authorization="Bearer reader").body


def _until_alone(live):
    until(lambda: b"counterpoint_event_readers 0" in _metrics(live))


def test_a_reader_that_takes_nothing_is_dropped_and_harms_nobody(live, story, monkeypatch):
    """Others hear everything meanwhile."""
    monkeypatch.setattr(events, "STALL", 0.3)
    story.width = 100_000
    sleeper = socket.socket()
    sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sleeper.connect(("127.0.0.1", live.port))
    ask = b"GET /events/small?after=-1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer reader"
    sleeper.sendall(ask + b"\r\n\r\n")
    for _ in range(150):
        story.grow(("a:updated", "x"), ("a:updated", "x"))
    reader = Reader(live, "?after=1")
    heard = reader.hear(300)
    assert [place for place, _ in heard] == [f"{n}.{k}" for n in range(2, 152) for k in (1, 2)]
    reader.close()
    _until_alone(live)
    sleeper.close()


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="not on this system")
def test_the_connection_of_a_reader_that_takes_nothing_is_cut(small, story, monkeypatch):
    """Its place is free, and so is what the system held for it."""
    monkeypatch.setattr(events, "STALL", 0.1)
    monkeypatch.setattr(serving, "UNTAKEN", 0.3)
    story.width = 10_000_000
    story.grow(("a:updated", "x"))
    with running(small, tell=story.tell) as live, socket.socket() as sleeper:
        sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sleeper.connect(("127.0.0.1", live.port))
        ask = b"GET /events/small?after=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        sleeper.sendall(ask + b"Authorization: Bearer reader\r\n\r\n")
        until(lambda: live.connections() == 1)
        until(lambda: live.connections() == 0)


def test_the_native_feed_stays_where_it_was(live):
    """A surface's page does not take its address."""
    answer = live.send("GET", "/events", authorization="Bearer reader")
    assert (answer.status, answer.json["error"]) == (404, "not_found")
