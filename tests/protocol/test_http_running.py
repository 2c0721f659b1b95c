"""A running HTTP server: its health, its metrics, its log, and its end."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket

import pytest
from live_door import PATIENCE, rpc, running
from starlette.responses import StreamingResponse

from counterpoint.kernel.errors import StoreBusy, Unavailable
from counterpoint.protocol.http.oauth import Issuer
from counterpoint.protocol.http.serving import listen


def test_health_is_told_to_anyone_and_metrics_are_not(live):
    """Ready means more than alive."""
    assert live.send("GET", "/readyz").json == {"ready": True, "troubles": []}
    live.troubles = lambda: ["disk_full"]
    got = live.send("GET", "/readyz")
    assert (got.status, got.json["troubles"]) == (503, ["disk_full"])
    assert live.send("GET", "/metrics").status == 401
    assert live.send("GET", "/metrics", authorization="Bearer echo").status == 403
    live.call("echo", text="x")
    got = live.send("GET", "/metrics", authorization="Bearer reader")
    assert got.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    line = b'counterpoint_requests_total{method="tools/call",tool="echo",outcome="ok"} 1'
    assert line in got.body
    assert b"counterpoint_ledger_entries 7" in got.body
    assert got.body.endswith(b"# EOF\n")


def test_a_page_of_the_house_is_for_those_who_may_read(live):
    """And for whoever has all tools."""
    assert live.send("GET", "/about", authorization="Bearer reader").body == b"about eye"
    assert live.send("GET", "/about").status == 401
    assert live.send("GET", "/about", authorization="Bearer echo").status == 403


@pytest.mark.parametrize("page", ["/about", "/metrics"])
def test_a_token_for_one_dialect_reads_no_page_about_all(live, page):
    """It would tell what other dialects have written."""
    answer = live.send("GET", page, authorization="Bearer elsewhere")
    assert (answer.status, "all tools and dialects" in answer.body.decode()) == (403, True)


def test_the_log_tells_what_happened_and_never_what_was_said(live):
    """No token, no argument, no word that a caller made up."""
    live.call("echo", text="argument-value")
    live.call("madeup", text="argument-value")
    live.ask(rpc("made/up"), path="/mcp?token=secret-word")
    live.ask(rpc("ping"), path="/secret-word")
    live.call("echo", by="secret-word", text="x")
    lines = live.logged(5)
    text = repr(lines)
    for word in ("argument-value", "madeup", "made/up", "secret-word", "Bearer"):
        assert word not in text
    first = lines[0]
    assert (first.rpc, first.tool, first.outcome, first.status, first.grant) == (
        "tools/call", "echo", "ok", 200, "tok_all",
    )  # fmt: skip
    assert first.ms > 0
    assert [line.outcome for line in lines[1:]] == ["error", "error", "not_found", "invalid_token"]


def test_trouble_with_the_store_is_told_without_its_inside(live):
    """The caller hears that it is not their fault, and the server goes on."""

    def broken():
        raise StoreBusy("the file /secret/place is locked")

    live.troubles = broken
    got = live.send("GET", "/readyz")
    assert (got.status, got.json["error"]) == (503, "store_busy")
    assert b"/secret/place" not in got.body


def test_an_issuer_is_named_in_every_challenge(small):
    """The metadata of the resource is at its own address, and at the root's."""
    issuer = Issuer(
        name="https://login.example.org", audience="https://plan.example.org/mcp", keys=None,
    )  # fmt: skip
    with running(small, issuer) as live:
        got = live.call("echo", by="", text="x")
        challenge = got.headers["www-authenticate"]
        assert got.status == 401
        assert 'scope="counterpoint:read counterpoint:write"' in challenge
        assert f'resource_metadata="{issuer.metadata_url}"' in challenge
        for path in (issuer.metadata_path, "/.well-known/oauth-protected-resource"):
            assert live.send("GET", path).json == issuer.metadata()


def asked(live, tool):
    """Send a call over a connection of its own, and answer that connection when it is heard."""
    wire = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
    kind = "application/json"
    headers = {"Authorization": "Bearer all", "Content-Type": kind, "Accept": kind}
    live.gate.clear()
    wire.request("POST", "/mcp", json.dumps(rpc("tools/call", name=tool, arguments={})), headers)
    assert live.heard.wait(PATIENCE)
    return wire


def test_the_end_waits_for_an_answer_that_is_nearly_there(small, monkeypatch):
    """A call that runs when the server is told to end is answered; who comes then is told to come again."""
    monkeypatch.setattr("counterpoint.protocol.http.serving.GRACE", PATIENCE)
    with running(small) as live:
        idle = socket.create_connection(("127.0.0.1", live.port), PATIENCE)
        wire = asked(live, "echo")
        live.stop()
        assert idle.recv(1) == b""
        late = live.send("GET", "/healthz")
        assert (late.status, late.json["error"]) == (503, "server_ending")
        assert late.headers["retry-after"] == "2"
        live.gate.set()
        answer = wire.getresponse()
        assert answer.status == 200
        assert json.loads(answer.read())
        idle.close()
        wire.close()


def test_the_end_does_not_wait_for_a_call_that_lasts(small, monkeypatch):
    """It was not answered, so it does not count as done."""
    monkeypatch.setattr("counterpoint.protocol.http.serving.GRACE", 0.01)
    with running(small) as live:
        wire = asked(live, "echo")
        live.stop()
        live.ended.wait(PATIENCE)
        live.gate.set()
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            cut_off(wire)
        wire.close()
        assert live.logged(1)[0].outcome == "cut"


def test_the_end_does_not_wait_for_a_stream_without_an_end(small, monkeypatch):
    """Whoever follows comes back and goes on."""
    monkeypatch.setattr("counterpoint.protocol.http.serving.GRACE", PATIENCE)

    async def pieces():
        yield b"begun"
        await asyncio.Event().wait()

    async def endless(_grant, _scope):
        return StreamingResponse(pieces())

    with running(small, endless=endless) as live:
        wire = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
        wire.request("GET", "/endless", headers={"Authorization": "Bearer reader"})
        answer = wire.getresponse()
        assert answer.read(5) == b"begun"
        live.stop()
        assert live.ended.wait(PATIENCE / 2)
        with pytest.raises(http.client.HTTPException):
            answer.read()
        wire.close()
        assert live.logged(1)[0].grant == "tok_reader"


def cut_off(wire):
    """Read an answer that is none: a failure of the server counts as one."""
    if wire.getresponse().status >= 500:
        raise ConnectionError


def test_an_address_in_use_is_told_in_words():
    """And what was opened on the way is closed again."""
    taken = listen("127.0.0.1", 0)
    with pytest.raises(Unavailable, match="cannot listen on"):
        listen("127.0.0.1", taken[0].getsockname()[1])
    taken[0].close()
    with pytest.raises(Unavailable, match="cannot listen"):
        listen("name.invalid", 0)


def test_answers_are_sent_at_once():
    """Each connection says that it is TCP, or headers and body would wait for each other."""
    (listening,) = listen("127.0.0.1", 0)
    with listening, socket.create_connection(listening.getsockname(), PATIENCE):
        heard, _ = listening.accept()
        with heard:
            assert heard.proto == socket.IPPROTO_TCP
