"""Which commands to an unattended run are refused, and what for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from counterpoint.dialects.foundry.nouns.autonomy import (
    LIVE,
    REASON_CODES,
    Command,
    Role,
    SessionStatus,
    move_of,
)
from counterpoint.dialects.foundry.rules.autonomy.gating import PhaseGate
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms
from counterpoint.dialects.foundry.rules.shape import is_one_of, quoted
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    Forbidden,
    GateClosed,
    InvalidInput,
    NotFound,
)

DETAIL_LIMIT: Final = 2_000
KEY_LIMIT: Final = 128
_SHOWN: Final = 20

Beginning = Literal["begin", "answer", "replace"]
"""What a start does: it begins a run, answers with the one that there is, or ends that and begins another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRef:
    """A run as commands see it. attempt: the one at a gate that waits for a person, with its phase; empty if none does."""

    session: str
    spec: str
    status: SessionStatus
    pause_reason: str = ""
    idempotency: str = ""
    attempt: str = ""
    phase: str = ""
    is_locking: bool = True


def only_run(runs: Sequence[RunRef], selector: str = "") -> RunRef:
    """Return the run that a caller means, of those that fit; NotFound or Conflict.

    selector: what it was named by, the session or the spec; empty if by nothing.
    """
    if not runs:
        raise NotFound(
            f"there is no run of {quoted(selector)}" if selector else "no run is live",
            hint="Start one for the spec.",
            error_code="NO_ACTIVE_SESSION",
        )
    if len(runs) > 1:
        raise Conflict(
            f"{len(runs)} runs are live",
            hint="Name the one that you mean by session_id or `spec_id`.",
            sessions=[{"session_id": run.session, "spec_id": run.spec} for run in runs[:_SHOWN]],
            error_code="AMBIGUOUS_ACTIVE_SESSION",
        )
    return runs[0]


def beginning(run: RunRef | None, key: str, *, force: bool) -> Beginning:
    """Return what a start does; Conflict if another run is live. run: of the spec, the latest; key: of idempotency."""
    if len(key) > KEY_LIMIT:
        raise InvalidInput(f"`idempotency_key` has more than {KEY_LIMIT} characters")
    if run is None or run.status not in LIVE:
        return "begin"
    if key and key == run.idempotency:
        return "answer"
    if force:
        return "replace"
    raise _exists(run, "Go on with it, or end it; `force` ends it and starts another.")


def refuse_second(run: RunRef, live: RunRef | None) -> None:
    """Raise Conflict if a run that is not live is to go on while another one of its spec is. live: that one; None without."""
    if live is not None and live.session != run.session:
        raise _exists(live, "Go on with that one, or end it first.")


def refuse_command(
    command: Command, run: RunRef | None, *, force: bool = False, same_structure: bool = True
) -> SessionStatus:
    """Return the state of a run after a command other than start; raise the refusal of the table.

    same_structure: whether its spec has the structure that it knows.
    """
    move = move_of(command, run.status if run else None)
    if run is None:
        raise NotFound("there is no such run", hint="Start one.", error_code=move.code)
    if move.to is None or ("force" in move.asks and not force):
        raise _illegal(command, run, is_forcible=move.to is not None)
    if "same_structure" in move.asks and not same_structure:
        raise Conflict(
            f"the structure of {run.spec} is not what run {run.session} knows",
            hint="Rebase it to the spec as it is.",
            error_code="SPEC_REBASE_REQUIRED",
        )
    return move.to


def refuse_unacknowledged(run: RunRef, attempt: str, *, is_acknowledged: bool) -> None:
    """Raise while a paused run waits for a person to review a gate, and the caller does not say that this was done.

    attempt: the one that the caller says was reviewed. GateClosed or InvalidInput.
    """
    if run.pause_reason != "gate_review_required":
        return
    facts: dict[str, Json] = {"gate_attempt_id": run.attempt}
    if run.phase:
        facts["about"] = f"{run.spec}/{run.phase}"
    if not is_acknowledged:
        raise GateClosed(
            f"attempt {run.attempt} at the gate waits for a person",
            hint=f"{Act.REVIEW}, then resume. Whoever reviews it by resuming gives"
            " acknowledge_gate_review and the attempt.",
            **facts,
            error_code="MANUAL_GATE_ACK_REQUIRED",
        )
    if attempt != run.attempt:
        raise InvalidInput(
            f"{quoted(attempt)} is not the attempt that waits to be reviewed",
            hint="Give its id as acknowledged_gate_attempt_id.",
            **facts,
            error_code="INVALID_GATE_ACK",
        )


def refuse_unreasoned(code: Json, detail: Json, *, session_named: bool = True) -> None:
    """Raise InvalidInput unless a run is ended, reset or a gate waived for a reason of the list.

    session_named: whether the run was named by its id, which a reset asks for.
    """
    faults: list[dict[str, Json]] = []
    if not session_named:
        faults.append({"path": "session_id", "problem": "is required"})
    if code is None or code == "":
        faults.append({"path": "reason_code", "problem": "is required"})
    elif not is_one_of(code, REASON_CODES):
        problem = f"is one of {', '.join(REASON_CODES)}, not {quoted(code)}"
        faults.append({"path": "reason_code", "problem": problem})
    if detail is not None and not (isinstance(detail, str) and len(detail) <= DETAIL_LIMIT):
        problem = f"is a text of at most {DETAIL_LIMIT} characters"
        faults.append({"path": "reason_detail", "problem": problem})
    if faults:
        message = "; ".join(f"`{fault['path']}` {fault['problem']}" for fault in faults)
        raise InvalidInput(message, faults=faults)


def refuse_locked(
    run: RunRef | None,
    session: str,
    role: Role = "observer",
    terms: Terms | None = None,
    *,
    bypass: bool = False,
) -> None:
    """Raise while a run works on a spec and somebody else wants to change that. session: the one that the caller gives.

    A maintainer passes with `bypass` if his terms let him. Conflict or Forbidden.
    """
    if run is None or run.status != "running" or not run.is_locking or session == run.session:
        return
    if not bypass:
        raise Conflict(
            f"run {run.session} is working on {run.spec}",
            hint="Give its session_id if you work in it; else pause it first.",
            session_id=run.session,
            error_code="AUTONOMY_WRITE_LOCK_ACTIVE",
        )
    if role != "maintainer" or terms is None or not terms.may_bypass:
        raise Forbidden(
            "the lock of a run may not be bypassed here",
            hint="Pause the run first, or have a maintainer do it.",
            error_code="FORBIDDEN",
        )


def refuse_outside_run(role: Role, run: RunRef | None, session: str) -> None:
    """Raise Forbidden (AUTHORIZATION) unless a call names the run that goes on with its spec. run: that one, if there is one."""
    if run is not None and session == run.session:
        return
    if run is None:
        why, hint = "no run goes on with this spec", "Begin or resume one with `task session`."
    elif session:
        why, hint = f"{quoted(session)} is not the run of {run.spec}", "Name your own run."
    else:
        why, hint = "the call names none", "Give the session_id of your run."
    raise Forbidden(
        f"the role {role} changes a spec only in its own run, and {why}",
        hint=f"{hint} Each step of a run says which calls it asks for.",
        role=role,
        error_code="AUTHORIZATION",
    )


def refuse_stranger(run: RunRef, holder: str, *, is_strict: bool = False) -> None:
    """Raise Conflict for a call that names a run which somebody else is at. holder: who; empty for nobody else.

    Everybody can read the id of a run: to name it proves nothing. is_strict: also where the run keeps nobody out.
    """
    if holder and run.status == "running" and (run.is_locking or is_strict):
        raise Conflict(
            f"{holder} is at run {run.session} of {run.spec}",
            hint="Leave the spec to whoever is at its run, or pause that first.",
            session_id=run.session,
            error_code="AUTONOMY_WRITE_LOCK_ACTIVE",
        )


def refuse_auto_mode(spec_id: str) -> None:
    """Raise InvalidInput if a run is configured without its spec."""
    if not spec_id:
        raise InvalidInput(
            "`auto_mode` is about one spec",
            hint="Give `spec_id`.",
            error_code="AUTO_MODE_SPEC_REQUIRED",
        )


def refuse_waiver(
    phase: str, gates: Mapping[str, PhaseGate], role: Role, terms: Terms
) -> PhaseGate:
    """Return the gate of a phase that may be waived; Forbidden, NotFound or InvalidInput.

    gates: those of the spec by phase. That nobody waives what he worked on himself is the core's to refuse.
    """
    if role != "maintainer" or not terms.may_waive:
        raise Forbidden(
            "gates may not be waived here",
            hint=f"{Act.WAIVE}.",
            error_code="FORBIDDEN",
        )
    gate = gates.get(phase)
    if gate is None:
        raise NotFound(
            f"there is no gate of a phase {quoted(phase)}",
            hint="Use one of available_phases.",
            available_phases=list(gates)[:100],
            error_code="NOT_FOUND",
        )
    if gate.is_satisfied:
        raise InvalidInput(f"the gate of {phase} is {gate.status} already", gate_status=gate.status)
    return gate


def _exists(run: RunRef, hint: str) -> Conflict:
    return Conflict(
        f"run {run.session} of {run.spec} is {run.status}",
        hint=hint,
        session_id=run.session,
        session_status=run.status,
        error_code="SPEC_SESSION_EXISTS",
    )


def _illegal(command: Command, run: RunRef, *, is_forcible: bool) -> CounterpointError:
    ways = "Read how it stands, and use a command that fits."
    return Conflict(
        f"a run that is {run.status} cannot be met with `{command}`",
        hint=f"Say `force` if you mean it. {ways}" if is_forcible else ways,
        session_id=run.session,
        session_status=run.status,
        error_code="INVALID_STATE_TRANSITION",
    )
