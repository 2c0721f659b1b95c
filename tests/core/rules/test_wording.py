"""Spoken names of items and the ids they are kept under."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.wording import id_of_name, parse, spoken_name, spoken_of

prefixes = st.from_regex(r"[a-z][a-z0-9]{0,9}(-[a-z][a-z0-9]{0,4})?", fullmatch=True)
numbers = st.integers(1, 10**14)


@given(prefix=prefixes, number=numbers)
def test_a_name_and_an_id_lead_to_each_other(prefix, number):
    """In any case of letters, with blanks around it."""
    name = spoken_name(prefix, number)
    assert parse(name) == parse(f" {name.lower()}\n") == (prefix, number)
    assert id_of_name(name) == f"{prefix}-{number}"
    assert spoken_of(f"{prefix}-{number}") == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SYM-001", "sym-1"), ("sym-1", "sym-1"), ("Sym-042", "sym-42"), ("SYM-1234", "sym-1234"),
        ("A-B-007", "a-b-7"), ("SYM-000", None), ("SYM-", None), ("SYM", None), ("001", None),
        ("-1", None), ("SYM-1a", None), ("SYM-٣", None), ("1SYM-1", None), ("SYM- 1", None),
        ("demo-r3", None), ("", None), ("SYM-" + "9" * 16, None),
    ],
)  # fmt: skip
def test_names_are_read_as_people_write_them(name, expected):
    """What is no name is None."""
    assert id_of_name(name) == expected


def test_names_have_at_least_three_digits():
    """Larger numbers have as many as they need; other ids stay as they are."""
    assert [spoken_name("sym", n) for n in (1, 42, 999, 1000)] == [
        "SYM-001",
        "SYM-042",
        "SYM-999",
        "SYM-1000",
    ]
    assert spoken_of("demo-r3") == "demo-r3"
