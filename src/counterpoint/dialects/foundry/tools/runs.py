"""Actions of the tool `task` about runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Final, cast

from pydantic import Field

from counterpoint.core.rules.trust.commands import allowing_options
from counterpoint.dialects.arguments import INTEGER, TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.models.specs import JournalEntry, PhaseLine
from counterpoint.dialects.foundry.runs.gates import Waiving
from counterpoint.dialects.foundry.runs.guarded import door_of
from counterpoint.dialects.foundry.runs.rows import (
    Ending,
    Resumption,
    Run,
    RunSelector,
    RunView,
    TaskLine,
)
from counterpoint.dialects.foundry.runs.rules.commands import refuse_auto_mode
from counterpoint.dialects.foundry.runs.rules.limits import (
    MAX_CONSULTATIONS,
    MAX_CONTEXT_TOKENS,
    SPELLINGS,
    WARN_AT,
    Configured,
    Terms,
    is_started_as_maintainer,
)
from counterpoint.dialects.foundry.runs.rules.results import Difference
from counterpoint.dialects.foundry.runs.rules.signals import (
    Place,
    Standing,
    loop_signal,
    recommended_actions,
)
from counterpoint.dialects.foundry.runs.sessions import Commanding, Watching
from counterpoint.dialects.foundry.runs.starting import Rebasing, Starting
from counterpoint.dialects.foundry.tools.shown import (
    META,
    Flag,
    Force,
    Number,
    Percent,
    Policy,
    Posture,
    ReasonCode,
    ReasonDetail,
    SessionId,
    clipped,
)
from counterpoint.dialects.foundry.words import Cursor, Limit, PhaseId, SpecId
from counterpoint.dialects.lacking import said_of_lacking
from counterpoint.dialects.paging import PAGE, clip, pages_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.actions import action

_TITLE: Final = 200
_COUNTS: Final = 30
"""How many tasks and phases are told of which a run counts something."""
_NAMES: Final = 50
SUMMARY: Final = 600
"""The most bytes of what an event says."""


def run_line(run: Run) -> dict[str, Json]:
    """Return a run as it is listed."""
    return {
        "session_id": run.session,
        "spec_id": run.spec,
        "status": run.status,
        "effective_status": run.effective,
        "pause_reason": run.pause_reason or None,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "active_phase_id": run.phase or None,
        "tasks_completed": run.tasks_completed,
    }


def present_run(view: RunView) -> dict[str, Json]:
    """Return a run with all that is told of it."""
    run, phase, last = view.run, view.phase, view.last
    cycles = view.counters.cycles_of(phase.id) if phase else 0
    counted: dict[str, Json] = {
        "consecutive_errors": view.counters.consecutive_errors,
        "fidelity_review_cycles_in_active_phase": cycles,
    }
    is_at_task = last is not None and view.is_out and bool(last.task)
    standing = Standing(
        status=run.effective, pause_reason=run.pause_reason, failure_reason=run.failure_reason
    )
    target = Place(
        session=run.session,
        spec=run.spec,
        phase=phase.id if phase else "",
        attempt=view.attempt,
        lacking="" if view.lacking.why else allowing_options(view.lacking.commands),
    )
    ways = recommended_actions(standing, target)
    return {
        **run_line(run),
        "active_phase_id": phase.id if phase else None,
        "failure_reason": run.failure_reason or None,
        "state_version": view.version,
        "posture_profile": view.posture or None,
        **present_terms(view.terms),
        "counters": {"tasks_completed": view.counters.tasks_completed, **counted},
        "retry_counters": {
            **counted,
            "phase_retry_counts": _counts(view.counters.phase_retries),
            "task_retry_counts": _counts(view.counters.task_retries),
        },
        "context": {"usage_pct": view.context_pct, "source": view.context_source},
        "last_heartbeat_at": view.heartbeat_at,
        "paused_at": view.paused_at or None,
        "last_step_id": last.id if last else None,
        "last_step_type": last.type if last else None,
        "current_task_id": last.task if last and is_at_task else None,
        "active_phase_progress": _progress(phase) if phase else None,
        "session_signal": loop_signal(standing),
        "next_action_hint": _hint(run, ways),
        "resume_context": _resume_context(view),
        **sparse(
            recommended_actions=cast("list[Json]", ways),
            gate_attempt_id=view.attempt,
            reason_code=view.reason_code,
        ),
    }


def present_terms(terms: Terms) -> dict[str, Json]:
    """Return what a run is held to."""
    return {
        "gate_policy": terms.policy,
        "limits": asdict(terms.limits),
        "stop_conditions": asdict(terms.stop),
        "write_lock_enforced": terms.is_locking,
    }


def session_defaults(terms: Terms) -> dict[str, Json]:
    """Return what a run is held to if its start says nothing else."""
    return {"gate_policy": terms.policy, **asdict(terms.limits), **asdict(terms.stop)}


def present_difference(difference: Difference) -> dict[str, Json]:
    """Return what a rebase found, each list cut to what fits."""
    return {
        name: cast("list[Json]", value)[:_NAMES] if isinstance(value, list) else value
        for name, value in difference.told().items()
    }


def present_event(run: Run, entry: JournalEntry) -> dict[str, Json]:
    """Return an event of a run."""
    about = dict(entry.metadata)
    action = about.get("action")
    return {
        "event_id": f"{run.session}:{entry.number}",
        "session_id": run.session,
        "spec_id": run.spec,
        "timestamp": entry.timestamp,
        "event_type": entry.entry_type,
        **sparse(action=action if isinstance(action, str) else ""),
        "title": clip(entry.title, _TITLE),
        "summary": clip(entry.content, SUMMARY),
        "author": clip(entry.author, _TITLE),
        **sparse(task_id=entry.task, details=clipped(about)),
    }


def _counts(counts: Mapping[str, int]) -> dict[str, Json]:
    """Return the highest of some counts, by name."""
    first = sorted(counts, key=lambda name: (-counts[name], name))[:_COUNTS]
    return {name: counts[name] for name in first}


def _progress(phase: PhaseLine) -> Json:
    return {
        "phase_id": phase.id,
        "title": clip(phase.title, _TITLE),
        "status": phase.status,
        "completed_tasks": phase.tally.completed,
        "total_tasks": phase.tally.total,
        "percentage": phase.tally.percentage,
    }


def _resume_context(view: RunView) -> Json:
    phase = view.phase
    return {
        "spec_id": view.run.spec,
        "spec_title": clip(view.title, _TITLE),
        "active_phase_id": phase.id if phase else None,
        "active_phase_title": clip(phase.title, _TITLE) if phase else None,
        "completed_task_count": view.counters.tasks_completed,
        "recent_completed_tasks": _tasks(view.recent),
        "completed_phases": list[Json](view.completed_phases[:_NAMES]),
        "pending_tasks_in_phase": _tasks(view.pending),
        "last_pause_reason": view.last_pause or None,
        "journal_available": True,
        "journal_hint": f"journal list spec_id={view.run.spec}",
    }


def _tasks(lines: Sequence[TaskLine]) -> Json:
    return [
        {"task_id": line.id, "title": clip(line.title, _TITLE), "phase_id": line.phase or None}
        for line in lines
    ]


def _hint(run: Run, ways: Sequence[Mapping[str, Json]]) -> str | None:
    """Return the call that goes on with a run; None if it is over."""
    if run.effective == "running":
        return f"task session-step next session_id={run.session}"
    if ways:
        return str(ways[0]["command"])
    return f"task session resume session_id={run.session}" if run.effective == "paused" else None


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


@action(reads=False, destructive=True)
def gate_waiver(
    call: Call,
    phase_id: PhaseId,
    reason_code: ReasonCode,
    reason_detail: ReasonDetail = "",
    spec_id: SpecId = "",
    session_id: SessionId = "",
) -> Json:
    """Let a phase's gate be open; for a maintainer who did not work on it."""
    settings, configured = call.settings, configured_of(call)
    waived = call.core.use(Waiving).waive(
        RunSelector(session=session_id, spec=spec_id),
        phase_id,
        Ending(code=reason_code, detail=reason_detail),
        configured,
        is_maintainer=is_started_as_maintainer(settings.role, settings.posture),
    )
    return present(
        {
            "session_id": waived.session or None,
            "spec_id": waived.spec,
            "phase_id": waived.phase,
            "gate_status": "waived",
            "waiver_id": waived.waiver,
            "reason_code": waived.reason_code,
            "reason_detail": waived.reason_detail,
            "waived_at": waived.waived_at,
            "waived_by_role": configured.role,
        }
    )


WAIVING: Final = (gate_waiver,)
"""The actions, in the order of the list."""
