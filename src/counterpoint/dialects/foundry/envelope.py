"""The shape of answers and refusals: `success`, `data`, `error` and `meta`.

refusal                                                     code
a fact `error_code`                                         that one
faults of arguments: something required is missing          MISSING_REQUIRED
  an argument or an action that there is not                VALIDATION_ERROR
  a value that is wrong, or a cursor of another call        INVALID_FORMAT
a circle; a version that somebody else has changed          CIRCULAR_DEPENDENCY; VERSION_CONFLICT
invalid otherwise                                           VALIDATION_ERROR
not_found; conflict and gate; forbidden                     NOT_FOUND; CONFLICT; FORBIDDEN
a limit of calls was reached; of a month, or of money       RATE_LIMITED; RATE_LIMIT_EXCEEDED
no model can be asked; one that failed, or took too long    AI_NO_PROVIDER; AI_PROVIDER_ERROR, AI_PROVIDER_TIMEOUT
a question is longer than its model takes                   AI_CONTEXT_TOO_LARGE
a page: not to be asked; late; not fetched or read          BLOCKED_HOST; TIMEOUT; EXTRACT_FAILED
unavailable; a busy store                                   UNAVAILABLE; RESOURCE_BUSY
integrity, and what nobody foresaw                          INTERNAL_ERROR

The type is that of the code (models/environment.py). Every call has a request id, refused or not; `details` holds what a program
can act on.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from typing import Final, cast

from counterpoint.dialects import envelope
from counterpoint.dialects.envelope import (
    PEOPLE,
    Codes,
    Exceptions,
    fitting_facts,
    hint_of,
    message_of,
)
from counterpoint.dialects.foundry.models.environment import TYPES
from counterpoint.dialects.paging import sparse
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    AddressRefused,
    BudgetSpent,
    CounterpointError,
    CyclicDependency,
    NoProvider,
    PageFailed,
    PageTimedOut,
    ProviderFailed,
    ProviderTimedOut,
    QuestionTooLong,
    QuotaExceeded,
    RateLimited,
    StaleVersion,
    StoreBusy,
    Unexpected,
)
from counterpoint.protocol.faults import MISSING

VERSION: Final = "response-v2"
REMOVAL: Final = "3 months or 2 minor releases from now, whichever is later"
"""When a former name of an action is no longer accepted."""
MANY: Final = 75
"""A page of more entries comes with a warning."""

_CODES: Final[Codes] = {
    "not_found": "NOT_FOUND",
    "invalid": "VALIDATION_ERROR",
    "conflict": "CONFLICT",
    "gate": "CONFLICT",
    "forbidden": "FORBIDDEN",
    "integrity": "INTERNAL_ERROR",
    "unavailable": "UNAVAILABLE",
}
_EXCEPTIONS: Final[Exceptions] = (
    (CyclicDependency, "CIRCULAR_DEPENDENCY"),
    (StaleVersion, "VERSION_CONFLICT"),
    (QuotaExceeded, "RATE_LIMIT_EXCEEDED"),
    (RateLimited, "RATE_LIMITED"),
    (BudgetSpent, "RATE_LIMIT_EXCEEDED"),
    (StoreBusy, "RESOURCE_BUSY"),
    (NoProvider, "AI_NO_PROVIDER"),
    (QuestionTooLong, "AI_CONTEXT_TOO_LARGE"),
    (ProviderTimedOut, "AI_PROVIDER_TIMEOUT"),
    (AddressRefused, "BLOCKED_HOST"),
    (PageTimedOut, "TIMEOUT"),
    (PageFailed, "EXTRACT_FAILED"),
    (ProviderFailed, "AI_PROVIDER_ERROR"),
    (Unexpected, "INTERNAL_ERROR"),
)
_OF_META: Final = ("request_id", "telemetry", "deprecated")
"""Facts about the call, not about what is wrong."""
_OF_DATA: Final = ("loop_signal", "recommended_actions")
"""Facts that supervisors of unattended runs read beside the code."""
_WAIVABLE: Final = "waivable"
"""A fact for the hint alone: the closed gates of the node that a refusal is about."""
_WHICH: Final = frozenset({"", "action"})
"""Faults of these are not of a value's form."""
_PASTED: Final = 150
"""The most characters of a command that a hint repeats: longer ones are cut where they are told."""
_ID: Final = re.compile(r"(?<=`)(counterpoint [a-z]+) ID\b")
"""Where a command of a person names an item."""
PHRASES: Final[Phrases] = {
    **PEOPLE,
    Act.LOOK_UP: 'look with `spec action="list"` or `task action="list"`',
    Act.READ_AGAIN: 'read it again with `task action="info"`',
    Act.LIST_BELOW: '`task action="query"` with `parent` shows what is below',
    Act.TAKE_OTHER_WORK: 'take another task: `task action="next"`',
    Act.START: 'start it with `task action="start"`',
    Act.PROVE_CLAIM: "go on over the connection that started it",
    Act.CONTINUE: "connect again: that begins another session",
    Act.TAKE_OVER: "leave that one to whoever has it",
    Act.SET_ASIDE: 'until then say with `task action="block"` which command it waits for, and take another task:'
    ' `task action="next"`',
    Act.UNBLOCK: 'resolve what blocks it with `task action="unblock"`',
    Act.REOPEN: 'reopen it with `task action="update-status"`, a phase by a task in it,'
    ' a spec with `lifecycle action="activate"`',
    Act.RECORD: 'write it down with `journal action="add"`',
    Act.EXAMINE: 'look with `health action="check"`, or have a person run `counterpoint doctor`',
}
"""What the acts of hints are called here: each names the tool with its action, as it is called."""


def present(
    data: Mapping[str, Json],
    *,
    warnings: Sequence[str] = (),
    details: Sequence[Json] = (),
    pagination: Mapping[str, Json] | None = None,
    telemetry: Mapping[str, Json] | None = None,
) -> Json:
    """Return what a tool that succeeded answers.

    details: one object for each warning that a program can act on. pagination: that of `page`. telemetry: what was measured.
    """
    texts = list(warnings)
    if pagination and (pagination["has_more"] or cast("int", pagination["page_size"]) > MANY):
        texts.append("The list is long or goes on: narrow it, or ask for less at a time.")
    meta = sparse(
        version=VERSION,
        warnings=cast("Json", texts),
        warning_details=list(details),
        pagination=dict(pagination or {}),
        telemetry=dict(telemetry or {}),
    )
    return {"success": True, "data": dict(data), "error": None, "meta": meta}


def page(cursor: str, size: int, total: int | None = None) -> dict[str, Json]:
    """Return what is told of a page. cursor: where to go on, empty at the end; size: how many it has."""
    fields: dict[str, Json] = {
        "cursor": cursor or None,
        "has_more": bool(cursor),
        "page_size": size,
    }
    return fields if total is None else {**fields, "total_count": total}


def request_id(tool: str) -> str:
    """Return the id of a call of a tool."""
    return f"{tool}_{secrets.token_hex(6)}"


def stamped(answer: Json, **meta: Json) -> Json:
    """Return an answer of `present` with more said of the call; what was measured is added to."""
    whole = cast("dict[str, Json]", answer)
    fields = cast("dict[str, Json]", whole["meta"])
    if "telemetry" in fields and "telemetry" in meta:
        meta["telemetry"] = {**fields["telemetry"], **cast("dict[str, Json]", meta["telemetry"])}
    return {**whole, "meta": {**fields, **sparse(**meta)}}


def deprecated(called: str, present_name: str) -> dict[str, Json]:
    """Return what is told of a call by a name that an action had before."""
    return {"action": called, "replacement": present_name, "removal_target": REMOVAL}


def code_of(refusal: CounterpointError) -> str:
    """Return the code of a refusal."""
    code = refusal.facts.get("error_code")
    if isinstance(code, str) and code in TYPES:
        return code
    if "argument" in refusal.facts:
        return "INVALID_FORMAT"
    kind = envelope.code_of(refusal, _CODES, _EXCEPTIONS)
    listed = cast("Sequence[Json]", refusal.facts.get("faults", ()))
    faults = [cast("dict[str, Json]", fault) for fault in listed if isinstance(fault, dict)]
    return (_of_faults(faults) if refusal.kind == "invalid" else "") or kind


def _of_faults(faults: Sequence[Mapping[str, Json]]) -> str:
    """Return the code of faults of arguments; empty if they have none of their own."""
    if any(str(fault.get("problem", "")).startswith(MISSING) for fault in faults):
        return "MISSING_REQUIRED"
    # A fault with `valid` is of an argument that there is not, and names those there are. A command that there is not is a
    # wrong value, an action is not: so the released program says it.
    wrong = (fault for fault in faults if fault.get("path") not in _WHICH and "valid" not in fault)
    return "INVALID_FORMAT" if any(wrong) else ""


def _remediation(refusal: CounterpointError) -> str:
    """Return what to do next; a command of a person names the node, the gate if there is only one, and what is to be run."""
    hint = hint_of(refusal, PHRASES)
    about, gates = (
        refusal.facts.get("about"),
        cast("Sequence[Json]", refusal.facts.get("gates") or refusal.facts.get(_WAIVABLE, ())),
    )
    if isinstance(about, str):
        hint = _ID.sub(lambda match: f"{match[1]} {about}", hint)
    command = refusal.facts.get("command")
    if isinstance(command, str) and len(command) <= _PASTED:
        hint = hint.replace("'COMMAND'", shlex.quote(command))
    return hint.replace(" GATE --reason ", f" {gates[0]} --reason ") if len(gates) == 1 else hint


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal; `remediation` says what to do next."""
    code = code_of(refusal)
    facts = {
        name: fact
        for name, fact in refusal.facts.items()
        if name not in {*_OF_META, *_OF_DATA, _WAIVABLE, "error_code"}
    }
    meta = {name: fact for name, fact in refusal.facts.items() if name in _OF_META}
    data: dict[str, Json] = {
        "error_code": code,
        "error_type": TYPES[code],
        "remediation": _remediation(refusal),
        **{name: refusal.facts[name] for name in _OF_DATA if name in refusal.facts},
    }
    details: dict[str, Json] = {"kind": refusal.code, "retryable": refusal.retryable}
    answer: dict[str, Json] = {
        "success": False,
        "data": data,
        "error": message_of(refusal),
        "meta": {"version": VERSION, "request_id": request_id("foundry"), **meta},
    }
    if "remediation" in facts:
        # What it names is said in the words of this surface there only.
        facts["remediation"] = data["remediation"]
    skeleton = {**answer, **details}
    return {**answer, "data": {**data, "details": {**fitting_facts(facts, skeleton), **details}}}
