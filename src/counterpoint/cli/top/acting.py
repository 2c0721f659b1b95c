"""Runs what a person decides in the live view as the command of that name.

Rule: nothing is decided here. The words of a command go to the command line itself, which asks, signs, refuses
and records as it does for whoever types them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import click

from counterpoint.cli.output import output_for, visible


class Act(NamedTuple):
    """A command that takes an id and a reason. asks: what the person is asked; needs: whether a reason must be given."""

    asks: str
    needs: bool


ACTS: Final[Mapping[str, Act]] = {
    "approve": Act("Why? It is kept; empty: approved", needs=False),
    "reject": Act("Why is it sent back? Its worker is told, and it is kept", needs=True),
    "release": Act("Why? It is kept; its holder is told by whom it was freed", needs=False),
    "unblock": Act("What resolved it? It is kept", needs=False),
}
"""What can be decided, by the names of the commands."""

RunCommand = Callable[[Sequence[str]], int]
"""Runs one command in a terminal; answers its exit code."""


def words_of(name: str, id_: str, reason: str, where: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command as they are typed. where: the options that name the ledger."""
    # Joined by `=`, and behind `--`: what was typed or comes from an agent is never an option.
    options = (f"--reason={reason}",) if reason else ()
    return (name, *options, *where, "--", id_)


def run_in_terminal(words: Sequence[str]) -> int:
    """Run a command where the view was, and leave what it said until the person has read it."""
    from counterpoint.cli.main import run

    out = output_for()
    out.line(f"$ counterpoint {' '.join(map(visible, words))}", style="bold")
    code = run(words)
    out.line()
    # A whole line, not one key: what is typed before the terminal listens to single keys would be thrown away.
    with suppress(click.Abort):
        click.prompt(
            "Press Enter to go back to the view", default="", show_default=False, prompt_suffix=""
        )
    return code
