"""Nobody judges or loosens his own work, on any surface, with plain flags and one name for every client."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import AGENTIC, COLIBRI, NATIVE, SYMPHONY, WORKFLOW, Opened, commit, git, let_run
from counterpoint.app import App
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.journal import Verdict

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

FAILS = [[sys.executable, "-c", "raise SystemExit(1)"]]
SECTIONS = ("Problem", "Current State", "Findings", "Risks", "Recommendation")
TEXT = "# Research\n\n" + "\n\n".join(
    f"## {one}\n\nWhat is so, and how it was seen." for one in SECTIONS
)


@pytest.fixture
def checked(window: Opened, app: App) -> str:
    """Answer a task with a check that fails, planned by somebody who is gone."""
    planner = window()
    planner.does(NATIVE, "plan", markdown="# Orchard\n- [ ] Plant the walnut\n")
    item = f"{app.person().items.project().prefix}-2"
    planner.does(NATIVE, "edit", id=item, verify=FAILS)
    return item


def test_who_took_the_checks_off_does_not_do_the_work(window: Opened, checked: str) -> None:
    """Whoever does it after him may not take them off himself; nor may a third let them go."""
    worker, other = window(), window()
    worker.does(NATIVE, "edit", id=checked, verify=[])
    assert "may not do the work" in worker.is_refused(NATIVE, "start", id=checked)
    assert worker.does(NATIVE, "next", claim=True)["ready"] == []
    other.does(NATIVE, "edit", id=checked, verify=FAILS)
    token = other.does(NATIVE, "start", id=checked)["claim"]["token"]
    assert "worked on" in other.is_refused(NATIVE, "edit", id=checked, verify=[])
    waiver = {"waive": ["check-1"], "reason": "flaky"}
    third = window()
    third.does(NATIVE, "note", kind="comment", id=checked, text="I look at it")
    assert "has begun" in third.is_refused(NATIVE, "edit", id=checked, **waiver)
    done = {"id": checked, "token": token, "summary": "Planted"}
    for outcome in ("done", "skipped"):
        assert "check-1" in other.is_refused(NATIVE, "finish", **done, outcome=outcome)
    assert third.runs("waive", checked, "check-1", "--reason", "flaky")["code"] == 1


def test_a_person_waives_what_no_agent_may(
    window: Opened, checked: str, counterpoint: Callable[..., Any], repository: Path, app: App
) -> None:
    """From a terminal of their own; it is told how independent they are."""
    worker = window()
    token = worker.does(NATIVE, "start", id=checked)["claim"]["token"]
    ran = counterpoint("waive", checked, "check-1", "--reason", "so", "--json", cwd=repository)
    assert json.loads(ran.stdout)["gate"]["independence"] == "attested"
    done = worker.does(NATIVE, "finish", id=checked, token=token, outcome="done", summary="Planted")
    assert done["item"]["status"] == "done"
    assert app.person().audit.rebuild().differences == ()


def test_work_is_not_moved_out_from_under_its_review(window: Opened, app: App) -> None:
    """Neither by who did it, nor by another window."""
    worker, other = window(), window()
    worker.does(
        NATIVE, "plan", markdown="# Orchard\n## Planting\n- review: yes\n- [ ] Plant\n- [ ] Water\n"
    )
    prefix = app.person().items.project().prefix
    worker.does(NATIVE, "start", id=f"{prefix}-3")
    for who in (worker, other):
        moved = {"id": f"{prefix}-3", "parent": f"{prefix}-1"}
        assert "forbidden" in who.is_refused(NATIVE, "edit", **moved)


def test_finish_passes_no_open_blocker(window: Opened, app: App) -> None:
    """Until it is resolved."""
    worker = window()
    worker.does(NATIVE, "plan", markdown="# Orchard\n- [ ] Plant the walnut\n")
    claim = worker.does(NATIVE, "next", claim=True)["claim"]
    worker.does(NATIVE, "note", kind="blocker", id=claim["item"], text="No spade")
    done = {"id": claim["item"], "token": claim["token"], "outcome": "done", "summary": "so"}
    assert "No spade" in worker.is_refused(NATIVE, "finish", **done)
    assert app.person().items.get(claim["item"]).status == "active"


def test_a_phase_is_not_completed_past_failing_checks(
    window: Opened, repository: Path, app: App
) -> None:
    """In the words of agentic: neither by who works on it nor by another; a plan as little."""
    worker, other = window(), window()
    phases = [{"name": "Build", "tasks": [{"name": "Code"}, {"name": "Test"}]}]
    worker.does(AGENTIC, "plan_create", title="Login", slug="login", phases=phases)
    prefix = app.person().items.project().prefix
    other.does(NATIVE, "edit", id=f"{prefix}-4", verify=FAILS)
    worker.does(AGENTIC, "plan_update_status", slug="login", status="active")
    step = {"plan_slug": "login", "phase_order": 1}
    worker.does(AGENTIC, "task_update", **step, task_identifier=1, status="in_progress")
    for who in (worker, other):
        for status in ("completed", "skipped"):
            assert "error" in who.is_refused(AGENTIC, "phase_update_status", **step, status=status)
        assert "error" in who.is_refused(
            AGENTIC, "plan_update_status", slug="login", status="completed"
        )
    assert app.person().items.get(f"{prefix}-4").status == "active"
    del repository


def test_a_task_of_a_workflow_ends_past_no_gate(window: Opened, app: App) -> None:
    worker, other = window(), window()
    flow = worker.does(WORKFLOW, "start_workflow", name="Ship", objective="It floats")[
        "workflow_id"
    ]
    phase = worker.does(WORKFLOW, "start_phase", workflow_id=flow, number=1, name="Build")[
        "phase_id"
    ]
    asked = {"workflow_id": flow, "phase_id": phase, "caller_type": "subagent", "agent_name": "a"}
    task = worker.does(WORKFLOW, "start_task", **asked, name="Hull", goal="It holds")["task_id"]
    other.does(NATIVE, "edit", id=task, verify=FAILS)
    other.does(NATIVE, "edit", id=phase, verify=FAILS)
    ended = {"task_id": task, "outcome": {"summary": "so"}}
    for status in ("success", "partial_success"):
        assert "check-1" in worker.is_refused(WORKFLOW, "complete_task", **ended, status=status)
    worker.does(WORKFLOW, "complete_task", **ended, status="failed")
    whole = {"workflow_id": flow, "summary": "so"}
    for status in ("completed", "partial"):
        for who in (worker, other):
            assert "error" in who.is_refused(WORKFLOW, "complete_workflow", **whole, status=status)
    assert app.person().items.get(phase).status == "active"


def test_a_strict_task_is_not_done_past_a_check(window: Opened, app: App) -> None:
    """And moving it along is a part in it: who did so lets nothing go."""
    worker, other = window(), window()
    worker.does(COLIBRI, "task_create", title="Mend the lock")
    item = f"{app.person().items.project().prefix}-1"
    other.does(NATIVE, "edit", id=item, verify=FAILS)
    for state in ("GATHER", "ANALYZE", "PLAN", "APPLY", "VERIFY"):
        worker.does(COLIBRI, "task_update", id=item, status=state)
    thought = {"task_id": item, "agent_id": "a", "type": "reflection", "content": "It holds"}
    worker.does(COLIBRI, "thought_record", **thought)
    told = worker.does(COLIBRI, "task_update", id=item, status="DONE")["data"]["error"]
    assert ("check-1" in told["message"], "{" in told["hint"]) == (True, False)
    assert "forbidden" in worker.is_refused(NATIVE, "edit", id=item, waive=["check-1"], reason="so")


@pytest.fixture
def issue(window: Opened, app: App, repository: Path) -> str:
    """Answer an issue whose research is to be done, with its text written."""
    made = window().does(SYMPHONY, "create_issue", title="Make it float", labels=["phase:research"])
    app.person().items.edit(made["id"], Edit(status="open"))
    place = repository / f"docs/tickets/{made['identifier']}/research.md"
    place.parent.mkdir(parents=True)
    place.write_text(TEXT)
    return str(made["identifier"])


def handed_over(issue: str, **more: Any) -> dict[str, Any]:
    """Answer the arguments that hand the research of an issue over."""
    return {
        "completed_phase": "research",
        "contract_version": 1,
        "artifact_path": f"docs/tickets/{issue}/research.md",
        "artifact_hash": hashlib.sha256(TEXT.encode()).hexdigest(),
        "summary": "The cause is known",
        "recommended_next_phase": "architecture",
        "project_path": ".",
    } | more


@pytest.mark.long
def test_a_judge_of_the_same_name_and_without_a_type_judges(
    window: Opened, issue: str, counterpoint: Callable[..., Any], repository: Path, app: App
) -> None:
    """With the flags of symphony's page: who worked does not, the other window does, and it says how surely."""
    counterpoint("workspace", "open", issue, cwd=repository)
    bound = f"{SYMPHONY} --issue-id {issue}"
    worker, judge = window(), window()
    worker.does(bound, "complete_phase", **handed_over(issue, confidence="low"))
    sure = handed_over(issue, confidence="high")
    again = worker.does(bound, "complete_phase", **sure)
    assert again["awaits_judge"] == ["confidence is low"]
    anew = worker.does(bound, "complete_phase", **(sure | {"summary": "Surely"}))
    assert anew["awaits_judge"] == ["confidence is low"]
    refusal = judge.is_refused(bound, "complete_phase", **handed_over(issue))
    assert ("INVALID_STATE" in refusal, "not_claim_holder" in refusal) == (True, True)
    said = {"phase": "research", "artifact_hash": sure["artifact_hash"], "reason": "so"}
    assert "worked on" in worker.is_refused(bound, "approve_phase", **said)
    judge.does(bound, "add_comment", content="I look at it")
    assert judge.does(bound, "approve_phase", **said)["independence"] == "attested"
    item = app.person().items.find("demo-1")
    assert item is not None
    assert [one.independence for one in app.person().overview.rows(Verdict, item=item.id)] == [
        "attested"
    ]


def test_a_worker_takes_no_gate_off_the_project(window: Opened, app: App) -> None:
    """Nor does another window once work has begun; before that who did it does not do the work."""
    planner, worker = window(), window()
    gates = [{"command": "false", "label": "Tests", "required": True}]
    planner.does(SYMPHONY, "configure_project", gates=gates)
    made = planner.does(SYMPHONY, "create_issue", title="Make it float", labels=["phase:ready"])
    app.person().items.edit(made["id"], Edit(status="open"))
    planner.does(SYMPHONY, "configure_project", gates=gates, sensitive_paths=["keys/"])
    planner.does(SYMPHONY, "configure_project", sensitive_paths=[])
    bound = f"{SYMPHONY} --issue-id {made['identifier']}"
    refusal = planner.is_refused(bound, "add_finding", category="bug", summary="x")
    assert "may not do the work" in refusal
    worker.does(bound, "add_finding", category="bug", summary="It leaks")
    for who in (worker, planner):
        refusal = who.is_refused(SYMPHONY, "configure_project", gates=[])
        assert ("work has begun" in refusal, "agent create" in refusal) == (True, True)
    worker.does(SYMPHONY, "configure_project", gates=[*gates, gates[0] | {"command": "true"}])


def test_gates_over_what_is_not_committed_are_not_verified(
    window: Opened, counterpoint: Callable[..., Any], repository: Path, app: App
) -> None:
    """Another file in the tree makes the check pass, and the branch has none of it."""
    let_run(repository)
    worker = window()
    gates = [{"command": "test -f passes", "label": "Tests", "required": True}]
    worker.does(SYMPHONY, "configure_project", gates=gates)
    made = worker.does(SYMPHONY, "create_issue", title="Make it float", labels=["phase:ready"])
    app.person().items.edit(made["id"], Edit(status="open"))
    git(repository, "switch", "-q", "-c", "work")
    commit(repository, "boat.txt", "afloat")
    counterpoint("workspace", "open", made["identifier"], cwd=repository)
    bound = f"{SYMPHONY} --issue-id {made['identifier']}"
    asked = {"diff": "", "branch_name": "work", "base_branch": "main"}
    (repository / "passes").write_text("")
    dirty = worker.does(bound, "create_pr", **asked)
    assert (dirty["gates"], dirty["risk"]["gates_used"]) == ([], "none")
    assert "not committed: passes" in dirty["remarks"]
    (repository / "passes").unlink()
    commit(repository, "boat.txt", "afloat again")
    (gate,) = worker.does(bound, "create_pr", **asked)["gates"]
    assert (gate["source"], gate["exit_code"]) == ("verified", 1)


def test_an_approval_is_of_what_its_author_can_have_read(
    window: Opened, counterpoint: Callable[..., Any], repository: Path, app: App
) -> None:
    """A change that was handed in after the judge had looked is looked at first."""
    worker, judge = window(), window()
    made = worker.does(SYMPHONY, "create_issue", title="Make it float", labels=["phase:ready"])
    app.person().items.edit(made["id"], Edit(status="open"))
    git(repository, "switch", "-q", "-c", "work")
    commit(repository, "boat.txt", "afloat")
    counterpoint("workspace", "open", made["identifier"], cwd=repository)
    bound = f"{SYMPHONY} --issue-id {made['identifier']}"
    asked = {"diff": "", "branch_name": "work", "base_branch": "main"}
    worker.does(bound, "create_pr", **asked)
    judge.does(bound, "get_issue")
    commit(repository, "boat.txt", "sunk")
    head = worker.does(bound, "create_pr", **asked)["head"]
    assert "since you last looked" in judge.is_refused(bound, "approve_pr", reason="fine")
    judge.does(bound, "get_issue")
    approved = judge.does(bound, "approve_pr", reason="fine")
    assert (approved["head"], approved["independence"]) == (head, "attested")


def test_old_results_of_checks_do_not_count(window: Opened, repository: Path, app: App) -> None:
    """Areas and sentences are not the worker's to take away, and no word passes by what finish looks at."""
    let_run(repository)
    planner, worker = window(), window()
    passes = [sys.executable, "-c", "pass"]
    words = {"areas": ["src"], "accept": ["it grows"], "verify": [passes]}
    planner.does(NATIVE, "plan", markdown="# Orchard\n- [ ] Plant the walnut\n")
    item = f"{app.person().items.project().prefix}-2"
    planner.does(NATIVE, "edit", id=item, **words)
    claim = worker.does(NATIVE, "start", id=item)["claim"]
    worker.does(NATIVE, "verify", id=item, token=claim["token"])
    (repository / "src").mkdir()
    (repository / "src" / "walnut").write_text("felled")
    done = {"id": item, "token": claim["token"], "outcome": "done", "summary": "Planted"}
    for less in ({"areas": []}, {"areas": ["docs"]}, {"accept": []}, {"verify": []}):
        assert "worked on" in worker.is_refused(NATIVE, "edit", id=item, **less)
        assert "has begun" in planner.is_refused(NATIVE, "edit", id=item, **less)
    for who in (worker, planner):
        for status in ("done", "review"):
            assert "before the last edit" in who.is_refused(NATIVE, "edit", id=item, status=status)
    assert "before the last edit" in worker.is_refused(NATIVE, "finish", **done)


def test_no_agent_asks_for_less_of_reviews(
    window: Opened, counterpoint: Callable[..., Any], repository: Path
) -> None:
    """Not by the command line from its shell either; a person does, and the status tells."""
    agent = window()
    agent.does(NATIVE, "plan", markdown="# Orchard\n- [ ] Plant the walnut\n")
    ran = agent.runs("policy", "--reviews", "declared")
    assert (ran["code"], "cannot change" in ran["err"]) == (1, True)
    done = counterpoint("policy", "--reviews", "person", "--reason", "so", cwd=repository)
    assert done.returncode == 0
    assert "Reviews: person" in counterpoint("status", "--long", cwd=repository).stdout
