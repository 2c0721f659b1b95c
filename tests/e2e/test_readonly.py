"""In the mode READONLY nothing is written and nothing signed, whatever surface and transport asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from counterpoint.dialects import registry

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

PASSING = ("-shm", "-wal", "-queue", ".lock", ".starting", ".json", ".log", ".sock")
"""What belongs to a process that runs, and no text of anybody."""
WRITES: dict[str, tuple[str, dict[str, Any]]] = {
    "native": ("note", {"kind": "comment", "text": "so"}),
    "workflow": ("start_workflow", {"name": "so", "task_description": "so", "profile": "SIMPLE"}),
    "agentic": ("plan_create", {"title": "so", "phases": []}),
    "colibri": ("task_create", {"title": "so"}),
    "foundry": ("plan", {"action": "create", "name": "so"}),
    "symphony": ("create_issue", {"title": "so"}),
}


@pytest.fixture
def kept(
    repository: Path,
    connect: Callable[..., Any],
    counterpoint: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Give a repository with some work, signed, and nobody who serves it."""
    first = connect(repository)
    first.call("plan", markdown="# Orchard\n- [ ] Plant the walnut\n")
    first.call("next", claim=True)
    first.close()
    # The server has the end signed before it is gone.
    assert counterpoint("down", cwd=repository).returncode == 0
    monkeypatch.setenv("COUNTERPOINT_MODE", "READONLY")
    return repository


def image(folder: Path) -> dict[str, str]:
    """Answer what the project and the account keep: a digest for each file."""
    roots = (folder / ".counterpoint", Path(os.environ["XDG_STATE_HOME"]))
    return {
        str(path): sha256(path.read_bytes()).hexdigest()
        for root in roots
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith(PASSING)
    }


@pytest.mark.alike
@pytest.mark.parametrize("name", sorted(WRITES))
def test_a_connection_that_only_reads_leaves_every_byte(
    kept: Path, connect: Callable[..., Any], wire: Any, name: str
) -> None:
    """Its list is of what reads, each of these can be called, and what writes is refused."""
    before = image(kept)
    client = connect(kept, "--surface", name)
    listed = client.ask("tools/list")["tools"]
    if name != "colibri":
        assert all(tool["annotations"]["readOnlyHint"] for tool in listed)
    for tool in listed:
        if tool["annotations"]["readOnlyHint"] and not tool["inputSchema"].get("required"):
            answer = json.dumps(client.ask("tools/call", {"name": tool["name"], "arguments": {}}))
            assert "READONLY" not in answer or tool["name"].startswith("server_"), answer
    tool, arguments = WRITES[name]
    assert not registry.surface(name).tool(tool).reads
    result = client.ask("tools/call", {"name": tool, "arguments": arguments})
    assert '"ok": true' not in json.dumps(result).replace('":t', '": t')
    assert image(kept) == before
    assert client.close() == 0
    assert image(kept) == before


@pytest.mark.alike
@pytest.mark.parametrize("last", ["", "one"], ids=["nothing kept", "a session kept"])
def test_a_session_of_the_client_is_not_written_down_for_who_only_reads(
    kept: Path, connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """Not which one it was, nor its secret, whether or not one that wrote has left them there."""
    if last:
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", last)
        wrote = connect(kept, "--mode", "FULL")
        wrote.call("note", kind="comment", text="so")
        assert wrote.close() == 0
    before = image(kept)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "two")
    client = connect(kept)
    client.call("brief")
    assert image(kept) == before
    assert client.close() == 0
    assert image(kept) == before


@pytest.fixture
def up(kept: Path) -> Iterator[tuple[str, str]]:
    """Give the address of a server that was started in this mode, and a token for it."""
    words = [sys.executable, "-m", "counterpoint", "up", "--port", "0"]
    process = subprocess.Popen(words, cwd=kept, stderr=subprocess.PIPE)
    assert process.stderr is not None
    told = json.loads(process.stderr.readline())
    yield told["addresses"][0], Path(told["token_file"]).read_text().strip()
    process.terminate()
    process.communicate(timeout=60)


def test_a_server_that_only_reads_leaves_every_byte(
    kept: Path,
    up: tuple[str, str],
    connect: Callable[..., Any],
    wire: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither for callers over HTTP, nor for a relay that was started to write."""
    before = image(kept)
    for name in sorted(WRITES):
        for tool, arguments in (WRITES[name], ("brief", {})):
            params = {"name": tool, "arguments": arguments}
            asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            head = {"content-type": "application/json", "accept": "application/json"}
            head["authorization"] = f"Bearer {up[1]}"
            request = urllib.request.Request(f"{up[0]}/{name}", json.dumps(asked).encode(), head)  # noqa: S310 -- our own server
            with urllib.request.urlopen(request, timeout=60) as answered:  # noqa: S310 -- our own server
                answer = json.loads(answered.read())
            if tool == "brief" and name == "native":
                assert answer["result"]["structuredContent"]["you"]
            elif tool != "brief":
                assert '"ok":true' not in answer["result"]["content"][0]["text"]
    monkeypatch.delenv("COUNTERPOINT_MODE")
    relayed = connect(kept)
    with pytest.raises(wire.Refused, match="out of scope"):
        relayed.call("note", kind="comment", text="so")
    relayed.call("brief")
    assert relayed.close() == 0
    assert image(kept) == before


def test_the_command_line_writes_nothing(kept: Path, counterpoint: Callable[..., Any]) -> None:
    """Proofs are against what was signed before."""
    before = image(kept)
    refused = counterpoint("agent", "create", "ada", cwd=kept)
    assert refused.returncode == 1
    assert "READONLY" in refused.stderr
    for words in (("status",), ("audit", "verify"), ("audit", "prove", "0"), ("audit", "export")):
        ran = counterpoint(*words, cwd=kept)
        assert ran.returncode == 0, (words, ran.stderr)
    assert image(kept) == before


@pytest.mark.long
def test_a_mode_that_there_is_not_is_refused(kept: Path, counterpoint: Callable[..., Any]) -> None:
    """On every surface, over every transport: nobody writes because of a slip of the pen."""
    for words in (("mcp", "--mode", "READ"), ("mcp", "--mode", "TEST"), ("up", "--port", "0")):
        mode = {"COUNTERPOINT_MODE": "READ"} if words[0] == "up" else {}
        ran = counterpoint(*words, cwd=kept, env={**os.environ, **mode})
        assert ran.returncode == 2, (words, ran.stderr)
        assert "no mode" in ran.stderr


def test_where_nothing_is_there_nothing_is_made(
    repository: Path, connect: Callable[..., Any], wire: Any
) -> None:
    """The call says so."""
    client = connect(repository, "--mode", "READONLY")
    with pytest.raises(wire.Refused, match="there is no ledger"):
        client.call("brief")
    assert not (repository / ".counterpoint").exists()
