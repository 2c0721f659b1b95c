"""The agentic dialect in real processes: a session that goes through three hands."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from counterpoint.app import App

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

SURFACE = ("--surface", "agentic")
AGENTS = 16


def test_a_session_goes_through_three_hands(
    connect: Callable[..., Any],
    wire: ModuleType,
    repository: Path,
    app: App,
    assert_whole: Callable[[App], None],
) -> None:
    """Start, log, artifact, checkpoint, handoff; resumed by the next process; followed by the last."""
    phases = [{"name": "Design", "tasks": ["Draw"]}, {"name": "Build", "tasks": ["Code", "Test"]}]
    first = connect(repository, *SURFACE, "--agent", "opus")
    first.call("plan_create", title="Login", slug="login", phases=phases)
    first.call("plan_update_status", slug="login", status="active")
    started = first.call("session_start", agent_type="opus", plan_slug="login", context={"k": 1})
    session = started["session"]["session_id"]
    first.call("session_log", session_id=session, message="drew it", type="decision")
    first.call("session_artifact", session_id=session, path="readme.txt", action="modified")
    first.call("phase_add_checkpoint", plan_slug="login", phase_order=1, note="drawn")
    first.call(
        "task_update", plan_slug="login", phase_order=1, task_identifier="Draw", status="completed"
    )
    first.call("session_handoff", session_id=session, summary="drawn", next_steps=["Build"])
    assert first.close() == 0

    second = connect(repository, *SURFACE, "--agent", "sonnet")
    assert second.call("session_list", status="paused")["sessions"][0]["session_id"] == session
    taken = second.call("session_resume", session_id=session)
    assert taken["handoff_context"]["next_steps"] == ["Build"]
    second.call("phase_update_status", plan_slug="login", phase_order=1, status="completed")
    second.call("session_log", session_id=session, message="it broke", type="error")

    third = connect(repository, *SURFACE, "--agent", "haiku")
    with pytest.raises(wire.Refused) as refused:
        third.call("session_resume", session_id=session)
    assert refused.value.answer["code"] == "validation_error"
    # Somebody is at it, whatever the others want: he hands it over himself.
    with pytest.raises(wire.Refused) as refused:
        third.call("session_continue", session_id=session, agent_type="haiku")
    assert refused.value.answer["code"] == "permission_denied"
    second.call("session_handoff", session_id=session, summary="broken")
    followed = third.call("session_continue", session_id=session, agent_type="haiku")
    assert followed["inherited_context"] == {"k": 1}
    with pytest.raises(wire.Refused) as refused:
        second.call("session_log", session_id=session, message="late")
    assert refused.value.answer["code"] == "validation_error"
    replay = third.call("session_replay", session_id=session)["replay_context"]
    assert [one["message"] for one in replay["decisions"]] == ["drew it"]
    assert [one["message"] for one in replay["errors"]] == ["it broke"]
    assert replay["artifacts_by_action"]["modified"] == ["readme.txt"]
    assert replay["last_checkpoint"]["message"] == "drawn"
    assert replay["status"] == "handed_off"
    then = third.call("session_replay", session_id=session, at=taken_at(app, "session.paused"))
    assert then["replay_context"]["status"] == "paused"
    assert then["replay_context"]["errors"] == []
    third.call("phase_update_status", plan_slug="login", phase_order=2, status="completed")
    assert third.call("plan_get", slug="login")["plan"]["status"] == "completed"
    third.call("session_end", session_id=followed["session"]["session_id"], status="completed")
    assert_whole(app)


def taken_at(app: App, action: str) -> int:
    """Answer the place of the first entry of an action."""
    return app.person().audit.log(action=action, limit=100)[-1].sequence


def test_sixteen_processes_lose_nothing(
    connect: Callable[..., Any], folder: Path, app: App, assert_whole: Callable[[App], None]
) -> None:
    """Each moves tasks of its own in one phase, at the same time."""
    names = [f"t{number}" for number in range(AGENTS * 3)]
    clients = [connect(folder, *SURFACE, "--agent", f"a{number}") for number in range(AGENTS)]
    clients[0].call("plan_create", title="Many", slug="many", phases=[{"tasks": names}])

    def work(agent: int) -> None:
        for task in range(agent, len(names), AGENTS):
            clients[agent].call(
                "task_update", plan_slug="many", phase_order=1, task_identifier=task,
                status="completed", notes=f"by {agent}",
            )  # fmt: skip

    with ThreadPoolExecutor(AGENTS) as pool:
        list(pool.map(work, range(AGENTS)))
    shown = clients[0].call("phase_get", plan_slug="many", phase_order=1)["phase"]
    assert shown["task_progress"]["completed"] == len(names)
    assert [task["notes"] for task in shown["tasks"]] == [
        f"by {task % AGENTS}" for task in range(len(names))
    ]
    assert_whole(app)


@pytest.mark.long
def test_tokens_bound_what_is_called_over_http(
    counterpoint: Callable[..., subprocess.CompletedProcess[str]], repository: Path
) -> None:
    """A token that reads does not write, one with a list calls nothing else, and not too often."""

    def token(name: str, *words: str) -> str:
        made = counterpoint("token", "create", name, *words, cwd=repository)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    assert counterpoint("init", "--yes", cwd=repository).returncode == 0
    reader = token("reader", "--scope", "read")
    listed = token("listed", "--tool", "plan_list", "--tool", "plan_create")
    hurried = token("hurried", "--tool-limit", "plan_list=1")
    server = subprocess.Popen(
        [sys.executable, "-m", "counterpoint", "up", "--port", "0"],
        cwd=repository,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        assert server.stderr is not None
        line = json.loads(server.stderr.readline())
        url = line["addresses"][0] + "/agentic"
        assert call(url, listed, "plan_create", title="P", slug="p")["success"] is True
        assert call(url, reader, "plan_get", slug="p")["plan"]["title"] == "P"
        # A scope that is missing is an answer of HTTP: clients ask for more on hearing it.
        with pytest.raises(urllib.error.HTTPError, match="403"):
            call(url, reader, "plan_create", title="Q")
        refused = call(url, listed, "session_start", agent_type="opus")
        assert refused["code"] == "permission_denied"
        assert call(url, hurried, "plan_list")["count"] == 1
        refused = call(url, hurried, "plan_list")
        assert refused["code"] == "rate_limited"
        assert refused["details"]["retry_after"] > 0
    finally:
        server.terminate()
        server.communicate(timeout=30)


def call(url: str, by: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool over HTTP; answer its answer or its refusal."""
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }  # fmt: skip
    request = urllib.request.Request(  # noqa: S310 -- the address of the server that the test started
        url,
        json.dumps(message).encode(),
        {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Authorization": f"Bearer {by}",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as got:  # noqa: S310 -- the server that the test started
        return json.loads(got.read())["result"]["structuredContent"]
