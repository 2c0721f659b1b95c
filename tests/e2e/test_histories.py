"""Random histories of agents that nothing tells apart by name, some of which are killed, held to what was acknowledged."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from counterpoint.app import App, open_app
from counterpoint.core.model.journal import Outcome, Record
from counterpoint.protocol.rendezvous import find_rendezvous
from fakes.callers import CLIENT
from fakes.long_forms import draw

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(900)]

AGENTS = 4
STEPS = 14
LONG_STEPS = 400
BELOW = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""An agent's process, which starts what its configuration says."""
UNKNOWN = -32603
"""What a relay answers of a call whose server died: it may have been done or not."""


@dataclass(slots=True, kw_only=True)
class Agent:
    """One of many of the same name: what it does is drawn, and what it was answered is kept.

    thread: what it names in its calls, as Codex does. taken: its claims, by item and token. ended, noted: what was acknowledged.
    """

    wire: ModuleType
    folder: Path
    thread: str
    draw: Random
    client: Any = None
    turn: int = 0
    held: dict[str, int] = field(default_factory=dict)
    taken: list[tuple[str, int]] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)
    noted: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Start its process, and shake hands."""
        words = (sys.executable, "-c", BELOW, *self.wire.SERVER)
        self.client = self.wire.Client(self.folder, words, start_new_session=True)
        self.client.greet(CLIENT)

    def die(self) -> None:
        """Be killed with all it has started, and be started again in the same conversation."""
        os.killpg(self.client.process.pid, signal.SIGKILL)
        self.client.close()
        self.begin()

    def call(self, tool: str, **arguments: Any) -> tuple[bool, dict[str, Any]]:
        """Call a tool until it is known what came of it; what is repeated is safe to repeat."""
        while True:
            self.turn += 1
            meta = {"progressToken": self.turn, "threadId": self.thread}
            params = {"name": tool, "arguments": arguments, "_meta": meta}
            number = self.client.send("tools/call", params)
            answer = self.client.read()
            while answer.get("id") != number:
                answer = self.client.read()
            if "result" in answer:
                result = answer["result"]
                return not result.get("isError"), result["structuredContent"]
            assert answer["error"]["code"] == UNKNOWN, answer

    def step(self, items: list[str]) -> None:
        """Do one thing that is drawn."""
        match self.draw.choice(("take", "take", "finish", "finish", "note", "note", "want", "die")):
            case "take":
                self.keep(self.call("next", claim=True, idempotency_key=f"take-{self.turn}"))
            case "want":
                # What another has is refused; what is one's own is renewed under the same number.
                self.keep(self.call("start", id=self.draw.choice(items)))
            case "finish" if self.held:
                item, token = self.held.popitem()
                done = {"outcome": "done", "summary": f"by {self.thread}"}
                is_done, answer = self.call("finish", id=item, token=token, **done)
                assert is_done, answer
                self.ended.append((item, token))
            case "note":
                # All of them count from one: what tells the keys apart is whose they are.
                key = f"note-{self.draw.randint(1, len(self.noted) + 1)}"
                said = {"kind": "comment", "text": f"{self.thread} {key}", "idempotency_key": key}
                is_done, answer = self.call("note", **said)
                assert is_done, answer
                assert self.noted.setdefault(key, answer["record"]["id"]) == answer["record"]["id"]
            case "die":
                self.die()
            case _:
                pass

    def keep(self, heard: tuple[bool, dict[str, Any]]) -> None:
        """Remember a claim that was acknowledged."""
        is_done, answer = heard
        if is_done and "claim" in answer:
            claim = answer["claim"]
            if self.held.setdefault(claim["item"], claim["token"]) == claim["token"]:
                self.taken.append((claim["item"], claim["token"]))
        elif not is_done:
            assert answer["error"] in {"already_claimed", "not_ready", "illegal_move"}, answer


@pytest.fixture
def crowd(repository: Path, wire: ModuleType) -> Iterator[list[Agent]]:
    """Give agents of one name, each in a conversation of its own."""
    made: list[Agent] = []
    for one in range(AGENTS):
        drawn = draw(f"history of {one}")
        made.append(Agent(wire=wire, folder=repository, thread=f"thread {one}", draw=drawn))
    for one in made:
        one.begin()
    yield made
    for one in made:
        one.client.close()


def test_in_a_random_history_each_claim_has_one_holder_and_what_was_told_is_there_once(
    crowd: list[Agent],
    repository: Path,
    is_long: bool,
    record_property: Callable[[str, object], None],
) -> None:
    """Agents and the server are killed on the way; COUNTERPOINT_SEED draws another history."""
    steps = LONG_STEPS if is_long else STEPS
    lines = "".join(f"- [ ] Tree {number}\n" for number in range(steps))
    plan = crowd[0].call("plan", markdown=f"# Orchard\n{lines}", idempotency_key="plan")[1]
    items = [f"demo-{number}" for number in range(2, steps + 2)]
    assert plan["count"] == steps + 1
    place = find_rendezvous(repository / ".counterpoint" / "ledger.db")

    def live(agent: Agent) -> None:
        for step in range(steps):
            if (
                agent is crowd[0]
                and step % (steps // 2) == steps // 4
                and (told := place.ask("status"))
            ):
                os.kill(told["pid"], signal.SIGKILL)
            agent.step(items)

    with ThreadPoolExecutor(AGENTS) as pool:
        for done in [pool.submit(live, agent) for agent in crowd]:
            done.result()
    app = open_app(repository, {})
    record_property("acknowledged", sum(len(one.ended) + len(one.noted) for one in crowd))
    check(app, crowd)
    app.close()


def check(app: App, crowd: list[Agent]) -> None:
    """Hold what the agents were told to what the ledger has."""
    holders: dict[tuple[str, int], str] = {}
    for agent in crowd:
        for claim in agent.taken:
            assert holders.setdefault(claim, agent.thread) == agent.thread, claim
    with app.store.reading(app.project) as view:
        outcomes = {(one.item, one.token): one.summary for one in view.select(Outcome)}
        notes = Counter(one.body for one in view.select(Record, kind="comment"))
    ended = Counter(claim for agent in crowd for claim in agent.ended)
    assert set(ended.values()) <= {1}
    assert outcomes == {claim: f"by {agent.thread}" for agent in crowd for claim in agent.ended}
    assert notes == {f"{one.thread} {key}": 1 for one in crowd for key in one.noted}
    assert len({name for one in crowd for name in one.noted.values()}) == len(notes)
    assert app.person().audit.verify().sound
