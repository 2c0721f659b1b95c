"""Commands of gates: words, never a shell."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.symphony.rules.risk import argv_of
from counterpoint.kernel.errors import InvalidInput


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("npx vitest run", ("npx", "vitest", "run")),
        ("pytest -k 'a or b'", ("pytest", "-k", "a or b")),
        ('python -c "import sys; sys.exit(0)"', ("python", "-c", "import sys; sys.exit(0)")),
        ("echo '$HOME'", ("echo", "$HOME")),
        ("a\\ b", ("a b",)),
        ("price \\$5", ("price", "$5")),
        ("a '' b", ("a", "", "b")),
        ("a # b", ("a", "#", "b")),
    ],
)
def test_a_command_is_cut_into_words(command: str, words: tuple[str, ...]) -> None:
    assert argv_of(command) == words


@pytest.mark.parametrize(
    "command",
    [
        "a && b",
        "a|b",
        "a > b",
        "a; b",
        "a &",
        "(a)",
        "a `b`",
        "a\nb",
        "a $b",
        'a "$b"',
        "CI=1 a",
    ],
)
def test_what_needs_a_shell_is_run_by_one(command: str) -> None:
    """Whole, so that a person who trusts it sees what he trusts."""
    assert argv_of(command) == ("sh", "-c", command)


@pytest.mark.parametrize("command", ["", "  ", "\n", "a 'b"])
def test_what_is_no_command_is_refused(command: str) -> None:
    """Nothing, or quotes that do not end."""
    with pytest.raises(InvalidInput):
        argv_of(command)


@given(st.lists(st.text(alphabet="abc -_'\"", min_size=1), min_size=1))
def test_quoted_words_come_back(words: list[str]) -> None:
    assert argv_of(shlex.join(words)) == tuple(words)
