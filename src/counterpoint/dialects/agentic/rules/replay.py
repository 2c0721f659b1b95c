"""What happened in a sitting, folded from the entries of the ledger alone.

Rule 1: a record that was made in the sitting is a line of its log, or an artifact. Rule 2: an entry
that was written in it and made no such record is an action. Rule 3: the row of the session, and what
it handed over, are as the last entry left them. The same entries always give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from counterpoint.core.model.rows import REDACTED, load_object
from counterpoint.core.model.sessions import Handoff
from counterpoint.dialects.agentic.nouns.sessions import Activity, HistoryEntry, Replay
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of

Texts = Callable[[Json], str]
"""(cell of a row image) → its text."""

_PROSE = frozenset({"summary", "next_steps", "blockers", "context", "details"})


def replay(session: str, happenings: Iterable[HistoryEntry], text: Texts) -> Replay:
    """Return what happened in a sitting. happenings: entries from its first to any later one."""
    row: dict[str, Json] = {}
    handoff: dict[str, Json] = {}
    deeds: list[Activity] = []
    final, sequence = "", -1
    for one in happenings:
        sequence = one.sequence
        for table, key, values in one.rows:
            if table == "sessions" and key.get("id") == session and values is not None:
                row |= values
            elif table == "handoffs" and values is not None and values.get("session") == session:
                left = {name: _plain(name, value, text) for name, value in values.items()}
                if left["action"] == "end":
                    final = str(left.get("summary", ""))
                else:
                    handoff = left
        deeds += _deeds(session, one, text)
    given = load_object(text(row.get("details", "")))
    return Replay(
        sequence=sequence,
        session_id=session,
        session={name: value for name, value in row.items() if name != "details"},
        agent_type=str(given.get("agent_type", "")),
        context=object_of(given.get("context")),
        deeds=tuple(deeds),
        handoff=handoff,
        final=final,
    )


def present_handoff(handoff: Handoff) -> dict[str, Json]:
    """Return what a handoff says, as it is kept for the next."""
    context = handoff.context
    return {
        "summary": handoff.summary,
        "next_steps": list(handoff.next_steps),
        "blockers": list(handoff.blockers),
        "context_for_next": object_of(canonical.load(context))
        if context.startswith("{")
        else (context or None),
    }


def _plain(name: str, value: Json, text: Texts) -> Json:
    if name not in _PROSE:
        return value
    plain = text(value)
    is_list = name in {"next_steps", "blockers"} and plain not in {"", REDACTED}
    return canonical.load(plain) if is_list else plain


def _deeds(session: str, one: HistoryEntry, text: Texts) -> Iterator[Activity]:
    made = 0
    for table, _, values in one.rows:
        if table == "records" and values is not None and values.get("session") == session:
            made += 1
            yield _deed(one, values, text)
    if not made and one.session == session:
        yield Activity(
            sequence=one.sequence,
            at=one.time,
            type="action",
            message=one.action,
            subject=one.subject,
        )


def _deed(one: HistoryEntry, values: Mapping[str, Json], text: Texts) -> Activity:
    details = load_object(text(values.get("details", "")))
    kind = str(values.get("kind", ""))
    files = cast("list[Any]", values.get("files", []))
    return Activity(
        sequence=one.sequence,
        at=one.time,
        type=str(details.get("type", "info" if kind == "log" else kind)),
        message=text(values.get("body", "")) or str(values.get("title", "")),
        subject=str(values.get("item", "")),
        path=str(files[0]) if files else "",
        content=details.get("data"),
    )
