"""Quality gates of learnings, and when two of them say the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.symphony.rules.quality import (
    LEARNING_KINDS,
    check,
    find_twin,
    folded,
    is_twin,
    likeness,
)
from counterpoint.kernel.errors import InvalidInput

texts = st.text(max_size=60)
WORDS = ["alpha", "bravo", "carrot", "delta", "eagle", "falcon", "garden", "harbour", "lamp"]
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12, unique=True).map(" ".join)


@given(
    pattern=st.integers(0, 70), context=st.none() | st.integers(0, 130), blanks=st.integers(0, 60)
)
def test_the_gates_count_trimmed_characters(pattern, context, blanks):
    """50 for the pattern, 100 for a context that is given; blanks around do not count."""
    around = " " * blanks
    said = None if context is None else around + "c" * context + around
    if pattern >= 50 and (context is None or context >= 100):
        check(around + "p" * pattern + around, said)
        return
    with pytest.raises(InvalidInput) as refusal:
        check(around + "p" * pattern + around, said)
    assert (f"the pattern has {pattern} " in refusal.value.message) is (pattern < 50)
    short = context is not None and context < 100
    assert (f"the context has {context} " in refusal.value.message) is short


def test_only_the_three_kinds_are_known():
    """All faults come together."""
    for kind in (*LEARNING_KINDS, None):
        check("p" * 50, kind=kind)
    with pytest.raises(InvalidInput) as refusal:
        check("", "", "rumour")
    assert refusal.value.message.count(";") == 2
    assert "'rumour' is not one of convention, gotcha, pattern" in refusal.value.message


@given(text=texts, other=texts)
def test_likeness_is_a_share_and_works_both_ways(text, other):
    """From 0 to 1, in full for the same text."""
    assert 0 <= likeness(text, other) == likeness(other, text) <= 1
    assert likeness(text, text) == 1
    assert is_twin(text, text)


@given(text=sentences, marks=st.lists(st.sampled_from([".", ", ", "  ", "\n", "—", "_", "!"])))
def test_case_punctuation_and_blanks_make_no_difference(text, marks):
    """Nor does full width."""
    spoiled = text.upper()
    for place, mark in enumerate(marks):
        spoiled = spoiled.replace(" ", mark + " ", 1) if place % 2 else mark + spoiled + mark
    wide = "".join(chr(ord(c) + 0xFEE0) if "a" <= c <= "z" else c for c in text)
    assert folded(spoiled) == folded(wide) == text
    assert is_twin(spoiled, text)
    assert is_twin(wide, text)


TEN = "nuxt imports files of the utils folder by itself always"


@pytest.mark.parametrize(
    ("later", "earlier", "expected"),
    [
        (TEN, TEN + ".", True),
        (TEN, "always " + TEN.removesuffix(" always"), True),
        (TEN, TEN + " so do not import them again anywhere", False),
        (TEN, TEN + " so leave explicit imports of these away", True),
        (TEN + " so leave explicit imports of these away", TEN, False),
        (TEN.replace("utils", "pages"), TEN, False),
        (TEN + " and every time it is built", TEN + " and every time it is made", True),
        (TEN + " and every time it is built", TEN + " and never when it is built", False),
        ("port 8080 " + TEN + " a b c d e", "port 8081 " + TEN + " a b c d e", False),
        ("lamp kettle", "lamp kettle island", False),
        ("", "", True), ("!!", "??", False), ("!!", " !! ", True), ("!!", "words", False),
    ],
)  # fmt: skip
def test_what_is_said_again_and_what_is_not(later, earlier, expected):
    """One changed word of ten is another subject; so are another number and a negation."""
    assert is_twin(later, earlier) is expected


def test_the_first_twin_is_named():
    """Or nothing is."""
    known = [("l1", "lamps are yellow"), ("l2", TEN), ("l3", TEN)]
    assert find_twin(TEN.upper(), known) == "l2"
    assert find_twin("something else", known) is None
