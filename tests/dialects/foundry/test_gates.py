"""Gates of unattended runs, as agents call the tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Workshop, attested_as, commit, let_run
from counterpoint.app import Identity
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, Judgment
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.nouns.autonomy import GateEvidence, SpecSession
from counterpoint.evidence.trust.signer import FileSigner
from counterpoint.kernel.errors import CounterpointError, LedgerBroken, SignerAway
from counterpoint.settings import Settings
from fakes.gates import PROOF, SPEC, Gated, extra_verification, gated_draft

Begin = Callable[..., Gated]


@pytest.fixture
def run_of(workshop: Workshop) -> Begin:
    """Answer what begins a run of a spec with gates."""

    def begin(command: str = "true", **terms: str) -> Gated:
        let_run(workshop.root)
        workshop.agent("ada").core.plans.create(gated_draft(command))
        agent = workshop.agent("fay", surface="foundry")
        begun = agent.does("task", action="session", command="start", spec_id=SPEC, **terms)
        return Gated(workshop=workshop, agent=agent, session=begun["data"]["session_id"])

    return begin


@pytest.fixture
def done(run_of: Begin) -> Begin:
    """Answer what begins a run of which the first phase is done."""

    def begin(command: str = "true", **terms: str) -> Gated:
        run = run_of(command, **terms)
        run.work()
        run.verify()
        return run

    return begin


def person_of(workshop: Workshop) -> Core:
    """Answer the core as a person uses it at the command line."""
    return workshop.app.core(Identity(kind="human", name="pat", attested=attested_as("pat")))


def types(found) -> list[str]:
    """Return what was found, by type."""
    return [one["type"] for one in found["findings"]]


def test_a_phase_that_kept_its_promises_passes_and_ends(done: Begin) -> None:
    """The server looks at receipts, files and criteria itself; the gate opens with the report, and the phase closes."""
    run = done()
    asked = run.issue()
    found = run.review(**asked, step_proof=PROOF)
    assert (found["verdict"], found["findings"]) == ("pass", [])
    assert found["gate_passed_preview"] is True
    assert {name: found[name] for name in ("spec_id", "session_id", "phase_id", "step_id")} == asked
    assert run.item("phase-1").status == "active"
    assert run.report(asked, found["gate_attempt_id"]) == "passed"
    assert run.item("phase-1").status == "done"
    assert [gate.status for gate in run.gates()] == ["passed", "pending"]
    assert run.events()[:2] == ["gate_passed", "gate_reviewed"]
    run.prove()


@pytest.mark.parametrize(("policy", "opens"), [("strict", "failed"), ("lenient", "passed")])
def test_a_warning_passes_only_where_the_policy_is_lenient(
    policy: str, opens: str, done: Begin
) -> None:
    """Here what was verified was edited after that."""
    run = done(gate_policy=policy)
    commit(run.workshop.root, "src/part1.py", "PART = 11\n")
    found = run.review(**(asked := run.issue()))
    assert (found["verdict"], types(found)) == ("warn", ["verification_stale"])
    assert found["gate_passed_preview"] is (opens == "passed")
    assert run.report(asked, found["gate_attempt_id"]) == opens
    assert run.gates()[0].status == opens


def test_what_fails_is_told_and_judged_anew_once_it_is_put_right(done: Begin) -> None:
    """A second attempt is a second piece of evidence; the first stays."""
    run = done("test -f src/part2.py")
    found = run.review(**(asked := run.issue()))
    assert (found["verdict"], types(found)) == ("fail", ["verification_failed"])
    assert found["findings"][0] == {
        "type": "verification_failed",
        "weight": "fail",
        "description": "verify-1-1 ended with exit code 1",
    }
    assert run.report(asked, found["gate_attempt_id"]) == "failed"
    assert run.item("phase-1").status == "active"
    commit(run.workshop.root, "src/part2.py", "PART = 2\n")
    run.agent.does("verification", action="execute", verify_id="verify-1-1", **run.run)
    again = run.review(**(asked := run.issue()))
    assert (again["verdict"], again["findings"]) == ("pass", [])
    assert again["gate_attempt_id"] != found["gate_attempt_id"]
    assert run.report(asked, again["gate_attempt_id"]) == "passed"
    run.prove()


def test_what_was_promised_and_not_done_is_found(run_of: Begin) -> None:
    """Work that is open, files that are not there, commands that nobody ran here."""
    run = run_of()
    found = run.review(**run.issue())
    heavy = ["task_open", "file_missing", "task_open", "verification_unproved"]
    assert types(found) == [*heavy, "criterion_open"]
    assert found["verdict"] == "fail"


def test_an_attempt_is_judged_once(done: Begin) -> None:
    """Asked again it hears the same, and nothing is written: what is put right is judged in the next attempt."""
    run = done("test -f src/part2.py")
    asked = run.issue()
    found = run.review(**asked)
    commit(run.workshop.root, "src/part2.py", "PART = 2\n")
    run.agent.does("verification", action="execute", verify_id="verify-1-1", **run.run)
    size = run.agent.ledger_size
    assert run.review(**asked) == found
    assert run.agent.ledger_size == size


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"step_id": "step_9"}, "STEP_MISMATCH"),
        ({"phase_id": "phase-2"}, "STEP_MISMATCH"),
        ({"phase_id": "phase-9"}, "PHASE_NOT_FOUND"),
        ({"phase_id": "task-1-1"}, "PHASE_NOT_FOUND"),
        ({"session_id": "ses_none"}, "NO_ACTIVE_SESSION"),
        ({"spec_id": "nope"}, "SPEC_NOT_FOUND"),
        ({"step_proof": "cd" * 32}, "STEP_PROOF_MISMATCH"),
    ],
)
def test_a_review_is_for_the_step_that_is_out(
    changed: dict[str, str], code: str, done: Begin
) -> None:
    """And for nothing else."""
    run = done()
    assert run.fails(**{**run.issue(), **changed}) == code


def test_no_review_is_made_for_a_step_that_was_reported_or_of_a_run_that_stands_still(
    done: Begin,
) -> None:
    """Each is told how it is."""
    run = done()
    asked = run.issue()
    run.report(asked, run.review(**asked)["gate_attempt_id"])
    assert run.fails(**asked) == "STEP_MISMATCH"
    asked = run.issue(kind="address_fidelity_feedback")
    assert run.fails(**asked) == "STEP_MISMATCH"
    asked = run.issue()
    run.agent.does("task", action="session", command="pause", session_id=run.session)
    assert run.fails(**asked) == "INVALID_STATE_TRANSITION"


def test_only_who_has_the_run_has_its_phase_reviewed(done: Begin, workshop: Workshop) -> None:
    """Somebody else with the same words is refused."""
    run = done()
    asked = run.issue()
    other = workshop.agent("eve", surface="foundry")
    refused = other.is_refused("review", action="fidelity-gate", **asked)
    assert refused["data"]["error_code"] == "FORBIDDEN"


TAMPERINGS = [
    {"verdict": "pass"},
    {"integrity": ""},
    {"integrity": "0" * 64},
    {"step": "step_9"},
    {"session": "ses_9"},
    {"reviewer": "deterministic2"},
    {"issued_at": "2026-01-02T03:04:06.000Z"},
]


@pytest.mark.parametrize("columns", TAMPERINGS)
def test_evidence_that_somebody_changed_is_refused_and_found(
    columns: dict[str, str], done: Begin
) -> None:
    """One byte is enough, and so is integrity that was taken away; the gate is judged anew."""
    run = done("false")
    asked = run.issue()
    found = run.review(**asked)
    attempt = found["gate_attempt_id"]
    run.edit(GateEvidence, {"id": attempt}, **columns)
    with pytest.raises(LedgerBroken) as refused:
        run.report(asked, attempt)
    assert refused.value.facts["error_code"] == "GATE_INTEGRITY_CHECKSUM"
    assert run.gates()[0].status == "pending"
    faults = run.agent.core.audit.verify().faults
    assert any("gate_evidence" in str(fault) for fault in faults)
    again = run.review(**asked)
    assert (again["verdict"], again["gate_attempt_id"]) == ("fail", attempt)


def test_evidence_of_another_step_phase_or_session_is_refused(done: Begin) -> None:
    """However genuine it is."""
    run = done()
    first = run.issue()
    found = run.review(**first)
    second = run.issue()
    with pytest.raises(CounterpointError) as refused:
        run.report(second, found["gate_attempt_id"])
    assert refused.value.facts["error_code"] == "INVALID_GATE_EVIDENCE"
    with pytest.raises(CounterpointError) as refused:
        run.report(second, "attempt_9")
    assert refused.value.facts["error_code"] == "INVALID_GATE_EVIDENCE"


def test_without_a_signer_there_is_no_evidence(
    done: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None without integrity is ever written."""
    run = done()
    asked = run.issue()

    def away(*_: object) -> bytes:
        raise SignerAway("the signer is away")

    monkeypatch.setattr(FileSigner, "sign", away)
    assert run.fails(**asked) == "UNAVAILABLE"


def test_a_gate_that_was_opened_in_the_database_is_not_proven(done: Begin) -> None:
    """The ledger says of every open gate what opened it."""
    run = done()
    phase = run.item("phase-1").id
    run.edit(Gate, {"item": phase, "name": "fidelity"}, status="met", proof="attempt_1")
    assert run.gates()[0].status == "passed"
    with pytest.raises(LedgerBroken) as refused:
        run.prove()
    assert refused.value.facts["error_code"] == "GATE_AUDIT_FAILURE"
    assert run.agent.core.audit.verify().faults


def test_a_verification_that_was_made_easier_since_the_run_began_is_told(done: Begin) -> None:
    """Whoever works in a run may word its nodes anew, but not past the reviewer."""
    run = done("false")
    asked = {**run.run, "task_id": "verify-1-1"}
    run.agent.does("task", action="update-metadata", command="true", **asked)
    run.agent.does("verification", action="execute", verify_id="verify-1-1", **run.run)
    found = run.review(**run.issue())
    assert (found["verdict"], types(found)) == ("warn", ["promise_changed"])


def test_who_worked_on_a_phase_does_not_open_its_gate_in_any_dialect(
    done: Begin, workshop: Workshop
) -> None:
    """Somebody else may, and the run sees it: the gate is one of the core."""
    run = done()
    phase = run.item("phase-1").id
    fay = workshop.agent("fay")
    refused = fay.is_refused("review", id=phase, verdict="approve", reason="good")
    assert refused["kind"] == "forbidden"
    shown = workshop.agent("eve").does("show", id=phase)
    assert [gate["name"] for gate in shown["gates"]] == ["fidelity"]
    eve = workshop.agent("eve")
    eve.does("review", id=phase, verdict="approve", reason="I have seen it")
    assert run.gates()[0].status == "passed"
    assert run.item("phase-1").status == "done"
    run.prove()


@pytest.mark.parametrize("phase", [1, 2])
def test_a_gate_that_waits_for_a_person_is_opened_by_an_approval(
    phase: int, run_of: Begin, workshop: Workshop
) -> None:
    """Under the policy `manual` every gate, and else that of a phase without a verification."""
    run = run_of(gate_policy="manual" if phase == 1 else "strict")
    run.work(1)
    run.verify()
    if phase == 2:
        asked = run.issue()
        run.report(asked, run.review(**asked)["gate_attempt_id"])
        run.work(2)
    asked = run.issue(f"phase-{phase}")
    found = run.review(**asked)
    assert (found["verdict"], found["gate_passed_preview"]) == ("pass", False)
    assert run.report(asked, found["gate_attempt_id"]) == "pending"
    waiting = run.gates()[phase - 1]
    assert waiting.awaits_person
    assert waiting.attempt == found["gate_attempt_id"]
    person = person_of(workshop)
    person.reviews.review(run.item(f"phase-{phase}").id, Judgment(approves=True, reason="seen"))
    assert run.gates()[phase - 1].status == "passed"
    run.prove()


def test_a_gate_that_a_person_sends_back_has_failed(run_of: Begin, workshop: Workshop) -> None:
    """So that the run goes on with what is to be put right, and the next attempt waits for a person again."""
    run = run_of(gate_policy="manual")
    run.work()
    run.verify()
    asked = run.issue()
    run.report(asked, run.review(**asked)["gate_attempt_id"])
    person = person_of(workshop)
    phase = run.item("phase-1").id
    person.reviews.review(phase, Judgment(approves=False, reason="no", fixes=("more tests",)))
    assert run.gates()[0].status == "failed"
    person.reviews.review(phase, Judgment(approves=True, reason="well"))
    assert run.gates()[0].status == "passed"


def test_where_a_project_asks_for_people_no_reviewer_opens_a_gate(
    done: Begin, workshop: Workshop
) -> None:
    """Whatever the policy of the run says."""
    run = done(gate_policy="lenient")
    person_of(workshop).projects.ask_of_reviews("person")
    asked = run.issue()
    found = run.review(**asked)
    assert (found["gate_policy"], found["gate_passed_preview"]) == ("manual", False)
    assert run.report(asked, found["gate_attempt_id"]) == "pending"
    assert run.item("phase-1").status == "active"


def test_a_verification_that_is_added_later_does_not_get_round_a_person(
    run_of: Begin, workshop: Workshop
) -> None:
    """A phase that a person was to review stays one."""
    run = run_of()
    core = workshop.agent("ada").core
    core.plans.create(extra_verification(), run.item("phase-2").id)
    assert [gate.required for gate in run.gates()] == ["fidelity", "manual_review"]


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
    """By the ordinary command, which knows nothing of runs."""
    run = done()
    edit = Edit(waive=("fidelity",), reason="seen by hand")
    person_of(workshop).items.edit(run.item("phase-1").id, edit)
    assert run.gates()[0].waiver == f"waiver-{run.item('phase-1').id}"
    run.prove()


def test_gates_outlive_their_runs_and_can_be_waived_after_them(
    done: Begin, workshop: Workshop
) -> None:
    """Whoever ends a run has not opened its gates."""
    run = done()
    agent = workshop.agent("max", surface="foundry", settings=SUPERVISED)
    agent.does("task", action="session", command="end", reason_code="testing", spec_id=SPEC)
    assert run.item("phase-1").status == "active"
    told = agent.does("task", **WAIVER, session_id=run.session)["data"]
    assert told["spec_id"] == SPEC
    assert run.item("phase-1").status == "done"


def test_a_task_that_nobody_started_is_compared_with_the_beginning_of_the_run(
    run_of: Begin, workshop: Workshop
) -> None:
    """What lies there when it is completed was written in the run, committed or not."""
    run = run_of()
    commit(workshop.root, "src/part1.py", "PART = 1\n")
    asked = {**run.run, "task_id": "task-1-1"}
    run.agent.does("task", action="complete", completion_note="written", **asked)
    run.verify()
    assert run.review(**run.issue())["findings"] == []


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


def test_a_run_goes_on_once_somebody_else_has_seen_the_gate(
    run_of: Begin, workshop: Workshop
) -> None:
    """Who worked on the phase cannot say that it was reviewed; who did not approves it with that word."""
    run = run_of(gate_policy="manual")
    run.work()
    run.verify()
    asked = run.issue()
    attempt = run.review(**asked)["gate_attempt_id"]
    run.report(asked, attempt)
    run.edit(
        SpecSession, {"session": run.session}, status="paused", pause_reason="gate_review_required"
    )
    seen = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": attempt}
    resume = {"action": "session", "command": "resume", "session_id": run.session}
    refused = run.agent.is_refused("task", **resume, **seen)
    assert refused["data"]["error_code"] == "FORBIDDEN"
    other = workshop.agent("eve", surface="foundry")
    assert other.is_refused("task", **resume)["data"]["error_code"] == "MANUAL_GATE_ACK_REQUIRED"
    other.does("task", **resume, **seen)
    assert run.gates()[0].status == "passed"
    run.prove()
