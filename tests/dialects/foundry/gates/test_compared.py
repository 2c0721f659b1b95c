"""Work that is compared with its spec at any time."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Workshop
from counterpoint.core.model.filters import Judgment
from fakes.gates import SPEC, Begin, person_of


def test_work_is_compared_with_its_spec_at_any_time(done: Begin, workshop: Workshop) -> None:
    """The whole, a phase or a task; nothing is kept of it, and what people asked for is told."""
    run = done("false")
    size = run.agent.ledger_size

    def compared(**asked: str) -> dict[str, Any]:
        return run.agent.does("review", action="fidelity", spec_id=SPEC, **asked)["data"]

    phase = compared(phase_id="phase-1", session_id=run.session)
    assert (phase["scope"], phase["title"], phase["verdict"]) == ("phase", "Phase 1", "fail")
    assert [one["type"] for one in phase["deviations"]] == ["verification_failed"]
    task = compared(task_id="task-1-1")
    assert (task["scope"], task["verdict"], task["deviations"]) == ("task", "pass", [])
    whole = compared()
    assert [one["type"] for one in whole["deviations"]] == [
        *("verification_failed", "task_open", "criterion_open", "file_missing")
    ]
    assert run.agent.ledger_size == size
    lowered = {**run.run, "task_id": "verify-1-1", "command": "true"}
    run.agent.does("task", action="update-metadata", **lowered)
    assert compared(task_id="task-1-1")["deviations"] == []
    assert "promise_changed" in [one["type"] for one in compared()["deviations"]]
    judgment = Judgment(approves=False, reason="not yet", fixes=("more tests",))
    person_of(workshop).reviews.review(run.item("phase-1").id, judgment)
    assert compared(phase_id="phase-1")["recommendations"] == ["not yet", "more tests"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"spec_id": "nope"}, "SPEC_NOT_FOUND"),
        ({"phase_id": "phase-9"}, "PHASE_NOT_FOUND"),
        ({"phase_id": "task-1-1"}, "PHASE_NOT_FOUND"),
        ({"task_id": "task-9-1"}, "TASK_NOT_FOUND"),
        ({"task_id": "phase-1"}, "TASK_NOT_FOUND"),
        ({"task_id": "task-1-1", "phase_id": "phase-1"}, "VALIDATION_ERROR"),
        ({"session_id": "ses_9"}, "NO_ACTIVE_SESSION"),
    ],
)
def test_nothing_is_compared_that_there_is_not(
    asked: dict[str, str], code: str, run_of: Begin
) -> None:
    """Each is refused by its name."""
    given = {"spec_id": SPEC, **asked}
    refused = run_of().agent.is_refused("review", action="fidelity", **given)
    assert refused["data"]["error_code"] == code
