"""The envelopes: success, and two patterns of failure.

    success     {"ok": true, "data": …}
    pattern A   {"ok": false, "error": {"code", "message", "details"?}}, an error of the tool call:
                every call that is not valid, and whatever goes wrong in the tools for the system,
                skills and thoughts
    pattern B   {"ok": true, "data": {"ok": false, "error": {"code", "message", …}}}, no error of the
                call: what the rules refuse in the tools for tasks and proofs

A defect of the server or of the database is pattern A in every tool. Codes of A: INVALID_PARAMS (its
`details.issues` name each fault, with Zod's `code`), MODE_DENIED, HANDLER_ERROR (`details.kind` says which).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from counterpoint.dialects.envelope import PEOPLE, Exceptions, fitting_facts, hint_of, message_of
from counterpoint.kernel.acts import Act, Phrases
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
from counterpoint.protocol.faults import KINDS

MODE_DENIED: Final = "MODE_DENIED"
PHRASES: Final[Phrases] = {
    **PEOPLE,
    Act.LOOK_UP: "tasks are in `task_list`, thoughts in `thought_record_list`; the id of a session is"
    " what `audit_session_start` answered",
    Act.READ_AGAIN: "read it again with `task_get`",
    Act.LIST_BELOW: "`task_list` shows what is below",
    Act.TAKE_OTHER_WORK: "take other work from `task_next_actions`",
    Act.START: "leave this task to its holder",
    Act.CONTINUE: "start another session with `audit_session_start`",
    Act.TAKE_OVER: "leave that one to whoever has it",
    Act.SET_ASIDE: "until then write down with `thought_record` which command it waits for, and take other work from"
    " `task_next_actions`",
    Act.RECORD: "write it down with `thought_record`",
}
_ZOD: Final[Mapping[str, str]] = {
    "missing": "invalid_type",
    "unknown": "unrecognized_keys",
    "literal_error": "invalid_enum_value",
    "string_too_short": "too_small",
    "too_short": "too_small",
    "greater_than": "too_small",
    "greater_than_equal": "too_small",
    "string_too_long": "too_big",
    "too_long": "too_big",
    "less_than": "too_big",
    "less_than_equal": "too_big",
    "string_pattern_mismatch": "invalid_string",
    "multiple_of": "not_multiple_of",
    "finite_number": "not_finite",
}
"""Zod's code of what is wrong with an argument, by its kind; a value of another type is `invalid_type`, anything else `custom`."""
_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")

_TASKS: Final[Exceptions] = (
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
_PROOFS: Final[Exceptions] = (
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
    error: dict[str, Json] = {"code": code_of(refusal), "message": message_of(refusal)}
    plain: dict[str, Json] = {
        "kind": refusal.code,
        "hint": hint_of(refusal, PHRASES),
        "retryable": refusal.retryable,
    }
    facts = fitting_facts({"issues": issues} if issues else refusal.facts, {**error, **plain})
    return {"ok": False, "error": {**error, "details": {**plain, **facts}}}


def present_refusal(code: str, refusal: CounterpointError) -> dict[str, Json]:
    """Return a refusal in pattern B."""
    error: dict[str, Json] = {
        "code": code,
        "message": message_of(refusal),
        "hint": hint_of(refusal, PHRASES),
        "retryable": refusal.retryable,
    }
    return success({"ok": False, "error": {**error, **fitting_facts(refusal.facts, error)}})


def _issues(refusal: CounterpointError) -> list[Json]:
    """Return the faults of arguments that are not valid; none for any other refusal."""
    faults = refusal.facts.get("faults")
    if not isinstance(refusal, InvalidInput) or not isinstance(faults, list):
        return []
    listed = cast("list[Any]", faults)
    kinds = [*refusal.kinds, *[""] * len(listed)]
    # Faults with a line instead of a path are of a document, not of the arguments.
    typed_faults = [
        (cast("Mapping[str, Json]", fault), kind)
        for fault, kind in zip(listed, kinds, strict=False)
        if isinstance(fault, dict)
    ]
    return [_issue(fault, kind) for fault, kind in typed_faults if "path" in fault]


def _issue(fault: Mapping[str, Json], kind: str) -> dict[str, Json]:
    """Return one fault with Zod's code for its kind, and its place as a list of names and numbers."""
    steps = _STEP.findall(str(fault["path"]))
    more = {name: part for name, part in fault.items() if name not in {"path", "problem"}}
    path = [int(number) if number else name for number, name in steps]
    code = _ZOD.get(kind) or ("invalid_type" if kind in KINDS else "custom")
    return {"code": code, "path": path, "message": fault["problem"], **more}
