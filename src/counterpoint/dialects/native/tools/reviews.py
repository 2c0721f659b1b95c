"""The tools `submit` and `review`: handing in and judging."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.work import Gate
from counterpoint.dialects.call import Call
from counterpoint.dialects.native.words import (
    AnyToken,
    ItemId,
    Line,
    Lines,
    Report,
    Word,
    present_gate,
    present_line,
)
from counterpoint.dialects.paging import sparse
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool


@tool(reads=False, idempotent=False, hidden=("reason",))
def submit(
    call: Call,
    id: Annotated[ItemId, Field(description="Id of the item")],  # noqa: A002 -- the name that agents expect
    summary: Annotated[Report, Field(description="What is finished, for the reviewer")],
    path: Annotated[Line, Field(description="File that shows it, if there is one")] = "",
    token: AnyToken = None,
    reason: Annotated[Line, Field(description="Why it comes again as it was rejected")] = "",
) -> Json:
    """Hand in a phase or task; it closes or waits for review."""
    done = call.core.reviews.submit(id, path, summary, token, reason)
    return {
        "submission": done.submission.id,
        **sparse(sha256=done.submission.sha256, commit=done.submission.commit),
        "item": present_line(done.item),
        "closed_gates": _gates(done.closed),
    }


@tool(reads=False, idempotent=False)
def review(
    call: Call,
    id: Annotated[ItemId, Field(description="Id of the item")],  # noqa: A002 -- the name that agents expect
    verdict: Annotated[
        Literal["approve", "reject"], Field(description="reject sends it back to be mended")
    ],
    reason: Annotated[Report, Field(description="Why, for whoever did it")],
    fixes: Annotated[Lines, Field(description="What to mend, one sentence each")] = (),
    subject: Annotated[
        Word, Field(description="SHA-256 or commit you looked at; refused if it is another now")
    ] = "",
) -> Json:
    """Approve or reject what another agent handed in; your own is refused."""
    judgment = Judgment(approves=verdict == "approve", reason=reason, fixes=fixes, subject=subject)
    done = call.core.reviews.review(id, judgment)
    return {
        "verdict": done.verdict.id,
        **sparse(subject=done.verdict.subject),
        "item": present_line(done.item),
        "closed_gates": _gates(done.closed),
    }


def _gates(gates: tuple[Gate, ...]) -> list[Json]:
    return [present_gate(gate) for gate in gates[:4]]
