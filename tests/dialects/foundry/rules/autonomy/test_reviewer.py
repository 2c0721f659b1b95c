"""The reviewer that needs no model."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.reviews.rules.material import (
    FINDINGS_LIMIT,
    ChangedPromise,
    CriterionState,
    PhaseWork,
    ReviewedTask,
    ReviewedVerification,
    changed_promises,
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
    (
        work(promises=(ChangedPromise(about="verify-1-1", said="runs another"),)),
        "warn",
        ["promise_changed"],
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


def document(*phases, **changes):
    """Return a document of a phase with a task and a verification; changes: of the nodes' metadata, by id."""
    nodes = {
        "task-1-1": {
            "type": "task",
            "parent": "phase-1",
            "metadata": {"file_path": "src/a.py", "acceptance_criteria": ["works", "is fast"]},
        },
        "verify-1-1": {
            "type": "verify",
            "parent": "phase-1",
            "metadata": {"command": "pytest"},
        },
    }
    for name, change in changes.items():
        place = name.replace("_", "-")
        if change is None:
            del nodes[place]
        else:
            nodes[place]["type"] = change.get("type", nodes[place]["type"])
            nodes[place]["metadata"] |= change.get("metadata", {})
    root = {"type": "spec", "children": ["phase-1"]}
    phase = {"type": "phase", "parent": "spec-root", "children": list(nodes)}
    return {"hierarchy": {"spec-root": root, "phase-1": phase, **nodes}}


LOST = "has lost an acceptance criterion since the run began"
GONE = "was taken out of the phase since the run began"
COMMAND = "runs another command than when the run began"
FILE = "names another file than when the run began"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (document(), []),
        (document(verify_1_1={"metadata": {"command": "true"}}), [COMMAND]),
        (document(verify_1_1={"metadata": {"command": None}}), [COMMAND]),
        (document(verify_1_1={"type": "task"}), ["is no verification any more"]),
        (document(verify_1_1=None), [GONE]),
        (document(task_1_1={"metadata": {"file_path": "src/b.py"}}), [FILE]),
        (document(task_1_1={"metadata": {"acceptance_criteria": ["works"]}}), [LOST]),
        (
            document(task_1_1={"metadata": {"acceptance_criteria": ["is fast", "works", "more"]}}),
            [],
        ),
        (document(task_1_1={"metadata": {"command": "added", "title": "x"}}), []),
    ],
)
def test_promises_that_are_less_than_when_the_run_began_are_told(now, said):
    """What was added is no loss, and neither is what nobody compares."""
    assert [one.said for one in changed_promises(document(), now, "phase-1")] == said
    assert changed_promises(document(), now, "phase-2") == ()


def test_what_was_redacted_since_cannot_be_compared():
    """Its mark is no other command."""
    before = document(
        verify_1_1={"metadata": {"command": "[redacted]"}},
        task_1_1={"metadata": {"acceptance_criteria": ["[redacted]"]}},
    )
    now = document(task_1_1={"metadata": {"acceptance_criteria": []}})
    assert changed_promises(before, now, "phase-1") == ()
