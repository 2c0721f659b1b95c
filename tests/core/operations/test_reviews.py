"""Handing in and judging: who may, when, and what of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, ItemFilter, Judgment, Report
from counterpoint.core.model.journal import Outcome, Submission, Verdict
from counterpoint.core.model.work import Gate
from counterpoint.core.operations.recording.caches import LastReads
from counterpoint.core.operations.recording.unit import recording
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import (
    Conflict,
    Forbidden,
    GateClosed,
    InvalidInput,
    NotFound,
    NotReady,
    StaleVersion,
)

DONE = Report(outcome="done", summary="it works")
YES = Judgment(approves=True, reason="good")
NO = Judgment(approves=False, reason="bad", fixes=("mend it",))


@pytest.fixture
def ids(studio, ada):
    """Give a plan with a reviewed phase over one reviewed task, and a file to hand in."""
    studio.tree.write("out.md", "text")
    text = "# Plan\n## One\n- review: yes\n- artifact: yes\n- [ ] A\n  - review: yes\n"
    return {i.title: i.id for i in ada.plans.create(ada.plans.read(text)).items}


def finish(core, item):
    """Start and finish a task."""
    return core.tasks.finish(item, core.claims.start(item).claim.token, DONE).item


def test_a_phase_goes_from_its_work_over_its_review_to_done(studio, ada, bob, ids):
    """Task finished and approved, phase handed in and approved, plan closed."""
    studio.refuses(GateClosed, lambda: ada.reviews.submit(ids["One"], "out.md", "early"))
    assert finish(ada, ids["A"]).status == "review"
    assert bob.reviews.review(ids["A"], YES).item.status == "done"
    found = ada.reviews.submit(ids["One"], "./out.md", "see")
    assert (found.item.status, [g.name for g in found.closed]) == ("review", ["review"])
    kept = ada.overview.find(Submission, "demo-s1")
    assert (kept.path, kept.sha256, kept.size) == ("out.md", text_digest("text"), 4)
    entry = studio.last()
    assert (entry.action, entry.subject) == ("phase.submitted", ids["One"])
    assert entry.facts["submission"] == "demo-s1"
    judged = bob.reviews.review(ids["One"], Judgment(approves=True, reason="good",
                                                     subject=text_digest("text")[:10]))  # fmt: skip
    assert (judged.item.status, judged.closed) == ("done", ())
    assert ada.items.get(ids["Plan"]).status == "done"
    assert ada.overview.find(Gate, ids["One"], "review").proof == judged.verdict.id
    entry = studio.last()
    assert (entry.action, entry.facts["verdict"]) == ("item.approved", "demo-v2")
    studio.refuses(Conflict, lambda: bob.reviews.review(ids["One"], YES))
    studio.refuses(Conflict, lambda: ada.reviews.submit(ids["One"], "", "again"))


def test_who_did_the_work_cannot_judge_it(studio, ada, ids):
    """By session or by name; who has it in hand neither; a person by the session only."""
    item = ids["A"]
    ada.claims.start(item)
    studio.refuses(Forbidden, lambda: ada.reviews.review(item, YES))
    ada.tasks.finish(item, 1, DONE)
    studio.refuses(Forbidden, lambda: ada.reviews.review(item, YES))
    same_name = studio.core("ada")
    studio.refuses(Forbidden, lambda: same_name.reviews.review(item, NO))
    same_session = studio.core("other", session=ada.caller.actor.session)
    studio.refuses(Forbidden, lambda: same_session.reviews.review(item, YES))
    namesake = studio.core("ada", kind="human")
    assert namesake.reviews.review(item, YES).item.status == "done"
    ada.reviews.submit(ids["One"], "out.md", "see")
    studio.refuses(Forbidden, lambda: ada.reviews.review(ids["One"], YES))


def test_nothing_is_approved_before_it_is_handed_in(studio, ada, bob, ids):
    """An approval in advance would be an approval of nothing."""
    studio.refuses(Conflict, lambda: bob.reviews.review(ids["A"], YES))
    studio.refuses(Conflict, lambda: bob.reviews.review(ids["One"], YES))
    ada.claims.start(ids["A"])
    studio.refuses(Conflict, lambda: bob.reviews.review(ids["A"], YES))
    ada.tasks.finish(ids["A"], 1, DONE)
    assert bob.reviews.review(ids["A"], YES).item.status == "done"


def test_what_asks_for_no_review_may_be_praised_once_it_is_begun(ada, bob):
    """Without a review gate a verdict opens nothing."""
    item = ada.plans.create(ada.plans.read("# P\n- [ ] A\n")).ready[0]
    ada.claims.start(item)
    assert bob.reviews.review(item, YES).item.status == "active"
    assert len(bob.overview.rows(Verdict, item=item)) == 1


@pytest.mark.parametrize("judgment", [YES, NO])
def test_what_nobody_has_begun_is_not_judged(studio, ada, bob, judgment):
    """There would be nothing to mend; what was done at birth may be judged."""
    made = ada.plans.create(ada.plans.read("# P\n## One\n- [ ] A\n## Two\n- [x] B\n"))
    for item in [one.id for one in made.items if one.title in {"One", "A"}]:
        fault = studio.refuses(NotReady, lambda item=item: bob.reviews.review(item, judgment))
        assert "nothing to judge" in fault.message
    done = next(one.id for one in made.items if one.title == "B")
    if judgment is NO:
        assert bob.reviews.review(done, judgment).item.status == "open"


def test_a_rejection_reopens_with_its_fixes(studio, ada, bob, ids):
    """The gate closes again, the task is open again, and the verdict tells what to mend."""
    finish(ada, ids["A"])
    judged = bob.reviews.review(ids["A"], NO)
    assert judged.item.status == "open"
    assert [g.name for g in judged.closed] == ["review"]
    assert (judged.verdict.fixes, judged.verdict.decision) == (("mend it",), "reject")
    assert studio.last().action == "item.rejected"
    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], YES)
    bob.reviews.review(ids["A"], NO)
    assert ada.items.get(ids["A"]).status == "open"
    assert ada.overview.find(Gate, ids["A"], "review").status == "closed"


def test_a_rejection_is_heard_while_the_work_goes_on(ada, bob, ids):
    """The claim stays with the worker; a phase is sent back to its work."""
    ada.claims.start(ids["A"])
    assert bob.reviews.review(ids["A"], NO).item.status == "active"
    assert len(ada.overview.held()) == 1
    ada.tasks.finish(ids["A"], 1, DONE)
    bob.reviews.review(ids["A"], YES)
    ada.reviews.submit(ids["One"], "out.md", "see")
    assert bob.reviews.review(ids["One"], NO).item.status == "active"
    assert bob.reviews.review(ids["One"], NO).item.status == "active"


def test_a_met_review_is_closed_by_a_rejection_that_moves_nothing(ada, bob, ids):
    """Approved, but another gate still holds it: the approval can be taken back."""
    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], YES)
    bob.reviews.review(ids["One"], YES)
    assert ada.overview.find(Gate, ids["One"], "review").status == "met"
    bob.reviews.review(ids["One"], NO)
    gate = ada.overview.find(Gate, ids["One"], "review")
    assert (gate.status, gate.reason) == ("closed", "rejected by demo-v3")


def test_an_approval_is_of_what_lies_there(studio, ada, bob, ids):
    """Another hash is stale, too short a one says nothing, a commit serves as well."""
    commit = studio.tree.commit()
    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], Judgment(approves=True, reason="so", subject=commit[:7]))
    ada.reviews.submit(ids["One"], "out.md", "see")
    seen = Judgment(approves=True, reason="so", subject=text_digest("text"))
    studio.tree.write("out.md", "changed")
    fault = studio.refuses(StaleVersion, lambda: bob.reviews.review(ids["One"], seen))
    assert fault.facts["current"] == [text_digest("changed"), commit]
    short = Judgment(approves=True, reason="so", subject=text_digest("changed")[:6])
    studio.refuses(InvalidInput, lambda: bob.reviews.review(ids["One"], short))
    del studio.tree.files["out.md"]
    studio.refuses(NotFound, lambda: bob.reviews.review(ids["One"], YES))
    rejected = bob.reviews.review(ids["One"], NO)
    assert rejected.verdict.subject == text_digest("text")


def test_commits_of_others_do_not_touch_what_was_looked_at(studio, ada, bob, ids):
    """What ended at a commit is judged as of that or of what is there now; once it ends anew the first is stale."""
    ended = studio.tree.commit()
    finish(ada, ids["A"])
    between, now = studio.tree.commit(), studio.tree.commit()
    assert bob.reviews.proposed(ids["A"], YES).decision["subject"] == ended
    seen = Judgment(approves=True, reason="so", subject=ended)
    wrong = Judgment(approves=True, reason="so", subject=between)
    fault = studio.refuses(StaleVersion, lambda: bob.reviews.review(ids["A"], wrong))
    assert fault.facts["current"] == [ended, now]
    assert bob.reviews.review(ids["A"], NO).verdict.subject == ended
    ada.claims.start(ids["A"])
    # What is at work has not ended.
    assert bob.reviews.review(ids["A"], NO).verdict.subject == now
    ada.tasks.finish(ids["A"], 2, DONE)
    studio.refuses(StaleVersion, lambda: bob.reviews.review(ids["A"], seen))
    studio.tree.commit()
    assert bob.reviews.review(ids["A"], YES).verdict.subject == now
    ada.reviews.submit(ids["One"], "", "all of it")
    handed = studio.tree.commit()
    assert bob.reviews.proposed(ids["One"], YES).decision["subject"] != handed


def test_without_evidence_a_verdict_is_of_what_is_there_now(studio, ada, bob, ids):
    """As where it was taken away."""
    studio.tree.commit()
    finish(ada, ids["A"])
    with recording(studio.context(ada), "test.made") as change:
        (outcome,) = change.select(Outcome, item=ids["A"])
        change.put(replace(outcome, evidence=""))
    now = studio.tree.commit()
    assert bob.reviews.proposed(ids["A"], YES).decision["subject"] == now


def test_an_approval_that_names_nothing_is_of_what_was_handed_in(studio, ada, bob, ids):
    """Not of what lies there since; a rejection may be of that."""
    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], YES)
    ada.reviews.submit(ids["One"], "out.md", "see")
    studio.tree.write("out.md", "changed")
    fault = studio.refuses(StaleVersion, lambda: bob.reviews.review(ids["One"], YES))
    assert text_digest("changed") in fault.facts["current"]
    studio.tree.write("out.md", "text")
    studio.tree.commit()
    proposed = bob.reviews.proposed(ids["One"], YES).decision
    verdict = bob.reviews.review(ids["One"], YES).verdict
    assert verdict.subject == proposed["subject"] == text_digest("text")


def test_an_approval_that_names_nothing_is_of_what_its_author_can_have_seen(studio, ada, bob, ids):
    """What was handed in after he looked last is looked at first; whoever names it has seen it."""

    def bob_anew():
        return Core(studio.ports, bob.caller)

    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], YES)
    ada.reviews.submit(ids["One"], "out.md", "see")
    bob_anew().items.get(ids["One"])
    studio.clock.pass_by(seconds=1)
    studio.tree.write("out.md", "other")
    ada.items.edit(ids["One"], Edit(status="active"))
    ada.reviews.submit(ids["One"], "out.md", "see")
    fault = studio.refuses(StaleVersion, lambda: bob_anew().reviews.review(ids["One"], YES))
    assert "since you last looked" in fault.message
    studio.clock.pass_by(seconds=1)
    bob_anew().items.get(ids["One"])
    assert bob_anew().reviews.review(ids["One"], YES).item.status == "done"


def test_looks_are_known_of_the_connections_that_were_heard_last():
    """So that they take no more room with time."""
    reads = LastReads()
    for number in range(600):
        assert reads.look(f"ses_{number}", Timestamp("2026-01-01T00:00:00.000Z")) is None
    now = Timestamp("2026-01-01T00:00:01.000Z")
    assert (reads.look("ses_0", now), reads.look("ses_599", now)) == (
        None,
        "2026-01-01T00:00:00.000Z",
    )


def test_a_submission_that_comes_in_between_makes_a_verdict_stale(studio, ada, bob, ids):
    """The reviewer looked at the one before."""
    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], YES)
    ada.reviews.submit(ids["One"], "out.md", "first")
    digest, calls = studio.tree.digest, []

    def digest_slowly(root, path):
        calls.append(path)
        if len(calls) == 1:
            ada.reviews.submit(ids["One"], "out.md", "second")
            before.append(studio.image())
        return digest(root, path)

    before: list = []
    studio.tree.digest = digest_slowly
    with pytest.raises(StaleVersion, match="anew"):
        bob.reviews.review(ids["One"], YES)
    assert studio.image() == before[0]


def test_a_part_without_gates_closes_when_it_is_handed_in(ada, ids):
    """Nothing holds it back; without a path the commit alone is handed in."""
    made = ada.plans.create(ada.plans.read("# P\n## One\n"))
    found = ada.reviews.submit(made.items[1].id, "", "nothing to do")
    assert (found.item.status, found.submission.sha256) == ("done", "")
    assert ada.items.get(made.root.id).status == "done"


def test_a_part_that_is_in_review_may_be_handed_in_again(ada, bob, ids):
    """It stays in review, with the later submission."""
    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], YES)
    for number in (1, 2):
        found = ada.reviews.submit(ids["One"], "out.md", "see")
        assert (found.item.status, found.submission.number) == ("review", number)


def test_a_waived_gate_stays_waived(ada, bob, person, ids):
    """What need not be handed in may be, and changes nothing."""
    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], YES)
    person.items.edit(ids["One"], Edit(waive=("artifact",), reason="so"))
    ada.reviews.submit(ids["One"], "out.md", "see")
    assert ada.overview.find(Gate, ids["One"], "artifact").status == "waived"


def test_new_work_below_a_task_in_review_keeps_it_open(ada, bob, person, ids):
    """An approval does not close it over work that came after."""
    made = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - review: yes\n"))
    item = made.items[1].id
    finish(ada, item)
    sub = ada.plans.create(Draft(kind="task", title="Sub"), item)
    with pytest.raises(Conflict):
        bob.reviews.review(item, YES)
    person.items.edit(item, Edit(waive=("review",), reason="so"))
    assert ada.items.get(item).status == "review"
    assert ada.items.get(sub.root.id).status == "open"


def test_an_approval_lets_an_item_begin(studio, ada, bob):
    """Until a verdict opens the gate that holds the start, nobody can claim it or what is below it."""
    text = "# P\n- [ ] A\n  - approval: yes\n  - review: yes\n## Q\n- approval: yes\n- [ ] B\n"
    made = {i.title: i.id for i in ada.plans.create(ada.plans.read(text)).items}
    assert (ada.items.get(made["A"]).blockers, ada.items.get(made["B"]).held) == (1, 1)
    studio.refuses(NotReady, lambda: ada.claims.start(made["A"]))
    assert bob.reviews.review(made["A"], NO).item.status == "open"
    assert ada.items.get(made["A"]).blockers == 1
    judged = bob.reviews.review(made["A"], YES)
    assert (judged.item.blockers, [g.name for g in judged.closed]) == (0, ["review"])
    bob.reviews.review(made["Q"], YES)
    assert ada.items.get(made["B"]).blockers == 0
    assert finish(ada, made["A"]).status == "review"
    assert bob.reviews.review(made["A"], YES).item.status == "done"


def test_who_worked_on_an_item_loosens_none_of_its_gates(studio, ada, bob, person, ids):
    """No waiver, no check taken away, no skipping past; nor does another agent once work has begun."""
    made = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - verify: false\n")).items[1].id
    token = ada.claims.start(made).claim.token
    edits = (Edit(waive=("check-1",), reason="so"), Edit(checks=()))
    for edit in edits:
        studio.refuses(Forbidden, lambda edit=edit: ada.items.edit(made, edit))
    ada.tasks.finish(made, token, Report(outcome="partial", summary="back"))
    for edit in (*edits, Edit(status="skipped")):
        for agent in (ada, bob):
            studio.refuses(Forbidden, lambda edit=edit, agent=agent: agent.items.edit(made, edit))
    assert person.items.edit(made, Edit(status="skipped")).status == "skipped"


def test_a_waived_start_gate_stays_waived(studio, ada, bob):
    """A verdict after the waiver changes nothing about the start."""
    made = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - approval: yes\n")).items[1].id
    bob.items.edit(made, Edit(waive=("approval",), reason="urgent"))
    assert ada.items.get(made).blockers == 0
    ada.claims.start(made)
    bob.reviews.review(made, YES)
    gate = ada.overview.find(Gate, made, "approval")
    assert gate is not None
    assert gate.status == "waived"


def test_what_was_rejected_is_handed_in_again_only_if_it_changed(studio, ada, bob, ids):
    """Another file, or another commit, is something else."""
    studio.tree.commit()
    finish(ada, ids["A"])
    bob.reviews.review(ids["A"], YES)
    ada.reviews.submit(ids["One"], "out.md", "see")
    bob.reviews.review(ids["One"], Judgment(approves=False, reason="bad"))
    for fix in ada.overview.items(ItemFilter(parent=(ids["One"],), status=("open",)), 0, 9):
        ada.items.edit(fix.id, Edit(status="cancelled", reason="it stays"))
    fault = studio.refuses(Conflict, lambda: ada.reviews.submit(ids["One"], "out.md", "see"))
    assert "was rejected at the commit" in fault.message
    studio.tree.write("out.md", "better")
    assert ada.reviews.submit(ids["One"], "out.md", "see").item.status == "review"


def test_in_a_tree_without_commits_a_verdict_is_of_none(studio, ada, bob, ids, monkeypatch):
    """A folder without a repository has no head."""

    def head(_root, _name):
        raise NotFound("there is no repository")

    finish(ada, ids["A"])
    monkeypatch.setattr(studio.tree, "head", head)
    assert bob.reviews.review(ids["A"], YES).verdict.subject == ""
