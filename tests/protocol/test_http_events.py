"""The feed over HTTP: in order, resumed, and for those who read."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from dataclasses import dataclass, field

import pytest
from live_door import PATIENCE, running

from counterpoint.kernel.errors import InvalidInput, NotFound
from counterpoint.protocol.http import events
from counterpoint.protocol.http.events import Events, SentEvent
from counterpoint.protocol.limits import Shares


@dataclass
class Ledger:
    """Entries, and who waits for them."""

    size: int = 3
    width: int = 0
    reads: int = 0
    fault: Exception | None = None
    grown: threading.Condition = field(default_factory=threading.Condition)

    def grow(self, by: int = 1) -> None:
        """Append entries."""
        with self.grown:
            self.size += by
            self.grown.notify_all()

    def last(self, _grant) -> int:
        """Answer the last sequence."""
        return self.size - 1

    def read(self, _grant, after: int, seconds: float) -> list[SentEvent]:
        """Answer at most ten entries above a sequence."""
        with self.grown:
            self.reads += 1
            if after >= self.size:
                raise InvalidInput(f"there is no entry {after}")
            if self.fault is not None:
                raise self.fault
            self.grown.wait_for(lambda: self.size - 1 > after, seconds)
            upto = min(self.size, after + 11)
            text = json.dumps({"x": "y" * self.width})
            return [SentEvent(sequence=n, action="a.b", text=text) for n in range(after + 1, upto)]


@pytest.fixture
def ledger():
    """Give a ledger of three entries."""
    return Ledger()


@pytest.fixture
def live(small, ledger):
    """Give a running server with the page."""
    page = Events(ledger.read, ledger.last)
    with running(small, events=page.page) as found:
        found.page = page
        yield found


class Reader:
    """Someone who reads the stream."""

    def __init__(self, live, path="/events", **headers):
        """Ask for it."""
        self.wire = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self.wire.request("GET", path, headers={"authorization": "Bearer reader", **named})
        self.got = self.wire.getresponse()
        assert self.got.status == 200
        assert self.got.readline() + self.got.readline() == b"retry: 1000\n\n"

    def hear(self, count):
        """Answer the ids of so many events."""
        ids = []
        while len(ids) < count:
            line = self.got.readline()
            assert line
            if line.startswith(b"id: "):
                ids.append(int(line[4:]))
        return ids

    def close(self):
        """Leave."""
        self.got.close()
        self.wire.close()


def test_entries_come_in_order_and_each_once(live, ledger):
    """From the beginning, through what was there, to what comes; more than a page at once too."""
    reader = Reader(live, "/events?after=-1")
    assert reader.got.headers["content-type"].startswith("text/event-stream")
    assert reader.hear(3) == [0, 1, 2]
    ledger.grow()
    assert reader.hear(1) == [3]
    ledger.grow(25)
    assert reader.hear(25) == list(range(4, 29))
    reader.close()


def test_without_a_place_it_begins_now(live, ledger):
    """What was there before is not told."""
    reader = Reader(live)
    ledger.grow()
    assert reader.hear(1) == [3]
    reader.close()


def test_a_reader_that_comes_back_goes_on_where_it_was(live, ledger):
    """The header counts, as browsers send it; it wins over the address they connected to first."""
    reader = Reader(live, "/events?after=-1")
    assert reader.hear(2) == [0, 1]
    reader.close()
    ledger.grow(2)
    again = Reader(live, "/events?after=-1", last_event_id="1")
    assert again.hear(3) == [2, 3, 4]
    again.close()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/events?after=x", 400),
        ("/events?after=", 400),
        ("/events?after=3", 400),
        ("/events?after=" + "9" * 30, 400),
    ],
)
def test_a_place_that_is_none_is_refused(live, path, status):
    """In words, before anything is streamed."""
    answer = live.send("GET", path, authorization="Bearer reader")
    assert answer.status == status
    assert answer.json["error"] == "invalid_input"


def test_who_may_not_read_hears_nothing(live, ledger):
    """A token is needed, with the scope to read."""
    assert live.send("GET", "/events").status == 401
    assert live.send("GET", "/events", authorization="Bearer nothing").status == 403
    assert ledger.reads == 0


def test_a_right_that_is_taken_away_ends_the_stream(live, ledger):
    """The reader is asked for each time."""
    reader = Reader(live)
    with ledger.grown:
        ledger.fault = NotFound("there is no such reader any more")
        ledger.grown.notify_all()
    assert reader.got.read() == b""
    reader.close()


def test_a_stream_has_an_end_after_which_the_token_is_shown_again(live, monkeypatch):
    """What is known by then has been told."""
    monkeypatch.setattr(events, "LONGEST", 0.0)
    reader = Reader(live, "/events?after=-1")
    assert reader.hear(3) == [0, 1, 2]
    assert reader.got.read().count(b"id:") == 0
    reader.close()


def test_a_quiet_stream_shows_that_it_lives(live, ledger, monkeypatch):
    """A comment comes when nothing else did."""
    monkeypatch.setattr(events, "_A_WHILE", 0.01)
    monkeypatch.setattr(events, "QUIET", 0.02)
    reader = Reader(live)
    assert reader.got.readline() == b":\n"
    reader.close()


def test_one_token_takes_not_all_places_and_gives_them_back(live, ledger, monkeypatch):
    """One too many is told to come again, another token finds a place; whoever leaves makes room."""
    monkeypatch.setattr(live.page, "_places", Shares(2))
    for _ in range(3):
        reader = Reader(live)
        answer = live.send("GET", "/events", authorization="Bearer reader")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert live.send("HEAD", "/events", authorization="Bearer all").status == 200
        reader.close()
        _until_free(live)


def _until_free(live):
    pulse = threading.Event()
    for _ in range(2000):
        if not live.page._places._taken:
            return
        pulse.wait(0.01)
    raise AssertionError("a place was never given back")


def test_a_reader_that_takes_nothing_is_dropped_and_harms_nobody(live, ledger, monkeypatch):
    """Others hear everything meanwhile; memory holds one page of it."""
    monkeypatch.setattr(events, "STALL", 0.3)
    ledger.width = 100_000
    sleeper = socket.socket()
    sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sleeper.connect(("127.0.0.1", live.port))
    ask = (
        b"GET /events?after=-1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer reader\r\n\r\n"
    )
    sleeper.sendall(ask)
    ledger.grow(300)
    reader = Reader(live, "/events?after=-1")
    assert reader.hear(303) == list(range(303))
    reader.close()
    _until_free(live)
    sleeper.close()
