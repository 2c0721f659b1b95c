"""Gates of unattended runs, as agents call the tools."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Workshop, commit, let_run
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.nouns.autonomy import GateEvidence
from counterpoint.evidence.trust.signer import FileSigner
from counterpoint.kernel.errors import CounterpointError, LedgerBroken, SignerAway
from fakes.gates import PROOF, SPEC, Gated, gated_draft

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
