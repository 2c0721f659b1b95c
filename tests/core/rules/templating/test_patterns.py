"""Patterns: what `re` matches whole, in a time that no pattern can stretch."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.templating import reading
from counterpoint.kernel.errors import InvalidInput

letters = st.sampled_from(["a", "b", "-", "1", "\\d", "\\.", ".", "\\W", "\\n", "é"])
sets = st.sampled_from(
    ["[ab]", "[^a]", "[a-c1-3]", "[]a]", "[a-]", "[\\d-]", "[\\]x]", "[a\\-c&]", "[.*]"]
)
repeats = st.sampled_from(["", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "{0}"])


def _grown(part):
    row = st.lists(st.tuples(part, repeats).map("".join), max_size=3).map("".join)
    choice = st.lists(row, min_size=1, max_size=3).map("|".join)
    return st.one_of(choice.map("({})".format), choice.map("(?:{})".format))


pattern_texts = st.recursive(st.one_of(letters, sets), _grown, max_leaves=8)


@given(pattern=pattern_texts, text=st.text(alphabet="ab-1.&]cé\n*", max_size=6))
def test_a_pattern_matches_what_the_usual_engine_matches_whole(pattern, text):
    """The same answer as `re.fullmatch` of ASCII classes, for what both understand."""
    expected = re.fullmatch(pattern, text, re.ASCII) is not None
    assert reading.compile_pattern(pattern).matches(text) == expected


@pytest.mark.parametrize(
    ("pattern", "matched", "refused"),
    [
        ("^[a-z]+(-[a-z0-9]+)*$", ["a", "a-b-1"], ["", "a-", "-a", "A"]),
        ("a|^b$|", ["a", "b", ""], ["ab"]),
        ("a^b", [], ["ab"]),
        ("a$b", [], ["ab", "a"]),
        ("(^a|b$)+", ["a", "b", "ab"], ["ba", "aa"]),
        (r"\t\r\n", ["\t\r\n"], ["trn"]),
    ],
)
def test_the_usual_notation_is_understood(pattern, matched, refused):
    """Anchors, choices and repeats of groups."""
    read = reading.compile_pattern(pattern)
    assert [text for text in matched if not read.matches(text)] == []
    assert [text for text in refused if read.matches(text)] == []


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", ".*.*.*.*.*b", "(.*a){20}", "(a?){30}a{30}b"]
)
def test_no_pattern_takes_long(pattern):
    """Those that make a backtracking engine run for years are done at once."""
    read = reading.compile_pattern(pattern)
    began = time.perf_counter()
    assert not read.matches("a" * (reading.TEXT_LIMIT - 1) + "!")
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "a)", "(a", "*a", "a**", "a++", "{2}", "[", "[a", "[]", "[b-a]", "[a-\\d]"),
        *("[a\\", "\\", "\\1", "(?=a)", "(?<!a)b", "a{3,2}", "a" * 501, "\ud800"),
        *("a{1001}", "(a{400}){3}", "\\p{L}{20}", "(.{999})(.{999})"),
    ],
)
def test_what_is_not_understood_is_refused(pattern):
    """With words that say what is wrong; nothing is guessed."""
    with pytest.raises(InvalidInput) as caught:
        reading.compile_pattern(pattern)
    assert "pattern" in caught.value.message


def test_half_a_character_is_a_letter():
    """What is wrong with it is said where values are checked, not here."""
    assert reading.compile_pattern(".").matches("\ud800")
    assert not reading.compile_pattern("a").matches("\ud800")


@given(st.text(max_size=20))
def test_any_text_is_a_pattern_or_refused(text):
    with suppress(InvalidInput):
        reading.compile_pattern(text).matches(text)
