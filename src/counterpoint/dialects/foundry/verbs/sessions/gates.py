"""The gates of phases as runs see them: gates of the core, of the kind review.

A gate that a run asks for holds the end of its phase, in whatever dialect that is worked on, and stays when the run is over. Its row
says whether it is open; what a reviewer found, and nobody has answered, stands in `gate_evidence`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.moves import follow
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import GateEvidence, GateKind, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.gating import (
    PhaseGate,
    after_verdict,
    required_gate,
    waiver_of,
)
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms
from counterpoint.dialects.foundry.verbs.sessions.rows import standing_evidence
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape

NAMES: Final[tuple[GateKind, ...]] = ("fidelity", "manual_review")
"""What the gate of a phase may be called: as it was asked for first. The nodes of the phase tell what it asks."""


def gate_of(view: Reading, phase: str) -> Gate | None:
    """Return the gate that a run asked of a phase; None if none did. phase: its item."""
    return next((gate for name in NAMES if (gate := view.find(Gate, phase, name))), None)


def phase_gates(view: Reading, shape: SpecShape, row: SpecSession, terms: Terms) -> list[PhaseGate]:
    """Return the gates of a spec in a run, in the order of its phases; a phase that was done before any run has none."""
    last: dict[str, GateEvidence] = {}
    for one in standing_evidence(view, row.session):
        last.setdefault(one.phase, one)
    return [
        _phase_gate(gate, shape, phase, last.get(phase.id), terms)
        for phase in shape.phases
        if (gate := gate_of(view, phase.id)) is not None
    ]


def ask_gates(change: Change, shape: SpecShape) -> None:
    """Let each phase that is not done have a gate; one that has keeps it."""
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


def judge_afresh(change: Change, session: str, shape: SpecShape, kept: Collection[str]) -> None:
    """Close the satisfied gates of all phases but some, and open those phases again. kept: ids of nodes."""
    for phase in shape.phases:
        gate = gate_of(change.writing, phase.id)
        if gate is None or gate.status == "closed" or shape.known.id(phase.id) in kept:
            continue
        answer(change, session, phase.id)
        item = change.get(Item, phase.id)
        if item.category == "done":
            follow(change, item, "active")
        gate = change.get(Gate, gate.item, gate.name)
        if gate.status != "closed":
            change.put(gate.moved("closed", change.now, reason="the phase has changed"))


def answer(change: Change, session: str, phase: str = "") -> None:
    """Let what was found of a phase, or of any, be answered, so that its gate is judged anew."""
    for one in standing_evidence(change.writing, session, phase):
        found = change.get(GateEvidence, one.id)
        change.put(replace(found, answered_at=change.now))


def _phase_gate(
    gate: Gate, shape: SpecShape, phase: Item, found: GateEvidence | None, terms: Terms
) -> PhaseGate:
    seen = PhaseGate(
        phase=shape.known.id(phase.id), required=required_gate(has_verify=shape.verifies(phase))
    )
    if gate.status == "met":
        return replace(seen, status="passed", attempt=gate.proof)
    if gate.status == "waived":
        return replace(seen, status="waived", waiver=waiver_of(gate))
    return after_verdict(seen, terms.policy, found.verdict, found.id) if found else seen
