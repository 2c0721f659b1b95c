"""The history of a project: entries of the ledger in words, the latest last."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from counterpoint.cli.output import Output, one_line
from counterpoint.cli.seat import Seat, reads
from counterpoint.core.ledger.entry import Entry
from counterpoint.kernel.canonical import Json, dump_any

Stamp = tuple[tuple[int, int], ...]

_GLANCES: Final = 5
_PAGE: Final = 200
_GLANCE: Final = 0.2
"""Seconds between two looks at whether the database has changed."""


@click.command("log")
@click.option("--item", metavar="ID", default="", help="Only what happened to this item.")
@click.option("--action", metavar="NAME", default="", help="Only this action, as task.started.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=30, show_default=True)
@click.option("--follow", "-f", is_flag=True, help="Go on with what happens next, until Ctrl-C.")
@reads
def log_command(seat: Seat, *, item: str, action: str, limit: int, follow: bool) -> None:
    """Show what happened: when, who, what, to what."""
    latest = seat.core.audit.log(subject=item, action=action, limit=limit)
    entries = latest[::-1]
    if not follow:
        _tell_all(seat.out, entries)
        return
    for entry in entries:
        _tell(seat.out, entry)
    last = entries[-1].sequence if entries else _end(seat) - 1
    for entry in _coming(seat, last, item=item, action=action):
        _tell(seat.out, entry)


def _tell_all(out: Output, entries: list[Entry]) -> None:
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


def _tell(out: Output, entry: Entry) -> None:
    if out.json:
        out.answer_line(shape(entry))
        return
    words = (str(entry.sequence), entry.time, _who(entry), entry.action, entry.subject)
    out.line("  ".join((*filter(None, words), _facts(entry))).rstrip())


def shape(entry: Entry) -> dict[str, Json]:
    """Answer an entry as JSON, without the rows it wrote."""
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


def _end(seat: Seat) -> int:
    return seat.core.overview.state().ledger_size


def _coming(seat: Seat, last: int, *, item: str, action: str) -> Iterator[Entry]:
    """Answer entries as they are appended, for ever."""
    seen = _stamp(seat.app.database)
    while True:
        found = seat.core.audit.log(subject=item, action=action, after=last, limit=_PAGE)
        yield from found
        if found:
            last = found[-1].sequence
        if len(found) < _PAGE:
            seen = _changed(seat.app.database, seen)


def _changed(database: Path, seen: Stamp) -> Stamp:
    """Wait until the database looks different from what was seen, or for a moment at most."""
    for _ in range(_GLANCES):
        now = _stamp(database)
        if now != seen:
            return now
        time.sleep(_GLANCE)
    return seen


def _stamp(database: Path) -> Stamp:
    """Answer what changes with every write: size and time of the database and its log."""
    stamps: list[tuple[int, int]] = []
    for path in (database, database.with_name(f"{database.name}-wal")):
        with suppress(FileNotFoundError):
            found = path.stat()
            stamps.append((found.st_size, found.st_mtime_ns))
    return tuple(stamps)
