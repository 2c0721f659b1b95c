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
}


def begun(
    workshop: Workshop, phases: int = 1, command: str = "true", **terms: Any
) -> tuple[Stepper, dict[str, Any]]:
    """Make a spec whose phases are verified, as `phase-add-bulk` does, and begin a run of it; answer the start too."""
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
        planner.does("authoring", **asked, tasks=[TASK, CHECK | {"command": command}])
    planner.does("lifecycle", action="activate", spec_id=spec)
    agent = workshop.agent("fay", surface="foundry")
    begin = {"action": "session", "command": "start", "spec_id": spec}
    start = agent.does("task", **begin, **terms)
    session = start["data"]["session_id"]
    return Stepper(workshop=workshop, agent=agent, session=session, spec=spec), start


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("phases", [1, 2])
def test_a_run_whose_gates_all_pass_completes_its_spec(
    phases: int, stops: bool, workshop: Workshop
) -> None:
    """Also where the report that opens the last gate is what completes it: the entry that says so lands with the call."""
    run, _start = begun(workshop, phases, stop_on_phase_completion=stops)
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


def test_a_run_says_from_its_start_which_commands_a_person_has_to_allow(workshop: Workshop) -> None:
    """And again where it stopped because they were refused: with the command that a person types, as it is."""
    typed = "counterpoint trust --allow 'pytest -k '\"'\"'a b'\"'\"''"
    workshop.app.is_open = False
    run, start = begun(workshop, command="pytest -k 'a b'")
    (warned,) = start["meta"]["warnings"]
    assert typed in warned
    run.goes_on_to("execute_verification")
    about = {"spec_id": run.spec, "session_id": run.session, "step_id": run.step["step_id"]}
    asked = {"action": "execute", "verify_id": run.step["task_id"], **about}
    refused = run.agent.is_refused("verification", **asked)["data"]
    assert f"`{typed}`" in refused["remediation"]
    while run.type != "pause":
        run.reports("failure")
    stopped = run.status()
    assert stopped["pause_reason"] == "error_threshold"
    first = stopped["recommended_actions"][0]
    assert (first["action"], first["command"]) == ("allow_verification_command", typed)


def test_a_gate_that_waits_names_what_an_agent_calls_and_what_a_person_types(
    workshop: Workshop,
) -> None:
    """Both whole, so that neither has to look for an id."""
    run, _start = begun(workshop, gate_policy="manual")
    run.goes_on_to("pause")
    attempt = run.data["gate_attempt_id"]
    (told,) = run.data["recommended_actions"]
    command = f"task session resume session_id={run.session} acknowledge_gate_review=true"
    assert told["command"] == f"{command} acknowledged_gate_attempt_id={attempt}"
    assert f"`counterpoint approve {run.spec}/phase-1`" in told["description"]
    assert run.status()["recommended_actions"] == [told]
    asked = {"action": "session", "command": "resume", "session_id": run.session}
    refused = run.agent.is_refused("task", **asked)["data"]
    assert refused["error_code"] == "MANUAL_GATE_ACK_REQUIRED"
    assert f"`counterpoint approve {run.spec}/phase-1`" in refused["remediation"]
    waiver = {"action": "gate-waiver", "spec_id": run.spec, "phase_id": "phase-1"}
    denied = run.agent.is_refused("task", **waiver, reason_code="testing")["data"]
    assert (
        f"`counterpoint waive {run.spec}/phase-1 fidelity --reason TEXT`" in denied["remediation"]
    )


def test_who_worked_on_a_phase_does_not_get_rid_of_its_gate_with_the_phase(
    workshop: Workshop,
) -> None:
    """A maintainer who did not may; and what nobody has begun may be planned anew."""
    run, _start = begun(workshop, 2, gate_policy="manual")
    run.goes_on_to("pause")
    about = {"action": "phase-remove", "spec_id": run.spec, "force": True}
    refused = run.agent.is_refused("authoring", **about, phase_id="phase-1")
    assert refused["data"]["error_code"] == "FORBIDDEN"
    assert "fay worked on phase-1" in refused["error"]
    command = f"counterpoint waive {run.spec}/phase-1 fidelity"
    assert f"`{command} --reason" in refused["data"]["remediation"]
    run.agent.does("authoring", **about, phase_id="phase-2")
    kept = run.agent.does("spec", action="get", spec_id=run.spec)["data"]["spec"]
    assert '"phase-1"' in kept
    assert '"phase-2":' not in kept


def test_what_is_added_to_a_phase_comes_before_what_verifies_it(workshop: Workshop) -> None:
    """As `phase-add` makes that first; a place that is asked for stays, and so does one among verifications."""
    run, _start = begun(workshop)
    about = {"spec_id": run.spec, "session_id": run.session}
    run.agent.does("authoring", action="phase-add", title="Paint", link_previous=False, **about)
    added = {"action": "add", "parent": "phase-2", **about}
    told = run.agent.does("task", **added, title="Sand")["data"]
    assert (told["task_id"], told["position"]) == ("task-2-1", 0)
    told = run.agent.does("task", **added, title="Look", task_type="verify")["data"]
    assert (told["task_id"], told["position"]) == ("verify-2-3", 3)
    told = run.agent.does("task", **added, title="Varnish", position=4)["data"]
    assert told["position"] == 4
    listed = run.agent.does("task", action="query", spec_id=run.spec, parent="phase-2")["data"]
    order = [one["task_id"] for one in listed["tasks"]]
    assert order == ["task-2-1", "verify-2-1", "verify-2-2", "verify-2-3", "task-2-2"]
