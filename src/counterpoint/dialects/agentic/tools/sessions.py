"""The nine session tools: from start to replay, handoff and list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, cast

from pydantic import Field

from counterpoint.core.model.answers import Continuation, HandedOver
from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.journal import RecordKind
from counterpoint.core.model.sessions import SessionFilter, SessionHistory
from counterpoint.core.rules.wording import parse_details
from counterpoint.dialects.agentic.envelope import PHRASES, present
from counterpoint.dialects.agentic.rules.progress import slug_of
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.sessions import PlanSessions, context_of, present_handoff
from counterpoint.dialects.agentic.words import (
    AgentType,
    ArtifactAction,
    Count,
    Cursor,
    EndStatus,
    FilePath,
    Limit,
    Lines,
    LogType,
    Object,
    Said,
    SessionId,
    SessionStatus,
    Slug,
    Text,
    clipped,
    present_activity,
    present_duration,
    present_session,
    sized,
)
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.continuing import (
    describe_lost_claim,
    list_resumable_work,
    next_call,
    present_left,
)
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    clip,
    fit_parts,
    pages_of,
    part_of_list,
    size_of,
    sparse,
)
from counterpoint.kernel.canonical import Json, dump_any, object_of
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.plurals import counted
from counterpoint.protocol.tools import tool

_RECENT: Final = 20
_SHOWN: Final = 3_000
_NAMED: Final = 100
_HELD: Final = 5
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
    plan = call.core.use(Planning).get(plan_slug).item.id if plan_slug else ""
    call.core.use(PlanSessions).sweep()
    before = _own_sessions(call)
    opened = call.core.use(PlanSessions).open(agent_type, plan, sized("context", context))
    return present(**before, session=present_session(call, call.core.sessions.get(opened.id)))


@tool(reads=False)
def session_end(
    call: Call,
    status: Annotated[EndStatus, Field(description="How it ended")],
    session_id: Annotated[SessionId, Field(description="Session")] = "",
    summary: Annotated[Text, Field(description="What came of it")] = "",
) -> Json:
    """End a session with a status and a summary."""
    sessions = call.core.sessions
    name = sessions.named(session_id)
    if status == "paused":
        sessions.pause(name, Handover(action="pause", summary=summary))
    else:
        sessions.end(name, status, summary)
    fields = sparse(summary=clip(summary, _SHOWN))
    return present(session=present_session(call, sessions.get(name)), **fields)


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
    record = call.core.sessions.log(call.core.sessions.named(session_id), note)
    return present(
        logged=clip(message, _SHOWN),
        entry={"id": record.id, "type": type, "timestamp": record.created_at},
        **describe_lost_claim(call, PHRASES),
    )


@tool(reads=False, idempotent=False, hidden=("description",))
def session_artifact(
    call: Call,
    path: Annotated[FilePath, Field(min_length=1, description="File below the project")],
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
    record = call.core.sessions.log(call.core.sessions.named(session_id), note)
    return present(
        artifact={
            "id": record.id,
            "path": record.files[0],
            "action": action,
            **sparse(metadata=data),
        }
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
    context = sized("context_for_next", context_for_next)
    handover = Handover(
        action="pause",
        summary=summary,
        next_steps=tuple(next_steps or ()),
        blockers=tuple(blockers or ()),
        context="" if context_for_next is None else dump_any(context),
    )
    done = call.core.sessions.pause(call.core.sessions.named(session_id), handover)
    return _present_handover(call, done)


@tool(reads=False)
def session_resume(
    call: Call, session_id: Annotated[SessionId, Field(min_length=1, description="Session")]
) -> Json:
    """Resume a paused session; the first caller gets it.

    `plan_get` shows an entry whole by its id.
    """
    done = call.core.sessions.resume(session_id)
    history = call.core.sessions.history(session_id)
    recent: list[Json] = [
        present_activity(activity) for activity in history.activities[: -_RECENT - 1 : -1]
    ]
    return _present_handover(call, done, recent_actions=part_of_list(recent).cut(_SHOWN)[0])


@tool(reads=False, idempotent=False, aliases={"previous_session_id": "session_id"})
def session_continue(
    call: Call,
    session_id: Annotated[SessionId, Field(min_length=1, description="Session to go on from")],
    agent_type: Annotated[AgentType | None, Field(description="As before without one")] = None,
) -> Json:
    """Start a session that continues another one, with its context."""
    done = call.core.use(PlanSessions).follow(session_id, agent_type or "")
    call.core.use(PlanSessions).sweep()
    context = context_of(done.session)
    return _present_handover(
        call,
        done,
        continued_from=context["continued_from"],
        previous_agent=context["previous_agent"],
        inherited_context=clipped(context["inherited_context"], _SHOWN // 2),
    )


def _present_handover(call: Call, done: HandedOver, **more: Json) -> Json:
    """Return a session with what the one before left for it."""
    answer = {"session": present_session(call, call.core.sessions.get(done.session.id)), **more}
    handoff = present_handoff(done.handoff) if done.handoff else None
    max_bytes = PAGE - RESERVE - size_of(answer) - size_of(DATA)
    if done.handoff is not None and handoff is not None and size_of(handoff) > max_bytes:
        handoff = _shorten(handoff, done.handoff.id, max_bytes)
    return present(**answer, handoff_context=handoff, note=DATA)


def _shorten(handoff: dict[str, Json], name: str, max_bytes: int) -> dict[str, Json]:
    """Return a handoff with each part cut, and the id under which `plan_get` shows it whole."""
    cut = {
        part: clip(content, max_bytes // 5)
        if isinstance(content, str)
        else clipped(content, max_bytes // 5)
        for part, content in handoff.items()
    }
    return {**cut, "whole": name}


@tool(reads=True, hidden=("context_only",))
def session_replay(
    call: Call,
    session_id: Annotated[SessionId, Field(min_length=1, description="Session")],
    at: Annotated[Count | None, Field(description="Ledger entry up to which")] = None,
    cursor: Cursor = "",
    *,
    context_only: Annotated[bool, Field(description="No meaning here")] = True,
) -> Json:
    """Show what happened in a session: progress, checkpoints, decisions, errors, artifacts.

    `plan_get` shows an entry whole by its id.
    """
    del context_only
    history = call.core.sessions.history(session_id, at)
    lists = _lists(history)
    first = dict.fromkeys(lists, 0)
    pages = pages_of(call, cursor, "session_replay", session_id, at, first=first)
    starts = cast("dict[str, int]", pages.at)
    parts = {name: part_of_list(lists[name], start) for name, start in starts.items()}
    header = _replay_header(call, history) if not cursor else {"session_id": session_id}
    max_bytes = PAGE - RESERVE - size_of(header) - 400
    contents, next_starts = fit_parts(parts, max_bytes)
    twice = size_of(_by_action(cast("list[Any]", contents.get("artifacts", []))))
    if twice > RESERVE:
        # The paths are told again by what was done with them.
        contents, next_starts = fit_parts(parts, max_bytes - min(twice, max_bytes // 2))
    context: dict[str, Json] = {**header, **{name: [] for name in starts}, **contents}
    if "artifacts" in starts:
        context["artifacts_by_action"] = _by_action(cast("list[Any]", context["artifacts"]))
    more = sparse(next_cursor=pages.cursor(next_starts or None))
    return present(replay_context=context, **more, note=DATA)


def _lists(history: SessionHistory) -> dict[str, list[Json]]:
    return {
        "checkpoints": [present_activity(activity) for activity in history.of("checkpoint")],
        "decisions": [present_activity(activity) for activity in history.of("decision")],
        "errors": [present_activity(activity) for activity in history.of("error")],
        "artifacts": [
            {
                **sparse(id=activity.record),
                "path": activity.path,
                "action": activity.message,
                "timestamp": activity.at,
                **sparse(metadata=clipped(activity.details.get("data"))),
            }
            for activity in history.of("artifact")
        ],
        "recent_actions": [
            present_activity(activity) for activity in history.activities[: -_RECENT - 1 : -1]
        ],
    }


def _by_action(artifacts: list[dict[str, Any]]) -> dict[str, Json]:
    sorts: dict[str, list[Json]] = {"created": [], "modified": [], "deleted": []}
    for artifact in artifacts:
        sorts.setdefault(artifact["action"], []).append(artifact["path"])
    return cast("dict[str, Json]", sorts)


def _replay_header(call: Call, history: SessionHistory) -> dict[str, Json]:
    row, log = history.session, history.log
    checkpoints, errors = history.of("checkpoint"), history.of("error")
    item = str(row.get("item", ""))
    plan = call.core.use(Planning).find(item) if item else None
    last = log[-1] if log else None
    started = Timestamp(str(row.get("started_at", "")))
    ended = str(row.get("ended_at", "")) or (
        history.activities[-1].at if history.activities else started
    )
    summary = f"{len(log)} logged, {counted(len(checkpoints), 'checkpoint')}, {counted(len(errors), 'error')}"
    handoff = _last_handoff(history)
    return {
        "session_id": history.session_id,
        "agent_type": str(history.details.get("agent_type", "")),
        "status": row.get("status"),
        "plan": {"slug": slug_of(plan), "title": plan.item.title} if plan else None,
        "at": history.sequence,
        "started_at": started,
        "duration": present_duration(started, Timestamp(ended)),
        "context_summary": clipped(object_of(history.details.get("context")), _SHOWN // 2),
        "progress_summary": {
            "completed_steps": len(log),
            "checkpoint_count": len(checkpoints),
            "error_count": len(errors),
            "last_action": clip(last.message, 300) if last else None,
            "last_action_at": last.at if last else None,
            "summary": summary if log else "No work recorded",
        },
        "last_checkpoint": present_activity(checkpoints[-1]) if checkpoints else None,
        "total_actions": len(history.activities),
        "handoff_notes": handoff,
        "final_summary": clip(history.final, _SHOWN // 3) or None,
    }


def _last_handoff(history: SessionHistory) -> dict[str, Json] | None:
    """Return the last handoff of a session, cut if it is long; None without one."""
    if not history.handoff:
        return None
    handoff: dict[str, Json] = {
        "summary": history.handoff.get("summary", ""),
        "next_steps": history.handoff.get("next_steps") or [],
        "blockers": history.handoff.get("blockers") or [],
        "context_for_next": parse_details(str(history.handoff.get("context", ""))),
    }
    is_long = size_of(handoff) > _SHOWN
    return _shorten(handoff, str(history.handoff["id"]), _SHOWN) if is_long else handoff


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
    plan = call.core.use(Planning).get(plan_slug).item.id if plan_slug else ""
    pages = pages_of(call, cursor, "session_list", plan, status, agent_type, first=None)
    session_filter = SessionFilter(
        purpose="work", item=plan, status=status or "", details=sparse(agent_type=agent_type)
    )
    start = (pages.at[0], pages.at[1]) if pages.at else None
    sessions, next_cursor = pages.rows(
        call.core.sessions.list(session_filter, start, limit + 1),
        limit,
        lambda line: present_session(call, line),
        lambda line: [line.session.started_at, line.session.id],
    )
    first = {} if cursor else _own_sessions(call)
    return present(
        **first, sessions=sessions, count=len(sessions), **sparse(next_cursor=next_cursor)
    )


def _own_sessions(call: Call) -> dict[str, Json]:
    """Return the sessions that the caller is in or left, with their tasks, which come first."""
    own_session = call.core.caller.actor.session

    def present_own(continuation: Continuation) -> Iterator[dict[str, Json]]:
        session = continuation.session
        if session.purpose == "audit":
            return
        hint = next_call("session_continue", session_id=session.id)
        if session.status == "paused":
            hint = next_call("session_resume", session_id=session.id)
        elif session.id == own_session:
            hint = next_call("session_log", message="…")
        yield {
            **present_session(call, call.core.sessions.get(session.id)),
            **sparse(
                tasks=[
                    {"title": clip(live.item.title, _NAMED), "since": live.claim.claimed_at}
                    for live in continuation.held[:_HELD]
                ],
                left=present_left(continuation.left),
            ),
            "next_call": hint,
        }

    return list_resumable_work(call, "sessions", present_own, PHRASES)
