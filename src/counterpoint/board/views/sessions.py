"""The pages of sessions: their list, and one of them step by step with what it cost and left.

A replay reads the ledger from an entry on, and looks at `SCANNED` entries at most for a page, however many others write beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from counterpoint.board.pages import Answer
from counterpoint.core.ledger.entry import Entry, parse_reference
from counterpoint.core.model.models import ModelUse
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.runs import Run, StreamEvent
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.operations.journal import with_texts
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.holders import absences_of
from counterpoint.core.operations.sessions import find_sequence_at
from counterpoint.core.ports.store import Filter, Query, Reading
from counterpoint.kernel.canonical import dump_any
from counterpoint.kernel.errors import NotFound

SESSIONS: Final = 40
STEPS: Final = 40
SCANNED: Final = 5_000
EVENTS: Final = 50
USES: Final = 200
"""How many answers of models one session's cost is added up from, the latest."""
_RUNS: Final = 5
_ROWS: Final = 8
"""Entries with more rows are plans and lists, of which the facts tell."""
_TEXTS: Final = ("title", "summary", "body", "reason", "text")
_STATES: Final = ("active", "paused", "completed", "handed_off", "failed")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session of a list. connection: `connected`, `gone`, or empty where nothing tells. since: when it went."""

    session: Session
    connection: str
    since: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a session. text: what was written in it. facts: what else it says, in words."""

    entry: Entry
    text: str
    facts: str
    is_by_others: bool


@dataclass(frozen=True, slots=True)
class Replay:
    """Some steps in their order. following: from which entry the next ones are; None at the end. is_cut: `SCANNED` ended the page."""

    steps: tuple[Step, ...]
    following: int | None
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """What models cost in a session. unpriced: how many answers nobody knows the price of."""

    answers: int = 0
    micros: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    is_cut: bool = False


class SessionReads(Verbs):
    """Reads of sessions, each from one look at the store."""

    def list(self, status: str, after: Sequence[str], limit: int) -> list[SessionRow]:
        """Return sessions, the latest first, beyond the time and the id of one."""
        equal: dict[str, Filter] = {"status": status} if status else {}
        with self._context.reading() as view:
            order = "started_at desc,id desc"
            sessions = view.select(Session, order=order, after=after, limit=limit, **equal)
            return self._rows(view, sessions)

    def row(self, session: str) -> SessionRow:
        """Return one session; NotFound."""
        with self._context.reading() as view:
            stored = view.find(Session, session) if session else None
            if stored is None:
                raise NotFound(
                    f"there is no session {session[:60]!r}",
                    hint="The page of sessions lists those that there are: /sessions",
                )
            return self._rows(view, [stored])[0]

    def _rows(self, view: Reading, sessions: Sequence[Session]) -> list[SessionRow]:
        ports = self._context.ports
        ids = tuple(session.id for session in sessions if not session.has_ended)
        seats = [session.seat for session in sessions if not session.has_ended]
        absences = absences_of(view, ports, seats)
        present = {row.seat for row in view.presences(seats)} if seats else set[str]()
        items: dict[str, list[str]] = defaultdict(list)
        for claim in view.select(Claim, session=ids, state="live") if ids else ():
            items[claim.session].append(claim.item)

        def connection(session: Session) -> tuple[str, str]:
            if session.has_ended:
                return "", ""
            if absence := absences.get(session.seat):
                return "gone", absence.since
            is_here = session.seat in present or ports.host.is_here(
                session.seat, ports.grace_seconds
            )
            return ("connected" if is_here else ""), ""

        return [
            SessionRow(session, *connection(session), tuple(items[session.id]))
            for session in sessions
        ]

    def replay(self, session: Session, start: int) -> Replay:
        """Return what was done in a session, and to it, from an entry on."""
        mark = session.id.encode()
        with self._context.reading() as view:
            size = view.head().size
            # The entry that ends a session has the time of its end.
            last = (
                find_sequence_at(view, f"{session.ended_at}~", size) if session.has_ended else size
            )
            start = max(start, find_sequence_at(view, session.started_at, size))
            stop = min(last, start + SCANNED)
            steps: list[Step] = []
            following = stop
            for sequence, data in enumerate(view.entries(start, stop), start):
                # To look for the id is faster than to parse; what only has it by chance is left out below.
                if mark in data and concerns(entry := Entry.from_bytes(data), session.id):
                    steps.append(_step(view, entry, session.id))
                    if len(steps) == STEPS:
                        following = sequence + 1
                        break
        return Replay(
            steps=tuple(steps),
            following=following if following < last else None,
            is_cut=len(steps) < STEPS and following < last,
        )

    def cost(self, session: str) -> Cost:
        """Return what the models that were asked in a session cost."""
        with self._context.reading() as view:
            uses = view.select(ModelUse, session=session, order="number desc", limit=USES)
        return Cost(
            answers=len(uses),
            micros=sum(max(0, use.cost_micros) for use in uses),
            unpriced=sum(use.cost_micros < 0 for use in uses),
            input_tokens=sum(max(0, use.input_tokens) for use in uses),
            output_tokens=sum(max(0, use.output_tokens) for use in uses),
            is_cut=len(uses) == USES,
        )

    def handoffs(self, session: str) -> list[Handoff]:
        """Return what a session left for others, the latest first."""
        with self._context.reading() as view:
            return view.select(Handoff, session=session, order="number desc", limit=10)

    def runs(self, row: SessionRow) -> list[Run]:
        """Return the run that hooks report of a session, and the latest of the items that it is about."""
        items = tuple(dict.fromkeys((row.session.item, *row.items)))
        own, others = (
            Query(Run, {"id": row.session.id}),
            Query(Run, {"item": tuple(filter(None, items))}, "number desc", limit=_RUNS),
        )
        with self._context.reading() as view:
            runs = own.rows(view)
            return runs + (others.rows(view) if others.equal["item"] else [])

    def events(self, run: str, after: int) -> list[StreamEvent]:
        """Return events of a run beyond one, in their order."""
        with self._context.reading() as view:
            beyond = (after,) if after else ()
            return view.select(StreamEvent, run=run, order="number", after=beyond, limit=EVENTS)


def concerns(entry: Entry, session: str) -> bool:
    """Return whether an entry was written in a session, or is about it."""
    if session in {entry.actor.session, entry.subject, *map(str, entry.facts.values())}:
        return True
    return any(
        session in {row.key.get("id"), (row.values or {}).get("session")} for row in entry.rows
    )


def _step(view: Reading, entry: Entry, session: str) -> Step:
    full = with_texts(view, entry)
    texts: list[str] = []
    for row in entry.rows if len(entry.rows) <= _ROWS else ():
        cells = ((row.values or {}).get(name) for name in _TEXTS)
        texts += [
            view.text(reference) or REDACTED
            for cell in cells
            if (reference := parse_reference(cell))
        ]
    facts = (
        f"{name}: {value if isinstance(value, str) else dump_any(value)}"
        for name, value in full.facts.items()
        if value not in texts
    )
    return Step(
        full, "\n".join(dict.fromkeys(texts)), ", ".join(facts), entry.actor.session != session
    )


def read_sessions(answer: Answer) -> dict[str, Any]:
    """Return the list of sessions, or one of them with its replay."""
    reads = answer.core.use(SessionReads)
    if answer.subpath:
        return _read_session(answer, reads)
    status = answer.query.get("status", "")
    status = status if status in _STATES else ""
    after = (answer.query.get("before", ""), answer.query.get("id", ""))
    rows = reads.list(status, after if all(after) else (), SESSIONS + 1)
    last = rows[SESSIONS - 1].session if len(rows) > SESSIONS else None
    return {
        "row": None,
        "rows": rows[:SESSIONS],
        "last": last,
        "state": status,
        "states": _STATES,
        "is_first": not all(after),
    }


def _read_session(answer: Answer, reads: SessionReads) -> dict[str, Any]:
    row = reads.row(answer.subpath)
    runs = reads.runs(row)
    run = next((run for run in runs if run.id == answer.query.get("run", "")), None)
    run = run or next(iter(runs), None)
    after = answer.number("event")
    return {
        "row": row,
        "replay": reads.replay(row.session, answer.number("from")),
        "is_first": not answer.number("from"),
        "cost": reads.cost(row.session.id),
        "handoffs": reads.handoffs(row.session.id),
        "runs": runs,
        "run": run,
        "events": reads.events(run.id, after) if run else [],
    }
