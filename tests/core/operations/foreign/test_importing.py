"""Foreign work: in once, brought up to date, and never over what was changed here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.filters import Edit, ReadyFilter
from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork, Source
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import DRAFTED, Item
from counterpoint.core.operations.foreign import importing
from counterpoint.core.operations.foreign.exporting import ForeignExports
from counterpoint.core.operations.foreign.importing import ForeignImports
from counterpoint.core.rules.planning import foreign
from counterpoint.kernel.errors import Conflict, MalformedDocument, NotFound, Unavailable

SOURCE = Source(place="issues.jsonl")


def work(*items, **more):
    """Answer foreign work with these items."""
    return ForeignWork(tool="beads", key="beads", title="Ship", items=items, **more)


HULL = ForeignItem(id="b-1", title="Hull", labels=("big",), priority=1, assignee="ann", body="Oak.")
OAK = ForeignItem(
    id="b-2", title="Oak", parent="b-1", state="done", facts={"created": "2025-01-01"},
    notes=(ForeignNote(text="Dry.", author="bob", at="2025-01-02"),),
)  # fmt: skip
PLANKS = ForeignItem(id="b-3", title="Planks", parent="b-1", needs=("b-2",), state="active")
PAINT = ForeignItem(id="b-4", title="Paint", needs=("b-3",), state="cancelled")
ALL = (HULL, OAK, PLANKS, PAINT)


def states(ada):
    """Answer the states of all that was imported, by id there."""
    found = {name: ada.items.find(name, "beads") for name in ("b-1", "b-2", "b-3", "b-4", "b-5")}
    return {name: item.status for name, item in found.items() if item is not None}


def test_work_comes_in_with_all_that_belongs_to_it(studio, ada):
    """Places, states, edges, words, old ids, and what was said there as records that tell when."""
    verbs = ada.use(ForeignImports)
    said = verbs.bring(work(*ALL), SOURCE)
    assert (said.root, said.items, said.created, said.records) == ("demo-1", 4, 4, 5)
    assert states(ada) == {"b-1": "open", "b-2": "done", "b-3": "active", "b-4": "cancelled"}
    hull, planks = ada.items.find("b-1"), ada.items.find("b-3")
    facets = ada.overview.facets(planks.id)
    assert (hull.assignee, hull.priority, hull.body, planks.parent) == ("ann", 1, "Oak.", hull.id)
    assert [one.id for one in facets.needs] == [ada.items.find("b-2").id]
    assert [one.item.id for one in ada.ready.offers(ReadyFilter(), 9)] == [planks.id]
    oak = ada.items.find("b-2")
    bodies = [one.body for one in ada.overview.rows(Record, item=oak.id, limit=9)]
    assert bodies == [
        "Imported from beads: b-2 (created 2025-01-01)",
        "Written in beads by bob on 2025-01-02:\n\nDry.",
    ]
    assert said.deadlocks == ()
    assert ada.items.get(said.root).title == "Ship"


def test_the_whole_has_a_title_and_a_description_that_fit(studio, ada):
    """However long those of the source are."""
    odd = replace(work(HULL), title="a\nb" + "c" * 600, body="\x00" + "x" * 200_000)
    root = ada.items.get(ada.use(ForeignImports).bring(odd, SOURCE).root)
    assert (root.title[:4], len(root.title), len(root.body)) == ("a bc", 500, 100_000)


def test_the_same_again_writes_nothing(studio, ada):
    verbs = ada.use(ForeignImports)
    verbs.bring(work(*ALL), SOURCE)
    before = studio.image()
    again = verbs.bring(work(*ALL), SOURCE)
    assert (again.created, again.changed, again.kept, again.records) == (0, (), (), 0)
    assert studio.image() == before


def test_a_look_says_what_would_be_done_and_writes_nothing(studio, ada):
    """At first and later, with what would never be ready."""
    verbs = ada.use(ForeignImports)
    before = studio.image()
    waiting = ForeignItem(id="b-5", title="Dry", needs=("b-4",))
    said = verbs.look(work(*ALL, waiting), SOURCE)
    assert (said.root, said.created, said.records) == ("", 5, 6)
    assert said.deadlocks[0].startswith("b-4 is cancelled and 1 item waits for it")
    assert studio.image() == before
    verbs.bring(work(*ALL), SOURCE)
    said = verbs.look(work(replace(HULL, title="The hull"), *ALL[1:]), SOURCE)
    assert [(one.id, one.fields) for one in said.changed] == [("b-1", ("title",))]


def test_what_changed_there_changes_here(studio, ada):
    """Words, states in both directions, labels, edges and places; what is new comes below what is here."""
    verbs = ada.use(ForeignImports)
    verbs.bring(work(*ALL), SOURCE)
    new = ForeignItem(id="b-5", title="Nails", parent="b-1", needs=("b-4",))
    said = verbs.bring(
        work(
            replace(HULL, title="The hull", labels=("large",), assignee=""),
            replace(OAK, state="open"),
            replace(PLANKS, state="done", needs=(), parent=""),
            replace(PAINT, state="open", needs=("b-2",)),
            new,
        ),
        SOURCE,
    )
    assert (said.created, said.kept) == (1, ())
    assert {one.id: set(one.fields) for one in said.changed} == {
        "b-1": {"title", "labels", "assignee"},
        "b-2": {"state"},
        "b-3": {"state", "needs", "parent"},
        "b-4": {"state", "needs"},
    }
    assert states(ada) == {
        "b-1": "open",
        "b-2": "open",
        "b-3": "done",
        "b-4": "open",
        "b-5": "open",
    }
    hull = ada.overview.facets(ada.items.find("b-1").id)
    assert (hull.item.title, hull.labels, hull.item.assignee) == ("The hull", ("large",), "")
    assert ada.items.find("b-3").parent == said.root
    assert ada.items.find("b-5").parent == hull.item.id


def test_dates_go_out_as_they_came_last(studio, ada):
    """Also where nothing else has changed there; a new date is written down, and the same again writes nothing."""
    verbs = ada.use(ForeignImports)
    verbs.bring(
        work(HULL, replace(PLANKS, parent="", needs=(), facts={"due": "2026-01-01"})), SOURCE
    )
    later = work(HULL, replace(PLANKS, parent="", needs=(), facts={"due": "2026-02-02"}))
    assert verbs.bring(later, SOURCE).records == 1
    (out,) = [item for item in ada.use(ForeignExports).work().items if item.title == "Planks"]
    assert out.facts["due"] == "2026-02-02"
    before = studio.image()
    assert verbs.bring(later, SOURCE).records == 0
    assert studio.image() == before


def test_what_was_changed_here_is_never_overwritten(studio, ada):
    """It stays, and is told each time until both sides say the same."""
    verbs = ada.use(ForeignImports)
    verbs.bring(work(*ALL), SOURCE)
    hull = ada.items.find("b-1").id
    ada.items.edit(hull, Edit(title="My hull", add_labels=("mine",)))
    again = verbs.bring(work(*ALL), SOURCE)
    assert (again.changed, again.kept) == ((), ())
    changed = work(replace(HULL, title="The hull", priority=0), *ALL[1:])
    for _ in range(2):
        said = verbs.bring(changed, SOURCE)
        assert [(one.id, one.fields) for one in said.kept] == [("b-1", ("title",))]
    facets = ada.overview.facets(hull)
    assert (facets.item.title, facets.item.priority) == ("My hull", 0)
    assert facets.labels == ("big", "mine")
    ada.items.edit(hull, Edit(title="The hull"))
    assert verbs.bring(changed, SOURCE).kept == ()


def test_what_is_gone_there_stays_and_is_told(studio, ada):
    """An item may have been worked on here."""
    verbs = ada.use(ForeignImports)
    verbs.bring(work(*ALL), SOURCE)
    assert verbs.bring(work(*ALL[:3]), SOURCE).gone == ("b-4",)
    assert states(ada)["b-4"] == "cancelled"


def test_a_source_from_elsewhere_needs_a_name(studio, ada):
    """Else two of one tool would be one; by its own name one that has moved is the same."""
    verbs = ada.use(ForeignImports)
    verbs.bring(work(*ALL), SOURCE)
    moved = Source(place="elsewhere.jsonl")
    studio.refuses(Conflict, lambda: verbs.bring(work(*ALL), moved))
    assert verbs.bring(work(*ALL), replace(moved, name="beads")).created == 0
    other = verbs.bring(work(*ALL), replace(moved, name="other"))
    assert (other.created, ada.items.find("other/b-1").root) == (4, other.root)
    stranger = ForeignWork(tool="beads", key="third", title="T", items=(HULL,))
    studio.refuses(Conflict, lambda: verbs.bring(stranger, SOURCE))


def test_a_large_source_comes_in_slices(studio, ada):
    """So that others write in between, and no entry is large."""
    items = tuple(
        ForeignItem(id=f"b-{n}", title=f"T{n}", needs=(f"b-{n - 1}",) if n else ())
        for n in range(250)
    )
    counts = []
    said = ada.use(ForeignImports).bring(work(*items), SOURCE, counts.append)
    assert (said.created, said.records) == (250, 250)
    with studio.view() as view:
        assert len(view.sequences(action=DRAFTED, limit=9)) == 3
    assert counts[-1] == 500 + 1
    assert len(ada.ready.offers(ReadyFilter(), 9)) == 1


def test_an_import_that_was_cut_off_goes_on(studio, ada, monkeypatch):
    """What is missing comes with the next; nothing comes twice."""
    verbs = ada.use(ForeignImports)

    def cut(*_: object) -> None:
        raise Unavailable("the machine went away")

    with monkeypatch.context() as patched:
        patched.setattr(importing.Journal, "append", cut)
        with pytest.raises(Unavailable):
            verbs.bring(work(*ALL), SOURCE)
    said = verbs.bring(work(*ALL), SOURCE)
    assert (said.created, said.records) == (0, 5)
    assert states(ada)["b-4"] == "cancelled"


def test_what_a_rule_refuses_is_told_and_the_rest_goes_on(studio, ada, bob):
    """Somebody holds an item here: its state stays."""
    verbs = ada.use(ForeignImports)
    verbs.bring(work(*ALL), SOURCE)
    planks = ada.items.find("b-3").id
    bob.claims.start(planks)
    said = verbs.bring(
        work(replace(HULL, body="Elm."), OAK, replace(PLANKS, state="done"), PAINT), SOURCE
    )
    assert [(one.id, one.fields) for one in said.kept] == [("b-3", ("state",))]
    assert [one.id for one in said.changed] == ["b-1"]
    assert ada.items.get(planks).status == "active"


def test_new_items_may_wait_for_each_other(studio, ada):
    """Whichever is made first, and below whatever is opened again for them."""
    verbs = ada.use(ForeignImports)
    done = replace(HULL, state="done")
    verbs.bring(work(done), SOURCE)
    ada.items.edit(ada.items.find("b-1").root, Edit(status="active"))
    first = ForeignItem(id="b-2", title="First", needs=("b-3",))
    second = ForeignItem(id="b-3", title="Second", parent="b-1")
    third = ForeignItem(id="b-4", title="Third", parent="b-3")
    said = verbs.bring(work(replace(done, state="open"), first, second, third), SOURCE)
    assert (said.created, said.kept) == (3, ())
    facets = ada.overview.facets(ada.items.find("b-2").id)
    assert [need.id for need in facets.needs] == [ada.items.find("b-3").id]
    assert states(ada)["b-1"] == "open"


def test_what_both_sides_changed_alike_counts_as_what_came_last(studio, ada):
    """So that what is changed here afterwards stays."""
    verbs = ada.use(ForeignImports)
    verbs.bring(work(HULL), SOURCE)
    hull = ada.items.find("b-1").id
    ada.items.edit(hull, Edit(title="The hull"))
    changed = work(replace(HULL, title="The hull"))
    assert verbs.bring(changed, SOURCE).changed == ()
    ada.items.edit(hull, Edit(title="Hull"))
    said = verbs.bring(changed, SOURCE)
    assert (said.changed, said.kept, ada.items.get(hull).title) == ((), (), "Hull")


def test_what_cannot_be_made_or_changed_is_told(studio, ada):
    """A part of what has ended; an edge that would make a circle with one of ours."""
    verbs = ada.use(ForeignImports)
    other = ForeignItem(id="b-3", title="Other")
    verbs.bring(
        work(replace(HULL, state="done"), OAK, other, replace(PAINT, state="open", needs=())),
        SOURCE,
    )
    ada.items.edit(ada.items.find("b-4").id, Edit(add_needs=(ada.items.find("b-3").id,)))
    late = replace(OAK, id="b-5", notes=())
    said = verbs.bring(
        work(
            replace(HULL, state="done"), OAK, late, replace(other, needs=("b-4",)),
            replace(PAINT, state="open", needs=()),
        ),
        SOURCE,
    )  # fmt: skip
    assert [(one.id, bool(one.why)) for one in said.kept] == [("b-5", True), ("b-3", True)]
    assert said.changed == ()
    assert ada.items.find("b-5") is None


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ((), "there is no work in it"),
        ((replace(HULL, id=""),), "it has no id"),
        ((replace(HULL, id="x" * 500),), "longer than 160"),
        ((replace(HULL, id="a\x00"),), "in its id"),
    ],
)
def test_what_is_at_fault_is_refused_with_its_place(studio, ada, items, problem):
    items = tuple(replace(item, where=f"line {place}") for place, item in enumerate(items, 1))
    verbs = ada.use(ForeignImports)
    studio.refuses(MalformedDocument, lambda: verbs.bring(work(*items), SOURCE))
    with pytest.raises(MalformedDocument, match=problem):
        verbs.look(work(*items), SOURCE)


@pytest.mark.parametrize(
    ("items", "problem", "count"),
    [
        ((HULL, replace(HULL, title="Other")), "already, so 'Other' is 'b-1-2' here", 2),
        ((HULL, HULL), "the id 'b-1' was given line 1 already, so 'Hull' is left out", 1),
        ((replace(HULL, id=""), PLANKS), "it has no id, so 'Hull' is left out", 1),
        ((replace(HULL, parent="b-2"), OAK), "b-1: it is held by itself, through b-1, b-2", 2),
        (
            (replace(OAK, needs=("b-3",), parent=""), replace(PLANKS, parent="")),
            "b-3: it waits for b-2, and these wait for each other: b-2, b-3",
            2,
        ),
        ((replace(HULL, needs=("b-2",)), OAK), "b-1: it waits for b-2, which is a part of it", 2),
        ((replace(HULL, needs=("b-1",)),), "b-1: it waits for itself", 1),
        (
            tuple(
                ForeignItem(id=f"b{n}", title="t", parent=f"b{n - 1}" if n else "")
                for n in range(60)
            ),
            "b49: b48 holds it, deeper than 50 levels",
            60,
        ),
    ],
)
def test_an_import_carries_on_and_reports_the_place(studio, ada, items, problem, count):
    """What is at fault is left out or changed, the rest comes in, and the same again is nothing."""
    items = tuple(replace(item, where=f"line {place}") for place, item in enumerate(items, 1))
    verbs = ada.use(ForeignImports)
    arrival = verbs.bring(work(*items), SOURCE)
    assert (arrival.items, arrival.deadlocks) == (count, ())
    assert [str(remark) for remark in arrival.remarks if problem in remark.problem]
    assert all(remark.where.startswith("line ") for remark in arrival.remarks)
    again = verbs.bring(work(*items), SOURCE)
    assert (again.created, again.changed, again.kept) == (0, (), ())


@given(
    edges=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20),
    parents=st.lists(st.integers(-1, 7), min_size=8, max_size=8),
)
def test_any_edges_leave_work_that_can_all_be_done(edges, parents):
    """However items hold and need each other: all come in, and one after another can begin and end."""
    items = tuple(
        ForeignItem(
            id=str(n),
            title="t",
            parent=str(parents[n]) if parents[n] >= 0 else "",
            needs=tuple(str(need) for waiter, need in edges if waiter == n),
        )
        for n in range(8)
    )
    settled = foreign.settle(work(*items))
    assert len(settled.items) == len(items)
    begun: set[str] = set()
    ended: set[str] = set()
    before = -1
    while before != len(begun) + len(ended):
        before = len(begun) + len(ended)
        for name, item in settled.items.items():
            if ended.issuperset(item.needs) and (not item.parent or item.parent in begun):
                begun.add(name)
            if name in begun and ended.issuperset(settled.below.get(name, ())):
                ended.add(name)
    assert len(ended) == len(items)


def test_what_has_no_place_here_is_put_right_and_told(studio, ada):
    """Texts that are too long or unfit, things that are not there, a whole that ended before its parts."""
    odd = ForeignItem(
        id="b-1", title="a\n" + "b" * 600, body="\x00x", parent="gone", needs=("gone", "b-1"), priority=9,
        labels=("l", "l", ""), areas=("../etc", "src"), state="done", said="closed",
    )  # fmt: skip
    said = ada.use(ForeignImports).bring(
        work(odd, ForeignItem(id="b-2", title="", parent="b-1", needs=("b-1",))), SOURCE
    )
    found = ada.overview.facets(ada.items.find("b-1").id)
    assert (len(found.item.title), found.item.status, found.labels, found.areas) == (
        500,
        "open",
        ("l",),
        ("src",),
    )
    assert found.item.body.endswith("\ufffdx")
    assert ada.items.find("b-2").title == "b-2"
    told = "\n".join(map(str, said.remarks))
    for words in (
        "at the top",
        "602 characters",
        "is 9",
        "leads out",
        "is not there",
        "holds it",
        "is closed there",
    ):
        assert words in told, words


def test_what_is_too_much_is_cut_and_told(studio, ada, monkeypatch):
    """Words, texts, and what is told of them; too many items are refused."""
    odd = ForeignItem(
        id="b-1", title="t", body="x" * 100_001, labels=tuple(map(str, range(60))), acceptance=("y" * 1001,), state="review",
    )  # fmt: skip
    lost = tuple(ForeignItem(id=f"c-{n}", title="t", parent="gone") for n in range(60))
    settled = foreign.settle(work(odd, *lost))
    found = settled.items["b-1"]
    assert (len(found.body), len(found.labels), len(found.acceptance[0]), found.state) == (
        100_000,
        50,
        1000,
        "active",
    )
    assert [remark.weight for remark in settled.remarks] == ["loss"] * 3 + ["change"] * 60
    monkeypatch.setattr(foreign, "ITEM_LIMIT", 60)
    with pytest.raises(MalformedDocument, match="61 items; 60 is the most"):
        foreign.settle(work(odd, *lost))


def test_short_names_are_given_where_they_are_free(studio, ada):
    items = (replace(HULL, short="#1"), replace(PAINT, short="#1", needs=()))
    ada.use(ForeignImports).bring(work(*items), SOURCE)
    assert ada.items.find("#1").title == "Hull"


def test_a_root_that_was_finished_is_opened_for_what_is_new(studio, ada):
    """As the source has more to do."""
    verbs = ada.use(ForeignImports)
    done = replace(HULL, state="done")
    root = verbs.bring(work(done), SOURCE).root
    assert ada.items.get(root).status == "done"
    said = verbs.bring(work(done, replace(PAINT, state="open", needs=())), SOURCE)
    assert (said.created, ada.items.get(root).status) == (1, "active")
    assert ada.overview.find(Item, root).version > 1


def test_one_task_goes_out_by_itself(studio, ada):
    """By any of its names; what only says where it came from stays here."""
    ada.use(ForeignImports).bring(work(*ALL), SOURCE)
    found = ada.use(ForeignExports).work("b-2")
    (oak,) = found.items
    assert (found.title, oak.title, oak.parent, oak.state) == ("Oak", "Oak", "", "done")
    assert oak.notes == (ForeignNote(text="Dry.", author="bob", at="2025-01-02"),)
    whole = ada.use(ForeignExports).work()
    assert [item.title for item in whole.items] == ["Ship", "Hull", "Paint", "Oak", "Planks"]
    assert whole.items[0].is_phase
    below = ada.use(ForeignExports).work(whole.items[0].id)
    assert [item.parent for item in below.items[:2]] == ["", ""]
    studio.refuses(NotFound, lambda: ada.use(ForeignExports).work("nowhere"))


@pytest.mark.parametrize(
    ("item", "state", "approval", "told"),
    [
        (
            {"state": "review", "said": "review"},
            "active",
            False,
            ["has to be handed in here again"],
        ),
        ({"state": "review", "said": "testing"}, "active", False, []),
        ({"state": "active", "approval": True}, "open", True, ["begun there with an approval"]),
        ({"state": "active", "approval": True, "is_phase": True}, "active", True, []),
        ({"state": "cancelled", "approval": True}, "cancelled", False, ["it is cancelled there"]),
        ({"state": "done", "approval": True}, "done", True, []),
    ],
)
def test_a_state_comes_in_as_far_as_it_can_be_had_here(item, state, approval, told):
    """Nobody has approved or handed in anything here: it is told what has to be done again."""
    settled = foreign.settle(work(ForeignItem(id="b-1", title="t", **item)))
    found = settled.items["b-1"]
    assert (found.state, found.approval) == (state, approval)
    assert len(settled.remarks) == len(told)
    for words, remark in zip(told, settled.remarks, strict=True):
        assert words in remark.problem


def test_a_check_that_is_no_command_is_left_out_and_told():
    """The others come in, each once."""
    item = ForeignItem(id="b-1", title="t", checks=(("make",), (" ",), ("make",)))
    settled = foreign.settle(work(item))
    assert settled.items["b-1"].checks == (("make",),)
    (remark,) = settled.remarks
    left_out = "b-1: its check ' ' is left out: one of its commands is empty"
    assert (remark.weight, remark.problem) == ("loss", left_out)


def test_a_gate_that_was_decided_here_is_left_and_told(studio, ada, person):
    """The source asks for it no more; what opens another is named."""
    verbs = ada.use(ForeignImports)
    asked = ForeignItem(id="b-1", title="t", review=True, checks=(("make",),))
    verbs.bring(work(asked), SOURCE)
    item = ada.items.find("b-1").id
    ada.claims.start(item)
    person.items.edit(item, Edit(waive=("review",), reason="it is small"))
    said = verbs.bring(work(replace(asked, review=False, checks=())), SOURCE)
    whys = {one.fields: one.why for one in said.kept}
    assert whys["review",].startswith("it was decided here")
    assert (
        f"`counterpoint waive {item} check-1 --reason WHY`, and so on, opens them"
        in whys["checks",]
    )
