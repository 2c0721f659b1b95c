"""Gates that are waived."""

from __future__ import annotations

import pytest

from builders import Workshop
from counterpoint.core.model.filters import Edit
from counterpoint.settings import Settings
from fakes.gates import SPEC, Begin, person_of

SUPERVISED = Settings(posture="supervised")
WAIVER = {"action": "gate-waiver", "phase_id": "phase-1", "reason_code": "operator_override"}


def test_a_maintainer_who_did_not_work_on_it_waives_a_gate(
    run_of: Begin, workshop: Workshop
) -> None:
    """It is told in the journal, in the events of the run and in the ledger; the phase ends once its work has."""
    run = run_of("false")
    run.work()
    max_ = workshop.agent("max", surface="foundry", settings=SUPERVISED)
    told = max_.does("task", **WAIVER, reason_detail="the machine is away", spec_id=SPEC)["data"]
    assert (told["session_id"], told["gate_status"]) == (run.session, "waived")
    assert (told["reason_code"], told["waived_by_role"]) == ("operator_override", "maintainer")
    assert told["reason_detail"] == "the machine is away"
    waived = run.gates()[0]
    assert (waived.status, waived.waiver) == ("waived", told["waiver_id"])
    run.prove()
    assert run.events()[0] == "gate_waived"
    entries = run.agent.does("journal", action="list", spec_id=SPEC)["data"]["entries"]
    assert (entries[0]["title"], entries[0]["author"]) == (
        "Gate of phase-1 waived: operator_override",
        "max",
    )
    shown = workshop.agent("eve").does("show", id=run.item("phase-1").id)
    assert shown["gates"][0]["status"] == "waived"
    assert max_.is_refused("task", **WAIVER, spec_id=SPEC)["data"]["error_code"] == (
        "VALIDATION_ERROR"
    )
    run.verify()
    assert run.item("phase-1").status == "done"


@pytest.mark.parametrize(
    ("who", "settings", "changed", "code"),
    [
        ("max", Settings(), {}, "FORBIDDEN"),
        ("max", Settings(role="maintainer"), {}, "FORBIDDEN"),
        ("max", Settings(role="autonomy_runner", posture="supervised"), {}, "AUTHORIZATION"),
        ("max", Settings(posture="unattended"), {}, "AUTHORIZATION"),
        ("fay", SUPERVISED, {}, "FORBIDDEN"),
        ("max", SUPERVISED, {"phase_id": "phase-9"}, "NOT_FOUND"),
        ("max", SUPERVISED, {"phase_id": "task-1-1"}, "NOT_FOUND"),
        ("max", SUPERVISED, {"reason_code": "because"}, "INVALID_FORMAT"),
        ("max", SUPERVISED, {"spec_id": "nope"}, "SPEC_NOT_FOUND"),
    ],
)
def test_nobody_else_waives_a_gate(
    who: str,
    settings: Settings,
    changed: dict[str, str],
    code: str,
    done: Begin,
    workshop: Workshop,
) -> None:
    """Neither without the permission of the server, nor whoever worked on the phase, however he was started."""
    run = done()
    agent = workshop.agent(who, surface="foundry", settings=settings)
    refused = agent.is_refused("task", **{**WAIVER, "spec_id": SPEC, **changed})
    assert refused["data"]["error_code"] == code
    assert run.gates()[0].status == "pending"


def test_what_a_file_of_the_project_says_makes_no_maintainer(
    done: Begin, workshop: Workshop
) -> None:
    """Whom it would free can write it: the core asks for a person or a credential."""
    file = "[autonomy_security]\nrole = 'maintainer'\nallow_gate_waiver = true\n"
    (workshop.root / "foundry-mcp.toml").write_text(file)
    run = done()
    agent = workshop.agent("max", surface="foundry")
    refused = agent.is_refused("task", **WAIVER, spec_id=SPEC)
    assert refused["data"]["error_code"] == "FORBIDDEN"
    assert "has begun" in refused["error"]
    assert run.gates()[0].status == "pending"


def test_where_a_project_asks_for_people_no_maintainer_waives(
    done: Begin, workshop: Workshop
) -> None:
    """A person signs."""
    run = done()
    person_of(workshop).projects.ask_of_reviews("person")
    agent = workshop.agent("max", surface="foundry", settings=SUPERVISED)
    refused = agent.is_refused("task", **WAIVER, spec_id=SPEC)
    assert refused["data"]["error_code"] == "FORBIDDEN"
    assert run.gates()[0].status == "pending"


def test_a_gate_that_a_person_waives_at_the_command_line_is_waived_for_the_run(
    done: Begin, workshop: Workshop
) -> None:
    run = done()
    edit = Edit(waive=("fidelity",), reason="seen by hand")
    person_of(workshop).items.edit(run.item("phase-1").id, edit)
    assert run.gates()[0].waiver == f"waiver-{run.item('phase-1').id}"
    run.prove()


def test_gates_outlive_their_runs_and_can_be_waived_after_them(
    done: Begin, workshop: Workshop
) -> None:
    run = done()
    agent = workshop.agent("max", surface="foundry", settings=SUPERVISED)
    agent.does("task", action="session", command="end", reason_code="testing", spec_id=SPEC)
    assert run.item("phase-1").status == "active"
    told = agent.does("task", **WAIVER, session_id=run.session)["data"]
    assert told["spec_id"] == SPEC
    assert run.item("phase-1").status == "done"
