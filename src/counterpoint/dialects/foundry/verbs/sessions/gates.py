"""The gates of phases as runs see them: gates of the core, of the kind review.

A gate that a run asks for holds the end of its phase, in whatever dialect that is worked on, and stays when the run is over. Its row
says whether it is open; what a reviewer found, and nobody has answered, stands in `gate_evidence`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from counterpoint.core.model.journal import Verdict
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.work import Gate, Item, Project
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.moves import follow
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import (
    GateEvidence,
    GateKind,
    GatePolicy,
    SpecSession,
)
from counterpoint.dialects.foundry.rules.autonomy.gating import (
    PhaseGate,
    after_verdict,
    asked_of,
    policy_for,
    rejected,
    required_gate,
    waiver_of,
)
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms
from counterpoint.dialects.foundry.verbs.sessions.rows import standing_evidence
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape

NAMES: Final[tuple[GateKind, ...]] = ("fidelity", "manual_review")
"""Names of the gate of a phase; the first request decides."""


def gate_of(view: Reading, phase: str) -> Gate | None:
    """Return the gate that a run requires of a phase; None if none does. phase: its item."""
    return next((gate for name in NAMES if (gate := view.find(Gate, phase, name))), None)


def phase_gates(view: Reading, shape: SpecShape, row: SpecSession, terms: Terms) -> list[PhaseGate]:
    """Return the gates of a spec in a run, in the order of its phases; a phase that was done before any run has none."""
    last: dict[str, GateEvidence] = {}
    for evidence in standing_evidence(view, row.session):
        last.setdefault(evidence.phase, evidence)
    policy = policy_in(view, terms.policy)
    return [
        _phase_gate(view, gate, shape, phase, last.get(phase.id), policy)
        for phase in shape.phases
        if (gate := gate_of(view, phase.id)) is not None
    ]


def policy_in(view: Reading, policy: GatePolicy) -> GatePolicy:
    """Return the gate policy of a project's runs, given the one that a run was begun with."""
    project = view.find(Project)
    return policy_for(policy, project.reviews) if project else policy


def ask_gates(change: Change, shape: SpecShape) -> None:
    """Give each unfinished phase a gate, unless it has one."""
    for phase in shape.phases:
        if phase.is_closed or gate_of(change.writing, phase.id) is not None:
            continue
        change.put(
            Gate(
                project=phase.project,
                item=phase.id,
                name=required_gate(has_verify=shape.verifies(phase)),
                kind="review",
                holds="finish",
                argv=Proses(()),
                status="closed",
                proof="",
                reason=Prose(""),
                updated_at=change.now,
            )
        )


def judge_afresh(
    change: Change, session: str, shape: SpecShape, kept_phases: Collection[str]
) -> None:
    """Close the satisfied gates of all phases but some, and open those phases again. kept_phases: ids of nodes."""
    for phase in shape.phases:
        gate = gate_of(change.writing, phase.id)
        if gate is None or gate.status == "closed" or shape.nodes.id(phase.id) in kept_phases:
            continue
        mark_answered(change, session, phase.id)
        item = change.get(Item, phase.id)
        if item.category == "done":
            follow(change, item, "active")
        gate = change.get(Gate, gate.item, gate.name)
        if gate.status != "closed":
            change.put(gate.moved("closed", change.now, reason="the phase has changed"))


def mark_answered(change: Change, session: str, phase: str = "") -> None:
    """Mark the evidence about a phase, or about any, as answered, so that the gate is judged anew."""
    for row in standing_evidence(change.writing, session, phase):
        evidence = change.get(GateEvidence, row.id)
        change.put(replace(evidence, answered_at=change.now))


def _phase_gate(
    view: Reading,
    gate: Gate,
    shape: SpecShape,
    phase: Item,
    evidence: GateEvidence | None,
    policy: GatePolicy,
) -> PhaseGate:
    required = asked_of(gate, has_verify=shape.verifies(phase))
    initial = PhaseGate(phase=shape.nodes.id(phase.id), required=required)
    if gate.status == "met":
        return replace(initial, status="passed", attempt=gate.proof)
    if gate.status == "waived":
        return replace(initial, status="waived", waiver=waiver_of(gate))
    # Evidence from before the gate was closed again judges an earlier state of the work.
    if evidence is None or evidence.reported_at < gate.updated_at:
        return initial
    if _is_rejected(view, phase, evidence):
        return rejected(initial, evidence.id)
    after = after_verdict(initial, policy, evidence.verdict, evidence.id)
    # Only its own row says that it is open.
    return initial if after.is_satisfied else after


def _is_rejected(view: Reading, phase: Item, evidence: GateEvidence) -> bool:
    """Return whether a phase was rejected since a reviewer saw it, and not approved after that."""
    last = view.select(Verdict, item=phase.id, order="number desc", limit=1)
    return any(
        verdict.decision == "reject" and verdict.created_at >= evidence.issued_at
        for verdict in last
    )
