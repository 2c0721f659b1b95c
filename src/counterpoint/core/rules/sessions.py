"""Decide who may write in a session, and fold its history from ledger entries.

Rule 1: in a session writes whoever has its capability, and the process of an agent that it belongs to; who is
not attested, or shares a credential, writes without a capability only where there is none. A person writes in any; nobody is
asked for a name, which proves nothing. Rule 2: a record that was made in the session is an activity of the record's kind. Rule 3: an entry
that was written in it and made no record is an activity too, an `action`. Rule 4: the row of the session,
and what it handed over, are as the last entry left them. The same entries always give the same history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

from counterpoint.core.model.access import Actor
from counterpoint.core.model.rows import REDACTED, columns, load_object
from counterpoint.core.model.sessions import (
    Activity,
    Handoff,
    HistoryEntry,
    Session,
    SessionHistory,
)
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms

_MINUTE_MS: Final = 60_000
Texts = Callable[[Json], str]
"""(cell of a row image) → its text."""

_PROSE = {column.name: column for column in columns(Handoff) if column.is_prose}


def may_write(session: Session, actor: Actor, capability: str = "") -> bool:
    """Return whether somebody with a capability may write in a session, as long as that is active."""
    if actor.kind != "agent" or (capability and capability == session.capability):
        return True
    # Several may share a credential: what they opened is each one's own until somebody succeeds him.
    is_one = actor.principal is not None and actor.principal.strength != "credential"
    is_proved = is_one or capability == session.capability
    return is_proved and principal_id_of(actor) == session.principal


def is_news(session: Session, now: Timestamp) -> bool:
    """Return whether to note that something is written in a session that others follow: once a minute."""
    return elapsed_ms(session.active_at, now) >= _MINUTE_MS


def history(session: str, entries: Iterable[HistoryEntry], text: Texts) -> SessionHistory:
    """Return what happened in a session. entries: those from its first to any later one."""
    row: dict[str, Json] = {}
    handoff: dict[str, Json] = {}
    activities: list[Activity] = []
    final, sequence = "", -1
    for entry in entries:
        sequence = entry.sequence
        for table, key, values in entry.rows:
            if table == "sessions" and key.get("id") == session and values is not None:
                row |= values
            elif table == "handoffs" and values is not None and values.get("session") == session:
                columns = {name: _plain(name, value, text) for name, value in values.items()}
                if columns["action"] == "end":
                    final = str(columns.get("summary", ""))
                if (
                    columns["action"] != "end"
                    or columns.get("next_steps")
                    or columns.get("context")
                ):
                    handoff = {**columns, "id": key["id"]}
        activities += _activities(session, entry, text)
    return SessionHistory(
        sequence=sequence,
        session_id=session,
        session={name: value for name, value in row.items() if name != "details"},
        details=load_object(text(row.get("details", ""))),
        activities=tuple(activities),
        handoff=handoff,
        final=final,
    )


def _plain(name: str, value: Json, text: Texts) -> Json:
    if name not in _PROSE:
        return value
    plain = text(value)
    is_list = _PROSE[name].sort == "proses" and plain not in {"", REDACTED}
    return canonical.load(plain) if is_list else plain


def _activities(session: str, entry: HistoryEntry, text: Texts) -> Iterator[Activity]:
    count = 0
    for table, key, values in entry.rows:
        if table == "records" and values is not None and values.get("session") == session:
            count += 1
            yield _activity(entry, str(key.get("id", "")), values, text)
    if not count and entry.session == session:
        yield Activity(
            sequence=entry.sequence,
            at=entry.time,
            kind="action",
            message=entry.action,
            subject=entry.subject,
        )


def _activity(
    entry: HistoryEntry, record: str, values: Mapping[str, Json], text: Texts
) -> Activity:
    files = cast("list[Any]", values.get("files", []))
    return Activity(
        sequence=entry.sequence,
        at=entry.time,
        kind=str(values.get("kind", "")),
        message=text(values.get("body", "")) or str(values.get("title", "")),
        subject=str(values.get("item", "")),
        path=str(files[0]) if files else "",
        details=load_object(text(values.get("details", ""))),
        record=record,
    )
