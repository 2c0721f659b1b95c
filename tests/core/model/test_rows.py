"""Rows: nouns become cells and come back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import pytest

from counterpoint.core.model.access import Token
from counterpoint.core.model.catalogue import NOUNS, noun_of_id
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.journal import Receipt, Record, Verdict
from counterpoint.core.model.rows import (
    REDACTED,
    Noun,
    Prose,
    cell_of,
    changes_of,
    columns,
    empty_row,
    image_of,
    load_object,
    noun_of,
    shared_fields,
)
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Criterion, Item
from counterpoint.dialects import nouns
from fakes.texts import Kept, committed, salted

ALL = (*NOUNS, *nouns.NOUNS)
_EMPTY = {"text": "", "int": 0, "list": "[]", "prose": "", "proses": "", "hash": ""}


@pytest.mark.parametrize("noun", ALL, ids=lambda noun: noun.table)
def test_every_noun_comes_back_from_its_cells(noun):
    """Empty and filled, each field of its own type."""
    filled_in = {
        "text": "t",
        "int": 1,
        "list": ("a", "b"),
        "prose": "p",
        "proses": ("q",),
        "hash": "h",
    }
    empty = {"text": "", "int": 0, "list": (), "prose": "", "proses": (), "hash": ""}
    for filled in (False, True):
        values = {c.name: (filled_in if filled else empty)[c.sort] for c in columns(noun)}
        one = noun(**values)
        texts = Kept()
        image = image_of(one, texts.keep)
        if not filled:
            assert image == empty_row(noun)
            assert texts == {}
        prose = {c.name for c in columns(noun) if c.is_prose}
        cells = [
            (texts[value].body if value else "") if name in prose else cell_of(value)
            for name, value in image.items()
        ]
        assert noun_of(noun, cells) == one
        assert not noun.letter or noun_of_id(f"demo-{noun.letter}12", nouns.NOUNS) is noun
        assert noun.key[0] == "project"


def test_a_redacted_text_is_said_to_be_one():
    record = noun_of(Record, ["[]" if c.sort == "list" else None for c in columns(Record)])
    assert record.body == "[redacted]"
    verdict = noun_of(Verdict, ["" if c.sort != "proses" else None for c in columns(Verdict)])
    assert verdict.fixes == ("[redacted]",)


def test_prose_stands_in_a_row_by_its_commitment():
    """A truth value is 0 or 1."""
    texts = Kept()
    criterion = Criterion(project="p", item="i", position=0, text="words", met=True)
    image = image_of(criterion, texts.keep)
    assert image["text"] == committed("words")
    assert image["met"] == 1
    assert texts == {committed("words"): salted("words")}


@pytest.mark.parametrize(
    ("text", "expected"), [('{"a":1}', {"a": 1}), ("", {}), (REDACTED, {}), ("[1]", {})]
)
def test_a_prose_that_is_no_object_is_an_empty_one(text, expected):
    """Nothing, a redacted text, a list."""
    assert load_object(text) == expected


def test_an_id_says_by_its_letter_what_it_names():
    """A letter stands for one noun; what has none is an item, and sessions are told by their form."""
    letters = [noun.letter for noun in ALL if noun.letter]
    assert len(letters) == len(set(letters))
    assert noun_of_id("ses_1") is Session
    for name in ("demo-12", "demo-z1", "demo-r", "r12", "-r1"):
        assert noun_of_id(name) is None


def test_a_field_that_does_not_say_how_it_is_kept_is_refused():
    """A plain text could be anything: whether it is masked would be left to chance."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Loose(Noun):
        table = "loose"
        key = ("project",)
        title: str
        size: Literal[1, 2]

    with pytest.raises(TypeError, match=r"Loose\.title"):
        columns(Loose)


def test_what_is_asked_for_names_columns_of_the_noun():
    """Indexes and what search reads are made of fields that there are."""
    for noun in ALL:
        names = {column.name for column in columns(noun)}
        some = noun.partial.indexes if noun.partial else ()
        for index in (*noun.indexes, *noun.unique, *some):
            assert set(index.split(",")) <= names
        if noun.partial:
            assert noun.partial.column in names
            assert all(word.isalpha() for word in noun.partial.words)
        if noun.searched:
            told = (*noun.searched.title, noun.searched.body, noun.searched.about)
            assert {*told, noun.searched.kind or "project"} <= names


def test_what_is_asked_for_by_the_name_of_a_field_is_what_the_noun_keeps() -> None:
    """A field that a draft or an edit has under the noun's own name needs no line in between."""
    assert shared_fields(Draft, Item) == (
        *("kind", "title", "body", "priority", "assignee", "profile", "status", "lifecycle"),
    )
    plain = {"title", "body", "priority", "assignee", "profile"}
    assert set(shared_fields(Edit, Item)) == plain | {"status", "parent", "position"}


def test_a_change_has_the_form_of_the_image():
    """Lists, truth values and proses of columns that changed stand as in a whole image."""
    before = noun_of(Receipt, [_EMPTY[column.sort] for column in columns(Receipt)])
    after = replace(before, argv=("make", "lint"), timed_out=True, output=Prose("words"))
    texts = Kept()
    changed = changes_of(before, after, texts.keep)
    assert changed == {
        "argv": committed('["make","lint"]'),
        "timed_out": 1,
        "output": committed("words"),
    }
    assert type(changed["timed_out"]) is int
    assert changes_of(after, before, texts.keep) == {"argv": "", "timed_out": 0, "output": ""}
    token = noun_of(Token, [_EMPTY[column.sort] for column in columns(Token)])
    narrowed = replace(token, tools=("brief",))
    assert changes_of(token, narrowed, texts.keep) == {"tools": ["brief"]}
