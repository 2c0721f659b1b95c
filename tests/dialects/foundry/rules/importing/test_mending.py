"""Documents of others mended on their way in."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.work import TITLE_LIMIT
from counterpoint.core.rules.drafting import ITEM_LIMIT
from counterpoint.dialects.foundry.documents.rules.importing import mended
from counterpoint.dialects.foundry.nodes.rules.shape import same
from counterpoint.kernel.errors import MalformedDocument
from fakes.damaged_documents import entry
from fakes.spec_documents import ANY_JSON, NOW, TANGLED, document, edited, odd_documents

TASK = "hierarchy/task-1-1"


def kept(made: Any, name: str = "") -> Any:
    """Answer what is kept of what a document said, with a node or with the whole."""
    after = mended(made, NOW).document
    holder = after["hierarchy"][name] if name else after
    return holder["metadata"].get("as_imported")


def ids(made: Any, current: Any = None) -> list[str]:
    """Answer what was done."""
    return [one.id for one in mended(made, NOW, current).actions]


def test_a_whole_document_stays_as_it_is():
    """Nothing is said of it."""
    assert mended(document(), NOW).document == document()
    assert ids(document()) == []


@given(st.one_of(odd_documents(), TANGLED, ANY_JSON.filter(lambda one: isinstance(one, dict))))
def test_mending_twice_changes_nothing_more(made: Any):
    """Whatever the document is; what was given stays as it is."""
    before = copy.deepcopy(made)
    first = mended(made, NOW)
    assert repr(made) == repr(before)
    again = mended(first.document, NOW)
    assert same(again.document, first.document)
    assert again.actions == ()


@pytest.mark.parametrize(
    ("changes", "name", "values"),
    [
        ({f"{TASK}/status": "failed"}, "task-1-1", {"status": "failed"}),
        ({f"{TASK}/status": "todo"}, "task-1-1", None),
        ({f"{TASK}/status": " "}, "task-1-1", None),
        ({f"{TASK}/type": "epic"}, "task-1-1", {"type": "epic"}),
        ({f"{TASK}/type": "Task"}, "task-1-1", None),
        ({f"{TASK}/title": [3]}, "task-1-1", {"title": [3]}),
        ({f"{TASK}/parent": {"a": 1}}, "task-1-1", {"parent": {"a": 1}}),
        ({f"{TASK}/parent": "phase-2"}, "task-1-1", None),
        ({f"{TASK}/children": ["gone", 7]}, "task-1-1", {"children": ["gone", 7]}),
        ({f"{TASK}/dependencies": "x"}, "task-1-1", {"dependencies": "x"}),
        (
            {f"{TASK}/dependencies": {"blocks": ["gone", "task-1-2"], "related": "x", "odd": []}},
            "task-1-1",
            {"dependencies": {"blocks": ["gone"], "related": "x"}},
        ),
        (
            {f"{TASK}/metadata/as_imported": 3, f"{TASK}/status": "failed"},
            "task-1-1",
            {"as_imported": 3, "status": "failed"},
        ),
        (
            {f"{TASK}/status": "blocked", f"{TASK}/metadata/blocker_ticket": 3},
            "task-1-1",
            {"blocker_ticket": 3},
        ),
        ({"generated": "soon", "status": "soon"}, "", {"generated": "soon", "status": "soon"}),
        ({"generated": "Jan 2, 2026"}, "", None),
        ({"title": 3}, "", {"title": 3}),
        ({"hierarchy/spec-root/title": "Other"}, "", {"spec-root": {"title": "Other"}}),
        ({"hierarchy/spec-root/title": None}, "", None),
        ({"hierarchy/spec-root/type": "phase"}, "", {"spec-root": {"type": "phase"}}),
        ({"hierarchy/spec-root/parent": "x"}, "", {"spec-root": {"parent": "x"}}),
        (
            {"hierarchy/spec-root/metadata": {"mission": "x", "template": "y"}},
            "",
            {"spec-root": {"metadata": {"mission": "x"}}},
        ),
    ],
)
def test_what_no_field_can_say_is_kept(changes: Any, name: str, values: Any):
    """And nothing else: a word that only was written otherwise is lost for nobody."""
    assert kept(edited(changes), name) == values


def test_metadata_that_are_no_object_are_left_to_be_refused():
    """Nothing can be kept in them."""
    made = edited({f"{TASK}/metadata": "x", f"{TASK}/status": "failed"})
    assert mended(made, NOW).document["hierarchy"]["task-1-1"]["metadata"] == "x"


def test_what_is_nothing_in_other_words_is_missing():
    """Metadata that are empty, and children that are null."""
    made = edited({f"{TASK}/metadata": "", f"{TASK}/children": None})
    assert ids(made) == ["node.add_missing_fields:task-1-1"]


def test_too_many_nodes_are_refused_before_anything_is_made_of_them():
    """However small they are."""
    made = document() | {"hierarchy": {str(one): {} for one in range(ITEM_LIMIT + 1)}}
    made["journal"] = [1] * (ITEM_LIMIT + 1)
    with pytest.raises(MalformedDocument) as refused:
        mended(made, NOW)
    assert [one["location"] for one in refused.value.facts["faults"]] == ["hierarchy", "journal"]


def test_what_the_spec_has_already_is_no_damage():
    """Dependencies on other work, entries as they stand, and a type of verification that nobody knows."""
    now = edited({"hierarchy/verify-1-1/metadata": {"verification_type": "auto"}})
    now["hierarchy"]["task-1-1"]["dependencies"]["blocked_by"] = ["other-1"]
    now["journal"] = [entry("note", "About  one\nthat is gone", "eve", task_id="gone")]
    assert ids(copy.deepcopy(now), now) == []
    assert mended(now, NOW, now).document == now
    made = copy.deepcopy(now)
    made["hierarchy"]["verify-1-1"]["metadata"]["verification_type"] = "odd"
    assert ids(made, now) == ["metadata.fix_invalid_verification_type:verify-1-1"]


ENTRY = entry("decision", "T", "eve", task_id="task-1-1")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (ENTRY, ENTRY),
        ({"content": "one\ntwo"}, {"title": "one", "content": "one\ntwo", "entry_type": "note"}),
        ("by hand", {"title": "by hand", "content": "by hand", "entry_type": "note"}),
        ([1], {"title": "[1]", "content": "[1]", "entry_type": "note"}),
        (ENTRY | {"title": "a\n b"}, ENTRY | {"title": "a b"}),
        (ENTRY | {"odd": 1}, ENTRY | {"metadata": {"as_imported": {"odd": 1}}}),
        (
            ENTRY | {"entry_type": "verification", "metadata": {"a": 1}},
            ENTRY
            | {
                "entry_type": "note",
                "metadata": {"a": 1, "as_imported": {"entry_type": "verification"}},
            },
        ),
        (
            ENTRY | {"timestamp": "soon", "author": 3, "metadata": "x"},
            ENTRY
            | {
                "timestamp": "",
                "author": "",
                "metadata": {"as_imported": {"timestamp": "soon", "author": 3, "metadata": "x"}},
            },
        ),
        (
            ENTRY | {"metadata": {"source": {"author": "ann"}, "a": 1}},
            ENTRY
            | {"metadata": {"a": 1, "as_imported": {"metadata": {"source": {"author": "ann"}}}}},
        ),
        (
            ENTRY | {"title": "x" * (TITLE_LIMIT + 1)},
            ENTRY
            | {
                "title": "x" * TITLE_LIMIT,
                "metadata": {"as_imported": {"title": "x" * (TITLE_LIMIT + 1)}},
            },
        ),
    ],
)
def test_entries_of_a_journal_are_written_as_they_are_kept(given: Any, wanted: Any):
    """With what has no place in their metadata; one that was written so stays."""
    made = mended(document() | {"journal": [given]}, NOW)
    empty = {"timestamp": "", "author": "", "metadata": {}}
    assert made.document["journal"] == [empty | wanted]
    told = [one.id for one in made.actions]
    is_plain = "as_imported" not in str(wanted) and isinstance(given, dict)
    assert told == ([] if is_plain else ["journal.normalize:0"])
    assert mended(made.document, NOW).document == made.document
