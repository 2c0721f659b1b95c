"""The section of a Markdown file that is ours."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterpoint.cli.clients.files import BEGIN, END, drop_section, set_section
from counterpoint.kernel.errors import MalformedDocument


@given(st.text(max_size=80), st.text(max_size=40))
def test_the_text_of_the_owner_stays_and_a_second_run_is_idle(text, body):
    """Whatever stands before and after."""
    once = set_section(text, body)
    assert once.startswith(text)
    assert set_section(once, body) == once
    assert set_section(f"{once}tail", "other").endswith(f"{END}\ntail")


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_marks_in_disorder_are_refused(text):
    """It cannot be known what is ours."""
    with pytest.raises(MalformedDocument):
        set_section(text, "body")


@given(st.text(max_size=80), st.text(max_size=40))
@example("# Agents\r\n\r\nBe kind.\r\n", "ours\nand more")
@example("no end of the line", "ours")
@example("empty lines\n\n\n", "ours")
@example("a return alone\r", "ours")
def test_what_is_taken_out_leaves_every_byte_of_the_owner(text, body):
    assert drop_section(set_section(text, body)) == text


def test_lines_of_ours_end_as_those_of_the_owner():
    once = set_section("# Agents\r\n", "ours\nand more")
    assert once.count("\n") == once.count("\r\n") == 6
    assert set_section("# Agents\n", "ours").count("\r") == 0
