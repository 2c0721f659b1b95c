"""Whole runs of specs as planners make them, with nothing but calls of this surface."""

from __future__ import annotations

from typing import Any, Final

import pytest

from builders import Workshop
from fakes.stepping import Stepper

PATHS: Final = {"plan_path": ".plans/p.md", "plan_review_path": ".plan-reviews/p.md"}
TASK: Final = {"title": "Build", "description": "Build it", "acceptance_criteria": ["it stands"]}
CHECK: Final = {
    "title": "Try it",
    "description": "Try it",
    "type": "verify",
    "verification_type": "run-tests",
    "command": "true",
}


def begun(workshop: Workshop, phases: int = 1, **terms: Any) -> Stepper:
    """Make a spec whose phases are verified, as `phase-add-bulk` does, and begin a run of it."""
    for path in PATHS.values():
        file = workshop.root / "specs" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# a plan\n")
    planner = workshop.agent("ada", surface="foundry")
    made = planner.does("authoring", action="spec-create", name="Pier", **PATHS)
    spec = made["data"]["spec_id"]
    for number in range(1, phases + 1):
        phase = {"title": f"Phase {number}"}
        asked = {"action": "phase-add-bulk", "spec_id": spec, "phase": phase}
        planner.does("authoring", **asked, tasks=[TASK, CHECK])
    agent = workshop.agent("fay", surface="foundry")
    begin = {"action": "session", "command": "start", "spec_id": spec}
    session = agent.does("task", **begin, **terms)["data"]["session_id"]
    return Stepper(workshop=workshop, agent=agent, session=session, spec=spec)


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("phases", [1, 2])
def test_a_run_whose_gates_all_pass_completes_its_spec(
    phases: int, stops: bool, workshop: Workshop
) -> None:
    """Also where the report that opens the last gate is what completes it: the entry that says so lands with the call."""
    run = begun(workshop, phases, stop_on_phase_completion=stops)
    run.does()
    for _ in range(30):
        if run.type == "pause":
            run.manages("resume")
        if run.type == "complete_spec":
            break
        run.works()
    assert (run.data["status"], run.data["loop_signal"]) == ("completed", "spec_complete")
    assert run.reports()["next_step"] is None
    found = run.agent.does("lifecycle", action="state", spec_id=run.spec)["data"]
    assert (found["completed_tasks"], found["can_complete"]) == (3 * phases, True)
