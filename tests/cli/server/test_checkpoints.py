"""Checkpoints that nobody asks for: when they come, and what they cost those who write."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from io import BytesIO
from pathlib import Path

import pytest

from counterpoint import __version__
from counterpoint.app import open_app
from counterpoint.cli.server.background import (
    CHECKPOINT_RETRY,
    LONG,
    MANY,
    Checkpoints,
    LedgerState,
)
from counterpoint.cli.server.serving import serve_sockets
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Handover
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Ending, Item, Staging
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.protocol.workers import Workers
from fakes.callers import Caller, Server

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}

_IMPORTED = """
import os
import sys
from counterpoint.app import open_app
from pathlib import Path
from counterpoint.core.model.filters import Note
app = open_app(Path.cwd(), os.environ)
core = app.itself()
core.journal.append(Note(kind="comment", body="Seven"))
core.overview.state()
print("cryptography" in sys.modules, core.projects.find().public_key == "")
"""


@pytest.fixture
def watch(ledger):
    """A look at the ledger of a folder, with a clock that the test moves."""
    return Watch(ledger)


class Watch:
    """A ledger that is looked after, by hand."""

    def __init__(self, folder: Path) -> None:
        self.time = 0.0
        self.app = open_app(folder, {})
        self.checkpoints = Checkpoints(now=lambda: self.time)
        self.ledger = LedgerState(self.app.itself())

    def write(self, many: int = 1) -> None:
        """Append entries."""
        for number in range(many):
            self.app.itself().memory.put("project", "n", number)

    def looks(self, *, later: float = 0) -> int:
        """Answer how many entries are signed after a look some time later."""
        self.time += later
        self.checkpoints.look(self.ledger)
        last = self.app.itself().signing.last()
        return last.size if last else 0


def test_what_waits_is_signed_after_a_while(watch):
    """Not at once, and not again without anything new."""
    assert watch.looks() == 0
    assert watch.looks(later=LONG - 1) == 0
    assert watch.looks(later=1) == 7
    watch.write()
    assert watch.looks() == 7
    assert watch.looks(later=LONG) == 8
    assert watch.looks(later=LONG) == 8
    watch.app.close()


def test_many_entries_are_signed_at_once(watch):
    watch.looks(later=LONG + 1)
    watch.looks(later=LONG + 1)
    watch.write(MANY - 1)
    assert watch.looks() == 7
    watch.write(1)
    assert watch.looks() == 7 + MANY
    watch.app.close()


def test_what_is_left_of_large_plans_is_carried_through_within_ten_seconds(watch):
    """Who made or closed one is gone: a look of the server takes it away or closes it, and not each look."""
    task = watch.app.itself().plans.create(Draft(kind="task", title="t")).root.id
    with recording(
        Context(ports=watch.app.ports, caller=watch.app.itself().caller), "plan.drafted"
    ) as change:
        change.put(
            Staging(
                project=watch.app.project, first=90, last=99, status="hidden",
                until="2026-01-01T00:00:00.000Z", agent="a", session="", begun_at=change.now,
            )
        )  # fmt: skip
        change.put(
            Ending(
                project=watch.app.project, since=1, item=task, goal="cancelled", reason=Prose("over"), status="begun",
                until="2026-01-01T00:00:00.000Z", agent="a", session="", begun_at=change.now,
            )
        )  # fmt: skip
    found: list[str] = []
    for later in (0, LONG - 1, 1):
        watch.looks(later=later)
        with watch.app.ports.store.reading(watch.app.project) as view:
            found += [one.status for one in (*view.select(Staging), *view.select(Item, id=task))]
    assert found == ["hidden", "open", "hidden", "open", "gone", "cancelled"]
    watch.app.close()


def test_the_end_of_a_session_is_signed_at_once(watch, agent):
    """Its work is proved before its agent is gone."""
    watch.looks()
    watch.looks(later=LONG)
    agent.memory.put("project", "n", 1)
    assert watch.looks() == 7
    agent.sessions.hand_over(Handover(action="end", summary="bye"))
    assert watch.looks() > 7
    watch.app.close()


def test_a_session_that_is_abandoned_is_signed_at_once(watch, agent):
    """As one that ends in any other way."""
    watch.looks()
    watch.looks(later=LONG)
    agent.memory.put("project", "n", 1)
    assert watch.looks() == 7
    agent.sessions.abandon(agent.caller.actor.session, "lost")
    assert watch.looks() == 9
    watch.app.close()


def test_a_signer_that_is_away_is_asked_again_later(watch, caplog):
    """What keeps it is said once; what was written meanwhile is signed with the rest."""
    state = Path(os.environ["XDG_STATE_HOME"]) / "counterpoint" / "signer"
    state.chmod(0o777)
    watch.looks()
    for _ in range(3):
        assert watch.looks(later=LONG) == 0
    assert caplog.text.count("not signed") == 1
    state.chmod(0o700)
    watch.write()
    assert watch.looks() == 0
    assert watch.looks(later=CHECKPOINT_RETRY) == 8
    watch.app.close()


def send(server, number, method, **params):
    """Send a request to a process and wait for its answer."""
    asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(asked).encode() + b"\n")
    server.stdin.flush()
    said = server.stdout.readline()
    assert f'"id":{number}'.encode() in said, said
    assert b'"isError":true' not in said, said


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "client", "version": "1"},
}
SEVEN = {"kind": "comment", "text": "Seven"}


@pytest.mark.e2e
@pytest.mark.parametrize("words", [["mcp"], ["mcp", "--in-process"], ["up"]], ids=" ".join)
def test_the_end_of_a_session_and_of_a_server_signs_what_waits(call, ledger, start, words):
    """A plain client that writes and leaves; nobody has asked for a signature, over whatever it came."""

    def found():
        return call("status", "--json").json["ledger"]

    if words == ["up"]:
        server = Server(ledger)
        caller = Caller(server)
        caller.does("note", **SEVEN)
        caller.does("handoff", action="end", summary="bye")
        for _ in range(100):
            # The server is there, and looks every second.
            if found()["signed"] == found()["size"]:
                break
        assert found()["signed"] == found()["size"] > 7
        caller.does("note", **SEVEN)
        server.close()
    else:
        server = start(*words, stderr=None)
        send(server, 1, "initialize", **HELLO)
        send(server, 2, "tools/call", name="note", arguments=SEVEN)
        server.stdin.close()
        server.wait(20)
    # Whoever ends a server waits for this: it holds the lock until all is signed.
    with find_rendezvous(ledger / ".counterpoint" / "ledger.db").turn("lock"):
        pass
    assert found()["signed"] == found()["size"] > 6
    assert call("audit", "verify").code == 0


def test_the_end_of_a_server_with_calls_under_way_signs_what_waits(ledger):
    """The store stays open for the call; the thread of the checkpoints ends, and nothing is left unsigned."""
    app = open_app(ledger, {})
    checkpoints, blocked, go_on = Checkpoints(), threading.Event(), threading.Event()

    def call(number, tool, **arguments):
        params = {"name": tool, "arguments": arguments, "_meta": META}
        asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        return json.dumps(asked).encode() + b"\n"

    def block():
        blocked.set()
        go_on.wait()

    async def run():
        workers = Workers(1)
        async with serve_sockets(app, workers=workers, checkpoints=checkpoints):
            path = find_rendezvous(app.database).socket
            reader, writer = await asyncio.open_unix_connection(str(path))
            greeting = {"version": __version__, "flags": {}, "environ": {}, "folder": str(ledger)}
            writer.write(json.dumps({"counterpoint": 1, **greeting}).encode() + b"\n")
            assert json.loads(await reader.readline())["ok"]
            writer.write(call(1, "note", kind="comment", text="Seven"))
            assert json.loads(await reader.readline())["id"] == 1
            workers.submit(block, lambda _: None)
            await asyncio.to_thread(blocked.wait)
            writer.write(call(2, "brief"))
            await writer.drain()
            writer.write(b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n')
            await reader.readline()
        writer.close()

    asyncio.run(run())
    assert checkpoints._thread is not None
    assert not checkpoints._thread.is_alive()
    last = app.itself().signing.last()
    assert last is not None
    assert last.size == app.itself().feed.last() + 1 > 6
    go_on.set()
    app.close()


@pytest.mark.e2e
def test_writing_in_a_new_ledger_loads_no_cryptography_and_asks_no_signer(tmp_path, monkeypatch):
    """Neither the first call nor any other waits for what signs; the first signature names the key, once."""
    project, asked = tmp_path / "new", tmp_path / "asked"
    project.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    environ = {**os.environ, "COUNTERPOINT_SIGNER": f"command:touch {asked}"}
    said = subprocess.run(
        [sys.executable, "-c", _IMPORTED],
        cwd=project,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "False True\n"
    assert not asked.exists()
    # That there is a ledger is known at once, to the state of this account alone.
    assert [path.name for path in (tmp_path / "state" / "counterpoint").iterdir()] == ["ledgers"]
    app = open_app(project, {})
    core = app.itself()
    for number in range(2):
        core.memory.put("project", "n", number)
        assert core.writers.sign() > 0
        assert core.signing.sign() == core.signing.last()
    named = core.audit.log(action="signer.named")
    assert [one.sequence for one in named] == [3]
    assert core.projects.find().public_key == core.signing.key.public_key.hex()
    assert core.audit.verify().sound
    assert verify_any(BytesIO(b"".join(core.audit.export())), core.audit.key).sound
    app.close()


def test_commands_leave_a_little_to_the_next_server_and_sign_much(call, ledger):
    """A command that writes does not pay for a signature, unless no server can have been here."""
    assert call("note", "a little").code == 0
    assert call("status", "--json").json["ledger"]["signed"] == 0
    app = open_app(ledger, {})
    for number in range(MANY):
        app.itself().memory.put("project", "n", number)
    app.close()
    assert call("status", "--json").json["ledger"]["signed"] == 0
    assert call("note", "much").code == 0
    found = call("status", "--json").json["ledger"]
    assert found["signed"] == found["size"]
