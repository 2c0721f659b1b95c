"""The MCP server as clients start it, and the list of its tools."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.server.serving import Connection
from counterpoint.core.rules.identity import name_of
from counterpoint.evidence.processes import peer
from counterpoint.protocol.surface import Caller

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "harbour-master", "version": "1"},
}


class Wire:
    """A client of the era before 2026 that writes lines and reads them."""

    def __init__(self, process: Any) -> None:
        """Shake hands."""
        self.process = process
        self.number = 0
        self.ask("initialize", **INITIALIZE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Answer the result of a request."""
        self.number += 1
        self._send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        heard = json.loads(self.process.stdout.readline())
        assert heard["id"] == self.number
        return heard["result"]

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Answer what a tool answers."""
        return self.ask("tools/call", name=name, arguments=arguments)

    def _send(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


@pytest.mark.e2e
def test_an_agent_works_through_the_server(start, call, ledger):
    """What it writes stands in the ledger under the name its client gave in the handshake."""
    wire = Wire(start("mcp"))
    answer = wire.call("note", kind="finding", text="Knots", id="harbour-4")
    assert not answer.get("isError"), answer
    wire.process.stdin.close()
    assert wire.process.wait(20) == 0
    entries = call("log", "--json", "--limit", "2").json["entries"]
    entry = next(one for one in reversed(entries) if one["action"] != "signer.named")
    assert entry["actor"]["name"] == "harbour-master"
    assert entry["actor"]["session"].startswith("ses_")
    shown = call("show", entry["actor"]["session"], "--json").json["session"]
    assert shown["client"] == "harbour-master"


@pytest.mark.e2e
def test_flags_and_variables_say_who_calls(start, call, ledger, monkeypatch):
    """A flag goes before the variable, the variable before the client's own name."""
    monkeypatch.setenv("COUNTERPOINT_PROFILE", "judge")
    monkeypatch.setenv("COUNTERPOINT_AGENT", "nobody")
    session = "ses_" + "7" * 26
    wire = Wire(start("mcp", "--agent", "eve", "--session", session))
    assert not wire.call("note", kind="finding", text="Knots").get("isError")
    actor = call("log", "--json", "--limit", "1").json["entries"][0]["actor"]
    principal = actor.pop("principal")
    assert actor == {"kind": "agent", "name": "eve", "profile": "judge", "session": session}
    # Whoever starts the relay is the agent: here that is this process.
    mine = peer(os.getpid())
    assert principal == {"strength": "connection", "id": name_of(mine.lineage[0], mine)}


@pytest.mark.e2e
def test_listing_makes_nothing(start, place):
    """Tools are there before there is a ledger."""
    wire = Wire(start("mcp"))
    assert len(wire.ask("tools/list")["tools"]) == 16
    assert list(place.iterdir()) == []


@pytest.mark.e2e
def test_a_broken_database_is_told_by_each_call_and_ends_nothing(start, ledger):
    """The server lives; a call says what is wrong and what to do; mended, the next one works."""
    path = ledger / ".counterpoint" / "ledger.db"
    sound = path.read_bytes()
    path.write_bytes(b"garbage" * 1000)
    wire = Wire(start("mcp"))
    for _ in range(2):
        answer = wire.call("brief")
        assert answer["isError"] is True
        told = json.loads(answer["content"][0]["text"])
        assert "restore" in json.dumps(told)
        assert "Traceback" not in json.dumps(told)
    assert len(wire.ask("tools/list")["tools"]) == 16
    path.write_bytes(sound)
    assert not wire.call("brief").get("isError")


def test_calls_of_one_connection_share_session_and_secret(app):
    """The ledger is opened once; another connection signs its cursors alike."""
    connection = Connection(app, peer(os.getpid()), "")
    one, two = (connection.call(Caller(client="harbour-master")) for _ in range(2))
    assert one.core.caller.actor == two.core.caller.actor
    assert one.core.caller.actor.name == "harbour-master"
    other = Connection(app, peer(0), "").call(Caller())
    assert other.core.caller.actor.name == "agent"
    assert other.core.caller.actor.session != one.core.caller.actor.session
    assert one.secret() == two.secret() == other.secret()
    assert len(one.secret()) == 32


@pytest.mark.parametrize(
    "words",
    [
        ["--agent-type", "poet"],
        ["--tool-scope-file", "missing.json"],
        ["--agent-type", "worker", "--tool-scope-file", "wide.json"],
    ],
)
def test_what_opens_no_tool_is_wrong_usage(call, place, words):
    """An unknown agent type, a scope file that is missing, one that is wider than the type."""
    (place / "wide.json").write_text('["get_issue", "approve_pr"]')
    said = call("mcp", "--surface", "symphony", *words)
    assert said.code == 2
    assert words[-1].removesuffix(".json") in said.err


def test_a_surface_that_is_not_there_is_wrong_usage(call, place):
    """The names there are come with the refusal."""
    for words in (["mcp", "--surface", "none"], ["tools", "--surface", "none"]):
        said = call(*words)
        assert said.code == 2
        assert "native" in said.err


def test_the_tools_are_listed_as_clients_see_them(call, place):
    listed = call("tools", "--json").json["tools"]
    assert len(listed) == 16
    assert listed[0]["name"] == "brief"
    assert {"name", "description", "inputSchema", "annotations"} <= set(listed[0])
    rows = call("tools").out.splitlines()
    assert rows[1].split()[:2] == ["brief", "reads"]
    assert len(rows) == 17
    assert list(place.iterdir()) == []


def test_the_place_of_a_tool_is_told(call, place):
    """File and line, to open in an editor."""
    file, _, line = call("tools", "--where", "next").out.strip().rpartition(":")
    text = Path(file).read_text(encoding="utf-8").splitlines()
    assert any("def next_" in one for one in text[int(line) - 1 : int(line) + 15])
    assert call("tools", "--where", "next", "--json").json["line"] == int(line)
    said = call("tools", "--where", "nxt")
    assert said.code == 1
    assert "next" in said.err


def test_the_sizes_of_the_tools_add_up(call, place):
    """The total is the length of the whole list, within its budget."""
    found = call("tools", "--sizes", "--json").json
    assert sum(found["tools"].values()) < found["total"] <= 15_500
    assert f"{found['total']:,}" in call("tools", "--sizes").out


@pytest.mark.parametrize("variable", ["COUNTERPOINT_DIALECT", "COUNTERPOINT_SURFACE"])
def test_the_tools_are_those_of_the_dialect_that_is_set(call, place, variable, monkeypatch):
    """As `counterpoint mcp` would offer them; a flag goes before the variable."""
    monkeypatch.setenv(variable, "workflow")
    listed = call("tools", "--json").json
    assert listed == call("tools", "--dialect", "workflow", "--json").json
    assert listed != call("tools", "--dialect", "native", "--json").json
    monkeypatch.setenv(variable, "none")
    assert call("tools").code == 2
