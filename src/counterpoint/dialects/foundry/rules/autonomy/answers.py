"""What an agent and its supervisor learn about a run.

An answer is kept with the report that it came for, and so is without proofs: these are worked out when it is told.
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
"""Where an answer holds the refusal that its caller hears, once what it says is written."""
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
    """Return what is told of a run. step: the one that is out; title: of its task; reason: of a pause that it tells."""
    awaited = next((gate for gate in state.gates if gate.awaits_person), None)
    about = awaited or next((gate for gate in state.gates if gate.status == "failed"), None)
    place = Place(
        session=state.session,
        spec=state.spec,
        phase=about.phase if about else "",
        attempt=awaited.attempt if awaited else "",
    )
    required = [gate.phase for gate in state.gates]
    satisfied = [gate.phase for gate in state.gates if gate.is_satisfied]
    missing = [gate.phase for gate in state.gates if not gate.is_satisfied]
    told: dict[str, Json] = {
        "session_id": state.session,
        "spec_id": state.spec,
        "status": state.status,
        "state_version": state.version,
        STEP: _step(state, step, title, reason) if step else None,
        "required_phase_gates": _few(required),
        "satisfied_gates": _few(satisfied),
        "missing_required_gates": _few(missing),
        "loop_signal": loop_signal(state.standing),
        "recommended_actions": cast("Json", recommended_actions(state.standing, place)),
    }
    if state.pause_reason:
        told["pause_reason"] = state.pause_reason
    if awaited is not None:
        told |= {"phase_id": awaited.phase, "gate_attempt_id": awaited.attempt}
    if state.failure_reason:
        told["failure_reason"] = state.failure_reason
    return told


def refused(fail: Fail, session: str) -> Json:
    """Return what is answered in place of a refusal that what was written has to outlive."""
    return {REFUSAL: {"code": fail.code, "message": fail.message}, "session_id": session}


def refusal_in(data: Json) -> CounterpointError | None:
    """Return the refusal that an answer stands for; None if it is none."""
    told = object_of(object_of(data).get(REFUSAL))
    if not told:
        return None
    code = str(told["code"])
    kind = _KINDS[code]
    session = object_of(data).get("session_id")
    return kind(
        str(told["message"]),
        hint=_HINTS[code],
        remediation=_HINTS[code],
        session_id=session,
        error_code=code,
    )


def step_of(data: Json) -> dict[str, Json]:
    """Return the step that an answer tells; empty if it tells none."""
    return object_of(object_of(data).get(STEP))


def pause_code(data: Json) -> str:
    """Return what the pause that an answer tells is called among the codes of refusals; empty without one."""
    said = object_of(data).get("pause_reason", "")
    return PAUSE_CODES.get(cast("PauseReason", said), "")


def _step(state: RunState, step: IssuedStep, title: str, reason: str) -> dict[str, Json]:
    place = StepPlace(
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
        "instructions": [one.told() for one in instructions(step.type, place)],
        "reason": reason or None,
        "message": message_of(step, cast("PauseReason", reason)),
        PROOF: None,
    }


def _few(names: Iterable[str]) -> list[Json]:
    """Return the first of some names, as many as fit."""
    found: list[Json] = []
    room = _NAMES
    for name in names:
        room -= len(name.encode()) + _QUOTES
        if room < 0:
            break
        found.append(name)
    return found
