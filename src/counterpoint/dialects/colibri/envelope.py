"""The envelopes: success, and two patterns of failure.

    success     {"ok": true, "data": …}
    pattern A   {"ok": false, "error": {"code", "message", "details"?}}, an error of the tool call:
                every call that is not valid, and whatever goes wrong in the tools for the system,
                skills and thoughts
    pattern B   {"ok": true, "data": {"ok": false, "error": {"code", "message", …}}}, no error of the
                call: what the rules refuse in the tools for tasks and proofs

A defect of the server or of the database is pattern A in every tool. Codes of A: INVALID_PARAMS (its
`details.issues` name each fault), MODE_DENIED, HANDLER_ERROR (`details.kind` says which).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from counterpoint.dialects.paging import PAGE, clip, size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    AlreadySealed,
    Conflict,
    CounterpointError,
    Forbidden,
    GateClosed,
    IllegalMove,
    InvalidInput,
    KeyReused,
    NotFound,
    NothingToSeal,
    NotSealed,
    SessionEnded,
    StaleVersion,
)

MODE_DENIED: Final = "MODE_DENIED"
_WORDS: Final = 3_000
_HINTS: Final[Mapping[str, str]] = {
    NotFound.default_hint: "Tasks are in `task_list`, thoughts in `thought_record_list`; the id of a"
    " session is what `audit_session_start` answered.",
    StaleVersion.default_hint: "Read it again with `task_get` and repeat the change.",
    AlreadyClaimed.default_hint: "Take other work from `task_next_actions`, or wait until the lease"
    " ends.",
    SessionEnded.default_hint: "Start another session with `audit_session_start`.",
}
"""What the core says of its own tools, said of those here."""
_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")

_TASKS: Final[tuple[tuple[type[CounterpointError], str], ...]] = (
    (NotFound, "ERR_NOT_FOUND"),
    (IllegalMove, "ERR_INVALID_TRANSITION"),
    (StaleVersion, "ERR_VERSION_CONFLICT"),
    (AlreadyClaimed, "ERR_TASK_CLAIMED"),
    (KeyReused, "ERR_KEY_REUSED"),
    (GateClosed, "ERR_GATE_CLOSED"),
    (SessionEnded, "ERR_SESSION_ENDED"),
    (Forbidden, "ERR_FORBIDDEN"),
    (InvalidInput, "ERR_INVALID_INPUT"),
    (Conflict, "ERR_CONFLICT"),
)
_PROOFS: Final[tuple[tuple[type[CounterpointError], str], ...]] = (
    (NotFound, "ERR_SESSION_NOT_FOUND"),
    (AlreadySealed, "ERR_ALREADY_FINALIZED"),
    (NotSealed, "ERR_NOT_FINALIZED"),
    (NothingToSeal, "ERR_NO_RECORDS"),
    (SessionEnded, "ERR_SESSION_ENDED"),
    (KeyReused, "ERR_KEY_REUSED"),
    (Forbidden, "ERR_FORBIDDEN"),
    (InvalidInput, "ERR_INVALID_INPUT"),
    (Conflict, "ERR_SESSION_EXISTS"),
)
_FAMILIES: Final = {
    **dict.fromkeys(
        ("task_create", "task_get", "task_update", "task_list", "task_next_actions"), _TASKS
    ),
    **dict.fromkeys(
        (
            *("audit_session_start", "merkle_finalize", "merkle_root", "merkle_proof"),
            *("merkle_consistency", "merkle_verify", "audit_sessions", "audit_session_abandon"),
        ),
        _PROOFS,
    ),
}


def success(data: Json) -> dict[str, Json]:
    """Return the envelope of what a tool answered."""
    return {"ok": True, "data": data}


def code_of(refusal: CounterpointError) -> str:
    """Return the code of a refusal in pattern A."""
    if refusal.facts.get("mode"):
        return MODE_DENIED
    return "INVALID_PARAMS" if _issues(refusal) else "HANDLER_ERROR"


def domain_code(tool: str, refusal: CounterpointError) -> str:
    """Return the code of a refusal in pattern B; empty if this tool tells it in pattern A."""
    if code_of(refusal) != "HANDLER_ERROR":
        return ""
    if refusal.facts.get("missing_fields"):
        return "ERR_WRITEBACK_REQUIRED"
    for kind, code in _FAMILIES.get(tool, ()):
        if isinstance(refusal, kind):
            return code
    return ""


def refuse(refusal: CounterpointError) -> dict[str, Json]:
    """Return a refusal in pattern A."""
    issues = _issues(refusal)
    error: dict[str, Json] = {
        "code": code_of(refusal),
        "message": clip(refusal.message, _WORDS),
    }
    facts = {"issues": issues} if issues else dict(refusal.facts)
    details = {
        "kind": refusal.code,
        "hint": _hint_of(refusal),
        "retryable": refusal.retryable,
        **facts,
    }
    return {"ok": False, "error": _fitting(error, "details", details)}


def present_refusal(code: str, refusal: CounterpointError) -> dict[str, Json]:
    """Return a refusal in pattern B."""
    error: dict[str, Json] = {
        "code": code,
        "message": clip(refusal.message, _WORDS),
        "hint": _hint_of(refusal),
        "retryable": refusal.retryable,
    }
    facts = {name: part for name, part in refusal.facts.items() if name not in error}
    whole = {**error, **facts}
    return success({"ok": False, "error": whole if size_of(whole) < PAGE - 100 else error})


def _fitting(error: dict[str, Json], name: str, part: dict[str, Json]) -> dict[str, Json]:
    """Return an error with its details, or with the first of them if they are too many."""
    if size_of(part) < PAGE - size_of(error) - 100:
        return {**error, name: part}
    return {**error, name: {key: part[key] for key in ("kind", "hint", "retryable")}}


def _hint_of(refusal: CounterpointError) -> str:
    """Return what to do next."""
    return clip(_HINTS.get(refusal.hint, refusal.hint), _WORDS)


def _issues(refusal: CounterpointError) -> list[Json]:
    """Return the faults of arguments that are not valid; none for any other refusal."""
    faults = refusal.facts.get("faults")
    if not isinstance(refusal, InvalidInput) or not isinstance(faults, list):
        return []
    listed = cast("list[Any]", faults)
    # Faults with a line instead of a path are of a document, not of the arguments.
    found = [cast("Mapping[str, Json]", one) for one in listed if isinstance(one, dict)]
    return [_issue(one) for one in found if "path" in one]


def _issue(fault: Mapping[str, Json]) -> dict[str, Json]:
    """Return one fault with its place as a list of names and numbers."""
    steps = _STEP.findall(str(fault["path"]))
    more = {name: part for name, part in fault.items() if name not in {"path", "problem"}}
    path = [int(number) if number else name for number, name in steps]
    return {"path": path, "message": fault["problem"], **more}
