"""The tree of errors: drawn as it is, and each leaf with words for the caller."""

from __future__ import annotations

import re
import typing

import pytest

from counterpoint.kernel import errors
from counterpoint.kernel.errors import CounterpointError

KINDS = frozenset(typing.get_args(errors.Kind))


def below(parent: type[CounterpointError]) -> list[type[CounterpointError]]:
    """Answer a class of errors of this file and all that come from it."""
    children = [child for child in parent.__subclasses__() if child.__module__ == errors.__name__]
    return [parent, *(found for child in children for found in below(child))]


ALL = below(CounterpointError)


def drawn() -> str:
    """Answer the tree as its file draws it, without the rules below it."""
    return (errors.__doc__ or "").partition("\n\n")[2].partition("\n\n")[0]


def test_the_drawn_tree_names_exactly_the_errors_that_exist() -> None:
    """Nothing is missing in the picture and nothing in it is gone."""
    names = set(re.findall(r"\b(?:[A-Z][a-z]+)+\b", drawn()))
    assert names == {error.__name__ for error in ALL}


def test_each_branch_of_the_tree_is_drawn_with_its_kind() -> None:
    """The word beside a branch is the kind that faces will see."""
    pairs = dict(re.findall(r"^[├└]── (\w+)\s+(\w+)", drawn(), re.MULTILINE))
    branches = {error for error in ALL if error.__base__ is CounterpointError}
    assert pairs == {error.__name__: error.kind for error in branches}
    assert set(pairs.values()) == KINDS


@pytest.mark.parametrize("error", ALL, ids=lambda error: error.__name__)
def test_each_error_has_a_kind_a_message_and_a_next_move(error: type[CounterpointError]) -> None:
    """What is raised without words still says what is wrong and what to do."""
    raised = error()
    assert raised.kind in KINDS
    assert raised.message.endswith(".")
    assert raised.hint.endswith(".")
    assert raised.code == re.sub(r"(?<!^)(?=[A-Z])", "_", error.__name__).lower()


def test_an_error_keeps_the_kind_of_its_branch() -> None:
    """Faces map kinds, so a leaf may not leave the kind of its parent."""
    strays = {
        error.__name__
        for error in ALL
        for parent in error.__mro__[1:]
        if parent in ALL[1:] and error.kind != parent.kind
    }
    assert strays == set()
