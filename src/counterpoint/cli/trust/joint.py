"""Proposals that several people sign: who has signed, and what the next one types."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

from counterpoint.cli.context import CommandContext
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.people.joint import Joint, Proposal
from counterpoint.kernel.canonical import Json


def tell_proposal(context: CommandContext, name: str) -> None:
    """Say of a proposal that was made or signed now who has signed it, and what the next person types."""
    joint = context.core.joint_acts.state()
    proposal = joint.proposals[name]
    context.out.result(
        {"proposal": present_proposal(joint, proposal)},
        f"{proposal.id}: {said_of(joint, proposal)}. Nothing has changed yet.",
        f"The next person types: {command_of(proposal)}",
    )


def said_of(joint: Joint, proposal: Proposal) -> str:
    """Return in words who has signed a proposal and who may: `1 of 2 people have signed: ann; ben or cy may`."""
    signed = joint.signers_of(proposal)
    others = sorted(joint.people.difference(signed))
    may = f"; {' or '.join(others)} may" if others else ""
    return f"{len(signed)} of {joint.threshold} people have signed: {', '.join(signed) or 'nobody'}{may}"


def present_proposal(joint: Joint, proposal: Proposal) -> dict[str, Json]:
    """Return a proposal as JSON."""
    signed = joint.signers_of(proposal)
    missing: list[Json] = [*sorted(joint.people.difference(signed))]
    return {
        "id": proposal.id,
        "act": proposal.act,
        "decision": dict(proposal.decision),
        "open_until": proposal.expires,
        "required": joint.threshold,
        "signed": [*signed],
        "missing": missing,
        "run": command_of(proposal),
    }


def command_of(proposal: Proposal) -> str:
    """Return the command that signs a proposal: the one that proposed it, or for a key, which may lie in no file, one with its id."""
    decision: Mapping[str, Any] = proposal.decision
    words: dict[str, list[str]] = {
        "policy.changed": ["policy", "--reviews", str(decision.get("policy"))],
        "reads.switched": ["policy", "--reads", str(decision.get("reads"))],
        "quorum.changed": ["policy", *_of_quorum(decision)],
        "signers.changed": ["policy", "--signers", str(decision.get("threshold"))],
        "epoch.opened": ["audit", "epoch", "--reason", "TEXT"],
        "key.enrolled": ["policy", "--sign", proposal.id],
        "key.revoked": ["key", "revoke", str(decision.get("key")), "--reason", "TEXT"],
    }
    return shlex.join(["counterpoint", *words.get(proposal.act, ["status"])])


def _of_quorum(decision: Mapping[str, Json]) -> Iterator[str]:
    yield from ("--witnesses", str(decision.get("quorum")))
    # What another program has proposed may be of any form.
    witnesses = decision.get("witnesses")
    for key in cast("list[Json]", witnesses) if isinstance(witnesses, list) else ():
        yield from ("--witness", str(key))


def open_proposals(core: Core) -> tuple[Joint, list[Proposal]] | None:
    """Return what waits for signatures of people; None where one signs for all."""
    joint = core.joint_acts.state()
    return (joint, core.joint_acts.open()) if joint.threshold > 1 else None
