"""Two Claude Code and one Codex carry a plan to its end, as `counterpoint init --hooks` leaves them; one is killed on the way.

The models are obedient agents: they know their user's word and what the tools answer, and nothing of the plan.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("clients"),
]

IS_LONG = bool(os.environ.get("COUNTERPOINT_LONG"))
TASKS_A_PHASE = 4 if IS_LONG else 2
PHASES = ("Walls", "Gates", "Towers")
TAKEOVER_SECONDS = 90.0
PATIENCE_SECONDS = 150.0
"""How long the fleet may take for any one thing; only a fault makes it so long."""
LOOK_AGAIN_SECONDS = 5.0
"""After how long without an entry an agent that has nothing to do asks again."""
CREDENTIAL = "COUNTERPOINT_CREDENTIAL"

Talk = Generator[Any, Any, str]
Answer = dict[str, Any]
Calls = Generator[Any, Any, Answer]


def plan() -> str:
    """Return a plan of three phases, the first of which is reviewed; each task says in words what its check looks for."""
    lines = ["# Harbour"]
    for number, phase in enumerate(PHASES):
        lines.append(f"## {phase}")
        lines += ["- review: yes"] if number == 0 else []
        for place in range(1, TASKS_A_PHASE + 1):
            file, text = f"{phase.lower()}/{place}.txt", f"{phase} {place} stands"
            lines += [
                f"- [ ] Build {phase.lower()} {place}",
                f"  - areas: {file}",
                f"  - accept: the file says: {text}",
                f"  - verify: grep -qx '{text}' {file}",
            ]
    return "\n".join(lines) + "\n"


class Entries:
    """The entries of a ledger as they land, read from `counterpoint log --follow`."""

    def __init__(self, agent: Any) -> None:
        self._entries: list[Answer] = []
        self._landed = threading.Condition()
        self._process = subprocess.Popen(
            ["counterpoint", "log", "--follow", "--json", "--limit", "100000"],
            cwd=agent.tree,
            env=agent.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._landed:
                self._entries.append(json.loads(line))
                self._landed.notify_all()

    def count(self) -> int:
        """Return how many there are."""
        with self._landed:
            return len(self._entries)

    def wait_beyond(self, count: int, seconds: float) -> None:
        """Wait until there are more than so many, or for so long."""
        with self._landed:
            self._landed.wait_for(lambda: len(self._entries) > count, seconds)

    def wait_for(self, is_wanted: Callable[[Answer], bool], about: str, number: int = 1) -> Answer:
        """Return the first entry that is wanted, or the so manieth, as soon as it is there."""

        def matches() -> list[Answer]:
            return [entry for entry in self._entries if is_wanted(entry)]

        with self._landed:
            is_there = self._landed.wait_for(lambda: len(matches()) >= number, PATIENCE_SECONDS)
            assert is_there, f"{about}: {[entry['action'] for entry in self._entries]}"
            return matches()[number - 1]

    def close(self) -> None:
        """Read no more."""
        self._process.terminate()
        self._process.wait(30)
        self._thread.join(30)
        assert self._process.stdout is not None
        self._process.stdout.close()


@dataclass(slots=True, kw_only=True)
class Worker:
    """An obedient agent: it asks what there is to do, does it, lets it be checked, and ends it.

    reviews: its user wants it to judge phases that are reviewed, and so to build nothing in them. holds_at: at its so manieth task it
    thinks for ever. released: when it may go on with any of it.
    """

    agent: Any
    entries: Entries
    scripted: ModuleType
    reviews: bool = False
    holds_at: int = 0
    is_holding: threading.Event = field(default_factory=threading.Event)
    has_leave: threading.Event = field(default_factory=threading.Event)
    is_over: threading.Event = field(default_factory=threading.Event)
    started: int = 0
    judged: set[str] = field(default_factory=set[str])

    def talk(self) -> Talk:
        """Work until nothing is left."""
        self.has_leave.wait(PATIENCE_SECONDS)
        yield from self._call("brief")
        while True:
            count = self.entries.count()
            answer = yield from (self._find_work() if self.reviews else self._take_work())
            if "claim" in answer:
                yield from self._work(answer)
            elif not (yield from self._help(answer)):
                if not any(
                    answer.get(name) for name in ("ready", "waiting", "active", "in_review")
                ):
                    return "Nothing is left."
                self.entries.wait_beyond(count, LOOK_AGAIN_SECONDS)

    def _call(self, tool: str, **arguments: Any) -> Calls:
        heard = yield self.scripted.Use(tool=tool, arguments=arguments)
        return heard.answer

    def _take_work(self) -> Calls:
        return (yield from self._call("next", claim=True))

    def _find_work(self) -> Calls:
        """Start the first task of a phase that nobody is to review."""
        answer = yield from self._call("next")
        for offer in answer["ready"]:
            phase = yield from self._call("show", id=offer["parent"])
            if not any(gate["kind"] == "review" for gate in phase.get("gates", [])):
                return (yield from self._call("start", id=offer["id"]))
        return answer

    def _work(self, begun: Answer) -> Generator[Any, Any, None]:
        """Do what a task says, and follow the calls that the answers name, to its end."""
        self.started += 1
        if self.started == self.holds_at:
            self.is_holding.set()
            self.is_over.wait(PATIENCE_SECONDS)
        item, follow = begun["item"], begun["next_call"]
        (file,) = item["areas"]
        (criterion,) = item["accept"]
        yield self._write(file, criterion["text"].partition(": ")[2])
        while follow:
            arguments = dict(follow["arguments"])
            if follow["tool"] in {"finish", "submit"}:
                arguments["summary"] = f"{file} is written."
            if follow["tool"] == "finish":
                arguments["met"] = [criterion["n"]]
            if follow["tool"] not in {"verify", "finish", "submit"}:
                return
            answer = yield from self._call(follow["tool"], **arguments)
            follow = answer.get("next_call")

    def _help(self, answer: Answer) -> Generator[Any, Any, bool]:
        """Judge or hand in what waits for it; return whether there was anything."""
        for phase in answer.get("in_review", []):
            if self.reviews and phase["id"] not in self.judged:
                self.judged.add(phase["id"])
                yield from self._judge(phase["id"])
                return True
        for phase in [] if self.reviews else answer.get("to_submit", []):
            yield from self._call("submit", id=phase["id"], summary="All of it is built.")
            return True
        return False

    def _judge(self, phase: str) -> Generator[Any, Any, None]:
        """Look at each file of a phase, and say what is so."""
        seen = yield from self._call("list", parent=phase)
        files: list[str] = []
        for item in seen["items"]:
            files += (yield from self._call("show", id=item["id"]))["areas"]
        words = shlex.join(["grep", "-c", "stands", *files])
        counts = re.findall(r"\.txt:(\d+)", (yield self._run(words)).text)
        stands = len(counts) == len(files) and set(counts) == {"1"}
        verdict = "approve" if stands else "reject"
        reason = f"{len(counts)} files stand: {stands}."
        yield from self._call("review", id=phase, verdict=verdict, reason=reason)

    def _write(self, file: str, text: str) -> Any:
        if self.agent.name == "codex":
            return self._run(f"mkdir -p {Path(file).parent} && echo '{text}' > {file}")
        given = {"file_path": str(self.agent.tree / file), "content": f"{text}\n"}
        return self.scripted.Use(tool="Write", arguments=given, is_ours=False)

    def _run(self, words: str) -> Any:
        tool, given = {
            "claude": ("Bash", {"command": words, "description": "Look"}),
            "codex": ("exec_command", {"cmd": words}),
        }[self.agent.name]
        return self.scripted.Use(tool=tool, arguments=given, is_ours=False)


def speak(talk: Callable[[], Talk]) -> Callable[[list[Any]], Any]:
    """Return the script of one conversation."""
    said: list[Any] = []
    talks: list[Talk] = []

    def script(heard: list[Any]) -> Any:
        if not talks:
            talks.append(talk())
        if len(heard) == len(said):
            try:
                said.append(talks[0].send(heard[-1] if heard else None))
            except StopIteration as end:
                said.append(end.value)
        return said[len(heard)]

    return script


@pytest.fixture
def entries(fleet: Any) -> Iterator[Entries]:
    """Give the entries of the fleet's ledger."""
    follower = Entries(fleet[0])
    yield follower
    follower.close()


def is_by(principal: str, action: str) -> Callable[[Answer], bool]:
    """Return what tells whether an entry says that somebody did something."""

    def is_wanted(entry: Answer) -> bool:
        actor = entry["actor"]["principal"] or {}
        return (entry["action"], actor.get("id")) == (action, principal)

    return is_wanted


def test_a_fleet_carries_a_plan_to_its_end_though_one_of_it_is_killed(
    fleet: Any, entries: Entries, scripted: ModuleType, run: Any, ask: Any
) -> None:
    """Another finishes the task of the killed one within 90 seconds, a third judges, and no hand is lent."""
    person = replace(fleet[0], environ=dict(fleet[0].environ))
    (person.tree / "PLAN.md").write_text(plan())
    run(person, "counterpoint", "plan", "PLAN.md")
    run(person, "counterpoint", "trust", "--allow", "grep -qx *")
    principals = dict(give_credentials(person, fleet, run))
    rae, ben, cody = (
        Worker(agent=agent, entries=entries, scripted=scripted, reviews=agent.name == "codex")
        for agent in fleet
    )
    rae.holds_at = 2
    rae.has_leave.set()
    with ExitStack() as stack:
        models = [
            stack.enter_context(scripted.Model(speak(worker.talk))) for worker in (rae, ben, cody)
        ]
        stack.callback(rae.is_over.set)
        # The first starts the server, which so has the settings of this test.
        first = rae.agent.start(models[0].url)
        entries.wait_for(is_by(principals["rae"], "task.started"), "rae took nothing")
        others = [ben.agent.start(models[1].url), cody.agent.start(models[2].url)]
        held = entries.wait_for(is_by(principals["rae"], "task.started"), "rae took no second", 2)
        ben.has_leave.set()
        cody.has_leave.set()
        assert rae.is_holding.wait(PATIENCE_SECONDS)
        os.killpg(first.pid, signal.SIGKILL)
        killed_at = monotonic()
        finished = entries.wait_for(
            lambda entry: (entry["action"], entry["subject"]) == ("task.finished", held["subject"]),
            "nobody finished the task of the killed one",
        )
        took = monotonic() - killed_at
        outputs = [process.communicate(timeout=PATIENCE_SECONDS)[0] for process in others]
    assert [model.faults for model in models] == [[], [], []]
    assert ["Nothing is left." in output for output in outputs] == [True, True], outputs
    assert (finished["actor"]["principal"]["id"], took < TAKEOVER_SECONDS) == (
        principals["ben"],
        True,
    )
    log = ask(person, "log", "--limit", "1000")["entries"]
    (approved,) = (entry for entry in log if entry["action"] == "item.approved")
    assert approved["actor"]["principal"]["id"] == principals["cody"]
    first_of_agents = next(place for place, entry in enumerate(log) if is_of_agent(entry))
    assert all(map(is_of_agent, log[first_of_agents:])), "a hand was lent"
    assert {entry["actor"]["principal"]["id"] for entry in log[first_of_agents:]} == {
        *principals.values()
    }
    done = {
        item["id"] for item in ask(person, "list", "--kind", "task", "--status", "done")["items"]
    }
    assert done == {entry["subject"] for entry in log if entry["action"] == "check.passed"}
    assert len(done) == len(PHASES) * TASKS_A_PHASE
    (whole,) = ask(person, "status")["roots"]
    assert (whole["status"], whole["progress"]) == ("done", {"done": len(PHASES)})
    assert ask(person, "audit", "verify")["sound"]


def is_of_agent(entry: Answer) -> bool:
    """Tell whether an agent did what an entry says."""
    return entry["actor"]["kind"] == "agent"


def give_credentials(person: Any, fleet: Any, run: Any) -> Iterator[tuple[str, str]]:
    """Give each of a fleet a credential; answer whom it is of, and the principal that it stands for."""
    for agent, name in zip(fleet, ("rae", "ben", "cody"), strict=True):
        created = json.loads(run(person, "counterpoint", "agent", "create", name, "--json"))
        agent.environ[CREDENTIAL] = created["credential"]
        yield name, created["id"]
