"""Slots: filled in one pass, and nothing in a value is read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.templating import reading

words = st.text(alphabet="aA{} \\$1\n}", max_size=12)


def test_slots_have_blanks_or_none_around_their_name():
    """One that is not closed or is empty has no name; a backslash makes it plain."""
    text = "{{A}} {{  B }} {{ }} {{ C\n}} \\{{ D }} {{ x.y }}"
    assert reading.names(text) == ["A", "B", "", "", "x.y"]
    assert reading.tighten_slots(text) == "{{A}} {{B}} {{}} {{ C\n}} \\{{ D }} {{x.y}}"


def test_values_stay_what_they_are():
    """No value is read as a slot, a group or an escape."""
    values = {"A": "{{ B }}", "B": r"$1 \1 \g<0> \{{"}
    assert reading.fill("{{A}}|{{ B }}|\\{{ A }}", values) == r"{{ B }}|$1 \1 \g<0> \{{|{{ A }}"


@given(before=words, value=words, after=words)
def test_what_stands_around_a_slot_stays(before, value, after):
    around = [part.replace("{", "").replace("\\", "") for part in (before, after)]
    assert reading.fill("{{ A }}".join(around), {"A": value}) == value.join(around)
