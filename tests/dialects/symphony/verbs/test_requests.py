"""Changes that are handed in: measured, checked, judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Judgment, Note
from counterpoint.core.model.journal import Receipt, Record
from counterpoint.dialects.symphony.nouns import (
    DIFF_LIMIT,
    GATE_OUTPUT,
    MARKER,
    ClaimedGate,
    GateCommand,
    PolicyEdit,
    Proposal,
)
from counterpoint.dialects.symphony.tools.requests import present_request
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.verbs.requests import Requests
from counterpoint.kernel.canonical import load
from counterpoint.kernel.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    NotReady,
    StaleVersion,
)
from fakes.boards import DIFF, Board
from fakes.studio import Studio

OTHER = DIFF.replace("a.py", "b.py")
YES = Judgment(of="branch", approves=True, reason="")
NO = Judgment(of="branch", approves=False, reason="")
TESTS = GateCommand(command="pytest -q", label="Tests", required=True)


@pytest.fixture
def item(ada: Core, board: Board) -> str:
    """Answer an issue that ada is at, with a branch in the tree."""
    made = board.issue("ready")
    ada.claims.start(made)
    board.branch()
    return made


def test_a_change_is_measured_by_the_server(studio: Studio, ada: Core, item: str) -> None:
    """What git says counts; what was sent instead is remarked upon."""
    request = ada.use(Requests).propose(Proposal(item=item, diff=OTHER, run="r1"))
    made, changes = request.submission, request.changes
    assert (made.id, changes.source, request.status) == ("demo-s1", "git", "open")
    assert (changes.files, changes.additions, changes.deletions) == (1, 1, 0)
    assert (changes.paths, changes.diff) == (("src/a.py",), DIFF)
    assert (made.branch, made.base, made.run) == ("work", "main", "r1")
    assert (made.summary, studio.last().action) == ("abc write a", "change.proposed")
    assert "not that of the branch" in changes.remarks
    assert ada.items.get(item).status == "review"


def test_the_same_difference_is_no_remark(ada: Core, item: str) -> None:
    """Its index lines may differ, its lines may not."""
    sent = DIFF.replace("--- a", "index 1..2 100644\n--- a")
    assert ada.use(Requests).propose(Proposal(item=item, diff=sent)).changes.remarks == ""


def test_another_commit_supersedes_the_request(
    studio: Studio, ada: Core, board: Board, item: str
) -> None:
    """The last one counts; so does one with other words about its gates."""
    ada.use(Requests).propose(Proposal(item=item))
    studio.tree.write("n.py", "n")
    board.branch()
    second = ada.use(Requests).propose(Proposal(item=item))
    assert (second.submission.id, ada.use(Requests).current(item)) == ("demo-s2", second)
    gate = ClaimedGate(command="x", label="X", exit_code=0, output="")
    third = ada.use(Requests).propose(Proposal(item=item, gates=(gate,)))
    assert third.submission.id == "demo-s3"


def test_gates_are_run_here_and_what_agents_say_is_their_word(
    studio: Studio, ada: Core, person: Core, item: str
) -> None:
    """Each with a signed receipt; of one command the measured result counts."""
    lint = GateCommand(command="ruff check", label="Lint", required=False)
    shell = GateCommand(command="a && b", label="Shell", required=True)
    gone = GateCommand(command="nowhere", label="Gone", required=False)
    person.use(Policies).edit(
        PolicyEdit(gates=(TESTS, lint, shell, gone), sensitive_paths=("src/*",))
    )
    studio.tree.exits["sh"] = 7
    studio.tree.exits["ruff"] = 3
    studio.tree.outputs["ruff"] = "x" * (GATE_OUTPUT + 5) + "the end"
    studio.tree.missing.add("nowhere")
    told = ClaimedGate(command="pytest -q", label="Tests", exit_code=1, output="no")
    request = ada.use(Requests).propose(Proposal(item=item, gates=(told,)))
    gates = load(request.changes.gates)
    assert [(one["label"], one["exit_code"], one["verified"]) for one in gates] == [
        ("Tests", 0, True), ("Lint", 3, True), ("Shell", 7, True), ("Gone", 127, True),
        ("Tests", 1, False),
    ]  # fmt: skip
    assert gates[1]["output"].startswith("… (12 characters before)")
    assert [receipt.argv for receipt in _receipts(studio)] == [
        ("pytest", "-q"), ("ruff", "check"), ("sh", "-c", "a && b")
    ]  # fmt: skip
    risk = load(request.changes.risk)
    assert (request.changes.risk_level, risk["parts"]["gates"], risk["basis"]) == (
        "high",
        10,
        "verified",
    )
    assert risk["sensitive"] == ["src/a.py"]


def test_nobody_waits_to_write_while_gates_run(
    studio: Studio, ada: Core, bob: Core, person: Core, board: Board
) -> None:
    """Not even under an idempotency key: a free issue is taken up after them."""
    free = board.issue("ready")
    board.branch()
    person.use(Policies).edit(PolicyEdit(gates=(TESTS,)))
    said: list[str] = []
    studio.tree.during = lambda: said.append(
        bob.journal.append(Note(kind="finding", body="meanwhile")).id
    )

    def hand_in() -> str:
        proposal = Proposal(item=free)
        return (
            ada.use(Requests).propose(proposal, None, lambda: ada.claims.start(free)).submission.id
        )

    assert ada.once("k", 1, hand_in) == ada.once("k", 1, hand_in) == "demo-s1"
    assert said == ["demo-r1"]
    assert ada.items.get(free).status == "review"
    blocked = board.issue("ready", status="backlog")
    take_up = ada.use(Requests).propose
    studio.refuses(NotReady, lambda: take_up(Proposal(item=blocked), None, lambda: None))
    studio.refuses(NotFound, lambda: take_up(Proposal(item="demo-99"), None, lambda: None))


def _receipts(studio: Any) -> list[Any]:
    with studio.view() as view:
        return view.select(Receipt, order="number")


def test_a_gate_that_took_too_long_did_not_pass(
    studio: Studio, ada: Core, person: Core, item: str
) -> None:
    """Whatever code it ended with."""
    person.use(Policies).edit(PolicyEdit(gates=(TESTS,)))
    studio.tree.exits["pytest"] = -9
    request = ada.use(Requests).propose(Proposal(item=item))
    assert load(request.changes.gates)[0]["exit_code"] == -9


def test_a_gate_that_took_too_much_says_of_what(
    studio: Studio, ada: Core, person: Core, item: str
) -> None:
    """A number alone would not tell whether its tests failed."""
    person.use(Policies).edit(PolicyEdit(gates=(TESTS,)))
    studio.tree.exits["pytest"], studio.tree.endings["pytest"] = -9, "processes"
    request = ada.use(Requests).propose(Proposal(item=item))
    told: Any = present_request(request)["gates"]
    assert told[0]["ended_for"] == "it had too many processes at once (2000 at most)"


def test_gates_over_what_is_not_committed_say_nothing_of_the_branch(
    studio: Studio, ada: Core, person: Core, item: str
) -> None:
    """A changed or an untracked file could make them pass; the marker of the worktree is no such file."""
    person.use(Policies).edit(PolicyEdit(gates=(TESTS,)))
    head = studio.tree.branches["work"].head
    studio.tree.write("conftest.py", "all passes")
    claimed = ClaimedGate(command=TESTS.command, label="Tests", exit_code=0, output="")
    request = ada.use(Requests).propose(Proposal(item=item, gates=(claimed,)))
    assert request.submission.commit == head
    assert [gate["verified"] for gate in load(request.changes.gates)] == [False]
    assert "1 path is not committed: conftest.py" in request.changes.remarks
    assert studio.tree.ran == []
    del studio.tree.files["conftest.py"]
    studio.tree.write(MARKER, "{}")
    again = ada.use(Requests).propose(Proposal(item=item, gates=(claimed,)))
    assert load(again.changes.gates)[0]["verified"] is True


def test_gates_are_not_run_on_other_files_than_were_committed(
    studio: Studio, ada: Core, person: Core, board: Board, item: str
) -> None:
    """A tree that is elsewhere, or gone, would say nothing about the branch."""
    person.use(Policies).edit(PolicyEdit(gates=(TESTS,)))
    board.branch(head="f" * 40)
    request = ada.use(Requests).propose(Proposal(item=item))
    assert (load(request.changes.gates), studio.tree.ran) == ([], [])
    assert "not run" in request.changes.remarks

    class Gone(type(studio.tree)):  # type: ignore[misc] -- the class of a fixture's value
        def snapshot(self, root: Path) -> Any:
            raise NotFound("the root folder does not exist")

    there = Core(replace(studio.ports, evidence=_as(Gone, studio.tree)), ada.caller)
    verbs = Requests(there._context)
    proposal = Proposal(item=item, tree="gone")
    measured = verbs.measure(proposal, studio.tree.branches["work"])
    assert measured.gates == ()


def _as(kind: type, tree: Any) -> Any:
    made = object.__new__(kind)
    made.__dict__.update(tree.__dict__)
    return made


def test_without_a_repository_what_was_sent_counts(studio: Studio, ada: Core, item: str) -> None:
    """It is marked as sent; the same again changes nothing."""
    studio.tree.branches.clear()
    studio.tree.method = "hash"
    studio.refuses(NotFound, lambda: ada.use(Requests).propose(Proposal(item=item)))
    request = ada.use(Requests).propose(Proposal(item=item, branch="b", base="m", diff=OTHER))
    assert (
        request.changes.source,
        request.submission.commit,
        request.submission.branch,
        request.submission.base,
    ) == ("sent", "", "b", "m")
    assert request.changes.paths == ("src/b.py",)
    assert ada.use(Requests).propose(Proposal(item=item, diff=OTHER)) == request
    studio.core("bob").reviews.review(item, YES)
    assert ada.use(Requests).get(item).status == "approved"


def test_a_branch_that_is_not_there_is_told_in_a_repository(
    studio: Studio, ada: Core, item: str
) -> None:
    """A text that was sent does not stand in for it."""
    call = Proposal(item=item, branch="none", diff=DIFF)
    studio.refuses(NotFound, lambda: ada.use(Requests).propose(call))


@pytest.mark.parametrize(
    ("diff", "fault"),
    [("", Conflict), ("x" * (DIFF_LIMIT + 1), InvalidInput), ("no diff at all", InvalidInput)],
)
def test_a_difference_that_says_nothing_is_refused(
    studio: Studio, ada: Core, item: str, diff: str, fault: type
) -> None:
    """Empty, too long, or not one."""
    verbs = Requests(ada._context)
    with pytest.raises(fault):
        verbs.measure(Proposal(item=item, diff=diff), None)


def test_only_work_that_somebody_is_at_is_handed_in(
    studio: Studio, ada: Core, board: Board, item: str
) -> None:
    """An issue that waits is not, nor one that is not there."""
    idle = board.issue("ready")
    studio.refuses(NotReady, lambda: ada.use(Requests).propose(Proposal(item=idle)))
    studio.refuses(NotFound, lambda: ada.use(Requests).propose(Proposal(item="demo-99")))
    studio.refuses(NotFound, lambda: ada.use(Requests).get(idle))


def test_an_approval_is_of_the_commit_that_was_looked_at(
    studio: Studio, ada: Core, bob: Core, board: Board, item: str
) -> None:
    """A second time it changes nothing; after another commit it is refused, approved or not."""
    ada.use(Requests).propose(Proposal(item=item))
    judged = bob.reviews.review(item, replace(YES, reason="fine", run="r2"))
    approved = bob.use(Requests).get(item)
    assert (approved.status, approved.verdict) == ("approved", judged.verdict)
    verdict = judged.verdict
    assert (verdict.agent, verdict.reason, verdict.run) == ("bob", "fine", "r2")
    assert verdict.subject == approved.submission.commit
    assert studio.last().facts["run"] == "r2"
    assert (studio.last().action, bob.items.get(item).status) == ("change.approved", "review")
    size = studio.image().size
    assert bob.reviews.review(item, YES).verdict == verdict
    assert bob.use(Requests).get(item) == approved
    assert studio.image().size == size
    studio.tree.write("n.py", "n")
    board.branch()
    fault = studio.refuses(StaleVersion, lambda: bob.reviews.review(item, YES))
    assert fault.facts["head"] == studio.tree.branches["work"].head


def test_a_branch_that_was_taken_away_can_still_be_judged(
    studio: Studio, ada: Core, bob: Core, item: str
) -> None:
    """What was looked at is kept."""
    ada.use(Requests).propose(Proposal(item=item))
    studio.tree.branches.clear()
    bob.reviews.review(item, YES)
    assert bob.use(Requests).get(item).status == "approved"


def test_an_approved_change_may_be_rejected_without_words(
    studio: Studio, ada: Core, person: Core, bob: Core, item: str
) -> None:
    """Also when a person has moved the issue by hand."""
    from counterpoint.core.model.filters import Edit

    ada.use(Requests).propose(Proposal(item=item))
    bob.reviews.review(item, YES)
    person.items.edit(item, Edit(status="open"))
    after = bob.reviews.review(item, NO).item
    assert (bob.use(Requests).get(item).status, after.status) == ("rejected", "open")
    with studio.view() as view:
        (comment,) = view.select(Record, item=item, kind="comment")
    assert "no reason was given" in comment.body


def test_a_request_that_cannot_be_measured_anew_is_open_with_the_reason(
    studio: Studio, ada: Core, person: Core, bob: Core, board: Board, item: str
) -> None:
    """Its branch went on to something that cannot be read."""
    ada.use(Requests).propose(Proposal(item=item))
    bob.reviews.review(item, YES)
    studio.tree.write("n.py", "n")
    made = board.branch(diff="")
    (renewed,) = person.use(Requests).renew()
    changes = person.use(Requests).get(item).changes
    assert (renewed.status, renewed.commit, changes.diff) == ("open", made.head, DIFF)
    assert changes.remarks == "the change is empty"
    studio.tree.branches.clear()
    assert person.use(Requests).renew() == []


def test_a_request_that_somebody_renewed_meanwhile_is_left(
    studio: Studio, ada: Core, person: Core, bob: Core, board: Board, item: str
) -> None:
    """Two processes that measure it at once write it once."""
    person.use(Policies).edit(PolicyEdit(gates=(TESTS,)))
    ada.use(Requests).propose(Proposal(item=item))
    studio.tree.write("n.py", "n")
    board.branch()

    def meanwhile() -> None:
        studio.tree.during = None
        studio.core("pat", kind="human").use(Requests).renew()

    studio.tree.during = meanwhile
    assert person.use(Requests).renew() == []
