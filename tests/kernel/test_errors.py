"""Errors: a code from the name, a message from the docstring, a hint for the next move."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from counterpoint.kernel.errors import (
    AlreadyClaimed,
    CounterpointError,
    InvalidInput,
    MalformedDocument,
    NotFound,
    StoreBusy,
)


def tree(top: type[CounterpointError] = CounterpointError) -> Iterator[type[CounterpointError]]:
    """Answer every class of the tree."""
    yield top
    for branch in top.__subclasses__():
        yield from tree(branch)


def test_an_error_without_words_speaks_its_docstring() -> None:
    """The class says what is wrong, how to go on, and that there are no facts."""
    fault = NotFound()
    assert fault.message == str(fault) == "There is no such thing in this project."
    assert fault.hint == "Check the id."
    assert fault.facts == {}


def test_an_error_carries_the_words_of_its_caller() -> None:
    """Message, hint and facts of the call come before those of the class."""
    fault = AlreadyClaimed("ada holds cp-1", hint="Wait.", holder="ada")
    assert (str(fault), fault.hint, fault.facts) == ("ada holds cp-1", "Wait.", {"holder": "ada"})


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (CounterpointError, "counterpoint_error", "invalid"),
        (AlreadyClaimed, "already_claimed", "conflict"),
        (StoreBusy, "store_busy", "unavailable"),
        (MalformedDocument, "malformed_document", "invalid"),
    ],
)
def test_the_code_is_the_name_of_the_class(
    error: type[CounterpointError], code: str, kind: str
) -> None:
    """Programs switch on the code, faces on the kind."""
    assert (error().code, error().kind) == (code, kind)


def test_no_two_errors_have_one_code() -> None:
    codes = [error().code for error in tree()]
    assert len(codes) == len(set(codes))


def test_every_error_says_something_and_what_to_do() -> None:
    """Message and hint are never empty, for no class of the tree."""
    assert all(error().message and error().hint for error in tree())


def test_kinds_are_inherited() -> None:
    """A narrower error is of the kind of the wider one."""
    assert all(error.kind == "invalid" for error in tree(InvalidInput))
