"""The tools `complete_phase`, `approve_phase`, `reject_phase` and `verify_workspace`."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from builders import Workshop, commit, git
from counterpoint.dialects.symphony.tools.phases import MARKER
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from fakes.boards import Asked, Make, Seat

SECTIONS = ("Problem", "Current State", "Findings", "Risks", "Recommendation")
TEXT = "# Research\n\n" + "\n\n".join(
    f"## {name}\n\nWhat is so, and how it was seen." for name in SECTIONS
)


@pytest.fixture
def opened(workshop: Workshop, make: Make) -> Make:
    """Give what makes an issue in a phase and marks the tree for it; answer its identifier."""

    def made(phase: str = "research", *labels: str, mark: bool = True, **more: Any) -> str:
        identifier = make(labels=[f"phase:{phase}", *labels], **more)
        if mark:
            core = workshop.app.person()
            core.use(Workspaces).open(core.use(Issues).named(identifier).id, MARKER)
        return identifier

    return made


@pytest.fixture
def claim(workshop: Workshop) -> Asked:
    """Give what writes an artifact and answers the arguments that hand it over."""

    def said(identifier: str, text: str = TEXT, **more: Any) -> dict[str, Any]:
        path = f"docs/tickets/{identifier}/research.md"
        place = workshop.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return {
            "completed_phase": "research",
            "contract_version": 1,
            "artifact_path": path,
            "artifact_hash": hashlib.sha256(text.encode()).hexdigest(),
            "summary": "The cause is known",
            "recommended_next_phase": "architecture",
            "project_path": "/somewhere/else",
        } | more

    return said


def test_a_workspace_is_verified_by_its_marker(
    seat: Seat, opened: Make, workshop: Workshop
) -> None:
    """It says which issue and branch; without it the way back is told."""
    identifier = opened(mark=False)
    worker = seat("rita", "researcher", identifier)
    refusal = worker.is_refused("verify_workspace")
    assert refusal["code"] == "WORKSPACE_INVALID"
    assert "counterpoint workspace open" in refusal["error"]
    core = workshop.app.person()
    core.use(Workspaces).open(core.use(Issues).named(identifier).id, MARKER)
    assert worker.does("verify_workspace") == {
        "valid": True,
        "path": str(workshop.root),
        "issue": identifier,
        "branch": "main",
        "message": "Workspace verified: you are in the right worktree.",
    }


def test_a_phase_is_handed_over_once(seat: Seat, opened: Make, claim: Asked) -> None:
    """It is kept as a finding of its own sort, not yet processed; the same again answers the first."""
    identifier = opened()
    agent = seat("rita", "researcher", identifier, run="run-9")
    asked = claim(identifier, open_questions=["Which database?"], confidence="high")
    told = agent.does("complete_phase", **asked)
    assert (told["id"], told["category"], told["processed"]) == ("pc-1", "phase_completion", False)
    assert (told["confidence"], told["open_questions"]) == ("high", ["Which database?"])
    assert told["awaits_judge"] == ["1 question is open"]
    assert agent.last_entry.action == "phase.claimed"
    assert agent.core.use(Phases).claims(agent.last_entry.subject)[0].run == "run-9"
    size = agent.ledger_size
    assert "before" in agent.does("complete_phase", **asked)["message"]
    assert agent.ledger_size == size


def test_all_that_is_wrong_is_told_and_nothing_recorded(
    seat: Seat, opened: Make, claim: Asked
) -> None:
    """With all that is needed to mend it."""
    identifier = opened()
    wrong = {"artifact_hash": "0" * 64, "contract_version": 7, "recommended_next_phase": "ready"}
    asked = claim(identifier, promote_to="README.md", **wrong)
    refusal = seat("rita", "researcher", identifier).is_refused("complete_phase", **asked)
    assert refusal["code"] == "VALIDATION_ERROR"
    for words in (
        hashlib.sha256(TEXT.encode()).hexdigest(),
        "contract_version is 7",
        "comes 'architecture'",
        "promote_to",
    ):
        assert words in refusal["error"]


def test_another_phase_and_another_tree_are_refused(
    seat: Seat, opened: Make, claim: Asked, workshop: Workshop
) -> None:
    """And a path out of the tree, whatever project the caller names."""
    identifier = opened("architecture")
    agent = seat("rita", "researcher", identifier)
    assert agent.is_refused("complete_phase", **claim(identifier))["code"] == "INVALID_STATE"
    other = opened()
    stranger = seat("rita", "researcher", identifier)
    assert stranger.is_refused("complete_phase", **claim(identifier))["code"] == "WORKSPACE_INVALID"
    mine = seat("rolf", "researcher", other)
    out = claim(other, artifact_path="../secret.md", project_path="/etc", contracts_dir="/")
    assert mine.is_refused("complete_phase", **out)["code"] == "VALIDATION_ERROR"
    link = workshop.root / f"docs/tickets/{other}/link.md"
    link.symlink_to("/etc/hostname")
    led = claim(other) | {"artifact_path": f"docs/tickets/{other}/link.md"}
    assert mine.is_refused("complete_phase", **led)["code"] == "VALIDATION_ERROR"


def test_ready_means_committed_and_ahead(seat: Seat, opened: Make, workshop: Workshop) -> None:
    """The marker is no change; everything else has to be committed."""
    git(workshop.root, "switch", "-q", "-c", "work")
    identifier = opened("ready")
    worker = seat("will", "worker", identifier)
    asked = {"completed_phase": "ready", "summary": "Built", "project_path": "."}
    assert "no commit" in worker.is_refused("complete_phase", **asked)["error"]
    head = commit(workshop.root, "a.py", "a = 1\n")
    (workshop.root / "b.py").write_text("b")
    refusal = worker.is_refused("complete_phase", **asked)
    assert (refusal["code"], refusal["details"]["paths"]) == ("CONFLICT", ["b.py"])
    (workshop.root / "b.py").unlink()
    assert worker.does("complete_phase", **asked)["commit"] == head


def test_a_judge_approves_and_the_step_goes_on(
    seat: Seat, opened: Make, claim: Asked, workshop: Workshop
) -> None:
    """Nothing moves before the step; the issue shows what was said and what became of it."""
    identifier = opened("research", "security")
    rita = seat("rita", "researcher", identifier)
    asked = claim(identifier, promote_to="docs/research/cause.md")
    rita.does("complete_phase", **asked)
    judge = seat("jo", "judge", identifier)
    answer = judge.does(
        "approve_phase", phase="research", artifact_hash=asked["artifact_hash"], reason="Sound"
    )
    assert (answer["id"], answer["verdict"], answer["processed"]) == ("pv-1", "approved", False)
    assert judge.last_entry.action == "phase.approved"
    assert "phase:research" in judge.does("get_issue_status")["labels"]
    assert workshop.app.person().use(Phases).advance()[0].fate == "passed"
    told = judge.does("get_issue")
    assert "phase:architecture" in told["labels"]
    assert told["phase_completions"][0]["result"] == "passed"
    assert told["phase_verdicts"][0]["processed"] is True
    assert told["artifacts"]["research"]["status"] == "approved"
    assert (workshop.root / "docs/research/cause.md").read_text() == TEXT


def test_a_judge_rejects_with_what_to_do(
    seat: Seat, opened: Make, claim: Asked, workshop: Workshop
) -> None:
    """The comment has both; the step sends the issue back."""
    identifier = opened()
    asked = claim(identifier)
    seat("rita", "researcher", identifier).does("complete_phase", **asked)
    judge = seat("jo", "judge", identifier)
    answer = judge.does(
        "reject_phase",
        phase="research",
        artifact_hash=asked["artifact_hash"],
        reason="No rollback",
        fix_instructions="Say how to go back",
    )
    assert (answer["verdict"], answer["fix_instructions"]) == ("rejected", "Say how to go back")
    assert judge.last_entry.action == "phase.rejected"
    comments = judge.does("get_issue")["comments"]
    assert "No rollback" in comments[0]["content"]
    assert "Say how to go back" in comments[0]["content"]
    workshop.app.person().use(Phases).advance()
    status = judge.does("get_issue_status")
    assert status["labels"] == ["needs-revision", "phase:research"]
    assert status["status"] == "todo"


def test_verdicts_that_cannot_be_are_refused(seat: Seat, opened: Make, claim: Asked) -> None:
    """Without a claim, of another text, of one's own, without a reason."""
    identifier = opened()
    judge = seat("jo", "judge", identifier)
    asked = claim(identifier)
    word = {"phase": "research", "artifact_hash": asked["artifact_hash"]}
    assert judge.is_refused("approve_phase", **word)["code"] == "INVALID_STATE"
    seat("rita", "researcher", identifier).does("complete_phase", **asked)
    other = word | {"artifact_hash": "1" * 64}
    refusal = judge.is_refused("approve_phase", **other)
    assert refusal["code"] == "CONFLICT"
    assert refusal["details"]["actual_hash"] == asked["artifact_hash"]
    elsewhere = word | {"phase": "grooming"}
    assert judge.is_refused("approve_phase", **elsewhere)["code"] == "INVALID_STATE"
    assert judge.is_refused("reject_phase", **word)["code"] == "VALIDATION_ERROR"
    assert judge.is_refused("reject_phase", **word, reason="  ")["code"] == "VALIDATION_ERROR"
    own = seat("rita", "judge", identifier)
    assert own.is_refused("approve_phase", **word)["code"] == "PERMISSION_DENIED"
    assert own.is_refused("reject_phase", **word, reason="x")["code"] == "PERMISSION_DENIED"


def test_without_an_issue_there_is_nothing_to_hand_over(seat: Seat, claim: Asked) -> None:
    """Nor a workspace to verify."""
    loose = seat("rita", "researcher")
    assert loose.is_refused("verify_workspace")["code"] == "VALIDATION_ERROR"
    assert loose.is_refused("complete_phase", **claim("DEMO-001"))["code"] == "VALIDATION_ERROR"


def test_the_native_dialect_shows_claims_and_verdicts(
    seat: Seat, opened: Make, claim: Asked, workshop: Workshop
) -> None:
    """By their ids, with the words that were said, and what became of them."""
    identifier = opened()
    seat("rita", "researcher", identifier).does(
        "complete_phase", **claim(identifier, confidence="low")
    )
    asked = claim(identifier)
    seat("jo", "judge", identifier).does(
        "reject_phase", phase="research", artifact_hash=asked["artifact_hash"], reason="Too thin"
    )
    workshop.app.person().use(Phases).advance()
    (run,) = seat("rita", "researcher", identifier).does("get_issue_status")["recentRuns"]
    assert (run["id"], run["status"], run["error"]) == ("run-1", "failed", "Too thin")
    native = workshop.agent("nat")
    told = native.does("show", id="demo-s1")
    assert (told["phase"], told["status"], told["confidence"]) == ("research", "rejected", "low")
    assert told["summary"] == "The cause is known"
    told = native.does("show", id="demo-v1")
    assert (told["verdict"], told["submission"], told["reason"]) == (
        "reject",
        "demo-s1",
        "Too thin",
    )


def test_a_native_reviewer_judges_a_phase(
    seat: Seat, opened: Make, claim: Asked, workshop: Workshop
) -> None:
    """Nothing moves until the step; who handed it over may not, nor judge another text."""
    identifier = opened()
    asked = claim(identifier, confidence="low")
    seat("rita", "researcher", identifier).does("complete_phase", **asked)
    native = workshop.agent("nat")
    item = workshop.app.person().use(Issues).named(identifier).id
    yes = {"verdict": "approve", "reason": "Fine"}
    assert workshop.agent("rita").is_refused("review", id=item, **yes)["error"] == "forbidden"
    assert native.is_refused("review", id=item, subject="1" * 64, **yes)["error"] == "stale_version"
    done = native.does("review", id=item, **yes)
    assert done["subject"] == asked["artifact_hash"]
    assert done["item"]["status"] == native.core.items.get(item).status
    assert native.core.reviews.open("phase")[0].id == "demo-s1"
    assert workshop.app.person().use(Phases).advance()[0].fate == "passed"
    (verdict,) = seat("rita", "researcher", identifier).does("get_issue")["phase_verdicts"]
    assert (verdict["verdict"], verdict["processed"]) == ("approved", True)


def test_a_file_that_the_server_promoted_is_within_the_contract(
    seat: Seat, opened: Make, claim: Asked, workshop: Workshop
) -> None:
    """Until somebody changes it: then it is said to be outside."""
    identifier = opened("research")
    rita = seat("rita", "researcher", identifier)
    rita.does("complete_phase", **claim(identifier, promote_to="docs/cause.md"))
    assert workshop.app.person().use(Phases).advance()[0].fate == "passed"
    design = f"docs/tickets/{identifier}/design.md"
    sections = ("Context", "Design", "Alternatives", "Risks", "Verification")
    text = "# Design\n\n" + "\n\n".join(f"## {one}\n\nHow it is built." for one in sections)
    text += "\n\n" + "More of it. " * 20
    (workshop.root / design).write_text(text)
    asked = {
        "completed_phase": "architecture",
        "contract_version": 1,
        "artifact_path": design,
        "artifact_hash": hashlib.sha256(text.encode()).hexdigest(),
        "recommended_next_phase": "grooming",
        "project_path": ".",
    }
    told = rita.does("complete_phase", summary="One", **asked)
    assert "outside_of_contract" not in told
    (workshop.root / "docs/cause.md").write_text("Another text")
    told = rita.does("complete_phase", summary="Two", **asked)
    assert told["outside_of_contract"] == ["docs/cause.md"]


def test_claims_and_verdicts_are_findings_with_every_field(
    seat: Seat, opened: Make, claim: Asked
) -> None:
    """Among the others by time, in the issue as in its status."""
    identifier = opened("research", "security")
    rita = seat("rita", "researcher", identifier)
    rita.does("add_finding", category="gap", summary="Before")
    asked = claim(identifier, promote_to="docs/cause.md", open_questions=["Why?"])
    rita.does("complete_phase", **asked)
    judge = seat("jo", "judge", identifier)
    verdict = {"phase": "research", "artifact_hash": asked["artifact_hash"]}
    judge.does("reject_phase", **verdict, reason="Thin", fix_instructions="More")
    first, completion, rejection = judge.does("get_issue")["findings"]
    assert first["category"] == "gap"
    assert (
        completion
        | {
            "category": "phase_completion",
            "completed_phase": "research",
            "contract_version": 1,
            "artifact_path": asked["artifact_path"],
            "artifact_hash": asked["artifact_hash"],
            "summary": "The cause is known",
            "open_questions": ["Why?"],
            "confidence": "medium",
            "promote_to": "docs/cause.md",
            "recommended_next_phase": "architecture",
            "processed": False,
        }
        == completion
    )
    assert (
        rejection
        | {
            "category": "phase_verdict",
            **verdict,
            "verdict": "rejected",
            "reason": "Thin",
            "fix_instructions": "More",
            "processed": False,
        }
        == rejection
    )
    assert {"id", "created_at"} <= completion.keys() & rejection.keys()
    recent = judge.does("get_issue_status")["recentFindings"]
    assert [one["category"] for one in recent] == ["phase_verdict", "phase_completion", "gap"]
