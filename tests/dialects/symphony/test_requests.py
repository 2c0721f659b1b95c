"""The tools `create_pr`, `approve_pr` and `reject_pr`."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from builders import Workshop, commit, git
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.symphony.nouns import GateCommand, PolicyEdit
from counterpoint.dialects.symphony.tools.phases import MARKER
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.verbs.requests import Requests
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from fakes.boards import Make, Seat

GATE = {"command": "npx vitest run", "label": "Tests", "exit_code": 0, "output": "ok"}


@pytest.fixture
def built(workshop: Workshop, make: Make) -> str:
    """Answer an issue whose branch, in the marked tree, has a commit."""
    git(workshop.root, "switch", "-q", "-c", "symphony/DEMO-001")
    identifier = make(labels=["phase:ready"])
    core = workshop.app.person()
    core.use(Workspaces).open(core.use(Issues).named(identifier).id, MARKER)
    commit(workshop.root, "src/a.py", "a = 1\nb = 2\n")
    return identifier


@pytest.fixture
def asked(workshop: Workshop, built: str) -> dict[str, Any]:
    """Answer the arguments that hand the change in."""
    return {
        "diff": git(workshop.root, "diff", "main", "HEAD"),
        "branch_name": "symphony/DEMO-001",
        "base_branch": "main",
    }


def test_a_pr_is_measured_checked_and_rated(
    seat: Seat, workshop: Workshop, built: str, asked: dict[str, Any]
) -> None:
    """The server's own figures and gates; what the agent says is marked as claimed."""
    gate = GateCommand(command="git --version", label="Git", required=True)
    workshop.app.person().use(Policies).edit(PolicyEdit(gates=(gate,), sensitive_paths=("src/*",)))
    worker = seat("will", "worker", built)
    told = worker.does("create_pr", **asked, gate_results=[GATE])
    assert (told["id"], told["status"], told["issue_status"]) == ("pr-1", "open", "review")
    assert told["stats"] == {"files": 1, "additions": 2, "deletions": 0}
    assert told["head"] == git(workshop.root, "rev-parse", "HEAD")
    assert [(one["label"], one["source"]) for one in told["gates"]] == [
        ("Git", "verified"),
        ("Tests", "claimed"),
    ]
    assert (told["risk"]["level"], told["risk"]["gates_used"]) == ("high", "mixed")
    assert told["risk"]["parts"]["sensitive"] == 20
    assert "deprecated" in told["notice"]
    assert "remarks" not in told
    assert worker.last_entry.action == "change.proposed"
    assert worker.does("get_issue")["pull_request"]["id"] == "pr-1"


def test_a_diff_that_is_not_the_branchs_is_remarked_upon(
    seat: Seat, built: str, asked: dict[str, Any]
) -> None:
    """The server's own is what counts; the same commit again changes nothing."""
    worker = seat("will", "worker", built)
    told = worker.does("create_pr", **asked | {"diff": asked["diff"].replace("a.py", "c.py")})
    assert "not that of the branch" in told["remarks"]
    size = worker.ledger_size
    assert worker.does("create_pr", **asked)["id"] == told["id"]
    assert worker.ledger_size == size


def test_a_pr_needs_its_worktree_and_its_branch(
    seat: Seat, workshop: Workshop, built: str, asked: dict[str, Any]
) -> None:
    """Another branch, another base, no marker."""
    worker = seat("will", "worker", built)
    refusal = worker.is_refused("create_pr", **asked | {"branch_name": "main"})
    assert (refusal["code"], "symphony/DEMO-001" in refusal["error"]) == ("VALIDATION_ERROR", True)
    workshop.app.person().use(Policies).edit(PolicyEdit(sensitive_paths=("x",)))
    reply = worker.call("create_pr", asked | {"base_branch": "trunk"})
    assert reply.answer["code"] == "NOT_FOUND"
    (workshop.root / MARKER).unlink()
    assert worker.is_refused("create_pr", **asked)["code"] == "WORKSPACE_INVALID"


def test_without_a_repository_any_branch_may_be_named(
    seat: Seat, workshop: Workshop, built: str, asked: dict[str, Any]
) -> None:
    """There is none to compare it with: what was sent is kept, and said to be that."""
    shutil.rmtree(workshop.root / ".git")
    core = workshop.app.person()
    core.use(Workspaces).open(core.use(Issues).named(built).id, MARKER)
    told = seat("will", "worker", built).does("create_pr", **asked)
    assert (told["diff_source"], told["head"], told["issue_status"]) == ("sent", None, "review")


def test_the_native_dialect_shows_what_was_handed_in(
    seat: Seat, workshop: Workshop, built: str, asked: dict[str, Any]
) -> None:
    """Requests, claims of phases and verdicts on them, each by its id; the diff page by page."""
    seat("will", "worker", built).does("create_pr", **asked)
    item = workshop.app.person().use(Issues).named(built).id
    native = workshop.agent("nat")
    told = native.does("show", id=native.core.use(Requests).get(item).submission.id)
    assert (told["status"], told["item"]) == ("open", item)
    assert told["diff"].startswith("diff --git")
    assert native.is_refused("show", id="demo-s9")
    assert native.is_refused("show", id="demo-v9")


def test_a_native_reviewer_judges_what_was_handed_in(
    seat: Seat, workshop: Workshop, built: str, asked: dict[str, Any]
) -> None:
    """A rejection reopens the issue and is told there; an approval leaves it to be merged."""
    item = workshop.app.person().use(Issues).named(built).id
    native = workshop.agent("nat")
    worker = seat("will", "worker", built)
    worker.does("create_pr", **asked)
    no = {"verdict": "reject", "reason": "No test", "fixes": ["Add one", "Run it"]}
    assert native.does("review", id=item, **no)["item"]["status"] == "open"
    seen = worker.does("get_issue")
    assert seen["pull_request"]["status"] == "rejected"
    assert seen["pull_request"]["fix_instructions"] == "Add one\nRun it"
    assert "No test" in seen["comments"][0]["content"]
    commit(workshop.root, "src/b.py", "b = 2\n")
    worker.does("create_pr", **asked | {"diff": git(workshop.root, "diff", "main", "HEAD")})
    head = git(workshop.root, "rev-parse", "HEAD")
    yes = {"verdict": "approve", "reason": "Fine"}
    assert native.is_refused("review", id=item, subject="f" * 40, **yes)["error"] == "stale_version"
    done = native.does("review", id=item, subject=head[:12], **yes)
    assert (done["item"]["status"], done["subject"]) == ("review", head)
    assert worker.does("get_issue")["pull_request"]["status"] == "approved"
    shown = native.does("show", id=item, include=["submissions", "verdicts"])
    assert [one["status"] for one in shown["submissions"]] == ["rejected", "accepted"]
    assert [one["verdict"] for one in shown["verdicts"]] == ["reject", "approve"]
    told = native.does("show", id=shown["submissions"][1]["id"])
    assert (told["judge"], told["reason"], told["of"]) == ("nat", "Fine", "branch")


def test_a_judge_approves_at_the_head(
    seat: Seat, workshop: Workshop, built: str, asked: dict[str, Any]
) -> None:
    """The issue stays in review; after another commit it is refused until it was taken up anew."""
    seat("will", "worker", built).does("create_pr", **asked)
    judge = seat("jo", "judge", built)
    told = judge.does("approve_pr", reason="All there")
    assert (told["status"], told["issue_status"], told["judge"]) == ("approved", "review", "jo")
    assert judge.last_entry.action == "change.approved"
    assert judge.does("get_issue_status")["status"] == "review"
    commit(workshop.root, "src/a.py", "a = 3\n")
    assert judge.is_refused("approve_pr")["code"] == "CONFLICT"
    assert workshop.app.person().use(Phases).advance()[0].fate == "renewed"
    assert judge.does("get_issue")["pull_request"]["status"] == "open"
    assert judge.does("approve_pr")["status"] == "approved"


def test_a_request_is_judged_in_review_only(
    seat: Seat, workshop: Workshop, built: str, asked: dict[str, Any]
) -> None:
    """Not where the issue is todo again, nor where it has ended."""
    seat("will", "worker", built).does("create_pr", **asked)
    judge, person = seat("jo", "judge", built), workshop.app.person()
    item = judge.does("get_issue")["id"]
    person.items.edit(item, Edit(status="open"))
    assert judge.is_refused("approve_pr")["code"] == "CONFLICT"
    person.items.edit(item, Edit(status="active"))
    person.items.edit(item, Edit(status="done"))
    for tool in ("approve_pr", "reject_pr"):
        assert judge.is_refused(tool)["code"] == "CONFLICT"


def test_a_judge_needs_no_type_and_no_name_of_its_own(
    seat: Seat, workshop: Workshop, built: str, asked: dict[str, Any]
) -> None:
    """To look, to comment and to judge takes nothing up."""
    seat("claude-code", "worker", built).does("create_pr", **asked)
    workshop.app.person().items.edit("demo-1", Edit(status="open"))
    judge = seat("claude-code-2", "", built)
    judge.does("add_comment", content="I look at it")
    assert judge.does("get_issue_status")["status"] == "todo"


def test_a_judge_rejects_and_the_next_run_sees_why(
    seat: Seat, built: str, asked: dict[str, Any]
) -> None:
    """The issue is todo again, with the fixes in a comment."""
    worker = seat("will", "worker", built)
    worker.does("create_pr", **asked)
    judge = seat("jo", "judge", built)
    told = judge.does("reject_pr", reason="No test", fix_instructions="Add one")
    assert (told["status"], told["issue_status"]) == ("rejected", "todo")
    assert judge.last_entry.action == "change.rejected"
    seen = seat("wanda", "worker", built).does("get_issue")
    assert seen["pull_request"]["fix_instructions"] == "Add one"
    assert "Add one" in seen["comments"][0]["content"]
    assert "No test" in seen["comments"][0]["content"]
    assert judge.is_refused("reject_pr")["code"] == "INVALID_STATE"


def test_nobody_judges_his_own_pr(seat: Seat, built: str, asked: dict[str, Any]) -> None:
    """Nor one that is not there."""
    judge = seat("will", "judge", built)
    assert judge.is_refused("approve_pr")["code"] == "INVALID_STATE"
    assert judge.is_refused("reject_pr")["code"] == "INVALID_STATE"
    seat("will", "worker", built).does("create_pr", **asked)
    assert judge.is_refused("approve_pr")["code"] == "PERMISSION_DENIED"
    assert judge.is_refused("reject_pr")["code"] == "PERMISSION_DENIED"
