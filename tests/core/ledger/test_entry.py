"""The bytes of an entry: written in one way, read in that way only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.blocks import load_block
from counterpoint.core.ledger.entry import (
    GENESIS,
    Entry,
    RowImage,
    layout_faults,
    list_references,
    load_fields,
    refer,
)
from counterpoint.core.model.access import Actor, Principal
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, MalformedDocument
from fakes.entries import ENTRIES, FAULTS, NO_REFERENCES, OUTSIDE, SPELLINGS, TEXTS, VALUES, dump


@given(ENTRIES)
def test_every_entry_comes_back_from_its_bytes(entry: Entry) -> None:
    """What was written is read again, and writes the same bytes."""
    again = Entry.from_bytes(entry.to_bytes())
    assert again == entry
    assert again.to_bytes() == entry.to_bytes()


def test_the_bytes_of_an_entry_are_as_specified() -> None:
    """The layout is fixed: these bytes may never change for version 2."""
    written = Entry(
        project="prj_1",
        sequence=7,
        time=Timestamp("2026-11-20T10:00:00.000Z"),
        actor=Actor(kind="human", name="Zoë", principal=Principal(strength="person", id="p-1")),
        action="task.closed",
        subject="cp-1",
        facts={"why": "done"},
        rows=(
            RowImage(table="items", key={"id": "cp-1"}, values={"version": 2}, whole=False),
            RowImage(table="claims", key={"item": "cp-1"}, values=None),
            RowImage(table="projects", key={}, values={"name": "One"}),
        ),
    ).to_bytes()
    assert written.decode() == (
        '{"a":"task.closed","f":{"why":"done"},"h":"' + "0" * 64 + '","n":7,"p":"prj_1","r":['
        '{"c":{"version":2},"k":{"id":"cp-1"},"t":"items"},'
        '{"k":{"item":"cp-1"},"t":"claims","v":null},'
        '{"k":{},"t":"projects","v":{"name":"One"}}],'
        '"s":"cp-1","t":"2026-11-20T10:00:00.000Z","v":2,'
        '"w":{"i":{"i":"p-1","k":"person"},"k":"human","n":"Zoë"}}'
    )
    assert Entry.from_bytes(written).rows[1].values is None


@pytest.mark.parametrize(("key", "wrong"), FAULTS)
def test_bytes_with_a_wrong_field_are_refused(entry: Entry, key: str, wrong: object) -> None:
    """Each field is read strictly, and the refusal names it."""
    value = orjson.loads(entry.to_bytes())
    value[key] = wrong
    with pytest.raises(MalformedDocument, match=rf"\({key}\)"):
        Entry.from_bytes(dump(value))


@pytest.mark.parametrize("wrong", [None, [], "text", {}, {"a": 1}, {"v": 2, "a": 1}])
def test_a_value_that_is_no_entry_is_refused(wrong: object) -> None:
    """Another JSON value, or an object with other keys, has one plain fault."""
    assert len(layout_faults(wrong)) == 1
    with pytest.raises(MalformedDocument):
        load_fields(dump(wrong))


def test_all_faults_of_an_entry_come_together(entry: Entry) -> None:
    """One refusal names everything that is wrong."""
    with pytest.raises(InvalidInput) as caught:
        replace(entry, project="", action="x", previous="").to_bytes()
    assert len(caught.value.facts["faults"]) == 3


@pytest.mark.parametrize("wrong", OUTSIDE)
def test_bytes_outside_of_the_profile_are_refused(entry: Entry, wrong: dict[str, Any]) -> None:
    """Sorted JSON with a float, a large number or a key that is not ASCII is no entry."""
    value = orjson.loads(entry.to_bytes()) | wrong
    with pytest.raises(MalformedDocument):
        load_fields(dump(value))


@given(
    st.recursive(
        VALUES | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    )
)
def test_the_profile_is_that_of_canonical_bytes(entry: Entry, free: Any) -> None:
    """An entry is read if and only if its value could be written canonically."""
    value = orjson.loads(entry.to_bytes()) | {"f": {"free": free}}
    try:
        written = canonical.dump(value)
    except InvalidInput:
        with pytest.raises(MalformedDocument, match=r"profile|53-bit|canonical form"):
            load_fields(dump(value))
    else:
        assert load_fields(written) == value


@pytest.mark.parametrize("spoil", SPELLINGS)
def test_another_spelling_of_an_entry_is_refused(entry: Entry, spoil: Any) -> None:
    """Only one sequence of bytes says the same thing."""
    with pytest.raises(MalformedDocument):
        Entry.from_bytes(spoil(entry.to_bytes()))


def test_an_entry_of_another_format_says_so(entry: Entry) -> None:
    """The version is named before anything else is looked at."""
    old = dump({**orjson.loads(entry.to_bytes()), "v": 1, "s": "", "f": {}, "r": []})
    with pytest.raises(MalformedDocument, match=r"version .* is 1, not 2: a ledger of an older"):
        load_fields(old)


def test_what_is_empty_is_left_out(entry: Entry) -> None:
    """No subject, facts, rows, profile, session or principal: no key."""
    bare = replace(entry, subject="", facts={}, rows=(), actor=Actor(kind="system", name="x"))
    value = orjson.loads(bare.to_bytes())
    assert value.keys() == set("ahnptvw")
    assert value["w"] == {"k": "system", "n": "x"}
    assert Entry.from_bytes(bare.to_bytes()) == bare


def test_what_looks_like_a_fraction_inside_a_text_is_none(entry: Entry) -> None:
    one = replace(entry, facts={"a": "[1.5", "b": '":2.5', "c": ",-3e4"})
    assert Entry.from_bytes(one.to_bytes()) == one


def test_an_entry_with_letters_of_any_language_is_read(entry: Entry) -> None:
    """Texts may hold what keys may not."""
    written = replace(entry, subject="größe", facts={"title": "日本"}).to_bytes()
    assert Entry.from_bytes(written).facts == {"title": "日本"}


def test_a_column_that_changed_cannot_be_a_deletion(entry: Entry) -> None:
    row = RowImage(table="items", key={"id": "1"}, values=None, whole=False)
    with pytest.raises(InvalidInput, match="rows"):
        replace(entry, rows=(row,)).to_bytes()


def test_what_cannot_be_canonical_is_not_written(entry: Entry) -> None:
    """A float in the facts is refused before it is hashed."""
    with pytest.raises(InvalidInput):
        replace(entry, facts={"share": 0.5}).to_bytes()


def test_a_row_with_what_is_no_json_is_not_written(entry: Entry) -> None:
    """The fault names what stands in the way."""
    row = RowImage(table="items", key={"id": "a"}, values={"title": object()})  # type: ignore[dict-item] -- what the test is about
    with pytest.raises(InvalidInput, match="no valid entry"):
        replace(entry, rows=(row,)).to_bytes()


def test_references_to_texts_are_found_wherever_they_stand(entry: Entry) -> None:
    """A reference in facts and rows is listed by its digest."""
    first, second = refer(canonical.text_digest("first")), refer(canonical.text_digest("second"))
    row = RowImage(table="records", key={"id": 1}, values={"body": first})
    written = replace(entry, facts={"all": [second]}, rows=(row,)).to_bytes()
    assert sorted(list_references(written)) == sorted([first["$text"], second["$text"]])


def test_text_that_looks_like_a_reference_is_none(entry: Entry) -> None:
    """An agent that writes the pattern into a text refers to nothing."""
    forged = dump(refer(canonical.text_digest("x"))).decode()
    words: list[Json] = ["$(x)", "$x", '$"', '"$x":', forged, "$:"]
    written = replace(entry, facts={"note": forged, "words": words, "more": "$x"}).to_bytes()
    assert list_references(written) == []
    assert load_block([written]) == [load_fields(written)]
    assert load_fields(written)["f"]["note"] == forged


@pytest.mark.parametrize("wrong", NO_REFERENCES)
@pytest.mark.parametrize("place", ["facts", "columns", "below"])
def test_what_is_no_reference_to_a_text_is_refused(
    entry: Entry, place: str, wrong: dict[str, Any]
) -> None:
    """Digests are 64 digits in lower case; keys that begin with $ have no other meaning, at any depth."""
    row = RowImage(table="records", key={"id": 1}, values={"body": wrong})
    facts = {"one": [{"two": wrong}]} if place == "below" else wrong
    broken = replace(entry, rows=(row,)) if place == "columns" else replace(entry, facts=facts)
    with pytest.raises(InvalidInput, match="begins with"):
        broken.to_bytes()
    image = {"k": {"id": 1}, "t": "records", "v": {"body": wrong}}
    told = {"r": [image]} if place == "columns" else {"f": facts}
    value = orjson.loads(entry.to_bytes()) | told
    with pytest.raises(MalformedDocument, match="begins with"):
        load_fields(dump(value))
    assert load_block([entry.to_bytes(), dump(value)]) is None


def test_the_first_entry_carries_zeros(entry: Entry) -> None:
    assert entry.previous == GENESIS == "0" * 64
