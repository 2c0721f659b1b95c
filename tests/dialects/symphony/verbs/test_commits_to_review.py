"""The last step: commits become a request, and the issue goes to its review."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, Judgment
from counterpoint.dialects.symphony.nouns import GateCommand, PolicyEdit
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.verbs.requests import Requests
from fakes.boards import READY, Board
from fakes.studio import Studio


def test_commits_become_a_request_and_the_issue_goes_to_review(
    studio: Studio, person: Core, ada: Core, board: Board
) -> None:
    """Its author is who handed it over; the gates of the project are run."""
    person.use(Policies).edit(
        PolicyEdit(gates=(GateCommand(command="pytest -q", label="Tests", required=True),))
    )
    item = board.issue("ready")
    ada.claims.start(item)
    head = board.branch().head
    ada.use(Phases).hand_over(item, READY)
    told: list[str] = []
    (step,) = person.use(Phases).advance(told.append)
    assert step.fate == "passed"
    request = ada.use(Requests).current(item)
    assert (request.submission.commit, request.submission.agent, request.status) == (
        head,
        "ada",
        "open",
    )
    assert (request.submission.summary, request.submission.branch) == ("It is built", "work")
    assert studio.tree.ran == [("pytest", "-q")]
    assert told == ["running pytest -q", "pytest runs"]
    assert ada.items.get(item).status == "review"
    assert board.labels(item) == ["phase:ready"]


def test_commits_that_cannot_be_measured_refuse_a_claim(
    studio: Studio, person: Core, ada: Core, board: Board
) -> None:
    """The branch may be gone, or its difference too long."""
    item = board.build()
    studio.tree.branches.clear()
    (step,) = person.use(Phases).advance()
    assert (step.fate, step.reasons) == ("rejected", ("there is no branch 'work'",))
    assert ada.items.get(item).status == "open"


def test_commits_are_measured_without_the_tree_they_were_made_in(
    studio: Studio, person: Core, ada: Core, board: Board
) -> None:
    """The branch is still there; no gate is run on other files."""
    from counterpoint.kernel.errors import NotFound

    person.use(Policies).edit(
        PolicyEdit(gates=(GateCommand(command="pytest -q", label="Tests", required=True),))
    )
    item = board.issue("ready")
    gone = Core(studio.ports, replace(ada.caller, root=Path("gone")))
    gone.claims.start(item)
    board.branch(head="a" * 40)
    gone.use(Phases).hand_over(item, READY)
    script = studio.tree.snapshot

    def snapshot(root: Path) -> Any:
        if root.name == "gone":
            raise NotFound("the root folder does not exist")
        return script(root)

    studio.tree.snapshot = snapshot
    assert person.use(Phases).advance()[0].fate == "passed"
    assert "not run" in ada.use(Requests).current(item).changes.remarks


def test_an_issue_that_lost_its_worker_still_goes_to_review(
    person: Core, ada: Core, board: Board
) -> None:
    """What was handed over counts, also out of the backlog."""
    for status in ("open", "backlog"):
        item = board.build()
        person.items.edit(item, Edit(status=status))
        person.use(Phases).advance()
        assert ada.items.get(item).status == "review"


def test_a_request_whose_branch_went_on_is_open_again(
    studio: Studio, person: Core, ada: Core, bob: Core, board: Board
) -> None:
    """The approval was of another commit."""
    item = board.build()
    person.use(Phases).advance()
    bob.reviews.review(item, Judgment(of="branch", approves=True, reason=""))
    studio.tree.write("more.py", "x")
    head = board.branch().head
    (step,) = person.use(Phases).advance()
    assert step.fate == "renewed"
    request = ada.use(Requests).current(item)
    assert (request.status, request.submission.commit, request.verdict) == ("open", head, None)
    assert person.use(Phases).advance() == ()
