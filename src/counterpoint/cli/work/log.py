"""What happened: the entries of the ledger, as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.present import present_entry
from counterpoint.core.ledger.entry import Entry
from counterpoint.kernel.canonical import Json, dump_any

_PAGE: Final = 200
_A_WHILE: Final = 60.0
"""Seconds that one wait for an entry lasts at most."""


@click.command("log")
@click.option("--item", metavar="ID", default="", help="Only what happened to this item.")
@click.option("--action", metavar="NAME", default="", help="Only this action, as task.started.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=30, show_default=True)
@click.option("--follow", "-f", is_flag=True, help="Go on with what happens next, until Ctrl-C.")
@with_context
def log_command(
    context: CommandContext, *, item: str, action: str, limit: int, follow: bool
) -> None:
    """Show what happened, by whom and when."""
    latest = context.core.audit.log(subject=item, action=action, limit=limit)
    entries = latest[::-1]
    if not follow:
        _print_entries(context.out, entries)
        return
    for entry in entries:
        _print_entry(context.out, entry)
    last = entries[-1].sequence if entries else context.core.feed.last()
    for entry in _coming(context, last, item=item, action=action):
        _print_entry(context.out, entry)


def _print_entries(out: Output, entries: list[Entry]) -> None:
    out.rows(
        {"entries": [present_entry(entry) for entry in entries]},
        ("#", "time", "who", "action", "subject", "facts"),
        [
            (str(one.sequence), one.time, _who(one), one.action, one.subject, _facts_of(one))
            for one in entries
        ],
        nothing="Nothing happened yet that fits.",
    )


def _print_entry(out: Output, entry: Entry) -> None:
    if out.json:
        out.answer_line(present_entry(entry))
        return
    words = (str(entry.sequence), entry.time, _who(entry), entry.action, entry.subject)
    out.line("  ".join((*filter(None, words), _facts_of(entry))).rstrip())


def _who(entry: Entry) -> str:
    actor = entry.actor
    name = f"{actor.name} ({actor.profile})" if actor.profile else actor.name
    # Names are shared, and a command that an agent runs bears the person's: what attests it does not.
    return f"{name}, {actor.principal.short}" if actor.principal else name


def _facts_of(entry: Entry) -> str:
    words = (f"{name}={_word(value)}" for name, value in entry.facts.items())
    return one_line(" ".join(words), 120)


def _word(value: Json) -> str:
    if isinstance(value, str):
        return value
    return dump_any(value)


def _coming(context: CommandContext, last: int, *, item: str, action: str) -> Iterator[Entry]:
    """Return entries as they are appended, for ever."""
    while True:
        for entry in context.core.feed.entries(last, _PAGE, _A_WHILE):
            last = entry.sequence
            if item in {"", entry.subject} and action in {"", entry.action}:
                yield entry
