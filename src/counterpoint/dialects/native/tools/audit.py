"""The tool `prove`: the ledger verified, its signed end, and proofs about it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from counterpoint.core.model.answers import Proof
from counterpoint.dialects.call import Call
from counterpoint.dialects.native.words import Count, Cursor
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, size_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

_FAULTS = 20


@tool(reads=True, hidden=("cursor",))
def prove(
    call: Call,
    what: Annotated[
        Literal["verify", "checkpoint", "inclusion", "consistency"],
        Field(description="verify: is the ledger sound; checkpoint: its signed end"),
    ],
    sequence: Annotated[
        Count | None, Field(description="For inclusion: number of the entry")
    ] = None,
    size: Annotated[
        Count | None, Field(description="Entries of the ledger proved against; default: all")
    ] = None,
    first_size: Annotated[
        Count | None, Field(description="For consistency: entries it had before")
    ] = None,
    cursor: Cursor = "",
) -> Json:
    """Verify the ledger, or get its signed checkpoint and RFC 6962 proofs."""
    _refuse_stray(what, sequence, size, first_size, cursor)
    if what == "verify":
        return _verified(call)
    if what == "checkpoint":
        return {"checkpoint": call.core.audit.checkpoint(), "key": call.core.audit.key.to_text()}
    if what == "inclusion":
        return _inclusion(call, sequence or 0, size, cursor)
    return _present(call.core.audit.consistency(first_size or 0, size))


_TAKES = {
    "verify": (),
    "checkpoint": (),
    "inclusion": ("sequence", "size", "cursor"),
    "consistency": ("first_size", "size"),
}


def _refuse_stray(
    what: str, sequence: int | None, size: int | None, first_size: int | None, cursor: str
) -> None:
    """Raise InvalidInput for what a question does not take, or misses; all of it together."""
    presence = {
        "sequence": sequence is not None,
        "size": size is not None,
        "first_size": first_size is not None,
        "cursor": bool(cursor),
    }
    takes = _TAKES[what]
    faults = [
        f"`{name}` has no meaning"
        for name, is_there in presence.items()
        if is_there and name not in takes
    ]
    needed = takes[:1]
    faults += [f"`{name}` is required" for name in needed if not presence[name]]
    if faults:
        raise InvalidInput(f"for {what}: {'; '.join(faults)}")


def _verified(call: Call) -> dict[str, Json]:
    audit = call.core.audit.verify(extent="soon")
    return {
        "sound": audit.sound,
        **sparse(rows=sum(audit.rows.values()) or None),
        "size": audit.size,
        "root": audit.root,
        "last": audit.last,
        "anchored": audit.anchored,
        "redacted": audit.redacted,
        **sparse(
            faults=[
                {"error": fault.code, "message": clip(fault.message, 300)}
                for fault in audit.faults[:_FAULTS]
            ],
            fault_count=len(audit.faults) or None,
            not_compared=[clip(remark, 300) for remark in audit.remarks],
            not_looked_at=list(audit.unseen),
        ),
    }


def _inclusion(call: Call, sequence: int, size: int | None, cursor: str) -> dict[str, Json]:
    pages = pages_of(call, cursor, "prove", "inclusion", sequence)
    proof = call.core.audit.inclusion(sequence, size)
    header = {"sequence": sequence} if pages.at else {**_present(proof), "leaf": proof.leaf}
    piece, further = pages.text(proof.entry, PAGE - RESERVE - size_of(header))
    return {**header, "entry": piece, **sparse(cursor=further)}


def _present(proof: Proof) -> dict[str, Json]:
    return {
        "size": proof.size,
        "root": proof.root,
        "path": list(proof.path),
        "checkpoint": proof.checkpoint,
        **sparse(
            sequence=proof.sequence if proof.sequence >= 0 else None,
            first_size=proof.first_size if proof.first_size >= 0 else None,
            first_root=proof.first_root,
            not_signed=proof.asked if proof.asked >= 0 else None,
        ),
    }
