"""Unattended runs over real servers: killed between any two commands, and held by the roles of their connections."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders import let_run
from counterpoint.app import App
from counterpoint.protocol.rendezvous import find_rendezvous
from fakes.callers import Caller, Server

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

FOUNDRY = ("--surface", "foundry")
Connect = Callable[..., Any]


def spec_of(client: Any, folder: Path) -> str:
    """Make a spec with a phase of one task; answer its id."""
    (folder / "plan.md").write_text("# Plan\n")
    made = client.call(
        "authoring",
        action="spec-create",
        name="Run it",
        plan_path=str(folder / "plan.md"),
        plan_review_path=str(folder / "plan.md"),
    )
    spec: str = made["data"]["spec_id"]
    client.call("authoring", action="phase-add", spec_id=spec, title="One")
    client.call("task", action="add", spec_id=spec, parent="phase-1", title="Do it")
    return spec


def session(client: Any, command: str, **given: Any) -> dict[str, Any]:
    """Give a command to a run."""
    told: dict[str, Any] = client.call("task", action="session", command=command, **given)["data"]
    return told


def kill(folder: Path) -> None:
    """Kill the server of a folder."""
    told = find_rendezvous(folder / ".counterpoint" / "ledger.db").ask("status")
    assert told is not None
    os.kill(told["pid"], signal.SIGKILL)


@pytest.mark.long
def test_a_run_goes_on_however_often_its_server_is_killed(
    connect: Connect, repository: Path, assert_whole: Callable[[App], None], app: App
) -> None:
    """Each command that was answered holds, and the next one finds the run as it was left."""
    client = connect(repository, *FOUNDRY)
    spec = spec_of(client, repository)
    (repository / "specs").mkdir(exist_ok=True)
    begun = session(client, "start", spec_id=spec, idempotency_key="once", gate_policy="manual")
    commands: list[tuple[str, dict[str, Any], str]] = [
        ("pause", {}, "paused"),
        ("resume", {}, "running"),
        ("pause", {}, "paused"),
        ("rebase", {}, "running"),
        ("end", {"reason_code": "testing"}, "ended"),
    ]
    for command, given, status in commands:
        kill(repository)
        client = connect(repository, *FOUNDRY)
        assert session(client, "status", session_id=begun["session_id"])["gate_policy"] == "manual"
        told = session(client, command, session_id=begun["session_id"], **given)
        assert (told["session_id"], told["status"]) == (begun["session_id"], status)
    events = client.call("task", action="session-events", session_id=begun["session_id"])
    actions = [one["action"] for one in events["data"]["events"]]
    assert actions == ["end", "rebase", "pause", "resume", "pause", "start"]
    assert_whole(app)


@pytest.mark.long
@pytest.mark.parametrize("where", ["sqlite", "postgresql"], indirect=True)
def test_a_run_locks_its_spec_on_every_database(
    where: str, connect: Connect, repository: Path, wire: ModuleType
) -> None:
    """For whoever does not say that his call is of the run; a key that comes again hears of the same run."""
    del where
    client, other = connect(repository, *FOUNDRY), connect(repository, *FOUNDRY)
    spec = spec_of(client, repository)
    begun = session(client, "start", spec_id=spec, idempotency_key="k")["session_id"]
    assert session(other, "start", spec_id=spec, idempotency_key="k")["session_id"] == begun
    asked = {"action": "start", "spec_id": spec, "task_id": "task-1-1"}
    with pytest.raises(wire.Refused) as refused:
        other.call("task", **asked)
    assert refused.value.answer["data"]["error_code"] == "AUTONOMY_WRITE_LOCK_ACTIVE"
    client.call("task", **asked, session_id=begun)
    listed = session(other, "list", limit=1)["sessions"]
    assert [one["session_id"] for one in listed] == [begun]
    session(client, "pause")
    client.call("task", action="add", spec_id=spec, parent="phase-1", title="More")
    found = session(other, "rebase", spec_id=spec)["rebase_result"]
    assert found["added_tasks"] == ["task-1-2"]
    session(client, "end", session_id=begun, reason_code="testing")


def test_who_shares_a_token_over_http_is_not_at_the_run_of_another(
    counterpoint: Callable[..., Any], repository: Path
) -> None:
    """Neither its lock nor its steps let him in while the other calls; whoever is at it goes on."""
    let_run(repository)
    token = counterpoint("token", "create", "shared", cwd=repository).stdout.strip()
    with closing(Server(repository)) as server:
        mine, other = (Caller(server, token, "foundry") for _ in range(2))
        (repository / "plan.md").write_text("# Plan\n")
        made = mine.does(
            "authoring",
            action="spec-create",
            name="Run it",
            plan_path=str(repository / "plan.md"),
            plan_review_path=str(repository / "plan.md"),
        )
        spec = made["data"]["spec_id"]
        mine.does("authoring", action="phase-add", spec_id=spec, title="One")
        mine.does("task", action="add", spec_id=spec, parent="phase-1", title="Do it")
        begun = mine.does("task", action="session", command="start", spec_id=spec)
        run = begun["data"]["session_id"]
        asked = {"action": "session-step", "command": "next", "session_id": run}
        step = mine.does("task", **asked)["data"]["next_step"]
        won = {name: step[name] for name in ("step_id", "step_proof", "task_id", "phase_id")}
        won |= {"step_type": step["type"], "outcome": "failure"}
        adding = {"action": "add", "spec_id": spec, "parent": "phase-1", "title": "More"}
        for call in (
            {**adding, "session_id": run},
            {"action": "start", "spec_id": spec, "task_id": "task-1-1", "session_id": run},
            {**asked, "command": "replay"},
            {**asked, "command": "heartbeat"},
            {**asked, "last_step_result": won},
        ):
            refusal = other.is_refused("task", **call)
            assert "shared" in refusal, (call, refusal)
            if call["action"] == "session-step":
                assert "ask once more in 60 seconds" in refusal
            else:
                assert "AUTONOMY_WRITE_LOCK_ACTIVE" in refusal
        assert mine.does("task", **asked, last_step_result=won)["data"]["next_step"]
        told = mine.does("task", **adding, session_id=run)
        assert told["data"]["task_id"] == "task-1-2"


def test_the_role_of_a_connection_comes_with_its_variables(
    connect: Connect, repository: Path, wire: ModuleType
) -> None:
    """Over one server each has its own."""
    lead = connect(repository, *FOUNDRY)
    spec = spec_of(lead, repository)
    runner = connect(repository, *FOUNDRY, environ={"FOUNDRY_MCP_ROLE": "autonomy_runner"})
    looker = connect(repository, *FOUNDRY, environ={"FOUNDRY_MCP_ROLE": "nobody"})
    preflight = {"action": "session", "command": "list", "limit": 1}
    for client in (lead, runner, looker):
        client.call("task", **preflight)
    begun = session(runner, "start", spec_id=spec)["session_id"]
    for client, command in ((runner, "pause"), (looker, "resume")):
        with pytest.raises(wire.Refused) as refused:
            session(client, command, session_id=begun)
        assert refused.value.answer["data"]["error_code"] == "AUTHORIZATION"
    told = lead.call("server", action="capabilities")["data"]["runtime"]["autonomy"]
    assert told["security"]["role"] == "maintainer"
    assert json.dumps(session(lead, "pause", session_id=begun))
