"""One relay between a client and a server that both follow a script."""

from __future__ import annotations

import array
import fcntl
import json
import os
import select
import signal
import socket
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from counterpoint import __version__
from counterpoint.cli.server.listings import listing_of
from counterpoint.kernel.places import find_prefix
from counterpoint.relay import connection, server
from counterpoint.relay.answers import Answers
from counterpoint.relay.connection import Project, Relay
from counterpoint.relay.server import Refused

native_listing = cache(lambda: listing_of("native"))

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
PATIENCE = 20.0
WELCOME = json.dumps({"ok": True, "version": __version__}).encode() + b"\n"
"""What a server of the same release answers."""


class Peer:
    """The other end of a wire: lines out, messages in."""

    def __init__(self, reads: Any, writes: Any) -> None:
        """Take two files."""
        self._reads, self._writes = reads, writes

    def say(self, *messages: Any) -> None:
        """Send messages; bytes go as they are."""
        for one in messages:
            self._writes.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")
        self._writes.flush()

    def hear(self) -> dict[str, Any]:
        """Answer the next message."""
        return json.loads(self._reads.readline())

    def ask(self, number: Any, method: str, **params: Any) -> None:
        """Send a request."""
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def answer(self, request: dict[str, Any], **result: Any) -> None:
        """Answer a request as the server writes answers."""
        body = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        self.say(json.dumps(body, separators=(",", ":")).encode() + b"\n")

    def leave(self) -> None:
        """Say nothing more."""
        with suppress(BrokenPipeError):
            self._writes.close()

    def close(self) -> None:
        """Be gone."""
        self.leave()
        self._reads.close()


class Scene:
    """A database with a scripted server, and a relay that is run in this thread."""

    def __init__(self, folder: Path) -> None:
        """Make the database and the meeting point, and no server yet."""
        self.database = folder / "x.db"
        self.database.touch()
        self.prefix = find_prefix(str(self.database))
        self.listener: socket.socket | None = None
        self.faults: list[BaseException] = []
        self.greeted: list[dict[str, Any]] = []
        self.roots: list[Any] = []
        self.peers: list[Peer] = []

    def listen(self, protocol: int = 1) -> None:
        """Make a server known."""
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.prefix}.sock")
        self.listener.listen()
        known = {"protocol": protocol, "version": "9.9", "socket": f"{self.prefix}.sock"}
        Path(f"{self.prefix}.json").write_text(json.dumps(known))

    def close(self) -> None:
        """Let nobody in any more, and close what is open."""
        for peer in self.peers:
            peer.close()
        if self.listener is not None:
            self.listener.close()
            Path(f"{self.prefix}.sock").unlink()

    def accept(self, *, answer: bytes = WELCOME) -> Peer:
        """Let a relay in, or answer its greeting otherwise."""
        assert self.listener is not None
        to, _ = self.listener.accept()
        peer = Peer(to.makefile("rb"), to.makefile("wb"))
        to.close()
        self.peers.append(peer)
        self.greeted.append(peer.hear())
        peer.say(answer)
        return peer

    def open_server(self) -> socket.socket:
        """Open a connection as one that has found its project does."""
        return server.open_server(str(self.database), b'{"hi":2}\n')

    def find_project(self, roots: Any) -> Project:
        """Note the roots; the project is the one that there is."""
        self.roots.append(roots)
        return Project(str(self.database), b"", {"has_run": True}, self.open_server)

    def play(
        self,
        course: Callable[[Peer], None],
        find_project: Callable[[Any], Project] | None = None,
    ) -> int:
        """Run a relay while a client follows its course; answer the relay's exit code."""
        source, to_relay = os.pipe()
        from_relay, sink = os.pipe()
        client = Peer(os.fdopen(from_relay, "rb"), os.fdopen(to_relay, "wb"))
        self.peers.append(client)

        def follow() -> None:
            try:
                course(client)
            except (AssertionError, OSError, ValueError, KeyError, TypeError) as fault:
                self.faults.append(fault)
            finally:
                client.leave()

        answers = Answers(native_listing())
        relay = Relay(answers, str(self.database), b'{"hi":1}\n', source=source, sink=sink)
        relay.find_project = find_project
        following = threading.Thread(target=follow)
        following.start()
        code = relay.run()
        os.close(sink)
        following.join(PATIENCE)
        for descriptor in (source, relay._wake_reader, relay._wake_writer):
            os.close(descriptor)
        if self.faults:
            raise self.faults[0]
        return code


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Give a scene, and the signals back afterwards."""
    kept = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    made = Scene(tmp_path)
    yield made
    made.close()
    signal.set_wakeup_fd(-1)
    for number, action in kept.items():
        signal.signal(number, action)


def shake(client: Peer) -> None:
    """Shake hands as a client of the era before 2026."""
    client.ask(1, "initialize", **HELLO)
    assert client.hear()["result"]["protocolVersion"] == "2025-06-18"
    client.say({"jsonrpc": "2.0", "method": "notifications/initialized"})


def test_lists_are_answered_before_any_server_is_there(scene):
    """Every list of both eras; the handshake too."""

    def course(client):
        shake(client)
        for number, method in enumerate(("tools/list", "resources/list", "prompts/list", "ping")):
            client.ask(number, method)
            assert client.hear()["id"] == number

    scene.database.unlink()
    assert scene.play(course) == 0


def test_a_result_that_is_empty_is_one(scene):
    """A ping is answered with an object, as the protocol has it."""

    def course(client: Peer) -> None:
        shake(client)
        client.ask(2, "ping")
        assert client.hear() == {"jsonrpc": "2.0", "id": 2, "result": {}}

    scene.database.unlink()
    assert scene.play(course) == 0


def test_a_call_is_passed_on_behind_the_handshake(scene):
    """The server hears the client's own handshake; its answer to it goes no further."""
    scene.listen()

    def course(client):
        shake(client)
        client.ask("a", "tools/call", name="brief")
        there = scene.accept()
        hello, told, call = there.hear(), there.hear(), there.hear()
        assert (hello["method"], hello["params"]) == ("initialize", HELLO)
        assert told["method"] == "notifications/initialized"
        there.answer(hello, protocolVersion="2025-06-18")
        there.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
        there.answer(call, done=True)
        assert client.hear()["method"] == "notifications/progress"
        assert client.hear() == {"jsonrpc": "2.0", "id": "a", "result": {"done": True}}

    assert scene.play(course) == 0
    assert scene.greeted == [{"hi": 1}]


def test_an_enveloped_call_needs_no_handshake(scene, monkeypatch):
    """A client of the era from 2026 is served with what each of its requests carries."""
    monkeypatch.setattr(connection, "GRACE", 0.05)
    scene.listen()

    def course(client):
        client.ask(1, "server/discover", _meta=ENVELOPE)
        assert client.hear()["result"]["supportedVersions"] == ["2026-07-28"]
        client.ask(2, "tools/list", _meta=ENVELOPE)
        assert client.hear()["id"] == 2
        client.ask(3, "tools/call", name="brief", _meta=ENVELOPE)
        there = scene.accept()
        call = there.hear()
        assert call["id"] == 3
        there.answer(call)
        assert client.hear()["id"] == 3
        client.ask(4, "initialize", **HELLO)
        assert there.hear()["method"] == "initialize"

    assert scene.play(course) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells that something was not read")
def test_what_a_server_that_was_killed_had_not_read_goes_to_the_next_one(scene):
    """A call that comes while the kernel takes a killed server apart has reached nobody."""
    scene.listen()

    def course(client):
        shake(client)
        killed = scene.accept()
        assert [killed.hear()["method"] for _ in range(2)][-1] == "notifications/initialized"
        client.ask(2, "tools/call", name="note")
        select.select([killed._reads], [], [])
        killed.close()
        following = scene.accept()
        call = [following.hear() for _ in range(3)][-1]
        assert (call["id"], call["params"]["name"]) == (2, "note")
        following.answer(call, ok=True)
        assert client.hear()["result"] == {"ok": True}

    assert scene.play(course) == 0


def test_a_client_that_is_gone_is_not_waited_for(scene, monkeypatch):
    """What it left under way nobody will hear; who is started again next finds no relay of it."""
    monkeypatch.setattr(connection, "GRACE", 10 * PATIENCE)
    scene.listen()

    def course(client):
        shake(client)
        client.ask(2, "tools/call", name="brief")
        there = scene.accept()
        assert [there.hear()["method"] for _ in range(3)][-1] == "tools/call"
        client.close()

    assert scene.play(course) == 0


@pytest.mark.parametrize(
    "line",
    [
        {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"cursor": "x"}},
        {"jsonrpc": "2.0", "id": None, "method": "tools/list"},
        {"jsonrpc": "1.0", "id": 5, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": []},
        {"jsonrpc": "2.0", "id": 5, "method": 7},
        [{"jsonrpc": "2.0"}],
    ],
)
def test_what_is_not_plain_is_left_to_the_server(scene, monkeypatch, line):
    """It has the words for it, and gets it as it is."""
    monkeypatch.setattr(connection, "GRACE", 0.05)
    scene.listen()

    def course(client):
        shake(client)
        there = scene.accept()
        there.hear(), there.hear()
        client.say(line)
        assert there.hear() == line

    assert scene.play(course) == 0


def test_what_is_no_json_is_refused_at_once(scene, monkeypatch):
    """So is a line that is too long; the connection lives."""
    monkeypatch.setattr("counterpoint.relay.answers.LINE_LIMIT", 1000)
    scene.database.unlink()

    def course(client):
        for line in (b"nonsense\n", b"\xff\xfe\n", b"[" * 900 + b"\n", b"x" * 2000 + b"\n"):
            client.say(line)
            heard = client.hear()
            assert (heard["id"], heard["error"]["code"]) == (None, -32700)
        client.say(b"\n  \n")
        shake(client)

    assert scene.play(course) == 0


def test_the_death_of_a_server_is_told_to_all_that_wait(scene):
    """Reads and keyed writes may be repeated; a bare write not; the next call finds another."""
    scene.listen()
    calls = {
        1: ("tools/call", {"name": "brief"}, True),
        2: ("tools/call", {"name": "finish", "arguments": {"idempotency_key": "k"}}, True),
        3: ("tools/call", {"name": "finish", "arguments": {}}, False),
        4: ("tools/call", {"name": "finish"}, False),
        5: ("resources/read", {"uri": "x"}, True),
    }

    def course(client):
        shake(client)
        there = scene.accept()
        there.hear(), there.hear()
        for number, (method, params, _) in calls.items():
            client.ask(number, method, **params)
            there.hear()
        client.ask(6, "tools/call", name="finish")
        client.say(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 6},
            }
        )
        there.hear(), there.hear()
        there.close()
        told = {heard["id"]: heard["error"]["data"] for heard in (client.hear() for _ in calls)}
        assert {number: data["safe_to_retry"] for number, data in told.items()} == {
            number: safe for number, (_, _, safe) in calls.items()
        }
        assert all(data["hint"] for data in told.values())
        client.ask(7, "tools/call", name="brief")
        other = scene.accept()
        assert other.hear()["params"] == HELLO
        other.hear()
        other.answer(other.hear(), again=True)
        assert client.hear()["result"] == {"again": True}

    assert scene.play(course) == 0


def test_a_call_that_found_the_server_gone_goes_to_the_next(scene, monkeypatch):
    """Nothing of it reached the dead one, so nobody is asked to repeat it."""
    scene.listen()
    read = Relay._exchange
    monkeypatch.setattr(Relay, "_exchange", lambda self, to, events: None)

    def course(client):
        shake(client)
        there = scene.accept()
        there.hear(), there.hear()
        there.close()
        client.ask(7, "tools/call", name="finish")
        other = scene.accept()
        monkeypatch.setattr(Relay, "_exchange", read)
        other.hear(), other.hear()
        other.answer(other.hear())
        assert client.hear()["id"] == 7

    assert scene.play(course) == 0


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (b'{"ok":false,"error":{"message":"not you","hint":"Go."}}\n', "not you"),
        (b"nonsense\n", "no server of this product"),
        (b"{}\n", "no server of this product"),
    ],
)
def test_a_server_that_refuses_is_told_to_each_request(scene, answer, word):
    """Nothing was done; the next request asks again."""
    scene.listen()

    def course(client):
        for number in (2, 3):
            client.ask(number, "tools/call", name="finish")
            scene.accept(answer=answer).close()
            heard = client.hear()
            assert heard["id"] == number
            assert word in heard["error"]["message"]
            assert heard["error"]["data"]["safe_to_retry"] is True

    scene.database.unlink()
    assert scene.play(course) == 0


@pytest.mark.parametrize(
    "answer", [WELCOME, b'{"ok":false,"error":{"message":"no","hint":"x"}}\n', b""]
)
def test_a_greeting_is_answered_refused_or_lost(scene, answer):
    """A connection, the server's words, or none if it has ended before."""
    scene.listen()
    greeting = threading.Thread(target=lambda: scene.accept(answer=answer).close())
    greeting.start()
    if b"false" in answer:
        with pytest.raises(Refused, match="no"):
            server.open_server(str(scene.database), b"{}\n")
    else:
        found = server._greeted(scene.prefix, b"{}\n")
        assert (found is None) is (answer == b"")
        if found is not None:
            found.close()
    greeting.join()
    scene.close()
    assert server._greeted(scene.prefix, b"{}\n") is None
    scene.listener = None


def test_a_server_of_another_conversation_is_left_alone(scene):
    """Its number says that it would not understand."""
    scene.listen(protocol=2)

    def course(client):
        client.ask(2, "tools/call", name="brief")
        assert "9.9" in client.hear()["error"]["message"]

    assert scene.play(course) == 0


def test_a_server_that_never_comes_is_given_up(scene, monkeypatch):
    """After a limit each request is answered; a late server is sent away."""
    monkeypatch.setattr(connection, "PATIENCE", -0.9)
    freed = threading.Event()

    mine, other = socket.socketpair()

    def late(database: str, greeting: bytes) -> socket.socket:
        freed.wait(PATIENCE)
        return mine

    monkeypatch.setattr(connection, "open_server", late)

    def course(client):
        client.ask(2, "tools/call", name="brief")
        assert "20 seconds" in client.hear()["error"]["message"]
        freed.set()
        assert other.recv(1) == b""
        other.close()

    assert scene.play(course) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_what_is_under_way_is_told_so(scene, number):
    """Each request hears whether it may be repeated, as after the end of a server."""

    def course(client):
        shake(client)
        server = scene.accept()
        for _ in range(2):
            server.hear()
        client.ask(2, "tools/call", name="note", arguments={"text": "x"})
        assert server.hear()["id"] == 2
        os.kill(os.getpid(), number)
        data = client.hear()["error"]["data"]
        assert (data["code"], data["safe_to_retry"]) == ("server_gone", False)
        assert client._reads.read() == b""

    scene.listen()
    assert scene.play(course) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(scene, number):
    """What was answered is still written."""

    def course(client):
        shake(client)
        os.kill(os.getpid(), number)
        assert client._reads.read() == b""

    scene.database.unlink()
    assert scene.play(course) == 0


def test_a_client_that_reads_no_more_ends_it(scene):
    """There is nobody left to answer."""
    scene.database.unlink()

    def course(client):
        client._reads.close()
        client.ask(1, "initialize", **HELLO)
        threading.Event().wait(0.05)

    assert scene.play(course) == 0


@pytest.mark.parametrize("is_there", [True, False], ids=["it goes on", "it has ended"])
def test_who_is_let_go_for_reading_nothing_is_told_so(scene, monkeypatch, is_there):
    """The words for a server that has ended are only for one that has."""
    monkeypatch.setattr(connection, "BUFFER_BYTES", 1)
    scene.listen()

    def course(client):
        shake(client)
        client.ask(2, "tools/call", name="brief")
        client.ask(3, "tools/call", name="note", arguments={"text": "x"})
        server = scene.accept()
        calls = [server.hear() for _ in range(4)][2:]
        # More than a pipe takes, so that a part of it waits in the relay.
        server.answer(calls[0], text="K" * 500_000)
        until_full(client._reads.fileno())
        if not is_there:
            Path(f"{scene.prefix}.json").unlink()
        server.close()
        assert client.hear()["id"] == 2
        error = client.hear()["error"]
        assert error["data"]["safe_to_retry"] is False
        assert error["data"]["code"] == ("answers_unread" if is_there else "server_gone")
        assert ("ended before it answered" in error["message"]) is not is_there

    assert scene.play(course) == 0


def until_full(descriptor: int) -> None:
    """Wait until a pipe takes no more."""
    pulse, before = threading.Event(), -1
    count = array.array("i", [0])
    while count[0] != before or before < 65_000:
        before = count[0]
        pulse.wait(0.05)
        fcntl.ioctl(descriptor, termios.FIONREAD, count)


ROOTS = [{"uri": "file:///x"}]


@pytest.mark.parametrize(
    ("answer", "roots"),
    [
        ({"result": {"roots": ROOTS}}, ROOTS),
        ({"result": {"roots": []}}, []),
        ({"result": {"roots": {"uri": "file:///x"}}}, ()),
        ({"result": []}, ()),
        ({"error": {"code": -32601, "message": "no"}}, ()),
        (None, ()),
    ],
)
@pytest.mark.parametrize("is_early", [False, True])
def test_calls_wait_for_the_roots_of_a_client_for_a_while(
    scene, monkeypatch, answer, roots, is_early
):
    """Asked once, after the handshake; what comes late changes nothing and goes nowhere."""
    monkeypatch.setattr(connection, "ROOTS_SECONDS", 20.0 if answer else 0.05)
    scene.listen()

    def course(client: Peer) -> None:
        client.ask(1, "initialize", **{**HELLO, "capabilities": {"roots": {}}})
        assert client.hear()["id"] == 1
        if not is_early:
            client.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        client.ask(2, "tools/call", name="brief")
        asked = client.hear()
        assert asked["method"] == "roots/list"
        if is_early:
            client.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        reply = {"jsonrpc": "2.0", "id": asked["id"], **(answer or {"result": {"roots": ROOTS}})}
        if answer:
            client.say(reply)
        peer = scene.accept()
        assert [peer.hear()["method"] for _ in range(2)] == ["initialize", "notifications/initialized"]  # fmt: skip
        call = peer.hear()
        assert call["params"] == {"name": "brief"}
        client.say(reply)
        client.ask(3, "tools/call", name="next")
        assert peer.hear()["id"] == 3
        peer.answer(call)
        assert client.hear()["id"] == 2
        peer.close()

    assert scene.play(course, scene.find_project) == 0
    assert scene.roots == [roots]
    assert scene.greeted == [{"hi": 2}]


def test_a_client_without_roots_is_not_asked(scene):
    """Its first call says that it has none."""
    scene.listen()

    def course(client: Peer) -> None:
        shake(client)
        client.ask(2, "tools/call", name="brief")
        peer = scene.accept()
        peer.hear()
        peer.hear()
        peer.answer(peer.hear())
        assert client.hear()["id"] == 2

    assert scene.play(course, scene.find_project) == 0
    assert scene.roots == [()]


ROOTED = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"roots": {}}}


@pytest.mark.parametrize(
    ("more", "roots"),
    [
        ({"inputResponses": {"counterpoint-roots": {"roots": ROOTS}}}, ROOTS),
        ({"inputResponses": {"counterpoint-roots": {}}}, ()),
        ({"inputResponses": []}, ()),
        ({}, ()),
    ],
)
def test_a_client_without_a_handshake_is_asked_by_the_result_of_a_call(scene, more, roots):
    """Of each until one has answered; what it repeats goes on as it was first, and a later answer changes nothing."""
    scene.listen()

    def course(client: Peer) -> None:
        client.ask(0, "subscriptions/listen", _meta=ROOTED, notifications={})
        for number in (1, 2):
            client.ask(number, "tools/call", name="brief", _meta=ROOTED)
            result = client.hear()["result"]
            assert result["resultType"] == "input_required"
            assert result["inputRequests"] == {"counterpoint-roots": {"method": "roots/list"}}
        answered = {"requestState": result["requestState"], **more}
        client.ask(3, "tools/call", name="brief", _meta=ROOTED, **answered)
        peer = scene.accept()
        assert peer.hear()["id"] == 0
        call = peer.hear()
        assert call["params"] == {"name": "brief", "_meta": ROOTED}
        peer.answer(call)
        assert client.hear()["id"] == 3
        client.ask(4, "tools/call", name="brief", _meta=ROOTED, **answered)
        call = peer.hear()
        assert call["params"] == {"name": "brief", "_meta": ROOTED}
        client.ask(5, "tools/call", name="next", _meta=ROOTED, requestState="mine")
        assert peer.hear()["params"]["requestState"] == "mine"

    assert scene.play(course, scene.find_project) == 0
    assert scene.roots == [roots]


def test_a_client_without_a_handshake_that_never_answers_is_asked_no_more(scene, monkeypatch):
    """Its calls go on after a while."""
    monkeypatch.setattr(connection, "ROOTS_SECONDS", 0.05)
    scene.listen()

    def course(client: Peer) -> None:
        client.ask(0, "subscriptions/listen", _meta=ROOTED, notifications={})
        client.ask(1, "tools/call", name="brief", _meta=ROOTED)
        assert client.hear()["result"]["resultType"] == "input_required"
        peer = scene.accept()
        assert peer.hear()["id"] == 0
        client.ask(2, "tools/call", name="brief", _meta=ROOTED)
        assert peer.hear()["id"] == 2

    assert scene.play(course, scene.find_project) == 0
    assert scene.roots == [()]
