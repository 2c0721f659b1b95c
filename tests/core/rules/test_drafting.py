"""Drafting: what can be planned is what can be finished."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.drafts import Draft
from counterpoint.core.rules import drafting
from counterpoint.core.rules.drafting import plan_of
from counterpoint.core.rules.outline import load
from counterpoint.kernel.errors import CyclicDependency, MalformedDocument


def nothing(_item: str) -> bool:
    """Say that no item is there."""
    return False


@st.composite
def trees(draw):
    """Draw a tree of up to nine named drafts whose needs point anywhere in it."""
    count = draw(st.integers(1, 9))
    parents = [None, *(draw(st.integers(0, place)) for place in range(count - 1))]
    kinds = ["plan", *("phase" if draw(st.booleans()) else "task" for _ in range(count - 1))]
    for place in range(1, count):
        if parents[place] and kinds[parents[place]] == "task":
            kinds[place] = "task"
    needs = [
        draw(st.none() | st.lists(st.integers(0, count - 1), max_size=2)) for _ in range(count)
    ]

    def build(place):
        return Draft(
            kind=kinds[place],
            title=f"t{place}",
            name=f"n{place}",
            needs=None if needs[place] is None else tuple(f"n{n}" for n in needs[place]),
            children=tuple(build(p) for p in range(count) if parents[p] == place),
        )

    return build(0)


def slow_schedule(draft: Draft) -> bool:
    """Try to begin and end everything, one step at a time, until nothing moves any more."""
    parts = list(draft.walk())
    by_name = {part.name: part for part in parts}
    parent = {child.name: part for part in parts for child in part.children}
    usual = {
        later.name: (earlier.name,)
        for part in parts
        for place, later in enumerate(part.children)
        if later.kind == "phase"
        for earlier in [c for c in part.children[:place] if c.kind == "phase"][-1:]
    }
    begun: set[str] = set()
    ended: set[str] = set()
    moved = True
    while moved:
        moved = False
        for part in parts:
            needs = usual.get(part.name, ()) if part.needs is None else part.needs
            above = parent.get(part.name)
            is_free = above is None or above.name in begun
            if part.name not in begun and is_free and set(needs) <= ended:
                begun.add(part.name)
                moved = True
            below = {child.name for child in part.children}
            if part.name in begun and part.name not in ended and below <= ended:
                ended.add(part.name)
                moved = True
    return len(ended) == len(by_name)


@given(draft=trees())
def test_a_plan_is_accepted_exactly_if_it_can_be_finished(draft):
    """A slow scheduler gets through, or the plan is refused, naming those who wait."""
    if slow_schedule(draft):
        planned = plan_of(draft, nothing)
        assert next(part.draft.title for part in planned) == "t0"
        assert len(planned) == len(list(draft.walk()))
        assert all(part.parent is None or part.parent < place for place, part in enumerate(planned))
    else:
        with pytest.raises(CyclicDependency) as caught:
            plan_of(draft, nothing)
        assert caught.value.facts["items"]


def plan(*children, **values):
    """Answer a plan with children."""
    return Draft(kind="plan", title="Plan", children=children, **values)


def task(title="T", **values):
    """Answer a task."""
    return Draft(kind="task", title=title, **values)


def problems(draft):
    """Answer what is said to be wrong with a draft."""
    with pytest.raises(MalformedDocument) as caught:
        plan_of(draft, nothing)
    return [fault["problem"] for fault in caught.value.facts["faults"]]


def test_only_those_in_the_circle_are_named():
    """Who merely waits for it, or is waited for, is left out."""
    draft = plan(
        task("A", name="a", needs=("b",)), task("B", name="b", needs=("a",)),
        task("C", needs=("a",)), task("D", name="d"), task("E", name="e", needs=("d",)),
    )  # fmt: skip
    with pytest.raises(CyclicDependency) as caught:
        plan_of(draft, nothing)
    assert {"A", "B"} <= set(caught.value.facts["items"])
    assert not {"D", "E"} & set(caught.value.facts["items"])


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (plan(task("")), "there is no title"),
        (plan(task("x" * 501)), "the title is longer than 500 characters"),
        (plan(task("a\nb")), "the title is more than one line"),
        (plan(task(body="x" * 100_001)), "the description is longer than 100000 characters"),
        (plan(task(priority=5)), "priority 5 is not from 0 to 4"),
        (plan(task(labels=("x",) * 51)), "it has more than 50 labels"),
        (plan(task(checks=(("a", "x" * 999),))),
         "one of its commands is longer than 1000 characters"),
        (plan(task(needs=("x",))), "it comes after 'x', which is neither in the plan nor an item"),
        (plan(task("A"), task("A"), task("B", needs=("A",))),
         "'A' means several items: give them names with {#name}"),
        (plan(task(children=(Draft(kind="phase", title="P"),))),
         "a phase cannot stand below the task 'T'"),
        (plan(task("U"), done=True),
         "it is not done, but 'Plan', which holds it, is marked as done"),
        (plan(task(children=(task("U"),), done=True)),
         "it is not done, but 'T', which holds it, is marked as done"),
    ],
)  # fmt: skip
def test_each_fault_of_a_plan_is_named(draft, expected):
    """In words that say what to mend."""
    assert problems(draft) == [expected]


def test_all_faults_of_a_plan_come_together():
    """With their lines where there are some, by title where not."""
    draft = plan(task("", line=3), task("B", priority=9))
    with pytest.raises(MalformedDocument) as caught:
        plan_of(draft, nothing)
    assert caught.value.message == (
        "the plan cannot be made: line 3: there is no title; 'B': priority 9 is not from 0 to 4"
    )


def test_a_plan_has_an_end_in_width_and_depth(monkeypatch):
    """More items than the limit, or more levels."""
    monkeypatch.setattr(drafting, "ITEM_LIMIT", 3)
    assert problems(plan(task("A"), task("B"), task("C"))) == [
        "the plan has 4 items; 3 is the most"
    ]
    monkeypatch.setattr(drafting, "ITEM_LIMIT", 999)
    deep = task("bottom")
    for _ in range(60):
        deep = task("T", children=(deep,))
    assert problems(plan(deep)) == ["it lies deeper than 50 levels"]


def test_references_go_by_name_title_or_id():
    """In the plan first, then among the items that are there; each once."""
    draft = plan(
        task("A", name="a"), task("B", needs=("a", "A", "demo-1", "demo-1")),
    )  # fmt: skip
    planned = plan_of(draft, lambda item: item == "demo-1")
    assert (planned[2].needs, planned[2].outside) == ((1,), ("demo-1",))


def test_a_phase_comes_after_the_phase_before_it():
    """Tasks in between do not break the order; an empty list lifts it."""
    phases = [Draft(kind="phase", title=title) for title in "ABC"]
    draft = plan(phases[0], task("T"), phases[1], replace(phases[2], needs=()))
    assert [part.needs for part in plan_of(draft, nothing)] == [(), (), (), (1,), ()]


def test_a_part_is_done_if_all_below_it_is_and_no_gate_asks_more():
    def phase(**values):
        return Draft(kind="phase", title="P", needs=(), **values)

    done = task(done=True)
    draft = plan(
        phase(children=(done,)), phase(children=(done, task("U"))), phase(),
        phase(children=(done,), review=True), phase(children=(done,), checks=(("x",),)),
        phase(children=(done,), artifact=True), task("S", children=(done,)),
    )  # fmt: skip
    states = [part.draft.done for part in plan_of(draft, nothing)]
    assert states[:8] == [False, True, False, False, False, False, False, False]


@pytest.mark.parametrize("name", ["name", "assignee", "profile"])
def test_names_are_short(name):
    """Whoever is to do an item is named as shortly as the item."""
    assert problems(plan(task(**{name: "x" * 1_001}))) == [
        "one of its names is longer than 1000 characters"
    ]


def test_a_name_is_given_once():
    """At fault is the later line, or without lines the later item; also if nothing comes after it."""
    twice = load("# T {#t}\n- [ ] a {#x}\n- [ ] b {#x}\n")
    with pytest.raises(MalformedDocument, match="line 3: the name 'x' was given in line 2 already"):
        plan_of(twice, nothing)
    parts = tuple(Draft(kind="task", title=title, name="x") for title in "ab")
    with pytest.raises(MalformedDocument, match="the name 'x' was given to 'a' already"):
        plan_of(Draft(kind="plan", title="T", children=parts), nothing)


def test_a_circle_names_its_lines():
    """As every other fault does."""
    text = "# T\n- [ ] a\n  - after: b\n- [ ] b\n  - after: a\n"
    with pytest.raises(CyclicDependency, match=r"'a' \(line 2\), 'b' \(line 4\)"):
        plan_of(load(text), nothing)
