"""Other names of items, values kept with them, and the states that tables bring beside the usual."""

from __future__ import annotations

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Handover, ReadyFilter, Report
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.work import Alias, Attribute
from counterpoint.core.operations.recording.facets import (
    ATTRIBUTE_LIMIT,
    NAME_LIMIT,
    attribute_object,
    labels_of,
)
from counterpoint.kernel.errors import Conflict, GateClosed, IllegalMove, InvalidInput, NotReady


def make(core, **parts):
    """Make one item and answer it."""
    return core.plans.create(Draft(**({"kind": "task", "title": "A"} | parts))).root


def test_an_item_is_found_by_its_id_and_by_its_other_names(studio, ada):
    one = make(ada, aliases=(("slug", "it"), ("uuid", "u-1")))
    two = make(ada, aliases=(("uuid", "it"), ("uuid", one.id)))
    assert ada.items.find(one.id).id == one.id
    assert ada.items.find("it", "slug").id == one.id
    assert ada.items.find("it", "uuid").id == two.id
    assert ada.items.find(one.id, "uuid").id == two.id
    assert ada.items.find("u-1").id == one.id
    assert ada.items.find("it") is None
    assert ada.items.find("nothing") is None
    assert ada.items.names(one.id) == {"slug": "it", "uuid": "u-1"}
    assert ada.overview.find(Alias, "slug", "it").item == one.id


def test_a_name_that_means_another_item_is_refused(studio, ada):
    """Nothing is made then; the same name again for the same item is no second name."""
    one = make(ada, aliases=(("slug", "it"), ("slug", "it")))
    fault = studio.refuses(Conflict, lambda: make(ada, aliases=(("slug", "it"),)))
    assert fault.facts["item"] == one.id
    for name in ("", "x" * (NAME_LIMIT + 1)):
        studio.refuses(InvalidInput, lambda name=name: make(ada, aliases=(("slug", name),)))
    assert make(ada, aliases=(("slug", "x" * NAME_LIMIT),))


def test_values_are_kept_changed_and_taken_away(studio, ada):
    """Any JSON; None takes a value away, and what is not named stays."""
    item = make(ada, attributes={"size": "small", "n": [1, {"a": None}], "gone": 1}).id
    edited = ada.items.edit(item, Edit(attributes={"size": 7, "gone": None, "never": None}))
    assert edited.version == 2
    assert ada.items.attributes(item) == {"size": 7, "n": [1, {"a": None}]}
    same = ada.items.edit(item, Edit(attributes={"size": 7}))
    assert same.version == 2
    huge = {"size": "x" * ATTRIBUTE_LIMIT}
    studio.refuses(InvalidInput, lambda: ada.items.edit(item, Edit(attributes=huge)))


def test_a_redacted_value_shows_its_mark(studio, ada):
    item = make(ada, attributes={"size": "very small"}).id
    studio.system.erasing.of_row(Attribute, item, "size", reason="private")
    assert ada.items.attributes(item) == {"size": REDACTED}


def test_an_object_that_is_kept_is_read_by_its_name(studio, ada):
    item = make(ada, labels=("b", "a"), attributes={"size": {"n": 1}, "list": [1]}).id
    with studio.view() as view:
        assert attribute_object(view, item, "size") == {"n": 1}
        assert attribute_object(view, item, "list") == attribute_object(view, item, "none") == {}
        assert sorted(labels_of(view, item)) == ["a", "b"]
        assert labels_of(view, "T-9") == ()
    studio.system.erasing.of_row(Attribute, item, "size", reason="private")
    with studio.view() as view:
        assert attribute_object(view, item, "size") == {}


def test_what_is_in_the_backlog_is_not_offered_until_it_is_opened(studio, ada):
    """The state itself is in the way, also of what lies below."""
    parked = make(ada, kind="issue", status="backlog", children=(Draft(kind="task", title="B"),))
    assert parked.blockers == 1
    assert ada.ready.offers(ReadyFilter(), 5) == []
    fault = studio.refuses(NotReady, lambda: ada.claims.start(parked.id))
    assert "it is in the backlog" in str(fault.facts)
    opened = ada.items.edit(parked.id, Edit(status="open"))
    assert opened.blockers == 0
    assert [offer.item.title for offer in ada.ready.offers(ReadyFilter(), 5)] == ["B"]
    assert ada.items.edit(parked.id, Edit(status="backlog")).blockers == 1
    assert ada.ready.offers(ReadyFilter(), 5) == []
    studio.check()


def test_a_partial_end_can_be_the_end(studio, ada):
    """`ends` closes the item as finished in part, and frees what waits for it."""
    first = make(ada).id
    other = make(ada, title="B", needs=(first,)).id
    token = ada.claims.start(first).claim.token
    ended = ada.tasks.finish(first, token, Report(outcome="partial", summary="half", ends=True))
    assert (ended.item.status, ended.item.category, ended.released) == ("partial", "done", (other,))
    assert ada.items.edit(first, Edit(status="open")).status == "open"


def test_a_declared_part_ends_by_word_only(studio, ada):
    """It starts with the first child, and stays when the last has closed."""
    plan = make(
        ada,
        kind="workflow",
        lifecycle="declared",
        children=(
            Draft(kind="phase", title="P", lifecycle="declared",
                  children=(Draft(kind="task", title="B"),)),
        ),
    )  # fmt: skip
    phase = ada.overview.children(plan.id)[0]
    task = ada.overview.children(phase.id)[0].id
    studio.refuses(GateClosed, lambda: ada.items.edit(phase.id, Edit(status="done")))
    token = ada.claims.start(task).claim.token
    ada.tasks.finish(task, token, Report(outcome="done", summary="x"))
    assert [ada.items.get(name).status for name in (plan.id, phase.id)] == ["active", "active"]
    assert ada.items.edit(phase.id, Edit(status="failed")).category == "dropped"
    assert ada.items.get(plan.id).status == "active"
    assert ada.items.edit(plan.id, Edit(status="partial")).category == "done"
    studio.check()


def test_staged_work_goes_its_own_way(studio, ada):
    """A claim leads to the first stage of work; given back, the work stays where it is."""
    item = make(ada, lifecycle="staged").id
    assert ada.claims.start(item).item.status == "gather"
    studio.refuses(IllegalMove, lambda: ada.items.edit(item, Edit(status="plan")))
    assert ada.items.edit(item, Edit(status="analyze")).status == "analyze"
    given = ada.sessions.hand_over(Handover(action="end", summary="enough"))
    assert [claim.item for claim in given.claims] == [item]
    bob = studio.core("bob")
    assert bob.items.get(item).status == "analyze"
    assert [offer.item.id for offer in bob.ready.offers(ReadyFilter(), 5)] == [item]
    token = bob.claims.start(item).claim.token
    assert token == 2
    half = bob.tasks.finish(item, token, Report(outcome="partial", summary="half"))
    assert half.item.status == "analyze"
    studio.check()


def test_remembered_values_have_a_sort_and_a_description(studio, ada):
    """A list may be of one sort; another description is a new version."""
    ada.memory.put("project", "a", 1, category="x", description="what")
    ada.memory.put("project", "b", 1)
    assert [e.name for e in ada.memory.list("project", "", 9, category="x")] == ["a"]
    assert [e.name for e in ada.memory.list("project", "", 9)] == ["a", "b"]
    assert ada.memory.put("project", "a", 1, category="x", description="what").version == 1
    assert ada.memory.put("project", "a", 1, category="x", description="that").version == 2


@pytest.mark.parametrize("status", ["nowhere", "gather"])
def test_a_draft_of_an_unknown_state_is_refused(studio, ada, status):
    studio.refuses(InvalidInput, lambda: make(ada, status=status))
