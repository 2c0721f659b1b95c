"""Evidence of gates, and what the ledger says of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.models.runs import GateEvidence
from counterpoint.dialects.foundry.reviews.panel import Reviewers
from counterpoint.dialects.foundry.reviews.rules.material import Finding, PhaseWork, Review
from counterpoint.evidence.trust.signer import FileSigner
from counterpoint.kernel.errors import CounterpointError, LedgerBroken, SignerAway
from fakes.gates import Begin

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
    run = done()
    phase = run.item("phase-1").id
    run.edit(Gate, {"item": phase, "name": "fidelity"}, status="met", proof="attempt_1")
    assert run.gates()[0].status == "passed"
    with pytest.raises(LedgerBroken) as refused:
        run.prove()
    assert refused.value.facts["error_code"] == "GATE_AUDIT_FAILURE"
    assert run.agent.core.audit.verify().faults


class Teller:
    """A reviewer that says a secret."""

    name = "teller"
    said = "it says ghp_" + "a1B2" * 9

    def review(self, work: PhaseWork) -> Review:
        """Return a word about a phase."""
        told = Finding(type="told", weight="warn", about=work.phase, description=self.said)
        return Review(verdict="warn", findings=(told,))


def test_another_reviewer_is_masked_and_its_evidence_holds(done: Begin) -> None:
    """Its integrity is over what is kept; whoever judged is told."""
    run = done()
    extras = {**run.workshop.app.ports.extras(), Reviewers: Reviewers(phases=Teller())}
    run.workshop.app.ports = replace(run.workshop.app.ports, extras=lambda: extras)
    asked = run.issue()
    found = run.review(**asked)
    assert found["verdict"] == "warn"
    assert "ghp_" not in str(found)
    assert run.report(asked, found["gate_attempt_id"]) == "failed"
    told = run.agent.does("task", action="session-events", session_id=run.session)["data"]
    assert "teller" in str(told["events"][0])
