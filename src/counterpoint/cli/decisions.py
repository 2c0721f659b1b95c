"""What people decide about work: a verdict, a waiver, freeing what is stuck."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.output import one_line
from counterpoint.cli.present import headline, present, present_briefly
from counterpoint.cli.trust.confirming import confirmed
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Reviewed
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.filters import Edit, Judgment
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.journal import Record
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Item
from counterpoint.core.rules.wording import kept


@click.command("approve")
@click.argument("item", metavar="ID")
@click.option("--reason", default="approved", metavar="TEXT", help="Why; it is kept.")
@click.option(
    "--subject", default="", metavar="HASH", help="The hash or commit that was looked at."
)
@with_context
def approve_command(context: CommandContext, *, item: str, reason: str, subject: str) -> None:
    """Approve an item: its start if a gate holds that, else the work that was handed in."""
    _judge(context, item, Judgment(approves=True, reason=reason, subject=subject))


@click.command("reject")
@click.argument("item", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept.")
@click.option("--fix", "fixes", multiple=True, metavar="TEXT", help="What to mend; repeatable.")
@with_context
def reject_command(
    context: CommandContext, *, item: str, reason: str, fixes: tuple[str, ...]
) -> None:
    """Send an item back to whoever works on it."""
    _judge(context, item, Judgment(approves=False, reason=reason, fixes=fixes))


def _judge(context: CommandContext, name: str, judgment: Judgment) -> None:
    item, reviews = _id(context.core, name), context.core.reviews
    core = confirmed(
        context,
        lambda: reviews.proposed(item, judgment),
        judgment.reason,
        opens=judgment.approves,
    )
    _tell_verdict(context, core.reviews.review(item, judgment))


def _tell_verdict(context: CommandContext, reviewed: Reviewed) -> None:
    verdict, waits = reviewed.verdict, [gate.name for gate in reviewed.closed]
    context.out.result(
        {
            "verdict": present(verdict),
            "item": present_briefly(reviewed.item),
            "closed_gates": waits,
        },
        f"{_line(reviewed.item)} ({verdict.decision} {verdict.id})",
    )
    if waits and verdict.decision == "approve" and not context.out.json:
        context.out.aside(f"Still closed: {', '.join(waits)}.")


@click.command("unblock")
@click.argument("name", metavar="ID")
@click.option("--reason", default="resolved by a person", metavar="TEXT", help="Why; it is kept.")
@with_context
def unblock_command(context: CommandContext, *, name: str, reason: str) -> int:
    """Resolve a blocker, or every open blocker of an item; exit code 1 if there is none."""
    core = context.core
    if noun_of_id(name) is Record:
        found = [core.overview.find(Record, name) or core.journal.resolve(name, reason)]
    else:
        found = core.overview.open_blockers(_id(core, name), limit=1_000)
    resolved = [_resolve(context, record, reason) for record in found]
    context.out.result(
        {"resolved": [present(record) for record in resolved]},
        *(f"{record.id} is resolved: {headline(record)}" for record in resolved),
        *([] if resolved else [f"{name} has no open blocker."]),
    )
    return 0 if resolved else 1


def _resolve(context: CommandContext, record: Record, reason: str) -> Record:
    proposed = ProposedAct(
        action="blocker.resolved",
        subject=record.item,
        decision={"record": record.id},
        shown={"record": f"{record.id}: {headline(record)}"},
    )
    core = context.core
    if record.status == "open":
        core = confirmed(context, lambda: proposed, reason, offers=False)
    return core.journal.resolve(record.id, reason)


@click.command("release")
@click.argument("name", metavar="ID")
@with_context
def release_command(context: CommandContext, *, name: str) -> None:
    """Free a task, or all that a session holds, so that others can take it up; its holder is told."""
    claims = context.core.claims
    id_ = name if noun_of_id(name) is Session else _id(context.core, name)
    core = confirmed(context, lambda: claims.proposed_release(id_))
    freed = core.claims.release(id_)
    context.out.result(
        {
            "released": [
                {"item": present_briefly(one), "claim": present(held)} for one, held in freed
            ]
        },
        *(
            f"{_line(one)} (was held by {held.agent or held.session} since {held.claimed_at})"
            for one, held in freed
        ),
    )


@click.command("waive")
@click.argument("item", metavar="ID")
@click.argument("gate")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept.")
@with_context
def waive_command(context: CommandContext, *, item: str, gate: str, reason: str) -> None:
    """Let a gate of an item be open although it is not met."""
    id_ = _id(context.core, item)
    proposed = ProposedAct(action="item.edited", subject=id_, decision={"waived": [gate]})
    core = confirmed(context, lambda: proposed, reason, opens=True)
    core.items.edit(id_, Edit(waive=(gate,), reason=reason))
    facets = context.core.overview.facets(id_)
    waived = next(present(one) for one in facets.gates if one.name == gate)
    context.out.result(
        {"item": present_briefly(facets.item), "gate": waived},
        f"{_line(facets.item)} (gate {gate} waived)",
    )


@click.command("reopen")
@click.argument("item", metavar="ID")
@click.option("--reason", default="", metavar="TEXT", help="Why; it is kept.")
@with_context
def reopen_command(context: CommandContext, *, item: str, reason: str) -> int:
    """Open an item again that has ended; exit code 1 if it is open."""
    found = context.core.items.get(_id(context.core, item))
    goal = "open" if found.is_workable else "active"
    if found.status == goal or found.category == "open":
        context.out.result(
            {"item": present_briefly(found)}, f"{_line(found)}", "It is open: nothing changed."
        )
        return 1
    proposed = ProposedAct(
        action="item.edited",
        subject=found.id,
        decision={"moved": [found.status, goal]},
        shown={"moved": f"{found.status} -> {goal}"},
    )
    core = confirmed(context, lambda: proposed, reason, offers=False)
    after = core.items.edit(found.id, Edit(status=goal, reason=reason))
    context.out.result({"item": present_briefly(after)}, _line(after))
    return 0


def _id(core: Core, name: str) -> str:
    """Return the id of an item by any of its names, such as `SYM-001`; NotFound."""
    found = core.items.find(kept(name) or name) or core.items.find(name)
    return found.id if found else core.items.get(name).id


def _line(item: Item) -> str:
    return f"{item.id} is {item.status}: {one_line(item.title)}"
