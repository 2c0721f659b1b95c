"""What an entry leaves out of its rows comes back, whatever the rows hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.derived import (
    Origin,
    compact,
    compact_change,
    expand,
    expand_change,
    fill_columns,
    rules,
)
from counterpoint.core.model.catalogue import NOUNS
from counterpoint.core.model.journal import Record, StateEntry
from counterpoint.core.model.rows import Noun, columns, empty_row
from counterpoint.core.model.work import Item

NOW = Origin("2026-11-20T10:00:00.000Z", "ada", "ses_1")
WORDS = st.sampled_from(["", "x", "demo-12", "ada", "ses_1", NOW.time, "2026-11-20T10:00:00.001Z"])
ORIGINS = st.just(NOW) | st.just(NOW._replace(session=""))
CELLS = {
    "text": WORDS,
    "int": st.integers(0, 13),
    "list": st.lists(WORDS, max_size=2),
    "prose": WORDS,
    "proses": WORDS,
    "hash": WORDS,
}


def row_of(noun: type[Noun], draw: Any) -> dict[str, Any]:
    """Answer a row of a noun, any value in any column."""
    return {one.name: draw(CELLS[one.sort]) for one in columns(noun) if one.name != "project"}


@given(st.data(), st.sampled_from(NOUNS), ORIGINS)
def test_a_whole_row_comes_back(data: st.DataObject, noun: type[Noun], origin: Origin) -> None:
    """Every column of every noun, whether a rule gives its value or not."""
    row = row_of(noun, data.draw)
    key = {name: row[name] for name in noun.key[1:]}
    image = compact(noun, key, {"project": "demo", **row}, origin)
    assert expand(noun, key, image, origin) == row
    assert image.keys().isdisjoint({*key, "project"})
    shown = fill_columns(noun, key, image, origin, whole=True)
    assert shown == {name: value for name, value in row.items() if value and name not in key}


@given(st.data(), st.sampled_from(NOUNS), ORIGINS)
def test_a_change_comes_back(data: st.DataObject, noun: type[Noun], origin: Origin) -> None:
    """From what the row was and the columns that are another now."""
    before, after = row_of(noun, data.draw), row_of(noun, data.draw)
    changed = {
        name: value
        for name, value in after.items()
        if value != before[name] and name not in noun.key
    }
    image = compact_change(noun, before, changed, origin)
    assert expand_change(noun, before, image, origin) == changed
    shown = fill_columns(noun, {}, image, origin, whole=False)
    assert shown is not None
    assert all(shown[name] == after[name] for name in shown)


def test_what_every_verb_writes_is_left_out() -> None:
    """A new item: only what nobody could know is written."""
    row = empty_row(Item) | {
        "project": "demo", "id": "demo-12", "number": 12, "title": "Oak", "root": "demo-1", "version": 1,
        "parent": "demo-1", "category": "open", "created_at": NOW.time, "updated_at": NOW.time,
    }  # fmt: skip
    image = compact(Item, {"id": "demo-12"}, row, NOW)
    assert image == {"title": "Oak", "parent": "demo-1", "category": "open"}


def test_an_empty_value_that_a_rule_would_fill_is_written() -> None:
    """A record of no session, made in one."""
    row = empty_row(Record) | {"id": "demo-r7", "agent": "ada", "created_at": NOW.time}
    image = compact(Record, {"id": "demo-r7"}, row, NOW)
    assert image == {"number": 0, "session": ""}


def test_a_change_that_does_not_raise_the_version_says_so() -> None:
    """And one that leaves the time alone."""
    before = {"version": 3, "updated_at": "2026"}
    assert compact_change(StateEntry, before, {"agent": "eve"}, NOW) == {
        "agent": "eve",
        "version": 3,
        "updated_at": "2026",
    }
    assert compact_change(StateEntry, before, {"version": 4, "updated_at": NOW.time}, NOW) == {}


def test_a_deletion_tells_nothing() -> None:
    assert fill_columns(Item, {"id": "demo-1"}, None, NOW, whole=True) is None


@pytest.mark.parametrize(
    ("key", "number"), [("demo-12", 12), ("demo-r7", 7), ("x", 0), ("9" * 20, 999999999999999)]
)
def test_a_number_is_that_of_the_id(key: str, number: int) -> None:
    """The digits at its end, of which there may be none."""
    assert expand(Record, {"id": key}, {}, NOW)["number"] == number


def test_only_what_a_type_says_has_a_rule() -> None:
    """The rules of an item, and of a change of it; a key has none."""
    assert dict(rules(Item, whole=True)) == {
        "number": "number",
        "root": "root",
        "version": "version",
        "created_at": "time",
        "updated_at": "touched",
    }
    assert dict(rules(Item, whole=False)) == {"version": "version", "updated_at": "touched"}
    assert all(name not in noun.key for noun in NOUNS for name, _ in rules(noun, whole=True))
