"""Areas: what they cover and where they overlap, held against slow references."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterpoint.core.rules import areas
from counterpoint.core.rules.areas import covers, includes, list_overlaps, outside, overlaps

parts = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "?", "?b", "**", "a?*", "*a*"])
patterns = st.lists(parts, min_size=1, max_size=4).map("/".join)
NAMES = ["".join(letters) for n in (1, 2, 3) for letters in product("ab", repeat=n)]
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5).map("/".join)
UNIVERSE = ["/".join(names) for n in (1, 2, 3, 4) for names in product(["a", "b", "ab"], repeat=n)]


DEEP = ["/".join(names) for n in range(1, 7) for names in product(["a", "b", "ab"], repeat=n)]


def slow(pattern: str) -> re.Pattern[str]:
    """Answer a regular expression that matches `/path` for the paths of an area."""
    text = ""
    for part in pattern.split("/"):
        if part == "**":
            text += "(?:/[^/]+)*"
        else:
            letters = {"*": "[^/]*", "?": "[^/]"}
            text += "/" + "".join(letters.get(letter, re.escape(letter)) for letter in part)
    return re.compile(text + "(?:/[^/]+)*")


@given(pattern=patterns, path=paths)
def test_an_area_covers_what_its_pattern_says(pattern, path):
    """Wildcards in every place, and all that lies below."""
    assert covers(pattern, path) == (slow(pattern).fullmatch(f"/{path}") is not None)


@given(one=patterns, other=patterns)
def test_a_path_in_both_areas_makes_them_overlap(one, other):
    first, second = slow(one), slow(other)
    both = any(first.fullmatch(f"/{p}") and second.fullmatch(f"/{p}") for p in UNIVERSE)
    assert overlaps(one, other) == overlaps(other, one)
    if both:
        assert overlaps(one, other)


small = st.lists(
    st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "?", "**"]), min_size=1, max_size=3
).map("/".join)


@given(one=small, other=small)
@example(one="a/a/a", other="**/b/b")
def test_areas_that_overlap_have_a_path_in_common(one, other):
    """In short patterns of these letters every overlap shows in paths of six parts."""
    first, second = slow(one), slow(other)
    both = any(first.fullmatch(f"/{p}") and second.fullmatch(f"/{p}") for p in DEEP)
    assert overlaps(one, other) == both


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/api", "src/api", True), ("src/api", "src/api/x.py", True),
        ("src/api", "src/apis", False), ("./src/", "src/x", True), ("**", "x", True),
        ("**/test", "a/b/test/c", True), ("src/**/x", "src/x", True), ("src/**", "src", True),
        ("*.py", "a.py", True), ("*.py", "a/b.py", False), (".", "x", True),
        ("src/axb", "src/a*b", False), ("src/a*b", "src/a*b", True), ("a", "**", False),
    ],
)  # fmt: skip
def test_what_areas_cover_by_example(pattern, path, expected):
    """A folder covers what is in it; a star in the name of a file is a letter."""
    assert covers(pattern, path) is expected


def test_overlaps_and_strays_are_listed():
    """Every pair of areas; every path in none of them."""
    assert list_overlaps(["src", "docs"], ["src/api", "**/x"]) == [
        ("src", "src/api"), ("src", "**/x"), ("docs", "**/x"),
    ]  # fmt: skip
    assert outside(["src", "*.md"], ["src/a", "b.md", "c/d.md", "e"]) == ["c/d.md", "e"]


def test_patterns_made_to_be_slow_are_not():
    """Many stars against many letters take steps by the product, not by the power."""
    assert not overlaps("*a" * 60 + "b", "a" * 120)
    assert overlaps("/".join(["**", "a"] * 40), "/".join(["b"] * 60))


@pytest.mark.parametrize(
    ("areas", "pattern", "is_in"),
    [
        (["src"], "src", True),
        (["src"], "src/a/*.py", True),
        (["src"], "srcs", False),
        (["src/a"], "src", False),
        (["**"], "a/b", True),
        (["src/**"], "src", True),
        (["src/*"], "src/*", True),
        (["src/*"], "src/**", False),
        (["*.py"], "a.py", False),
        (["lib", "docs"], "docs/x", True),
        ([], "src", False),
    ],
)
def test_an_area_includes_what_surely_lies_in_it(areas, pattern, is_in):
    """A folder what is below it; one with wildcards only itself."""
    assert includes(areas, pattern) is is_in


@pytest.mark.parametrize(
    ("pattern", "stands_for"),
    [
        ("src/{api,web}", ("src/api", "src/web")),
        ("src/{a,b/{c,d}}/*.{ts,tsx}", ("src/a/*.ts", "src/a/*.tsx", "src/b/c/*.ts", "src/b/c/*.tsx", "src/b/d/*.ts", "src/b/d/*.tsx")),
        ("src/{a,}", ("src/a", "src/")),
        ("src/{a}", ("src/{a}",)),
        ("src/{a,b", ("src/{a,b",)),
        ("src/[id]/(group)", ("src/[id]/(group)",)),
        ("{a,b}" * 7, ("{a,b}" * 7,)),
    ],
)  # fmt: skip
def test_braces_stand_for_several_areas(pattern, stands_for):
    assert areas.expand_braces(pattern) == stands_for


def test_areas_with_braces_overlap_what_they_stand_for():
    """So that two agents are not offered the same files; nothing else is covered."""
    assert areas.overlaps("src/{api,web}", "src/api")
    assert areas.overlaps("src/web/x.py", "src/{api,web}")
    assert not areas.overlaps("src/{api,web}", "src/docs")
    assert areas.covers("src/{api,web}/*.{py,pyi}", "src/web/x.pyi")
    assert not areas.covers("src/{api,web}", "src/apis")
    assert areas.includes(["src/{api,web}"], "src/api")
    assert areas.includes(["src"], "src/{api,web}")
    assert not areas.includes(["src/api"], "src/{api,web}")
    assert areas.area_fault(["src/{a,../../x}"])


@pytest.mark.parametrize("area", ["!src", "src\\api", "src/(a|b)", "{a,b}" * 7])
def test_an_area_that_could_match_nothing_is_named(area):
    """With how it is written."""
    assert repr(area)[:80] in areas.pattern_fault([area])
    assert areas.pattern_fault(["src/[id]", "src/{a,b}", "a{b}", "**/x?.py"]) == ""
