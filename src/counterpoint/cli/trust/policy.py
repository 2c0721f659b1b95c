"""The commands of policies and epochs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.local_time import local_time_with_zone
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.trust import signing
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.cli.trust.enrolling import enrol, revoke_key
from counterpoint.cli.trust.quorum import change_quorum, present_standing, print_standing
from counterpoint.cli.trust.reads import switch_reads
from counterpoint.core.ledger.people.joint import Proposal
from counterpoint.core.ledger.witnesses.quorum import MOST_WITNESSES, parse_policy
from counterpoint.core.model.access import Independence
from counterpoint.core.model.identity import KeyStorage, ProposedAct
from counterpoint.core.model.trust.heads import Epoch
from counterpoint.core.model.work import Project
from counterpoint.core.operations.reads import Reads
from counterpoint.core.ports.reads import ReadPolicy
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, MalformedDocument
from counterpoint.kernel.plurals import counted


@click.command(
    "epoch", epilog=examples("counterpoint audit epoch --reason 'Restored the backup of Monday'")
)
@click.option("--reason", required=True, help="Why; it stays in the ledger.")
@with_context
def epoch_command(context: CommandContext, *, reason: str) -> None:
    """Let the signer continue from the current end of the ledger, whatever it signed before.

    For a person, after restoring a backup or losing a key. Every later verification shows the epoch.
    """
    open_epoch(context, reason)


def open_epoch(context: CommandContext, reason: str) -> None:
    """Open an epoch, signed by whoever has a key here."""
    core = confirm_act(
        context,
        context.core.signing.proposed,
        lambda core: core.signing.refuse_opening(),
        reason,
    )
    epoch = core.signing.open_epoch(reason)
    context.out.result(
        present_epoch(epoch),
        f"Epoch {epoch.number} begins{_left(epoch)}. Every verification will show it."
        f"{'' if epoch.confirmed_by else ' No key of a person confirms it.'}",
    )


def present_epoch(epoch: Epoch) -> dict[str, Json]:
    """Return an epoch as JSON."""
    return {
        "number": epoch.number,
        "opened_at": epoch.opened_at,
        "by": epoch.agent,
        "reason": epoch.reason,
        "confirmed": bool(epoch.confirmed_by),
        "left_epoch": epoch.left_epoch or None,
        "left_size": epoch.left_size if epoch.left_size >= 0 else None,
        "left_root": epoch.left_root or None,
        "gone": [*epoch.gone],
        "public_key": epoch.public_key,
    }


def print_epochs(out: Output, epochs: Sequence[Epoch]) -> None:
    """Say of each epoch when it began, why, by whom, and what was left."""
    for epoch in epochs:
        confirmed = "confirmed" if epoch.confirmed_by else "unconfirmed"
        out.line(
            f"  epoch {epoch.number}   {local_time_with_zone(epoch.opened_at)} by {epoch.agent}, {confirmed}{_left(epoch)}:"
            f" {one_line(epoch.reason)}"
        )


def _left(epoch: Epoch) -> str:
    gone = f", without {' and '.join(epoch.gone)}" if epoch.gone else ""
    if epoch.left_size < 0:
        return f", with no signed head before{gone}"
    return (
        f", leaving the head of {counted(epoch.left_size, 'entry')} ({epoch.left_root[:16]}…){gone}"
    )


POLICIES: Final[tuple[Independence, ...]] = get_args(Independence)
READ_POLICIES: Final[tuple[ReadPolicy, ...]] = get_args(ReadPolicy)
_SIGNED_APART: Final = frozenset(("epoch.opened", "key.enrolled", "key.revoked"))
"""Acts that are no policy."""
_NOBODY: Final = (
    "Nobody has a key in this project, so nobody can approve or waive anything now. Make yours in a terminal:"
    " `counterpoint key add`."
)


@click.command(
    "policy",
    epilog=examples(
        "counterpoint policy",
        "counterpoint policy --reviews person",
        "counterpoint policy --witnesses 2",
    ),
)
@click.option(
    "--reviews",
    type=click.Choice(POLICIES),
    help="Who may approve: any other name, another attested principal, or a person.",
)
@click.option(
    "--witnesses",
    "count",
    type=click.IntRange(0, MOST_WITNESSES),
    metavar="N",
    help="How many of the named witnesses must have signed; 0 for none.",
)
@click.option(
    "--witness",
    "keys",
    multiple=True,
    metavar="KEY",
    help="A witness that counts, by its key NAME+ID+KEY; repeatable.",
)
@click.option(
    "--reads",
    type=click.Choice(READ_POLICIES),
    help="Whether it is recorded who reads what; `required` refuses a read that cannot be recorded.",
)
@click.option(
    "--signers",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many people must sign what changes policies, keys and epochs.",
)
@click.option(
    "--withdraw", metavar="ID", help="Withdraw your proposal, which waits for others to sign."
)
@click.option("--sign", metavar="ID", help="Sign what another person has proposed.")
@click.option("--reason", default="", metavar="TEXT", help="Why; recorded in the ledger.")
@with_context
def policy_command(
    context: CommandContext,
    *,
    reviews: Independence | None,
    count: int | None,
    keys: tuple[str, ...],
    reads: ReadPolicy | None,
    signers: int | None,
    withdraw: str | None,
    sign: str | None,
    reason: str,
) -> None:
    """Show or change who may review in this project.

    With --witnesses: which witnesses must have signed its ledger. With --reads: whether it is recorded who reads what. With
    --signers: how many people must sign; the first proposes, and the others type the same command or --sign ID. An agent cannot change any of it.
    """
    if keys and not count:
        raise click.UsageError("--witness goes with --witnesses N.")
    acts = (reviews, count, reads, signers, withdraw, sign)
    if sum(act is not None for act in acts) > 1:
        raise click.UsageError(
            "each of --reviews, --witnesses, --reads, --signers, --withdraw and --sign is an act of its own: change one, then another."
        )
    if sign is not None:
        proposal = context.core.joint_acts.get(sign)
        if proposal.act in _SIGNED_APART:
            _sign_apart(context, proposal, reason)
            return
        decision = _decision_of(proposal)
        # What each decides is said by one fact or two.
        reviews, signers = decision.get("policy"), decision.get("threshold")
        reads = decision.get("reads")
        count, keys = decision.get("quorum"), tuple(decision.get("witnesses", ()))
    if reads is not None:
        switch_reads(context, reads, reason)
    if signers is not None:
        _change_signers(context, signers, reason)
    if withdraw is not None:
        _withdraw_proposal(context, withdraw, reason)
    if count is not None:
        change_quorum(context, count, keys, reason)
    project = context.core.items.project() if reviews is None else _change(context, reviews, reason)
    _show(context, project, has_changed=count is not None, is_about_reads=reads is not None)
    if project.reviews == "person" and not any(
        key.is_in_force for key in context.core.people.list()
    ):
        # Not refused: until there is a key this only keeps gates shut, and the order of the two commands is free.
        context.out.aside(_NOBODY, style="yellow")


def _change(context: CommandContext, reviews: Independence, reason: str) -> Project:
    before = context.core.items.project().reviews
    proposed = ProposedAct(
        action="policy.changed",
        decision={"policy": reviews},
        shown={"policy": f"{before} -> {reviews}"},
    )
    core = (
        context.core
        if before == reviews
        else confirm_act(
            context,
            lambda: proposed,
            lambda core: core.projects.ask_of_reviews(reviews, reason),
            reason,
        )
    )
    return core.projects.ask_of_reviews(reviews, reason)


def _change_signers(context: CommandContext, count: int, reason: str) -> None:
    """Say how many people must sign what changes policies, keys and epochs; signed by one of them, or by as many as must now."""
    verbs = context.core.joint_acts
    if verbs.state().threshold == count:
        return
    core = confirm_act(
        context,
        lambda: verbs.proposed(count),
        lambda core: core.joint_acts.require(count, reason),
        reason,
    )
    core.joint_acts.require(count, reason)


def _decision_of(proposal: Proposal) -> Mapping[str, Any]:
    """Return what a proposal on policies decides; Conflict for one that another program made, of another form."""
    decision: Mapping[str, Any] = proposal.decision
    is_alike = False
    match proposal.act:
        case "policy.changed":
            is_alike = len(decision) == 1 and decision.get("policy") in POLICIES
        case "reads.switched":
            is_alike = len(decision) == 1 and decision.get("reads") in READ_POLICIES
        case "signers.changed":
            count = decision.get("threshold")
            is_alike = len(decision) == 1 and type(count) is int and count >= 1
        case "quorum.changed":
            with suppress(MalformedDocument):
                is_alike = parse_policy(decision).to_facts() == decision
        case _:
            pass
    if not is_alike:
        raise _other_form(proposal)
    return decision


def _other_form(proposal: Proposal) -> Conflict:
    return Conflict(
        f"{proposal.id} proposes {proposal.act} in a form that no command signs",
        hint=f"Its maker withdraws it: `counterpoint policy --withdraw {proposal.id}`.",
    )


def _sign_apart(context: CommandContext, proposal: Proposal, reason: str) -> None:
    """Sign a proposal on keys or epochs, as the command does that made it."""
    decision: Mapping[str, Any] = proposal.decision
    people = context.core.people
    if proposal.act == "key.enrolled":
        # What another program has proposed may be of any form.
        is_alike = sorted(decision) == ["key", "owner", "storage"] and isinstance(
            decision["owner"], str
        )
        if not is_alike or decision["storage"] not in get_args(KeyStorage):
            raise _other_form(proposal)
        if not proposal.public_key:
            raise InvalidInput(
                f"{proposal.id} does not have the public key itself",
                hint=f"`counterpoint key add --name {shlex.quote(decision['owner'])} --public FILE` signs it, with the key in FILE.",
            )
        enrolment = people.enrolment(proposal.public_key, decision["owner"], decision["storage"])
        # Another proposal of the same key may come first.
        if context.core.joint_acts.as_proposed(enrolment).decision != decision:
            raise _other_form(proposal)
        enrol(context, proposal.public_key, decision["owner"], decision["storage"], None)
        return
    if not reason:
        raise click.UsageError(f"--sign {proposal.id} takes a --reason of yours.")
    if proposal.act == "key.revoked":
        name = decision.get("key")
        is_alike = (
            isinstance(name, str) and people.revocation(people.get(name)).decision == decision
        )
        if not is_alike:
            raise _other_form(proposal)
        revoke_key(context, decision["key"], reason)
        return
    if dict(context.core.signing.proposed().decision) != dict(decision):
        raise Conflict(
            f"{proposal.id} is of another end of the ledger than there is now",
            hint="Propose it anew: `counterpoint audit epoch --reason TEXT`. Its maker withdraws this one.",
        )
    open_epoch(context, reason)


def _withdraw_proposal(context: CommandContext, name: str, reason: str) -> None:
    """Withdraw a proposal, signed by the person who made it."""
    step = context.core.joint_acts.withdrawal(name)
    signing.refuse_no_terminal()
    signer = signing.find_key(context.app, context.core)
    if signer is None:
        raise Forbidden(
            "to withdraw a proposal takes the signature of who made it, and you hold no key",
            hint="`counterpoint key list` says whose keys are in force.",
        )
    signing.sign_act(context, step, signer, reason).joint_acts.write(step)


def _show(
    context: CommandContext, project: Project, *, has_changed: bool, is_about_reads: bool
) -> None:
    policy = context.core.use(Reads).policy()
    standing = context.core.witness_policies.standing()
    is_told = has_changed or bool(standing.policy.count)
    joint = context.core.joint_acts.state()
    answer: dict[str, Json] = {"reviews": project.reviews}
    if joint.threshold > 1:
        answer |= {"signers": joint.threshold}
    if is_told:
        answer |= {"quorum": present_standing(standing)}
    lines = [f"Reviews: {project.reviews}"]
    if joint.threshold > 1:
        lines.append(f"Signers: {joint.threshold} people sign policies, keys and epochs")
    if is_about_reads or policy != "off":
        answer |= {"reads": policy}
        lines.append(f"Reads: {policy}")
    context.out.result(answer, *lines)
    if is_told and not context.out.json:
        print_standing(context.out, standing)
