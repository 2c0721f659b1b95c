"""Issues of a board: made, taken up, divided, reported on, sent back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, ItemFilter, Note, Report
from counterpoint.dialects.symphony.nouns import IssueDraft, PolicyEdit
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    Conflict,
    Forbidden,
    GateClosed,
    IllegalMove,
    InvalidInput,
    NotFound,
)
from fakes.studio import Studio


def ready(core, person, title="Float", **more):
    """Make an issue that waits to be done; answer its id."""
    made = core.use(Issues).open(IssueDraft(title=title, **more))
    person.items.edit(made.id, Edit(status="open"))
    return made.id


def ids(lines):
    """Answer the ids of lines."""
    return [line.item.id for line in lines]


def test_an_issue_begins_in_the_first_phase_of_its_project(ada, person):
    """The run that found it is remembered."""
    first = ada.use(Issues).open(IssueDraft(title="Hull", run="run-1"))
    assert ada.items.attributes(first.id) == {"run": "run-1"}
    person.use(Policies).edit(PolicyEdit(phases=("plan", "do")))
    second = ada.use(Issues).open(IssueDraft(title="Mast"))
    assert ada.use(Issues).details(second.id).labels == ("phase:plan",)


def test_an_issue_is_found_by_every_form_of_its_name(ada):
    """A name that means nothing workable is refused."""
    ada.use(Issues).open(IssueDraft(title="Hull"))
    for name in ("demo-1", "DEMO-001", "demo-0001"):
        assert ada.use(Issues).named(name).id == "demo-1"
    made = ada.plans.create(Draft(kind="plan", title="Ship", aliases=(("slug", "ship"),)))
    for name in ("demo-9", "nonsense", made.root.id, "ship"):
        with pytest.raises(NotFound):
            ada.use(Issues).named(name)


def test_circles_of_needs_are_refused(studio, ada, person):
    """When the edge is put."""
    ready(ada, person)
    ready(ada, person, needs=("demo-1",))
    with pytest.raises(InvalidInput):
        person.items.edit("demo-1", Edit(add_needs=("demo-2",)))


def test_nobody_waits_for_a_cancelled_issue(studio, ada, person):
    """Each that did is told; work of other kinds waits until somebody decides."""
    first = ready(ada, person)
    second = ready(ada, person, needs=(first,))
    assert not ada.ready.judge(ada.use(Issues).named(second)).is_ready
    person.items.edit(first, Edit(status="cancelled"))
    assert studio.last().facts["let_go"] == [second]
    assert ada.ready.judge(ada.use(Issues).named(second)).is_ready
    (said,) = ada.use(Issues).records(second, "comment", 0, 10)
    assert said.body == "This does not wait for DEMO-001 any more: it was cancelled"
    task = ada.plans.create(Draft(kind="task", title="a")).root.id
    other = ada.plans.create(Draft(kind="task", title="b", needs=(task,))).root
    person.items.edit(task, Edit(status="cancelled"))
    assert not ada.ready.judge(ada.items.get(other.id)).is_ready


def test_nobody_waits_for_what_was_cancelled_with_an_issue_above_it(studio, ada, person):
    """What is closed because its parent is lets go as well; a plan above takes its issues along."""
    parent = ready(ada, person)
    child = ada.use(Issues).open_below(parent, IssueDraft(title="part")).id
    waiting = ready(ada, person, needs=(child,))
    person.items.edit(parent, Edit(status="cancelled"))
    assert studio.last().facts["let_go"] == [waiting]
    assert ada.ready.judge(ada.use(Issues).named(waiting)).is_ready
    (said,) = ada.use(Issues).records(waiting, "comment", 0, 10)
    assert said.body == "This does not wait for DEMO-002 any more: it was cancelled"
    plan = ada.plans.create(Draft(kind="plan", title="Ship")).root.id
    person.items.edit(waiting, Edit(parent=plan))
    last = ready(ada, person, needs=(waiting,))
    person.items.edit(plan, Edit(status="cancelled"))
    assert studio.last().facts["let_go"] == [last]


def test_lists_are_by_state_label_and_whether_something_blocks(ada, bob, person):
    """Page by page; a label that nobody has finds nothing."""
    first = ready(ada, person, labels=("ui",))
    second = ready(ada, person)
    third = ada.use(Issues).open(IssueDraft(title="later")).id
    ada.plans.create(Draft(kind="task", title="no issue"))
    ada.use(Issues).open_below(first, IssueDraft(title="part"))
    assert ids(ada.use(Issues).list(ItemFilter(), 0, 10)) == [first, second, third, "demo-5"]
    assert ids(ada.use(Issues).list(ItemFilter(), 2, 1)) == [third]
    assert ids(ada.use(Issues).list(ItemFilter(status=("backlog",)), 0, 10)) == [third]
    assert ids(ada.use(Issues).list(ItemFilter(label="ui"), 0, 10)) == [first]
    assert ada.use(Issues).list(ItemFilter(label="none"), 0, 10) == []
    waiting = ItemFilter(status="open")
    assert ids(ada.use(Issues).list(waiting, 0, 10, blocked=True)) == [first]
    assert ids(ada.use(Issues).list(waiting, 0, 10, blocked=False)) == [second, "demo-5"]


def test_a_long_list_is_read_in_batches(ada):
    """Beyond the first hundred too."""
    for number in range(103):
        ada.use(Issues).open(IssueDraft(title=f"issue {number}"))
    assert len(ada.use(Issues).list(ItemFilter(), 0, 200)) == 103
    assert ids(ada.use(Issues).list(ItemFilter(), 102, 200)) == ["demo-103"]


def test_who_writes_first_takes_the_issue_up(studio, ada, bob, person):
    """In the transaction of what is written; a refusal takes it back; others only write."""
    issue = ready(ada, person)

    def refused():
        raise InvalidInput("no")

    studio.refuses(InvalidInput, lambda: ada.use(Issues).attended(issue, refused))
    assert ada.use(Issues).attended("DEMO-001", lambda: 7) == 7
    sheet = ada.use(Issues).details(issue)
    assert (sheet.item.status, sheet.claim.agent) == ("active", "ada")
    assert bob.use(Issues).attended(issue, lambda: 8) == 8
    assert ada.use(Issues).attended(issue, lambda: 9) == 9
    assert ada.use(Issues).details(issue).claim.token == 1
    assert person.use(Issues).attended(issue, lambda: 1) == 1
    parked = ada.use(Issues).open(IssueDraft(title="parked")).id
    assert ada.use(Issues).attended(parked, lambda: 1) == 1
    assert ada.use(Issues).details(parked).claim is None


def test_of_many_who_write_at_once_one_takes_the_issue_up(tmp_path):
    """And what each wrote is there."""
    studio = Studio(tmp_path / "ledger.db")
    person = studio.core("pat", kind="human")
    issue = ready(studio.core("ada"), person)
    barrier = Barrier(8)

    def write(number):
        core = studio.core(f"agent-{number}")
        barrier.wait(20)
        note = Note(kind="comment", item=issue, body=str(number))
        core.use(Issues).attended(issue, lambda: core.journal.append(note))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, range(8))) == [None] * 8
    sheet = person.use(Issues).details(issue)
    assert (sheet.item.status, sheet.claim.token) == ("active", 1)
    assert len(person.use(Issues).records(issue, "comment", 0, 20)) == 8
    studio.check()
    studio.close()


def test_an_issue_that_was_taken_meanwhile_stays_as_it_is(ada, bob, person, monkeypatch):
    """It looked free; the transaction saw that it is not."""
    issue = ready(ada, person)
    looks = iter([issue, ""])
    monkeypatch.setattr(Issues, "_find_free", lambda *_: next(looks))
    assert ada.use(Issues).attended(issue, lambda: 7) == 7
    assert person.use(Issues).details(issue).claim is None


def with_profile(studio, core, profile):
    """Answer the core for the same caller, as an agent of a profile."""
    actor = replace(core.caller.actor, profile=profile)
    return Core(studio.ports, replace(core.caller, actor=actor))


def test_work_that_is_handed_in_waits_for_somebody_else(studio, ada, bob, person):
    """The claim ends, measured; the reason is said; nobody reports twice."""
    issue = ready(ada, person)
    ada.claims.start(issue)
    studio.tree.write("hull.py", "x")
    after = ada.use(Issues).report(issue, "review", "It floats")
    assert after.status == "review"
    sheet = ada.use(Issues).details(issue)
    assert (sheet.runs[0].outcome, sheet.runs[0].summary) == ("done", "It floats")
    assert "hull.py" in sheet.runs[0].evidence
    (said,) = ada.use(Issues).records(issue, "comment", 0, 10)
    assert said.body == "It floats"
    worker = with_profile(studio, ada, "worker").use(Issues)
    fault = studio.refuses(IllegalMove, lambda: worker.report(issue, "open"))
    assert fault.facts["state"] == "review"


def test_work_that_is_given_up_is_free_again(ada, bob, person):
    """Without a reason nothing is said."""
    issue = ready(ada, person)
    ada.claims.start(issue)
    assert ada.use(Issues).report(issue, "open").status == "open"
    assert ada.use(Issues).records(issue, "comment", 0, 10) == []
    assert bob.claims.start(issue).claim.token == 2


def test_a_blocked_issue_waits_for_a_person(ada, person):
    """Until the blocker is resolved."""
    issue = ready(ada, person)
    ada.claims.start(issue)
    assert ada.use(Issues).report(issue, "blocked").status == "open"
    sheet = ada.use(Issues).details(issue)
    assert sheet.is_blocked
    assert not ada.ready.judge(sheet.item).is_ready
    person.journal.resolve(sheet.blockers[0].id, "answered")
    assert not ada.use(Issues).details(issue).is_blocked


def test_only_who_holds_an_issue_reports_on_it(studio, ada, bob, person):
    """Another session, or nobody: refused."""
    issue = ready(ada, person)
    studio.refuses(IllegalMove, lambda: bob.use(Issues).report(issue, "review"))
    ada.claims.start(issue)
    fault = studio.refuses(AlreadyClaimed, lambda: bob.use(Issues).report(issue, "review"))
    assert fault.facts["holder"] == "ada"


def test_a_judge_sends_work_back_that_is_not_its_own(studio, ada, bob, person):
    """Given up or blocked, but never handed in."""
    issue = ready(ada, person)
    ada.claims.start(issue)
    ada.use(Issues).report(issue, "review")
    studio.refuses(Forbidden, lambda: ada.use(Issues).report(issue, "open"))
    worker = with_profile(studio, bob, "worker").use(Issues)
    studio.refuses(IllegalMove, lambda: worker.report(issue, "blocked", "needs words"))
    studio.refuses(IllegalMove, lambda: bob.use(Issues).report(issue, "review"))
    assert bob.use(Issues).report(issue, "blocked", "needs words").status == "open"
    assert ada.use(Issues).details(issue).is_blocked


def test_sub_tasks_hold_their_parent_until_they_are_closed(studio, ada, bob, person):
    """The claim is given back; the parent is free when the last one is closed."""
    issue = ready(ada, person, labels=("phase:ready",))
    ada.claims.start(issue)
    part = ada.use(Issues).open_below(issue, IssueDraft(title="part"))
    sheet = ada.use(Issues).details(issue)
    assert (sheet.is_blocked, sheet.claim.state) == (True, "released")
    assert [line.item.id for line in sheet.children] == [part.id]
    assert (part.status, part.parent) == ("open", issue)
    below = ada.use(Issues).details(part.id)
    assert (below.parent.id, below.labels) == (issue, ("phase:ready",))
    ada.use(Issues).open_below(issue, IssueDraft(title="another"))
    bob.claims.start(part.id)
    bob.tasks.finish(part.id, 1, Report(outcome="done", summary="done"))
    person.items.edit("demo-3", Edit(status="cancelled"))
    assert not ada.use(Issues).details(issue).is_blocked
    assert ada.claims.start(issue).claim.token == 2


def test_a_parent_in_the_backlog_comes_out_of_it(ada, person):
    """So that its sub-tasks can be done; a phase it has that the project lost gives way."""
    issue = ada.use(Issues).open(IssueDraft(title="later"))
    person.items.edit(issue.id, Edit(remove_labels=("phase:research",), add_labels=("phase:old",)))
    part = ada.use(Issues).open_below(issue.id, IssueDraft(title="part"))
    assert ada.use(Issues).named(issue.id).status == "open"
    assert ada.ready.judge(part).is_ready
    assert ada.use(Issues).details(part.id).labels == ("phase:research",)


def test_sub_tasks_are_refused_where_they_make_no_sense(studio, ada, bob, person):
    """Too deep, below closed or reviewed work, below what somebody else is at."""
    issue = ready(ada, person)
    second = ada.use(Issues).open_below(issue, IssueDraft(title="2"))
    third = ada.use(Issues).open_below(second.id, IssueDraft(title="3"))
    deep = IssueDraft(title="4")
    fault = studio.refuses(InvalidInput, lambda: ada.use(Issues).open_below(third.id, deep))
    assert "level 3" in fault.message
    other = ready(ada, person)
    bob.claims.start(other)
    studio.refuses(AlreadyClaimed, lambda: ada.use(Issues).open_below(other, IssueDraft(title="x")))
    bob.use(Issues).report(other, "review")
    studio.refuses(IllegalMove, lambda: ada.use(Issues).open_below(other, IssueDraft(title="x")))
    person.items.edit(other, Edit(status="cancelled"))
    studio.refuses(Conflict, lambda: ada.use(Issues).open_below(other, IssueDraft(title="x")))


def test_a_report_with_open_sub_tasks_is_refused(studio, ada, bob, person):
    """Made by another while the work went on."""
    issue = ready(ada, person)
    ada.claims.start(issue)
    bob.plans.create(Draft(kind="task", title="part"), issue)
    studio.refuses(GateClosed, lambda: ada.use(Issues).report(issue, "review"))


def test_records_are_read_forwards_and_the_last_ones_first(ada, person):
    """By number."""
    issue = ready(ada, person)
    ada.claims.start(issue)
    for reason in ("one", "two"):
        ada.claims.start(issue)
        ada.use(Issues).report(issue, "open", reason)
    bodies = [record.body for record in ada.use(Issues).records(issue, "comment", 0, 10)]
    assert bodies == ["one", "two"]
    last = ada.use(Issues).records(issue, "comment", 0, 1, last=True)
    assert [record.body for record in last] == ["two"]
