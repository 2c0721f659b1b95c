"""Unattended runs: begun, told, stopped, taken up and ended."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.guarded import door_of
from counterpoint.dialects.foundry.rules.autonomy.configured import Configured
from counterpoint.dialects.foundry.rules.autonomy.limits import SPELLINGS
from counterpoint.dialects.foundry.tools.sessions.shown import (
    present_difference,
    present_run,
    run_line,
)
from counterpoint.dialects.foundry.tools.sessions.words import (
    Flag,
    Force,
    Number,
    Percent,
    Policy,
    Posture,
    ReasonCode,
    ReasonDetail,
    SessionId,
)
from counterpoint.dialects.foundry.verbs.sessions.commanding import Commanding
from counterpoint.dialects.foundry.verbs.sessions.rebasing import Rebasing
from counterpoint.dialects.foundry.verbs.sessions.starting import Starting
from counterpoint.dialects.foundry.verbs.sessions.views import (
    Ending,
    Resumption,
    RunSelector,
    RunView,
)
from counterpoint.dialects.foundry.verbs.sessions.watching import Watching
from counterpoint.dialects.foundry.words import Cursor, Limit, SpecId
from counterpoint.dialects.lacking import said_of_lacking
from counterpoint.dialects.paging import pages_of
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action

Acknowledged = Annotated[bool, Field(description="A person saw the gate")]
Attempt = Annotated[str, Field(max_length=80, description="Attempt seen"), TEXT]

_LIMITS: Final = (
    "posture_profile",
    "max_consecutive_errors",
    "context_threshold_pct",
    "heartbeat_stale_minutes",
    "heartbeat_grace_minutes",
    "step_stale_minutes",
    "max_fidelity_review_cycles_per_phase",
    "avg_pct_per_step",
    "context_staleness_threshold",
    "context_staleness_penalty_pct",
    "enforce_write_lock",
    "auto_retry_fidelity_gate",
)
"""What a start takes and the list does not name: `docs/foundry.md` does."""


@action(
    reads=False,
    name="session",
    command="start",
    legacy=("session-start",),
    hidden=_LIMITS,
    aliases=SPELLINGS,
)
def start(
    call: Call,
    spec_id: SpecId,
    *,
    force: Force = False,
    gate_policy: Policy = None,
    posture_profile: Posture = None,
    max_tasks_per_session: Number = None,
    stop_on_phase_completion: Flag = None,
    auto_retry_fidelity_gate: Flag = None,
    max_consecutive_errors: Number = None,
    context_threshold_pct: Number = None,
    heartbeat_stale_minutes: Number = None,
    heartbeat_grace_minutes: Number = None,
    step_stale_minutes: Number = None,
    max_fidelity_review_cycles_per_phase: Number = None,
    avg_pct_per_step: Number = None,
    context_staleness_threshold: Number = None,
    context_staleness_penalty_pct: Number = None,
    enforce_write_lock: Flag = None,
) -> Json:
    """Begin an unattended run."""
    terms = configured_of(call).terms(
        gate_policy=gate_policy,
        posture_profile=posture_profile,
        max_tasks_per_session=max_tasks_per_session,
        stop_on_phase_completion=stop_on_phase_completion,
        auto_retry_fidelity_gate=auto_retry_fidelity_gate,
        max_consecutive_errors=max_consecutive_errors,
        context_threshold_pct=context_threshold_pct,
        heartbeat_stale_minutes=heartbeat_stale_minutes,
        heartbeat_grace_minutes=heartbeat_grace_minutes,
        step_stale_minutes=step_stale_minutes,
        max_fidelity_review_cycles_per_phase=max_fidelity_review_cycles_per_phase,
        avg_pct_per_step=avg_pct_per_step,
        context_staleness_threshold=context_staleness_threshold,
        context_staleness_penalty_pct=context_staleness_penalty_pct,
        enforce_write_lock=enforce_write_lock,
    )
    return _told(call.core.use(Starting).start(spec_id, terms, force=force))


@action(reads=True, name="session", command="status", plain=True, legacy=("session-status",))
def status(call: Call, session_id: SessionId = "", spec_id: SpecId = "") -> Json:
    """How it stands."""
    return _told(call.core.use(Watching).status(RunSelector(session=session_id, spec=spec_id)))


@action(reads=False, name="session", command="pause", plain=True, legacy=("session-pause",))
def pause(call: Call, session_id: SessionId = "", spec_id: SpecId = "") -> Json:
    """Stop before the next step."""
    return _told(call.core.use(Commanding).pause(RunSelector(session=session_id, spec=spec_id)))


@action(
    reads=False,
    name="session",
    command="resume",
    plain=True,
    legacy=("session-resume",),
    hidden=("context_usage_pct",),
)
def resume(
    call: Call,
    session_id: SessionId = "",
    spec_id: SpecId = "",
    *,
    force: Force = False,
    acknowledge_gate_review: Acknowledged = False,
    acknowledged_gate_attempt_id: Attempt = "",
    context_usage_pct: Percent = None,
) -> Json:
    """Let it go on."""
    how = Resumption(
        force=force,
        is_acknowledged=acknowledge_gate_review,
        attempt=acknowledged_gate_attempt_id,
        pct=context_usage_pct,
    )
    return _told(
        call.core.use(Commanding).resume(RunSelector(session=session_id, spec=spec_id), how)
    )


@action(reads=False, name="session", command="rebase", legacy=("session-rebase",))
def rebase(
    call: Call, session_id: SessionId = "", spec_id: SpecId = "", *, force: Force = False
) -> Json:
    """Go on with the spec as it is."""
    done = call.core.use(Rebasing).rebase(
        RunSelector(session=session_id, spec=spec_id), force=force
    )
    fields = {**present_run(done.view), "rebase_result": present_difference(done.difference)}
    return present(fields, warnings=done.view.warnings)


@action(reads=False, destructive=True, name="session", command="end", legacy=("session-end",))
def end(
    call: Call,
    reason_code: ReasonCode,
    reason_detail: ReasonDetail = "",
    session_id: SessionId = "",
    spec_id: SpecId = "",
) -> Json:
    """End it before all is done."""
    why = Ending(code=reason_code, detail=reason_detail)
    return _told(call.core.use(Commanding).end(RunSelector(session=session_id, spec=spec_id), why))


@action(reads=True, name="session", command="list", plain=True, legacy=("session-list",))
def list_(call: Call, spec_id: SpecId = "", cursor: Cursor = "", limit: Limit = 20) -> Json:
    """Runs, the newest first."""
    pages = pages_of(call, cursor, "task session list", spec_id, first=None)
    after = (pages.at[0], pages.at[1]) if pages.at else None
    runs = call.core.use(Watching).list(spec_id, after, limit + 1)
    lines, further = pages.rows(runs, limit, run_line, lambda run: [run.created_at, run.session])
    fields: dict[str, Json] = {
        "sessions": lines,
        "cursor": further or None,
        "has_more": bool(further),
    }
    return present(fields, pagination=page(further, len(lines)))


@action(reads=False, destructive=True, name="session", command="reset", legacy=("session-reset",))
def reset(
    call: Call,
    session_id: SessionId,
    reason_code: ReasonCode,
    reason_detail: ReasonDetail = "",
) -> Json:
    """Give a failed one up."""
    why = Ending(code=reason_code, detail=reason_detail)
    return _told(call.core.use(Commanding).reset(RunSelector(session=session_id), why))


def configured_of(call: Call) -> Configured:
    """Return what is configured for the connection of a call; MalformedDocument."""
    return door_of(call).configured(call.settings.role, call.settings.posture)


def _told(view: RunView) -> Json:
    lacks = said_of_lacking(view.lacking)
    return present(present_run(view), warnings=(*view.warnings, *([lacks] if lacks else ())))


LIFECYCLE: Final = (start, status, pause, resume, rebase, end, list_, reset)
"""The commands, in the order of the list."""
