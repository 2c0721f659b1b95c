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

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    ClaimLost,
    CounterpointError,
    IllegalMove,
    Kind,
    NotClaimHolder,
    NotReady,
    OutOfOrder,
    RateLimited,
    SessionEnded,
    Unexpected,
)
from counterpoint.surfaces.paging import PAGE, clip, size_of

_CODES: Final[dict[Kind, str]] = {
    "not_found": "NOT_FOUND",
    "invalid": "VALIDATION_ERROR",
    "conflict": "CONFLICT",
    "gate": "INVALID_STATE",
    "forbidden": "PERMISSION_DENIED",
    "integrity": "INTERNAL",
    "unavailable": "UNAVAILABLE",
}
_SPECIAL: Final[tuple[tuple[type[CounterpointError], str], ...]] = (
    (RateLimited, "LIMIT_EXCEEDED"),
    (Unexpected, "INTERNAL"),
    (IllegalMove, "INVALID_STATE"),
    (NotReady, "INVALID_STATE"),
    (OutOfOrder, "INVALID_STATE"),
    (SessionEnded, "INVALID_STATE"),
    (NotClaimHolder, "INVALID_STATE"),
    (ClaimLost, "INVALID_STATE"),
)
WORKSPACE: Final = "workspace"
"""The fact by which a refusal is one about the working tree."""
_WORDS: Final = 2_000


def refuse(refusal: CounterpointError) -> Json:
    """Answer a refusal as an object that a caller can act on."""
    hint = clip(refusal.hint, _WORDS)
    answer: dict[str, Json] = {
        "error": f"{clip(refusal.message, _WORDS).removesuffix('.')}. {hint}",
        "code": _code(refusal),
    }
    plain: dict[str, Json] = {
        "kind": refusal.code,
        "hint": hint,
        "retryable": refusal.retryable,
    }
    details = {**refusal.facts, **plain}
    fits = size_of(details) < PAGE - size_of(answer) - len('"details":,')
    return {**answer, "details": details if fits else plain}


def _code(refusal: CounterpointError) -> str:
    if WORKSPACE in refusal.facts:
        return "WORKSPACE_INVALID"
    special = (code for kind, code in _SPECIAL if isinstance(refusal, kind))
    return next(special, _CODES[refusal.kind])
