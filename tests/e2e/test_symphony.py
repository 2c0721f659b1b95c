"""A board by real clients over standard streams, started with the flags of the dialect."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders import AGENT_PROCESS
from counterpoint.app import App
from counterpoint.core.model.filters import Edit

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

COMMAND = (sys.executable, "-m", "counterpoint", "mcp", "--surface", "symphony")


def names_of(client: Any) -> list[str]:
    """Answer the names that a client is told."""
    return [tool["name"] for tool in client.ask("tools/list")["tools"]]


def test_a_worker_and_a_judge_each_with_their_own_tools(
    repository: Path, app: App, wire: ModuleType, assert_whole: Callable[[App], None]
) -> None:
    """The flags bind issue, role, run and scope; what is out of scope is refused in words."""
    intake = wire.Client(repository, (*AGENT_PROCESS, *COMMAND, "--agent-type", "intake"))
    intake.greet("intake")
    made = intake.call("create_issue", title="Make it float", labels=["phase:ready"])
    app.person().items.edit(made["id"], Edit(status="open"))
    bound = ("--issue-id", made["identifier"], "--run-id", "run-7")
    worker = wire.Client(repository, (*AGENT_PROCESS, *COMMAND, "--agent-type", "worker", *bound))
    worker.greet("worker")
    assert "approve_pr" not in names_of(worker)
    with pytest.raises(wire.Refused, match="PERMISSION_DENIED"):
        worker.call("approve_pr")
    worker.call("add_finding", category="test_result", summary="All pass")
    told = worker.call("get_issue")
    assert (told["status"], told["findings"][0]["run"]) == ("in_progress", "run-7")
    for begins in (told, worker.call("get_issue_status")):
        assert next(iter(begins)) == "continue"
        (begun,) = begins["continue"]["issues"]
        assert (begun["identifier"], begun["left"]["text"]) == (made["identifier"], "All pass")
    worker.call("update_issue_status", status="review", reason="It floats")
    scope = repository / "tools.json"
    scope.write_text('["get_issue_status", "update_issue_status"]')
    narrowed = ("--agent-type", "judge", "--tool-scope-file", "tools.json", *bound)
    judge = wire.Client(repository, (*AGENT_PROCESS, *COMMAND, *narrowed))
    judge.greet("judge")
    assert names_of(judge) == ["get_issue_status", "update_issue_status"]
    assert "continue" not in judge.call("get_issue_status")
    assert judge.call("update_issue_status", status="todo", reason="Mend it")["status"] == "todo"
    with pytest.raises(wire.Refused, match="PERMISSION_DENIED"):
        judge.call("add_finding", category="bug", summary="x")
    for client in (intake, worker, judge):
        client.close()
    assert_whole(app)
