"""How many people must sign, changed at a terminal; and a proposal withdrawn."""

from __future__ import annotations

from counterpoint.cli.context import CommandContext
from counterpoint.cli.trust import signing
from counterpoint.cli.trust.confirming import confirmed
from counterpoint.kernel.errors import Forbidden


def change_signers(context: CommandContext, count: int, reason: str) -> None:
    """Say how many people must sign what changes policies, keys and epochs; signed by one of them, or by as many as must now."""
    verbs = context.core.joint_acts
    if verbs.state().threshold == count:
        return
    core = confirmed(
        context,
        lambda: verbs.proposed(count),
        lambda core: core.joint_acts.require(count, reason),
        reason,
    )
    core.joint_acts.require(count, reason)


def withdraw_proposal(context: CommandContext, name: str, reason: str) -> None:
    """Withdraw a proposal, signed by the person who made it."""
    step = context.core.joint_acts.withdrawal(name)
    signing.refuse_no_terminal()
    signer = signing.usable(context)
    if signer is None:
        raise Forbidden(
            "to withdraw a proposal takes the signature of who made it, and you hold no key",
            hint="`counterpoint key list` says whose keys are in force.",
        )
    signing.signed(context, step, signer, reason).joint_acts.write(step)
