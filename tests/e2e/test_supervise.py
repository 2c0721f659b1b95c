"""Unattended runs under their supervisor: real agents, git and servers, and what ends any of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.identity import Succession
from counterpoint.core.model.runs import EventFilter
from counterpoint.core.model.runs import Run as RunRow
from fakes.supervised import AGENT, Told

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(180)]

SPEC = "harbour-2026-01-02-001"
PATIENCE = 60.0
VERIFY = {"type": "verify", "verification_type": "run-tests", "command": "test -s pier-1.txt"}

Run = Callable[..., Told]


def _leaf(name: str, **more: Any) -> Draft:
    return Draft(kind="task", title=name, name=name, aliases=(("node", f"{SPEC}/{name}"),), **more)


def _phase(number: int, *children: Draft) -> Draft:
    name = f"phase-{number}"
    return Draft(
        kind="phase",
        title=name,
        name=name,
        aliases=(("node", f"{SPEC}/{name}"),),
        children=children,
    )


@pytest.fixture
def spec(where: str, repository: Path, counterpoint: Callable[..., Any], app: App) -> str:
    """A spec of two phases: two tasks and a verification, which may be run here; and one task, without one."""
    del where
    tasks = [_leaf(f"task-1-{n}", areas=(f"pier-{n}.txt",)) for n in (1, 2)]
    verify = _leaf("verify-1-1", needs=("task-1-1",), attributes=VERIFY)
    first, second = _phase(1, *tasks, verify), _phase(2, _leaf("task-2-1", areas=("quay.txt",)))
    root = Draft(
        kind="spec",
        title="Harbour",
        lifecycle="declared",
        aliases=(("spec", SPEC),),
        children=(first, second),
    )
    app.person().plans.create(root)
    said = counterpoint("trust", "--allow", VERIFY["command"], cwd=repository)
    assert said.returncode == 0, said.stderr
    return SPEC


@pytest.fixture
def supervise(repository: Path, counterpoint: Callable[..., Any], spec: str) -> Run:
    """Run a supervisor to its end."""

    def run(*words: str, agent: tuple[str, ...] = AGENT) -> Told:
        said = counterpoint("supervise", spec, "--json", *words, "--", *agent, cwd=repository)
        return Told(said.returncode, said.stdout, said.stderr)

    return run


class Under:
    """A supervisor that is under way."""

    def __init__(self, folder: Path, *agent: str) -> None:
        """Start it, as the leader of a group of its own, as a terminal would."""
        words = ("supervise", SPEC, "--json", "--verbose", "--", *agent)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "counterpoint", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def says(self, words: str) -> None:
        """Wait until it, or its agent, has said something."""
        assert self.process.stderr is not None
        heard = ""
        while words not in heard:
            line = self.process.stderr.readline()
            assert line, heard
            heard += line

    def ends(self) -> Told:
        """Wait for its end; answer what it has told."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return Told(self.process.returncode, out, err)


@pytest.fixture
def under(repository: Path, spec: str) -> Iterator[Callable[..., Under]]:
    """Start supervisors, which end with the test."""
    del spec
    started: list[Under] = []

    def start(*oddity: str) -> Under:
        started.append(Under(repository, *AGENT, *oddity))
        return started[-1]

    yield start
    for one in started:
        with suppress(ProcessLookupError):
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.communicate()


def _approve(counterpoint: Callable[..., Any], folder: Path, phase: str) -> None:
    said = counterpoint("approve", f"{SPEC}/{phase}", cwd=folder)
    assert said.returncode == 0, said.stderr


@pytest.mark.long
@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_a_spec_is_worked_to_its_end_with_one_person_asked(
    supervise: Run,
    counterpoint: Callable[..., Any],
    repository: Path,
    app: App,
    git: Callable[..., str],
) -> None:
    """An agent for each phase; where a phase has no verification a person is asked, and answers with one command."""
    told = supervise()
    assert (told.code, told.last["reason"]) == (1, "gate_review_required"), told.err
    assert told.rounds == 2
    assert any(f"counterpoint approve {SPEC}/phase-2" in line for line in told.last["advice"])
    for words, refusals in (((), 0), (("--resume",), 1)):
        # Nobody is started on a gate that is closed, whoever says that it was seen to.
        again = supervise(*words)
        assert (again.code, again.rounds) == (1, 0)
        assert again.last["reason"] == "gate_review_required"
        assert sum(one["event"] == "refused" for one in again.events) == refusals
    _approve(counterpoint, repository, "phase-2")
    ended = supervise("--resume")
    assert (ended.code, ended.last["because"]) == (0, "spec_complete"), ended.last
    assert ended.last["tasks"] == {"done": 4, "total": 4}
    assert ended.last["session"] == told.last["session"]
    assert git(repository, "log", "--format=%s").split() == [
        "task-2-1",
        "task-1-2",
        "task-1-1",
        "first",
    ]
    assert supervise().code == 0
    person = app.person()
    assert person.audit.verify().sound
    assert person.audit.rebuild().differences == ()


@pytest.mark.long
def test_no_agent_of_a_run_passes_for_the_person_who_has_called(supervise: Run, app: App) -> None:
    """Neither one that has connected nowhere, nor by the command line after another agent's work."""
    counterpoint = (sys.executable, "-m", "counterpoint")
    told = supervise(agent=(*counterpoint, "agent", "create", "eve"))
    assert (told.last["because"], "an agent cannot make a credential" in told.heard) == (
        "agent_failed",
        True,
    )
    both = f'"$@"; exec {" ".join((*counterpoint, "approve", f"{SPEC}/phase-2"))}'
    told = supervise(agent=("sh", "-c", both, "sh", *AGENT))
    assert told.last["reason"] == "gate_review_required"
    assert "signal paused_needs_attention" in told.heard
    assert "cannot judge" in told.heard
    phase = app.person().items.find(f"{SPEC}/phase-2")
    assert phase is not None
    assert phase.status != "done"


@pytest.mark.long
def test_who_supervises_again_is_who_supervised_before(supervise: Run, app: App) -> None:
    """So the agents of the second call judge nothing that those of the first have done."""
    for _ in range(2):
        assert supervise(agent=("true",)).last["because"] == "agent_left"
    entries = app.person().audit.log(limit=50)
    ran = [one for one in entries if one.action in {"run.started", "run.resumed"}]
    second, first = (one.actor.principal.id for one in ran if one.actor.principal)
    with app.store.reading(app.project) as view:
        found = {(one.former, one.principal) for one in view.select(Succession) if one.is_whole}
    assert {(first, second)} <= found
    assert first != second


def test_an_agent_that_leaves_is_not_followed_by_another(supervise: Run) -> None:
    """Only a complete phase is."""
    told = supervise(agent=(*AGENT, "--leaves", "task-1-2"))
    assert (told.code, told.last["because"], told.rounds) == (1, "agent_left", 1)


RESULT = {
    "type": "result",
    "subtype": "success",
    "total_cost_usd": 0.25,
    "result": "what it said",
    "usage": {"input_tokens": 1200, "output_tokens": 30},
}
COMPLETED = {"type": "turn.completed", "usage": {"input_tokens": 7, "output_tokens": 5}}


@pytest.mark.alike
@pytest.mark.parametrize(
    ("line", "cost", "tokens"), [(RESULT, 0.25, (1200, 30)), (COMPLETED, None, (7, 5))]
)
def test_what_a_round_took_is_read_from_the_stream_of_its_client(
    supervise: Run, app: App, line: dict[str, Any], cost: float | None, tokens: tuple[int, int]
) -> None:
    """Of Claude Code and of Codex; what the agent said stays out of the ledger."""
    told = supervise(agent=("printf", "%s\\n", "no event", json.dumps(line)))
    (ended,) = [event for event in told.events if event["event"] == "round.ended"]
    assert (ended["cost"], ended["tokens"]) == (cost, {"input": tokens[0], "output": tokens[1]})
    core = app.person()
    run = core.overview.find(RunRow, ended["run"])
    assert run is not None
    assert (run.input_tokens, run.output_tokens) == tokens
    assert run.item == core.overview.state().roots[0].id
    kept = core.runs.events(EventFilter(run=run.id), 9).events
    assert "what it said" not in str(kept)


@pytest.mark.long
def test_a_supervisor_that_is_killed_takes_its_agent_along_and_is_succeeded(
    under: Callable[..., Under], supervise: Run
) -> None:
    """At once, without a time of grace: by who comes next with the same spec, in the same session."""
    one = under("--stays", "task-1-2")
    one.says("staying")
    one.process.kill()
    told = supervise()
    assert told.last["reason"] == "gate_review_required", told.last
    events = [*one.ends().events, *told.events]
    assert len({event["session"] for event in events if event.get("session")}) == 1


@pytest.mark.long
def test_ctrl_c_ends_the_agent_and_pauses_the_run(
    under: Callable[..., Under], supervise: Run
) -> None:
    """And once more kills an agent that does not hear; the run goes on with the next call."""
    one = under("--sleeps", "task-1-2")
    one.says("sleeping")
    os.killpg(one.process.pid, signal.SIGINT)
    told = one.ends()
    assert (told.code, told.last["because"], told.last["signal"]) == (130, "asked", "paused")
    other = under("--stays", "task-1-2")
    other.says("staying")
    os.killpg(other.process.pid, signal.SIGINT)
    other.says("Once more kills it")
    os.killpg(other.process.pid, signal.SIGINT)
    assert other.ends().code == 130
    assert supervise().last["reason"] == "gate_review_required"


def test_one_supervises_a_spec_at_a_time(under: Callable[..., Under], supervise: Run) -> None:
    """The second is told which process does."""
    one = under("--stays", "task-1-1")
    one.says("staying")
    told = supervise()
    assert (told.code, told.last["error"]) == (1, "conflict")
    assert str(one.process.pid) in told.last["message"]
