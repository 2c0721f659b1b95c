"""Reads from the ledger how the gates of a spec were opened.

So a row that somebody edited opens nothing. Only entries about the phase itself open its gate: a verdict, a waiver, and the judgment of a report. That a gate was closed again by what
happened elsewhere is in its row, and `audit verify` compares that with all entries. What the call that asks has written itself counts as
said: its entries land together with what it decides by them, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from counterpoint.core.ledger.entry import RowImage, load_fields
from counterpoint.core.model.work import Gate
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.rules.autonomy.gating import GateEvent, GateEventKind, waiver_of
from counterpoint.dialects.foundry.verbs.sessions.gates import gate_of
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape

_PAGE_ENTRIES: Final = 100
_KINDS: Final[dict[str, GateEventKind]] = {"met": "gate_passed", "waived": "gate_waived"}


def gate_events(
    view: Reading, shape: SpecShape, unlanded: Sequence[RowImage] = ()
) -> tuple[GateEvent, ...]:
    """Return how the ledger says each open gate of a spec was opened; closed gates are left out.

    unlanded: rows that the same call has written and not committed yet.
    """
    return tuple(_list_events(view, shape, unlanded))


def _list_events(
    view: Reading, shape: SpecShape, unlanded: Sequence[RowImage]
) -> Iterator[GateEvent]:
    for phase in shape.phases:
        gate = gate_of(view, phase.id)
        if gate is None or gate.status == "closed":
            continue
        status, proof = _read_status(view, gate, unlanded)
        if status in _KINDS:
            attempt = waiver_of(gate) if status == "waived" else proof
            yield GateEvent(phase=shape.nodes.id(phase.id), kind=_KINDS[status], attempt=attempt)


def _read_status(view: Reading, gate: Gate, unlanded: Sequence[RowImage]) -> tuple[str, str]:
    """Return status and proof of a gate as the entries about its item have left them, and then this call."""
    key, after = {"item": gate.item, "name": gate.name}, -1
    columns: dict[str, Any] = {}
    while sequences := view.sequences(subject=gate.item, after=after, limit=_PAGE_ENTRIES):
        for sequence in sequences:
            for row in load_fields(next(view.entries(sequence, sequence + 1))).get("r", ()):
                if row["t"] == Gate.table and row["k"] == key:
                    columns |= row.get("v") or row.get("c") or {}
        after = sequences[-1]
    for image in unlanded:
        if image.table == Gate.table and image.key == key:
            columns |= image.values or {}
    return columns.get("status", ""), columns.get("proof", "")
