"""A client that sends more than it hears answers to keeps nobody else waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from two_ways import PATIENCE, Connection, Gate

from counterpoint.kernel.canonical import Json
from counterpoint.protocol import limits
from counterpoint.protocol.tools import Progress, tool
from counterpoint.protocol.wire import inbox as inbox_module
from counterpoint.protocol.wire.outbox import MOST_LONG


@pytest.mark.parametrize("is_direct", [True, False], ids=["direct", "sdk"])
def test_a_burst_waits_with_the_client_that_sends_it(
    connect: Callable[..., Connection], gate: Gate, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many requests are taken of one connection, a few of them in a turn; in the end all are answered."""
    turns: list[int] = []
    monkeypatch.setattr(inbox_module.Inbox, "_receive_line", _counting(turns))

    async def course() -> None:
        async with connect(is_direct=is_direct) as to:
            await to.begin()
            turns.clear()
            to.say(*(to.call(number, "wait", name="burst") for number in range(1000)))
            await gate.entered()
            while len(to.outbox.open) < inbox_module.MOST_OPEN:  # noqa: ASYNC110  the loop goes on reading meanwhile
                await asyncio.sleep(0)
            for _ in range(100):
                turns.append(0)
                await asyncio.sleep(0)
            assert len(to.outbox.open) == sum(turns) == inbox_module.MOST_OPEN
            gate.opened.set()
            assert len(await to.rest()) == len(gate.names) == 1000

    asyncio.run(course())


def test_a_quick_call_does_not_wait_behind_long_ones(
    connect: Callable[..., Connection], gate: Gate
) -> None:
    @tool(reads=True)
    def think(call: Any, progress: Progress) -> Json:
        """Think at the gate."""
        gate.opened.wait(PATIENCE)
        return {"thought": True}

    async def course() -> None:
        async with connect(more=[think]) as to:
            await to.begin()
            to.say(*(to.call(number, "think") for number in range(MOST_LONG + 1)))
            to.say(to.call("quick", "large", size=1))
            heard = {one["id"]: one for one in (await to.hear(), await to.hear())}
            assert heard["quick"]["result"]["isError"] is False
            refused = heard[MOST_LONG]["result"]
            assert refused["isError"] is True
            assert f"{MOST_LONG} calls of this connection" in refused["content"][0]["text"]
            gate.opened.set()
            assert len(await to.rest()) == MOST_LONG
            assert (to.outbox.open, to.outbox.apart) == (set(), set())

    asyncio.run(course())


def _counting(turns: list[int]) -> Callable[[Any, bytes], None]:
    receive = inbox_module.Inbox._receive_line  # pyright: ignore[reportPrivateUsage]  what takes one line

    def counted(inbox: Any, line: bytes) -> None:
        turns.append(1)
        receive(inbox, line)

    return counted


def test_a_turn_takes_a_few_lines_and_then_others_have_the_loop(
    connect: Callable[..., Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a chunk holds: empty lines, what is no JSON, or calls."""
    turns: list[int] = []
    monkeypatch.setattr(inbox_module.Inbox, "_receive_line", _counting(turns))

    async def course() -> None:
        async with connect(is_direct=True) as to:
            await to.begin()
            turns.clear()
            to.say(b"\n" * 1000, to.call("last", "large", size=1))
            heard = asyncio.ensure_future(to.hear())
            while not heard.done():
                turns.append(0)
                await asyncio.sleep(0)
            assert heard.result()["id"] == "last"
            runs = "".join(map(str, turns)).split("0")
            assert max(map(len, runs)) <= 2 * inbox_module.TURN

    asyncio.run(course())


def test_a_message_of_too_many_values_is_refused_before_it_is_parsed(
    connect: Callable[..., Connection],
) -> None:
    """With its limit, under its name, wherever clients write that; the connection goes on."""
    values = b"[" + b"{}," * limits.MOST_SIGNS + b"1]"
    call = b'"method":"tools/call","params":{"name":"echo","arguments":{"id":3,"text":%b}}' % values

    async def course() -> None:
        async with connect(is_direct=True) as to:
            await to.begin()
            to.say(b'{"jsonrpc":"2.0","id":7,%b}\n' % call)
            to.say(b'{"jsonrpc": "2.0", %b, "id": "a-8"}\n' % call)
            to.say(b'{"jsonrpc":"2.0",%b}\n' % call)
            for name in (7, "a-8", None):
                heard = await to.hear()
                assert heard["id"] == name
                assert limits.TOO_WIDE in heard["error"]["message"]
            to.say(to.call("last", "large", size=1))
            assert (await to.hear())["id"] == "last"

    asyncio.run(course())
