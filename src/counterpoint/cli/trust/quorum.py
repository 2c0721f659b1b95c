"""Witnesses that must have signed, at the command line: asked for, asked now, and shown."""

from __future__ import annotations

from collections.abc import Sequence

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import Output
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.core.ledger.witnesses.quorum import WitnessPolicy, parse_policy
from counterpoint.core.model.trust.heads import AskedLess, QuorumReport
from counterpoint.core.operations.trust.witness_policy import QuorumStatus
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import counted


def change_quorum(
    context: CommandContext, count: int, keys: Sequence[str], reason: str
) -> WitnessPolicy:
    """Say how many of which witnesses must sign, signed by whoever has a key here; the head is signed and given to them.

    keys: verifier keys of witnesses; none: those that the policy names already, else those of the settings.
    """
    verbs = context.core.witness_policies
    policy = _parse(context, count, keys)
    before = verbs.current()
    core = context.core
    if (before.count, before.keys) != (policy.count, policy.keys):
        core = confirm_act(
            context,
            lambda: verbs.proposed(policy),
            lambda core: core.witness_policies.require(policy, reason),
            reason,
        )
    current = core.witness_policies.require(policy, reason)
    if current.count:
        context.core.signing.renew()
        context.core.witnessing.tell()
    return current


def _parse(context: CommandContext, count: int, keys: Sequence[str]) -> WitnessPolicy:
    texts = list(keys)
    if not texts and count:
        current = context.core.witness_policies.current()
        texts = [key.to_text() for key in current.keys] or [
            pair.split()[0] for pair in context.app.settings.witnesses.split(",") if pair.strip()
        ]
    if count > len(texts):
        raise InvalidInput(
            f"{count} cannot sign where {len(texts)} are named",
            hint="Give each with --witness, its key as `counterpoint witness` prints it: NAME+ID+KEY.",
        )
    return parse_policy({"quorum": count, "witnesses": texts})


@click.command("cosign", epilog=examples("counterpoint audit cosign"))
@with_context
def cosign_command(context: CommandContext) -> int:
    """Have the witnesses cosign the end of the ledger now; exit code 1 if too few of those that must have.

    A running server does it by itself, at most once a minute. The witnesses are those of COUNTERPOINT_WITNESSES.
    """
    core = context.core
    core.signing.renew()
    comparison = core.witnessing.tell()
    standing = core.witness_policies.standing()
    fault = standing.fault
    if context.out.json:
        answer = present_standing(standing)
        answer |= {
            "remarks": [fault.message for fault in (*comparison.faults, *comparison.remarks)]
        }
        context.out.answer(answer)
    else:
        print_standing(context.out, standing)
        for remark in (*comparison.faults, *comparison.remarks):
            context.out.aside(f"{remark.message}.")
        if fault is not None:
            context.out.aside(fault.hint)
    return 1 if fault is not None or comparison.faults else 0


def present_standing(standing: QuorumStatus) -> dict[str, Json]:
    """Return what is asked of witnesses as JSON, with who has signed."""
    signed = {key.name for key in standing.signers}
    missing: list[Json] = [name for name in standing.policy.names if name not in signed]
    return {
        "required": standing.policy.count,
        "witnesses": [key.to_text() for key in standing.policy.keys],
        "size": standing.size,
        "signed": [key.name for key in standing.signers],
        "missing": missing,
        "met": standing.fault is None,
    }


def print_standing(out: Output, standing: QuorumStatus, *, style: str = "") -> None:
    """Say how many of which witnesses must sign, and who has signed."""
    policy = said_of_policy(standing.policy.count, standing.policy.names)
    out.line(f"Witnesses: {policy}", style=style)
    if not standing.policy.count:
        return
    signed = [key.name for key in standing.signers]
    missing = [name for name in standing.policy.names if name not in signed]
    out.line(f"  signed    {', '.join(signed) or 'nobody'}, of {counted(standing.size, 'entry')}")
    if missing:
        out.line(f"  missing   {', '.join(missing)}: `counterpoint audit cosign` asks them")


def said_of_policy(count: int, names: Sequence[str]) -> str:
    """Return in words how many of which witnesses must sign: `2 of 3 must sign: w1, w2, w3`."""
    return f"{count} of {len(names)} must sign: {', '.join(names)}" if count else "none must sign"


def present_quorum(report: QuorumReport) -> Json:
    """Return what a verified ledger asks of witnesses as JSON; null if it never asked for any."""
    if not report.count and not report.lowered:
        return None
    return {
        "required": report.count,
        "witnesses": list(report.witnesses),
        "since": report.place if report.place >= 0 else None,
        "signed": list(report.signed),
        "lowered": [_present_lowering(lowering) for lowering in report.lowered],
    }


def _present_lowering(lowering: AskedLess) -> Json:
    return {
        "entry": lowering.place,
        "before": {"required": lowering.before[0], "witnesses": list(lowering.before[1])},
        "after": {"required": lowering.after[0], "witnesses": list(lowering.after[1])},
        "signed_by": lowering.signed_by or None,
    }


def print_quorum(out: Output, report: QuorumReport) -> None:
    """Say of a verified ledger who of the witnesses that must sign has signed, and where less was asked than before."""
    if report.count:
        signed = ", ".join(report.signed) or "nobody"
        out.line(
            f"  quorum    {said_of_policy(report.count, report.witnesses)} (entry {report.place}); signed: {signed}"
        )
    for lowering in report.lowered:
        by = f"signed with {lowering.signed_by}" if lowering.signed_by else "not signed by a person"
        out.line(
            f"  lowered   entry {lowering.place}: {said_of_policy(*lowering.after)}; before, {said_of_policy(*lowering.before)}; {by}"
        )
