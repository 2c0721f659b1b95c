"""A workflow by real clients over standard streams: an orchestrator, and subagents beside each other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from counterpoint.app import App

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

COMMAND = (sys.executable, "-m", "counterpoint", "mcp", "--surface", "workflow")
AGENTS = 3


def committed(folder: Path, path: str, text: str) -> None:
    """Write a file and commit it, as an agent in a tree of its own would."""
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text(text)
    for words in (("add", path), ("commit", "-q", "-m", path)):
        subprocess.run(["git", *words], cwd=folder, check=True, timeout=30)


def test_an_orchestrator_and_its_subagents_do_a_workflow(
    repository: Path, app: App, wire: ModuleType, assert_whole: Callable[[App], None]
) -> None:
    """Each in a process of its own and a worktree of its own; what each changed is told of it alone."""
    for number in range(AGENTS):
        tree = repository / "trees" / f"t{number}"
        words = ("worktree", "add", "-q", "-b", f"agent-{number}", str(tree))
        subprocess.run(["git", *words], cwd=repository, check=True, timeout=30)
    lead = wire.Client(repository, COMMAND)
    lead.greet("orchestrator")
    flow = lead.call("start_workflow", name="Ship", objective="It floats", profile="simple")
    asked = {"workflow_id": flow["workflow_id"], "number": 1, "name": "Build", "is_parallel": True}
    phase = lead.call("start_phase", **asked)["phase_id"]

    def work(number: int) -> dict[str, Any]:
        agent = wire.Client(repository, COMMAND)
        agent.greet(f"agent-{number}")
        task = agent.call(
            "start_task",
            workflow_id=flow["workflow_id"],
            phase_id=phase,
            caller_type="subagent",
            agent_name=f"agent-{number}",
            name=f"Part {number}",
            goal="A part",
            areas=["src"],
            repo_path=f"trees/t{number}",
        )["task_id"]
        committed(repository / "trees" / f"t{number}", f"src/part{number}.txt", "text")
        agent.call("log_milestone", task_id=task, message=f"part {number}", progress=90)
        ended = agent.call(
            "complete_task", task_id=task, status="success", outcome={"summary": "made"}
        )
        assert agent.close() == 0
        return ended

    with ThreadPoolExecutor(AGENTS) as pool:
        ended = list(pool.map(work, range(AGENTS)))
    for number, answer in enumerate(ended):
        assert answer["files_changed"]["added"] == [f"src/part{number}.txt"]
        assert answer["verification"]["scope_match"] is True
    context = lead.call(
        "get_context",
        workflow_id=flow["workflow_id"],
        include=["phase_summary", "tasks", "milestones", "blockers"],
    )
    assert context["phase_summary"][0]["tasks"]["completed"] == AGENTS
    assert context["milestones_count"] == AGENTS
    assert {task["agent_name"] for task in context["tasks"]} == {"agent-0", "agent-1", "agent-2"}
    assert lead.call("complete_phase", phase_id=phase, status="completed")["warnings"] == []
    done = lead.call(
        "complete_workflow", workflow_id=flow["workflow_id"], status="completed", summary="afloat"
    )
    assert (done["metrics"]["total_tasks"], done["metrics"]["files_changed"]) == (AGENTS, AGENTS)
    assert lead.close() == 0
    assert_whole(app)
