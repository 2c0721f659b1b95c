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

from counterpoint.dialects.paging import PAGE, clip, size_of
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
_HINTS: Final[dict[str, str]] = {
    "`find` or `list`": "`list_issues`, if you have it",
    "run `verify` on it until it passes": "its check is run by a person or a native client",
    "`submit` its artifact": "its artifact is handed in by a native client",
    "ask another session to `review` it": "a person or a native client reviews it",
    "reopen the item with `edit` first": "ask a person to reopen the issue",
    "reopen it with `edit` first": "ask a person to reopen it",
    "reopen it with `edit`, or leave `parent` out": "make an issue of its own",
    "`list` with `parent` shows": "`get_issue` shows",
}
"""What hints of the core name, and agents of this dialect do not have."""
WORKSPACE: Final = "workspace"
"""The fact by which a refusal is one about the working tree."""
_WORDS: Final = 2_000


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal as an object that a caller can act on."""
    hint = clip(_worded(refusal.hint), _WORDS)
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


def _worded(hint: str) -> str:
    """Return what to do next, in tools that there are here."""
    for native, words in _HINTS.items():
        hint = hint.replace(native, words).replace(_begun(native), _begun(words))
    return hint


def _begun(words: str) -> str:
    return words[:1].upper() + words[1:]


def _code(refusal: CounterpointError) -> str:
    if WORKSPACE in refusal.facts:
        return "WORKSPACE_INVALID"
    special = (code for kind, code in _SPECIAL if isinstance(refusal, kind))
    return next(special, _CODES[refusal.kind])
