"""Receipts that prove that a verification ran.

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
    report: Mapping[str, Json] | None,
    step: IssuedStep,
    outcome: Outcome,
    receipts: Sequence[KeptReceipt],
    now: Timestamp,
) -> None:
    """Raise InvalidInput unless a report of a verification has the receipt that it needs, and that is valid.

    One that is not needed is checked all the same. receipts: of the node, since the step was issued.
    """
    if step.type != "execute_verification":
        return
    if report is None:
        if outcome == "success" and step.command:
            raise InvalidInput(
                f"a success of step {step.id} needs a receipt",
                hint=_AGAIN,
                remediation=_AGAIN,
                error_code="VERIFICATION_RECEIPT_MISSING",
            )
        return
    faults = list(_form_faults(report)) or list(_binding_faults(report, step, outcome, now))
    if not faults and receipt_of(report, receipts) is None:
        faults = [("verification_receipt", "is of no run that this server has kept")]
    if faults:
        raise InvalidInput(
            "; ".join(f"`{name}` {problem}" for name, problem in faults),
            hint=_AGAIN,
            remediation=_AGAIN,
            faults=[{"path": name, "problem": problem} for name, problem in faults],
            error_code="VERIFICATION_RECEIPT_INVALID",
        )


def receipt_of(
    report: Mapping[str, Json] | None, receipts: Sequence[KeptReceipt]
) -> KeptReceipt | None:
    """Return the stored receipt that a report names; None without one."""
    return (
        next((receipt for receipt in receipts if _is_of(report, receipt)), None) if report else None
    )


def _form_faults(report: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name in FIELDS:
        if report.get(name) is None:
            yield name, "is required"
    for name in report:
        if name not in FIELDS:
            yield name[:80], "is nothing that a receipt has"
    for name in ("command_hash", "output_digest"):
        value = report.get(name)
        if value is not None and not (isinstance(value, str) and _DIGEST.fullmatch(value)):
            yield name, f"is 64 lower-case hex digits, not {quoted(value)}"
    code = report.get("exit_code")
    if code is not None and not is_count(code):
        yield "exit_code", f"is a whole number, not {quoted(code)}"
    at = report.get("issued_at")
    if at is not None and _time(at) is None:
        yield (
            "issued_at",
            f"is a time with an offset, such as 2026-11-20T12:00:00Z, not {quoted(at)}",
        )


def _binding_faults(
    report: Mapping[str, Json], step: IssuedStep, outcome: Outcome, now: Timestamp
) -> Iterator[tuple[str, str]]:
    if report["step_id"] != step.id:
        yield "step_id", f"is not {step.id}"
    if report["command_hash"] != step.command:
        yield "command_hash", "is not that of the command of this verification"
    if outcome == "success" and report["exit_code"] != 0:
        yield "exit_code", "has to be 0 for a success"
    at = _time(report["issued_at"])
    if at is not None and not moment(step.issued_at) <= at <= moment(now) + AHEAD:
        yield "issued_at", f"lies outside the window of the step, which began at {step.issued_at}"


def _is_of(report: Mapping[str, Json], receipt: KeptReceipt) -> bool:
    """Whether a reported receipt agrees with a stored one."""
    reported = (report["command_hash"], report["exit_code"], report["output_digest"])
    return reported == (receipt.command_hash, receipt.exit_code, receipt.output_digest) and _time(
        report["issued_at"]
    ) == moment(receipt.issued_at)


def _time(value: Json) -> datetime | None:
    """Return a time that has an offset, or None."""
    if not isinstance(value, str):
        return None
    try:
        time = moment(value)
    except ValueError:
        return None
    return time if time.utcoffset() is not None else None
