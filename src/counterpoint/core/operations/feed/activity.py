"""Reading what happened in a session out of the ledger, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from counterpoint.core.ledger.derived import told
from counterpoint.core.ledger.entry import load_fields, origin_of_fields
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.sessions import HistoryEntry, Session, SessionHistory
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.sessions import history
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput


def history_of(view: Reading, session: Session, at: int | None) -> SessionHistory:
    """Return what happened in a session up to an entry; InvalidInput for one that is not of it."""
    size = view.head().size
    last = size - 1 if at is None else at
    first = _first(view, session.started_at, size)
    if not first <= last < size:
        raise InvalidInput(
            f"the session {session.id} has no entry {at}",
            hint=f"Give a sequence number from {first} to {size - 1}, or leave `at` out.",
        )

    def text(cell: Json) -> str:
        if not isinstance(cell, dict):
            return str(cell)
        found = view.text(cast("dict[str, str]", cell)["$text"])
        return REDACTED if found is None else found

    return history(session.id, _entries(view, session.id, first, last), text)


def _first(view: Reading, time: str, size: int) -> int:
    """Return the place of the first entry that is not before a time; times never run backwards."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if load_fields(next(view.entries(middle, middle + 1)))["t"] < time:
            low = middle + 1
        else:
            high = middle
    return low


def _entries(view: Reading, session: str, first: int, last: int) -> Iterator[HistoryEntry]:
    """Return the entries that speak of a session; the others are not even parsed."""
    mark = session.encode()
    for data in view.entries(first, last + 1):
        if mark in data:
            yield _entry(view, load_fields(data))


def _entry(view: Reading, entry: dict[str, Any]) -> HistoryEntry:
    return HistoryEntry(
        sequence=entry["n"],
        time=entry["t"],
        session=entry["w"].get("s", ""),
        agent=entry["w"]["n"],
        action=entry["a"],
        subject=entry.get("s", ""),
        rows=tuple((row["t"], row["k"], _told_of(view, row, entry)) for row in entry.get("r", ())),
    )


def _told_of(view: Reading, row: dict[str, Any], entry: dict[str, Any]) -> dict[str, Json] | None:
    """Return what a row image tells of a row, with what its entry tells elsewhere."""
    image = row.get("v", row.get("c"))
    noun, origin = view.tables[row["t"]], origin_of_fields(entry)
    return told(noun, row["k"], image, origin, whole="v" in row)
