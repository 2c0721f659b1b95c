"""Server, relays and clients killed in turn under load: what was answered is there, once."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.model.journal import Outcome, Record, Reply, StateEntry
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.dialects.call import label_texts
from counterpoint.kernel import canonical
from fakes.long_forms import draw

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.slow]

PROGRAM = Path(__file__).parent / "programs" / "besieger.py"
NAMES = ("ada", "bob", "cyd", "dan")
KINDS = ("server", "server of any age", "relay", "client", "client and relay")
ROUNDS = 48
LONG_ROUNDS = 600
CHECKED_EVERY = 50
AGAIN = 6
"""Calls that the next life makes again: more than can have been under way."""
PATIENCE = 60.0
MARK = "COUNTERPOINT_SIEGE"
"""A variable that every process of the siege has."""


class Client:
    """An agent that is killed and begins anew, and what it has asked and was answered."""

    def __init__(self, name: str, folder: Path) -> None:
        """Start the first life."""
        self._name, self._folder = name, folder
        self.life = 0
        self.asked: dict[str, dict[str, Any]] = {}
        self.answered: dict[str, Any] = {}
        self.found: collections.Counter[str] = collections.Counter()
        self.start()

    def start(self, *, stop: bool = False) -> None:
        """Begin a life, which first makes the last calls again."""
        self.life += 1
        retry = list(self.asked.values())[-AGAIN:]
        told = {"name": self._name, "life": self.life, "retry": retry, "stop": stop}
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), json.dumps(told)],
            cwd=self._folder,
            env=os.environ
            | {
                MARK: str(self._folder),
                "COUNTERPOINT_AGENT": self._name,
                # As a client says which session of its own it goes on with.
                "CLAUDE_CODE_SESSION_ID": self._name,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self._kept = b""
        self.relay = 0
        """The pid of its relay; 0 while it has none that is known to live."""

    def kill(self, *, with_relay: bool) -> None:
        """Kill the client, with its relay or not; hear what it has said before."""
        if with_relay:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        assert self.end() == -signal.SIGKILL

    def end(self) -> int:
        """Hear all until the client has ended; answer its exit code."""
        end = time.monotonic() + PATIENCE
        while (
            select.select([self.output], [], [], max(0.0, end - time.monotonic()))[0]
            and self.hear()
        ):
            assert time.monotonic() < end, f"{self._name} does not end"
        self.output.close()
        self.relay = 0
        return self.process.wait(max(0.0, end - time.monotonic()))

    def hear(self) -> bool:
        """Take what the client says now; answer whether it may say more."""
        piece = os.read(self.output.fileno(), 1 << 16)
        *lines, self._kept = (self._kept + piece).split(b"\n")
        for line in lines:
            self._note(json.loads(line))
        return bool(piece)

    def _note(self, line: dict[str, Any]) -> None:
        assert "failed" not in line, line["failed"]
        if "relay" in line:
            self.relay = line["relay"]
        elif "repeated" in line:
            self.found[line["repeated"]] += 1
        elif "asked" in line:
            self.asked.setdefault(line["asked"]["key"], line["asked"])
        elif line["key"] in self.answered:
            assert line["answer"] == self.answered[line["key"]], "a repeat hears another answer"
            self.found["heard again"] += 1
        else:
            self.answered[line["key"]] = line["answer"]


class Siege:
    """The clients, the processes, and the chance that picks who is killed and when."""

    def __init__(self, folder: Path) -> None:
        """Start everybody."""
        self._folder = folder
        self._database = folder / ".counterpoint" / "ledger.db"
        self.chance = draw("siege")
        self.killed: collections.Counter[str] = collections.Counter()
        self.clients = {name: Client(name, folder) for name in NAMES}
        self.servers: set[int] = set()

    def listen(self, seconds: float, until: Callable[[], object] = lambda: False) -> None:
        """Hear everybody for so long, or until something is so, and look for a second server."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not until():
            outputs = {client.output: client for client in self.clients.values()}
            for output in select.select(outputs, [], [], min(left, 0.02))[0]:
                assert outputs[output].hear(), outputs[output].process.wait(PATIENCE)
            self.server()

    def server(self) -> int:
        """Answer the pid of the server that has the database open, or 0; there are never two."""
        having = [pid for pid in self.processes(b"serve") if self._has_open(pid)]
        # Of two that were seen one after the other, the first may have ended in between.
        alive = [pid for pid in having if len(having) == 1 or self._has_open(pid)]
        assert len(alive) <= 1, "two servers have one database open"
        self.servers.update(alive)
        return alive[0] if alive else 0

    def kill(self) -> None:
        """Kill one process with SIGKILL at a moment that nobody has chosen."""
        self.listen(self.chance.uniform(0, 0.25))
        what = self.chance.choice(KINDS)
        client = self.clients[self.chance.choice(NAMES)]
        if what == "server":
            self._kill_server(self.server)
        elif what == "server of any age":
            self._kill_server(lambda: next(self.processes(b"serve"), 0))
        elif what == "relay":
            self.listen(PATIENCE, until=lambda: client.relay)
            os.kill(client.relay, signal.SIGKILL)
            client.relay = 0
        else:
            client.kill(with_relay=what != "client")
            client.start()
        self.killed[what] += 1

    def _kill_server(self, find: Callable[[], int]) -> None:
        end, pid = time.monotonic() + PATIENCE, find()
        while not pid:
            assert time.monotonic() < end, "no server comes"
            self.listen(0.02)
            pid = find()
        os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """Let each client make its last calls, and leave."""
        for client in self.clients.values():
            client.kill(with_relay=True)
            client.start(stop=True)
            assert client.end() == 0
        end = time.monotonic() + PATIENCE
        while left := list(self.processes()):
            assert time.monotonic() < end, f"left behind: {left}"
            select.select([], [], [], 0.02)

    def close(self) -> None:
        """End whoever lives, whatever happened."""
        for client in self.clients.values():
            client.process.kill()
            client.process.wait(PATIENCE)
            client.output.close()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self, word: bytes = b"") -> Iterator[int]:
        """Give every process of the siege that lives, or those with a word in their call."""
        mark = f"{MARK}={self._folder}".encode()
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if word and word not in (place / "cmdline").read_bytes().split(b"\0"):
                    continue
                if mark in (place / "environ").read_bytes().split(b"\0"):
                    yield int(place.name)
            except OSError:
                continue

    def _has_open(self, pid: int) -> bool:
        for place in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                if place.readlink() == self._database:
                    return True
            except OSError:
                continue
        return False

    def assert_answered_once(self, app: App) -> None:
        """Each answered write is there as answered; no write is there twice, or was not asked."""
        asked, answered = self.asked, self.answered
        with app.store.reading(app.project) as view:
            replies = {str(reply.name): reply.answer for reply in view.select(Reply)}
            plans = collections.Counter(item.title for item in view.select(Item, kind="plan"))
            tasks = collections.Counter(item.title for item in view.select(Item, kind="task"))
            notes = collections.Counter(str(record.body) for record in view.select(Record))
            kept = {entry.name: entry for entry in view.select(StateEntry)}
            tokens = {claim.item: claim.token for claim in view.select(Claim)}
            outcomes = collections.Counter(outcome.item for outcome in view.select(Outcome))
            ended = {item.id for item in view.select(Item, kind="task", status="done")}
        for counts in (plans, tasks, notes, outcomes):
            assert not {what for what, count in counts.items() if count > 1}
        assert set(tokens.values()) <= {1}
        assert {entry.version for entry in kept.values()} <= {1}
        assert ended == outcomes.keys()
        for key, answer in answered.items():
            assert label_texts(canonical.load(replies[key])) == answer
            stem, _, tool = key.rpartition("-")
            item = asked[key]["arguments"].get("id")
            assert {
                "plan": plans[f"Plan of {stem}"] == tasks[stem] == 1,
                "note": notes[stem] == 1,
                "remember": stem in kept and canonical.load(kept[stem].value) == stem,
                "start": tokens.get(item) == 1,
                "finish": outcomes[item] == 1,
            }[tool], (key, answer)

    @property
    def asked(self) -> dict[str, dict[str, Any]]:
        """What was asked by everybody, by key."""
        return {k: v for client in self.clients.values() for k, v in client.asked.items()}

    @property
    def answered(self) -> dict[str, Any]:
        """What everybody was answered, by key."""
        return {k: v for client in self.clients.values() for k, v in client.answered.items()}


@pytest.fixture
def besieged(folder: Path) -> Iterator[Siege]:
    """Give four clients at work, each through its relay, on one server."""
    siege = Siege(folder)
    yield siege
    siege.close()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nothing_answered_is_lost_however_servers_relays_and_clients_are_killed(
    besieged: Siege,
    app: App,
    assert_whole: Callable[[App], None],
    record_property: Callable[[str, object], None],
    is_long: bool,
) -> None:
    """One of them is killed in each round; the others repeat what they may, and go on."""
    for round_ in range(1, (LONG_ROUNDS if is_long else ROUNDS) + 1):
        besieged.kill()
        if round_ % CHECKED_EVERY == 0:
            besieged.assert_answered_once(app)
            assert_whole(app)
    besieged.end()
    found = sum((client.found for client in besieged.clients.values()), collections.Counter[str]())
    for name, count in (besieged.killed + found).items():
        record_property(name, count)
    record_property("answered", len(besieged.answered))
    record_property("servers", len(besieged.servers))
    assert besieged.asked.keys() == besieged.answered.keys()
    besieged.assert_answered_once(app)
    assert_whole(app)
    assert set(found) >= {"relay_gone", "server_gone", "heard again"}
    assert set(besieged.killed) == set(KINDS)
    assert len(besieged.answered) > 50
