"""Runs and the events of their streams.

Rule 1: a stream is taken in by parts, each some hundred events, one entry and one transaction; a stream
that was taken in before goes on behind its last event, so that a growing or interrupted one is whole in
the end. Rule 2: an event never changes. Rule 3: what a run came to is told by the last of its results. Rule 4: what hooks report
of an agent is the run of the session that he writes in, has its id, and is no stream that could be taken in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from counterpoint.core.model.rows import Prose
from counterpoint.core.model.runs import (
    NOT_TOLD,
    REPORTED,
    EventFilter,
    EventPage,
    HookReport,
    Ingested,
    Run,
    RunOrder,
    StreamEvent,
)
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.core.rules.runs import (
    RunEvent,
    Totals,
    event_of_loss,
    event_of_report,
    read,
    totals,
)
from counterpoint.core.rules.sessions import may_write
from counterpoint.kernel.errors import Conflict, InvalidInput

BATCH: Final = 400
"""How many events one entry of the ledger tells of."""
NAME_LIMIT: Final = 200
_FAULTS_TOLD: Final = 20
_SESSIONS: Final = 20
"""How many sessions of one agent are looked at for one that a hook may write in."""


class Runs(Verbs):
    """Verbs for runs."""

    def ingest(self, lines: Iterable[str], order: RunOrder) -> Ingested:
        """Take the stream of a run in, behind what is there of it; lines that are no events are told.

        Raises NotFound for the item, Conflict if the run is that of another, InvalidInput.
        """
        if len(order.run) > NAME_LIMIT or order.run != order.run.strip():
            raise InvalidInput(f"a run's id has up to {NAME_LIMIT} characters, none of them blank")
        stream = read(lines)
        name = order.run or self._context.ports.mint.mint("run")
        result = totals(stream.events)
        count_kept = 0
        while True:
            run, count = self._batch(replace(order, run=name), stream.events, result)
            count_kept += count
            if run.events >= len(stream.events):
                break
        return Ingested(
            run=run,
            kept=count_kept,
            faults=tuple(
                f"line {fault.line}: {fault.problem}" for fault in stream.faults[:_FAULTS_TOLD]
            ),
            fault_count=stream.fault_count,
            is_cut=stream.is_cut,
        )

    def _batch(
        self, order: RunOrder, events: Sequence[RunEvent], result: Totals
    ) -> tuple[Run, int]:
        """Take the next events of a run in; answer the run after them, and how many they were."""
        with recording(self._context, "run.ingested", order.run) as change:
            change.open_session()
            run = self._opened(change, order)
            # Counted by the row, so that what another caller took in meanwhile is not taken in
            # twice.
            part = events[run.events : run.events + BATCH]
            for number, event in enumerate(part, run.events + 1):
                change.put(_event(run, number, event))
            after = replace(run, events=run.events + len(part))
            if after.events >= len(events) > run.events:
                after = _with(after, result)
            if after == run and run.events:
                return run, 0
            after = change.masked(replace(after, updated_at=change.now))
            change.put(after)
            change.add_facts(events=len(part), first=run.events + 1, status=after.status)
            return after, len(part)

    def report(self, reports: Sequence[HookReport], missing: int = 0) -> Run:
        """Take in calls of tools that a hook of the caller reports; answer the run of his session after them.

        missing: how many are known to be lost before them; that stands in front of them.
        """
        secrets = self._context.ports.secrets
        events = [event_of_loss(missing)] if missing else []
        events += [event_of_report(report, secrets) for report in reports]
        context = self._context.in_session(self._writes_in())
        actor = context.caller.actor
        with recording(context, "run.ingested", actor.session) as change:
            order = RunOrder(run=change.open_session(), profile=actor.profile, agent=actor.name)
            run = self._opened(change, order, REPORTED)
            for number, event in enumerate(events, run.events + 1):
                change.put(_event(run, number, event))
            after = replace(run, events=run.events + len(events), updated_at=change.now)
            change.put(after)
            change.add_facts(events=len(reports), first=run.events + 1, status=REPORTED)
            if missing:
                change.add_facts(missing=missing)
            return after

    def _writes_in(self) -> str:
        """Return the session that the caller was last seen to open, by whatever connection; else that of the hook."""
        caller = self._context.caller
        with self._context.reading() as view:
            sessions = view.select(
                Session,
                principal=principal_id_of(caller.actor),
                status="active",
                purpose=("connection", "work"),
                order="started_at desc,id desc",
                limit=_SESSIONS,
            )
        own = (
            session.id
            for session in sessions
            if may_write(session, caller.actor, caller.capability)
        )
        return next(own, caller.actor.session)

    def _opened(self, change: Change, order: RunOrder, status: str = "unfinished") -> Run:
        """Return the run as it is, or as it begins; Conflict if it is another item's, or that of a session."""
        if status != REPORTED and change.find(Session, order.run) is not None:
            raise Conflict(
                f"{order.run} is a session: hooks report what is done in it",
                hint="Give another run id.",
            )
        stored = change.find(Run, order.run)
        if stored is not None:
            if order.item and stored.item and order.item != stored.item:
                raise Conflict(
                    f"the run {order.run} is one of {stored.item}", hint="Give another run id."
                )
            return stored if stored.item or not order.item else replace(stored, item=order.item)
        if order.item and change.find(Item, order.item) is None:
            raise missing(Item, order.item)
        return Run(
            project=self._context.project,
            id=order.run,
            number=change.next_number(Run),
            item=order.item,
            profile=order.profile,
            agent=order.agent,
            status=status,
            error=Prose(""),
            cost_micros=NOT_TOLD,
            duration_ms=NOT_TOLD,
            turns=NOT_TOLD,
            input_tokens=NOT_TOLD,
            cached_tokens=NOT_TOLD,
            output_tokens=NOT_TOLD,
            events=0,
            created_at=change.now,
            updated_at=change.now,
        )

    def get(self, run: str) -> Run:
        """Return a run; NotFound."""
        with self._context.reading() as view:
            stored = view.find(Run, run)
        if stored is None:
            raise missing(Run, run)
        return stored

    def recent(self, item: str, limit: int = 3) -> list[Run]:
        """Return the last runs of an item, the latest first."""
        with self._context.reading() as view:
            return view.select(Run, item=item, order="number desc", limit=limit)

    def events(self, filters: EventFilter, limit: int, offset: int = 0) -> EventPage:
        """Return events in their order, runs in theirs; InvalidInput unless a run or an item is named."""
        if not (filters.run or filters.item):
            raise InvalidInput(
                "neither a run nor an issue is named", hint="Pass run_id or issue_id (or both)."
            )
        only: dict[str, Filter] = {
            name: value for name in ("type", "subtype") if (value := getattr(filters, name))
        }
        events: list[StreamEvent] = []
        total = 0
        with self._context.reading() as view:
            for run in self._runs(view, filters):
                count = _count(view, run, only)
                start = max(0, offset - total)
                total += count
                if start < count and len(events) < limit:
                    events += _some(view, run, only, start, limit - len(events))
        return EventPage(events=tuple(events), total=total)

    def _runs(self, view: Reading, filters: EventFilter) -> list[Run]:
        """Return the runs that are meant; NotFound."""
        if not filters.run:
            if view.find(Item, filters.item) is None:
                raise missing(Item, filters.item)
            return view.select(Run, item=filters.item, order="number")
        run = view.find(Run, filters.run)
        if run is None or (filters.item and run.item != filters.item):
            raise missing(Run, filters.run)
        return [run]


def _count(view: Reading, run: Run, only: dict[str, Filter]) -> int:
    if not only:
        return run.events
    return sum(view.counts(StreamEvent, "type", run=run.id, **only).values())


def _some(
    view: Reading, run: Run, only: dict[str, Filter], start: int, limit: int
) -> list[StreamEvent]:
    """Return events of a run from a place on; without filters the place is the number."""
    beyond = () if only else (start,)
    skipped = start if only else 0
    rows = view.select(
        StreamEvent,
        order="number",
        after=beyond,
        limit=skipped + limit,
        **{"run": run.id, **only},
    )
    return rows[skipped:]


def _event(run: Run, number: int, event: RunEvent) -> StreamEvent:
    return StreamEvent(
        project=run.project,
        run=run.id,
        number=number,
        item=run.item,
        type=event.type,
        subtype=event.subtype,
        payload=Prose(event.payload),
        is_cut=event.is_cut,
        time=event.time,
        line=event.line,
    )


def _with(run: Run, result: Totals) -> Run:
    """Return a run with what its stream says it came to."""

    def present(value: int | None) -> int:
        return NOT_TOLD if value is None else value

    return replace(
        run,
        status=result.status,
        error=Prose(result.error),
        cost_micros=present(result.cost_micros),
        duration_ms=present(result.duration_ms),
        turns=present(result.turns),
        input_tokens=present(result.input_tokens),
        cached_tokens=present(result.cached_tokens),
        output_tokens=present(result.output_tokens),
    )
