"""The words and limits of a spec's document, and how untrusted JSON is read."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.nodes.rules import shape


def test_the_schema_tells_every_list_of_words():
    """It has the keys that foundry's own answer has."""
    told = shape.schema()
    assert list(told) == [
        "templates",
        "node_types",
        "statuses",
        "task_categories",
        "verification_types",
        "journal_entry_types",
        "blocker_types",
        "status_folders",
    ]
    assert told["templates"][0]["name"] == "empty"
    assert told["node_types"][-1] == "research"


def nested(depth):
    """Return lists in lists."""
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"b": 1}, False),
        ([1], [1, 2], False),
        ([1], {"0": 1}, False),
        ("a", "b", False),
        (float("nan"), float("nan"), True),
        (nested(100_000), nested(100_000), True),
    ],
)
def test_values_are_compared_as_json(one, other, is_same):
    """However deep they are."""
    assert shape.same(one, other) is is_same


def test_depth_is_counted_up_to_a_limit():
    """Beyond it nobody asks how much more there is."""
    assert shape.depth_of({"a": [1]}, 10) == 2
    assert shape.depth_of("x", 10) == 0
    assert shape.depth_of(nested(100_000), 10) == 11


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x", "'x'"),
        ("y" * 200, f"'{'y' * 79}…'"),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (7, "a number"),
        ({}, "an object"),
        ([], "a list"),
    ],
)
def test_any_value_is_quoted_in_a_few_letters(value, said):
    """A number may have more digits than can be written."""
    assert shape.quoted(value) == said
    assert shape.quoted(10**5000) == "a number"


def test_what_is_of_another_type_reads_as_empty():
    """So nobody has to ask first."""
    assert shape.nodes_of([]) == shape.nodes_of({"hierarchy": 3}) == {}
    assert shape.nodes_of({"hierarchy": {"a": {}, "b": 1}}) == {"a": {}}
    assert shape.texts_of(["a", 1, None]) == ["a"]
    assert shape.texts_of("abc") == []
    assert shape.text_of(1) == ""
    assert shape.metadata_of({"metadata": []}) == {}
    assert shape.dependencies_of({"dependencies": {"blocks": ["a", 2]}}, "blocks") == ["a"]
    assert not shape.is_count(True)
    assert shape.is_count(3)
    assert not shape.is_one_of([], ("a",))


def test_a_description_may_be_of_lines():
    """`description` speaks first, then `details`."""
    assert shape.description_of({"description": "a", "details": "b"}) == "a"
    assert shape.description_of({"description": " ", "details": "b"}) == "b"
    assert shape.description_of({"details": ["a", "", 3, "b"]}) == "a\nb"
    assert shape.description_of({}) == ""
    assert shape.word_of(" In-Progress ") == "in_progress"
