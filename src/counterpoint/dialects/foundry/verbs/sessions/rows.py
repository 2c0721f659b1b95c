"""The rows of runs as rules see them, and what rules make of them as rows.

Rows name items, rules name nodes: what comes out of here has the ids of nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import (
    LIVE,
    RETRIES,
    ContextSource,
    ContextUse,
    Counters,
    Evidence,
    GateEvidence,
    IssuedStep,
    SessionStatus,
    SessionStep,
    SpecSession,
    counts_of,
)
from counterpoint.dialects.foundry.rules.autonomy.commands import RunRef
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms, terms_of
from counterpoint.dialects.foundry.verbs.queries import Nodes, spec_id
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput


def status_in(row: SpecSession) -> SessionStatus:
    """Return the status of a run."""
    return cast("SessionStatus", row.status)


def ref_of(row: SpecSession, spec: str, attempt: str = "") -> RunRef:
    """Return a run as commands see it. spec: its name; attempt: at a gate, which waits for a person."""
    return RunRef(
        session=row.session,
        spec=spec,
        status=status_in(row),
        pause_reason=row.pause_reason,
        idempotency=row.idempotency,
        attempt=attempt,
        is_locking=row.is_locking,
    )


def terms_in(row: SpecSession) -> Terms:
    """Return the terms of a run; InvalidInput if its row does not say them."""
    return terms_of(load_object(row.limits), row.policy, row.posture, is_locking=row.is_locking)


def shown_terms(row: SpecSession) -> Terms:
    """Return the same; the usual terms where a row does not say them."""
    try:
        return terms_in(row)
    except InvalidInput:
        return Terms()


def counters_in(row: SpecSession) -> Counters:
    """Return the counters of a run."""
    retries = load_object(row.retries)
    tasks, phases = (counts_of(retries.get(name)) for name in RETRIES)
    return Counters(
        tasks_completed=row.tasks_completed,
        consecutive_errors=row.consecutive_errors,
        task_retries=tasks,
        phase_retries=phases,
    )


def with_counters(row: SpecSession, counters: Counters) -> SpecSession:
    """Return a run with other counters."""
    counts = (dict(counters.task_retries), dict(counters.phase_retries))
    retries = dict(zip(RETRIES, counts, strict=True))
    return replace(
        row,
        tasks_completed=counters.tasks_completed,
        consecutive_errors=counters.consecutive_errors,
        retries=Prose(canonical.dump_any(retries) if any(counts) else ""),
    )


def context_in(row: SpecSession) -> ContextUse:
    """Return how much of its context the agent of a run has used."""
    return ContextUse(
        pct=row.context_pct,
        source=cast("ContextSource", row.context_source),
        at=row.context_at,
        steps=row.context_steps,
        tokens=row.context_tokens,
    )


def with_context(row: SpecSession, use: ContextUse) -> SpecSession:
    """Return a run with another use of context."""
    return replace(
        row,
        context_pct=use.pct,
        context_source=use.source,
        context_at=use.at,
        context_steps=use.steps,
        context_tokens=use.tokens,
    )


def last_step(view: Reading, session: str) -> SessionStep | None:
    """Return the step of a run that was issued last; it is out unless it was consumed."""
    steps = view.select(SessionStep, session=session, order="number desc", limit=1)
    return steps[0] if steps else None


def step_in(row: SessionStep, nodes: Nodes) -> IssuedStep:
    """Return a step as rules see it."""
    return IssuedStep(
        id=row.id,
        type=row.type,
        proof=row.proof,
        issued_at=row.issued_at,
        task=nodes.id(row.task),
        phase=nodes.id(row.phase),
        attempt=row.attempt,
        command=row.command,
        renewed_at=row.renewed_at,
        consumed_at=row.consumed_at,
        report=row.report,
    )


def evidence_in(row: GateEvidence, nodes: Nodes) -> Evidence:
    """Return evidence as rules see it."""
    return Evidence(
        attempt=row.id,
        session=row.session,
        step=row.step,
        phase=nodes.id(row.phase),
        verdict=row.verdict,
        findings=row.findings,
        reviewer=row.reviewer,
        issued_at=row.issued_at,
        integrity=row.integrity,
    )


def standing_evidence(view: Reading, session: str, phase: str = "") -> list[GateEvidence]:
    """Return the evidence of a run about a phase, or about any, that was reported and not answered, the latest first."""
    # A run has few: one for each attempt at a gate.
    evidence = view.select(GateEvidence, session=session, order="issued_at desc,id desc")
    return [
        row
        for row in evidence
        if row.reported_at and not row.answered_at and phase in {"", row.phase}
    ]


def live_run(view: Reading, spec: str) -> SpecSession | None:
    """Return the run of a spec that runs or is paused; None. spec: its root item."""
    for status in LIVE:
        if runs := view.select(SpecSession, spec=spec, status=status, limit=1):
            return runs[0]
    return None


def latest_run(view: Reading, spec: str) -> SpecSession | None:
    """Return the live run of a spec, else the one that was begun last; None if there was none."""
    last = view.select(SpecSession, spec=spec, order="created_at desc,place desc", limit=1)
    return live_run(view, spec) or (last[0] if last else None)


def spec_of(view: Reading, row: SpecSession) -> str:
    """Return the name of a run's spec; the id of its item if that is gone."""
    root = view.find(Item, row.spec)
    return spec_id(view, root) if root else row.spec
