"""The shape of answers and refusals: `success`, or `error` with its code.

kind of refusal                              code
invalid, conflict, gate; an ended session    validation_error
not_found                                    not_found
forbidden                                    permission_denied
a limit of calls was reached                 rate_limited
unavailable, integrity                       service_unavailable
"""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.paging import PAGE, clip, size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    ClaimLost,
    CounterpointError,
    Kind,
    NotClaimHolder,
    NotFound,
    NotReady,
    RateLimited,
    SessionEnded,
    StaleVersion,
)

_CODES: Final[dict[Kind, str]] = {
    "not_found": "not_found",
    "invalid": "validation_error",
    "conflict": "validation_error",
    "gate": "validation_error",
    "forbidden": "permission_denied",
    "integrity": "service_unavailable",
    "unavailable": "service_unavailable",
}
_WORDS: Final = 3_000
_HINTS: Final[dict[str, str]] = {
    NotFound.default_hint: "Look with `plan_list`, `session_list` or `content_brief_list`.",
    StaleVersion.default_hint: "Read it again and repeat the change on what it is now.",
    AlreadyClaimed.default_hint: "Take another task, or wait until its holder is done with it.",
    NotReady.default_hint: "Take another task; `phase_get` shows what this one waits for.",
    ClaimLost.default_hint: "Leave this task to its holder, and take another one.",
    NotClaimHolder.default_hint: "Leave this task to its holder, and take another one.",
    SessionEnded.default_hint: "Go on with `session_continue`.",
}
"""What hints of the core say in the words of this dialect, where they name tools that it has not."""


def present(**parts: Json) -> Json:
    """Return what a tool that succeeded answers."""
    return {"success": True, **parts}


def code_of(refusal: CounterpointError) -> str:
    """Return the code of a refusal."""
    if isinstance(refusal, RateLimited):
        return "rate_limited"
    if isinstance(refusal, SessionEnded):
        return "validation_error"
    return _CODES[refusal.kind]


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal; what a program can act on stands in `details`."""
    answer: dict[str, Json] = {"error": clip(refusal.message, _WORDS), "code": code_of(refusal)}
    brief: dict[str, Json] = {
        "kind": refusal.code,
        "hint": clip(_HINTS.get(refusal.hint, refusal.hint), _WORDS),
        "retryable": refusal.retryable,
    }
    details = {**refusal.facts, **brief}
    fits = size_of(details) < PAGE - size_of(answer) - len(',"details":')
    return {**answer, "details": details if fits else brief}
