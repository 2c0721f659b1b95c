"""Answers about a run for an agent and its supervisor.

An answer is stored with the report that it was for, without proofs: these are derived when it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from counterpoint.dialects.foundry.nouns.autonomy import IssuedStep, PauseReason
from counterpoint.dialects.foundry.rules.autonomy.deciding import PAUSE_CODES, Fail, message_of
from counterpoint.dialects.foundry.rules.autonomy.gating import PhaseGate
from counterpoint.dialects.foundry.rules.autonomy.instructions import StepPlace, instructions
from counterpoint.dialects.foundry.rules.autonomy.signals import (
    Place,
    Standing,
    loop_signal,
    recommended_actions,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import Conflict, CounterpointError, LedgerBroken, NotFound

PROOF: Final = "step_proof"
STEP: Final = "next_step"
REFUSAL: Final = "refusal"
"""The field of an answer with the refusal that its caller gets, once the answer is stored."""
_TITLE: Final = 300
_NAMES: Final = 1_500
"""Bytes of a list of phases, with two quotes and a comma for each."""
_QUOTES: Final = 3
_KINDS: Final[Mapping[str, type[CounterpointError]]] = {
    "SPEC_NOT_FOUND": NotFound,
    "SPEC_REBASE_REQUIRED": Conflict,
    "SESSION_UNRECOVERABLE": LedgerBroken,
}
_HINTS: Final[Mapping[str, str]] = {
    "SPEC_NOT_FOUND": "End this run; its spec is not there any more.",
    "SPEC_REBASE_REQUIRED": "Rebase the run to the spec as it is. The report was taken: then ask for the next step without one.",
    "SESSION_UNRECOVERABLE": "Have a person look at it, then reset the run and start another.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """How a run stands after a call. spec: the id of its spec; gates: of its phases, in their order."""

    session: str
    spec: str
    status: str
    version: int
    pause_reason: str = ""
    failure_reason: str = ""
    gates: Sequence[PhaseGate] = ()

    @property
    def standing(self) -> Standing:
        """The same as signals see it."""
        return Standing(
            status=self.status,
            pause_reason=self.pause_reason,
            failure_reason=self.failure_reason,
        )


def answer(state: RunState, step: IssuedStep | None, title: str = "", reason: str = "") -> Json:
    """Build the answer about a run. step: the outstanding one; title: of its task; reason: of its pause."""
    awaited = next((gate for gate in state.gates if gate.awaits_person), None)
    about = awaited or next((gate for gate in state.gates if gate.status == "failed"), None)
    place_of_run = Place(
        session=state.session,
        spec=state.spec,
        phase=about.phase if about else "",
        attempt=awaited.attempt if awaited else "",
    )
    required = [gate.phase for gate in state.gates]
    satisfied = [gate.phase for gate in state.gates if gate.is_satisfied]
    missing = [gate.phase for gate in state.gates if not gate.is_satisfied]
    fields: dict[str, Json] = {
        "session_id": state.session,
        "spec_id": state.spec,
        "status": state.status,
        "state_version": state.version,
        STEP: _step(state, step, title, reason) if step else None,
        "required_phase_gates": _few(required),
        "satisfied_gates": _few(satisfied),
        "missing_required_gates": _few(missing),
        "loop_signal": loop_signal(state.standing),
        "recommended_actions": cast("Json", recommended_actions(state.standing, place_of_run)),
    }
    if state.pause_reason:
        fields["pause_reason"] = state.pause_reason
    if awaited is not None:
        fields |= {"phase_id": awaited.phase, "gate_attempt_id": awaited.attempt}
    if state.failure_reason:
        fields["failure_reason"] = state.failure_reason
    return fields


def refused(fail: Fail, session: str) -> Json:
    """Build the stored answer in place of a refusal, so that what was written with it stays."""
    return {REFUSAL: {"code": fail.code, "message": fail.message}, "session_id": session}


def refusal_in(data: Json) -> CounterpointError | None:
    """Return the refusal that an answer stands for; None if it is none."""
    refusal = object_of(object_of(data).get(REFUSAL))
    if not refusal:
        return None
    code = str(refusal["code"])
    kind = _KINDS[code]
    session = object_of(data).get("session_id")
    return kind(
        str(refusal["message"]),
        hint=_HINTS[code],
        remediation=_HINTS[code],
        session_id=session,
        error_code=code,
    )


def step_of(data: Json) -> dict[str, Json]:
    """Return the step of an answer; empty without one."""
    return object_of(object_of(data).get(STEP))


def pause_code(data: Json) -> str:
    """Return the error code of an answer's pause; empty without one."""
    reason = object_of(data).get("pause_reason", "")
    return PAUSE_CODES.get(cast("PauseReason", reason), "")


def _step(state: RunState, step: IssuedStep, title: str, reason: str) -> dict[str, Json]:
    step_context = StepPlace(
        spec=state.spec,
        session=state.session,
        step=step.id,
        task=step.task,
        phase=step.phase,
        attempt=step.attempt,
        has_command=bool(step.command),
    )
    return {
        "step_id": step.id,
        "type": step.type,
        "task_id": step.task or None,
        "phase_id": step.phase or None,
        "task_title": title[:_TITLE] or None,
        "gate_attempt_id": step.attempt or None,
        "instructions": [
            instruction.told() for instruction in instructions(step.type, step_context)
        ],
        "reason": reason or None,
        "message": message_of(step, cast("PauseReason", reason)),
        PROOF: None,
    }


def _few(names: Iterable[str]) -> list[Json]:
    """Return the first of some names, as many as fit."""
    fitting: list[Json] = []
    bytes_left = _NAMES
    for name in names:
        bytes_left -= len(name.encode()) + _QUOTES
        if bytes_left < 0:
            break
        fitting.append(name)
    return fitting
