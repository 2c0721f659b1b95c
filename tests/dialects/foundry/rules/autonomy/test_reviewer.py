"""The reviewer that needs no model."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.rules.autonomy.reviewer import (
    FINDINGS_LIMIT,
    CriterionState,
    PhaseWork,
    ReviewedTask,
    ReviewedVerification,
    kept_findings,
    review,
)


def task(**more):
    """Return a task that kept what it promised."""
    given = {"files": ("src/a.py",), "criteria": (CriterionState(text="works", is_met=True),)}
    return ReviewedTask(id="task-1-1", **{**given, **more})


def verification(**more):
    """Return a verification that passed."""
    return ReviewedVerification(id="verify-1-1", **{"exit_code": 0, "result": "PASSED", **more})


def work(tasks=None, verifications=None, **more):
    """Return the work of a phase in which all is well."""
    given = {"changed": frozenset({"src/a.py"}), "present": frozenset({"src/a.py"}), **more}
    return PhaseWork(
        phase="phase-1",
        tasks=(task(),) if tasks is None else tasks,
        verifications=(verification(),) if verifications is None else verifications,
        **given,
    )


CASES = [
    (work(), "pass", []),
    (work(tasks=(task(is_completed=False),)), "fail", ["task_open"]),
    (work(verifications=(verification(is_completed=False),)), "fail", ["task_open"]),
    (work(tasks=(task(left="skipped"),), changed=frozenset()), "warn", ["task_left"]),
    (
        work(verifications=(verification(left="skipped", exit_code=None),)),
        "fail",
        ["task_left", "verification_unproved"],
    ),
    (
        work(tasks=(task(criteria=(CriterionState(text="x", is_met=False),)),)),
        "fail",
        ["criterion_unmet"],
    ),
    (work(tasks=(task(criteria=(CriterionState(text="x"),)),)), "pass", ["criterion_open"]),
    (work(changed=frozenset(), present=frozenset()), "fail", ["file_missing"]),
    (work(changed=frozenset()), "warn", ["file_unchanged"]),
    (work(present=frozenset()), "pass", []),
    (work(verifications=(verification(result="FAILED"),)), "fail", ["verification_failed"]),
    (work(verifications=(verification(exit_code=1),)), "fail", ["verification_failed"]),
    (work(verifications=(verification(exit_code=None),)), "fail", ["verification_unproved"]),
    (work(verifications=(verification(is_stale=True),)), "warn", ["verification_stale"]),
    (work(verifications=(verification(result="PARTIAL"),)), "warn", ["verification_partial"]),
    (
        work(verifications=(verification(has_command=False, exit_code=None),)),
        "pass",
        ["verification_manual"],
    ),
    (work(tasks=(), verifications=()), "warn", ["nothing_to_review"]),
]


@pytest.mark.parametrize(("seen", "verdict", "types"), CASES)
def test_each_thing_that_can_be_seen_has_its_weight(seen, verdict, types):
    """Nothing found passes, and notes weigh nothing."""
    found = review(seen)
    assert (found.verdict, [one.type for one in found.findings]) == (verdict, types)
    assert all(set(one.told()) == {"type", "weight", "description"} for one in found.findings)


def test_the_heaviest_finding_decides_and_all_are_told():
    """In the order of the tasks; each names its node."""
    seen = work(
        tasks=(task(is_completed=False, files=("src/b.py", "src/a.py")),),
        verifications=(verification(exit_code=2, is_stale=True, result="FAILED"),),
    )
    found = review(seen)
    assert found.verdict == "fail"
    assert [one.type for one in found.findings] == [
        *("task_open", "file_missing", "verification_failed"),
        *("verification_failed", "verification_stale"),
    ]
    assert found.findings[1].description == "task-1-1 names src/b.py, which is not there"
    assert found.findings[3].about == "verify-1-1"


def test_evidence_keeps_the_heaviest_findings_and_says_how_many_it_leaves_out():
    """However long a path is, one finding stays short."""
    files = tuple(f"src/{number}{'x' * 900}.py" for number in range(FINDINGS_LIMIT + 5))
    open_criteria = tuple(CriterionState(text=f"c{number}") for number in range(10))
    seen = work(tasks=(task(criteria=open_criteria, files=files),))
    kept = kept_findings(review(seen).findings)
    assert [one.type for one in kept[:-1]] == ["file_missing"] * FINDINGS_LIMIT
    assert (kept[-1].type, kept[-1].weight) == ("more_findings", "fail")
    assert kept[-1].description == "15 more findings are left out"
    assert max(len(one.description) for one in kept) == 500
    few = review(work(tasks=(task(is_completed=False, criteria=open_criteria[:1]),))).findings
    assert [one.weight for one in kept_findings(few[::-1])] == ["fail", "note"]
