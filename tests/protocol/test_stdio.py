"""Standard input and output: real processes, real signals, and garbage."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

BOUND = 5.0
"""Seconds in which an end must come; far more than it takes, far less than the tool that hangs."""


@pytest.mark.parametrize("era", ["2026-07-28", "legacy", "auto"])
def test_the_client_of_the_sdk_works_over_pipes(program: str, era: str) -> None:
    """A real client in each era lists, calls and leaves."""

    async def run() -> Any:
        parameters = StdioServerParameters(
            command=sys.executable, args=[program], env=dict(os.environ)
        )
        with anyio.fail_after(30):
            async with Client(parameters, mode=era) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                answer = await client.call_tool("start", {"id": "cp-1"})
                return names, answer.structured_content["item"]

    names, item = anyio.run(run)
    assert names[0] == "echo"
    assert item == "cp-1"


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_the_handshake_of_earlier_eras_is_served(raw: Any, revision: str) -> None:
    """A client that opens with initialize gets the revision it asks for."""
    info = {"name": "old", "version": "0"}
    raw.send_bare("initialize", 1, protocolVersion=revision, capabilities={}, clientInfo=info)
    result = raw.hear()["result"]
    assert result["protocolVersion"] == revision
    assert result["serverInfo"] == {"name": "small", "version": "1.2.3"}
    raw.send_bare("notifications/initialized")
    raw.send_bare("tools/call", 2, name="echo", arguments={"text": "x"})
    answer = raw.hear()["result"]
    assert answer["structuredContent"] == {"text": "x", "client": "old", "protocol": revision}
    assert "resultType" not in answer


GARBAGE = [
    (b"garbage", -32700, None),
    (b"\xff\xfe\x00\x01", -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', -32700, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\ud800"}}', -32700, 1),
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":"x"}', -32700, None),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 30 + b',"a":NaN,"method":"x"}', -32700, None),
    (b'{"jsonrpc":"2.0","id":[1],"a":NaN,"method":"x"}', -32700, None),
    (b"[" * 100_000, -32700, None),
    (b"1" * 400, -32700, None),
    (b"[]", -32600, None),
    (b"7", -32600, None),
    (b'{"id":7}', -32600, 7),
    (b'{"id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":"a","method":5}', -32600, "a"),
]


def test_garbage_is_answered_and_the_server_stays(raw: Any) -> None:
    """The next call after it works."""
    for line, code, name in GARBAGE:
        raw.write(line + b"\n")
        answer = raw.hear()
        assert (answer["error"]["code"], answer["id"]) == (code, name), line[:99]
        assert raw.call(2, "echo", text="x")["result"]["isError"] is False


def test_odd_arguments_are_refused_and_the_server_stays(raw: Any) -> None:
    """What is JSON but no argument comes back as a refusal that says where."""
    for text in ("[" * 500 + "]" * 500, "1" * 30, "1e308", '"\\u0000"', "null"):
        message = raw.message("tools/call", 1, name="large", arguments={"size": "SIZE"})
        raw.write(message.replace(b'"SIZE"', text.encode()))
        answer = raw.hear()["result"]
        assert answer["isError"] is True
        assert answer["structuredContent"]["error"]["facts"]["faults"][0]["path"] == "size"
        assert raw.call(2, "echo", text="x")["result"]["isError"] is False


def test_a_line_that_is_too_long_is_answered_once(raw: Any) -> None:
    """The rest of it is thrown away unread."""
    raw.write(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"')
    for _ in range(12):
        raw.write(b"x" * 1_000_000)
    raw.write(b'"}}\n')
    assert raw.hear()["error"]["code"] == -32700
    assert raw.call(2, "echo", text="x")["id"] == 2


def test_an_empty_line_means_nothing(raw: Any) -> None:
    """Carriage returns and blanks between messages are let be."""
    raw.write(b"\n\r\n   \n")
    assert raw.call(2, "echo", text="x")["id"] == 2


def test_a_message_may_come_in_pieces(raw: Any) -> None:
    """Where the pipe cuts a line does not matter, even inside a character."""
    params = {"name": "echo", "arguments": {"text": "é"}, "_meta": {}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params})
    whole = (message + "\n").encode()
    for place in range(len(whole)):
        raw.write(whole[place : place + 1])
    assert raw.hear()["id"] == 1


def test_a_long_answer_arrives_whole(raw: Any) -> None:
    """An answer larger than the pipe is written in order, and the next one after it."""
    raw.send("tools/call", 1, name="large", arguments={"size": 3_000_000})
    raw.send("tools/call", 2, name="large", arguments={"size": 2_000_000})
    answers = {one["id"]: one for one in (raw.hear(), raw.hear())}
    assert len(answers[1]["result"]["structuredContent"]["text"]) == 3_000_000
    assert len(answers[2]["result"]["structuredContent"]["text"]) == 2_000_000


def test_nothing_but_the_protocol_is_on_standard_output(raw: Any) -> None:
    """Prints, raw writes and children go to standard error, and a child cannot read the wire."""
    answer = raw.call(1, "shout")
    assert answer["result"]["structuredContent"] == {"reads_nothing": True}
    assert raw.call(2, "echo", text="x")["id"] == 2
    raw.leave()
    status, errors = raw.end()
    assert status == 0
    assert "PRINTED" in errors
    assert "WRITTEN" in errors
    assert "EOFError" in errors


def test_a_cancelled_call_is_not_answered_and_others_are(raw: Any) -> None:
    """The answer of the tool that still runs is dropped."""
    raw.send("tools/call", 1, name="hang", arguments={})
    raw.send("notifications/cancelled", requestId=1)
    assert raw.call(2, "echo", text="x")["id"] == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it_cleanly(raw: Any, number: int, *, busy: bool) -> None:
    """The input is still open, a tool may run, and yet it goes with status 0 and no traceback."""
    raw.call(1, "echo", text="x")
    if busy:
        raw.send("tools/call", 2, name="hang", arguments={})
        raw.call(3, "echo", text="x")
    began = time.monotonic()
    raw.process.send_signal(number)
    status, errors = raw.end()
    assert status == 0
    assert "LEFT" in errors
    assert "Traceback" not in errors
    assert time.monotonic() - began < BOUND


def test_a_second_signal_does_not_spoil_the_end(lingering: Any) -> None:
    """A client that sends one kind and then the other still gets status 0."""
    lingering.call(1, "echo", text="x")
    lingering.process.send_signal(signal.SIGINT)
    assert lingering.process.stderr.readline() == b"LEFT\n"
    lingering.process.send_signal(signal.SIGTERM)
    lingering.leave()
    status, errors = lingering.end()
    assert (status, errors) == (0, "")


def test_the_end_of_the_input_ends_it_after_the_answers(raw: Any) -> None:
    """A script that writes its calls and closes the pipe still hears every answer."""
    for number in range(10):
        raw.send("tools/call", number, name="echo", arguments={"text": str(number)})
    raw.send("tools/call", 10, name="pause", arguments={})
    raw.leave()
    heard = [raw.hear() for _ in range(11)]
    assert {one["id"] for one in heard} == set(range(11))
    assert all("result" in one for one in heard)
    with pytest.raises(EOFError):
        raw.line()
    assert raw.end()[0] == 0


def test_the_end_of_the_input_does_not_wait_for_a_tool_that_hangs(raw: Any) -> None:
    """The grace is bounded."""
    raw.call(1, "echo", text="x")
    raw.send("tools/call", 2, name="hang", arguments={})
    raw.leave()
    began = time.monotonic()
    assert raw.end()[0] == 0
    assert time.monotonic() - began < BOUND


def test_a_client_that_goes_away_is_let_go_quietly(raw: Any) -> None:
    """Writing to nobody ends the server without a word."""
    raw.call(1, "echo", text="x")
    raw.process.stdout.close()
    raw.send("tools/call", 2, name="echo", arguments={"text": "x"})
    status, errors = raw.end()
    assert status == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize("source", [os.devnull, "file"])
def test_any_kind_of_input_is_read(program: str, source: str, tmp_path: Path) -> None:
    """A null device is an end at once and a file is a script."""
    answers = 0
    if source == "file":
        script = tmp_path / "script"
        script.write_text('{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 2)
        source, answers = str(script), 2
    with open(source, "rb") as opened, open(tmp_path / "out", "wb") as out:  # noqa: PTH123 -- descriptors for a child
        done = subprocess.run(
            [sys.executable, program], stdin=opened, stdout=out, check=False, timeout=20
        )
    assert done.returncode == 0
    assert (tmp_path / "out").read_bytes().count(b'"id":1') == answers
