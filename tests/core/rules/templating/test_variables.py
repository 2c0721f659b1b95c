"""Values of variables: settled, or refused with all that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.templates import Variable
from counterpoint.core.rules.templating.reading import (
    VALUE_LIMIT,
    settle_values,
    text_of,
    value_faults,
)
from counterpoint.kernel.errors import InvalidInput

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda part: st.one_of(
        st.lists(part, max_size=2), st.dictionaries(st.text(max_size=3), part, max_size=2)
    ),
    max_leaves=4,
)


def test_a_value_that_is_not_given_is_the_default():
    variables = [
        Variable(name="A", required=True),
        Variable(name="B", required=False, default="b"),
        Variable(name="C", required=False),
    ]
    assert settle_values(variables, {"A": "x"}) == {"A": "x", "B": "b", "C": ""}
    assert settle_values(variables, {"A": "x", "B": ""}) == {"A": "x", "B": "", "C": ""}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (-1.5, "-1.5"),
        (2**53, None),
        (None, None),
        ([], None),
        ({}, None),
        (float("nan"), None),
        (float("inf"), None),
        (-(10**50), None),
    ],
)
def test_texts_numbers_and_booleans_are_values(value, text):
    """Nothing else is; what cannot be kept exactly is not either."""
    assert text_of(value) == text


def test_all_that_is_wrong_is_said_at_once():
    """Missing, unknown and unfit values together, each with what it is for."""
    variables = [
        Variable(name="NAME", required=True, description="What it is called"),
        Variable(
            name="KIND", required=False, allowed=("a", "b"), format="one letter", examples=("a",)
        ),
        Variable(name="SLUG", required=False, charset="slug"),
        Variable(name="BARE", required=True),
    ]
    with pytest.raises(InvalidInput) as caught:
        settle_values(variables, {"KIND": "c", "SLUG": ["x"], "KNID": "a"})
    assert caught.value.facts == {"missing": ["NAME", "BARE"], "unknown": ["KNID"]}
    assert caught.value.message.split("; ", 1)[0].startswith("'KNID' is not a variable")
    assert "did you mean 'KIND'" in caught.value.message
    assert "'NAME' must be given: What it is called" in caught.value.message
    assert "'BARE' must be given: it has no description" in caught.value.message
    assert "it is not one of 'a', 'b'" in caught.value.message
    assert "format: one letter; for example 'a'" in caught.value.message
    assert "the value of 'SLUG' is not a text" in caught.value.message
    assert caught.value.hint == "The template has: NAME, KIND, SLUG, BARE."
    with pytest.raises(InvalidInput) as caught:
        settle_values([], {"X": "1"})
    assert "no variables" in caught.value.hint
    assert "did you mean" not in caught.value.message


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ({"charset": "alpha"}, ["abC", ""], ["a1", "é"]),
        ({"charset": "alnum"}, ["a1"], ["a-1"]),
        ({"charset": "slug"}, ["a-b1", ""], ["-a", "a--b", "A"]),
        ({"charset": "snake_case"}, ["a_b1"], ["_a", "1a", "a-b"]),
        ({"charset": "path_segment"}, ["a.b", "...", ""], [".", "..", "a/b"]),
        ({"charset": "printable"}, ["é b"], ["a\nb", "a\tb"]),
        ({"pattern": "[a-c]{2}"}, ["ab"], ["abc", "", "a" * 501]),
        ({"allowed": tuple("abcdefghijklmn")}, ["n"], ["z"]),
        ({"required": True}, ["x"], ["", "  \n"]),
        (
            {},
            ["a\tb\r\nc", "{{ X }} $1 \\1", "x" * VALUE_LIMIT],
            ["\0", "a\x1b[0m", "\x7f", "\x85", "\ud800", "x" * (VALUE_LIMIT + 1)],
        ),
    ],
)
def test_a_value_is_held_against_its_rules(rule, good, bad):
    """Sets of characters, patterns, choices, emptiness, control characters, length."""
    variable = Variable(**{"name": "V", "required": False, **rule})
    assert [value for value in good if value_faults(variable, value)] == []
    assert [value for value in bad if not value_faults(variable, value)] == []


@given(given=st.dictionaries(st.sampled_from(["A", "B", "C", "é{{"]), json_values, max_size=4))
def test_any_values_are_settled_or_refused(given):
    """Every variable has a text then, and those that were given are what was given."""
    variables = [
        Variable(name="A", required=True, pattern="a*|[^a]+"),
        Variable(name="B", required=False, default="b", charset="printable"),
    ]
    try:
        values = settle_values(variables, given)
    except InvalidInput:
        return
    assert values.keys() == {"A", "B"}
    assert all(values[name] == text_of(value) for name, value in given.items())
