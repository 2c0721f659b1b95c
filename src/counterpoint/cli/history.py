"""The history of a project: entries of the ledger in words, the latest last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from counterpoint.cli.context import CommandContext, reads
from counterpoint.cli.output import Output, one_line
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
@reads
def log_command(
    context: CommandContext, *, item: str, action: str, limit: int, follow: bool
) -> None:
    """Show what happened: when, who, what, to what."""
    latest = context.core.audit.log(subject=item, action=action, limit=limit)
    entries = latest[::-1]
    if not follow:
        _print_all(context.out, entries)
        return
    for entry in entries:
        _print(context.out, entry)
    last = entries[-1].sequence if entries else context.core.feed.last()
    for entry in _coming(context, last, item=item, action=action):
        _print(context.out, entry)


def _print_all(out: Output, entries: list[Entry]) -> None:
    if out.json:
        out.answer({"entries": [shape(entry) for entry in entries]})
    elif not entries:
        out.line("Nothing happened yet that fits.")
    else:
        rows = [
            (
                str(entry.sequence),
                entry.time,
                _who(entry),
                entry.action,
                entry.subject,
                _facts(entry),
            )
            for entry in entries
        ]
        out.table(("#", "time", "who", "action", "subject", "facts"), rows)


def _print(out: Output, entry: Entry) -> None:
    if out.json:
        out.answer_line(shape(entry))
        return
    words = (str(entry.sequence), entry.time, _who(entry), entry.action, entry.subject)
    out.line("  ".join((*filter(None, words), _facts(entry))).rstrip())


def shape(entry: Entry) -> dict[str, Json]:
    """Return an entry as JSON, without the rows it wrote."""
    return {
        "sequence": entry.sequence,
        "time": entry.time,
        "actor": {
            "kind": entry.actor.kind,
            "name": entry.actor.name,
            "profile": entry.actor.profile,
            "session": entry.actor.session,
        },
        "action": entry.action,
        "subject": entry.subject,
        "facts": dict(entry.facts),
        "previous": entry.previous,
    }


def _who(entry: Entry) -> str:
    actor = entry.actor
    return f"{actor.name} ({actor.profile})" if actor.profile else actor.name


def _facts(entry: Entry) -> str:
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
