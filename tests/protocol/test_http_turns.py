"""Turns over HTTP: a burst of one token, over however many connections, waits with its own."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
from live_door import META, MODERN, PATIENCE, Live

from counterpoint.protocol.http.quotas import Turns

LISTS = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


def test_of_one_caller_so_many_requests_are_looked_at_and_of_another_as_many() -> None:
    """Who waits comes in order; who has left is passed over; a place is given back once, and after a while by itself."""

    async def play() -> list[str]:
        turns, told = Turns(apiece=2, lasts=3600), list[str]()

        async def ask(who: str, name: str, gate: asyncio.Event) -> None:
            async with turns.turn(who) as leave:
                told.append(name)
                await gate.wait()
                leave()

        gates = [asyncio.Event() for _ in range(6)]
        asked = [asyncio.create_task(ask("a", f"a{n}", gate)) for n, gate in enumerate(gates)]
        await asyncio.sleep(0)
        other = asyncio.create_task(ask("b", "b", gates[0]))
        await asyncio.sleep(0)
        assert told == ["a0", "a1", "b"]
        asked[2].cancel()
        gates[0].set()
        await asyncio.gather(asked[0], other)
        await asyncio.sleep(0)
        assert told[3:] == ["a3"]
        # Given a place at the moment at which it is cancelled, it hands that on.
        gates[1].set()
        await asyncio.sleep(0)
        asked[4].cancel()
        for gate in gates:
            gate.set()
        await asyncio.gather(*asked, return_exceptions=True)
        assert not turns._taken
        assert not turns._waiting
        quick = Turns(apiece=1, lasts=0)
        async with quick.turn("a"), quick.turn("a"):
            return told

    assert asyncio.run(play())[4:] == ["a5"]


def test_a_list_is_made_once_for_all_who_may_use_the_same(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word for word but the id, of both eras; a token for fewer tools is given its own, and a question that is no good its refusal."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    modern = {**asked, "params": {"_meta": META}}
    headers = {"mcp_protocol_version": MODERN, "mcp_method": "tools/list"}
    first, newer = live.ask(asked).json, live.ask(modern, **headers).json
    fewer = live.ask(asked, by="echo").json
    for one in live.door._served.values():
        monkeypatch.setattr(one.plain, "handle_request", None)
    assert live.ask({**asked, "id": "x"}).json == {**first, "id": "x"}
    assert live.ask(modern, **headers).json == newer
    assert live.ask(asked, by="echo").json == fewer
    assert len(fewer["result"]["tools"]) < len(first["result"]["tools"])
    assert live.ask(asked, by="none").status == 401
    assert live.ask(asked, by="elsewhere").status == 403
    monkeypatch.undo()
    assert "error" in live.ask({**asked, "params": {"cursor": "x"}}).json
    assert "error" in live.ask({**asked, "params": {"cursor": "x"}}).json
    assert live.ask({**asked, "params": {"_meta": {"x": "y" * 3000}}}).json == first


def test_beside_a_burst_over_many_connections_another_token_has_its_turn(live: Live) -> None:
    """Eight of its calls at most are under way while the rest of them wait, and another's is answered."""
    live.gate.clear()
    call = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "x"}},
        }
    ).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(call)}\r\n\r\n"
    )
    live.door._turns = Turns(lasts=3600)
    burst = [socket.create_connection(("127.0.0.1", live.port), PATIENCE) for _ in range(30)]
    for one in burst:
        one.sendall((head.encode() + call) * 3)
    assert live.heard.wait(PATIENCE)
    assert live.ask(json.loads(LISTS), by="reader").status == 200
    # Of the burst no more was looked at than may be: each look asks whose token it is.
    assert live.secrets.count("all") <= 8
    live.gate.set()
    for one in burst:
        assert b" 200 " in one.recv(100)
        one.close()
