"""The server's end of the socket: who is let in, what is asked, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from socket_house import GREETING, PATIENCE, House

from counterpoint import __version__
from counterpoint.kernel.errors import InvalidInput, StoreBusy, Unavailable
from counterpoint.protocol import peers as peers_module
from counterpoint.protocol import rendezvous as meeting_module
from counterpoint.protocol import sockets as sockets_module
from counterpoint.protocol.peers import PeerProcess
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.protocol.sockets import Greeting, Sockets


@pytest.fixture
def house(tmp_path, small) -> House:
    """Give a house that is still closed."""
    return House(find_rendezvous(tmp_path / "x.db"), small)


def living(house: House, course: Callable[[Sockets[Any]], Awaitable[None]]) -> None:
    """Run a course of events in an open house."""

    async def run() -> None:
        async with house.open() as sockets:
            await course(sockets)

    asyncio.run(run())


def test_a_guest_is_greeted_seated_and_counted(house):
    """The flags and variables arrive; when the guest leaves it is counted no more."""

    async def course(sockets):
        guest = await house.seated()
        assert sockets.clients == 1
        assert house.greeted == [
            Greeting(
                flags={},
                environ={},
                folder="/",
                version=__version__,
                peer=PeerProcess(pid=os.getpid(), user=os.getuid()),
            )
        ]
        guest.writer.close()
        while sockets.clients:
            sockets.changed.clear()
            await asyncio.wait_for(sockets.changed.wait(), PATIENCE)

    living(house, course)


def test_guests_are_served_at_once_over_one_pool(house):
    """Each gets its own answers, however many there are."""

    async def course(sockets):
        guests = [await house.seated() for _ in range(5)]
        assert sockets.clients == 5
        for number, guest in enumerate(guests):
            await guest.say({"jsonrpc": "2.0", "id": number, "method": "tools/list"})
        for number, guest in enumerate(guests):
            assert (await guest.hear())["id"] == number

    living(house, course)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ({**GREETING, "counterpoint": 2}, "version 1"),
        (b"GET / HTTP/1.1\r\n", "version 1"),
        (b"[]\n", "version 1"),
        ({**GREETING, "flags": None}, "flags"),
        ({**GREETING, "environ": {"A": 1}}, "flags"),
        ({"counterpoint": 1, "ask": "nonsense"}, "status"),
        ({"counterpoint": 1, "ask": []}, "status"),
    ],
)
def test_another_conversation_is_refused_in_words(house, line, word):
    """The answer names what is spoken here; then the connection ends, and the server lives."""

    async def course(_sockets):
        guest = await house.guest()
        await guest.say(line)
        said = await guest.hear()
        assert said["ok"] is False
        assert word in said["error"]["message"]
        assert said["error"]["hint"]
        assert await guest.at_end()
        assert await house.seated()

    living(house, course)


def test_who_is_not_admitted_is_told_why(house):
    """The refusal of the product goes to the relay as it is."""
    house.refusal = InvalidInput("not here", hint="Go there.")

    async def course(sockets):
        guest = await house.guest()
        await guest.say(GREETING)
        error = (await guest.hear())["error"]
        assert error == {"code": "invalid_input", "message": "not here", "hint": "Go there."}
        assert sockets.clients == 0

    living(house, course)


def test_a_fault_inside_is_told_without_its_inside(house, caplog):
    """It is logged; the words to the relay leak nothing."""
    house.refusal = RuntimeError("the inside")

    async def course(_sockets):
        guest = await house.guest()
        await guest.say(GREETING)
        assert "inside server" not in json.dumps(await guest.hear())

    living(house, course)
    assert "the inside" in caplog.text


def test_somebody_of_another_user_is_not_let_in(house, monkeypatch):
    """The system says who is at the other end; nothing that it sends is read."""
    mine = os.getuid()
    monkeypatch.setattr(peers_module.os, "getuid", lambda: mine + 1)

    async def course(_sockets):
        guest = await house.guest()
        assert (await guest.hear())["error"]["code"] == "forbidden"
        assert house.greeted == []

    living(house, course)


def test_a_guest_that_says_nothing_is_let_go(house, monkeypatch):
    """So is one that leaves at once, and one that never ends its first line."""
    monkeypatch.setattr(sockets_module, "PATIENCE", 0.05)
    monkeypatch.setattr(sockets_module, "GREETING", 1000)

    async def course(sockets):
        silent = await house.guest()
        assert await silent.at_end()
        (await house.guest()).writer.close()
        endless = await house.guest()
        await endless.say(b"x" * 100_000)
        assert "at most" in (await endless.hear())["error"]["message"]
        assert sockets.clients == 0

    living(house, course)


def test_one_account_takes_not_all_places(house, monkeypatch):
    """It gets half of them, in words, for agents and for who has not said who he is; a place that is left is free."""
    monkeypatch.setattr(sockets_module, "PLACES", 8)

    async def course(sockets):
        guests = [await house.seated() for _ in range(4)]
        fifth = await house.guest()
        await fifth.say(GREETING)
        error = (await fifth.hear())["error"]
        assert error["code"] == "rate_limited"
        assert "too many connections of agents" in error["message"]
        assert await fifth.at_end()
        guests.pop().writer.close()
        while not sockets._seats.may_take(f"uid {os.getuid()}"):  # noqa: ASYNC110 -- no event tells of it
            await asyncio.sleep(0)
        await house.seated()
        silent = [await house.guest() for _ in range(2)]
        third = await house.guest()
        said = (await third.hear())["error"]["message"]
        assert "have not said who they are" in said
        for one in silent:
            await one.say({"counterpoint": 1, "ask": "status"})
            assert (await one.hear())["clients"] == 4
        # Another account finds a place in both.
        other = PeerProcess(pid=1, user=7)
        monkeypatch.setattr(sockets_module, "held_peer", lambda *_: nullcontext(other))
        await house.seated()

    living(house, course)


def test_calls_of_one_caller_leave_threads_to_another(house):
    """Over the socket: as many connections as one opens, its calls are counted together."""
    callers = iter(["one", "one", "other"])
    admit = house.admit
    house.admit = lambda greeting: replace(admit(greeting), caller=next(callers))
    long = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "hang", "arguments": {}}}
    short = {"name": "echo", "arguments": {"text": "x"}}

    async def course(_sockets):
        mine = [await house.seated(), await house.seated()]
        other = await house.seated()
        # Beyond what is under way at once: whose calls are read later is known too.
        await mine[0].say(*({**long, "id": number, "params": short} for number in range(200, 400)))
        for _ in range(200):
            await mine[0].hear()
        for number, guest in enumerate(mine * 3, 1):
            await guest.say({**long, "id": number})
        # Read before the next call: what is under way on it is counted.
        await mine[1].say({"jsonrpc": "2.0", "id": 9, "method": "ping"})
        await mine[1].hear()
        await other.say({**long, "id": 1, "params": short})
        heard = await asyncio.wait_for(other.hear(), PATIENCE / 2)
        assert heard["result"]["structuredContent"]["text"] == "x"

    living(house, course)


def test_the_status_is_told_and_a_stop_is_heard(house):
    """The one who asks for the end is held until it is there."""

    async def course(sockets):
        await house.seated()
        asking = await house.guest()
        await asking.say({"counterpoint": 1, "ask": "status"})
        said = await asking.hear()
        assert (said["pid"], said["clients"], said["started_at"]) == (os.getpid(), 1, "now")
        assert not sockets.over.is_set()
        telling = await house.guest()
        await telling.say({"counterpoint": 1, "ask": "stop"})
        assert (await telling.hear())["ok"]
        await asyncio.wait_for(sockets.over.wait(), PATIENCE)

    living(house, course)


def test_what_is_under_way_is_answered_before_the_end_if_it_is_quick(house):
    async def course(sockets):
        guest = await house.seated()
        await guest.say({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        heard = await guest.hear()
        assert await sockets.close()
        assert heard["id"] == 1
        assert await guest.at_end()

    living(house, course)


def test_who_does_not_read_is_let_go(house, monkeypatch):
    """Others are served meanwhile, and what waited is forgotten."""
    monkeypatch.setattr(sockets_module, "UNREAD", 50_000)

    async def course(sockets):
        silent, other = await house.seated(), await house.seated()
        silent.reader._transport.pause_reading()
        asked = [{"jsonrpc": "2.0", "id": n, "method": "tools/list"} for n in range(20_000)]
        with pytest.raises(ConnectionError):
            await silent.say(*asked)
        await other.say({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert (await other.hear())["id"] == 1
        assert sockets.clients == 1

    living(house, course)


def test_one_turn_is_held_by_one(tmp_path, monkeypatch):
    """Another waits a moment for it, and is then told who has it."""
    monkeypatch.setattr(meeting_module, "PATIENCE", 0.05)
    meeting = find_rendezvous(tmp_path / "x.db")
    with (
        meeting.turn("lock"),
        pytest.raises(StoreBusy, match="another server"),
        meeting.turn("lock"),
    ):
        pass
    with meeting.turn("lock"):
        pass


def test_a_turn_that_is_given_back_in_time_is_had(tmp_path):
    """Whoever waits goes on when the other one leaves."""
    meeting = find_rendezvous(tmp_path / "x.db")
    had = threading.Event()

    def wait() -> None:
        with meeting.turn("lock"):
            had.set()

    with meeting.turn("lock"):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not had.wait(0.05)
    assert had.wait(PATIENCE)
    waiting.join()


def test_a_long_path_has_its_socket_elsewhere(tmp_path, monkeypatch):
    """Systems take about a hundred bytes; the rest stays beside the database."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    meeting = find_rendezvous(deep / "x.db")
    if len(str(tmp_path)) < 50:
        assert meeting.socket.parent == tmp_path / "counterpoint"
    assert len(os.fsencode(meeting.socket)) <= meeting_module.LONGEST_PATH
    listener = meeting.listen()
    listener.close()
    assert meeting.file("json").parent == deep
    meeting.clear()
    assert not meeting.socket.exists()


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"socket": "/x"}'])
def test_a_file_that_says_nothing_names_no_server(tmp_path, text):
    """Neither does one that is not there."""
    meeting = find_rendezvous(tmp_path / "x.db")
    assert meeting.known() is None
    meeting.file("json").write_text(text)
    assert meeting.ask("status") is None


def test_a_server_that_does_not_answer_is_told_apart_from_none(tmp_path, monkeypatch):
    """It listens and says nothing: one does not wait for ever."""
    monkeypatch.setattr(meeting_module, "PATIENCE", 0.05)
    meeting = find_rendezvous(tmp_path / "x.db")
    listener = meeting.listen()
    with pytest.raises(Unavailable, match="does not answer"):
        meeting.ask("status")
    listener.close()
    assert meeting.ask("status") is None


def test_the_files_are_for_their_owner_only(tmp_path):
    """The socket and what names it have mode 0600."""
    meeting = find_rendezvous(tmp_path / "x.db")
    listener = meeting.listen()
    for path in (meeting.socket, meeting.file("json")):
        assert path.stat().st_mode & 0o777 == 0o600
    assert meeting.known()["pid"] == os.getpid()
    assert isinstance(listener, socket.socket)
    listener.close()
    assert isinstance(meeting.database, Path)


def test_the_folder_of_its_own_must_be_the_users(tmp_path, monkeypatch):
    """A database whose folder cannot be written meets there, or is refused."""
    monkeypatch.setattr(meeting_module.os, "access", lambda path, mode: False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert find_rendezvous(tmp_path / "deep" / "x.db").prefix.parent == tmp_path / "counterpoint"
    (tmp_path / "counterpoint").rmdir()
    (tmp_path / "counterpoint").symlink_to("/")
    with pytest.raises(Unavailable, match="somebody else"):
        find_rendezvous(tmp_path / "x.db")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = find_rendezvous(tmp_path / "x.db").prefix.parent
    assert found == tmp_path / f"counterpoint-{os.getuid()}"
