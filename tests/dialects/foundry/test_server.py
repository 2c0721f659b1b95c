"""Server: what it tells of its tools and of itself is what holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from builders import Agent, Workshop, asked_by
from counterpoint.dialects.registry import surface
from counterpoint.settings import Settings


def found(agent: Agent, action: str, **more: Any) -> dict[str, Any]:
    """Answer the data of a call of the tool."""
    reply = agent.call("server", {"action": action, **more})
    assert not reply.is_error, reply.text
    return reply.answer["data"]


def whole(agent: Agent, action: str, part: str, **more: Any) -> list[dict[str, Any]]:
    """Answer every entry of a list, on all of its pages, each of which fits."""
    entries: list[dict[str, Any]] = []
    while True:
        answer = agent.call("server", {"action": action, **more}).answer
        assert len(orjson.dumps(answer)) <= 10_000
        entries += answer["data"][part]
        more["cursor"] = answer["meta"]["pagination"]["cursor"]
        if more["cursor"] is None:
            return entries


def test_every_tool_is_told_with_its_actions(foundry: Agent) -> None:
    built = surface("foundry")
    for limit in (1, 100):
        told = whole(foundry, "tools", "tools", limit=limit)
        assert [one["name"] for one in told] == [tool.name for tool in built.tools]
    for one, tool in zip(told, built.tools, strict=True):
        names = [" ".join(asked_by(part)[1].values()) for part in tool.parts]
        assert [entry["name"] for entry in one["actions"]] == names
        assert all(entry["summary"] for entry in one["actions"])
        assert (one["version"], one["deprecated"]) == ("1.0.0", False)
    answer = foundry.call("server", {"action": "tools"}).answer
    assert answer["meta"]["telemetry"]["manifest_tokens"] > 1_000
    assert answer["meta"]["telemetry"]["duration_ms"] >= 0


def test_only_tools_in_the_scope_of_the_connection_are_told(
    workshop: Workshop, tmp_path: Path
) -> None:
    scope = tmp_path / "scope.json"
    scope.write_text('["spec", "server"]')
    settings = Settings(surface="foundry", tool_scope=str(scope))
    agent = workshop.agent("fay", surface="foundry", settings=settings)
    assert [one["name"] for one in whole(agent, "tools", "tools")] == ["spec", "server"]
    assert agent.call("server", {"action": "schema", "tool_name": "task"}).is_error


def test_an_unknown_name_deep_in_an_argument_is_told_with_those_there_are(foundry: Agent) -> None:
    completions = [{"task_id": "task-1-1", "success": True, "foo": 1, "complet_note": "x"}]
    arguments = {"action": "complete-batch", "spec_id": "x", "completions": completions}
    refused = foundry.is_refused("task", **arguments)
    assert (
        "completions[0].foo: there is no such argument. Valid: task_id, success, completion_note."
    ) in refused["error"]
    faults = {one["path"]: one for one in refused["data"]["details"]["faults"]}
    assert faults["completions[0].complet_note"]["nearest"] == "completion_note"
    valid = ["task_id", "success", "completion_note"]
    assert all(one["valid"] == valid for one in faults.values())


def test_an_unknown_name_of_a_phase_or_its_tasks_is_told_with_those_there_are(
    foundry: Agent, root: str
) -> None:
    assert root
    given = {"action": "phase-add-bulk", "spec_id": "export-2026-01-02-001"}
    phase = foundry.is_refused("authoring", **given, phase={"title": "P", "foo": 1}, tasks=[])
    assert "phase.foo: there is no such argument. Valid: title, description" in phase["error"]
    tasks = [{"title": "T", "description": "d", "foo": 1}]
    bulk = foundry.is_refused("authoring", **given, phase={"title": "P"}, tasks=tasks)
    assert bulk["error"] == "tasks[0] has an unknown key 'foo'"
    assert "A task has: acceptance_criteria, blocking_mode, " in bulk["data"]["remediation"]
    tasks = [{"title": "T"}]
    plain = foundry.is_refused("authoring", **given, phase={"title": "P"}, tasks=tasks)
    assert "A task has" not in plain["data"]["remediation"]


def test_tools_are_found_by_category_and_tag(foundry: Agent) -> None:
    data = found(foundry, "tools", category="specs")
    assert "specs" in data["categories"]
    assert {one["category"] for one in data["tools"]} == {"specs"}
    assert data["filters_applied"] == {
        "category": "specs",
        "tag": None,
        "include_deprecated": False,
    }
    writing = [one["name"] for one in found(foundry, "tools", tag="writes")["tools"]]
    assert "plan" in writing
    assert "health" not in writing
    assert found(foundry, "tools", tag="nothing")["tools"] == []


@pytest.mark.parametrize("name", [tool.name for tool in surface("foundry").tools])
def test_a_schema_has_the_parameters_of_each_action(foundry: Agent, name: str) -> None:
    parts = surface("foundry").tool(name).parts
    told = whole(foundry, "schema", "actions", tool_name=name)
    assert len(told) == len(parts)
    for one, part in zip(told, parts, strict=True):
        schema = part.parameters.whole
        assert one["parameters"]["properties"] == schema["properties"]
        assert one["parameters"].get("required") == schema.get("required")
        assert one["writes"] is not part.reads


def test_the_schema_of_a_tool_that_there_is_not_is_refused(foundry: Agent) -> None:
    data = foundry.call("server", {"action": "schema", "tool_name": "code"}).answer["data"]
    assert data["error_code"] == "NOT_FOUND"
    assert "health" in data["remediation"]


def test_capabilities_say_what_is_turned_on(foundry: Agent) -> None:
    data = found(foundry, "capabilities")
    assert list(data) == [
        *("schema_version", "capabilities", "runtime", "server_version", "api_version"),
    ]
    autonomy = data["runtime"]["autonomy"]
    assert autonomy["enabled_now"].keys() == autonomy["supported_by_binary"].keys()
    for name, is_on in autonomy["enabled_now"].items():
        assert data["capabilities"][name] is is_on
    assert autonomy["security"]["role"]
    assert autonomy["session_defaults"]["max_tasks_per_session"] == 100
    has_sessions = data["capabilities"]["autonomy_sessions"]
    assert ("role_preflight" in data["runtime"]["conventions"]) is has_sessions


def test_the_context_says_where_it_works(foundry: Agent, workshop: Workshop) -> None:
    data = found(foundry, "context")
    assert list(data) == [
        *("server", "paths", "workspace", "workflow", "llm_status", "capabilities"),
    ]
    assert data["paths"] == {"specs_dir": None, "research_dir": None}
    assert data["workspace"]["roots"] == [str(workshop.root)]
    assert data["workflow"]["git"]["auto_push"] is False
    assert "session_defaults" not in data["capabilities"]["runtime"]["autonomy"]
    (workshop.root / "specs").mkdir()
    parts = ("llm", "workflow", "workspace", "capabilities")
    short = found(foundry, "context", **{f"include_{part}": False for part in parts})
    assert list(short) == ["server", "paths"]
    assert short["paths"]["specs_dir"] == str(workshop.root / "specs")


def test_no_model_can_be_asked_yet(foundry: Agent) -> None:
    assert found(foundry, "llm-status") == {
        "llm_status": {"configured": False, "available": False, "providers": [], "priority": []}
    }


def test_in_the_mode_that_only_reads_only_what_reads_is_told(workshop: Workshop) -> None:
    settings = Settings(surface="foundry", mode="READONLY")
    agent = workshop.agent("fay", surface="foundry", settings=settings)
    told = whole(agent, "tools", "tools")
    listed = surface("foundry", settings).tools
    assert [one["name"] for one in told] == [tool.name for tool in listed]
    assert [len(one["actions"]) for one in told] == [len(tool.parts) for tool in listed]
    assert all("writes" not in one["tags"] for one in told)
