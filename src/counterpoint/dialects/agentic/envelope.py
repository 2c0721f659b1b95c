"""The shape of answers and refusals: `success`, or `error` with its code.

kind of refusal                              code
invalid, conflict, gate; an ended session    validation_error
not_found                                    not_found
forbidden                                    permission_denied
a limit of calls, or of costs, was reached   rate_limited
unavailable, integrity                       service_unavailable
"""

from __future__ import annotations

from typing import Final

from counterpoint.dialects import envelope
from counterpoint.dialects.envelope import (
    PEOPLE,
    Codes,
    Exceptions,
    fitting_facts,
    hint_of,
    message_of,
)
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import BudgetSpent, CounterpointError, RateLimited, SessionEnded

_CODES: Final[Codes] = {
    "not_found": "not_found",
    "invalid": "validation_error",
    "conflict": "validation_error",
    "gate": "validation_error",
    "forbidden": "permission_denied",
    "integrity": "service_unavailable",
    "unavailable": "service_unavailable",
}
_EXCEPTIONS: Final[Exceptions] = (
    (RateLimited, "rate_limited"),
    (BudgetSpent, "rate_limited"),
    (SessionEnded, "validation_error"),
)
PHRASES: Final[Phrases] = {
    **PEOPLE,
    Act.LOOK_UP: "look with `plan_list`, `session_list` or `content_brief_list`",
    Act.READ_AGAIN: "read it again",
    Act.LIST_BELOW: "`phase_get` shows what is below",
    Act.TAKE_OTHER_WORK: "take another task; `phase_get` shows how this one stands",
    Act.START: "leave this task to its holder, and take another one",
    Act.CONTINUE: "go on with `session_continue`",
    Act.TAKE_OVER: "take over the work of that session with `session_continue`",
    Act.RESUME: "go on with `session_resume`",
    Act.NAME_SESSION: "name a session that `session_list` shows",
    Act.RECORD: "write it down with `session_log`",
    Act.SET_ASIDE: "until then set the task to blocked with `task_update`, and give the command that it waits for as the reason",
    Act.REOPEN: "reopen it with `task_update`, a phase with `phase_update_status`",
}


def present(**parts: Json) -> Json:
    """Return what a tool that succeeded answers."""
    return {"success": True, **parts}


def code_of(refusal: CounterpointError) -> str:
    """Return the code of a refusal."""
    return envelope.code_of(refusal, _CODES, _EXCEPTIONS)


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal; what a program can act on stands in `details`."""
    answer: dict[str, Json] = {"error": message_of(refusal), "code": code_of(refusal)}
    plain: dict[str, Json] = {
        "kind": refusal.code,
        "hint": hint_of(refusal, PHRASES),
        "retryable": refusal.retryable,
    }
    return {**answer, "details": {**fitting_facts(refusal.facts, {**answer, **plain}), **plain}}
