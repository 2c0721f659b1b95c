"""Research nodes of specs: done as they say, closed with what was found, and in the way of others where they are hard."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Agent
from fakes.scripted_models import ModelServer

SPEC = "export-2026-01-02-001"


@pytest.fixture
def node(ada: Agent, root: str) -> str:
    """Answer a research node of a spec."""
    assert root
    made = ada.does(
        "task",
        action="add",
        spec_id=SPEC,
        parent="phase-1",
        title="Which format?",
        task_type="research",
        research_type="chat",
        blocking_mode="hard",
        query="JSON or CSV?",
    )
    return made["data"]["task_id"]


def told(agent: Agent, action: str, node: str, **more: Any) -> Any:
    """Answer the data of a call about a node."""
    call = {"action": action, "spec_id": SPEC, "research_node_id": node, **more}
    return agent.does("research", **call)["data"]


def refused(agent: Agent, action: str, node: str, **more: Any) -> str:
    """Answer the code of a refusal."""
    call = {"action": action, "spec_id": SPEC, "research_node_id": node, **more}
    return agent.is_refused("research", **call)["data"]["error_code"]


def test_a_node_is_researched_as_it_says(ada: Agent, models: ModelServer, node: str) -> None:
    """It is in progress then, and names what was begun for it."""
    before = told(ada, "node-status", node)
    assert before == {
        "spec_id": SPEC,
        "research_node_id": node,
        "title": "Which format?",
        "status": "pending",
        "research_type": "chat",
        "blocking_mode": "hard",
        "session_id": None,
        "query": "JSON or CSV?",
        "has_findings": False,
        "history_count": 0,
    }
    done = told(ada, "node-execute", node)
    assert (done["content"], done["status"], done["research_type"]) == (
        *("forty-two", "in_progress", "chat"),
    )
    assert models.questions[0]["messages"][-1]["content"] == "JSON or CSV?"
    after = told(ada, "node-status", node)
    assert (after["status"], after["session_id"]) == ("in_progress", done["thread_id"])
    assert after["history_count"] == 1
    told(ada, "node-execute", node, prompt="And XML?")
    assert models.questions[1]["messages"][-1]["content"] == "And XML?"


@pytest.mark.parametrize(
    ("kind", "key", "models"),
    [
        ("consensus", "consensus_id", ("yes",)),
        ("thinkdeep", "investigation_id", ("yes",)),
        ("ideate", "ideation_id", (json.dumps({"ideas": [{"idea": "Fly"}]}),)),
    ],
    indirect=["models"],
)
def test_every_type_of_node_has_its_own_way(
    ada: Agent, models: ModelServer, node: str, kind: str, key: str
) -> None:
    """What it answers stands beside the node."""
    metadata = {"research_type": kind}
    ada.does("task", action="update-metadata", spec_id=SPEC, task_id=node, custom_metadata=metadata)
    done = told(ada, "node-execute", node)
    assert done[key] == done["session_id"]
    assert models.questions


def test_a_hard_node_stops_others_until_it_is_completed(ada: Agent, node: str) -> None:
    """With what was found kept beside it."""
    ada.does(
        "task",
        action="add-dependency",
        spec_id=SPEC,
        task_id="task-1-1",
        target_id=node,
        dependency_type="blocked_by",
    )
    start = {"action": "start", "spec_id": SPEC, "task_id": "task-1-1"}
    ada.is_refused("task", **start)
    assert told(ada, "node-record", node, result="inconclusive")["status"] == "pending"
    assert told(ada, "node-record", node, result="blocked", summary="No access")["status"] == (
        "blocked"
    )
    assert told(ada, "node-record", node, result="cancelled")["status"] == "pending"
    ada.is_refused("task", **start)
    found = {
        "summary": "JSON",
        "key_insights": ["it nests"],
        "sources": ["rfc8259"],
        "confidence": "high",
    }
    done = told(ada, "node-record", node, result="completed", **found)
    assert done == {
        "spec_id": SPEC,
        "research_node_id": node,
        "result": "completed",
        "status": "completed",
        "findings_recorded": True,
    }
    kept = told(ada, "node-findings", node)
    assert kept["findings"] == {**found, "recommendations": []}
    assert [one["result"] for one in kept["research_history"]] == [
        *("inconclusive", "blocked", "cancelled", "completed"),
    ]
    ada.does("task", **start)


def test_what_is_no_research_is_refused(ada: Agent, node: str) -> None:
    """And so is one of which nobody can be asked: it is not taken up."""
    assert refused(ada, "node-status", "task-1-1") == "VALIDATION_ERROR"
    assert refused(ada, "node-status", "task-9-9") == "TASK_NOT_FOUND"
    assert refused(ada, "node-record", node, result="maybe") == "INVALID_FORMAT"
    assert refused(ada, "node-execute", node) == "AI_NO_PROVIDER"
    deep = {"custom_metadata": {"research_type": "deep-research"}}
    ada.does("task", action="update-metadata", spec_id=SPEC, task_id=node, **deep)
    assert refused(ada, "node-execute", node) == "AI_NO_PROVIDER"
    assert told(ada, "node-status", node)["status"] == "pending"
