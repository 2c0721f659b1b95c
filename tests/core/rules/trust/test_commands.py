"""Which commands may be run, and what of a configuration takes a person."""

from __future__ import annotations

import pytest

from counterpoint.core.model.access import Principal
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.rules.trust.commands import is_listed, loosened, may_be_free


def test_only_what_loosens_takes_a_person() -> None:
    """Commands, free ones, no sandbox; each to the letter, with how they are confined and the folders of programs, in any order."""
    assert loosened(Checking(sandbox="require", network=False), "/bin") == ""
    said = [
        Checking(commands=(("make", "test"),)),
        Checking(commands=(("make", "test"),), sandbox="require"),
        Checking(commands=(("make", "test"),), network=False),
        Checking(commands=(("make test",),)),
        Checking(commands=(("make", "test"), ("go",))),
        Checking(free=True),
        Checking(sandbox="off"),
    ]
    found = {loosened(one, path) for one in said for path in ("/bin", "/fake:/bin")}
    assert len(found) == 2 * len(said)
    again = Checking(commands=(("go",), ("make", "test")))
    assert loosened(again, "") == loosened(said[4], "")


@pytest.mark.parametrize(
    ("argv", "runs"),
    [
        (("make", "test"), True),
        (("make", "test", "SHELL=x"), False),
        (("make",), False),
        (("pytest",), True),
        (("pytest", "-q", "tests"), True),
        (("/fake/pytest",), False),
    ],
)
def test_a_command_is_listed_by_its_words(argv: tuple[str, ...], runs: bool) -> None:
    """All of them, or those before a star."""
    said = Checking(commands=(("make", "test"), ("pytest", "*")))
    assert is_listed(said, argv) is runs


def test_a_credential_takes_the_scope_for_free_commands() -> None:
    """Whoever brings none is let by the configuration alone."""
    free, credential = Checking(free=True), Principal(strength="credential", id="tok_1")
    assert may_be_free(free, None, ())
    assert may_be_free(free, Principal(strength="connection", id="cn_1"), ())
    assert not may_be_free(free, credential, ("read", "write"))
    assert may_be_free(free, credential, ("read", "write", "run"))
    assert not may_be_free(Checking(), credential, ("run",))
