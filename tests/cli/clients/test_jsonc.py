"""Editing JSON texts in place."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.cli.clients.jsonc import load_jsonc, member, remove_member, set_member
from counterpoint.kernel.errors import MalformedDocument

NAMES = st.text(st.characters(codec="utf-8"), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.floats(-9, 9) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
INDENTS = st.sampled_from([None, 2, 4, "\t"])


@settings(max_examples=15)
@given(OBJECTS, st.dictionaries(NAMES, VALUES, max_size=3), INDENTS, VALUES)
def test_one_member_is_set_and_all_else_reads_the_same(whole, servers, indent, value):
    """In every style of writing, whether the member was there or not."""
    whole["servers"] = servers
    edited = set_member(json.dumps(whole, indent=indent), ("servers", "mine"), value)
    assert json.loads(edited) == {**whole, "servers": {**servers, "mine": value}}


@settings(max_examples=15)
@given(OBJECTS, INDENTS)
def test_no_byte_of_others_goes(whole, indent):
    """An edit inserts one piece: what stood there stands before it and after it."""
    whole.pop("servers", None)
    before = json.dumps(whole, indent=indent)
    after = set_member(before, ("servers", "mine"), {"a": [1]})
    assert shared(before, after) + shared(before[::-1], after[::-1]) >= len(before)


def shared(one: str, other: str) -> int:
    """Count the letters with which two texts begin alike."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


@settings(max_examples=15)
@given(OBJECTS, INDENTS)
def test_setting_twice_is_setting_once(whole, indent):
    """The second edit finds what the first wrote."""
    once = set_member(json.dumps(whole, indent=indent), ("x",), {"a": 1})
    assert set_member(once, ("x",), {"a": 1}) == once


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ("{ } // end", '{\n  "a": {\n    "b": 1\n  }\n} // end'),
        ("{ // empty\n}\n", '{ // empty\n  "a": {\n    "b": 1\n  }\n}\n'),
        ('{"a": {}}', '{"a": {\n  "b": 1\n}}'),
        ('{"a": {"c": 2}}', '{"a": {"c": 2, "b": 1}}'),
        ('{"a": {"c": 2,}}', '{"a": {"c": 2, "b": 1,}}'),
        ('{"a": {"b": 0 /* old */}}', '{"a": {"b": 1 /* old */}}'),
        (
            '{\n\t"a": {\n\t\t"c": 2 // two\n\t}\n}',
            '{\n\t"a": {\n\t\t"c": 2, // two\n\t\t"b": 1\n\t}\n}',
        ),
        ('\ufeff{"a": {"c": "//"}}', '\ufeff{"a": {"c": "//", "b": 1}}'),
    ],
)
def test_the_text_around_an_edit_stays(before, after):
    """Comments, commas, tabs, byte order marks."""
    assert set_member(before, ("a", "b"), 1) == after


@pytest.mark.parametrize(
    "text",
    [
        *(
            "{",
            "[",
            '{"a"}',
            '{"a": }',
            '{"a": 1 "b": 2}',
            "{,}",
            '{"a": 1,,}',
            "{'a': 1}",
            "{} {}",
        ),
        *('{"a": 01}', '{"a": tru}', "{1: 2}", "/* open", '{"a": "\n"}', "[1 2]", "[" * 60),
    ],
)
def test_what_is_not_json_is_refused(text):
    with pytest.raises(MalformedDocument):
        load_jsonc(text)


@pytest.mark.parametrize("text", ["[]", "1", '{"a": 1}', '{"a": [1]}', '{"a": {"b": 1}, "a": 2}'])
def test_a_path_through_something_else_is_refused(text):
    """What stands in the way is not replaced."""
    with pytest.raises(MalformedDocument):
        set_member(text, ("a", "b"), 1)


def test_a_member_is_looked_up_along_its_path():
    """None where a step is missing or leads through something else."""
    whole = {"a": {"b": 1}}
    assert member(whole, ("a", "b")) == 1
    assert member(whole, ("a", "c")) is None
    assert member(whole, ("a", "b", "c")) is None


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{"a":1,"b":{}}', '{"a":1}'),
        ('{"b":{},"a":1}', '{"a":1}'),
        ('{ "a": 1, "b": {} }', '{ "a": 1 }'),
        ('{"b": [1, "]"]}', "{}"),
        ('{\n  "a": 1, // one\n  "b": 2\n}\n', '{\n  "a": 1 // one\n}\n'),
        ('{\r\n\t"b": 2,\r\n\t"a": 1,\r\n}', '{\r\n\t"a": 1,\r\n}'),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("", ""),
    ],
)
def test_a_member_goes_with_its_line_and_its_comma(text, after):
    """All other bytes stay; what is not there is not missed."""
    assert remove_member(text, ("b",)) == after


@given(
    before=st.dictionaries(st.sampled_from("abcd"), st.integers() | st.text(), max_size=4),
    pretty=st.booleans(),
)
def test_what_was_set_and_removed_leaves_the_rest(before, pretty):
    """For any document, on one line or on many."""
    text = json.dumps(before, indent=2 if pretty else None)
    edited = remove_member(set_member(text, ("x", "y"), [1]), ("x", "y"))
    assert load_jsonc(edited) == {**before, "x": {}}
    assert load_jsonc(remove_member(edited, ("x",))) == before
