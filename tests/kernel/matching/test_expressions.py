"""Expressions answer as those of `re`, and are compiled by the first question."""

from __future__ import annotations

import re

import pytest

from counterpoint.kernel.matching.expressions import expression


def test_an_expression_answers_as_one_of_re():
    """Of text and of bytes, with its flags, and by attributes that stand in no slot too."""
    said, ours = (
        re.compile("(?P<crew>[a-z]+)", re.IGNORECASE),
        expression("(?P<crew>[a-z]+)", re.IGNORECASE),
    )
    for text in ("Anna and Bo", "12"):
        for ask in ("match", "fullmatch", "search"):
            found, wanted = getattr(ours, ask)(text), getattr(said, ask)(text)
            assert (found and found.group()) == (wanted and wanted.group())
        assert ours.sub("x", text) == said.sub("x", text)
        assert ours.split(text) == said.split(text)
        assert [one.span() for one in ours.finditer(text)] == [
            one.span() for one in said.finditer(text)
        ]
    assert (ours.groupindex, ours.flags, ours.pattern) == (
        said.groupindex,
        said.flags,
        said.pattern,
    )
    assert expression(rb"\d+").search(b"no 12")


def test_an_expression_is_compiled_by_the_first_question(monkeypatch):
    """Not where it is named, and once."""
    compiled: list[str] = []
    real = re.compile
    monkeypatch.setattr(
        re, "compile", lambda text, flags=0: compiled.append(text) or real(text, flags)
    )
    ours = expression("a+")
    assert compiled == []
    assert ours.match("aa")
    assert ours.fullmatch("b") is None
    assert compiled == ["a+"]


def test_what_is_no_expression_is_said_with_the_first_question():
    """The error is that of `re`."""
    wrong = expression("(")
    with pytest.raises(re.error):
        wrong.search("x")
