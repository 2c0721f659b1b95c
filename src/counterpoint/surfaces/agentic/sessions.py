"""The nine session tools: from start to replay, handoff and list."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast

from pydantic import Field

from counterpoint.core.model.asks import Handover, Note
from counterpoint.core.model.journal import RecordKind
from counterpoint.core.model.planning.stints import Opening, Replay, StintSought, TakenUp
from counterpoint.core.rules.planning.replay import told_handoff
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.clock import Timestamp
from counterpoint.protocol.tools import tool
from counterpoint.surfaces.agentic.envelope import told
from counterpoint.surfaces.agentic.vocabulary import (
    AgentType,
    ArtifactAction,
    Count,
    Cursor,
    EndStatus,
    Limit,
    Lines,
    LogType,
    Object,
    Said,
    SessionId,
    SessionStatus,
    Slug,
    Text,
    Word,
    clipped,
    sized,
    told_deed,
    told_duration,
    told_session,
)
from counterpoint.surfaces.call import DATA, Call
from counterpoint.surfaces.paging import (
    PAGE,
    RESERVE,
    clip,
    paged,
    part_of_list,
    seal,
    shared,
    size_of,
    sparse,
    unseal,
)

_RECENT: Final = 20
_SHOWN: Final = 3_000
_KINDS: Final[dict[LogType, RecordKind]] = {"decision": "decision", "checkpoint": "checkpoint"}
"""The kinds of records that lines of a log become; all others are `log`."""


@tool(reads=False, idempotent=False)
def session_start(
    call: Call,
    agent_type: Annotated[AgentType, Field(description="opus, sonnet, haiku or another")],
    plan_slug: Annotated[Slug | None, Field(description="Plan to work on")] = None,
    context: Annotated[Object | None, Field(description="What it knows")] = None,
) -> Json:
    """Start a session; answers its id."""
    plan = call.core.planning.get(plan_slug).line.item.id if plan_slug else ""
    call.core.stints.sweep()
    wish = Opening(agent_type=agent_type, item=plan, context=sized("context", context))
    opened = call.core.stints.open(wish)
    return told(session=told_session(call, call.core.stints.get(opened.id)))


@tool(reads=False)
def session_end(
    call: Call,
    status: Annotated[EndStatus, Field(description="How it ended")],
    session_id: Annotated[SessionId, Field(description="Session")] = "",
    summary: Annotated[Text, Field(description="What came of it")] = "",
) -> Json:
    """End a session with a status and a summary."""
    stints = call.core.stints
    name = stints.named(session_id)
    if status == "paused":
        stints.pause(name, Handover(action="pause", summary=summary))
    else:
        stints.end(name, status, summary)
    return told(session=told_session(call, stints.get(name)))


@tool(reads=False, idempotent=False)
def session_log(
    call: Call,
    message: Annotated[Said, Field(description="What happened")],
    session_id: Annotated[SessionId, Field(description="Session")] = "",
    type: Annotated[LogType, Field(description="Sort")] = "info",  # noqa: A002 -- the contract's name
    data: Annotated[Object | None, Field(description="More")] = None,
) -> Json:
    """Add an entry to the work log of an active session."""
    details: dict[str, Json] = {"type": type, **sparse(data=sized("data", data))}
    note = Note(kind=_KINDS.get(type, "log"), body=message, details=details)
    made = call.core.stints.log(call.core.stints.named(session_id), note)
    return told(
        logged=clip(message, _SHOWN),
        entry={"id": made.id, "type": type, "timestamp": made.created_at},
    )


@tool(reads=False, idempotent=False, hidden=("description",))
def session_artifact(
    call: Call,
    path: Annotated[Word, Field(min_length=1, description="File below the project")],
    action: Annotated[ArtifactAction, Field(description="What was done")],
    session_id: Annotated[SessionId, Field(description="Session")] = "",
    metadata: Annotated[Object | None, Field(description="More")] = None,
    description: Annotated[Text, Field(description="In words")] = "",
) -> Json:
    """Add a file to the artifacts of a session."""
    data = {**sized("metadata", metadata), **sparse(description=description)}
    note = Note(
        kind="artifact",
        body=action,
        title=f"{action} {path}",
        files=(path,),
        details={"type": "artifact", **sparse(data=data)},
    )
    made = call.core.stints.log(call.core.stints.named(session_id), note)
    return told(
        artifact={"id": made.id, "path": made.files[0], "action": action, **sparse(metadata=data)}
    )


@tool(reads=False, idempotent=False)
def session_handoff(
    call: Call,
    summary: Annotated[Said, Field(description="Where things stand")],
    session_id: Annotated[SessionId, Field(description="Session")] = "",
    next_steps: Annotated[Lines | None, Field(description="To do next")] = None,
    blockers: Annotated[Lines | None, Field(description="Obstacles")] = None,
    context_for_next: Annotated[Object | None, Field(description="For whoever resumes")] = None,
) -> Json:
    """Pause a session with notes for the agent that resumes it."""
    given = sized("context_for_next", context_for_next)
    asked = Handover(
        action="pause",
        summary=summary,
        next_steps=tuple(next_steps or ()),
        blockers=tuple(blockers or ()),
        context=dump_any(given) if given else "",
    )
    done = call.core.stints.pause(call.core.stints.named(session_id), asked)
    return _taken(call, done)


@tool(reads=False)
def session_resume(
    call: Call, session_id: Annotated[SessionId, Field(min_length=1, description="Session")]
) -> Json:
    """Take up a paused session; the first who asks has it."""
    done = call.core.stints.resume(session_id)
    found = call.core.stints.replay(session_id)
    recent: list[Json] = [told_deed(one) for one in found.deeds[: -_RECENT - 1 : -1]]
    return _taken(call, done, recent_actions=part_of_list(recent).cut(_SHOWN)[0])


@tool(reads=False, idempotent=False, aliases={"previous_session_id": "session_id"})
def session_continue(
    call: Call,
    session_id: Annotated[SessionId, Field(min_length=1, description="Session to go on from")],
    agent_type: Annotated[AgentType | None, Field(description="As before without one")] = None,
) -> Json:
    """Start a session that goes on from another one, with its context."""
    call.core.stints.sweep()
    done = call.core.stints.follow(session_id, agent_type or "")
    context = done.context
    return _taken(
        call,
        done,
        continued_from=context["continued_from"],
        previous_agent=context["previous_agent"],
        inherited_context=clipped(context["inherited_context"], _SHOWN // 2),
    )


def _taken(call: Call, done: TakenUp, **more: Json) -> Json:
    """Answer a session with what the one before left for it."""
    session = told_session(call, call.core.stints.get(done.session.id))
    left = told_handoff(done.handoff) if done.handoff else None
    if left is not None and size_of(left) > PAGE // 2:
        left = {name: clipped(part, _SHOWN // 3) for name, part in left.items()}
    return told(session=session, handoff_context=left, **more, note=DATA)


@tool(reads=True, hidden=("context_only",))
def session_replay(
    call: Call,
    session_id: Annotated[SessionId, Field(min_length=1, description="Session")],
    at: Annotated[Count | None, Field(description="Ledger entry up to which")] = None,
    cursor: Cursor = "",
    *,
    context_only: Annotated[bool, Field(description="No meaning here")] = True,
) -> Json:
    """Show what happened in a session: progress, checkpoints, decisions, errors, artifacts."""
    del context_only
    found = call.core.stints.replay(session_id, at)
    asked: dict[str, Json] = {"tool": "session_replay", "session": session_id, "at": at}
    lists = _lists(found)
    starts = cast("dict[str, Any]", unseal(call, asked, cursor, dict.fromkeys(lists, 0)))
    parts = {name: part_of_list(lists[name], place) for name, place in starts.items()}
    header = _replayed(call, found) if not cursor else {"session_id": session_id}
    shown, rest = shared(parts, PAGE - RESERVE - size_of(header) - 400)
    context: dict[str, Json] = {**header, **{name: [] for name in starts}, **shown}
    if "artifacts" in starts:
        context["artifacts_by_action"] = _by_action(cast("list[Any]", context["artifacts"]))
    more = sparse(next_cursor=seal(call, asked, rest) if rest else "")
    return told(replay_context=context, **more, note=DATA)


def _lists(found: Replay) -> dict[str, list[Json]]:
    return {
        "checkpoints": [told_deed(one) for one in found.of("checkpoint")],
        "decisions": [told_deed(one) for one in found.of("decision")],
        "errors": [told_deed(one) for one in found.of("error")],
        "artifacts": [
            {
                "path": one.path,
                "action": one.message,
                "timestamp": one.at,
                **sparse(metadata=clipped(one.content)),
            }
            for one in found.of("artifact")
        ],
        "recent_actions": [told_deed(one) for one in found.deeds[: -_RECENT - 1 : -1]],
    }


def _by_action(artifacts: list[dict[str, Any]]) -> dict[str, Json]:
    sorts: dict[str, list[Json]] = {"created": [], "modified": [], "deleted": []}
    for one in artifacts:
        sorts.setdefault(one["action"], []).append(one["path"])
    return cast("dict[str, Json]", sorts)


def _replayed(call: Call, found: Replay) -> dict[str, Json]:
    row, log = found.session, found.log
    checkpoints, errors = found.of("checkpoint"), found.of("error")
    item = str(row.get("item", ""))
    plan = call.core.planning.line(item) if item else None
    last = log[-1] if log else None
    started = Timestamp(str(row.get("started_at", "")))
    ended = str(row.get("ended_at", "")) or (found.deeds[-1].at if found.deeds else started)
    said = f"{len(log)} logged, {len(checkpoints)} checkpoints, {len(errors)} errors"
    handoff = {
        name: clipped(found.handoff.get(name), _SHOWN // 3)
        for name in ("summary", "next_steps", "blockers", "context")
        if found.handoff.get(name)
    }
    return {
        "session_id": found.session_id,
        "agent_type": found.agent_type,
        "status": row.get("status"),
        "plan": {"slug": plan.slug, "title": plan.item.title} if plan else None,
        "at": found.sequence,
        "started_at": started,
        "duration": told_duration(started, Timestamp(ended)),
        "context_summary": clipped(dict(found.context), _SHOWN // 2),
        "progress_summary": {
            "completed_steps": len(log),
            "checkpoint_count": len(checkpoints),
            "error_count": len(errors),
            "last_action": clip(last.message, 300) if last else None,
            "last_action_at": last.at if last else None,
            "summary": said if log else "No work recorded",
        },
        "last_checkpoint": told_deed(checkpoints[-1]) if checkpoints else None,
        "total_actions": len(found.deeds),
        "handoff_notes": handoff or None,
        "final_summary": clip(found.final, _SHOWN // 3) or None,
    }


@tool(reads=True)
def session_list(
    call: Call,
    plan_slug: Annotated[Slug | None, Field(description="Only of this plan")] = None,
    status: Annotated[SessionStatus | None, Field(description="Only these")] = None,
    agent_type: Annotated[AgentType | None, Field(description="Only these")] = None,
    limit: Annotated[Limit, Field(description="Most")] = 20,
    cursor: Cursor = "",
) -> Json:
    """List sessions, the latest first."""
    plan = call.core.planning.get(plan_slug).line.item.id if plan_slug else ""
    asked: dict[str, Json] = {
        "tool": "session_list",
        "plan": plan,
        "status": status,
        "agent": agent_type,
    }
    at = cast("list[Any] | None", unseal(call, asked, cursor, None))
    sought = StintSought(item=plan, status=status or "", agent_type=agent_type or "")
    found = call.core.stints.list(sought, (at[0], at[1]) if at else None, limit + 1)
    sessions, rest = paged(
        call,
        asked,
        found,
        limit=limit,
        room=PAGE,
        shown=lambda line: told_session(call, line),
        place=lambda line: [line.session.started_at, line.session.id],
    )
    return told(sessions=sessions, count=len(sessions), **sparse(next_cursor=rest))
