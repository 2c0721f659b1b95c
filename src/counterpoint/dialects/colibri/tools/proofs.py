"""The tools for proofs: audit sessions, sealed trees, what follows from them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from counterpoint.core.model.answers import Proof
from counterpoint.core.model.sessions import SessionFilter, SessionView
from counterpoint.dialects.call import Call
from counterpoint.dialects.colibri.nouns import Ending
from counterpoint.dialects.colibri.verbs.actions import Actions
from counterpoint.dialects.colibri.verbs.seals import AuditSessions, Seals
from counterpoint.dialects.colibri.words import (
    ABSENT,
    LIMIT,
    AnyId,
    Cursor,
    Filter,
    Id,
    Limit,
    OwnId,
    Reason,
    list_open_sessions,
    present_action,
    present_seal,
    present_session,
)
from counterpoint.dialects.paging import clip, pages_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotSealed
from counterpoint.protocol.tools import tool

SessionWord = Literal["active", "paused", "completed", "handed_off", "failed"]
_FAULTS = 20


@tool(reads=False, idempotent=False)
def audit_session_start(
    call: Call,
    intent: Annotated[str, Field(min_length=1, max_length=2_000, description="What it is for")],
    *,
    task_id: Annotated[AnyId, Field(description="What it is about")] = ABSENT,
    session_id: Annotated[OwnId, Field(description="Its id, if it must be yours")] = ABSENT,
) -> Json:
    """Start an audit session whose thoughts will be sealed together."""
    before = list_open_sessions(call)
    opened = call.core.use(AuditSessions).open(intent, task=task_id, session=session_id)
    return {**before, **present_session(opened)}


@tool(reads=False, idempotent=False)
def merkle_finalize(
    call: Call, session_id: Annotated[Id, Field(description="The session")]
) -> Json:
    """Seal a session: sign the tree over its thoughts and end it for good."""
    return present_seal(call.core.use(Seals).seal(session_id))


@tool(reads=True)
def merkle_root(call: Call, session_id: Annotated[Id, Field(description="The session")]) -> Json:
    """Read the root of a sealed session."""
    return present_seal(call.core.use(Seals).root(session_id))


@tool(reads=True)
def merkle_proof(call: Call, record_id: Annotated[Id, Field(description="The thought")]) -> Json:
    """Prove that a thought is in the sealed tree of its session (RFC 9162 inclusion)."""
    proof = call.core.use(Seals).proof(record_id)
    return {
        "record_id": record_id,
        "leaf_index": proof.sequence,
        "leaf_hash": proof.leaf,
        "leaf": proof.entry,
        **_present_proof(proof),
    }


@tool(reads=True)
def merkle_consistency(
    call: Call,
    session_id: Annotated[Id, Field(description="The session")],
    first_size: Annotated[int, Field(ge=0, le=2**53 - 1, description="Size of the older tree")],
    *,
    second_size: Annotated[
        int | None, Field(ge=0, le=2**53 - 1, description="Of the newer; sealed size by default")
    ] = None,
) -> Json:
    """Prove that the tree of a sealed session of one size begins with that of another."""
    proof = call.core.use(Seals).consistency(session_id, first_size, second_size)
    return {
        "session_id": session_id,
        "first_size": proof.first_size,
        "first_root": proof.first_root,
        **_present_proof(proof),
    }


def _present_proof(proof: Proof) -> dict[str, Json]:
    return {
        "tree_size": proof.size,
        "root": proof.root,
        "path": list(proof.path),
        "checkpoint": proof.checkpoint,
    }


@tool(reads=True)
def merkle_verify(call: Call, session_id: Annotated[Id, Field(description="The session")]) -> Json:
    """Make the tree of a sealed session anew from its thoughts and compare it with the seal."""
    examined, seal = call.core.use(Seals).verify(session_id), call.core.use(Seals).root(session_id)
    return {
        **present_seal(seal),
        "valid": examined.sound,
        "computed_root": examined.root,
        "computed_count": examined.size,
        "broken": list(examined.broken[:_FAULTS]),
        "faults": [clip(fault.message, 300) for fault in examined.faults[:_FAULTS]],
    }


@tool(reads=True)
def audit_sessions(
    call: Call,
    *,
    status: Annotated[SessionWord | None, Field(description="Only in this state")] = None,
    limit: Limit = LIMIT,
    cursor: Cursor = "",
) -> Json:
    """List sessions, the oldest first, with the root of each that is sealed."""
    pages = pages_of(call, cursor, "audit_sessions", status, first=None)
    session_filter = SessionFilter(status=status or "", oldest_first=True)
    start = (pages.at[0], pages.at[1]) if pages.at else None
    views = call.core.sessions.list(session_filter, start, limit + 1)

    def describe(view: SessionView) -> dict[str, Json]:
        session = view.session
        answer = present_session(session)
        answer |= {
            "status": session.status,
            "agent": session.agent,
            "ended_at": session.ended_at or None,
        }
        try:
            return {**answer, "root": call.core.use(Seals).root(session.id).root}
        except NotSealed:
            return {**answer, "root": None}

    entries, more = pages.rows(
        views, limit, describe, lambda view: [view.session.started_at, view.session.id]
    )
    return {"sessions": entries, "next_cursor": more or None}


@tool(reads=False, destructive=True, idempotent=False)
def audit_session_abandon(
    call: Call,
    session_id: Annotated[Id, Field(description="The session")],
    reason: Annotated[Reason, Field(min_length=1, description="Why")],
) -> Json:
    """End an open session without sealing it; its thoughts stay."""
    ended = call.core.sessions.abandon(session_id, reason)
    return {**present_session(ended), "status": ended.status, "ended_at": ended.ended_at}


@tool(reads=True)
def audit_actions(
    call: Call,
    *,
    tool: Annotated[str, Field(max_length=60, description="Only of this tool")] = "",
    outcome: Annotated[Ending | None, Field(description="Only with this outcome")] = None,
    session_id: Annotated[Filter, Field(description="Only by this connection")] = ABSENT,
    limit: Limit = LIMIT,
    cursor: Cursor = "",
) -> Json:
    """List the calls of tools, the latest first, with outcome, caller and digests."""
    pages = pages_of(call, cursor, "audit_actions", tool, outcome, session_id)
    pairs = call.core.use(Actions).list(
        tool=tool, outcome=outcome, session=session_id, before=pages.at, limit=limit + 1
    )
    entries, more = pages.rows(
        pairs, limit, lambda pair: present_action(*pair), lambda pair: pair[0].number
    )
    return {"actions": entries, "next_cursor": more or None}
