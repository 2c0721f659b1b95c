"""Real agents at work: Claude Code, Codex and Gemini CLI, with a model that says what a script says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders import let_run

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(180),
]

PLAN = "# Greeting\n- [ ] say hello"
LONG = """import os, pathlib, sys, threading
mark = pathlib.Path(sys.argv[1])
mark.with_suffix(".part").write_text(str(os.getpid()))
mark.with_suffix(".part").rename(mark)
threading.Event().wait(120)"""
"""A check that runs for longer than any test waits."""
TOOLS = {"brief", "plan", "next", "finish", "verify", "handoff"}
TASK = "demo-2"
NO_TOKEN = 999_999

Ask = Callable[..., Any]
Until = Callable[[Callable[[], Any], str], Any]


def finish(claim: dict[str, Any], **other: Any) -> dict[str, Any]:
    """Answer the arguments that end a task."""
    said = {"outcome": "done", "summary": "It says hello."}
    return {"id": claim["item"], "token": claim["token"], **said, **other}


def shown(model: Any) -> set[str]:
    """Answer which of our tools the first question to the model speaks of."""
    first, ours = model.requests[0], f"mcp__{model.server}"
    if "contents" in first:
        (declared,) = (one["functionDeclarations"] for one in first["tools"])
        return TOOLS & {one["name"].removeprefix(f"mcp_{model.server}_") for one in declared}
    words = json.dumps(first)
    inside = {
        tool["name"]
        for outer in first.get("tools", [])
        if outer.get("name", "").startswith(ours)
        for tool in outer.get("tools", [])
    }
    return {name for name in TOOLS if f"{ours}__{name}" in words or name in inside}


def serving(home: Path) -> list[int]:
    """Answer the processes with a home that an agent started to speak with us."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            settings = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended while we looked
        if f"HOME={home}".encode() in settings and b"mcp" in words:
            found.append(int(folder.name))
    return found


@pytest.mark.alike
def test_an_agent_sees_our_tools_in_its_first_question(agent: Any, scripted: ModuleType) -> None:
    with scripted.Model(lambda _parse: "nothing to do") as model:
        agent.converse(model.url)
    assert shown(model) == TOOLS
    assert model.reached == []


@pytest.mark.alike
def test_an_agent_that_does_not_wait_for_us_sees_our_tools_too(
    agent: Any, scripted: ModuleType
) -> None:
    """Codex begins after about a second unless it is told to wait; we are there before that."""
    settings = agent.tree / ".codex" / "config.toml"
    if agent.name == "codex":
        settings.write_text(settings.read_text().replace("required = true", "required = false"))
        assert "required = false" in settings.read_text()
    with scripted.Model(lambda _parse: "nothing to do") as model:
        agent.converse(model.url)
    assert shown(model) == TOOLS


def test_an_agent_does_a_task_from_plan_to_finish(
    agent: Any, scripted: ModuleType, ask: Ask
) -> None:
    """What the model called stands in the ledger, under the agent's name and client."""

    def script(heard: list[Any]) -> Any:
        match len(heard):
            case 0:
                return scripted.Use(tool="brief")
            case 1:
                return scripted.Use(tool="plan", arguments={"markdown": PLAN})
            case 2:
                return scripted.Use(tool="next", arguments={"claim": True})
            case 3:
                return scripted.Use(tool="finish", arguments=finish(heard[2].answer["claim"]))
            case _:
                return "It is done."

    with scripted.Model(script) as model:
        told = agent.converse(model.url)
    assert (model.faults, "It is done." in told) == ([], True)
    entries = [one for one in ask(agent, "log")["entries"] if one["actor"]["kind"] == "agent"]
    assert [one["action"] for one in entries] == ["plan.created", "task.started", "task.finished"]
    assert {one["actor"]["name"] for one in entries} == {agent.name}
    (session,) = {one["actor"]["session"] for one in entries}
    assert agent.client in json.dumps(ask(agent, "show", session))


@pytest.mark.alike
def test_a_refusal_reaches_the_model_with_what_to_do_next(
    agent: Any, scripted: ModuleType, ask: Ask
) -> None:
    """A call that is refused shows the model the code and the hint, and writes nothing."""

    def script(heard: list[Any]) -> Any:
        match len(heard):
            case 0:
                return scripted.Use(tool="plan", arguments={"markdown": PLAN})
            case 1:
                return scripted.Use(tool="next", arguments={"claim": True})
            case 2:
                wrong = finish(heard[1].answer["claim"], token=NO_TOKEN)
                return scripted.Use(tool="finish", arguments=wrong)
            case _:
                return "I was refused."

    with scripted.Model(script) as model:
        agent.converse(model.url)
    assert model.faults == []
    refusal = model.heard[2].text
    assert "invalid_input" in refusal
    assert "Pass the token that `start` answered; `brief` shows it where calls have" in refusal
    assert ask(agent, "show", TASK)["item"]["status"] == "active"


@pytest.mark.alike
@pytest.mark.parametrize("bare", ["claude", "codex"], indirect=True)
def test_an_agent_that_is_killed_and_goes_on_has_its_work_at_once(
    agent: Any, scripted: ModuleType, ask: Ask, until: Until
) -> None:
    """Claude Code with `--continue`, Codex with `resume`: another process, in the session of before, with its claim.

    Nobody waits for the time of grace: that is a minute, and the number of the claim is still the first.
    """
    was_killed = threading.Event()

    def script(heard: list[Any]) -> Any:
        match len(heard):
            case 0:
                return scripted.Use(tool="plan", arguments={"markdown": PLAN})
            case 1:
                return scripted.Use(tool="next", arguments={"claim": True})
            case _:
                was_killed.wait(30)
                return "I thought for long."

    with scripted.Model(script) as model:
        process = agent.start(model.url)
        until(lambda: len(model.heard) > 1, "nothing was claimed")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
        was_killed.set()
    assert model.faults == []

    def again(heard: list[Any]) -> Any:
        # What came before it was killed is told to the model again, as far as its client had kept it by then.
        said = [one.answer for one in heard if "{" in one.text]
        last = said[-1] if said else {}
        if "evidence" in last:
            return "It is done."
        if "continue" not in last:
            return scripted.Use(tool="brief")
        (begun,) = last["continue"]
        held = {"item": begun["id"], "token": begun["token"]}
        return scripted.Use(tool="finish", arguments=finish(held))

    with scripted.Model(again) as model:
        told = agent.converse(model.url, goes_on=True)
    assert (model.faults, "It is done." in told) == ([], True)
    entries = [one for one in ask(agent, "log")["entries"] if one["actor"]["kind"] == "agent"]
    assert [one["action"] for one in entries] == ["plan.created", "task.started", "task.finished"]
    assert len({one["actor"]["session"] for one in entries}) == 1
    assert len({one["actor"]["principal"]["id"] for one in entries}) == 2


# Gemini CLI without a terminal goes on after an interrupt until its tool has answered.
@pytest.mark.parametrize("bare", ["claude", "codex"], indirect=True)
def test_an_agent_that_is_interrupted_leaves_nothing_half_done(
    agent: Any, scripted: ModuleType, ask: Ask, until: Until, tmp_path: Path
) -> None:
    """SIGINT while a check runs: our process ends, the claim stays, the ledger verifies.

    The check ends too, for nobody waits for it, and leaves no receipt.
    """
    let_run(agent.tree, environ=agent.environ)
    mark = tmp_path / "running"
    command = [sys.executable, "-c", LONG, str(mark)]

    def script(heard: list[Any]) -> Any:
        match len(heard):
            case 0:
                return scripted.Use(tool="plan", arguments={"markdown": PLAN})
            case 1:
                return scripted.Use(tool="next", arguments={"claim": True})
            case 2:
                claim = heard[1].answer["claim"]
                given = {"id": claim["item"], "token": claim["token"], "command": command}
                return scripted.Use(tool="verify", arguments=given)
            case _:
                return "That was long."

    with scripted.Model(script) as model:
        process = agent.start(model.url)
        until(lambda: mark.exists() and mark.read_text(), "the check never ran")
        assert _runs(mark)
        assert serving(agent.home)
        os.kill(process.pid, signal.SIGINT)
        process.wait(timeout=30)
        until(lambda: not serving(agent.home), "our process outlived the agent")
        until(lambda: not _runs(mark), "the check outlived the agent")
    assert model.faults == []
    assert ask(agent, "audit", "verify")["sound"]
    left = ask(agent, "show", TASK)
    assert (left["item"]["status"], left["claim"]["state"]) == ("active", "live")
    assert left["receipts"] == []


def _runs(mark: Path) -> bool:
    """Tell whether a process has a path among its arguments: in a sandbox its own number means nothing here."""
    found = subprocess.run(["pgrep", "-f", "--", str(mark)], capture_output=True, check=False)
    return found.returncode == 0
