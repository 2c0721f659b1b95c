"""Looking at items and changing them: all of an edit, or nothing."""

from __future__ import annotations

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Check, Edit, ItemFilter, Report
from counterpoint.core.model.work import Area, Criterion, Gate, Item, Label, Project
from counterpoint.kernel.errors import (
    Conflict,
    CyclicDependency,
    GateClosed,
    IllegalMove,
    InvalidInput,
    NotFound,
)

PLAN = """# Plan
## One {#one}
- [ ] A {#a}
- [ ] B {#b}
  - after: a
## Two {#two}
- [ ] C {#c}
- [ ] D {#d}
"""


@pytest.fixture
def ids(ada):
    """Give the items of a plan of two phases by title."""
    return {item.title: item.id for item in ada.plans.create(ada.plans.read(PLAN)).items}


def test_an_edit_changes_fields_and_raises_the_version(studio, ada, ids):
    """What is None stays; the entry names the fields."""
    studio.clock.pass_by(minutes=1)
    edit = Edit(title="Better", body="words", priority=0, assignee="bob", profile="judge")
    after = ada.items.edit(ids["A"], edit)
    assert after == ada.items.get(ids["A"])
    assert (after.title, after.body, after.priority) == ("Better", "words", 0)
    assert (after.assignee, after.profile, after.version) == ("bob", "judge", 2)
    assert after.updated_at > after.created_at
    entry = studio.last()
    assert (entry.action, entry.subject) == ("item.edited", ids["A"])
    assert entry.facts == {"fields": ["assignee", "body", "priority", "profile", "title"]}


def test_an_edit_that_changes_nothing_writes_nothing(studio, ada, ids):
    """Same values, absent labels, no fields."""
    before = studio.image()
    ada.items.edit(ids["A"], Edit(title="A", remove_labels=("none",), status="open"))
    assert studio.image() == before


@pytest.mark.parametrize(
    "edit",
    [
        Edit(title=" "), Edit(title="x" * 501), Edit(title="a\nb"), Edit(body="x" * 100_001),
        Edit(priority=5), Edit(priority=-1), Edit(position=-1), Edit(add_labels=("x",) * 51),
        Edit(acceptance=("x" * 1001,)),
    ],
    ids=["empty", "long", "two lines", "long body", "priority", "negative", "position", "labels",
         "sentence"],
)  # fmt: skip
def test_an_edit_beyond_the_limits_is_refused(studio, ada, ids, edit):
    studio.refuses(InvalidInput, lambda: ada.items.edit(ids["A"], edit))


def test_all_faults_of_an_edit_come_together(studio, ada, ids):
    """One round trip is enough to learn them."""
    edit = Edit(title="", priority=9)
    fault = studio.refuses(InvalidInput, lambda: ada.items.edit(ids["A"], edit))
    assert len(fault.facts["faults"]) == 2


def test_a_failing_part_of_an_edit_undoes_the_rest(studio, ada, ids):
    """The title is not kept when the status cannot be."""
    edit = Edit(title="Kept?", add_labels=("x",), status="failed")
    studio.refuses(IllegalMove, lambda: ada.items.edit(ids["A"], edit))
    studio.refuses(InvalidInput, lambda: ada.items.edit(ids["A"], Edit(status="unheard-of")))
    studio.refuses(NotFound, lambda: ada.items.edit("demo-99", Edit(title="x")))


def test_labels_areas_and_acceptance_are_replaced(ada, person, ids):
    """Labels by adding and removing, the others as whole lists; what was met stays met."""
    edit = Edit(add_labels=("x", "y", "x"), areas=("src", "docs"), acceptance=("one", "two"))
    after = ada.items.edit(ids["A"], edit)
    assert after.version == 2
    ada.claims.start(ids["A"])
    ada.tasks.finish(ids["A"], 1, Report(outcome="partial", summary="half", met=(1,)))
    person.items.edit(
        ids["A"], Edit(remove_labels=("x",), add_labels=("y",), areas=("docs", "lib"),
                       acceptance=("two",))
    )  # fmt: skip
    found = ada.overview.facets(ids["A"])
    assert found.labels == ("y",)
    assert found.areas == ("docs", "lib")
    assert [(c.text, c.met) for c in found.criteria] == [("two", True)]
    assert ada.overview.find(Label, ids["A"], "x") is None
    assert ada.overview.find(Area, ids["A"], "src") is None
    assert ada.overview.find(Criterion, ids["A"], 1) is None


def test_a_check_that_stays_keeps_its_gate(studio, ada, ids):
    """Replacing the list of checks does not close what has passed."""
    ada.items.edit(ids["A"], Edit(checks=(("one",), ("two",), ("one",))))
    ada.gates.verify(Check(item=ids["A"], gates=("check-2",)))
    ada.items.edit(ids["A"], Edit(checks=(("three",), ("two",))))
    gates = {gate.name: (gate.argv, gate.status) for gate in ada.overview.facets(ids["A"]).gates}
    assert gates == {"check-1": (("three",), "closed"), "check-2": (("two",), "met")}


def test_a_waiver_needs_a_reason_and_a_closed_gate(studio, ada, ids):
    """It is told in the ledger; what is met or unknown cannot be waived."""
    ada.items.edit(ids["A"], Edit(checks=(("one",), ("two",))))
    studio.refuses(InvalidInput, lambda: ada.items.edit(ids["A"], Edit(waive=("check-1",))))
    wrong = Edit(waive=("check-9",), reason="so")
    studio.refuses(NotFound, lambda: ada.items.edit(ids["A"], wrong))
    ada.items.edit(ids["A"], Edit(waive=("check-1",), reason="flaky"))
    told = {"waived": ["check-1"], "independence": "attested", "reason": "flaky"}
    assert studio.last().facts == told
    assert ada.overview.find(Gate, ids["A"], "check-1").reason == "flaky"
    ada.gates.verify(Check(item=ids["A"]))
    assert ada.overview.find(Gate, ids["A"], "check-1").status == "waived"
    met = Edit(waive=("check-2",), reason="so")
    studio.refuses(IllegalMove, lambda: ada.items.edit(ids["A"], met))


def test_closed_gates_hold_back_an_edit_to_done(studio, ada, ids):
    """There is no way around a gate by hand."""
    ada.items.edit(ids["A"], Edit(status="active", checks=(("one",),)))
    studio.refuses(GateClosed, lambda: ada.items.edit(ids["A"], Edit(status="done")))
    ada.gates.verify(Check(item=ids["A"]))
    assert ada.items.edit(ids["A"], Edit(status="done")).status == "done"


def test_dependencies_come_and_go(studio, ada, ids):
    """Adding one twice is one; removing what is not there is refused."""
    ada.items.edit(ids["D"], Edit(add_needs=(ids["C"],)))
    assert ada.items.edit(ids["D"], Edit(add_needs=(ids["C"],))).blockers == 2
    assert [n.id for n in ada.overview.facets(ids["D"]).needs] == [ids["C"]]
    assert ids["D"] in ada.overview.facets(ids["C"]).needed_by
    assert ada.items.edit(ids["D"], Edit(remove_needs=(ids["C"],))).blockers == 1
    wrong = Edit(remove_needs=(ids["C"],))
    studio.refuses(NotFound, lambda: ada.items.edit(ids["D"], wrong))


@pytest.mark.parametrize(
    ("item", "needs"),
    [("A", "A"), ("A", "B"), ("A", "One"), ("One", "A"), ("A", "Two"), ("A", "C"), ("Plan", "C"),
     ("One", "D"), ("A", "Plan")],
)  # fmt: skip
def test_no_circle_can_be_made(studio, ada, ids, item, needs):
    """With itself, through others, through what holds it or stands below it."""
    edit = Edit(add_needs=(ids[needs],))
    studio.refuses(CyclicDependency, lambda: ada.items.edit(ids[item], edit))


def test_a_circle_through_finished_work_is_a_circle(studio, ada, ids):
    """Finished work may be reopened, and would then wait for itself."""
    ada.items.edit(ids["A"], Edit(status="skipped"))
    edit = Edit(add_needs=(ids["B"],))
    studio.refuses(CyclicDependency, lambda: ada.items.edit(ids["A"], edit))


@pytest.mark.parametrize(
    ("item", "parent"), [("One", "One"), ("One", "A"), ("Two", "One"), ("C", "One"), ("Two", "A")]
)
def test_no_circle_comes_from_a_new_place(studio, ada, ids, item, parent):
    """Two waits for One, so neither it nor what needs it can be finished inside of One."""
    if item == "C":
        ada.items.edit(ids["C"], Edit(add_needs=(ids["One"],)))
    fault = InvalidInput if (item, parent) == ("Two", "A") else CyclicDependency
    studio.refuses(fault, lambda: ada.items.edit(ids[item], Edit(parent=ids[parent])))


@pytest.mark.parametrize("kind", ["issue", "task"])
@pytest.mark.parametrize("moved", ["plan", "workflow", "spec", "phase"])
def test_what_holds_work_is_moved_below_no_work(studio, ada, moved, kind):
    """As it is made below none, in the words of any dialect; a plan may stand in a phase."""
    below = Draft(kind=moved, title="Whole")
    whole = ada.plans.create(Draft(kind="plan", title="Root", children=(below,))).items[1].id
    above = ada.plans.create(Draft(kind=kind, title="Work")).root.id
    for proposed in (
        lambda: ada.items.edit(whole, Edit(parent=above)),
        lambda: ada.plans.create(below, parent=above),
    ):
        refused = studio.refuses(InvalidInput, proposed)
        assert f"a {moved} cannot stand below the {kind} {above}" in str(refused)
    phase = Draft(kind="plan", title="Other", children=(Draft(kind="phase", title="P"),))
    ada.items.edit(whole, Edit(parent=ada.plans.create(phase).items[1].id))


def test_needed_work_cannot_be_put_below_what_needs_it(studio, ada, ids):
    """A phase that waits for a task cannot hold it."""
    x = ada.plans.create(Draft(kind="task", title="X")).root.id
    ada.items.edit(ids["One"], Edit(add_needs=(x,)))
    studio.refuses(CyclicDependency, lambda: ada.items.edit(x, Edit(parent=ids["One"])))


def test_an_item_moves_with_its_tree(studio, ada, ids):
    """Root, place and what is held follow; at the top it is its own root."""
    moved = ada.items.edit(ids["C"], Edit(parent=ids["One"], position=0))
    assert (moved.root, moved.position, moved.blockers) == (ids["Plan"], 0, 0)
    assert [i.title for i in ada.overview.children(ids["One"])] == ["C", "A", "B"]
    sub = ada.plans.create(Draft(kind="task", title="Sub"), parent=ids["D"]).root
    assert (sub.root, sub.held) == (ids["Plan"], 1)
    alone = ada.items.edit(ids["D"], Edit(parent=""))
    assert (alone.parent, alone.root, alone.blockers) == ("", ids["D"], 0)
    assert ada.items.get(sub.id).root == ids["D"]
    studio.refuses(InvalidInput, lambda: ada.items.edit(ids["One"], Edit(parent="")))
    studio.refuses(InvalidInput, lambda: ada.items.edit(ids["D"], Edit(position=1)))
    studio.refuses(NotFound, lambda: ada.items.edit(ids["D"], Edit(parent="demo-99")))


def test_open_work_cannot_be_put_below_closed_work(studio, ada, ids):
    ada.items.edit(ids["One"], Edit(status="cancelled"))
    studio.refuses(Conflict, lambda: ada.items.edit(ids["C"], Edit(parent=ids["One"])))
    ada.items.edit(ids["C"], Edit(status="cancelled"))
    assert ada.items.edit(ids["C"], Edit(parent=ids["One"])).parent == ids["One"]


def test_places_stay_distinct_and_pages_follow_each_other(ada, ids):
    """Who leaves makes no room for two in one place; paging neither skips nor repeats."""
    ada.items.edit(ids["A"], Edit(parent=ids["Plan"]))
    fresh = ada.plans.create(Draft(kind="task", title="E"), parent=ids["One"]).root
    one = ada.overview.children(ids["One"])
    assert [(i.title, i.position) for i in one] == [("B", 1), ("E", 2)]
    paged: list[Item] = []
    after = None
    while page := ada.overview.children(ids["One"], after=after, limit=1):
        paged += page
        after = (page[0].position, page[0].number)
    assert paged == one
    ada.items.edit(fresh.id, Edit(position=0))
    assert [i.title for i in ada.overview.children(ids["One"])] == ["E", "B"]


def test_lists_are_narrowed_and_paged_by_number(ada, ids):
    """Every filter, alone and with others; a label that nobody has lists nothing."""
    ada.items.edit(ids["C"], Edit(add_labels=("x",), assignee="bob"))

    def titles(after: int = 0, limit: int = 50, **sought: str) -> list[str]:
        return [item.title for item in ada.overview.items(ItemFilter(**sought), after, limit)]

    assert titles() == ["Plan", "One", "Two", "A", "B", "C", "D"]
    assert titles(after=2, limit=2) == ["Two", "A"]
    assert titles(kind="phase") == ["One", "Two"]
    assert titles(parent=ids["One"], status="open") == ["A", "B"]
    assert titles(root=ids["Plan"], category="open", assignee="bob") == ["C"]
    assert titles(label="x") == ["C"]
    assert titles(label="y") == []
    assert ada.items.project() == ada.overview.find(Project)


def test_what_is_not_there_is_not_found(ada):
    """An id of nothing, or of another project, is the same."""
    for call in (ada.items.get, ada.overview.facets, ada.overview.markdown):
        with pytest.raises(NotFound):
            call("demo-99")
