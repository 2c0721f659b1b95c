"""The shape of symphony refusals: `{"error", "code", "details"}`.

kind or class of refusal                                      code
not_found                                                     NOT_FOUND
invalid                                                       VALIDATION_ERROR
forbidden                                                     PERMISSION_DENIED
gate; IllegalMove, NotReady, OutOfOrder, SessionEnded,
NotClaimHolder, ClaimLost                                     INVALID_STATE
any other conflict                                            CONFLICT
RateLimited, QuotaExceeded                                    LIMIT_EXCEEDED
unavailable                                                   UNAVAILABLE
integrity, Unexpected                                         INTERNAL

A refusal about the working tree carries the fact `workspace` and has the code WORKSPACE_INVALID. `error`
is the message and what to do next; `details` has both apart, and the facts a program can act on.
"""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.envelope import (
    PEOPLE,
    Codes,
    Exceptions,
    code_of,
    fitting_facts,
    hint_of,
    message_of,
)
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    ClaimLost,
    CounterpointError,
    IllegalMove,
    NotClaimHolder,
    NotReady,
    OutOfOrder,
    RateLimited,
    SessionEnded,
    Unexpected,
)

_CODES: Final[Codes] = {
    "not_found": "NOT_FOUND",
    "invalid": "VALIDATION_ERROR",
    "conflict": "CONFLICT",
    "gate": "INVALID_STATE",
    "forbidden": "PERMISSION_DENIED",
    "integrity": "INTERNAL",
    "unavailable": "UNAVAILABLE",
}
_EXCEPTIONS: Final[Exceptions] = (
    (RateLimited, "LIMIT_EXCEEDED"),
    (Unexpected, "INTERNAL"),
    *(
        (class_, "INVALID_STATE")
        for class_ in (IllegalMove, NotReady, OutOfOrder, SessionEnded, NotClaimHolder, ClaimLost)
    ),
)
PHRASES: Final[Phrases] = {
    Act.LOOK_UP: "check the id with `list_issues`",
    Act.READ_AGAIN: "read it again with `get_issue`",
    Act.LIST_BELOW: "`get_issue` shows what is below",
    Act.TAKE_OTHER_WORK: "work on another issue",
    Act.START: "leave the issue to whoever works on it",
    Act.CONTINUE: "connect again: that begins another session",
    Act.TAKE_OVER: "leave that one to whoever has it",
    Act.SET_ASIDE: "until then set the issue to blocked with `update_issue_status`, and say in a finding of `add_finding`"
    " which command it waits for",
    Act.RECORD: "write it down with `add_finding`",
}
_ALL_TOOLS: Final[Phrases] = {**PEOPLE, **PHRASES}
WORKSPACE: Final = "workspace"
"""The fact by which a refusal is one about the working tree."""
_WORDS: Final = 2_000


def refuse(refusal: CounterpointError, phrases: Phrases = _ALL_TOOLS) -> Json:
    """Return a refusal as an object that a caller can act on; the hint in a connection's phrases."""
    hint = hint_of(refusal, phrases, _WORDS)
    code = code_of(refusal, _CODES, _EXCEPTIONS)
    answer: dict[str, Json] = {
        "error": f"{message_of(refusal, _WORDS).removesuffix('.')}. {hint}",
        "code": "WORKSPACE_INVALID" if WORKSPACE in refusal.facts else code,
    }
    plain = {"kind": refusal.code, "hint": hint, "retryable": refusal.retryable}
    return {**answer, "details": {**fitting_facts(refusal.facts, {**answer, **plain}), **plain}}
