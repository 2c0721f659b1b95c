"""The section of a Markdown file that is ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.cli.clients.files import BEGIN, END, set_section
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
