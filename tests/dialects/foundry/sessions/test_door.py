"""Who may call what, as a connection was started and the project says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.dialects.foundry.environment.operations import ConfigFile
from counterpoint.dialects.foundry.runs.door import Door
from counterpoint.dialects.foundry.runs.rules.limits import ALLOWED, configured
from counterpoint.dialects.registry import surface
from counterpoint.kernel.errors import Forbidden, InvalidInput, RateLimited
from counterpoint.relay.start import PASSED
from counterpoint.settings import load_settings
from fakes.run_party import SPEC, Party

RUNNER = [
    {"action": "session", "command": "list", "limit": 1},
    {"action": "session", "command": "start", "spec_id": SPEC},
    {"action": "session", "command": "status"},
    {"action": "session-events"},
    {"action": "prepare", "spec_id": SPEC},
    {"action": "session-list", "limit": 1},
]
REFUSED = [
    {"action": "session", "command": "pause"},
    {"action": "session", "command": "end", "reason_code": "testing"},
    {"action": "session", "command": "reset"},
    {"action": "session-config"},
    {"action": "add", "spec_id": SPEC, "parent": "phase-1", "title": "x"},
    {"action": "session-pause"},
]


def denied(agent: Agent, **given: Any) -> bool:
    """Whether a call is refused for the role."""
    answer = agent.call("task", given).answer
    return answer["data"].get("error_code") == "AUTHORIZATION"


def test_the_runner_can_run_and_no_more(party: Party) -> None:
    """The preflight of the contract tells it, under both names."""
    runner = party.as_role("autonomy_runner")
    assert [denied(runner, **given) for given in RUNNER] == [False] * len(RUNNER)
    assert [denied(runner, **given) for given in REFUSED] == [True] * len(REFUSED)


def test_an_observer_only_looks(party: Party) -> None:
    for word in ("observer", "OBSERVER", "root"):
        looker = party.as_role(word)
        assert not denied(looker, action="session", command="list", limit=1)
        assert not denied(looker, action="progress", spec_id=SPEC)
        assert denied(looker, action="session", command="start", spec_id=SPEC)
        assert denied(looker, action="start", spec_id=SPEC, task_id="task-1-1")


def test_nothing_is_narrowed_where_nothing_is_said(party: Party) -> None:
    """Nor for a maintainer."""
    for agent in (party.fay, party.as_role("maintainer")):
        assert not any(denied(agent, **given) for given in (*RUNNER, *REFUSED))


def test_every_call_of_a_role_is_an_action_that_there_is() -> None:
    """Those of steps, reviews and gates come with their tools."""
    there = {part.name for tool in surface("foundry").tools for part in tool.parts}
    named = {call for calls in ALLOWED.values() for call in calls or ()}
    coming = {one for one in named if one.startswith(("task session-step", "review "))}
    assert named - there - coming == {"task session heartbeat"}


def test_a_role_is_asked_after_the_action_and_before_the_arguments(party: Party) -> None:
    """So that a refusal tells what is wrong first."""
    looker = party.as_role("observer")
    assert not denied(looker, action="session", command="nap")
    assert denied(looker, action="session", command="start", nonsense=1)


def test_whoever_is_refused_too_often_waits(party: Party) -> None:
    """Ten times within a minute, then nothing is heard for a while; others are not kept waiting."""
    looker = party.as_role("observer")
    for _ in range(10):
        assert denied(looker, action="session", command="start", spec_id=SPEC)
    refused = looker.is_refused("task", action="progress", spec_id=SPEC)["data"]
    assert refused["error_code"] == "RATE_LIMITED"
    assert 0 < refused["details"]["retry_after"] <= 5
    assert not party.as_role("observer").call("task", dict(RUNNER[0])).is_error


class Tick:
    """A clock that only rises when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        """Answer its seconds."""
        return self.now


def door_at(folder: Path, workshop: Workshop, **environ: str) -> tuple[Door, Tick]:
    """Answer the door of a folder, and its clock."""
    tick = Tick()
    file = ConfigFile(home=folder, evidence=workshop.app.ports.evidence)
    return Door(file=file, environ=environ, tick=tick), tick


def test_the_door_opens_again(workshop: Workshop) -> None:
    """After five seconds; and refusals of more than a minute ago do not count."""
    door, tick = door_at(workshop.root, workshop)

    def refused() -> type[Exception]:
        with pytest.raises((Forbidden, RateLimited)) as fault:
            door.admit("one", "task start", "observer", "")
        return fault.type

    for second in range(10):
        tick.now = second
        assert refused() is Forbidden
    assert refused() is RateLimited
    tick.now += 5
    assert refused() is Forbidden
    for _ in range(8):
        assert refused() is Forbidden
    tick.now += 61
    for _ in range(9):
        assert refused() is Forbidden


FILE = """
[autonomy_posture]
profile = "supervised"

[autonomy_security]
role = "autonomy_runner"
allow_lock_bypass = false

[autonomy_session_defaults]
gate_policy = "lenient"
max_tasks_per_session = 12
"""


def test_the_file_of_a_project_says_how_runs_are_held(party: Party) -> None:
    """A connection that was started with something else has that."""
    (party.workshop.root / "foundry-mcp.toml").write_text(FILE)
    config = party.as_role("maintainer").does("task", action="session-config")["data"]
    held = config["session_config"]
    assert (held["role"], held["posture_profile"]) == ("maintainer", "supervised")
    assert (held["gate_policy"], held["limits"]["max_tasks_per_session"]) == ("lenient", 12)
    assert held["limits"]["max_consecutive_errors"] == 5
    assert (held["allow_lock_bypass"], held["allow_gate_waiver"]) == (False, True)
    assert denied(party.as_role(), action="session-config")
    told = party.as_role().does("server", action="capabilities")["data"]["runtime"]
    assert told["autonomy"]["security"]["role"] == "autonomy_runner"
    assert told["autonomy"]["session_defaults"]["max_tasks_per_session"] == 12
    assert told["autonomy"]["enabled_now"]["autonomy_sessions"] is True
    preflight = told["conventions"]["role_preflight"]["recommended_call"]
    assert not denied(party.as_role(), **preflight["params"])


def test_a_file_that_cannot_be_read_gives_nobody_more(party: Party) -> None:
    """Whoever only looks is let through; anybody else is told what is wrong with it."""
    (party.workshop.root / "foundry-mcp.toml").write_text("[broken")
    looker = party.as_role()
    assert not looker.call("task", {"action": "progress", "spec_id": SPEC}).is_error
    refused = looker.is_refused("task", action="start", spec_id=SPEC, task_id="task-1-1")
    assert "foundry-mcp.toml" in refused["error"]


def test_variables_say_it_too(workshop: Workshop) -> None:
    """Before the file."""
    (workshop.root / "foundry-mcp.toml").write_text(FILE)
    door, _ = door_at(
        workshop.root,
        workshop,
        FOUNDRY_MCP_AUTONOMY_DEFAULT_MAX_TASKS_PER_SESSION="3",
        FOUNDRY_MCP_AUTONOMY_SECURITY_ALLOW_LOCK_BYPASS="True",
        FOUNDRY_MCP_AUTONOMY_DEFAULT_GATE_POLICY="",
    )
    terms = door.configured("", "").terms()
    assert (terms.limits.max_tasks_per_session, terms.policy) == (3, "lenient")
    assert terms.may_bypass


@pytest.mark.parametrize(
    ("file", "role", "posture", "expected"),
    [
        ({}, "", "", "maintainer"),
        ({}, "", "unattended", "autonomy_runner"),
        ({}, "maintainer", "unattended", "maintainer"),
        ({}, "", "careless", "observer"),
        ({"autonomy_security": {"role": 7}}, "", "", "observer"),
        ({"autonomy_security": "no table"}, "", "", "maintainer"),
        ({"autonomy_posture": {"profile": 7}}, "", "", "observer"),
    ],
)
def test_what_nobody_knows_gives_the_least(
    file: dict[str, Any], role: str, posture: str, expected: str
) -> None:
    """A posture brings the role that it is meant for."""
    assert configured(file, {}, role, posture).role == expected


def test_a_wrong_setting_is_told_by_the_start_that_it_would_hold() -> None:
    """By name."""
    said = configured({"autonomy_session_defaults": {"max_tasks_per_session": "many"}}, {})
    with pytest.raises(InvalidInput, match=r"configuration\.max_tasks_per_session"):
        said.terms()


def test_role_and_posture_are_settings_of_a_connection() -> None:
    """Under the names of the original too; the relay hands them on."""
    environ = {"FOUNDRY_MCP_ROLE": "observer", "FOUNDRY_MCP_AUTONOMY_POSTURE": "debug"}
    found = load_settings(environ)
    assert (found.role, found.posture) == ("observer", "debug")
    assert load_settings({**environ, "COUNTERPOINT_ROLE": "maintainer"}).role == "maintainer"
    assert all(name.startswith(PASSED) for name in environ)
