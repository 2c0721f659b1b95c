"""Handing phases over and judging them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Judgment
from counterpoint.dialects.symphony.rules.contracts import report_of
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotClaimHolder,
    NotFound,
    NotReady,
    PathOutside,
)
from fakes.boards import READY, TEXT, Board
from fakes.people import Person
from fakes.studio import Studio


def test_a_claim_is_kept_with_what_the_server_measured(
    studio: Studio, ada: Core, board: Board
) -> None:
    """Nothing moves yet, the lease runs on; the text is noted with the issue."""
    item = board.issue()
    ada.claims.start(item)
    made = ada.use(Phases).hand_over(item, board.report(item, questions=("Why?",), run="r1"))
    claim = made.claim
    assert (claim.id, claim.item, claim.phase, claim.run) == ("demo-s1", item, "research", "r1")
    assert (claim.sha256, claim.size) == (text_digest(TEXT), len(TEXT))
    assert (claim.of, claim.status, made.again) == ("phase", "open", False)
    assert made.needs_verdict == ("1 question is open",)
    assert studio.last().action == "phase.claimed"
    kept = ada.items.attributes(item)["artifacts"]["research"]
    assert (kept["status"], kept["revision"]) == ("submitted", 1)
    assert ada.use(Phases).claims(item) == [claim]
    held = ada.overview.facets(item).claim
    assert held is not None
    assert held.state == "live"


def test_what_a_phase_was_not_to_write_is_told(studio: Studio, ada: Core, board: Board) -> None:
    """Neither the item's own texts, nor the marker, nor the promised copy; it stands in the entry."""
    item = board.issue()
    for path in ("src/a.py", "marker", "docs/copy.md", "docs/tickets/DEMO-001/design.md"):
        studio.tree.write(path, TEXT)
    said = board.report(item, promote_to="docs/copy.md")
    assert ada.use(Phases).hand_over(item, said, marker="marker").stray == ("src/a.py",)
    assert studio.last().facts["stray"] == ["src/a.py"]


def test_a_later_claim_takes_the_place_of_the_one_that_waits(ada: Core, board: Board) -> None:
    """The first is closed as superseded; the revision counts up."""
    item = board.issue()
    ada.use(Phases).hand_over(item, board.report(item))
    second = ada.use(Phases).hand_over(item, board.report(item, text=TEXT + "More."))
    latest, before = ada.use(Phases).claims(item)
    assert latest == second.claim
    assert before.status == "superseded"
    assert ada.items.attributes(item)["artifacts"]["research"]["revision"] == 2


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sha256": "0" * 64}, text_digest(TEXT)),
        ({"sha256": ""}, "artifact_hash is needed"),
        ({"version": 0}, "contract_version is needed"),
        ({"version": 2}, "contract_version is 2"),
        ({"next_phase": "ready"}, "after research comes 'architecture'"),
        ({"path": ""}, "artifact_path is needed"),
        ({"text": "# Short"}, "at least 100"),
        ({"text": "no heading " * 20}, "no Markdown heading"),
        ({"text": "# Head\n" + "words " * 30}, "Problem"),
        ({"promote_to": "src/a.md"}, "promote_to"),
        ({"promote_to": "docs/taken.md"}, "another text"),
    ],
)
def test_everything_wrong_with_a_claim_is_told_and_nothing_kept(
    studio: Studio, ada: Core, board: Board, change: dict[str, Any], word: str
) -> None:
    """So that it can be mended in the same turn."""
    studio.tree.write("docs/taken.md", "another one")
    item = board.issue()
    said = board.report(item, **change)
    fault = studio.refuses(InvalidInput, lambda: ada.use(Phases).hand_over(item, said))
    assert word in fault.message
    assert fault.facts["faults"]


def test_paths_out_of_the_folder_or_the_tree_are_refused(
    studio: Studio, ada: Core, board: Board
) -> None:
    """Neither another issue's folder nor a way up."""
    item = board.issue()
    said = board.report(item)
    other = replace(said, path="docs/tickets/DEMO-009/research.md")
    studio.tree.write(other.path, TEXT)
    assert (
        "DEMO-001"
        in studio.refuses(InvalidInput, lambda: ada.use(Phases).hand_over(item, other)).message
    )
    up = replace(said, path="../research.md")
    studio.refuses(PathOutside, lambda: ada.use(Phases).hand_over(item, up))
    gone = replace(said, path="docs/tickets/DEMO-001/none.md")
    studio.refuses(NotFound, lambda: ada.use(Phases).hand_over(item, gone))


def test_a_promised_copy_may_be_there_already_if_it_is_the_same(
    studio: Studio, ada: Core, board: Board
) -> None:
    """A repetition is no collision, nor is a free place."""
    item = board.issue()
    studio.tree.write("docs/same.md", TEXT)
    assert ada.use(Phases).hand_over(item, board.report(item, promote_to="docs/same.md")).claim
    assert ada.use(Phases).hand_over(item, board.report(item, promote_to="docs/free.md")).claim


@pytest.mark.parametrize("phase", ["architecture", ""])
def test_only_the_phase_an_issue_is_in_is_handed_over(
    studio: Studio, ada: Core, board: Board, phase: str
) -> None:
    """Another one, or none at all, is told at once."""
    item = board.issue(phase)
    said = board.report(item)
    fault = studio.refuses(NotReady, lambda: ada.use(Phases).hand_over(item, said))
    assert fault.facts["phase"] == phase


def test_what_is_closed_or_not_there_is_not_handed_over(
    studio: Studio, ada: Core, person: Core, board: Board
) -> None:
    """Nor is a phase without a contract."""
    from counterpoint.core.model.filters import Edit

    item = board.issue()
    said = board.report(item)
    studio.refuses(NotFound, lambda: ada.use(Phases).hand_over("demo-99", said))
    studio.refuses(
        NotFound, lambda: ada.use(Phases).hand_over(item, replace(said, phase="dreaming"))
    )
    person.items.edit(item, Edit(status="cancelled"))
    studio.refuses(NotReady, lambda: ada.use(Phases).hand_over(item, said))


def test_commits_are_handed_over_clean_and_ahead(studio: Studio, ada: Core, board: Board) -> None:
    """Uncommitted paths are named, all but the marker; a branch without commits is refused."""
    item = board.issue("ready")
    ada.claims.start(item)
    board.branch(dirty=("marker", "b.py"))
    fault = studio.refuses(
        Conflict, lambda: ada.use(Phases).hand_over(item, READY, marker="marker")
    )
    assert fault.facts["paths"] == ["b.py"]
    board.branch(head="0" * 40)
    studio.refuses(Conflict, lambda: ada.use(Phases).hand_over(item, READY))
    made = board.branch(dirty=("marker",))
    claim = ada.use(Phases).hand_over(item, READY, marker="marker", base="trunk").claim
    assert (claim.commit, claim.branch, claim.base) == (made.head, "work", "trunk")
    assert (claim.path, claim.sha256) == ("", "")
    assert ada.use(Phases).hand_over(item, READY, marker="marker", base="trunk").again


def test_commits_of_an_issue_that_nobody_is_at_are_refused(
    studio: Studio, ada: Core, board: Board
) -> None:
    """An issue without a phase may be handed over ready, but not from nowhere."""
    item = board.issue("")
    board.branch()
    studio.refuses(NotReady, lambda: ada.use(Phases).hand_over(item, READY))
    ada.claims.start(item)
    assert ada.use(Phases).hand_over(item, READY).claim.phase == "ready"


def test_only_who_holds_an_issue_hands_it_over(
    studio: Studio, ada: Core, bob: Core, board: Board
) -> None:
    """Text or commits, of one that is free, held by another, or in review; a backlog is held by nobody."""
    item = board.issue()
    said = board.report(item)
    studio.refuses(NotClaimHolder, lambda: bob.use(Phases).hand_over(item, said))
    built = board.build()
    studio.refuses(NotClaimHolder, lambda: bob.use(Phases).hand_over(built, READY))
    parked = board.issue(status="backlog")
    assert bob.use(Phases).hand_over(parked, board.report(parked)).claim.agent == "bob"
    assert ada.use(Phases).hand_over(item, said).claim.agent == "ada"


def test_a_doubt_stays_until_somebody_has_judged(
    studio: Studio, ada: Core, bob: Core, board: Board
) -> None:
    """To say it again with more confidence, or with another text, needs the verdict all the same."""
    item = board.issue()
    low = board.report(item, confidence="low", questions=("Which?",))
    first = ada.use(Phases).hand_over(item, low)
    why = ("confidence is low", "1 question is open")
    sure = replace(low, confidence="high", questions=())
    again = ada.use(Phases).hand_over(item, sure)
    assert (again.again, again.claim, again.needs_verdict) == (True, first.claim, why)
    anew = ada.use(Phases).hand_over(item, replace(sure, summary="Surely"))
    assert (anew.again, anew.needs_verdict) == (False, why)
    assert studio.system.use(Phases).advance()[0].fate == "waiting"
    bob.reviews.review(item, verdict(approves=False))
    assert studio.system.use(Phases).advance()[0].fate == "rejected"
    ada.claims.start(item)
    assert ada.use(Phases).hand_over(item, sure).needs_verdict == ()


@pytest.fixture
def claimed(ada: Core, board: Board) -> str:
    """Answer an issue whose research waits for a verdict."""
    item = board.issue("research", "security")
    ada.use(Phases).hand_over(item, board.report(item))
    return item


def verdict(**more: Any) -> Judgment:
    """Answer what a judge says."""
    plain: dict[str, Any] = {
        "phase": "research",
        "subject": text_digest(TEXT),
        "approves": True,
        "reason": "",
    }
    return Judgment(of="phase", **(plain | more))


def test_a_verdict_is_kept_and_moves_nothing(studio: Studio, bob: Core, claimed: str) -> None:
    """The same one again answers the first; another takes its place."""
    first = bob.reviews.review(claimed, verdict(reason="good")).verdict
    assert (first.decision, first.submission) == ("approve", "demo-s1")
    assert studio.last().action == "phase.approved"
    assert bob.reviews.review(claimed, verdict(reason="good")).verdict == first
    second = bob.reviews.review(
        claimed, verdict(reason="better", subject=text_digest(TEXT).upper())
    )
    assert second.verdict.id == "demo-v2"
    assert [one.result for one in bob.use(Phases).verdicts(claimed)] == ["", "superseded"]
    assert bob.overview.facets(claimed).item.status == "active"


def test_a_second_judge_of_the_same_name_and_words_is_heard(
    studio: Studio, bob: Core, claimed: str
) -> None:
    """A name is a label; and what a person signs is an act of its own."""
    said = [bob.reviews.review(claimed, verdict(reason="good")).verdict]
    said.append(studio.core("bob").reviews.review(claimed, verdict(reason="good")).verdict)
    signer = Person(studio=studio, name="bob")
    signer.enrol()
    signer.judge(claimed, verdict(reason="good"))
    signer.judge(claimed, verdict(reason="good"))
    assert [one.id for one in said] == ["demo-v1", "demo-v2"]
    assert len(bob.use(Phases).verdicts(claimed)) == 4


def test_who_handed_in_or_worked_on_an_issue_does_not_judge_it(
    studio: Studio, ada: Core, bob: Core, person: Core, claimed: str
) -> None:
    """Neither in the same session, nor by the same name in another, nor if somebody else handed it in."""
    person.claims.release(claimed)
    bob.claims.start(claimed)
    for core in (ada, studio.core("ada"), bob):
        studio.refuses(Forbidden, lambda core=core: core.reviews.review(claimed, verdict()))
    assert person.reviews.review(claimed, verdict()).verdict.agent == "pat"
    studio.refuses(NotFound, lambda: person.reviews.review("demo-99", verdict()))


def test_a_verdict_on_commits_names_the_commit(ada: Core, bob: Core, board: Board) -> None:
    """There is no text whose hash could be named."""
    item = board.issue("ready")
    ada.claims.start(item)
    head = board.branch().head
    ada.use(Phases).hand_over(item, READY)
    judged = bob.reviews.review(item, verdict(phase="ready", subject=head))
    assert judged.verdict.subject == head


def test_a_claim_that_is_repeated_keeps_what_is_new(
    studio: Studio, ada: Core, claimed: str
) -> None:
    """The run and the tree that it comes from now; it stays the same claim, and nothing else is new."""
    (first,) = ada.use(Phases).claims(claimed)
    anew = replace(report_of(first), run="run-2")
    again = ada.use(Phases).hand_over(claimed, anew)
    assert (again.again, again.renewed, again.claim.id) == (True, True, first.id)
    (kept,) = ada.use(Phases).claims(claimed)
    assert (kept.run, kept.summary, kept.status) == ("run-2", first.summary, "open")
    assert studio.last().facts["run"] == "run-2"
    same = ada.use(Phases).hand_over(claimed, anew)
    assert (same.again, same.renewed, same.claim) == (True, False, kept)
