"""The step that brings items from phase to phase."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, Judgment
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.dialects.symphony.nouns import PolicyEdit
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.errors import MalformedDocument
from fakes.boards import TEXT, Board
from fakes.studio import Studio


def test_an_issue_goes_through_every_phase_to_be_ready(
    person: Core, ada: Core, board: Board
) -> None:
    """Each label is swapped one step after its claim; at the end it is there to be built."""
    item = board.issue(status="backlog")
    for phase, after in (
        ("research", "architecture"),
        ("architecture", "grooming"),
        ("grooming", "ready"),
    ):
        board.hand(item, phase)
        (step,) = person.use(Phases).advance()
        assert (step.fate, step.phases) == ("passed", (after,))
        assert board.labels(item) == [f"phase:{after}"]
    assert ada.items.get(item).status == "open"
    assert ada.items.attributes(item)["artifacts"]["grooming"]["status"] == "approved"
    assert [one.status for one in ada.use(Phases).claims(item)] == ["accepted"] * 3
    assert person.use(Phases).advance() == ()


def test_who_worked_on_a_phase_lets_go_of_the_issue(person: Core, ada: Core, board: Board) -> None:
    """It is open again for the next role."""
    item = board.issue()
    ada.claims.start(item)
    board.hand(item)
    person.use(Phases).advance()
    held = ada.overview.facets(item).claim
    assert held is not None
    assert held.state == "released"
    assert ada.items.get(item).status == "open"


def test_a_claim_that_needs_a_verdict_waits_for_it(
    studio: Studio, person: Core, bob: Core, board: Board
) -> None:
    """Waiting writes nothing; the verdict is acted upon once."""
    item = board.issue("research", "security")
    board.hand(item)
    size = studio.image().size
    (step,) = person.use(Phases).advance()
    assert (step.fate, step.reasons) == ("waiting", ("the item is labelled security",))
    assert studio.image().size == size
    bob.reviews.review(
        item,
        Judgment(of="phase", phase="research", subject=text_digest(TEXT), approves=True, reason=""),
    )
    assert person.use(Phases).advance()[0].fate == "passed"
    assert board.labels(item) == ["phase:architecture", "security"]
    (verdict,) = bob.use(Phases).verdicts(item)
    assert (verdict.result, verdict.processed_at) == ("passed", studio.last().time)


def test_a_rejection_sends_an_issue_back(person: Core, ada: Core, bob: Core, board: Board) -> None:
    """It is counted and labelled; the comment of the judge is not told twice; a new claim clears it."""
    item = board.issue()
    ada.claims.start(item)
    board.hand(item)
    no = Judgment(
        of="phase",
        phase="research",
        subject=text_digest(TEXT),
        approves=False,
        reason="No",
        fixes=("Do",),
    )
    bob.reviews.review(item, no)
    (step,) = person.use(Phases).advance()
    assert (step.fate, step.reasons) == ("rejected", ("No", "Do"))
    assert board.labels(item) == ["needs-revision", "phase:research"]
    assert ada.items.attributes(item)["rejections"] == {"research": 1}
    assert ada.items.get(item).status == "open"
    assert len(board.records(item, "comment")) == 1
    board.hand(item, text=TEXT + "Better.")
    assert board.labels(item) == ["phase:research"]
    assert person.use(Phases).advance()[0].fate == "passed"
    assert "rejections" not in ada.items.attributes(item)


@pytest.mark.parametrize(
    ("change", "word"),
    [({"version": 2}, "contract_version"), ({"next_phase": "ready"}, "recommended_next_phase")],
)
def test_a_contract_that_changed_meanwhile_refuses_a_claim(
    studio: Studio, person: Core, board: Board, change: dict[str, Any], word: str
) -> None:
    """The issue needs a revision, and a comment says why."""
    item = board.issue()
    board.hand(item)
    shelf = studio.cabinet.contracts
    shelf["research"] = replace(shelf["research"], **change)
    (step,) = person.use(Phases).advance()
    assert step.fate == "rejected"
    assert board.labels(item) == ["needs-revision", "phase:research"]
    assert word in board.records(item, "comment")[0]


def test_a_text_that_changed_or_went_away_refuses_a_claim(
    studio: Studio, person: Core, board: Board
) -> None:
    item = board.issue()
    claim = board.hand(item)
    studio.tree.write(claim.path, TEXT + "Sneaked in.")
    assert "another SHA-256" in person.use(Phases).advance()[0].reasons[0]
    claim = board.hand(item)
    del studio.tree.files[claim.path]
    assert "not there" in person.use(Phases).advance()[0].reasons[0]


def test_a_text_is_sought_in_the_projects_own_tree_too(
    studio: Studio, ada: Core, person: Core, board: Board
) -> None:
    """The tree it was claimed in may be gone by now."""
    item = board.issue()
    said = board.report(item)
    root = Path("linked")
    studio.tree.places["linked"] = dict(studio.tree.files)
    away = Core(studio.ports, replace(ada.caller, root=root))
    away.use(Phases).hand_over(item, said)
    studio.tree.places["linked"].clear()
    assert person.use(Phases).advance()[0].fate == "passed"


def test_a_claim_of_another_phase_is_passed_over_silently(
    studio: Studio, person: Core, board: Board
) -> None:
    """Neither label nor counter tells of it; a verdict about it is closed with it."""
    item = board.issue()
    board.hand(item)
    studio.core("bob").reviews.review(
        item,
        Judgment(of="phase", phase="research", subject=text_digest(TEXT), approves=True, reason=""),
    )
    change = Edit(add_labels=("phase:grooming",), remove_labels=("phase:research",))
    person.items.edit(item, change)
    (step,) = person.use(Phases).advance()
    assert step.fate == "stale"
    assert board.labels(item) == ["phase:grooming"]
    assert "rejections" not in person.items.attributes(item)
    assert person.use(Phases).claims(item)[0].status == "stale"
    assert person.use(Phases).verdicts(item)[0].result == "stale"


def test_a_claim_of_a_closed_issue_is_stale(person: Core, board: Board) -> None:
    """Nothing is to be done any more."""
    item = board.issue()
    board.hand(item)
    person.items.edit(item, Edit(status="cancelled"))
    assert person.use(Phases).advance()[0].fate == "stale"


def test_a_contract_that_cannot_be_read_makes_a_claim_wait(
    studio: Studio, person: Core, board: Board
) -> None:
    """It is no fault of who handed it over."""
    item = board.issue()
    board.hand(item)

    class Broken:
        def contract(self, phase: str) -> Any:
            raise MalformedDocument(f"{phase}.md cannot be read")

        def phases(self) -> list[str]:
            return []

    ports = replace(studio.ports, extras=lambda: {ContractDirectory: Broken()})
    (step,) = Core(ports, person.caller).use(Phases).advance()
    assert (step.fate, step.reasons) == ("waiting", ("research.md cannot be read",))
    assert board.labels(item) == ["phase:research"]


def test_phases_that_may_be_skipped_are_passed_in_the_same_step(
    studio: Studio, person: Core, board: Board
) -> None:
    """If their text is there and has its form; their label goes."""
    item = board.issue(
        "research", "skip:architecture", "skip:grooming", "skip:ready", "skip:dreams"
    )
    studio.tree.write("docs/tickets/DEMO-001/architecture.md", TEXT)
    studio.tree.write("docs/tickets/DEMO-001/grooming.md", "# Short")
    board.hand(item)
    assert person.use(Phases).advance()[0].phases == ("architecture", "grooming")
    assert board.labels(item) == [
        "phase:grooming", "skip:dreams", "skip:grooming", "skip:ready",
    ]  # fmt: skip


def test_phases_a_project_does_not_have_are_passed_over(person: Core, board: Board) -> None:
    """Its policy says which it has."""
    person.use(Policies).edit(PolicyEdit(phases=("research", "ready")))
    item = board.issue()
    board.hand(item)
    person.use(Phases).advance()
    assert board.labels(item) == ["phase:ready"]


def test_the_last_text_leaves_an_issue_without_a_phase(
    studio: Studio, person: Core, board: Board
) -> None:
    """A contract may have nothing after it."""
    shelf = studio.cabinet.contracts
    shelf["research"] = replace(shelf["research"], next_phase="")
    item = board.issue()
    board.hand(item, next_phase="")
    assert person.use(Phases).advance()[0].phases == ()
    assert board.labels(item) == []


def test_a_backlog_stays_a_backlog_before_the_last_phase(
    studio: Studio, person: Core, board: Board
) -> None:
    item = board.issue(status="backlog")
    board.hand(item)
    person.use(Phases).advance()
    assert person.items.get(item).status == "backlog"
    del studio.cabinet.contracts["grooming"]
    board.hand(item, "architecture")
    person.use(Phases).advance()
    assert person.items.get(item).status == "open"


def test_a_text_is_copied_to_where_it_was_promised(
    studio: Studio, person: Core, board: Board
) -> None:
    """Never over another one: that is told in a comment, and the phase passes all the same."""
    item = board.issue()
    board.hand(item, promote_to="docs/design.md")
    person.use(Phases).advance()
    assert studio.tree.files["docs/design.md"] == TEXT
    other = board.issue()
    board.hand(other, promote_to="docs/other.md")
    studio.tree.write("docs/other.md", "was here first")
    (step,) = person.use(Phases).advance()
    assert step.fate == "passed"
    assert "docs/other.md was not written" in board.records(other, "comment")[0]
    assert studio.tree.files["docs/other.md"] == "was here first"
    same = board.issue()
    board.hand(same, promote_to="docs/same.md")
    studio.tree.write("docs/same.md", TEXT)
    assert person.use(Phases).advance()[0].reasons == ()


def test_too_many_refusals_ask_for_a_person(studio: Studio, person: Core, board: Board) -> None:
    """The third one blocks the issue, and a comment says so."""
    item = board.issue()
    for turn in range(3):
        claim = board.hand(item, text=TEXT + str(turn))
        studio.tree.write(claim.path, "other")
        person.use(Phases).advance()
    (blocker,) = board.records(item, "blocker")
    assert "refused 3 times" in blocker
    assert person.items.get(item).blockers == 1
    studio.clock.pass_by(minutes=25 * 60)
    assert person.use(Phases).advance() == ()


def test_a_revision_that_nobody_makes_expires_once(
    studio: Studio, person: Core, board: Board
) -> None:
    """After 24 hours, not before; a closed issue is left alone."""
    item, closed = board.issue(), board.issue()
    for one in (item, closed):
        claim = board.hand(one)
        studio.tree.write(claim.path, "other")
    person.use(Phases).advance()
    person.items.edit(closed, Edit(status="cancelled"))
    studio.clock.pass_by(minutes=24 * 60 - 1)
    assert person.use(Phases).advance() == ()
    studio.clock.pass_by(minutes=2)
    (step,) = person.use(Phases).advance()
    assert (step.item, step.fate) == (item, "expired")
    assert person.items.get(item).blockers == 1
    assert person.use(Phases).advance() == ()


def test_a_label_that_a_person_gave_never_expires(
    studio: Studio, person: Core, board: Board
) -> None:
    """Nobody knows since when it is there."""
    board.issue("research", "needs-revision")
    studio.clock.pass_by(minutes=48 * 60)
    assert person.use(Phases).advance() == ()


def test_a_claim_that_another_process_acted_upon_is_left(
    studio: Studio, person: Core, board: Board
) -> None:
    """Even between looking at it and writing."""
    item = board.issue()
    board.hand(item)
    shelf = studio.cabinet

    class Meanwhile:
        is_first = True

        def contract(self, phase: str) -> Any:
            if Meanwhile.is_first:
                Meanwhile.is_first = False
                assert person.use(Phases).advance()[0].fate == "passed"
            return shelf.contract(phase)

        def phases(self) -> list[str]:
            return shelf.phases()

    slow = Core(
        replace(studio.ports, extras=lambda: {ContractDirectory: Meanwhile()}), person.caller
    )
    assert slow.use(Phases).advance()[0].fate == "left"
    assert person.use(Phases).claims(item)[0].status == "accepted"
