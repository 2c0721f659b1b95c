"""Real agents who speak foundry: a spec that one makes and works on, and unattended runs to their end."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.alike,
    pytest.mark.parametrize("bare", ["claude", "codex"], indirect=True),
]

PAGE = (Path(__file__).parents[2] / "docs" / "foundry.md").read_text("utf-8")
FENCED = re.MULTILINE | re.DOTALL
CHECK = "test -s {file}"
ABOUT = ("task_id", "phase_id", "gate_attempt_id")
"""What of a step its report names."""

Talk = Generator[Any, Any, str]
"""What a model says in one conversation: calls, each of which gives back what was heard of it, and the last words."""
Ask = Callable[..., Any]
Run = Callable[..., str]


@pytest.fixture
def foundry(bare: Any, run: Run) -> Any:
    """Give each agent in turn, configured as the page says."""
    if bare.name == "codex":
        (bare.servers,) = re.findall(r"^```toml\n(\[mcp_servers\..*?)^```$", PAGE, FENCED)
    else:
        run(bare, *said_of("claude mcp add"))
    return bare


def said_of(words: str) -> list[str]:
    """Answer the one command line of the page that begins with some words."""
    (line,) = re.findall(rf"^{re.escape(words)} .*$", PAGE, re.MULTILINE)
    return shlex.split(line)


@pytest.fixture
def use(scripted: ModuleType) -> Callable[..., Any]:
    """Answer what makes a call of the model of one action."""

    def make(tool: str, action: str, **given: Any) -> Any:
        return scripted.Use(tool=tool, arguments={"action": action, **given})

    return make


def talking(talk: Callable[[], Talk]) -> Callable[[list[Any]], Any]:
    """Answer the script of a conversation, which begins anew for an agent that has heard nothing yet."""
    said: list[Any] = []
    talks: list[Talk] = []

    def script(heard: list[Any]) -> Any:
        if not heard:
            said[:], talks[:] = [], [talk()]
        if len(heard) == len(said):
            try:
                said.append(talks[0].send(heard[-1] if heard else None))
            except StopIteration as end:
                said.append(end.value)
        return said[len(heard)]

    return script


def begun(use: Any) -> Generator[Any, Any, str]:
    """Make a spec without phases; answer its id."""
    plan = (yield use("plan", "create", name="Harbour")).answer["data"]["plan_path"]
    given = {"name": "Harbour", "plan_path": plan, "plan_review_path": plan}
    return (yield use("authoring", "spec-create", **given)).answer["data"]["spec_id"]


def test_an_agent_makes_a_spec_and_does_a_task_of_it(
    foundry: Any, scripted: ModuleType, use: Any, ask: Ask
) -> None:
    """What it did is seen by the commands of people, under its name, and its journal by itself."""
    told: dict[str, Any] = {}

    def talk() -> Talk:
        spec = told["spec"] = yield from begun(use)
        tasks = [{"title": "Build a pier", "type": "task", "description": "Of wood."}]
        yield use(
            "authoring", "phase-add-bulk", spec_id=spec, phase={"title": "Piers"}, tasks=tasks
        )
        ready = (yield use("task", "prepare", spec_id=spec)).answer["data"]
        about = {"spec_id": spec, "task_id": ready["task_id"]}
        yield use("task", "start", **about)
        yield use("task", "complete", **about, completion_note="The pier stands.")
        told["journal"] = (yield use("journal", "list", spec_id=spec)).answer["data"]
        told["progress"] = (yield use("task", "progress", spec_id=spec)).answer["data"]
        return "It is done."

    with scripted.Model(talking(talk)) as model:
        said = foundry.converse(model.url)
    assert (model.faults, "It is done." in said) == ([], True)
    assert "The pier stands." in json.dumps(told["journal"])
    assert told["progress"]["completed_tasks"] == 1
    spec = told["spec"]
    assert ask(foundry, "show", spec)["item"]["title"] == "Harbour"
    task = ask(foundry, "show", f"{spec}/task-1-1")["item"]
    assert (task["title"], task["status"]) == ("Build a pier", "done")
    assert task["id"] in {one["id"] for one in ask(foundry, "list", "--status", "done")["items"]}
    by_agents = [one for one in ask(foundry, "log")["entries"] if one["actor"]["kind"] == "agent"]
    done = [one["action"] for one in by_agents]
    # What foundry keeps with each of the two is a part of its entry.
    assert done[-2:] == ["task.started", "task.finished"]


def phase(number: int, file: str) -> dict[str, Any]:
    """Answer what adds a phase: a task that writes a file, and a verification of that."""
    said = {"title": f"Write {file}", "description": "A line is enough."}
    written = {**said, "type": "task", "file_path": file}
    check = {"verification_type": "run-tests", "command": CHECK.format(file=file)}
    verified = {"title": f"See {file}", "type": "verify", **check}
    return {"phase": {"title": f"Phase {number}"}, "tasks": [written, verified]}


@pytest.fixture
def spec(foundry: Any, scripted: ModuleType, use: Any, run: Run) -> str:
    """A spec of two phases that an agent has made; a person lets its commands be run."""
    made: list[str] = []
    files = ("pier.txt", "quay.txt")

    def talk() -> Talk:
        made.append((yield from begun(use)))
        for number, file in enumerate(files, 1):
            yield use("authoring", "phase-add-bulk", spec_id=made[0], **phase(number, file))
        return "It is planned."

    with scripted.Model(talking(talk)) as model:
        foundry.converse(model.url)
    assert model.faults == []
    for file in files:
        run(foundry, "counterpoint", "trust", "--allow", CHECK.format(file=file))
    return made[0]


class Unattended:
    """A model that carries on an unattended run, as its prompt and the instructions of its steps say."""

    def __init__(self, agent: Any, scripted: ModuleType, use: Any) -> None:
        self.agent = agent
        self.scripted = scripted
        self.use = use
        self.model: Any = None
        self.roles: list[str] = []

    def talk(self) -> Talk:
        """Do steps until a signal says to stop."""
        found = re.search(r"Run: (\w+)\.", json.dumps(self.model.requests[-1]))
        assert found is not None, "the prompt names no run"
        run = {"session_id": found[1]}
        told = yield self.use("server", "capabilities")
        self.roles.append(told.answer["data"]["runtime"]["autonomy"]["security"]["role"])
        told = (yield self.use("task", "session-step", command="next", **run)).answer["data"]
        if told.get("error_code") == "STEP_RESULT_REQUIRED":
            told = (yield self.use("task", "session-step", command="replay", **run)).answer["data"]
        while told["loop_signal"] is None:
            step = told["next_step"]
            more = yield from self._does(run, told["spec_id"], step)
            result = {name: step[name] for name in ABOUT if step[name]}
            result |= {"step_id": step["step_id"], "step_type": step["type"], **more}
            result |= {"outcome": "success", "step_proof": step["step_proof"]}
            given = {**run, "command": "next", "last_step_result": result}
            told = (yield self.use("task", "session-step", **given)).answer["data"]
        return f"The signal is {told['loop_signal']}."

    def _does(
        self, run: dict[str, str], spec: str, step: dict[str, Any]
    ) -> Generator[Any, Any, dict[str, Any]]:
        """Do what a step says; answer what its report has besides."""
        about = {**run, "spec_id": spec}
        if step["type"] == "implement_task":
            task = {**about, "task_id": step["task_id"]}
            ready = (yield self.use("task", "prepare", **task)).answer["data"]
            yield self._commits(ready["task_data"]["metadata"]["file_path"])
            yield self.use("task", "complete", **task, completion_note="It is written.")
        elif "execute" in {one["action"] for one in step["instructions"]}:
            asked = {**about, "verify_id": step["task_id"], "step_id": step["step_id"]}
            ran = (yield self.use("verification", "execute", **asked)).answer["data"]
            return {"verification_receipt": ran["receipt"]}
        elif step["type"] == "run_fidelity_gate":
            asked = {**about, "phase_id": step["phase_id"], "step_id": step["step_id"]}
            yield self.use("review", "fidelity-gate", **asked)
        return {}

    def _commits(self, file: str) -> Any:
        words = f"echo it > {file} && git add {file} && git commit -qm {file}"
        tool, given = {
            "claude": ("Bash", {"command": words}),
            "codex": ("exec_command", {"cmd": words}),
        }[self.agent.name]
        return self.scripted.Use(tool=tool, arguments=given, is_ours=False)


@pytest.fixture
def unattended(foundry: Any, spec: str, scripted: ModuleType, use: Any) -> Iterator[Unattended]:
    """A model for unattended runs, which agents ask from now on."""
    del spec
    made = Unattended(foundry, scripted, use)
    with scripted.Model(talking(made.talk)) as model:
        made.model = model
        foundry.configure(model.url)
        yield made


def test_a_supervised_agent_works_a_spec_to_its_end(
    foundry: Any, spec: str, unattended: Unattended, run: Run, ask: Ask
) -> None:
    """An agent with an empty context for each phase; every gate is opened by the built-in reviewer."""
    words = said_of(f"counterpoint supervise SPEC -- {foundry.name}")
    words[words.index("SPEC") : words.index("--")] = [spec, "--json"]
    said = run(foundry, *words)
    events = [json.loads(line) for line in said.splitlines()]
    assert unattended.model.faults == []
    # One for each phase, and one that hears that all are done.
    assert [one["event"] for one in events].count("round.started") == 3
    assert (events[-1]["because"], events[-1]["tasks"]) == (
        "spec_complete",
        {"done": 6, "total": 6},
    )
    assert unattended.roles == ["autonomy_runner"] * 3
    assert ask(foundry, "audit", "verify")["sound"]
