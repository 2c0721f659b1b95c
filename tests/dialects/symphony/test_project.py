"""Setting a project up through the tool."""

from __future__ import annotations

import pytest

from counterpoint.dialects.symphony.verbs.policies import Policies

GATES = [{"command": "pytest -q", "label": "Tests", "required": True}]


def test_what_is_not_named_stays(seat):
    """Each part on its own; a limit of risk under the dialect's name."""
    person = seat("wizard")
    first = person.does("configure_project", gates=GATES, worker_instructions="Be kind")
    assert first["gates"] == GATES
    assert person.last_entry.action == "policy.changed"
    second = person.does(
        "configure_project",
        sensitive_paths=[".env*"],
        risk_thresholds={"lowLines": 10, "highFiles": 20},
        judge_instructions="Be strict",
    )
    assert person.last_entry.facts["parts"] == ["instructions", "sensitive_paths", "thresholds"]
    assert second == {
        "gates": GATES,
        "sensitive_paths": [".env*"],
        "risk_thresholds": {"lowLines": 10, "highFiles": 20},
        "worker_instructions": "Be kind",
        "judge_instructions": "Be strict",
    }
    policy = person.core.use(Policies).get()
    assert policy.thresholds == {"low_lines": 10, "high_files": 20}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"gates": [{"command": "x", "label": "y"}]},
        {"risk_thresholds": {"lines": 1}},
        {"risk_thresholds": {"lowLines": "9"}},
    ],
)
def test_settings_that_cannot_be_are_refused(seat, arguments):
    """Nothing named, a gate without a word, thresholds that are none or cross."""
    refusal = seat("wizard").is_refused("configure_project", **arguments)
    assert refusal["code"] == "VALIDATION_ERROR"


def test_large_settings_are_told_in_numbers(seat):
    """The answer keeps to a page."""
    gates = [{"command": "x" * 400, "label": f"{n}", "required": False} for n in range(50)]
    reply = seat("wizard").call("configure_project", {"gates": gates})
    assert reply.answer["gates"] == 50
    assert len(reply.text.encode()) <= 10_000


def test_no_agent_reaches_the_settings_through_its_memory(workshop, seat):
    """The native tool for memory keeps to its own scopes."""
    seat("wizard").does("configure_project", gates=GATES)
    native = workshop.agent("ada")
    assert "policy" not in str(native.does("remember", action="list"))
    native.does("remember", action="set", key="policy", value={"gates": []})
    assert native.core.use(Policies).get().gates[0].label == "Tests"
