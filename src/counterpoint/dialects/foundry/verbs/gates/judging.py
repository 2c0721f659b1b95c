"""Applies reported evidence to the gate of its phase.

A verdict that passes opens the gate as a check is opened by its receipt: the server judged, and not whoever reports it. What does not pass
leaves it closed, and so does all that waits for a person. The phase ends with its gate if all that it holds is done.
"""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.moves import settle
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.foundry.nouns.autonomy import GateEvidence, GateStatus, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.gating import asked_of, judged
from counterpoint.dialects.foundry.verbs.sessions.events import STEP_TYPE, note_event
from counterpoint.dialects.foundry.verbs.sessions.gates import gate_of, policy_in
from counterpoint.dialects.foundry.verbs.sessions.rows import shown_terms
from counterpoint.dialects.foundry.verbs.sessions.shape import shape_of


class Judging:
    """Verbs that apply evidence about a phase."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def act_upon(self, attempt: str) -> GateStatus:
        """Apply the evidence of an attempt that was reported and is genuine; return the gate's status.

        It is an entry of its own, about the phase, by which `proving` finds what opened the gate.
        """
        with recording(self._context, "gate.judged") as change:
            change.open_session()
            evidence = change.get(GateEvidence, attempt)
            row = change.get(SpecSession, evidence.session)
            shape = shape_of(change.writing, change.get(Item, row.spec))
            phase = change.get(Item, evidence.phase)
            change.subject = phase.id
            change.put(replace(evidence, reported_at=change.now))
            gate = gate_of(change.writing, phase.id)
            required = asked_of(gate, has_verify=shape.verifies(phase))
            policy = policy_in(change.writing, shown_terms(row).policy)
            status = judged(required, policy, evidence.verdict)
            if gate is not None and gate.status != "closed":
                # A person was faster: the verdict is only recorded.
                status = "waived" if gate.status == "waived" else "passed"
            elif gate is not None and status == "passed":
                _open_gate(change, gate, evidence)
            change.add_facts(
                run=row.session, attempt=attempt, verdict=evidence.verdict, gate=f"gate_{status}"
            )
            name = shape.nodes.id(phase.id)
            note_event(
                change,
                row,
                f"Gate of {name}: {_WORDS[status]}",
                f"The {evidence.reviewer} reviewer said: {evidence.verdict}.",
                type_=STEP_TYPE,
                action=f"gate_{status}",
                step_id=evidence.step,
                phase_id=name,
                gate_attempt_id=attempt,
                verdict=evidence.verdict,
            )
            return status


_WORDS: dict[GateStatus, str] = {
    "passed": "passed",
    "failed": "failed",
    "waived": "waived",
    "pending": "waits for a person",
}


def _open_gate(change: Change, gate: Gate, evidence: GateEvidence) -> None:
    stored = change.get(Gate, gate.item, gate.name)
    change.put(stored.moved("met", change.now, proof=evidence.id))
    settle(change, gate.item)
