"""Calls that are answered past the SDK: nobody can tell from the wire."""

from __future__ import annotations

import asyncio
import json
import select
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from two_ways import (
    ENVELOPE,
    ERAS,
    MODERN,
    PATIENCE,
    Connection,
    Gate,
    Line,
    cancelled,
    everyday,
    hello,
)

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool
from counterpoint.protocol.wire import inbox as inbox_module
from counterpoint.protocol.workers import Workers

BOTH = pytest.mark.parametrize("is_direct", [True, False], ids=["direct", "sdk"])


def run(course: Awaitable[Any]) -> Any:
    """Run a course of events that must not hang."""

    async def bounded() -> Any:
        async with asyncio.timeout(PATIENCE * 2):
            return await course

    return asyncio.run(bounded())


def nested(depth: int) -> Any:
    """Answer lists in lists."""
    made: Any = []
    for _ in range(depth):
        made = [made]
    return made


def unusual(to: Connection) -> list[Any]:
    """Answer what only the SDK may judge."""
    plain = to.call(50, "echo", text="x")
    params = plain["params"]
    return [
        to.call(20, "ecko", text="x"),
        to.call(21, "", text="x"),
        to.call(22, 5, text="x"),
        to.call(23, "steps", count=3),
        to.request(24, {"arguments": {"text": "x"}}),
        to.request(25, {**params, "arguments": None}),
        to.request(26, {**params, "arguments": ["x"]}),
        to.request(27, {**params, "arguments": "x"}),
        to.request(28, {**params, "task": {"ttl": 5}}),
        to.request(29, {**params, "unknown": 1}),
        to.request(30, {**params, "_meta": None}),
        to.request(31, {**params, "_meta": {}}),
        to.request(32, {**params, "_meta": {**ENVELOPE, "more": 1}}),
        to.request(33, {**params, "_meta": {**params.get("_meta", {}), "progressToken": 9}}),
        to.request(34, {**params, "_meta": {**params.get("_meta", {}), "progressToken": True}}),
        to.request(35, []),
        to.request(49, {**params, "_meta": {**params.get("_meta", {}), "deep": nested(300)}}),
        to.request(36, None),
        {**plain, "id": None},
        {**plain, "id": True},
        {**plain, "id": 1.5},
        {**plain, "id": [1]},
        {**plain, "id": 40, "jsonrpc": "1.0"},
        {**plain, "id": 41, "jsonrpc": 2},
        {**plain, "id": 42, "method": "tools/calls"},
        {**plain, "id": 43, "method": "tools/list", "params": {"_meta": ENVELOPE}},
        {**plain, "id": 44, "method": 3},
        {**plain, "id": 45, "more": 1},
        {name: part for name, part in plain.items() if name != "id"},
        {name: part for name, part in {**plain, "id": 46}.items() if name != "params"},
        [plain],
        "tools/call",
        b"{\n",
        b'{"jsonrpc":"2.0","id":47,"method":"tools/call","params":{"name":"\\ud800"}}\n',
        b'{"jsonrpc":"2.0","id":48,"method":"tools/call","params":{"name":1e999}}\n',
        b"\n  \n",
    ]


@pytest.mark.parametrize("era", ERAS)
def test_both_ways_answer_with_the_same_bytes(connect: Callable[..., Connection], era: str) -> None:
    """Right, wrong, refused and crashing calls: the short way writes what the SDK writes."""

    async def said(*, is_direct: bool) -> tuple[list[bytes], int]:
        lines: list[bytes] = []
        async with connect(era, is_direct=is_direct) as to:
            await to.begin()
            for one in everyday(to):
                to.say(one)
                lines.append(await to.line())
            if to.outbox.open:  # the loop hears of an answer after its client
                to.outbox.answered.clear()
                await to.outbox.answered.wait()
            assert not to.outbox.open
            return lines, to.count

    direct, sdk = run(said(is_direct=True)), run(said(is_direct=False))
    assert direct[0] == sdk[0]
    assert direct[1] == len(direct[0])
    assert not any(b"swordfish" in line or b"Traceback" in line for line in direct[0])


@pytest.mark.parametrize("era", ["2025-11-25", MODERN])
def test_what_is_unusual_is_left_to_the_sdk(connect: Callable[..., Connection], era: str) -> None:
    """Unknown tools, wishes for progress and wrong shapes are answered as they always were."""

    async def said(place: int, *, is_direct: bool) -> list[bytes]:
        async with connect(era, is_direct=is_direct) as to:
            await to.begin()
            to.say(unusual(to)[place])
            lines = await to.rest()
            assert to.count == 0, lines
            return lines

    async def course() -> None:
        for place in range(len(unusual(connect(era)))):
            direct = await said(place, is_direct=True)
            assert direct == await said(place, is_direct=False)
            if place == 0:
                assert json.loads(direct[0])["error"]["code"] == -32602

    run(course())


words = st.sampled_from(["echo", "start", "large", "refuse", "steps", "ecko", "", "text", "item"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**64) | st.floats() | st.text(max_size=4) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
metas = st.sampled_from([{}, ENVELOPE, {**ENVELOPE, "progressToken": 1}, {"x": 1}]) | values
requests = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0") | values,
        "id": st.integers(1, 9) | st.sampled_from(["1", "a", True]) | values,
        "method": st.just("tools/call") | st.sampled_from(["ping", "tools/list"]),
    },
    optional={
        "params": st.fixed_dictionaries(
            {"name": words | values},
            optional={"arguments": values | st.just({"text": "x"}), "_meta": metas, "task": values},
        )
        | values,
        "more": values,
    },
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(era=st.sampled_from(ERAS), messages=st.lists(requests, min_size=1, max_size=12))
def test_nobody_can_tell_the_two_ways_apart(
    connect: Callable[..., Connection], era: str, messages: list[Line]
) -> None:
    """Whatever is sent, the same lines come back, but for the order of calls that run at once."""

    async def said(*, is_direct: bool) -> list[bytes]:
        async with connect(era, is_direct=is_direct) as to:
            await to.begin()
            to.say(*messages)
            return await to.rest()

    assert Counter(run(said(is_direct=True))) == Counter(run(said(is_direct=False)))


@BOTH
def test_a_call_that_was_cancelled_is_not_answered(
    connect: Callable[..., Connection], gate: Gate, *, is_direct: bool
) -> None:
    """One that runs is answered to nobody, one that waits for a worker is never begun."""

    async def course() -> None:
        to = connect(is_direct=is_direct)
        to.workers = Workers(1)
        async with to:
            await to.begin()
            to.say(to.call(1, "wait", name="runs"))
            await gate.entered()
            to.say(to.call(2, "wait", name="waits"), to.call("3", "wait", name="last"))
            to.say(cancelled("1"), cancelled(2), cancelled(99), cancelled(None), {"jsonrpc": "2.0"})
            assert (await to.hear())["error"]["code"] == -32600
            gate.opened.set()
            assert (await to.hear())["id"] == "3"
            to.say(to.call(1, "wait", name="again"))
            assert (await to.hear())["result"]["structuredContent"] == {"name": "again"}
            assert not await to.rest()
        assert gate.names == ["runs", "last", "again"]
        assert to.count == (4 if is_direct else 0)

    run(course())


@BOTH
def test_of_two_calls_with_one_name_the_last_can_be_cancelled(
    connect: Callable[..., Connection], gate: Gate, *, is_direct: bool
) -> None:
    """The first runs on and is answered."""

    async def course() -> None:
        async with connect(is_direct=is_direct) as to:
            await to.begin()
            to.say(to.call(7, "wait", name="first"))
            await gate.entered()
            to.say(to.call("7", "wait", name="second"))
            await gate.entered()
            to.say(cancelled("7"), {"jsonrpc": "2.0"})
            assert (await to.hear())["error"]["code"] == -32600
            gate.opened.set()
            assert (await to.hear())["result"]["structuredContent"] == {"name": "first"}
            assert not await to.rest()
            assert to.count == (1 if is_direct else 0)

    run(course())


@BOTH
def test_calls_under_way_at_the_end_of_the_input_are_answered(
    connect: Callable[..., Connection], gate: Gate, *, is_direct: bool
) -> None:
    async def course() -> None:
        async with connect(is_direct=is_direct) as to:
            await to.begin()
            to.say(to.call(1, "wait", name="one"))
            await gate.entered()
            rest = asyncio.create_task(to.rest())
            asyncio.get_running_loop().call_later(0.2, gate.opened.set)
            assert [json.loads(line)["id"] for line in await rest] == [1]
            await asyncio.wait_for(to.serving, PATIENCE)
            assert to.count == is_direct

    run(course())


@BOTH
@pytest.mark.parametrize("how", ["patience", "told"])
def test_calls_that_the_end_overtakes_are_told_so(
    connect: Callable[..., Connection],
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    *,
    is_direct: bool,
) -> None:
    """Whether patience ends or the server leaves, no caller waits for ever."""
    monkeypatch.setattr(inbox_module, "GRACE", 0.1)

    async def course() -> None:
        async with connect(is_direct=is_direct) as to:
            await to.begin()
            to.say(to.call("long", "wait", name="one"))
            await gate.entered()
            to.say(to.call("long", "wait", name="its namesake"))
            await gate.entered()
            if how == "told":
                to.serving.cancel()
            told, again = map(json.loads, await to.rest())
            assert told == again
            assert told["error"]["data"]["code"] == "server_gone"
            assert told["error"]["data"]["safe_to_retry"] is True
            gate.opened.set()
            assert to.count == is_direct

    run(course())


def test_a_client_that_reads_nothing_is_let_go(connect: Callable[..., Connection]) -> None:
    """What waits for one client has a limit on the short way too."""

    async def course() -> None:
        to = connect()
        to.limit = 1_000_000
        async with to:
            await to.begin()
            cast("asyncio.Transport", to.writer.transport).pause_reading()
            to.say(*(to.call(number, "large", size=500_000) for number in range(9)))
            await asyncio.wait_for(to.serving, PATIENCE)
            assert to.outbox.is_gone
            assert to.count == 9

    run(course())


def test_the_first_call_goes_the_way_of_the_sdk(connect: Callable[..., Connection]) -> None:
    """Nothing is answered directly before the SDK has accepted a call, and refused ones do not count."""

    async def course() -> None:
        async with connect() as to:
            to.say(to.call(1, "echo", text="too early"))
            assert (await to.hear())["error"]["code"] == -32602
            to.say(to.call(2, "echo", text="too early"))
            assert (await to.hear())["error"]["code"] == -32602
            await to.begin()
            assert to.count == 0
            to.say(to.call(3, "echo", text="x"))
            assert (await to.hear())["result"]["structuredContent"]["client"] == "tester"
            assert to.count == 1

    run(course())


def test_a_call_that_wants_progress_goes_the_way_of_the_sdk(
    connect: Callable[..., Connection],
) -> None:
    """It is no pattern either: those after it that want none take the short way."""

    async def course() -> None:
        async with connect() as to:
            await to.begin()
            arguments = {"text": "x"}
            for number in (1, 2):
                meta = {"progressToken": "same"}
                to.say(to.request(number, {"name": "echo", "arguments": arguments, "_meta": meta}))
                assert (await to.hear())["id"] == number
            assert to.count == 0
            to.say(to.call(3, "echo", **arguments))
            assert (await to.hear())["id"] == 3
            assert to.count == 1
            to.say({"jsonrpc": "2.0", "id": 4, "method": "ping"}, to.call(5, "echo", **arguments))
            assert {(await to.hear())["id"], (await to.hear())["id"]} == {4, 5}
            assert to.count == 2

    run(course())


def test_a_connection_that_is_initialised_again_is_left_to_the_sdk(
    connect: Callable[..., Connection],
) -> None:
    """Who speaks which revision may change then."""

    async def course() -> None:
        async with connect("2025-11-25") as to:
            await to.begin()
            to.say(hello("2025-03-26", 5), to.call(6, "echo", text="x"))
            assert (await to.hear())["result"]["protocolVersion"] == "2025-03-26"
            for number in (6, 7):
                told = (await to.hear())["result"]["structuredContent"]
                assert told["protocol"] == "2025-03-26"
                to.say(to.call(number + 1, "echo", text="x"))
            assert to.count == 0

    run(course())


def test_a_tool_that_ends_its_thread_is_answered(
    connect: Callable[..., Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller learns that it failed, and not why."""

    @tool(reads=True)
    def die(call: Any) -> Json:
        """End the thread."""
        raise KeyboardInterrupt("swordfish")

    async def course() -> None:
        async with connect(more=[die]) as to:
            await to.begin()
            to.say(to.request(0, {"name": "die", "arguments": {}, "_meta": {"sdk": True}}))
            assert (await to.hear())["error"]["code"] == 0
            to.say(to.call(1, "die"))
            assert (await to.hear())["error"] == {
                "code": -32603,
                "message": "Internal server error",
            }
            to.say(to.call(2, "echo", text="x"))
            assert (await to.hear())["id"] == 2

    deaths: SimpleQueue[object] = SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", deaths.put)
    run(course())
    for _ in range(2):
        deaths.get(timeout=PATIENCE)


def test_no_more_calls_run_at_once_than_there_are_workers(
    connect: Callable[..., Connection], gate: Gate
) -> None:
    """The short way waits in the same line."""

    async def course() -> None:
        async with connect() as to:
            await to.begin()
            to.say(*(to.call(number, "wait", name=str(number)) for number in range(9)))
            for _ in range(4):
                await gate.entered()
            assert len(gate.names) == 4
            gate.opened.set()
            assert len(await to.rest()) == 9

    run(course())


def test_an_answer_does_not_wait_for_the_event_loop(
    connect: Callable[..., Connection], gate: Gate
) -> None:
    """The worker writes it, and it stays the only one if the connection ends before the loop has heard."""

    async def course() -> None:
        async with connect() as to:
            await to.begin()
            to.say(to.call(1, "wait", name="one"))
            await gate.entered()
            gate.opened.set()
            # The loop does nothing else meanwhile.
            assert select.select([to.ours.fileno()], [], [], PATIENCE)[0]
            assert to.direct is not None
            to.direct.close()
            (line,) = await to.rest()
            assert json.loads(line)["result"]["structuredContent"] == {"name": "one"}

    run(course())
