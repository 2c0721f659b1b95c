"""Investigations that judge hypotheses, and ideas that are found, grouped, scored, chosen and worked out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Agent
from fakes.scripted_models import ModelServer


def told(agent: Agent, action: str, **more: Any) -> Any:
    """Answer the data of a call that succeeds."""
    return agent.does("research", action=action, **more)["data"]


def refused(agent: Agent, action: str, **more: Any) -> str:
    """Answer the code of a refusal that writes nothing."""
    return agent.is_refused("research", action=action, **more)["data"]["error_code"]


def thought(analysis: str, *hypotheses: dict[str, Any]) -> str:
    """Answer a step as models are asked for it."""
    return json.dumps({"analysis": analysis, "hypotheses": list(hypotheses)})


FIRST = thought(
    "Two ways.",
    {"statement": "It is the cache", "confidence": "medium", "supporting": ["it is slow cold"]},
    {"statement": "It is the disk", "confidence": "high", "supporting": []},
)
SECOND = thought(
    "It is the cache.",
    {"id": "h1", "statement": "", "confidence": "confirmed", "supporting": ["the trace"]},
    {"id": "h2", "confidence": "high", "supporting": ["the disk is slow too"]},
)


@pytest.mark.parametrize("models", [(FIRST, f"So:\n```json\n{SECOND}\n```")], indirect=True)
def test_hypotheses_are_judged_by_their_evidence_until_all_are_sure(
    ada: Agent, models: ModelServer
) -> None:
    """What nothing speaks for is a speculation; the next step is given what is known."""
    first = told(ada, "thinkdeep", topic="Why is it slow?")
    name = first["investigation_id"]
    assert first == {
        "content": "Two ways.",
        "investigation_id": name,
        "current_depth": 1,
        "max_depth": 5,
        "converged": False,
        "hypothesis_count": 2,
        "step_count": 1,
        "hypotheses": [
            {"id": "h1", "statement": "It is the cache", "confidence": "medium"},
            {"id": "h2", "statement": "It is the disk", "confidence": "speculation"},
        ],
    }
    second = told(ada, "thinkdeep", investigation_id=name, query="Look at the disk")
    assert (second["converged"], second["current_depth"], second["step_count"]) == (True, 2, 2)
    assert [one["confidence"] for one in second["hypotheses"]] == ["confirmed", "high"]
    asked = models.questions[1]["messages"][-1]["content"]
    assert "it is slow cold" in asked
    assert "Look at the disk" in asked
    assert refused(ada, "thinkdeep", investigation_id=name) == "CONFLICT"


@pytest.mark.parametrize("models", [("I do not know.",)], indirect=True)
def test_an_answer_in_another_form_is_told_and_changes_no_hypothesis(
    ada: Agent, models: ModelServer
) -> None:
    """At its last step an investigation has converged."""
    found = ada.does("research", action="thinkdeep", topic="Why?", max_depth=1)
    assert (found["data"]["content"], found["data"]["hypothesis_count"]) == ("I do not know.", 0)
    assert "form that was asked for" in found["meta"]["warnings"][0]
    assert found["data"]["converged"]
    name = found["data"]["investigation_id"]
    assert refused(ada, "thinkdeep", investigation_id=name, query="more") == "CONFLICT"
    assert len(models.questions) == 1


def test_one_is_begun_or_gone_on_with(ada: Agent, models: ModelServer) -> None:
    """What is neither, or both, or is not there, is refused before anybody is asked."""
    assert refused(ada, "thinkdeep") == "VALIDATION_ERROR"
    assert refused(ada, "thinkdeep", topic="a", investigation_id="b") == "VALIDATION_ERROR"
    assert refused(ada, "thinkdeep", investigation_id="b") == "NOT_FOUND"
    assert refused(ada, "ideate") == "VALIDATION_ERROR"
    assert refused(ada, "ideate", topic="a", ideate_action="cluster") == "VALIDATION_ERROR"
    assert not models.questions


IDEAS = json.dumps(
    {"ideas": [{"idea": "Fly", "perspective": "visionary"}, {"idea": "Walk"}, {"idea": "fly"}]}
)
CLUSTERS = json.dumps(
    {"clusters": [{"name": "Air", "ideas": ["i1", "i9"]}, {"name": "Land", "ideas": ["i1", "i2"]}]}
)
SCORES = json.dumps({"scores": [{"id": "i1", "scores": {"novelty": 1, "impact": 0.5, "x": 9}}]})


@pytest.mark.parametrize("models", [(IDEAS, CLUSTERS, SCORES, "Build wings.")], indirect=True)
def test_ideas_go_through_their_phases(ada: Agent, models: ModelServer) -> None:
    """An idea that was there already counts once; what there is not is in no group; to choose asks nobody."""
    first = told(ada, "ideate", topic="Travel", perspective=["visionary"])
    name = first["ideation_id"]
    assert (first["phase"], first["idea_count"], first["cluster_count"]) == ("divergent", 2, 0)
    assert first["content"] == "i1 (visionary): Fly\ni2: Walk"
    grouped = told(ada, "ideate", ideation_id=name, ideate_action="cluster")
    assert (grouped["phase"], grouped["content"]) == ("convergent", "c1 Air: i1.\nc2 Land: i2.")
    scored = told(ada, "ideate", ideation_id=name, ideate_action="score")
    assert scored["content"].startswith("i1 (visionary) [0.75]: Fly\ni2: Walk\n\nc1 Air [0.75]")
    act = {"ideation_id": name, "ideate_action": "select"}
    assert refused(ada, "ideate", **act) == "MISSING_REQUIRED"
    assert refused(ada, "ideate", **act, cluster_ids=["c7"]) == "NOT_FOUND"
    assert refused(ada, "ideate", ideation_id=name, ideate_action="elaborate") == "VALIDATION_ERROR"
    assert told(ada, "ideate", **act, cluster_ids=["c1"])["phase"] == "selection"
    assert len(models.questions) == 3
    last = told(ada, "ideate", ideation_id=name, ideate_action="elaborate")
    assert (last["phase"], last["content"]) == ("elaboration", "Build wings.")
    assert "Work out these groups: c1" in models.questions[3]["messages"][-1]["content"]


@pytest.mark.parametrize("models", [("Nothing.",)], indirect=True)
def test_an_answer_without_ideas_is_refused(ada: Agent, models: ModelServer) -> None:
    """As it is said there."""
    reply = ada.call("research", {"action": "ideate", "topic": "Travel"})
    assert reply.answer["data"]["error_code"] == "INTERNAL_ERROR"
    assert "No ideas generated" in reply.answer["error"]
    assert models.questions
