"""Starts runs, and bases them on a changed spec.

Rebases unattended runs on specs that were changed meanwhile.
What a run knows of its spec is what the document said at a place of the ledger, which is there for ever. What was satisfied in phases that
nobody touched stays; every other gate is judged afresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, cast

from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item, Label
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.handover import make_start_point
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.foundry.documents.history import History
from counterpoint.dialects.foundry.models.runs import (
    TASK_STEPS,
    GateEvidence,
    SessionStep,
    SpecSession,
)
from counterpoint.dialects.foundry.models.specs import ARCHIVED
from counterpoint.dialects.foundry.nodes.queries import get_spec, spec_id
from counterpoint.dialects.foundry.runs import rows
from counterpoint.dialects.foundry.runs.files import AutonomyFiles
from counterpoint.dialects.foundry.runs.rows import (
    FAILED_DAYS,
    OVER_DAYS,
    SESSION_TYPE,
    Ending,
    Rebased,
    RunSelector,
    RunView,
    SpecShape,
    ask_gates,
    counters_in,
    get_run,
    judge_afresh,
    keep,
    latest_run,
    note_event,
    phase_gates,
    ref_of,
    shape_of,
    shown_terms,
    spec_of,
    with_counters,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    Beginning,
    beginning,
    count_rebase,
    refuse_command,
)
from counterpoint.dialects.foundry.runs.rules.limits import Terms, limits_text
from counterpoint.dialects.foundry.runs.rules.results import (
    Difference,
    Structure,
    rebase,
    structure_of,
)
from counterpoint.dialects.foundry.runs.sessions import (
    REPLACED,
    Commands,
    end_run,
    open_run,
    refuse_beside,
    store_command,
    view_of,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import Conflict, CounterpointError, StaleVersion

_A_DAY: Final = 86_400
_KEPT_DAYS: Final = {"completed": OVER_DAYS, "ended": OVER_DAYS, "failed": FAILED_DAYS}
_RUNS_AT_ONCE: Final = 200
_ROWS_AT_ONCE: Final = 200
"""How many runs a start looks at, the oldest first, and how many of their rows it takes away."""


class Starting(Verbs):
    """Verbs that begin runs."""

    def start(self, spec: str, terms: Terms, *, force: bool = False) -> RunView:
        """Begin a run of a spec; a repeated call with its key gets the same run.

        Raises NotFound, Conflict if another run of it is live, unless that is to end, or if it is archived.
        """
        key = mask(self._context.key, self._context.ports.secrets)
        # Before the transaction: nobody waits to write while git is asked.
        tree = self._context.ports.evidence.snapshot(self._context.caller.root)
        with transaction(self._context):
            with recording(self._context, "run.looked") as change:
                root = get_spec(change.writing, spec)
                before = latest_run(change.writing, root.id)
                how = self._decide_beginning(change, root, before, key, force=force)
            if how == "answer" and before is not None:
                return self._view(before.session)
            if how == "replace" and before is not None:
                with recording(self._context, "run.ended", root.id) as change:
                    change.open_session()
                    change.add_facts(run=before.session)
                    stored = change.get(SpecSession, before.session)
                    end_run(change, stored, "end", Ending(code=REPLACED, detail="replaced"))
            session = self._context.ports.mint.mint("ses")
            inside = self._context.in_session(session, item=root.id)
            with recording(inside, "run.started", root.id) as change:
                if how == "begin" and before is not None:
                    # Its tasks would be held against this one until their leases end.
                    rows.give_way(change, before.session)
                rows.begin(change, root.id)
                # What reviewers of its gates compare with: tasks may be done before anybody starts them.
                change.put(make_start_point(change, root, None, tree, is_begun=False))
                self._begin(change, root, session, terms, key)
            self._collect()
            return self._view(session)

    def _decide_beginning(
        self, change: Change, root: Item, before: SpecSession | None, key: str, *, force: bool
    ) -> Beginning:
        name = spec_id(change.writing, root)
        if change.writing.find(Label, root.id, ARCHIVED) is not None:
            raise Conflict(f"the spec {name} is archived", hint="Make it active first.")
        return beginning(ref_of(before, name) if before else None, key, force=force)

    def _begin(self, change: Change, root: Item, session: str, terms: Terms, key: str) -> None:
        shape = shape_of(change.writing, root)
        ask_gates(change, shape)
        row = SpecSession(
            project=root.project,
            session=session,
            spec=root.id,
            agent=change.context.caller.actor.name,
            status="running",
            pause_reason="",
            last_pause="",
            failure_reason="",
            phase="",
            posture=terms.posture or "",
            policy=terms.policy,
            idempotency=key,
            limits=Prose(canonical.dump_any(limits_text(terms))),
            is_locking=terms.is_locking,
            tasks_completed=0,
            consecutive_errors=0,
            retries=Prose(""),
            evidence_faults=0,
            acknowledged="",
            context_pct=0,
            context_source="",
            context_at="",
            context_steps=0,
            context_tokens=0,
            structure=shape.structure.digest,
            # Nothing of the spec changes with this entry.
            place=change.writing.head().size - 1,
            heartbeat_at=change.clock,
            paused_at="",
            reason_code="",
            reason_detail=Prose(""),
            version=1,
            created_at=change.now,
            updated_at=change.now,
        )
        keep(change, row)
        text = f"An unattended run of {shape.nodes.spec} has begun."
        note_event(
            change,
            row,
            "Session started",
            text,
            type_=SESSION_TYPE,
            action="start",
            status="running",
            gate_policy=terms.policy,
            posture_profile=terms.posture,
        )

    def _collect(self) -> None:
        """Remove the rows of runs that ended long ago, some at a time; the ledger has them for ever."""
        with recording(self._context, "run.collected") as change:
            oldest = change.writing.select(
                SpecSession, order="created_at,session", limit=_RUNS_AT_ONCE
            )
            remaining = _ROWS_AT_ONCE
            for row in oldest:
                days = _KEPT_DAYS.get(row.status)
                if days is None or later(row.updated_at, days * _A_DAY) > change.now:
                    continue
                remaining -= _drop_rows(change, row, remaining)
                if remaining <= 0:
                    return

    def _view(self, session: str) -> RunView:
        with self._context.reading() as view:
            row = view.find(SpecSession, session)
            if row is None:
                raise missing(SpecSession, session)
            root = view.find(Item, row.spec)
            name = spec_id(view, root) if root else row.spec
            is_asked = self._context.ports.get(AutonomyFiles).is_stop_asked(name)
            warnings = [_STOPPED.format(name)] if is_asked else []
            answer = view_of(view, row, self._context.ports.clock.now(), warnings)
        return replace(answer, lacking=Commands(self._context).lacking(name))


_STOPPED: Final = (
    "Somebody asks this spec to stop: the run pauses before its first step, unless"
    " specs/.autonomy/signals/{}.stop is taken away."
)


def _drop_rows(change: Change, row: SpecSession, most: int) -> int:
    """Remove rows of a run, and its own with the last of them; return how many."""
    stored = change.get(SpecSession, row.session)
    steps = change.writing.select(SessionStep, session=row.session, limit=most)
    evidence = change.writing.select(GateEvidence, session=row.session, limit=most)
    rows = [*steps, *evidence][:most]
    for obsolete in rows:
        change.drop(obsolete)
    if len(rows) < most:
        change.drop(stored)
        change.add_facts(runs=[*change.facts.get("runs", ()), row.session])
    return len(rows) + 1


_NAMED: Final = 20


class Rebasing(Verbs):
    """Commands that rebase runs."""

    def rebase(self, selector: RunSelector, *, force: bool = False) -> Rebased:
        """Let a run that is paused or has failed go on with the present spec.

        Raises NotFound, Conflict, InvalidInput if completed tasks are gone, StaleVersion if the run was changed meanwhile.
        """
        with self._context.reading() as view:
            seen = get_run(view, selector)
            refuse_command("rebase", ref_of(seen, spec_of(view, seen)))
        # Before the transaction: nobody waits to write while the ledger is read.
        before = self._load_structure(seen)
        with transaction(self._context):
            with recording(self._context, "run.rebased") as change:
                row = open_run(change, selector)
                refuse_beside(change.writing, row)
                if (row.session, row.version) != (seen.session, seen.version):
                    raise StaleVersion(f"run {row.session} was changed meanwhile")
                shape = shape_of(change.writing, change.get(Item, row.spec))
                satisfied = [
                    gate.phase
                    for gate in phase_gates(change.writing, shape, row, shown_terms(row))
                    if gate.is_satisfied
                ]
                done = _completed_tasks(change.writing, shape, row)
                difference = rebase(before, shape.structure, done, satisfied, force=force)
                judge_afresh(change, row.session, shape, difference.kept_gates)
                ask_gates(change, shape)
                after = _rebase_row(row, shape, difference, change.writing.head().size)
                after = replace(after, heartbeat_at=change.clock)
                changes = {name: value for name, value in difference.told().items() if value}
                store_command(
                    change,
                    after,
                    "rebase",
                    "Session rebased",
                    _describe(difference),
                    **_limit_names(changes),
                )
            with self._context.reading() as view:
                again = get_run(view, RunSelector(session=row.session))
                now = self._context.ports.clock.now()
                return Rebased(view=view_of(view, again, now), difference=difference)

    def _load_structure(self, row: SpecSession) -> Structure | None:
        """Return the structure that a run knows, from the ledger; None if it is not there any more."""
        try:
            document = History(self._context).document(row.spec, str(row.place))
        except CounterpointError as fault:
            if fault.kind not in {"not_found", "invalid"}:
                raise
            return None
        structure = structure_of(document)
        return structure if structure.digest == row.structure else None


def _completed_tasks(view: Reading, shape: SpecShape, row: SpecSession) -> list[str]:
    """Return the tasks that a run has completed, by the ids of their nodes."""
    steps = view.select(SessionStep, session=row.session, outcome="success")
    return list(shape.nodes.ids(step.task for step in steps if step.type in TASK_STEPS).values())


def _rebase_row(
    row: SpecSession, shape: SpecShape, difference: Difference, size: int
) -> SpecSession:
    names = frozenset(shape.structure.tasks) | frozenset(shape.structure.phases)
    counters = count_rebase(counters_in(row), names, len(difference.completed_removed))
    is_there = any(phase.id == row.phase for phase in shape.phases)
    return replace(
        with_counters(row, counters),
        status="running",
        pause_reason="",
        failure_reason="",
        paused_at="",
        phase=row.phase if is_there else "",
        structure=shape.structure.digest,
        place=size - 1,
    )


def _limit_names(changes: Mapping[str, Json]) -> dict[str, Json]:
    """Return a difference with the first names of each list, for a journal."""
    return {
        name: cast("list[Json]", value)[:_NAMED] if isinstance(value, list) else value
        for name, value in changes.items()
    }


def _describe(difference: Difference) -> str:
    """Return what changed, in words."""
    if not difference.is_change:
        return "Its spec had not changed."
    counts: Iterable[tuple[int, str]] = (
        (len(difference.added_phases), "phases added"),
        (len(difference.removed_phases), "phases removed"),
        (len(difference.added_tasks), "tasks added"),
        (len(difference.removed_tasks), "tasks removed"),
        (len(difference.moved_tasks), "tasks in another phase"),
        (int(difference.is_reordered), "phases in another order"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count) + "."
