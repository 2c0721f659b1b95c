"""Reads runs: one whole, all in pages, and their events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.models.uses import ModelUse
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import (
    TASK_STEPS,
    PauseReason,
    SessionStep,
    SpecSession,
)
from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.nouns.specs import JournalEntry, PhaseLine
from counterpoint.dialects.foundry.rules.autonomy.contexts import current_use
from counterpoint.dialects.foundry.rules.autonomy.deciding import (
    GATE_PAUSES,
    PAUSE_MESSAGES,
    liveness,
)
from counterpoint.dialects.foundry.rules.autonomy.limits import Consultations
from counterpoint.dialects.foundry.rules.entries import entry_of
from counterpoint.dialects.foundry.rules.standing import is_node
from counterpoint.dialects.foundry.verbs.queries import Nodes, get_spec
from counterpoint.dialects.foundry.verbs.sessions.events import events_of
from counterpoint.dialects.foundry.verbs.sessions.finding import get_run
from counterpoint.dialects.foundry.verbs.sessions.lacking import Commands
from counterpoint.dialects.foundry.verbs.sessions.rows import (
    context_in,
    counters_in,
    last_step,
    live_run,
    shown_terms,
    spec_of,
    standing_evidence,
    status_in,
    step_in,
)
from counterpoint.dialects.foundry.verbs.sessions.views import (
    RECENT,
    PausedRun,
    Run,
    RunSelector,
    RunView,
    TaskLine,
)
from counterpoint.dialects.foundry.verbs.specs import phase_lines
from counterpoint.kernel.clock import Timestamp

_AWAITED: Final = "gate_review_required"
"""Why a run pauses until a person has reviewed a gate."""
_FAILING: Final = "error_threshold"
"""Why a run pauses whose steps fail: commands that are refused are what it may be."""
_LOOKED_AT: Final = 50
"""Steps that are looked through for tasks that were completed last."""


class Watching:
    """Verbs that only read runs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def consultations(self) -> Consultations:
        """Count the caller's requests to models; answers from the cache are not counted."""
        caller = self._context.caller
        sessions = tuple(sorted({caller.own_seat, caller.actor.session} - {""}))
        columns = ("status", "input_tokens", "output_tokens")
        with self._context.reading() as view:
            uses = view.cells(ModelUse, columns, session=sessions)
        token_counts = [(sent, received) for status, sent, received in uses if status != "kept"]
        return Consultations(consultations=len(token_counts), tokens=sum(map(sum, token_counts)))

    def status(self, selector: RunSelector) -> RunView:
        """Return the selected run; NotFound, Conflict."""
        with self._context.reading() as view:
            answer = view_of(view, get_run(view, selector), self._now)
        if answer.run.pause_reason != _FAILING:
            return answer
        return replace(answer, lacking=Commands(self._context).lacking(answer.run.spec))

    def get(self, selector: RunSelector) -> Run:
        """Return the selected run as a line of a list; NotFound, Conflict."""
        with self._context.reading() as view:
            return run_of(view, get_run(view, selector), self._now)

    def list(self, spec: str, after: tuple[str, str] | None, limit: int) -> list[Run]:
        """List runs of a spec, or of all, the newest first, after a time and a session; NotFound."""
        with self._context.reading() as view:
            about = {"spec": get_spec(view, spec).id} if spec else {}
            rows = view.select(
                SpecSession,
                order="created_at desc,session desc",
                after=after or (),
                limit=limit,
                **about,
            )
            return [run_of(view, row, self._now) for row in rows]

    def events(
        self, selector: RunSelector, before: int, limit: int
    ) -> tuple[Run, list[JournalEntry]]:
        """Return the events of a run, the newest first, before the event of a number (0: all); NotFound, Conflict."""
        with self._context.reading() as view:
            row = get_run(view, selector)
            run = run_of(view, row, self._now)
            root = view.find(Item, row.spec)
            records = events_of(view, row.session, before, limit)
            nodes = Nodes(view, root) if root else None
            about = [record.item for record in records if record.item and nodes is not None]
            names = nodes.ids(about) if nodes else dict[str, str]()
            return run, [
                entry_of(record, _item_name(names.get(record.item, ""))) for record in records
            ]

    def paused(self) -> list[PausedRun]:
        """Return the runs that are paused, the one that was begun last first."""
        with self._context.reading() as view:
            rows = view.select(
                SpecSession, status="paused", order="created_at desc", limit=_LOOKED_AT
            )
            return [_paused_run(view, row) for row in rows]

    def live(self, spec: str) -> Run | None:
        """Return the run of a spec that runs or is paused; None. NotFound for the spec."""
        with self._context.reading() as view:
            row = live_run(view, get_spec(view, spec).id)
            return run_of(view, row, self._now) if row else None

    @property
    def _now(self) -> Timestamp:
        return self._context.ports.clock.now()


def _paused_run(view: Reading, row: SpecSession) -> PausedRun:
    reason = cast("PauseReason", row.pause_reason)
    is_gate = reason in GATE_PAUSES and bool(row.phase)
    item = view.find(Item, row.phase if is_gate else row.spec)
    return PausedRun(
        spec=spec_of(view, row),
        item=row.phase if is_gate else row.spec,
        title=item.title if item else "",
        why=PAUSE_MESSAGES.get(reason, reason),
        is_gate=is_gate,
    )


def run_of(view: Reading, row: SpecSession, now: Timestamp) -> Run:
    """Return a run as it is listed."""
    root = view.find(Item, row.spec)
    nodes = Nodes(view, root) if root else None
    is_silent = row.status == "running" and _is_silent(view, row, now)
    return Run(
        session=row.session,
        spec=spec_of(view, row),
        status=status_in(row),
        effective="paused" if is_silent else status_in(row),
        pause_reason=row.pause_reason or ("heartbeat_stale" if is_silent else ""),
        failure_reason=row.failure_reason,
        phase=nodes.id(row.phase) if nodes else "",
        tasks_completed=row.tasks_completed,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def view_of(
    view: Reading, row: SpecSession, now: Timestamp, warnings: Sequence[str] = ()
) -> RunView:
    """Return a run with all that is told of it; NotFound if its spec is gone."""
    root = view.find(Item, row.spec)
    nodes = Nodes(view, root or get_spec(view, row.spec))
    run, terms = run_of(view, row, now), shown_terms(row)
    lines = phase_lines(nodes, nodes.tallies().get)
    at = next((line for line in lines if line.id == run.phase), None)
    at = at or next((line for line in lines if line.status != "completed"), None)
    step, use = last_step(view, row.session), current_use(context_in(row), terms.limits)
    awaited = (
        standing_evidence(view, row.session, row.phase) if row.pause_reason == _AWAITED else []
    )
    return RunView(
        run=run,
        title=nodes.root.title,
        posture=row.posture,
        terms=terms,
        counters=counters_in(row),
        version=row.version,
        heartbeat_at=row.heartbeat_at,
        paused_at=row.paused_at,
        last_pause=row.last_pause,
        reason_code=row.reason_code,
        context_pct=use.pct,
        context_source=use.source,
        phase=at,
        last=step_in(step, nodes) if step else None,
        is_out=step is not None and not step.consumed_at,
        attempt=awaited[0].id if awaited else "",
        recent=_recent_tasks(view, nodes, row.session),
        pending=_pending_tasks(view, nodes, at),
        completed_phases=tuple(line.id for line in lines if line.status == "completed"),
        warnings=tuple(warnings),
    )


def _is_silent(view: Reading, row: SpecSession, now: Timestamp) -> bool:
    """Return whether the agent of a run is taken to be gone: no step is out, and the last heartbeat is too old."""
    step = last_step(view, row.session)
    is_out = step is not None and not step.consumed_at
    limits = shown_terms(row).limits
    return not is_out and liveness(row.heartbeat_at, now, limits) == "stale"


def _item_name(name: str) -> str:
    return "" if name == ROOT else name


def _recent_tasks(view: Reading, nodes: Nodes, session: str) -> tuple[TaskLine, ...]:
    """Return the tasks that a run completed last, the latest first."""
    steps = view.select(SessionStep, session=session, order="number desc", limit=_LOOKED_AT)
    done = [step for step in steps if step.type in TASK_STEPS and step.outcome == "success"][
        :RECENT
    ]
    rows = view.select(Item, id=tuple(step.task for step in done)) if done else []
    items = {item.id: item for item in rows}
    return tuple(
        TaskLine(
            id=nodes.id(step.task),
            title=items[step.task].title if step.task in items else "",
            phase=nodes.id(step.phase),
        )
        for step in done
    )


def _pending_tasks(view: Reading, nodes: Nodes, phase: PhaseLine | None) -> tuple[TaskLine, ...]:
    """Return the first tasks of a phase that are not completed."""
    item = nodes.find(phase.id) if phase else None
    if item is None or phase is None:
        return ()
    tasks = view.select(
        Item, parent=item.id, category=UNCLOSED, order="position,number", limit=RECENT
    )
    names = nodes.ids(task.id for task in tasks)
    return tuple(
        TaskLine(id=names[task.id], title=task.title, phase=phase.id)
        for task in tasks
        if is_node(task)
    )
