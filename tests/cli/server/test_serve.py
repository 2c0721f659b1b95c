"""The one server of a database: what it joins, when it leaves, and the command that ends it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from counterpoint import __version__
from counterpoint.app import App, open_app
from counterpoint.cli import doctor
from counterpoint.cli.server import events, serving
from counterpoint.cli.server.serving import ConnectionApps, end_server, serve_sockets
from counterpoint.core.model.access import Actor
from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.identity import Peer
from counterpoint.dialects import registry
from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    InvalidInput,
    StoreBusy,
    StoreFull,
    Unavailable,
)
from counterpoint.protocol import rendezvous as meeting_module
from counterpoint.protocol.peers import PeerProcess
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.protocol.sockets import Greeting
from counterpoint.protocol.surface import Caller
from counterpoint.protocol.workers import Workers

PATIENCE = 20.0


def greeting(folder: Path, *, environ: dict[str, str] | None = None, **flags: str) -> Greeting:
    """Make what a relay says first."""
    return Greeting(
        flags=flags,
        environ=environ or {},
        folder=str(folder),
        version="0",
        peer=PeerProcess(pid=os.getpid(), user=os.getuid()),
    )


async def soon(event: asyncio.Event) -> None:
    """Wait until an event is set."""
    await asyncio.wait_for(event.wait(), PATIENCE)


async def sit(folder: Path, idle: str = "10") -> asyncio.StreamWriter:
    """Connect to the server of a folder as a relay does."""
    path = find_rendezvous(folder / ".counterpoint" / "ledger.db").socket
    reader, writer = await asyncio.open_unix_connection(str(path))
    said = {
        "counterpoint": 1,
        "version": __version__,
        "flags": {},
        "environ": {"COUNTERPOINT_IDLE_MINUTES": idle},
        "folder": str(folder),
    }
    writer.write(json.dumps(said).encode() + b"\n")
    assert json.loads(await asyncio.wait_for(reader.readline(), PATIENCE))["ok"]
    return writer


@pytest.fixture
def hall(app: App) -> Iterator[ConnectionApps]:
    """Give what relays are let in by; its thread has ended when the database is closed."""
    made = ConnectionApps(host=app)
    yield made
    made.checkpoints.close()


def test_one_database_by_two_paths_has_one_server(hall: ConnectionApps, ledger, tmp_path):
    """As where a folder is mounted twice: paths differ, the file does not."""
    (tmp_path / "twice").mkdir(mode=0o700)
    second = tmp_path / "twice" / "ledger.db"
    second.hardlink_to(ledger / ".counterpoint" / "ledger.db")
    assert hall.admit(greeting(ledger, db=str(second)))
    with pytest.raises(InvalidInput, match="this is the server of"):
        hall.admit(greeting(ledger, db=str(second.with_name("other.db"))))


def test_each_connection_is_its_own_agent_over_one_store(hall: ConnectionApps, app, ledger):
    """Flags and variables are those of the connection; store and key are shared."""
    one = hall.admit(greeting(ledger, agent="ada", session="ses_" + "7" * 26, item="harbour-3"))
    other = hall.admit(
        greeting(
            ledger, environ={"COUNTERPOINT_PROFILE": "judge", "COUNTERPOINT_LEASE_SECONDS": "5"}
        )
    )
    ada = one.call_for(Caller(client="claude"))
    judge = other.call_for(Caller(client="codex"))
    principal = ada.core.caller.actor.principal
    assert principal is not None
    assert ada.core.caller.actor == Actor(
        kind="agent", name="ada", session="ses_" + "7" * 26, principal=principal
    )
    assert judge.core.caller.actor.principal == principal  # of one process, as is its parent
    assert (ada.core.caller.client, ada.core.caller.item) == ("claude", "harbour-3")
    assert (judge.core.caller.actor.name, judge.core.caller.actor.profile) == ("codex", "judge")
    assert ada.core._context.ports.store is judge.core._context.ports.store is app.store
    assert (ada.core._context.ports.lease_seconds, judge.core._context.ports.lease_seconds) == (
        1800,
        5,
    )
    assert ada.secret() == judge.secret()


def test_a_connection_goes_on_where_the_one_with_its_secret_ended(
    hall: ConnectionApps, app, ledger
):
    """While that is there, or without the secret, it is another one."""

    def enter(secret):
        return hall.admit(replace(greeting(ledger), secret=secret))

    first = enter("a")
    began = first.call_for(Caller()).core
    began.journal.append(Note(kind="comment", body="one"))
    copied = enter("a").call_for(Caller()).core
    assert copied.caller.actor.session != began.caller.actor.session
    assert copied.caller.capability != began.caller.capability
    first.leave()
    assert app.host.absence(began.caller.actor.session) is not None
    again = enter("a")
    assert again.call_for(Caller()).core.caller.actor.session == began.caller.actor.session
    again.call_for(Caller()).core.sessions.hand_over(Handover(action="end", summary="bye"))
    again.leave()
    later = enter("a").call_for(Caller()).core
    assert later.caller.actor.session != began.caller.actor.session
    later.journal.append(Note(kind="comment", body="two"))
    assert later.sessions.get(later.caller.actor.session).session.seat == began.caller.actor.session
    # One that never called is not known, and does no harm by leaving.
    enter("b").leave()


def test_the_calls_of_one_principal_are_counted_together(
    hall: ConnectionApps, app, ledger, monkeypatch
):
    """Whatever it calls itself, and however many connections it opens; who has a credential is another."""
    given = {"COUNTERPOINT_CREDENTIAL": "cpt_" + "0" * 64}
    one = hall.admit(greeting(ledger, agent="ada"))
    same = hall.admit(greeting(ledger, agent="bob"))
    other = hall.admit(greeting(ledger, environ=given))
    assert one.caller == same.caller == next(iter(app.connected))
    assert other.caller not in {one.caller, given["COUNTERPOINT_CREDENTIAL"]}
    monkeypatch.setattr(events, "peer", lambda *_: Peer((), "boot"))
    assert {hall.admit(greeting(ledger)).caller for _ in range(2)} == {"unattested"}


def test_how_long_others_wait_is_the_servers_to_say(app, ledger):
    """Not that of who wants to have what somebody left."""
    eager = greeting(ledger, environ={"COUNTERPOINT_GRACE_SECONDS": "0"})
    call = ConnectionApps(host=app).admit(eager).call_for(Caller())
    assert call.core._context.ports.grace_seconds == 60


def test_who_is_a_witness_is_the_servers_to_say(app, ledger):
    """No agent turns the ref of the repository off, or has heads pushed and cosigned elsewhere."""
    environ = {
        "COUNTERPOINT_GIT_WITNESS": "off",
        "COUNTERPOINT_WITNESS_PUSH": "elsewhere",
        "COUNTERPOINT_WITNESSES": "nonsense",
    }
    call = ConnectionApps(host=app).admit(greeting(ledger, environ=environ)).call_for(Caller())
    assert [one.name for one in call.core._context.ports.witnesses()] == ["git ref"]


def test_evidence_is_measured_in_the_tree_of_the_connection(app, ledger, tmp_path):
    """A linked worktree shares the ledger, and keeps its own tree and its own secrets."""
    words = ["git", "worktree", "add", "-q", str(tmp_path / "linked")]
    subprocess.run(words, cwd=ledger, check=True, capture_output=True)
    (tmp_path / "linked" / ".env").write_text("API_TOKEN=swordfish-swordfish\n")
    here = ConnectionApps(host=app).admit(greeting(ledger)).call_for(Caller())
    there = ConnectionApps(host=app).admit(greeting(tmp_path / "linked")).call_for(Caller())
    assert there.core.caller.root == tmp_path / "linked"
    assert here.core.caller.root == ledger
    assert "swordfish-swordfish" in there.core._context.ports.secrets
    assert "swordfish-swordfish" not in here.core._context.ports.secrets


def test_another_database_and_a_wrong_setting_are_refused(
    hall: ConnectionApps, app, ledger, tmp_path
):
    """The relay is told before anything is served."""
    with pytest.raises(InvalidInput, match="not of"):
        hall.admit(greeting(tmp_path))
    with pytest.raises(InvalidInput, match="LEASE"):
        hall.admit(greeting(ledger, environ={"COUNTERPOINT_LEASE_SECONDS": "x"}))
    with pytest.raises(CounterpointError, match="dialect"):
        hall.admit(greeting(ledger, surface="none"))


def test_a_server_leaves_when_nobody_came_and_when_nobody_is_left(app, ledger, monkeypatch):
    """The first client has longer; as long as one is there it stays."""
    monkeypatch.setattr(serving, "FIRST", 0.05)

    async def nobody() -> None:
        async with serve_sockets(app, workers=Workers(1), idle=0) as sockets:
            await soon(sockets.over)

    async def somebody() -> None:
        monkeypatch.setattr(serving, "FIRST", PATIENCE)
        async with serve_sockets(app, workers=Workers(1), idle=0) as sockets:
            one = await sit(ledger, idle="0")
            assert not sockets.over.is_set()
            one.close()
            await soon(sockets.over)

    asyncio.run(nobody())
    asyncio.run(somebody())
    assert find_rendezvous(app.database).known() is None


def test_a_server_stays_as_long_as_any_agent_that_came_is_set_to(app, ledger):
    """Whoever started it may have been set to less, as `doctor` is."""

    async def both() -> None:
        async with serve_sockets(app, workers=Workers(1), idle=0) as sockets:
            starter, agent = await sit(ledger, idle="0"), await sit(ledger, idle="1")
            starter.close()
            agent.close()
            while sockets.clients:
                sockets.changed.clear()
                await soon(sockets.changed)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(sockets.over.wait(), 0.05)

    asyncio.run(both())


def test_there_are_never_two_servers(app, ledger, monkeypatch):
    """The second one waits a moment, is refused, and takes nothing away from the first."""
    monkeypatch.setattr(meeting_module, "PATIENCE", 0.05)

    async def both() -> None:
        async with serve_sockets(app, workers=Workers(1)):
            with pytest.raises(StoreBusy):
                async with serve_sockets(open_app(ledger, {}), workers=Workers(1)):
                    pass
            (await sit(ledger)).close()

    asyncio.run(both())


def test_a_server_whose_folder_is_gone_leaves_and_touches_no_other(app, ledger, monkeypatch):
    """What lies at its place then is somebody else's."""
    monkeypatch.setattr(serving, "GLANCE", 0.02)
    meeting = find_rendezvous(app.database)

    async def lose() -> None:
        async with serve_sockets(app, workers=Workers(1)) as sockets:
            (ledger / ".counterpoint").rename(ledger / "elsewhere")
            (ledger / ".counterpoint").mkdir()
            meeting.file("json").write_text("another one's")
            await soon(sockets.over)

    asyncio.run(lose())
    assert meeting.file("json").read_text() == "another one's"


def test_what_a_dead_server_left_is_replaced(app, ledger):
    """A socket nobody listens to does not stop the next one."""
    meeting = find_rendezvous(app.database)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(meeting.socket))
    meeting.file("json").write_text("{}")

    async def live() -> None:
        async with serve_sockets(app, workers=Workers(1)):
            (await sit(ledger)).close()

    asyncio.run(live())


FIRST_CALL = """
import json, os, sys
from pathlib import Path
from counterpoint.app import open_app
from counterpoint.cli.server.serving import ConnectionApps
from counterpoint.protocol.peers import PeerProcess
from counterpoint.protocol.sockets import Greeting
from counterpoint.protocol.surface import Caller

app = open_app(Path.cwd(), {})
me = PeerProcess(pid=os.getpid(), user=os.getuid())
greeting = Greeting(flags={}, environ={}, folder=os.getcwd(), version="0", peer=me)
context = ConnectionApps(host=app).admit(greeting)
assert not context.surface.invoke(context.call_for(Caller()), "brief").is_error
print(json.dumps(sorted(sys.modules)))
"""
"""What the server that a relay starts does until it has answered a first call."""

NOT_NEEDED = (
    *("anyio", "click", "cryptography", "html", "importlib.metadata", "importlib.resources"),
    *("mcp", "re2", "rich", "starlette", "yaml"),
    *(
        "counterpoint.cli.main",
        "counterpoint.core.operations.audit",
        "counterpoint.core.rules.runs",
    ),
    *("counterpoint.core.model.templates", "counterpoint.core.operations.plans"),
    "counterpoint.core.rules.templating",
    *("counterpoint.dialects.colibri.rules", "counterpoint.dialects.symphony"),
    *(
        "counterpoint.evidence.git.tree",
        "counterpoint.evidence.hashes",
        "counterpoint.protocol.http",
    ),
)
"""Modules that take long to load and have no part in a first answer."""


def test_a_first_answer_waits_for_nothing_that_it_does_not_need(ledger):
    """Whoever imports one of these on the way makes each first call slower."""
    script = [sys.executable, "-P", "-c", FIRST_CALL]
    done = subprocess.run(script, cwd=ledger, capture_output=True, check=True)
    loaded = json.loads(done.stdout)
    assert "counterpoint.core.queries.overview" in loaded
    beneath = tuple(f"{name}." for name in NOT_NEEDED)
    assert [one for one in loaded if one in NOT_NEEDED or one.startswith(beneath)] == []


def test_only_what_a_relay_writes_is_served_without_the_command_line():
    """Flags in any other form are read, and refused, by the command."""
    assert serving.main(["--db", "l.db"]) is None
    assert serving.main(["--db", "l.db", "--ready-fd", "x", "--turn-fd", "4"]) is None


def test_a_server_that_cannot_start_says_why(ledger, monkeypatch, capfd):
    """The last line of its log is what the relay tells: what to do next."""
    monkeypatch.chdir(ledger)
    monkeypatch.setattr("counterpoint.protocol.rendezvous.PATIENCE", 0.1)
    database = ledger / ".counterpoint" / "ledger.db"
    ready, listens = os.pipe()
    with os.fdopen(ready), os.fdopen(listens, "w"), find_rendezvous(database).turn("lock"):
        words = ["--ready-fd", str(listens), "--turn-fd", str(listens)]
        code = serving.main(["--db", str(database), *words])
    assert code == 3
    said = capfd.readouterr().err
    assert said.startswith("counterpoint: ")
    assert "counterpoint down" in said.splitlines()[-1]


@pytest.mark.e2e
def test_the_command_serves_until_it_is_told_to_leave(start, call, ledger, monkeypatch):
    """One byte on the pipe of whoever started it; `down` ends it and waits for its end."""
    monkeypatch.setenv("COUNTERPOINT_IDLE_MINUTES", "5")
    ready, listens = os.pipe()
    server = start("serve", "--ready-fd", str(listens), pass_fds=[listens])
    os.close(listens)
    assert os.read(ready, 10) == b"+"
    os.close(ready)
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert checks["running"]["found"].startswith(f"server {server.pid}, version")
    assert call("down").out == f"Ended the server {server.pid}.\n"
    assert server.wait(PATIENCE) == 0
    assert server.stderr.read() == b""
    assert call("down", "--json").json == {"ended": None}
    assert call("down").out == "No server runs.\n"


def test_down_tells_what_it_ended(call, ledger):
    """The command line of the server, in this process, ended by the command for it."""
    meeting = find_rendezvous(ledger / ".counterpoint" / "ledger.db")
    ready, listens = os.pipe()
    ended: list[object] = []

    def end() -> None:
        assert os.read(ready, 1) == b"+"
        ended.append(end_server(meeting.database))

    ending = threading.Thread(target=end)
    ending.start()
    assert call("serve", "--db", ".counterpoint/ledger.db", "--ready-fd", str(listens)).code == 0
    ending.join()
    os.close(ready)
    assert ended[0]["pid"] == os.getpid()


def test_a_server_of_another_version_is_pointed_out(call, ledger, monkeypatch):
    """The doctor says how the next one becomes this version's."""
    monkeypatch.setattr(doctor, "__version__", "99.0")

    async def look() -> None:
        async with serve_sockets(open_app(ledger, {}), workers=Workers(1)):
            found, _ = await asyncio.to_thread(examined, open_app(ledger, {}))
            assert (found.verdict, "counterpoint down" in found.advice) == ("warn", True)

    asyncio.run(look())


def examined(app: App) -> list[doctor.Finding]:
    """Answer what the doctor finds of the server that runs."""
    return list(doctor._running(app))


def test_the_breaker_of_the_server_that_runs_is_seen_by_the_doctor(app, ledger):
    def down() -> None:
        raise StoreFull

    async def look() -> None:
        async with serve_sockets(app, workers=Workers(1)):
            sound = (await asyncio.to_thread(examined, open_app(ledger, {})))[1]
            assert (sound.name, sound.verdict) == ("breaker", "ok")
            for _ in range(5):
                with pytest.raises(StoreFull):
                    app.breaker.opening(down)
            found = (await asyncio.to_thread(examined, open_app(ledger, {})))[1]
            assert (found.name, found.verdict) == ("breaker", "warn")
            assert found.found == "open, 5 faults, the last was store_full; 0 calls were refused"
            assert "in 60 s tries the database again" in found.advice

    asyncio.run(look())


@pytest.mark.parametrize("is_guarded", [True, False])
def test_only_a_guarded_surface_is_refused_by_the_breaker(app, ledger, monkeypatch, is_guarded):
    """Its connections share the breaker of the database; those of others ask the store as ever."""
    native = registry.surface("native")
    monkeypatch.setattr(registry, "surface", lambda *_: replace(native, guarded=is_guarded))
    seats = [ConnectionApps(host=app).admit(greeting(ledger)) for _ in range(2)]
    for seat in seats:
        seat.call_for(Caller()).core.items.project()

    def down() -> None:
        raise StoreFull

    for _ in range(5):
        with pytest.raises(StoreFull):
            app.breaker.opening(down)
    for seat in [*seats, ConnectionApps(host=app).admit(greeting(ledger))]:
        if is_guarded:
            with pytest.raises(CircuitOpen):
                seat.call_for(Caller()).core.items.project()
        else:
            seat.call_for(Caller()).core.items.project()


@pytest.mark.e2e
def test_a_server_whose_starter_is_gone_serves_all_the_same(start, ledger):
    """Nobody reads the byte; the lock it was given is free when it listens."""
    meeting = find_rendezvous(ledger / ".counterpoint" / "ledger.db")
    ready, listens = os.pipe()
    os.close(ready)
    turn = os.open(meeting.file("starting"), os.O_RDWR | os.O_CREAT)
    words = ("--ready-fd", str(listens), "--turn-fd", str(turn))
    server = start("serve", *words, pass_fds=[listens, turn])
    os.close(listens)
    os.close(turn)
    waiting = threading.Event()
    while meeting.ask("status") is None:
        assert not waiting.wait(0.01)
        assert server.poll() is None
    assert end_server(meeting.database)["pid"] == server.pid


@pytest.mark.e2e
def test_a_server_has_ended_also_where_another_takes_its_place_at_once(start, ledger, monkeypatch):
    monkeypatch.setattr(meeting_module, "PATIENCE", 3.0)
    meeting = find_rendezvous(ledger / ".counterpoint" / "ledger.db")
    server, waiting, is_over = start("serve"), threading.Event(), threading.Event()
    while meeting.ask("status") is None:
        assert not waiting.wait(0.01)
        assert server.poll() is None

    def wait_for_its_place() -> None:
        with meeting.file("lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert is_over.wait(60)

    next_server = threading.Thread(target=wait_for_its_place)
    next_server.start()
    assert end_server(meeting.database)["pid"] == server.pid
    is_over.set()
    next_server.join()


def test_a_server_that_does_not_leave_is_named(ledger, monkeypatch):
    """The process is told, for the command ends none by force."""
    monkeypatch.setattr(meeting_module, "PATIENCE", 0.2)
    meeting = find_rendezvous(ledger / ".counterpoint" / "ledger.db")
    listener = meeting.listen()
    listener.setblocking(True)

    def answer() -> None:
        to, _ = listener.accept()
        to.recv(1000)
        to.sendall(b'{"ok":true,"pid":77,"version":"0","clients":0}\n')
        to.close()

    answering = threading.Thread(target=answer)
    answering.start()
    with meeting.turn("lock"), pytest.raises(Unavailable, match="77"):
        end_server(meeting.database)
    answering.join()
    listener.close()
