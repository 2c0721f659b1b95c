"""The steps of unattended runs: asked for, reported, and told again."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field, WithJsonSchema

from counterpoint.dialects.arguments import INTEGER
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.runs.rows import RunSelector
from counterpoint.dialects.foundry.runs.rules.deciding import pause_code, step_of
from counterpoint.dialects.foundry.runs.rules.results import RESULT_FIELDS, read_result
from counterpoint.dialects.foundry.runs.stepping import Replaying, StepAnswer, Stepping
from counterpoint.dialects.foundry.runs.steps import Heartbeat
from counterpoint.dialects.foundry.tools.shown import Percent, SessionId
from counterpoint.dialects.foundry.words import SpecId
from counterpoint.dialects.lacking import unallowed_lines
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.protocol.actions import action

_OBJECT: Final = WithJsonSchema({"type": "object"})

Result = Annotated[dict[str, Any] | None, Field(description=", ".join(RESULT_FIELDS)), _OBJECT]
Said = Annotated[Any, Field(description="Of the result")]
Tokens = Annotated[int | None, Field(ge=0, le=10**12), INTEGER]
Alive = Annotated[bool, Field(description="A sign of life")]


@action(
    reads=False,
    idempotent=False,
    name="session-step",
    command="next",
    legacy=("session-step-next",),
    hidden=("estimated_tokens_used",),
)
def next_(
    call: Call,
    session_id: SessionId = "",
    spec_id: SpecId = "",
    last_step_result: Result = None,
    context_usage_pct: Percent = None,
    estimated_tokens_used: Tokens = None,
    *,
    heartbeat: Alive = False,
) -> Json:
    """The next step, for the result of the one before."""
    result = read_result(last_step_result, {})
    sign = _sign(context_usage_pct, estimated_tokens_used, is_alive=heartbeat)
    selector = RunSelector(session=session_id, spec=spec_id)
    return _present(call.core.use(Stepping).next(selector, result, sign))


@action(
    reads=False,
    idempotent=False,
    name="session-step",
    command="report",
    legacy=("session-step-report",),
    hidden=("estimated_tokens_used", "heartbeat", *RESULT_FIELDS),
)
def report(
    call: Call,
    session_id: SessionId = "",
    spec_id: SpecId = "",
    last_step_result: Result = None,
    context_usage_pct: Percent = None,
    estimated_tokens_used: Tokens = None,
    *,
    heartbeat: Alive = False,
    step_id: Said = None,
    step_type: Said = None,
    outcome: Said = None,
    step_proof: Said = None,
    task_id: Said = None,
    phase_id: Said = None,
    note: Said = None,
    files_touched: Said = None,
    gate_attempt_id: Said = None,
    verification_receipt: Said = None,
) -> Json:
    """The same; the result's fields may stand alone."""
    flat: dict[str, Json] = {
        "step_id": step_id,
        "step_type": step_type,
        "outcome": outcome,
        "step_proof": step_proof,
        "task_id": task_id,
        "phase_id": phase_id,
        "note": note,
        "files_touched": files_touched,
        "gate_attempt_id": gate_attempt_id,
        "verification_receipt": verification_receipt,
    }
    result = read_result(last_step_result, flat, is_required=True)
    sign = _sign(context_usage_pct, estimated_tokens_used, is_alive=heartbeat)
    selector = RunSelector(session=session_id, spec=spec_id)
    return _present(call.core.use(Stepping).next(selector, result, sign))


@action(
    reads=False,
    name="session-step",
    command="replay",
    legacy=("session-step-replay",),
)
def replay(call: Call, session_id: SessionId = "", spec_id: SpecId = "") -> Json:
    """The step that is out, again."""
    return _present(call.core.use(Replaying).replay(RunSelector(session=session_id, spec=spec_id)))


@action(
    reads=False,
    name="session-step",
    command="heartbeat",
    legacy=("session-step-heartbeat", "session-heartbeat"),
    hidden=("estimated_tokens_used",),
)
def heartbeat(
    call: Call,
    session_id: SessionId = "",
    spec_id: SpecId = "",
    context_usage_pct: Percent = None,
    estimated_tokens_used: Tokens = None,
) -> Json:
    """Say that the agent is alive."""
    sign = Heartbeat(pct=context_usage_pct, tokens=estimated_tokens_used or 0)
    beat = call.core.use(Replaying).heartbeat(RunSelector(session=session_id, spec=spec_id), sign)
    return present(
        {
            "session_id": beat.session,
            "heartbeat_at": beat.at,
            "context_usage_pct": beat.pct,
            "context_source": beat.source,
        }
    )


def _sign(pct: int | None, tokens: int | None, *, is_alive: bool) -> Heartbeat | None:
    """Return the sign of life that comes with a call; None without one."""
    if pct is None and not tokens and not is_alive:
        return None
    return Heartbeat(pct=pct, tokens=tokens or 0)


def _present(answer: StepAnswer) -> Json:
    code = pause_code(answer.data)
    raw = step_of(answer.data).get("message")
    details: list[Json] = [{"code": code, "message": raw}] if code else []
    warnings = [*answer.warnings, *unallowed_lines(answer.lacking)]
    return present(object_of(answer.data), warnings=warnings, details=details)


STEPS: Final = (next_, report, replay, heartbeat)
"""The commands, in the order of the list."""
