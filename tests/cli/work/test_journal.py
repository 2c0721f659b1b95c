"""People write down what agents should know."""

from __future__ import annotations

import io
import sys

import pytest


def test_a_note_is_kept_with_what_it_is_about(call, ledger):
    """Its kind, its item, its tags."""
    said = call("note", "Oak is dear", "--kind", "finding", "--item", "4", "--tag", "cost")
    assert (said.code, said.out) == (0, "harbour-r3: finding on harbour-4: Oak is dear\n")
    shown = call("show", "harbour-r3", "--json").json["record"]
    assert (shown["agent"], shown["tags"]) == ("ann", ["cost"])


def test_a_blocker_holds_its_item_until_it_is_resolved(call, ledger):
    """`unblock` is the other half."""
    call("add", "Varnish")
    assert "Varnish" in call("next").out
    call("note", "No brush", "--kind", "blocker", "--item", "varnish")
    assert "blocker harbour-r3: No brush" in call("next").out
    assert call("unblock", "varnish").code == 0
    assert "Varnish" in call("next").out
    again = call("unblock", "varnish")
    assert (again.code, again.out) == (1, "harbour-8 has no open blocker.\n")


def test_a_note_is_read_from_the_input(call, ledger, monkeypatch):
    """For what other programs say; under a key it is written once."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("First line\nand more\n"))
    first = call("note", "-", "--idempotency-key", "a", "--json").json
    monkeypatch.setattr(sys, "stdin", io.StringIO("First line\nand more\n"))
    again = call("note", "-", "--idempotency-key", "a", "--json").json
    assert first == again
    assert first["record"]["title"] == "First line"
    assert call("note", "x", "--kind", "nonsense").code == 2


def test_a_note_names_its_item_before_its_text(call, ledger):
    record = call("note", "4", "the colour is wrong", "--json").json["record"]
    assert (record["item"], record["body"]) == ("harbour-4", "the colour is wrong")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("4", "the", "colour"), "counterpoint note 4 'the colour'"),
        (("4", "red", "--item", "3"), "counterpoint note 3 '4 red'"),
    ],
)
def test_a_note_without_quotation_marks_is_refused_with_the_line_to_type(call, ledger, words, line):
    said = call("note", *words)
    assert (said.code, line in said.err) == (2, True)
