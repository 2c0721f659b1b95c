"""Begins unattended runs, and removes rows of those that ended long ago."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item, Label
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.handover import begun_with
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.foundry.autonomy_files import AutonomyFiles
from counterpoint.dialects.foundry.nouns.autonomy import GateEvidence, SessionStep, SpecSession
from counterpoint.dialects.foundry.nouns.nodes import ARCHIVED
from counterpoint.dialects.foundry.rules.autonomy.commands import Beginning, beginning
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms, limits_text
from counterpoint.dialects.foundry.verbs.queries import get_spec, spec_id
from counterpoint.dialects.foundry.verbs.sessions import holding
from counterpoint.dialects.foundry.verbs.sessions.commanding import REPLACED, end_run
from counterpoint.dialects.foundry.verbs.sessions.events import SESSION_TYPE, note_event
from counterpoint.dialects.foundry.verbs.sessions.gates import ask_gates
from counterpoint.dialects.foundry.verbs.sessions.keeping import keep
from counterpoint.dialects.foundry.verbs.sessions.lacking import Commands
from counterpoint.dialects.foundry.verbs.sessions.rows import latest_run, ref_of
from counterpoint.dialects.foundry.verbs.sessions.shape import shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import (
    FAILED_DAYS,
    OVER_DAYS,
    Ending,
    RunView,
)
from counterpoint.dialects.foundry.verbs.sessions.watching import view_of
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import Conflict

_A_DAY: Final = 86_400
_KEPT_DAYS: Final = {"completed": OVER_DAYS, "ended": OVER_DAYS, "failed": FAILED_DAYS}
_RUNS_AT_ONCE: Final = 200
_ROWS_AT_ONCE: Final = 200
"""How many runs a start looks at, the oldest first, and how many of their rows it takes away."""


class Starting:
    """Verbs that begin runs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def start(self, spec: str, terms: Terms, *, force: bool = False) -> RunView:
        """Begin a run of a spec; a repeated call with its key gets the same run.

        Raises NotFound, Conflict if another run of it is live, unless that is to end, or if it is archived.
        """
        key = mask(self._context.key, self._context.ports.secrets)
        # Before the transaction: nobody waits to write while git is asked.
        tree = self._context.ports.evidence.snapshot(self._context.caller.root)
        with joined(self._context):
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
                    holding.give_way(change, before.session)
                holding.begin(change, root.id)
                # What reviewers of its gates compare with: tasks may be done before anybody starts them.
                change.put(begun_with(change, root, None, tree, is_begun=False))
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
