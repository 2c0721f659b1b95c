"""The tools `task` and `verification`, as an agent calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.foundry.tools.task_reading import fitted
from counterpoint.dialects.paging import size_of

SPEC = "export-2026-01-02-001"
EXAMPLES = (
    ('{"action": "prepare", "spec_id": "my-feature-spec-001"}', {"task_id": "task-1-1"}),
    (
        '{"action": "complete", "spec_id": "my-spec", "task_id": "task-1-2", "completion_note": "Done"}',
        {"task_id": "task-1-2"},
    ),
    (
        '{"action": "move", "spec_id": "my-spec", "task_id": "task-1-3", "parent": "phase-2", "position": 1}',
        {"new_parent": "phase-2", "new_position": 1, "is_reparenting": True},
    ),
)


@pytest.mark.parametrize(("example", "expected"), EXAMPLES)
def test_the_examples_of_the_reference_are_taken(
    example: str, expected: dict[str, Any], made: Callable[..., str], foundry: Agent
) -> None:
    """Word for word."""
    for spec in ("my-spec", "my-feature-spec-001"):
        made(tasks=3, spec=spec)
    data = foundry.does("task", **json.loads(example))["data"]
    assert {name: data[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"action": "start", "task_id": "task-9-9"}, "TASK_NOT_FOUND"),
        ({"action": "start", "spec_id": "nope", "task_id": "task-1-1"}, "SPEC_NOT_FOUND"),
        ({"action": "start", "task_id": "task-2-1"}, "CONFLICT"),
        ({"action": "complete", "task_id": "phase-1", "completion_note": "x"}, "CONFLICT"),
        ({"action": "complete", "task_id": "task-1-1"}, "MISSING_REQUIRED"),
        ({"action": "update-status", "task_id": "task-1-1", "status": "done"}, "INVALID_FORMAT"),
        (
            {"action": "update-status", "task_id": "task-1-1", "status": "blocked"},
            "MISSING_REQUIRED",
        ),
        ({"action": "unblock", "task_id": "task-1-1"}, "CONFLICT"),
        ({"action": "block", "task_id": "task-1-1", "reason": ""}, "INVALID_FORMAT"),
        ({"action": "add", "parent": "phase-9", "title": "x"}, "NOT_FOUND"),
        ({"action": "add", "parent": "spec-root", "title": "x"}, "INVALID_PARENT"),
        (
            {"action": "add", "parent": "phase-1", "title": "x", "query": "why"},
            "VALIDATION_ERROR",
        ),
        ({"action": "move", "task_id": "task-1-1"}, "VALIDATION_ERROR"),
        ({"action": "move", "task_id": "task-1-1", "parent": "phase-9"}, "INVALID_PARENT"),
        ({"action": "move", "task_id": "task-1-1", "position": 9}, "INVALID_POSITION"),
        (
            {"action": "add-dependency", "task_id": "task-1-1", "target_id": "task-1-1"},
            "SELF_REFERENCE",
        ),
        (
            {"action": "add-dependency", "task_id": "phase-2", "target_id": "phase-1"},
            "CIRCULAR_DEPENDENCY",
        ),
        (
            {"action": "add-dependency", "task_id": "phase-1", "target_id": "phase-2"},
            "DUPLICATE_ENTRY",
        ),
        (
            {"action": "remove-dependency", "task_id": "task-1-1", "target_id": "task-1-2"},
            "DEPENDENCY_NOT_FOUND",
        ),
        ({"action": "update-estimate", "task_id": "task-1-1"}, "MISSING_REQUIRED"),
        ({"action": "update-metadata", "task_id": "task-1-1"}, "MISSING_REQUIRED"),
        ({"action": "metadata-batch", "category": "x"}, "MISSING_REQUIRED"),
        ({"action": "metadata-batch", "pattern": "x"}, "MISSING_REQUIRED"),
        (
            {"action": "metadata-batch", "pattern": "(", "category": "x"},
            "INVALID_REGEX_PATTERN",
        ),
        ({"action": "start-batch", "task_ids": ["task-2-1"]}, "OPERATION_FAILED"),
        (
            {"action": "reset-batch", "task_ids": ["task-1-1"], "threshold_hours": 1},
            "VALIDATION_ERROR",
        ),
        ({"action": "list", "limit": 0}, "INVALID_FORMAT"),
        ({"action": "hierarchy", "max_depth": 11}, "INVALID_FORMAT"),
        ({"action": "list", "cursor": "nonsense"}, "INVALID_FORMAT"),
        ({"action": "next", "task_id": "task-1-1"}, "VALIDATION_ERROR"),
    ],
)
def test_each_refusal_has_its_code(
    given: dict[str, Any], code: str, root: str, foundry: Agent
) -> None:
    assert root
    refused = foundry.call("task", {"spec_id": SPEC, **given}).answer
    assert refused["success"] is False
    assert refused["data"]["error_code"] == code, refused


def test_a_batch_names_each_of_its_tasks_once(root: str, foundry: Agent) -> None:
    """What became of one could not be told else."""
    twice = [{"task_id": "task-1-1", "success": True}] * 2
    refused = foundry.call(
        "task", {"action": "complete-batch", "spec_id": SPEC, "completions": twice}
    )
    assert "named twice" in refused.answer["error"]
    assert root


def test_what_the_caller_holds_stands_before_what_is_next(
    root: str, foundry: Agent, workshop: Workshop
) -> None:
    """With the call that goes on there; others hear nothing of it."""
    assert root
    foundry.does("task", action="start", spec_id=SPEC, task_id="task-1-1", note="I begin")
    found = foundry.does("task", action="next", spec_id=SPEC)["data"]
    (held,) = found["continue"]["tasks"]
    assert (held["task_id"], held["left"]["text"]) == ("task-1-1", "I begin")
    assert held["next"]["arguments"]["action"] == "complete"
    assert found["task_id"] == "task-1-2"
    other = workshop.agent("gil", surface="foundry")
    assert "continue" not in other.does("task", action="prepare", spec_id=SPEC)["data"]


def test_long_texts_and_long_lists_fit_one_answer(
    foundry: Agent, made: Callable[..., str], ada: Agent
) -> None:
    """What does not fit is read on in pages, to its end."""
    made(phases=2, tasks=300, spec=SPEC)
    long = "word " * 3_900
    foundry.does(
        "task",
        action="update-metadata",
        spec_id=SPEC,
        task_id="task-1-2",
        description=long,
        acceptance_criteria=["c" * 900] * 20,
        custom_metadata={f"k{n}": "v" * 900 for n in range(20)},
    )
    for number in range(3, 50):
        foundry.does(
            "task",
            action="add-dependency",
            spec_id=SPEC,
            task_id="task-1-2",
            target_id=f"task-1-{number}",
        )
        foundry.does(
            "task",
            action="block",
            spec_id=SPEC,
            task_id=f"task-2-{number}",
            reason="r" * 900,
        )
    calls: list[dict[str, Any]] = [
        {"action": "next"},
        {"action": "prepare", "task_id": "task-1-2"},
        {"action": "prepare-batch", "max_tasks": 20},
        {"action": "info", "task_id": "task-1-2"},
        {"action": "info", "task_id": "phase-1"},
        {"action": "check-deps", "task_id": "task-1-2"},
        {"action": "progress"},
        {"action": "list", "limit": 100},
        {"action": "query", "parent": "phase-2", "limit": 100},
        {"action": "hierarchy", "include_metadata": True},
        {"action": "list-blocked"},
        {"action": "metadata-batch", "pattern": ".", "update_metadata": {"k": "v" * 5_000}},
        {"action": "add-requirement", "task_id": "task-1-1", "requirement_type": "technical"}
        | {"text": "t" * 9_000},
        {"action": "complete", "task_id": "task-1-1", "completion_note": "n" * 20_000},
    ]
    for given in calls:
        answer = foundry.does("task", spec_id=SPEC, **given)
        assert len(orjson.dumps(answer)) <= 10_000, given
    text, cursor = "", ""
    while True:
        given = {"cursor": cursor} if cursor else {}
        page = foundry.does("task", action="info", spec_id=SPEC, task_id="task-1-2", **given)
        text += page["data"]["content"]
        cursor = page["meta"]["pagination"]["cursor"]
        if not cursor:
            break
    assert orjson.loads(text)["metadata"]["description"] == long
    assert ada.core.overview.state().ledger_size


def test_a_list_goes_on_at_its_cursor(foundry: Agent, made: Callable[..., str]) -> None:
    """To the end, each once, whatever fits a page."""
    made(phases=3, tasks=40, spec=SPEC)
    for action, key in (("list", "tasks"), ("query", "tasks"), ("hierarchy", "hierarchy")):
        found: list[str] = []
        cursor = ""
        while True:
            given = {"cursor": cursor} if cursor else {}
            page = foundry.does("task", action=action, spec_id=SPEC, limit=37, **given)
            rows = page["data"][key]
            found += (
                list(rows)
                if isinstance(rows, dict)
                else [one.get("id") or one["task_id"] for one in rows]
            )
            cursor = page["meta"]["pagination"]["cursor"]
            if not cursor:
                break
        tasks = [name for name in found if name.startswith("task")]
        assert len(tasks) == len(set(tasks)) == 120


def test_a_command_of_a_node_is_kept_and_run(root: str, foundry: Agent) -> None:
    assert root
    foundry.does(
        "task", action="add", spec_id=SPEC, parent="phase-1", title="Test", task_type="verify"
    )
    foundry.does(
        "task",
        action="update-metadata",
        spec_id=SPEC,
        task_id="verify-1-1",
        command="echo well",
        verification_type="run-tests",
    )
    ran = foundry.does("verification", action="execute", spec_id=SPEC, verify_id="verify-1-1")
    data = ran["data"]
    assert (data["result"], data["exit_code"], data["output"]) == ("PASSED", 0, "well\n")
    assert data["receipt"]["exit_code"] == 0
    node = foundry.does("task", action="info", spec_id=SPEC, task_id="verify-1-1")["data"]["task"]
    assert node["metadata"] == {"command": "echo well", "verification_type": "run-tests"}


def test_research_is_handed_out_and_holds_nothing_back(root: str, foundry: Agent) -> None:
    """Unless it says that it is hard; the warning says what became of the edge."""
    assert root
    foundry.does(
        "task",
        action="add",
        spec_id=SPEC,
        parent="phase-1",
        title="Look",
        task_type="research",
        query="Which way?",
        position=0,
        estimated_hours=1,
    )
    edge = {"spec_id": SPEC, "task_id": "research-1-1", "target_id": "task-1-1"}
    linked = foundry.does("task", action="add-dependency", **edge)
    assert "only hard research" in linked["meta"]["warnings"][0]
    found = foundry.does("task", action="next", spec_id=SPEC)["data"]
    assert (found["task_id"], found["metadata"]["blocking_mode"]) == ("research-1-1", "soft")
    deps = foundry.does("task", action="check-deps", spec_id=SPEC, task_id="task-1-1")["data"]
    assert deps["can_start"]
    assert [one["id"] for one in deps["soft_depends"]] == ["research-1-1"]


def test_what_of_another_dialect_is_begun_is_no_task_of_a_spec(
    root: str, foundry: Agent, ada: Agent
) -> None:
    """Nor is it offered as one to go on with."""
    alone = ada.core.plans.create(Draft(kind="task", title="Alone")).root
    foundry.core.claims.start(alone.id)
    assert root
    assert "continue" not in foundry.does("task", action="next", spec_id=SPEC)["data"]


def test_a_value_is_cut_until_it_fits() -> None:
    """Texts and lists first, then what is largest."""
    value: Any = {"a": "x" * 5_000, "b": [1] * 300, "c": {"d": "y" * 100}, "e": 1}
    assert fitted({"a": 1}, 100) == {"a": 1}
    for room in (3_000, 700, 200, 20):
        assert size_of(fitted(value, room)) <= room
    assert fitted(5, 0) == 5


def test_a_spec_without_tasks_says_what_to_add(foundry: Agent) -> None:
    """Nothing of it is blocked."""
    root = Draft(kind="spec", title="Export", lifecycle="declared", aliases=(("spec", SPEC),))
    foundry.core.plans.create(root)
    for action in ("next", "prepare"):
        following = foundry.does("task", action=action, spec_id=SPEC)["data"]
        assert following["message"] == "It has no tasks yet: authoring phase-add, task add"


def test_a_phase_that_awaits_a_verdict_is_not_complete(foundry: Agent) -> None:
    """Nor is its spec, until it was judged: each answer says so, with what to do."""
    plan = Draft(
        kind="spec",
        title="Export",
        lifecycle="declared",
        aliases=(("spec", SPEC),),
        children=(
            Draft(
                kind="phase",
                title="Build",
                aliases=(("node", f"{SPEC}/phase-1"),),
                review=True,
                children=(Draft(kind="task", title="One", aliases=(("node", f"{SPEC}/task-1"),)),),
            ),
        ),
    )
    foundry.core.plans.create(plan)
    foundry.does("lifecycle", action="activate", spec_id=SPEC)
    foundry.does("task", action="complete", spec_id=SPEC, task_id="task-1", completion_note="x")
    phase = foundry.does("task", action="info", spec_id=SPEC, task_id="phase-1")["data"]["task"]
    assert phase["status"] == "in_progress"
    following = foundry.does("task", action="next", spec_id=SPEC)["data"]
    assert not following["spec_complete"]
    assert "phase-1" in following["message"]
    state = foundry.does("lifecycle", action="state", spec_id=SPEC)
    assert not state["data"]["can_complete"]
    assert "judged" in state["meta"]["warnings"][0]
    refusal = foundry.is_refused("lifecycle", action="complete", spec_id=SPEC)
    assert "phase-1" in refusal["error"]
    assert "judged" in refusal["data"]["remediation"]
