"""Watches and commands runs.

Pauses, resumes and ends unattended runs.
Each command is one entry of the ledger, about the spec, with its run among the facts; and one of the journal. What a person reviewed of
a gate is a verdict of the core besides, under all rules of verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.models import ModelUse
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.links import padded
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.reviews import Reviews
from counterpoint.core.operations.trust.permitted import Permitted
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.dialects.foundry.journal.rules import entry_of
from counterpoint.dialects.foundry.models.runs import (
    TASK_STEPS,
    Command,
    ContextUse,
    GateEvidence,
    PauseReason,
    SessionStep,
    SpecSession,
)
from counterpoint.dialects.foundry.models.specs import ROOT, JournalEntry, PhaseLine
from counterpoint.dialects.foundry.nodes.queries import Nodes, chunks, get_spec
from counterpoint.dialects.foundry.nodes.rules.progress import is_node
from counterpoint.dialects.foundry.runs import rows
from counterpoint.dialects.foundry.runs.files import AutonomyFiles
from counterpoint.dialects.foundry.runs.rows import (
    RECENT,
    SESSION_TYPE,
    Ending,
    PausedRun,
    Resumption,
    Run,
    RunSelector,
    RunView,
    TaskLine,
    command_in,
    context_in,
    counters_in,
    events_of,
    gate_of,
    get_run,
    keep,
    last_step,
    live_run,
    mark_answered,
    note_event,
    ref_of,
    shape_of,
    shown_terms,
    spec_of,
    standing_evidence,
    status_in,
    step_in,
    with_context,
    with_counters,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    count_resumption,
    current_use,
    refuse_command,
    refuse_second,
    refuse_unacknowledged,
    refuse_unreasoned,
    report_use,
)
from counterpoint.dialects.foundry.runs.rules.deciding import GATE_PAUSES, PAUSE_MESSAGES, liveness
from counterpoint.dialects.foundry.runs.rules.limits import Consultations
from counterpoint.dialects.foundry.specs.operations import phase_lines
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import NotFound, StaleVersion


class Commands(Verbs):
    """Verbs for the commands that the verifications of a spec run."""

    def lacking(self, spec: str) -> Lacking:
        """Return which commands of unfinished verifications and closed checks may not be run here, and why; NotFound."""
        with self._context.reading() as view:
            root = get_spec(view, spec)
            shape = shape_of(view, root)
            items = [root, *shape.phases, *(item for some in shape.tasks.values() for item in some)]
            unfinished = [item.id for item in items if not item.is_closed]
            lines = [
                command_in(view, id_) for id_ in unfinished if shape.types.get(id_) == "verify"
            ]
            gates = [
                gate.argv
                for some in chunks(unfinished)
                for gate in view.select(
                    Gate, item=padded(some), kind="check", status="closed", order="item,name"
                )
            ]
        orders = [command_of(line) for line in lines if line]
        commands = [argv for argv, fault in orders if not fault]
        return Permitted(self._context).lacking([*commands, *gates])


_AWAITED: Final = "gate_review_required"
"""Why a run pauses until a person has reviewed a gate."""
_FAILING: Final = "error_threshold"
"""Why a run pauses whose steps fail: commands that are refused are what it may be."""
_LOOKED_AT: Final = 50
"""Steps that are looked through for tasks that were completed last."""


class Watching(Verbs):
    """Verbs that only read runs."""

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


GATE_REASONS = frozenset({"gate_failed", "fidelity_cycle_limit"})
"""Why a run pauses over a gate that is tried again when somebody resumes it."""
REPLACED = "operator_override"
"""The reason of a run that ended because another one was begun in its place."""


class Commanding(Verbs):
    """Commands that change the status of a run."""

    def pause(self, selector: RunSelector) -> RunView:
        """Pause a run before its next step; NotFound, Conflict."""
        with transaction(self._context):
            with recording(self._context, "run.paused") as change:
                row = open_run(change, selector)
                goal = refuse_command("pause", ref_of(row, spec_of(change.writing, row)))
                after = replace(row, status=goal, paused_at=change.now)
                after = replace(after, pause_reason="user", last_pause="user")
                rows.hand_over(change, row.session)
                text = "Somebody asked this run to stop."
                store_command(change, after, "pause", "Session paused", text, pause_reason="user")
            self._clear_stop(row)
            return self._view(row.session)

    def resume(self, selector: RunSelector, how: Resumption) -> RunView:
        """Resume a run.

        Raises NotFound, Conflict, GateClosed and InvalidInput where a person has to review a gate first, Forbidden to whoever worked
        on the phase that the caller says was reviewed.
        """
        with self._context.reading() as view:
            waiting = self._refuse_resumption(view, get_run(view, selector), how)
        with transaction(self._context):
            if waiting is not None:
                judgment = Judgment(
                    approves=True, reason=f"reviewed attempt {waiting.id} at the gate"
                )
                Reviews(self._context).review(waiting.phase, judgment)
            with recording(self._context, "run.resumed") as change:
                row = open_run(change, selector)
                # Another call may have ended it meanwhile, or paused it again over another gate.
                if self._refuse_resumption(change.writing, row, how) is not None:
                    raise StaleVersion(f"run {row.session} was changed meanwhile")
                store_command(
                    change,
                    _resume_row(change, row, how),
                    "resume",
                    "Session resumed",
                    _describe_stop(row),
                )
            return self._view(row.session)

    def end(self, selector: RunSelector, why: Ending) -> RunView:
        """End a run, for a reason; NotFound, Conflict, InvalidInput."""
        return self._end("end", selector, why)

    def reset(self, selector: RunSelector, why: Ending) -> RunView:
        """End a run that has failed, named by its session, for a reason; NotFound, Conflict, InvalidInput."""
        return self._end("reset", selector, why)

    def _end(self, command: Command, selector: RunSelector, why: Ending) -> RunView:
        is_named = command != "reset" or bool(selector.session)
        refuse_unreasoned(why.code, why.detail, session_named=is_named)
        with transaction(self._context):
            action = "run.reset" if command == "reset" else "run.ended"
            with recording(self._context, action) as change:
                row = open_run(change, selector)
                end_run(change, row, command, why)
            self._clear_stop(row)
            return self._view(row.session)

    def _refuse_resumption(
        self, view: Reading, row: SpecSession, how: Resumption
    ) -> GateEvidence | None:
        """Raise unless a run may be resumed; return the evidence that the caller says was reviewed, if its gate is still closed."""
        is_awaited = row.pause_reason == _REVIEW
        evidence = standing_evidence(view, row.session, row.phase)[:1] if is_awaited else []
        gate = gate_of(view, evidence[0].phase) if evidence else None
        waits = gate is not None and gate.status == "closed"
        ref = ref_of(row, spec_of(view, row), evidence[0].id if evidence else "")
        is_same = row.status != "failed" or not how.force or _has_same_structure(view, row)
        refuse_command("resume", ref, force=how.force, same_structure=is_same)
        refuse_beside(view, row)
        if not waits:
            return None
        root = view.find(Item, row.spec)
        phase = Nodes(view, root).id(evidence[0].phase) if root else ""
        refuse_unacknowledged(
            replace(ref, phase=phase), how.attempt, is_acknowledged=how.is_acknowledged
        )
        return evidence[0]

    def _clear_stop(self, row: SpecSession) -> None:
        """Remove a stop request that was obeyed."""
        with self._context.reading() as view:
            spec = spec_of(view, row)
        self._context.ports.get(AutonomyFiles).clear_stop(spec)

    def _view(self, session: str) -> RunView:
        with self._context.reading() as view:
            row = get_run(view, RunSelector(session=session))
            return view_of(view, row, self._context.ports.clock.now(), self._warnings(view, row))

    def _warnings(self, view: Reading, row: SpecSession) -> list[str]:
        """Return warnings about the gates that an ended run leaves closed."""
        root = view.find(Item, row.spec)
        if row.status != "ended" or root is None:
            return []
        shape = shape_of(view, root)
        closed = [
            shape.nodes.id(phase.id)
            for phase in shape.phases
            if (gate := gate_of(view, phase.id)) is not None and gate.status == "closed"
        ]
        if not closed:
            return []
        names = ", ".join(closed[:_MAX_NAMED])
        return [f"These phases still need their gates reviewed or waived: {names}."]


_MAX_NAMED = 20
_REVIEW = "gate_review_required"
_ENDS = frozenset({"end", "reset"})
"""Commands that a run takes whatever has become of its row."""


def refuse_beside(view: Reading, row: SpecSession) -> None:
    """Raise Conflict if a run is to go on beside another one of its spec."""
    live, spec = live_run(view, row.spec), spec_of(view, row)
    refuse_second(ref_of(row, spec), ref_of(live, spec) if live else None)


def open_run(change: Change, selector: RunSelector) -> SpecSession:
    """Get the selected run, in a change that is about it."""
    change.open_session()
    row = change.get(SpecSession, get_run(change.writing, selector).session)
    change.subject = row.spec
    change.add_facts(run=row.session)
    return row


def store_command(
    change: Change, after: SpecSession, action: str, title: str, text: str, **details: Json
) -> None:
    """Store a run as a command has left it, and write that into its journal; LedgerBroken."""
    stored = replace(after, version=after.version + 1, updated_at=change.now)
    keep(change, stored, must=action not in _ENDS)
    note_event(
        change,
        after,
        title,
        text,
        type_=SESSION_TYPE,
        action=action,
        status=after.status,
        **details,
    )


def end_run(change: Change, row: SpecSession, command: Command, why: Ending) -> None:
    """End a run in a change that is about it; Conflict."""
    goal = refuse_command(command, ref_of(row, spec_of(change.writing, row)))
    code, detail = str(why.code), str(why.detail or "")
    after = replace(
        row,
        status=goal,
        pause_reason="",
        reason_code=code,
        reason_detail=Prose(detail),
    )
    rows.end(change, row.session, "failed")
    change.add_facts(reason_code=code)
    title = "Session reset" if command == "reset" else "Session ended"
    store_command(change, after, command, title, detail or code, reason_code=code)


def _has_same_structure(view: Reading, row: SpecSession) -> bool:
    """Whether the spec of a run still has the structure that the run knows."""
    root = view.find(Item, row.spec)
    if root is None:
        raise NotFound("the spec of this run is gone", error_code="SPEC_NOT_FOUND")
    return shape_of(view, root).structure.digest == row.structure


def _resume_row(change: Change, row: SpecSession, how: Resumption) -> SpecSession:
    """Return a run that goes on, with the values that its resumption resets."""
    reason = row.pause_reason
    after = with_counters(row, count_resumption(counters_in(row), reason, _phase_at_limit(row)))
    if reason == "context_limit":
        after = with_context(after, ContextUse())
    if how.pct is not None:
        use = report_use(context_in(after), how.pct, change.clock, shown_terms(row).limits)
        after = with_context(after, use)
    if reason in GATE_REASONS:
        mark_answered(change, row.session)
    return replace(
        after,
        status="running",
        pause_reason="",
        failure_reason="",
        paused_at="",
        acknowledged=how.attempt or row.acknowledged,
        heartbeat_at=change.clock,
    )


def _phase_at_limit(row: SpecSession) -> str:
    """Return the phase of a run that was reviewed as often as allowed; empty if none was."""
    most = shown_terms(row).limits.max_fidelity_review_cycles_per_phase
    counted = counters_in(row).phase_retries
    return next((phase for phase, count in counted.items() if count >= most), "")


def _describe_stop(row: SpecSession) -> str:
    return f"It was {row.status}: {row.pause_reason or row.failure_reason or 'no reason is known'}."
