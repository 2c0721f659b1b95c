"""Reports of steps: how they are read, and every way in which one is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.models.runs import STEP_TYPES, Limits
from counterpoint.dialects.foundry.runs.rules.results import (
    RESULT_FIELDS,
    StepResult,
    is_stale,
    judge,
    proof_digest,
    read_result,
    report_digest,
)
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import CounterpointError, InvalidInput
from fakes.runs import (
    COMMAND,
    ISSUED,
    KEPT,
    NOW,
    PROOF,
    evidence,
    known,
    receipt,
    report,
    step,
)
from fakes.spec_documents import ANY_JSON

GIVEN = {
    "step_id": "step-1",
    "step_type": "execute_verification",
    "outcome": "success",
    "step_proof": PROOF,
    "task_id": "verify-1-1",
    "note": "all green",
    "files_touched": ["src/a.py"],
    "verification_receipt": receipt(),
}
VERIFY, GATE, TASK = "execute_verification", "run_fidelity_gate", "implement_task"
OTHER_PROOF = "b2" * 32


def code_for(result, facts):
    """Return the code that a report is refused with, empty if it may be taken."""
    try:
        judge(result, facts)
    except CounterpointError as refused:
        return code_of(refused)
    return ""


@pytest.mark.parametrize("kind", STEP_TYPES)
def test_a_whole_report_of_each_step_may_be_taken(kind):
    """Its digest is kept, and it was not taken before."""
    found = judge(report(kind), known(kind))
    assert found is not None
    assert found.again is None
    assert found.digest == report_digest(report(kind))


def kept(**more):
    """Return what the server knows of a verification with a receipt of its own that differs."""
    return known(VERIFY, receipts=(replace(KEPT, **more),))


REFUSALS = [
    # proofs and identity
    (None, known(), "STEP_RESULT_REQUIRED"),
    (report(step_proof=""), known(), "STEP_PROOF_MISSING"),
    (report(step_proof=OTHER_PROOF), known(proven=None), "STEP_PROOF_MISMATCH"),
    (report(step_proof=PROOF.upper()), known(proven=None), "STEP_PROOF_MISMATCH"),
    (report(), known(outstanding=None), "STEP_PROOF_MISMATCH"),
    (report(step_id="step-2"), known(), "STEP_MISMATCH"),
    (report(step_type=VERIFY), known(), "STEP_MISMATCH"),
    (report(task_id="task-1-2"), known(), "STEP_MISMATCH"),
    (report(phase_id="phase-2"), known(), "STEP_MISMATCH"),
    (report(gate_attempt_id="attempt-1"), known(), "STEP_MISMATCH"),
    (report(outcome="skipped", gate_attempt_id="attempt-9"), known(), "STEP_MISMATCH"),
    (report(GATE, gate_attempt_id="attempt-2"), known(GATE), "STEP_MISMATCH"),
    (report(), known(now=later(ISSUED, 3601)), "STEP_STALE"),
    # what a type of step needs
    (report(task_id=""), known(), "MISSING_REQUIRED"),
    (report(VERIFY, task_id=""), known(VERIFY), "MISSING_REQUIRED"),
    (report(GATE, phase_id=""), known(GATE), "MISSING_REQUIRED"),
    (report(GATE, gate_attempt_id=""), known(GATE), "MISSING_REQUIRED"),
    (report("pause", outcome="failure"), known("pause"), "INVALID_FORMAT"),
    (report(verification_receipt=receipt()), known(), "INVALID_FORMAT"),
    # evidence of gates
    (report(GATE), known(GATE, evidence=None), "INVALID_GATE_EVIDENCE"),
    (report(GATE), known(GATE, key=b""), "GATE_INTEGRITY_CHECKSUM"),
    (
        report(GATE),
        known(GATE, evidence=replace(evidence(), verdict="warn")),
        "GATE_INTEGRITY_CHECKSUM",
    ),
    (
        report(GATE),
        known(GATE, evidence=replace(evidence(), integrity="")),
        "GATE_INTEGRITY_CHECKSUM",
    ),
    (
        report(GATE),
        known(GATE, evidence=replace(evidence(), integrity="é")),
        "GATE_INTEGRITY_CHECKSUM",
    ),
    (report(GATE), known(GATE, session="s-2"), "INVALID_GATE_EVIDENCE"),
    (
        report(GATE, phase_id="phase-2"),
        known(GATE, outstanding=step(GATE, phase="phase-2")),
        "INVALID_GATE_EVIDENCE",
    ),
    (
        report(GATE, gate_attempt_id="attempt-2"),
        known(GATE, outstanding=step(GATE, attempt="attempt-2")),
        "INVALID_GATE_EVIDENCE",
    ),
    (
        report(GATE, step_id="step-2"),
        known(GATE, outstanding=step(GATE, id="step-2")),
        "INVALID_GATE_EVIDENCE",
    ),
    (report(GATE, outcome="skipped"), known(GATE), "REQUIRED_GATE_UNSATISFIED"),
    (report(GATE, outcome="skipped"), known(GATE, waiver="w1"), "INVALID_GATE_EVIDENCE"),
    # receipts of verifications
    (
        report(VERIFY, verification_receipt=None),
        known(VERIFY),
        "VERIFICATION_RECEIPT_MISSING",
    ),
    (report(VERIFY), known(VERIFY, receipts=()), "VERIFICATION_RECEIPT_INVALID"),
    (report(VERIFY), kept(exit_code=1), "VERIFICATION_RECEIPT_INVALID"),
    (report(VERIFY), kept(output_digest=COMMAND), "VERIFICATION_RECEIPT_INVALID"),
    (report(VERIFY), kept(command_hash=sha256(b"true")), "VERIFICATION_RECEIPT_INVALID"),
    (report(VERIFY), kept(issued_at=NOW), "VERIFICATION_RECEIPT_INVALID"),
    (
        report(VERIFY),
        known(VERIFY, outstanding=step(VERIFY, command="")),
        "VERIFICATION_RECEIPT_INVALID",
    ),
    # proofs that were used
    (
        report(note="otherwise"),
        known(proven=step(consumed_at=NOW, report=report_digest(report()))),
        "STEP_PROOF_CONFLICT",
    ),
    (
        report(),
        known(proven=step(consumed_at=later(NOW, -31), report=report_digest(report()))),
        "STEP_PROOF_EXPIRED",
    ),
]


@pytest.mark.parametrize(("result", "facts", "code"), REFUSALS)
def test_each_thing_that_is_wrong_with_a_report_has_its_code(result, facts, code):
    """The first that is wrong is told; what is right up to there does not matter."""
    assert code_for(result, facts) == code


WRONG_RECEIPTS = [
    *({name: None} for name in receipt()),
    {"command_hash": COMMAND.upper()},
    {"command_hash": sha256(b"true")},
    {"output_digest": "x" * 64},
    {"output_digest": COMMAND[:-1]},
    {"exit_code": "0"},
    {"exit_code": True},
    {"exit_code": 0.0},
    {"exit_code": 1},
    {"issued_at": "2026-02-03T04:05:00"},
    {"issued_at": "yesterday"},
    {"issued_at": 17},
    {"issued_at": "2026-02-03T03:59:59Z"},
    {"issued_at": "2026-02-03T04:15:01Z"},
    {"issued_at": "2026-02-03T04:05:01Z"},
    {"step_id": "step-2"},
    {"step_id": ["step-1"]},
    {"signature": "x"},
]


@pytest.mark.parametrize("change", WRONG_RECEIPTS)
def test_a_receipt_with_one_wrong_field_is_refused(change):
    """Whatever is missing, of another form, or not what this server has kept."""
    result = report(VERIFY, verification_receipt=receipt(**change))
    assert code_for(result, known(VERIFY)) == "VERIFICATION_RECEIPT_INVALID"
    assert code_for(report(VERIFY), known(VERIFY)) == ""


def test_a_key_is_not_told_where_a_value_is_shown():
    """What the server knows may stand in a traceback."""
    assert "kkkk" not in repr(known(GATE))


def test_a_true_receipt_of_a_failure_proves_no_success():
    """The server has it, and its exit code says so."""
    told = report(VERIFY, verification_receipt=receipt(exit_code=1))
    assert code_for(told, kept(exit_code=1)) == "VERIFICATION_RECEIPT_INVALID"


@pytest.mark.parametrize(("seconds", "code"), [(300, ""), (301, "VERIFICATION_RECEIPT_INVALID")])
def test_a_receipt_may_be_five_minutes_ahead(seconds, code):
    """Two clocks may differ; more than that is no time of this step, whatever is kept."""
    at = later(NOW, seconds)
    told = report(VERIFY, verification_receipt=receipt(issued_at=at))
    assert code_for(told, kept(issued_at=at)) == code


def test_all_that_is_wrong_with_a_receipt_is_told_at_once():
    """Each field with its own problem."""
    wrong = receipt(command_hash="X", exit_code="0", issued_at="now")
    with pytest.raises(InvalidInput) as refused:
        judge(report(VERIFY, verification_receipt=wrong), known(VERIFY))
    paths = [fault["path"] for fault in refused.value.facts["faults"]]
    assert paths == ["command_hash", "exit_code", "issued_at"]
    assert refused.value.facts["remediation"]


def test_the_time_of_a_receipt_is_compared_as_a_time():
    """The same moment in another zone is the same."""
    result = report(VERIFY, verification_receipt=receipt(issued_at="2026-02-03T05:05:00+01:00"))
    assert code_for(result, known(VERIFY)) == ""


def test_a_verification_without_a_command_needs_no_receipt():
    """It is judged by hand."""
    result = report(VERIFY, verification_receipt=None)
    assert code_for(result, known(VERIFY, outstanding=step(VERIFY, command=""))) == ""


def test_a_failure_may_come_with_the_receipt_of_a_failure():
    """It needs none, but one that is given has to be right."""
    failed = report(VERIFY, outcome="failure", verification_receipt=receipt(exit_code=1))
    assert code_for(failed, kept(exit_code=1)) == ""
    assert code_for(failed, known(VERIFY)) == "VERIFICATION_RECEIPT_INVALID"
    assert code_for(replace(failed, verification_receipt=None), known(VERIFY, receipts=())) == ""


def test_a_waived_gate_is_skipped_with_the_id_of_its_waiver():
    result = report(GATE, outcome="skipped", gate_attempt_id="w1")
    assert code_for(result, known(GATE, waiver="w1")) == ""
    with pytest.raises(InvalidInput) as refused:
        judge(replace(result, gate_attempt_id="w2"), known(GATE, waiver="w1"))
    assert refused.value.facts["waiver_id"] == "w1"


def test_a_gate_that_could_not_be_reviewed_needs_no_evidence():
    """Its failure is counted elsewhere."""
    result = report(GATE, outcome="failure")
    assert code_for(result, known(GATE, evidence=None)) == ""


@pytest.mark.parametrize("seconds", [0, 1, 30])
def test_the_same_report_hears_its_answer_again_within_the_grace(seconds):
    """The step that it was taken for comes back, whatever is out now."""
    taken = step(consumed_at=later(NOW, -seconds), report=report_digest(report()))
    for out in (None, step(id="step-2", proof=proof_digest(OTHER_PROOF))):
        found = judge(report(), known(proven=taken, outstanding=out))
        assert found is not None
        assert found.again == taken


def test_another_report_with_a_used_proof_is_a_conflict_at_any_time():
    """Also long after the grace."""
    taken = step(consumed_at=later(NOW, -3_000), report=report_digest(report()))
    assert code_for(report(outcome="failure"), known(proven=taken)) == "STEP_PROOF_CONFLICT"


@pytest.mark.parametrize("kind", STEP_TYPES)
def test_steps_grow_stale_but_for_those_in_which_nothing_is_to_be_done(kind):
    """A paused run may sleep for a night; a step that was issued again is as fresh as that."""
    closing = kind in {"pause", "complete_spec"}
    late = later(ISSUED, 3_601)
    assert is_stale(step(kind), late, Limits()) is not closing
    assert not is_stale(step(kind), later(ISSUED, 3_600), Limits())
    assert not is_stale(step(kind, renewed_at=later(ISSUED, 600)), late, Limits())


def test_a_step_that_was_issued_again_still_takes_the_receipt_of_before():
    """The window of a receipt begins with the first issue."""
    again = step(VERIFY, renewed_at=later(NOW, -10))
    assert code_for(report(VERIFY), known(VERIFY, outstanding=again)) == ""


def test_nothing_is_due_without_a_step_or_with_a_stale_one():
    assert judge(None, known(outstanding=None)) is None
    assert judge(None, known(now=later(ISSUED, 3_601))) is None


def test_both_forms_of_a_report_are_read_as_the_same():
    """Nested, or with its fields as arguments of their own."""
    flat = {name: GIVEN.get(name) for name in RESULT_FIELDS}
    nested, beside = read_result(GIVEN, {}), read_result(None, flat)
    assert nested == beside
    assert nested is not None
    assert report_digest(nested) == report_digest(
        StepResult(**{**GIVEN, "files_touched": ("src/a.py",)})
    )
    assert nested.files_touched == ("src/a.py",)
    assert read_result(None, dict.fromkeys(RESULT_FIELDS)) is None


@pytest.mark.parametrize(
    ("nested", "flat", "paths"),
    [
        (GIVEN, {"step_id": "step-1"}, {"last_step_result"}),
        ([GIVEN], {}, {"last_step_result"}),
        ({}, {}, {f"last_step_result.{name}" for name in ("step_id", "step_type", "outcome")}),
        (None, {"step_proof": PROOF}, {"step_id", "step_type", "outcome"}),
        ({**GIVEN, "step_type": "dance"}, {}, {"last_step_result.step_type"}),
        ({**GIVEN, "outcome": ["success"]}, {}, {"last_step_result.outcome"}),
        ({**GIVEN, "more": 1}, {}, {"last_step_result.more"}),
        ({**GIVEN, "note": "x" * 10_001}, {}, {"last_step_result.note"}),
        ({**GIVEN, "task_id": 7}, {}, {"last_step_result.task_id"}),
        ({**GIVEN, "files_touched": "a"}, {}, {"last_step_result.files_touched"}),
        ({**GIVEN, "files_touched": [""]}, {}, {"last_step_result.files_touched"}),
        ({**GIVEN, "files_touched": ["a"] * 1_001}, {}, {"last_step_result.files_touched"}),
        ({**GIVEN, "verification_receipt": "x"}, {}, {"last_step_result.verification_receipt"}),
    ],
)
def test_what_is_no_report_is_refused_with_every_fault(nested, flat, paths):
    """Each with its place, in the form that was used."""
    with pytest.raises(InvalidInput) as refused:
        read_result(nested, flat)
    assert {fault["path"] for fault in refused.value.facts["faults"]} == paths


@given(ANY_JSON, st.dictionaries(st.sampled_from(RESULT_FIELDS), ANY_JSON))
def test_anything_at_all_is_read_judged_or_refused(nested, changes):
    """No report stops the server, and none passes that is not the right one."""
    for given_ in (nested, {**GIVEN, **changes}):
        try:
            result = read_result(given_, {})
        except InvalidInput:
            continue
        if code_for(result, known(VERIFY)) == "":
            assert result is not None
            assert result.step_proof == PROOF
            assert result.outcome != "success" or result.verification_receipt == receipt()


@given(st.sampled_from(RESULT_FIELDS), st.text(min_size=1, max_size=8))
def test_the_digest_of_a_report_changes_with_every_field(name, text):
    before = read_result(GIVEN, {})
    assert before is not None
    value = (text,) if name == "files_touched" else text
    after = replace(before, **{name: {"a": text} if name == "verification_receipt" else value})
    assert (report_digest(before) == report_digest(after)) == (before == after)
