"""Templates: every slot filled, and no value becomes structure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules import outline
from counterpoint.core.rules.templating.filling import fill_markdown, variables
from counterpoint.kernel.errors import InvalidInput

values = st.text(max_size=30).filter(lambda text: len(text.splitlines()) < 2)


def test_variables_are_listed_with_their_defaults():
    """A default given once holds wherever the variable stands."""
    assert variables("{{a}} {{ b =x y}} {{a=1}} {{c=}} {{D}} {{a=2}}") == {
        "a": "1",
        "b": "x y",
        "c": "",
    }


def test_slots_are_filled_with_values_or_defaults():
    """What is inside of a value is never read as a slot."""
    assert fill_markdown("{{a}}-{{b=2}}-{{a}}", {"a": "{{b}}"}) == "{{b}}-2-{{b}}"
    assert fill_markdown("{{c=}}!", {}) == "!"


def test_all_that_is_wrong_is_said_at_once():
    """Unknown names, missing ones, values that are no line or too long."""
    with pytest.raises(InvalidInput) as caught:
        fill_markdown("{{a}} {{b}} {{c}}", {"a": "x\ny", "b": "x" * 501, "z": ""})
    assert caught.value.message.count(";") == 3
    assert caught.value.hint == "The template has: a, b, c."
    with pytest.raises(InvalidInput) as caught:
        fill_markdown("nothing", {"z": ""})
    assert "no variables" in caught.value.hint


@given(value=values)
def test_no_value_adds_structure(value):
    """As a line of its own it stays text; inside of a text too."""
    draft = outline.load(fill_markdown("# T\n{{a}}\n  {{a}}\nsee {{a}}\n", {"a": value}))
    assert draft.children == ()
    assert (draft.needs, draft.checks, draft.labels) == (None, (), ())
