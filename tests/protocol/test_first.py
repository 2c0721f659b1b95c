"""First calls that are answered before the SDK is loaded: nobody can tell from the wire."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcp.shared.dispatcher import coerce_request_id
from socket_house import GREETING, House
from two_ways import ENVELOPE, ERAS, MODERN, Connection, Line, everyday, hello

from counterpoint.protocol import sockets as sockets_module
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.protocol.wire import direct as direct_module
from counterpoint.protocol.wire import first
from counterpoint.relay import connection as relay_module

KEY = "io.modelcontextprotocol/"
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CLIENTS = [
    ({}, {"name": "tester", "version": "7"}),
    ({"roots": {"listChanged": True}}, {"name": "tester", "version": "7"}),
    ({"roots": {}, "sampling": {}}, {"name": "tester", "version": "7", "title": "T"}),
    ({"elicitation": {"form": {}, "url": {}}}, {"name": "", "version": "", "description": "D"}),
]


@pytest.fixture
def house(tmp_path: Path, small: ModuleType) -> House:
    """Give a house that is still closed."""
    return House(find_rendezvous(tmp_path / "x.db"), small)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give a list that grows each time the SDK is asked for."""
    found: list[str] = []
    real = sockets_module._load_sdk

    def load() -> ModuleType:
        found.append("sdk")
        return real()

    monkeypatch.setattr(sockets_module, "_load_sdk", load)
    return found


def envelope(able: Any, client: Any) -> Line:
    """Answer what a call of the newest era carries."""
    return {**ENVELOPE, f"{KEY}clientCapabilities": able, f"{KEY}clientInfo": client}


def greeting(era: str, able: Any, client: Any) -> Line:
    """Answer a handshake as a relay passes it on."""
    made = hello(era, first.GREETING)
    made["params"] |= {"capabilities": able, "clientInfo": client}
    return made


async def through_the_house(house: House, era: str, able: Any, client: Any) -> list[bytes]:
    """Answer the lines of everyday calls that a relay makes, sorted."""
    async with house.open():
        guest = await house.guest()
        await guest.say(GREETING)
        assert (await guest.hear())["ok"] is True
        if era != MODERN:
            await guest.say(greeting(era, able, client), INITIALIZED)
        calls = everyday(Connection(house.small.build(), None, era, is_direct=False))
        for call in calls:
            if era == MODERN:
                call["params"]["_meta"] = envelope(able, client)
        await guest.say(*calls)
        return sorted([await guest.reader.readline() for _ in calls])


async def through_the_sdk(small: ModuleType, era: str, able: Any, client: Any) -> list[bytes]:
    """Answer the same lines as the SDK writes them."""

    def call_for(caller: Any) -> Any:
        return small.Call(caller=caller)

    async with Connection(small.build(), call_for, era, is_direct=False) as to:
        if era != MODERN:
            to.say(greeting(era, able, client), INITIALIZED)
            await to.hear()
        calls = everyday(to)
        for call in calls:
            if era == MODERN:
                call["params"]["_meta"] = envelope(able, client)
        to.say(*calls)
        return sorted([await to.line() for _ in calls])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("able", "client"), CLIENTS)
def test_first_calls_are_answered_as_the_sdk_would_without_it(
    house: House, small: ModuleType, loads: list[str], era: str, able: Any, client: Any
) -> None:
    """Right, wrong, refused and crashing calls of clients that are known: the same bytes."""
    ours = asyncio.run(through_the_house(house, era, able, client))
    assert loads == []
    assert ours == asyncio.run(through_the_sdk(small, era, able, client))


def test_what_is_not_plain_loads_the_sdk_which_hears_the_handshake_first(
    house: House, loads: list[str]
) -> None:
    """A relay's handshake is held back, not lost: a list is answered in the era it began."""

    async def course() -> None:
        async with house.open():
            guest = await house.guest()
            await guest.say(GREETING)
            await guest.hear()
            to = Connection(house.small.build(), None, "2025-06-18", is_direct=False)
            await guest.say(greeting(to.era, *CLIENTS[0]), INITIALIZED, to.call(1, "large", size=1))
            assert (await guest.hear())["id"] == 1
            assert loads == []
            await guest.say({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
            shaken = await guest.hear()
            assert shaken["id"] == first.GREETING
            assert shaken["result"]["protocolVersion"] == "2025-06-18"
            assert (await guest.hear())["result"]["tools"]
            await guest.say(to.call(3, "large", size=2))
            assert (await guest.hear())["result"]["structuredContent"] == {"text": "xx"}
            assert loads == ["sdk"]

    asyncio.run(course())


def test_calls_before_the_end_of_the_input_are_answered_without_the_sdk(
    house: House, loads: list[str]
) -> None:
    """A client that leaves at once hears what it asked for, and is counted no more."""

    async def course() -> None:
        async with house.open() as sockets:
            guest = await house.guest()
            to = Connection(house.small.build(), None, MODERN, is_direct=False)
            await guest.say(GREETING, to.call(1, "large", size=1))
            guest.writer.write_eof()
            assert (await guest.hear())["ok"] is True
            assert (await guest.hear())["id"] == 1
            assert await guest.at_end()
            while sockets.clients:
                sockets.changed.clear()
                await sockets.changed.wait()
        assert loads == []

    asyncio.run(course())


PLAIN = envelope(*CLIENTS[0])


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        {**PLAIN, "more": 1},
        {**PLAIN, f"{KEY}protocolVersion": "2025-11-25"},
        {**PLAIN, f"{KEY}protocolVersion": 3},
        {**PLAIN, f"{KEY}clientInfo": None},
        {**PLAIN, f"{KEY}clientInfo": {"name": "n"}},
        {**PLAIN, f"{KEY}clientInfo": {"name": "n", "version": 1}},
        {**PLAIN, f"{KEY}clientInfo": {"name": "n", "version": "1", "icons": []}},
        {**PLAIN, f"{KEY}clientCapabilities": None},
        {**PLAIN, f"{KEY}clientCapabilities": {"roots": None}},
        {**PLAIN, f"{KEY}clientCapabilities": {"roots": {"listChanged": "yes"}}},
        {**PLAIN, f"{KEY}clientCapabilities": {"roots": {"more": True}}},
        {**PLAIN, f"{KEY}clientCapabilities": {"experimental": {}}},
    ],
)
def test_who_says_more_or_less_is_left_to_the_sdk(meta: Any) -> None:
    """Only what is surely accepted is known."""
    assert first.read_envelope(PLAIN, "s", "1", guarded=False) is not None
    assert first.read_envelope(meta, "s", "1", guarded=False) is None


SHAKEN = greeting("2025-06-18", *CLIENTS[0])


@pytest.mark.parametrize(
    "message",
    [
        None,
        {**SHAKEN, "id": 0},
        {**SHAKEN, "method": "ping"},
        {**SHAKEN, "params": None},
        {**SHAKEN, "params": {**SHAKEN["params"], "_meta": {}}},
        {**SHAKEN, "params": {**SHAKEN["params"], "protocolVersion": "1999-01-01"}},
        {**SHAKEN, "params": {**SHAKEN["params"], "clientInfo": []}},
    ],
)
def test_only_a_relays_plain_handshake_is_held_back(message: Any) -> None:
    """Any other is answered by the SDK at once."""
    assert first.read_greeting(SHAKEN, guarded=True) is not None
    assert first.read_greeting(message, guarded=True) is None


def test_a_relays_handshake_has_the_name_that_the_server_knows() -> None:
    """The relay, which imports nothing of ours, writes it down for itself."""
    assert relay_module._GREETING == first.GREETING


@pytest.mark.parametrize("number", [7, "7", "x", "", "-3", " 4 ", "٣", "1_000"])
def test_ids_are_one_where_the_sdk_takes_them_for_one(number: int | str) -> None:
    """A cancellation finds the call it names on both ways."""
    assert direct_module._correlated(number) == coerce_request_id(number)


def test_a_server_is_there_before_the_sdk_is_loaded() -> None:
    """Neither the command that serves nor a dialect needs what takes long to load."""
    script = (
        "import sys, json, counterpoint.cli.main, counterpoint.cli.server.serving\n"
        "from counterpoint.dialects import registry\n"
        "registry.surface('native')\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    slow = {"mcp", "mcp_types", "anyio", "starlette", "httpx2", "yaml", "cryptography"}
    assert slow.isdisjoint(json.loads(done.stdout))
