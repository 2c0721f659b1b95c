"""What happened in a run, and what runs are held to."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.dialects.arguments import INTEGER
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.guarded import door_of
from counterpoint.dialects.foundry.rules.autonomy.commands import refuse_auto_mode
from counterpoint.dialects.foundry.rules.autonomy.limits import (
    MAX_CONSULTATIONS,
    MAX_CONTEXT_TOKENS,
    WARN_AT,
)
from counterpoint.dialects.foundry.tools.sessions.lifecycle import configured_of
from counterpoint.dialects.foundry.tools.sessions.shown import (
    present_event,
    present_run,
    present_terms,
    run_line,
)
from counterpoint.dialects.foundry.tools.sessions.words import SessionId
from counterpoint.dialects.foundry.tools.shown import META
from counterpoint.dialects.foundry.verbs.sessions.commanding import Commanding
from counterpoint.dialects.foundry.verbs.sessions.starting import Starting
from counterpoint.dialects.foundry.verbs.sessions.views import Resumption, RunSelector, RunView
from counterpoint.dialects.foundry.verbs.sessions.watching import Watching
from counterpoint.dialects.foundry.words import Cursor, SpecId
from counterpoint.dialects.paging import PAGE, pages_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.actions import action

EventLimit = Annotated[int, Field(ge=1, le=200, description="Page size"), INTEGER]
AutoMode = Annotated[bool | None, Field(description="Start or pause a run")]
Get = Annotated[bool, Field(description="Only tell")]


@action(reads=True)
def session_events(
    call: Call,
    session_id: SessionId = "",
    spec_id: SpecId = "",
    cursor: Cursor = "",
    limit: EventLimit = 50,
) -> Json:
    """What happened in a run, the newest first."""
    watching = call.core.use(Watching)
    selector = RunSelector(session=session_id, spec=spec_id)
    run_line = watching.get(selector)
    try:
        pages = pages_of(call, cursor, "session-events", run_line.session, run_line.spec, first=0)
    except InvalidInput as refusal:
        raise InvalidInput(
            refusal.message,
            hint="Leave `cursor` out to begin again; one goes on with the run that it came from.",
            error_code="INVALID_CURSOR",
        ) from refusal
    run, entries = watching.events(RunSelector(session=run_line.session), pages.at, limit + 1)
    lines, further = pages.rows(
        entries,
        limit,
        lambda entry: present_event(run, entry),
        lambda entry: entry.number,
        PAGE - META,
    )
    fields: dict[str, Json] = {"session_id": run.session, "spec_id": run.spec, "events": lines}
    return present(fields, pagination=page(further, len(lines)))


@action(reads=False, hidden=("get",))
def session_config(
    call: Call, spec_id: SpecId = "", *, get: Get = False, auto_mode: AutoMode = None
) -> Json:
    """What runs are held to; auto_mode starts or pauses one."""
    if get or auto_mode is None:
        return _config(call, spec_id)
    refuse_auto_mode(spec_id)
    view = _switched(call, spec_id, on=auto_mode)
    return present(present_run(view), warnings=view.warnings)


def _config(call: Call, spec_id: str) -> Json:
    configured = configured_of(call)
    terms = configured.terms()
    live = call.core.use(Watching).live(spec_id) if spec_id else None
    config: dict[str, Json] = {
        "role": configured.role,
        "posture_profile": terms.posture,
        "allow_lock_bypass": terms.may_bypass,
        "allow_gate_waiver": terms.may_waive,
        **present_terms(terms),
    }
    fields: dict[str, Json] = {
        **_usage(call),
        "session_config": config,
        "auto_mode": live is not None and live.status == "running",
        "session": run_line(live) if live else None,
    }
    return present({"spec_id": spec_id, **fields} if spec_id else fields)


def _usage(call: Call) -> dict[str, Json]:
    """Return what the connection has called and asked of models, against the marks for that."""
    usage = call.core.use(Watching).consultations()
    calls = door_of(call).count(call.core.caller.own_seat)
    return {
        "session_id": call.core.caller.own_seat or None,
        "limits": {
            "max_consultations": MAX_CONSULTATIONS,
            "max_context_tokens": MAX_CONTEXT_TOKENS,
            "warn_at_percentage": WARN_AT,
        },
        "stats": {
            "consultation_count": usage.consultations,
            "estimated_tokens_used": usage.tokens,
            "commands_executed": calls.calls,
            "errors_encountered": calls.refusals,
        },
        "derived": {
            "consultations_remaining": usage.consultations_left,
            "tokens_remaining": usage.tokens_left,
            "consultation_usage_percentage": usage.consultations_percentage,
            "token_usage_percentage": usage.tokens_percentage,
            "should_warn": usage.should_warn,
            "at_limit": usage.is_at_limit,
        },
        "message": "The marks are told, nothing is refused at them; session_config has what runs are held to.",
    }


def _switched(call: Call, spec: str, *, on: bool) -> RunView:
    """Return the run of a spec after it was let run, or was stopped; what is so already stays."""
    live, selector = call.core.use(Watching).live(spec), RunSelector(spec=spec)
    if live is None and on:
        return call.core.use(Starting).start(spec, configured_of(call).terms())
    if live is not None and on and live.status == "paused":
        return call.core.use(Commanding).resume(selector, Resumption())
    if live is not None and not on and live.status == "running":
        return call.core.use(Commanding).pause(selector)
    return call.core.use(Watching).status(selector)


CONFIG: Final = (session_events, session_config)
"""The actions, in the order of the list."""
