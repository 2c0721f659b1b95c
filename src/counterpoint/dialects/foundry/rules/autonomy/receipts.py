"""What proves that a verification ran: the receipt that is reported.

    {command_hash, exit_code, output_digest, issued_at, step_id}

Valid if and only if (1) it has these fields and no others, each of its form: both digests 64 lower-case hex digits, the exit
code a whole number, the time with an offset; (2) it is of the step that is reported, and of the command that the step was
issued with; (3) its time lies between the issue of the step and five minutes from now; (4) a success has exit code 0;
(5) the server has a receipt of its own, since the step was issued, with the same command, code, output and time. A
verification without a command needs none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from counterpoint.dialects.foundry.nouns.autonomy import IssuedStep, Outcome
from counterpoint.dialects.foundry.rules.shape import is_count, quoted
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, moment
from counterpoint.kernel.errors import InvalidInput

FIELDS: Final = ("command_hash", "exit_code", "output_digest", "issued_at", "step_id")
AHEAD: Final = timedelta(minutes=5)
"""How far before the server's the clock may be that stamped a receipt."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_AGAIN: Final = "Have the verification executed for this step, and report the receipt that comes back, unchanged."


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReceipt:
    """What this server keeps of a command that it ran."""

    id: str
    command_hash: str
    exit_code: int
    output_digest: str
    issued_at: Timestamp


def refuse_receipt(
    given: Mapping[str, Json] | None,
    step: IssuedStep,
    outcome: Outcome,
    kept: Sequence[KeptReceipt],
    now: Timestamp,
) -> None:
    """Raise InvalidInput unless a report of a verification has the receipt that it needs, and that is valid.

    One that is not needed is checked all the same. kept: of the node, since the step was issued.
    """
    if step.type != "execute_verification":
        return
    if given is None:
        if outcome == "success" and step.command:
            raise InvalidInput(
                f"a success of step {step.id} needs a receipt",
                hint=_AGAIN,
                remediation=_AGAIN,
                error_code="VERIFICATION_RECEIPT_MISSING",
            )
        return
    faults = list(_form_faults(given)) or list(_binding_faults(given, step, outcome, now))
    if not faults and receipt_of(given, kept) is None:
        faults = [("verification_receipt", "is of no run that this server has kept")]
    if faults:
        raise InvalidInput(
            "; ".join(f"`{name}` {problem}" for name, problem in faults),
            hint=_AGAIN,
            remediation=_AGAIN,
            faults=[{"path": name, "problem": problem} for name, problem in faults],
            error_code="VERIFICATION_RECEIPT_INVALID",
        )


def receipt_of(given: Mapping[str, Json] | None, kept: Sequence[KeptReceipt]) -> KeptReceipt | None:
    """Return which of the kept receipts one says that may be taken; None without one."""
    return next((one for one in kept if _is_of(given, one)), None) if given else None


def _form_faults(given: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name in FIELDS:
        if given.get(name) is None:
            yield name, "is required"
    for name in given:
        if name not in FIELDS:
            yield name[:80], "is nothing that a receipt has"
    for name in ("command_hash", "output_digest"):
        value = given.get(name)
        if value is not None and not (isinstance(value, str) and _DIGEST.fullmatch(value)):
            yield name, f"is 64 lower-case hex digits, not {quoted(value)}"
    code = given.get("exit_code")
    if code is not None and not is_count(code):
        yield "exit_code", f"is a whole number, not {quoted(code)}"
    at = given.get("issued_at")
    if at is not None and _time(at) is None:
        yield (
            "issued_at",
            f"is a time with an offset, such as 2026-11-20T12:00:00Z, not {quoted(at)}",
        )


def _binding_faults(
    given: Mapping[str, Json], step: IssuedStep, outcome: Outcome, now: Timestamp
) -> Iterator[tuple[str, str]]:
    if given["step_id"] != step.id:
        yield "step_id", f"is not {step.id}"
    if given["command_hash"] != step.command:
        yield "command_hash", "is not that of the command of this verification"
    if outcome == "success" and given["exit_code"] != 0:
        yield "exit_code", "has to be 0 for a success"
    at = _time(given["issued_at"])
    if at is not None and not moment(step.issued_at) <= at <= moment(now) + AHEAD:
        yield "issued_at", f"lies outside the window of the step, which began at {step.issued_at}"


def _is_of(given: Mapping[str, Json], kept: KeptReceipt) -> bool:
    """Whether a receipt says what the server has kept of one run."""
    told = (given["command_hash"], given["exit_code"], given["output_digest"])
    return told == (kept.command_hash, kept.exit_code, kept.output_digest) and _time(
        given["issued_at"]
    ) == moment(kept.issued_at)


def _time(value: Json) -> datetime | None:
    """Return a time that has an offset, or None."""
    if not isinstance(value, str):
        return None
    try:
        found = moment(value)
    except ValueError:
        return None
    return found if found.utcoffset() is not None else None
