"""What an agent of a type hears as it connects: memory and instructions of that type, as data, and as much as fits."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders import AGENT_PROCESS
from counterpoint.dialects.call import DATA
from counterpoint.protocol.rendezvous import find_rendezvous

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

MEMORY = "The tests want a clock.\n" * 400
Join = Callable[..., Any]


@pytest.fixture
def join(repository: Path, wire: ModuleType) -> Iterator[Join]:
    """Give what connects an agent of a type, each from a process of its own; it shakes hands itself."""
    clients: list[Any] = []

    def joined(type_: str = "") -> Any:
        words = ("--agent-type", type_) if type_ else ()
        command = (*AGENT_PROCESS, sys.executable, "-m", "counterpoint", "mcp")
        clients.append(wire.Client(repository, (*command, "--surface", "symphony", *words)))
        return clients[-1]

    yield joined
    for client in clients:
        client.close()


def test_memory_and_instructions_of_a_type_are_told_at_initialize(join: Join) -> None:
    """Labelled as data, at most 8,000 bytes, the rest where it was; nobody hears those of another type."""
    wizard = join()
    plain = wizard.greet()["instructions"]
    wizard.call(
        "configure_project", worker_instructions="Anchors first.", judge_instructions="Look twice."
    )
    worker = join("worker")
    assert "Anchors first." in worker.greet()["instructions"]
    worker.call("update_memory", scope="project", filename="notes.md", content=MEMORY[:9_000])
    told = join("worker").greet()["instructions"]
    assert told.startswith(plain)
    data = told.removeprefix(plain)
    assert DATA in data
    assert data.index(DATA) < data.index("Anchors first.") < data.index("notes.md")
    assert "The tests want a clock." in data
    assert "`get_issue`" in data
    assert len(json.dumps(told, ensure_ascii=False).encode()) <= 8_000
    judged = join("judge").greet()["instructions"]
    assert ("Look twice." in judged, "clock" in judged, "Anchors" in judged) == (True, False, False)
    assert join("intake").greet()["instructions"] == plain
    discovered = join("worker").ask("server/discover", ENVELOPE)
    assert "Anchors first." in discovered["instructions"]


ENVELOPE = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    }
}


def test_an_agent_of_a_type_goes_on_with_a_server_started_anew(
    join: Join, repository: Path
) -> None:
    """The next server is told who is there, though the first was asked for the beginning."""
    worker = join("worker")
    assert worker.greet()["serverInfo"]["name"] == "counterpoint-symphony"
    meeting = find_rendezvous(repository / ".counterpoint" / "ledger.db")
    for _ in range(2):
        assert worker.call("list_issues")["issues"] == []
        meeting.ask("stop")
    assert worker.call("list_issues")["issues"] == []


def test_an_agent_of_a_type_connects_where_no_server_can_be_had(
    join: Join, repository: Path
) -> None:
    """It hears what is known without one, and its calls say what is wrong."""
    (repository / ".counterpoint").write_text("a file in place of a folder")
    worker = join("worker")
    assert "get_issue_status" in worker.greet()["instructions"]
    assert "error" in json.dumps(worker_reply(worker))


def worker_reply(worker: Any) -> Any:
    """Answer what a call is answered, whatever it is."""
    number = worker.send("tools/call", {"name": "list_issues", "arguments": {}})
    while (answer := worker.read()).get("id") != number:
        pass
    return answer
