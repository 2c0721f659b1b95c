"""Gates of phases: what opens them, and what proves it."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from counterpoint.dialects.foundry.models.runs import (
    GATE_POLICIES,
    GATE_STATUSES,
    PAUSE_REASONS,
    VERDICTS,
    Evidence,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    GateEvent,
    PhaseGate,
    acknowledged,
    after_resume,
    after_verdict,
    integrity_of,
    judged,
    missing,
    refuse_unproven,
    refuse_unsatisfied,
    required_gate,
    tried_again,
)
from counterpoint.kernel.errors import GateClosed, LedgerBroken
from fakes.runs import KEY, evidence

OPENS = {("strict", "pass"), ("lenient", "pass"), ("lenient", "warn")}


@pytest.mark.parametrize("policy", GATE_POLICIES)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_each_verdict_passes_fails_or_waits_as_the_policy_says(policy, verdict):
    """A phase without a verify node always waits for a person."""
    wanted = "passed" if (policy, verdict) in OPENS else "failed"
    assert judged("fidelity", policy, verdict) == ("pending" if policy == "manual" else wanted)
    assert judged("manual_review", policy, verdict) == "pending"


def test_a_phase_with_a_verify_node_has_a_fidelity_gate():
    """Any other is reviewed by a person."""
    assert required_gate(has_verify=True) == "fidelity"
    assert required_gate(has_verify=False) == "manual_review"


@pytest.mark.parametrize("status", GATE_STATUSES)
def test_a_gate_that_is_satisfied_stays_so(status):
    """Whatever is reported or tried again."""
    gate = PhaseGate(phase="p", status=status, attempt="a1")
    is_satisfied = status in {"passed", "waived"}
    assert gate.is_satisfied == is_satisfied
    assert (after_verdict(gate, "strict", "fail", "a2") == gate) == is_satisfied
    assert (tried_again(gate) == gate) == is_satisfied


@pytest.mark.parametrize("reason", PAUSE_REASONS)
def test_a_gate_after_a_resume_is_tried_again_or_passed_by_a_person(reason):
    """A failed one is judged afresh, a reviewed one has passed; both so that the run goes on."""
    waiting = after_verdict(PhaseGate(phase="p"), "manual", "warn", "a1")
    failed = after_verdict(PhaseGate(phase="p"), "strict", "warn", "a1")
    assert waiting.awaits_person
    assert not failed.awaits_person
    is_review = reason == "gate_review_required"
    assert after_resume(waiting, reason).is_satisfied == is_review
    cleared = reason in {"gate_failed", "fidelity_cycle_limit"}
    assert after_resume(failed, reason) == (PhaseGate(phase="p") if cleared else failed)


def test_nobody_acknowledges_what_no_reviewer_has_seen():
    """The gate stays as it is."""
    assert acknowledged(PhaseGate(phase="p")) == PhaseGate(phase="p")


@pytest.mark.parametrize("name", [one.name for one in fields(Evidence) if one.name != "integrity"])
def test_the_integrity_of_evidence_covers_every_field(name):
    """And hangs from the key."""
    found = evidence()
    assert integrity_of(replace(found, **{name: "fail"}), KEY) != found.integrity
    assert integrity_of(found, b"another") != found.integrity
    assert integrity_of(replace(found, integrity="x"), KEY) == found.integrity


def test_gates_that_are_not_satisfied_are_named():
    """With the code that a supervisor knows."""
    gates = [
        PhaseGate(phase="a", status="passed"),
        PhaseGate(phase="b"),
        PhaseGate(phase="c", status="failed"),
    ]
    assert missing(gates) == ("b", "c")
    with pytest.raises(GateClosed) as refused:
        refuse_unsatisfied(gates)
    assert refused.value.facts["error_code"] == "REQUIRED_GATE_UNSATISFIED"
    refuse_unsatisfied(gates[:1])


PASSED = PhaseGate(phase="p", status="passed", attempt="a2")
WAIVED = PhaseGate(phase="p", status="waived", waiver="w1")


@pytest.mark.parametrize(
    ("gate", "events", "is_proven"),
    [
        (PASSED, [("gate_failed", "a1"), ("gate_passed", "a2")], True),
        (PASSED, [("gate_passed", "a1")], False),
        (PASSED, [("gate_passed", "a2"), ("gate_failed", "a3")], False),
        (PASSED, [("gate_waived", "a2")], False),
        (PASSED, [], False),
        (WAIVED, [("gate_waived", "w1")], True),
        (WAIVED, [("gate_waived", "w2")], False),
        (WAIVED, [("gate_passed", "w1")], False),
        (PhaseGate(phase="p"), [], True),
        (PhaseGate(phase="p", status="failed"), [("gate_failed", "a1")], True),
        (PhaseGate(phase="p"), [("gate_passed", "a1")], False),
    ],
)
def test_a_gate_that_the_ledger_does_not_prove_is_found(gate, events, is_proven):
    """The last event of the phase has to say what the gate says, of the same attempt."""
    told = [GateEvent(phase="p", kind=kind, attempt=attempt) for kind, attempt in events]
    told.insert(0, GateEvent(phase="q", kind="gate_passed", attempt="a9"))
    if is_proven:
        refuse_unproven([gate], told)
        return
    with pytest.raises(LedgerBroken) as refused:
        refuse_unproven([gate], told)
    assert refused.value.facts["error_code"] == "GATE_AUDIT_FAILURE"
