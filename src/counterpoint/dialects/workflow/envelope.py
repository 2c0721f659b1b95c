"""The shape of refusals: `{"error": true, "code", "message", "hint", "details"}`.

kind of refusal                       code
invalid, conflict, gate, forbidden    VALIDATION_ERROR
not_found                             NOT_FOUND
unavailable: git is missing           GIT_ERROR
unavailable, integrity                INTERNAL_ERROR
"""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.envelope import (
    PEOPLE,
    Codes,
    code_of,
    fitting_facts,
    hint_of,
    message_of,
)
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, ProgramMissing

_CODES: Final[Codes] = {
    "not_found": "NOT_FOUND",
    "invalid": "VALIDATION_ERROR",
    "conflict": "VALIDATION_ERROR",
    "gate": "VALIDATION_ERROR",
    "forbidden": "VALIDATION_ERROR",
    "integrity": "INTERNAL_ERROR",
    "unavailable": "INTERNAL_ERROR",
}
PHRASES: Final[Phrases] = {
    **PEOPLE,
    Act.LOOK_UP: "give the id that `start_workflow`, `start_phase` or `start_task` answered;"
    " `get_context` lists phases, tasks and blockers",
    Act.READ_AGAIN: "read it again with `get_context`",
    Act.LIST_BELOW: "`get_context` shows what is below",
    Act.TAKE_OTHER_WORK: "leave this task: `get_context` shows how it stands",
    Act.START: "leave this task: `get_context` shows how it stands",
    Act.CONTINUE: "connect again: that begins another session",
    Act.TAKE_OVER: "leave that one to whoever has it",
    Act.RECORD: "write it down with `log_issue`",
    Act.SET_ASIDE: "until then write down with `log_issue`, for a person, which command it waits for, and end the task"
    " with `complete_task`, status partial_success",
    Act.UNBLOCK: "leave to a person what was flagged for one (`counterpoint unblock ID`); resolve other blockers with `log_issue`",
}


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal as an object that a caller can act on."""
    answer: dict[str, Json] = {
        "error": True,
        "code": code_of(refusal, _CODES, ((ProgramMissing, "GIT_ERROR"),)),
        "message": message_of(refusal),
        "hint": hint_of(refusal, PHRASES),
        "retryable": refusal.retryable,
    }
    kind: dict[str, Json] = {"kind": refusal.code}
    return {**answer, "details": {**kind, **fitting_facts(refusal.facts, {**answer, **kind})}}
