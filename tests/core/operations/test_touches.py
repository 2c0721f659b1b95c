"""What entries did to trees of one kind: in order, each once, and the same ones each time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note, Report
from counterpoint.core.model.lifecycles import LIFECYCLES, TASK
from counterpoint.core.operations.recording.unit import recording
from counterpoint.kernel.errors import InvalidInput

TREE = Draft(
    kind="workflow",
    title="flow",
    children=(Draft(kind="phase", title="p", children=(Draft(kind="task", title="t"),)),),
)


def story(core, after=-1, kind="workflow"):
    """Answer what happened, in short."""
    position, found = core.feed.item_changes(kind, after)
    assert position == core.feed.last()
    return [
        (touch.item.title, touch.record.kind if touch.record else touch.item.status, touch.made)
        for touch in found
    ]


@pytest.fixture
def tree(ada):
    """Give a workflow with a phase and a task; answer the ids."""
    return tuple(item.id for item in ada.plans.create(TREE).items)


def test_a_tree_that_is_made_is_told_from_the_top(ada, tree):
    """Each item once, as the entry left it, with what holds it."""
    assert story(ada) == [("flow", "open", True), ("p", "open", True), ("t", "open", True)]
    _, (flow, phase, task) = ada.feed.item_changes("workflow", -1)
    assert [item.id for item in task.above] == list(tree[:2])
    assert ([*flow.above], [item.id for item in phase.above]) == ([], [tree[0]])
    assert "title" in task.changed


def test_trees_of_other_kinds_are_passed_by(ada, tree):
    """The place moves on all the same."""
    last = ada.feed.last()
    other = ada.plans.create(Draft(kind="plan", title="plan", children=TREE.children)).root.id
    ada.journal.append(Note(kind="decision", body="so", item=other))
    ada.journal.append(Note(kind="decision", body="about nothing"))
    assert story(ada, last) == []
    assert story(ada, last, "plan")[-1] == ("plan", "decision", True)


def test_an_item_is_told_as_the_entry_left_it_also_later(studio, ada, tree):
    """Its state then and not its state now, with the columns that were written."""
    last = ada.feed.last()
    token = ada.claims.start(tree[2]).claim.token
    studio.clock.pass_by(minutes=1)
    ada.tasks.finish(tree[2], token, Report(outcome="done", summary="well"))
    begun, ended = ("active", False), ("done", False)
    assert [one[1:] for one in story(ada, last)] == [begun] * 3 + [ended] * 3
    _, found = ada.feed.item_changes("workflow", last)
    task = [touch for touch in found if touch.item.id == tree[2]]
    assert [touch.item.closed_at for touch in task] == ["", task[1].time]
    assert [touch.outcome and touch.outcome.summary for touch in task] == [None, "well"]
    assert {"status", "assignee"} <= task[0].changed
    assert "title" not in task[0].changed


def test_an_item_that_is_taken_up_as_it_is_made_is_told_once(ada, tree):
    last = ada.feed.last()
    ada.claims.begin(Draft(kind="task", title="u", attributes={"x": 1}), tree[1])
    assert story(ada, last) == [
        ("u", "open", True),
        ("p", "active", False),
        ("flow", "active", False),
    ]
    _, found = ada.feed.item_changes("workflow", last)
    assert (found[0].item.assignee, found[0].attributes) == ("ada", {"x": 1})


def test_records_are_told_with_the_item_they_are_about(ada, tree):
    last = ada.feed.last()
    ada.journal.append(Note(kind="decision", body="tar", item=tree[2]))
    record = ada.journal.append(Note(kind="blocker", body="no tar", item=tree[2])).id
    ada.journal.resolve(record, "bought")
    told = [one for one in story(ada, last) if one[1] in {"decision", "blocker"}]
    assert told == [("t", "decision", True), ("t", "blocker", True), ("t", "blocker", False)]
    _, found = ada.feed.item_changes("workflow", last)
    assert [touch.record.resolution for touch in found if touch.record][1:] == ["bought"] * 2
    assert all(touch.changed <= {"blockers", "held"} for touch in found if not touch.record)


def test_a_row_that_is_written_whole_is_not_always_a_made_one(studio, ada, tree):
    """Whoever writes without reading writes all of it; the item was there before."""
    item, context, last = ada.items.get(tree[2]), studio.context(ada), ada.feed.last()
    studio.clock.pass_by(minutes=1)
    with recording(context, "item.edited", item.id) as change:
        change.put(replace(item, title="tt"))
    _, (touch,) = ada.feed.item_changes("workflow", last)
    assert (touch.item.title, touch.made, touch.item.closed_at) == ("tt", False, "")


def test_a_move_by_a_table_that_is_not_installed_is_told(monkeypatch, ada, tree):
    """By the categories that the entries and the item have; nobody else knows its states."""
    dough = replace(
        TASK,
        name="dough",
        categories={"open": "open", "mixed": "active", "baking": "active", "baked": "done"},
        moves={"open": ("mixed",), "mixed": ("baking",), "baking": ("baked",), "baked": ()},
        parked=frozenset(),
        skips=frozenset(),
    )
    monkeypatch.setitem(LIFECYCLES, "dough", dough)
    cake = Draft(kind="task", title="cake", lifecycle="dough")
    made = ada.plans.create(cake, tree[1]).root.id
    last = ada.feed.last()
    for state in ("mixed", "baking"):
        ada.items.edit(made, Edit(status=state))
    monkeypatch.delitem(LIFECYCLES, "dough")
    assert moves_of(ada, made, last) == [("mixed", "active"), ("baking", "active")]
    monkeypatch.setitem(LIFECYCLES, "dough", dough)
    ada.items.edit(made, Edit(status="baked"))
    monkeypatch.delitem(LIFECYCLES, "dough")
    assert moves_of(ada, made, last) == [
        ("mixed", "active"),
        ("baking", "active"),
        ("baked", "done"),
    ]
    monkeypatch.setitem(LIFECYCLES, "dough", dough)  # for the check of the counters at the end


def moves_of(core, item, after):
    """Answer the states, with their categories, that an item was led to."""
    _, found = core.feed.item_changes("workflow", after)
    return [touch.item.state_key for touch in found if touch.item.id == item]


def test_a_page_ends_where_the_next_begins(ada, tree):
    """Whatever its size, nothing is told twice or left out."""
    ada.items.edit(tree[2], Edit(title="tt"))
    ada.items.edit(tree[1], Edit(title="pp"))
    whole = ada.feed.item_changes("workflow", -1)[1]
    parts, after = [], -1
    while after < ada.feed.last():
        after, found = ada.feed.item_changes("workflow", after, 1)
        parts += found
    key = [(one.sequence, one.item.id, one.item.title) for one in whole]
    assert [(one.sequence, one.item.id, one.item.title) for one in parts] == key


def test_nothing_new_is_an_empty_answer_from_the_same_place(studio, ada, tree):
    """And a place that was never given out is refused."""
    last = ada.feed.last()
    assert ada.feed.item_changes("workflow", last, 100, 0.01) == (last, [])
    studio.refuses(InvalidInput, lambda: ada.feed.item_changes("workflow", last + 1))
