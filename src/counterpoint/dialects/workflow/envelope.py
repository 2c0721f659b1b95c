"""The shape of refusals: `{"error": true, "code", "message", "hint", "details"}`.

kind of refusal                       code
invalid, conflict, gate, forbidden    VALIDATION_ERROR
not_found                             NOT_FOUND
unavailable: git is missing           GIT_ERROR
unavailable, integrity                INTERNAL_ERROR
"""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.paging import PAGE, clip, size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    ClaimLost,
    CounterpointError,
    Kind,
    NotClaimHolder,
    NotFound,
    ProgramMissing,
    SessionEnded,
)

_CODES: Final[dict[Kind, str]] = {
    "not_found": "NOT_FOUND",
    "invalid": "VALIDATION_ERROR",
    "conflict": "VALIDATION_ERROR",
    "gate": "VALIDATION_ERROR",
    "forbidden": "VALIDATION_ERROR",
    "integrity": "INTERNAL_ERROR",
    "unavailable": "INTERNAL_ERROR",
}
_WORDS: Final = 3_000
_HINTS: Final[dict[type[CounterpointError], str]] = {
    NotFound: "Give the id that `start_workflow`, `start_phase` or `start_task` answered; "
    "`get_context` lists phases, tasks and blockers.",
    ClaimLost: "Stop working on this task: `get_context` shows how it stands.",
    NotClaimHolder: "Stop working on this task: `get_context` shows how it stands.",
    SessionEnded: "Connect again: that begins another session.",
}
"""What to do next, where the core names tools that this surface does not have."""


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal as an object that a caller can act on."""
    code = "GIT_ERROR" if isinstance(refusal, ProgramMissing) else _CODES[refusal.kind]
    answer: dict[str, Json] = {
        "error": True,
        "code": code,
        "message": clip(refusal.message, _WORDS),
        "hint": clip(_hint_of(refusal), _WORDS),
        "retryable": refusal.retryable,
    }
    details = {"kind": refusal.code, **refusal.facts}
    return {**answer, "details": details} if size_of(details) < PAGE - size_of(answer) else answer


def _hint_of(refusal: CounterpointError) -> str:
    usual = refusal.hint == refusal.default_hint
    return _HINTS.get(type(refusal), refusal.hint) if usual else refusal.hint
