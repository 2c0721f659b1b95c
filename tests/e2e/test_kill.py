"""Nothing that was answered is lost, however often and wherever a process is killed."""

from __future__ import annotations

import collections
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App, open_app
from counterpoint.core.model.journal import Outcome, Record, Reply, StateEntry
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.kernel import canonical
from fakes.long_forms import draw

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.faults,
    pytest.mark.durable,
    pytest.mark.slow,
    pytest.mark.timeout(300),
]

WRITERS = ("ada", "bob", "cyd", "dan")
CHECKED_EVERY = 20
FRESH_EVERY = 10
PATIENCE = 60.0


class Nursery:
    """Starts and kills writers, and keeps what each has asked and was answered."""

    def __init__(self, program: Path) -> None:
        """Start the program that forks them."""
        self.process = subprocess.Popen(
            [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        self._kept = b""
        self.lives: collections.Counter[str] = collections.Counter()
        self.asked: dict[str, dict[str, Any]] = {}
        self.answered: dict[str, Any] = {}
        self.last: dict[str, list[str]] = {name: [] for name in WRITERS}
        self.repeated = 0
        self._ended: dict[tuple[str, int], int] = {}

    def start(self, name: str, folder: Path, db: Path, *, stop: bool = False) -> None:
        """Start a writer's next life, which first does its last two writes again."""
        self.lives[name] += 1
        retry = [self.asked[key] for key in self.last[name][-2:]]
        place = {"folder": str(folder), "db": str(db), "retry": retry, "stop": stop}
        self._tell({"do": "start", "name": name, "life": self.lives[name], **place})

    def end(self, name: str, how: str = "kill") -> int:
        """Kill a writer, or wait for it; answer its exit code when all it said is heard."""
        self._tell({"do": how, "name": name})
        end = time.monotonic() + PATIENCE
        while (name, self.lives[name]) not in self._ended:
            assert time.monotonic() < end, f"{name} does not end"
            self.listen(0.5, until=(name, self.lives[name]))
        return self._ended[name, self.lives[name]]

    def forget(self) -> None:
        """Begin a fresh database: nothing was asked of it yet."""
        self.asked, self.answered = {}, {}
        self.last = {name: [] for name in WRITERS}

    def listen(self, seconds: float, until: tuple[str, int] | None = None) -> None:
        """Hear what comes in for so long, or until a life has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and until not in self._ended:
            if not select.select([self._output], [], [], left)[0]:
                return
            self._hear(os.read(self._output.fileno(), 1 << 16))

    def listen_for_answer(self, seconds: float) -> None:
        """Hear what comes in until anything was answered, for so long at most."""
        end = time.monotonic() + seconds
        while not self.answered and time.monotonic() < end:
            self.listen(0.1)

    def close(self) -> None:
        """End the nursery and whoever lives."""
        self._input.close()
        while os.read(self._output.fileno(), 1 << 16):
            pass
        self.process.wait(PATIENCE)
        self._output.close()

    def _tell(self, command: dict[str, Any]) -> None:
        self._input.write(json.dumps(command).encode() + b"\n")
        self._input.flush()

    def _hear(self, piece: bytes) -> None:
        assert piece, "the nursery has ended"
        *lines, self._kept = (self._kept + piece).split(b"\n")
        for line in lines:
            self._note(json.loads(line))

    def _note(self, line: dict[str, Any]) -> None:
        assert "failed" not in line, line["failed"]
        name = line["name"]
        if "code" in line:
            self._ended[name, line["life"]] = line["code"]
        elif "asked" in line:
            asked = line["asked"]
            self.asked[asked["key"]] = asked
            if asked["key"] not in self.last[name]:
                self.last[name].append(asked["key"])
        elif line["key"] in self.answered:
            assert line["answer"] == self.answered[line["key"]], "a retry hears another answer"
            self.repeated += 1
        else:
            self.answered[line["key"]] = line["answer"]


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    """Give a nursery."""
    opened = Nursery(Path(__file__).parent / "programs" / "writers.py")
    yield opened
    opened.close()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nothing_answered_is_lost_by_kills_under_load(
    nursery, acts, folder, tmp_path, siege, assert_whole, is_long, record_property
):
    """Four writers at work, one killed in each round: every answered write is there, once."""
    chance = draw("kills under load")
    db = tmp_path / "siege.db"
    for name in WRITERS:
        nursery.start(name, folder, db)
    # Each look verifies all there is, which grows with the rounds.
    looked_at = CHECKED_EVERY * (10 if is_long else 1)
    for round_ in range(1, (1000 if is_long else 40) + 1):
        nursery.listen(chance.uniform(0, 0.25))
        name = chance.choice(WRITERS)
        assert nursery.end(name) == -9
        nursery.start(name, folder, db)
        if round_ % looked_at == 0:
            assert_answered_once(siege, nursery)
            assert_whole(siege)
    for name in WRITERS:
        nursery.end(name)
        nursery.start(name, folder, db, stop=True)
        assert nursery.end(name, "wait") == 0
    assert nursery.asked.keys() == nursery.answered.keys()
    assert_answered_once(siege, nursery)
    assert_whole(siege)
    record_property("acknowledged", len(nursery.answered))
    assert nursery.repeated > 5
    assert len(nursery.answered) > 40, "too little was asked for this to show anything"


def test_a_kill_while_a_database_is_made_leaves_one_that_opens(
    nursery, acts, folder, tmp_path, assert_whole, is_long
):
    chance = draw("kills at the making")
    found: collections.Counter[str] = collections.Counter()
    for round_ in range(100 if is_long else 10):
        db = tmp_path / f"fresh{round_}" / "siege.db"
        nursery.forget()
        for name in WRITERS[:3]:
            nursery.start(name, folder, db)
        # However slow the machine is, one of each ten was killed at work.
        nursery.listen_for_answer(PATIENCE if round_ % 10 == 9 else 0)
        nursery.listen(chance.uniform(0, 0.3))
        for name in WRITERS[:3]:
            assert nursery.end(name) == -9
        found["answered" if nursery.answered else "made" if db.exists() else "nothing"] += 1
        app = acts.open_shifted(str(folder), str(db))
        app.person()
        assert_answered_once(app, nursery)
        assert_whole(app)
        app.close()
    assert found["made"] + found["answered"] > 0


def without_label(answer: Any) -> Any:
    """Return an answer without the note that its texts are data, which is said anew each time."""
    return {name: part for name, part in answer.items() if name != "note"}


def assert_answered_once(app: App, nursery: Nursery) -> None:
    """Each answered write is there as answered; no write is there twice."""
    with app.store.reading(app.project) as view:
        replies = {reply.name: reply for reply in view.select(Reply)}
        titles = collections.Counter(item.title for item in view.select(Item))
        records = collections.Counter(record.body for record in view.select(Record))
        kept = {entry.name: entry for entry in view.select(StateEntry)}
        claims = {claim.item: claim.token for claim in view.select(Claim)}
        outcomes = collections.Counter(outcome.item for outcome in view.select(Outcome))
        ended = {item.id for item in view.select(Item, status="done")}
    for counts in (titles, records, outcomes):
        assert not {what for what, count in counts.items() if count > 1}
    assert set(claims.values()) <= {1}
    for key, answer in nursery.answered.items():
        assert canonical.load(replies[key].answer) == without_label(answer)
        stem, _, verb = key.rpartition("-")
        asked = nursery.asked[key]["with"]
        there = {
            "plan": titles[stem] == titles[f"Plan of {stem}"] == 1,
            "start": claims.get(asked.get("item")) == 1,
            "note": records[stem] == 1,
            "finish": outcomes[asked.get("item")] == 1 and asked.get("item") in ended,
            "remember": stem in kept and kept[stem].version == 1,
        }
        assert there[verb], (key, answer)


def load(client: Any, name: str, number: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give a server work of its own: what is called, under which key, with what."""
    for part in range(10):
        stem = f"{name}-{number}-{part}"
        yield "note", f"{stem}-note", {"kind": "finding", "text": stem}
        yield "remember", f"{stem}-remember", {"action": "set", "key": stem, "value": stem}
        yield "plan", f"{stem}-plan", {"markdown": f"# Plan of {stem}\n- [ ] {stem}\n"}


def in_flight(clients: dict[str, Any], number: int) -> dict[str, list[tuple[int, str]]]:
    """Send the work of one round to all servers without waiting for any answer."""
    sent: dict[str, list[tuple[int, str]]] = {name: [] for name in clients}
    for name, client in clients.items():
        for tool, key, arguments in load(client, name, number):
            call = {"name": tool, "arguments": {**arguments, "idempotency_key": key}}
            sent[name].append((client.send("tools/call", call), key))
    return sent


def hear(client: Any, wire: Any, waiting: dict[int, str], most: int = 1000) -> dict[str, Any]:
    """Read answers until all or enough have come, or the server is gone; by key."""
    heard: dict[str, Any] = {}
    while waiting and len(heard) < most:
        try:
            answer = client.read()
        except wire.Gone:
            break
        if answer.get("id") in waiting:
            assert not answer["result"].get("isError"), answer
            heard[waiting.pop(answer["id"])] = answer["result"]["structuredContent"]
    return heard


@pytest.mark.long
def test_nothing_a_real_server_answered_is_lost_when_it_is_killed(
    connect, wire, folder, assert_whole, is_long, record_property
):
    chance = draw("kills of servers")
    names = ("ada", "bob", "cyd")
    clients = {name: connect(folder, "--in-process", "--agent", name) for name in names}
    for client in clients.values():
        client.call("brief")
    answered: dict[str, Any] = {}
    unheard = 0
    for number in range(50 if is_long else 5):
        sent = in_flight(clients, number)
        victim = chance.choice(names)
        waiting = {name: dict(calls) for name, calls in sent.items()}
        answered |= hear(clients[victim], wire, waiting[victim], chance.randrange(25))
        clients[victim].kill()
        for name, client in clients.items():
            answered |= hear(client, wire, waiting[name])
        clients[victim] = connect(folder, "--in-process", "--agent", victim)
        for tool, key, arguments in load(clients[victim], victim, number):
            unheard += key not in answered
            again = clients[victim].call(tool, idempotency_key=key, **arguments)
            assert answered.setdefault(key, again) == again
    record_property("acknowledged", len(answered))
    assert 0 < unheard < len(answered) / 3
    app = open_app(folder, {})
    with app.store.reading(app.project) as view:
        titles = collections.Counter(item.title for item in view.select(Item, kind="task"))
        records = collections.Counter(record.body for record in view.select(Record))
        kept = {entry.name: entry.version for entry in view.select(StateEntry)}
        replies = {reply.name: canonical.load(reply.answer) for reply in view.select(Reply)}
    once = {key.rpartition("-")[0]: 1 for key in answered}
    assert titles == records == kept == once
    assert {key: replies[key] for key in answered} == {
        key: without_label(answer) for key, answer in answered.items()
    }
    assert_whole(app)
    app.close()
