"""Waives the gates of phases, under the rules of the core.

The role of a connection that was started as a maintainer's counts as the scope `maintain`, for this act alone; nobody waives for work
that he has a part in, and where the project asks for a person, one signs.
"""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.access import MAINTAIN
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import GateStatus, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.commands import refuse_unreasoned, refuse_waiver
from counterpoint.dialects.foundry.rules.autonomy.configured import Configured
from counterpoint.dialects.foundry.rules.autonomy.gating import PhaseGate, asked_of, waiver_of
from counterpoint.dialects.foundry.verbs.gates.views import WaivedGate
from counterpoint.dialects.foundry.verbs.journal import Journals
from counterpoint.dialects.foundry.verbs.queries import get_spec
from counterpoint.dialects.foundry.verbs.sessions.events import SESSION_TYPE, note_event
from counterpoint.dialects.foundry.verbs.sessions.finding import get_run
from counterpoint.dialects.foundry.verbs.sessions.gates import gate_of
from counterpoint.dialects.foundry.verbs.sessions.rows import latest_run
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape, shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import Ending, RunSelector
from counterpoint.kernel.canonical import Json

_STATUSES: dict[str, GateStatus] = {"met": "passed", "waived": "waived"}


class Waiving:
    """Verbs that waive gates."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def waive(
        self,
        selector: RunSelector,
        phase: str,
        why: Ending,
        configured: Configured,
        *,
        is_maintainer: bool = False,
    ) -> WaivedGate:
        """Waive the gate of a phase, and record the reason.

        configured: the limits of the caller's connection. is_maintainer: whether it was started as a maintainer's.
        Raises Forbidden where waivers are not allowed or to whoever has a part in the work, NotFound, InvalidInput.
        """
        refuse_unreasoned(why.code, why.detail)
        with self._context.reading() as view:
            shape, row = _load_spec(view, selector)
            phase_gate = refuse_waiver(
                phase, _gates_by_phase(view, shape), configured.role, configured.terms()
            )
            item = shape.nodes.get(phase_gate.phase, "PHASE_NOT_FOUND")
            gate = gate_of(view, item.id)
        name = gate.name if gate else phase_gate.required
        code, detail = str(why.code), str(why.detail or "")
        context = _as_maintainer(self._context) if is_maintainer else self._context
        with joined(context):
            edit = Edit(waive=(name,), reason=f"{code}: {detail}" if detail else code)
            Items(context).edit(item.id, edit)
            with recording(context, "gate.waived", item.id) as change:
                change.open_session()
                waived = change.get(Gate, item.id, name)
                change.add_facts(gate="gate_waived", reason_code=code)
                details: dict[str, Json] = {
                    "phase_id": phase_gate.phase,
                    "reason_code": code,
                    "waiver_id": waiver_of(waived),
                }
                title = f"Gate of {phase_gate.phase} waived: {code}"
                if row is not None:
                    text = detail or code
                    note_event(
                        change,
                        row,
                        title,
                        text,
                        type_=SESSION_TYPE,
                        action="gate_waived",
                        **details,
                    )
            if row is None:
                Journals(context).add(
                    shape.nodes.spec, "decision", title, detail or code, phase_gate.phase, details
                )
        return WaivedGate(
            spec=shape.nodes.spec,
            session=row.session if row else "",
            phase=phase_gate.phase,
            gate=name,
            waiver=waiver_of(waived),
            reason_code=code,
            reason_detail=str(waived.reason).partition(": ")[2],
            waived_at=waived.updated_at,
            independence=waived.independence,
        )


def _load_spec(view: Reading, selector: RunSelector) -> tuple[SpecShape, SpecSession | None]:
    """Return the selected spec and its run; a spec whose runs were all collected still has gates."""
    if selector.spec and not selector.session:
        root = get_spec(view, selector.spec)
        return shape_of(view, root), latest_run(view, root.id)
    row = get_run(view, selector)
    return shape_of(view, view.find(Item, row.spec) or get_spec(view, row.spec)), row


def _gates_by_phase(view: Reading, shape: SpecShape) -> dict[str, PhaseGate]:
    """Return the gates of a spec, by the ids of their phases."""
    gates: dict[str, PhaseGate] = {}
    for phase in shape.phases:
        gate = gate_of(view, phase.id)
        if gate is not None:
            name = shape.nodes.id(phase.id)
            gates[name] = PhaseGate(
                phase=name,
                required=asked_of(gate, has_verify=shape.verifies(phase)),
                status=_STATUSES.get(gate.status, "pending"),
            )
    return gates


def _as_maintainer(context: Context) -> Context:
    """Return the context of the same call with the scope of a maintainer."""
    scopes = context.caller.scopes | {MAINTAIN}
    return replace(context, caller=replace(context.caller, scopes=scopes))
