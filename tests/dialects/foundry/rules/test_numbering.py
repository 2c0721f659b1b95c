"""How specs and their nodes are numbered and named, and in which order they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.nodes.rules.shape import (
    is_spec_id,
    natural_key,
    next_node_id,
    next_phase_number,
    phase_id,
    slug_of,
)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("My New Feature", "my-new-feature"),
        ("  a__b!!c  ", "a-b-c"),
        ("Übergröße", "ubergroe"),
        ("日本", "spec"),
        ("x" * 200, "x" * 80),
    ],
)
def test_a_slug_has_small_letters_and_digits(name, slug):
    """Every run of other letters becomes one hyphen."""
    assert slug_of(name) == slug


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("demo-2026-01-02-001", True),
        ("my-feature-spec-001", False),
        ("demo-2026-01-02-1", False),
        ("../demo-2026-01-02-001", False),
        ("demo-2026-01-02-\u0660\u0660\u0661", False),
    ],
)
def test_the_form_of_a_spec_id_is_known(text, is_one):
    """It has a slug, a day and a number of three digits or more."""
    assert is_spec_id(text) is is_one


@pytest.mark.parametrize(
    ("kind", "parent", "taken", "made"),
    [
        ("task", "phase-2", ["task-2-1", "task-2-10", "task-3-50"], "task-2-11"),
        ("task", "phase-2", ["verify-2-7", "task-2-3-9"], "task-2-1"),
        ("verify", "phase-2", ["verify-2-1"], "verify-2-2"),
        ("research", "phase-12", [], "research-12-1"),
        ("subtask", "task-2-3", ["task-2-3-1", "task-2-30-4"], "task-2-3-2"),
        ("subtask", "verify-2-3", [], "task-2-3-1"),
        ("task", "itm_abc", ["task-0-1"], "task-0-2"),
        ("task", "phase-1", ["task-1-²", "task-1-99999999999"], "task-1-1"),
    ],
)
def test_a_node_has_one_more_than_the_highest_number(kind, parent, taken, made):
    """Only ids of the same kind in the same place count, and only numbers that can be counted on from."""
    assert next_node_id(kind, parent, taken) == made


def test_phases_are_numbered_after_the_highest():
    """A number below it that is free stays free."""
    assert phase_id(next_phase_number(["phase-1", "phase-4", "task-9-1"])) == "phase-5"
    assert next_phase_number([]) == 1


def test_ids_are_sorted_with_numbers_as_numbers():
    """Tasks 2 to 9 come before task 10, whatever else there is."""
    names = ["task-2-10", "task-2-2", "phase-1", "task-10-1", "task-2-2-1", "9", "x", "task-02-2"]
    assert sorted(names, key=natural_key) == [
        "9",
        "phase-1",
        "task-02-2",
        "task-2-2",
        "task-2-2-1",
        "task-2-10",
        "task-10-1",
        "x",
    ]


@given(st.lists(st.text(alphabet="a-0123\u0663", max_size=8)))
def test_any_names_can_be_sorted(names):
    """The order is whole: no two different names count as the same."""
    backwards = names[::-1]
    backwards.sort(key=natural_key)
    assert sorted(names, key=natural_key) == backwards
    assert min(["9" * 5000, "1" + "0" * 5000], key=natural_key) == "9" * 5000
