"""The tools for thoughts: recording, reading, verifying the chains."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from counterpoint.core.coordinator import Core
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.journal import Record
from counterpoint.core.model.proofs import Examined, Thinking
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.colibri.tools.tasks import get_task_id
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.dialects.colibri.words import (
    ABSENT,
    LIMIT,
    UUID,
    AnyId,
    Content,
    Cursor,
    Filter,
    Id,
    Limit,
    ThoughtWord,
    native_id,
    present_thought,
)
from counterpoint.dialects.paging import clip, pages_of
from counterpoint.dialects.whole import find_written, present_written, rename_parts
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound, NotSealed, SessionEnded, SignerAway
from counterpoint.protocol.tools import tool

_FAULTS = 20


@tool(reads=False, idempotent=False)
def thought_record(
    call: Call,
    type: Annotated[ThoughtWord, Field(description="What sort it is")],  # noqa: A002 -- the name in the contract
    task_id: Annotated[Id, Field(description="The task")],
    agent_id: Annotated[Id, Field(description="Who thought it")],
    content: Annotated[Content, Field(description="The thought")],
    *,
    session_id: Annotated[AnyId, Field(description="An open audit session")] = ABSENT,
) -> Json:
    """Append a thought to the hash chain of a task."""
    task = get_task_id(call, task_id)
    core = _within(call, session_id) if session_id else call.core
    try:
        thinking = core.use(Thoughts).think(type, content, task=task, agent=agent_id)
    except SessionEnded as ended:
        raise SessionEnded(
            f"ERR_SESSION_FINALIZED: {ended.message}", hint="Start another session."
        ) from ended
    return present_thought(thinking, task_id)


def _within(call: Call, session: str) -> Core:
    """Return the core in a session that is there; NotFound."""
    try:
        call.core.sessions.get(session)
    except NotFound as missing:
        raise NotFound(
            f"ERR_SESSION_NOT_FOUND: {missing.message}",
            hint="Start it with `audit_session_start`, or leave `session_id` out.",
        ) from missing
    return call.core.in_session(session)


@tool(reads=True)
def thought_record_list(
    call: Call,
    *,
    task_id: Annotated[
        Filter, Field(description="Only of this task; a thought's id or `id/`: whole")
    ] = ABSENT,
    session_id: Annotated[Filter, Field(description="Only of this session")] = ABSENT,
    type: Annotated[ThoughtWord | None, Field(description="Only of this sort")] = None,  # noqa: A002 -- the name in the contract
    limit: Limit = LIMIT,
    cursor: Cursor = "",
) -> Json:
    """List thoughts in the order in which they were recorded."""
    if noun_of_id(task_id) is Record or task_id.endswith("/"):
        # A task or a session whole, as a thought: `task_get` shows one page.
        whole = find_written(call, task_id.removesuffix("/"))
        if whole is not None:
            whole = rename_parts(whole, {"text": "content"})
            return present_written(call, task_id, whole, cursor, "thought_record_list")
    pages = pages_of(call, cursor, "thought_record_list", task_id, session_id, type)
    task = native_id(call, task_id) if task_id else ""
    thinkings = call.core.use(Thoughts).list(
        task=task, session=session_id, kind=type, after=pages.at, limit=limit + 1
    )
    names = {task: task_id} if task else {}

    def describe(thinking: Thinking) -> dict[str, Json]:
        about = thinking.thought.task
        if about not in names:
            names[about] = call.core.items.names(about).get(UUID, about)
        return present_thought(thinking, names[about])

    entries, more = pages.rows(thinkings, limit, describe, lambda thinking: thinking.thought.number)
    return {"thoughts": entries, "next_cursor": more or None, "note": DATA}


@tool(reads=True)
def audit_verify_chain(
    call: Call,
    *,
    task_id: Annotated[Filter, Field(description="Only the chain of this task")] = ABSENT,
    session_id: Annotated[Filter, Field(description="Only this session")] = ABSENT,
) -> Json:
    """Verify the chain of a task, the thoughts of a session, or every chain there is."""
    if task_id and session_id:
        raise InvalidInput("give a task or a session, not both", hint="Leave one of them out.")
    examined, checkpoint = _examine(call, task_id, session_id)
    answer: dict[str, Json] = {
        "valid": examined.sound,
        "broken_count": max(len(examined.broken), int(not examined.sound)),
        "record_count": examined.size,
        "redacted_count": examined.redacted,
        "checkpoint": checkpoint,
    }
    if examined.broken:
        answer["first_broken_at"] = examined.broken[0]
    if examined.faults:
        answer["faults"] = [clip(fault.message, 300) for fault in examined.faults[:_FAULTS]]
    return answer


def _examine(call: Call, task: str, session: str) -> tuple[Examined, str]:
    """Return what was found, and the signed note of a sealed session or else of the ledger."""
    core = call.core
    if session:
        try:
            return core.use(Seals).verify(session), core.use(Seals).root(session).checkpoint
        except NotSealed:
            return core.use(Thoughts).verify_session(session), _ledger_note(call)
    return core.use(Thoughts).verify(get_task_id(call, task) if task else ""), _ledger_note(call)


def _ledger_note(call: Call) -> str:
    """Return the end of the ledger that was signed last; nothing if none was."""
    try:
        return call.core.audit.checkpoint()
    except SignerAway:
        return ""
