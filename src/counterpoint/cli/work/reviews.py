"""What people decide about work: verdicts, waivers, and what is to be done again."""

from __future__ import annotations

import os
from pathlib import Path

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.phrases import PHRASES, name_item
from counterpoint.cli.present import present, present_briefly, status_line
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.cli.work.claims import token_of
from counterpoint.cli.work.items import read_text
from counterpoint.cli.work.names import GATE, ITEM, item_id
from counterpoint.cli.work.terminal_session import in_terminal_session
from counterpoint.core.model.answers import Reviewed
from counterpoint.core.model.filters import Edit, Judgment
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.sessions import Claim
from counterpoint.dialects.next_step import next_step
from counterpoint.kernel.errors import Conflict


@click.command(
    "submit",
    epilog=examples(
        "counterpoint submit 3 --summary 'Dates are parsed and tested'",
        "counterpoint submit 3 --artifact docs/report.md --summary 'The report'",
    ),
)
@click.argument("item", metavar="ID", type=ITEM)
@click.option(
    "--summary",
    "-m",
    default="",
    metavar="TEXT",
    help="What is finished, for the reviewer; `-` reads standard input.",
)
@click.option("--artifact", default="", metavar="FILE", help="The file that shows it.")
@click.option(
    "--reason",
    default="",
    metavar="TEXT",
    help="Why the very commit that was rejected is handed in again.",
)
@with_context
def submit_command(
    context: CommandContext, *, item: str, summary: str, artifact: str, reason: str
) -> None:
    """Hand in a phase or task, with its artifact.

    It closes, or waits until somebody who did not work on it judges it. All work below it must be done. You hold the
    task that you hand in; its review comes with `counterpoint finish`.
    """
    core = in_terminal_session(context.core)
    id_ = item_id(core, item)
    token = token_of(core, id_) if core.items.get(id_).is_workable else None
    done = core.reviews.submit(
        id_, _from_here(context, artifact), read_text(summary), token, reason
    )
    waits = [gate.name for gate in done.closed]
    context.out.result(
        {
            "submission": present(done.submission),
            "item": present_briefly(done.item),
            "closed_gates": waits,
        },
        f"{status_line(done.item)} (submission {done.submission.id})",
    )
    if waits and not context.out.json:
        context.out.aside(f"Still closed: {', '.join(waits)}.")
        waiting = core.awaiting.above(done.item)
        if waiting and (hint := next_step(waiting, PHRASES)):
            context.out.aside(name_item(hint, waiting.item.id))


def _from_here(context: CommandContext, path: str) -> str:
    """Return a path that was typed in this folder as one of the working tree."""
    return os.path.relpath(Path.cwd() / path, context.core.caller.root) if path else ""


@click.command(
    "approve",
    epilog=examples(
        "counterpoint approve 3", "counterpoint approve 3 --reason 'Read it, tried it'"
    ),
)
@click.argument("item", metavar="ID", type=ITEM)
@click.option("--reason", default="approved", metavar="TEXT", help="Why; recorded in the ledger.")
@click.option("--subject", default="", metavar="HASH", help="The hash or commit that you reviewed.")
@with_context
def approve_command(context: CommandContext, *, item: str, reason: str, subject: str) -> None:
    """Approve submitted work, or let an item start.

    It approves the start if a gate holds it back, else the submitted work. Whoever worked on the item cannot
    review it.
    """
    _judge(context, item, Judgment(approves=True, reason=reason, subject=subject))


@click.command(
    "reject", epilog=examples("counterpoint reject 3 --reason 'It leaks' --fix 'Close the file'")
)
@click.argument("item", metavar="ID", type=ITEM)
@click.option("--reason", required=True, metavar="TEXT", help="Why; recorded in the ledger.")
@click.option("--fix", "fixes", multiple=True, metavar="TEXT", help="What to fix; repeatable.")
@with_context
def reject_command(
    context: CommandContext, *, item: str, reason: str, fixes: tuple[str, ...]
) -> None:
    """Send work back, with what to fix.

    The item is open again. Whoever takes it sees the reason and what to fix first.
    """
    _judge(context, item, Judgment(approves=False, reason=reason, fixes=fixes))


def _judge(context: CommandContext, name: str, judgment: Judgment) -> None:
    item, reviews = item_id(context.core, name), context.core.reviews
    core = confirm_act(
        context,
        lambda: reviews.proposed(item, judgment),
        lambda core: core.reviews.review(item, judgment),
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
        f"{status_line(reviewed.item)} ({verdict.decision} {verdict.id}{', self' if verdict.independence == 'self' else ''})",
    )
    if waits and verdict.decision == "approve" and not context.out.json:
        context.out.aside(f"Still closed: {', '.join(waits)}.")


@click.command(
    "waive", epilog=examples("counterpoint waive 3 check-1 --reason 'No tool for it here'")
)
@click.argument("item", metavar="ID", type=ITEM)
@click.argument("gate", type=GATE)
@click.option("--reason", required=True, metavar="TEXT", help="Why; recorded in the ledger.")
@with_context
def waive_command(context: CommandContext, *, item: str, gate: str, reason: str) -> None:
    """Open a gate of an item although it is not met.

    Only people and maintainers who did not work on the item may do this. The ledger records the reason.
    """
    id_ = item_id(context.core, item)
    proposed = ProposedAct(action="item.edited", subject=id_, decision={"waived": [gate]})
    edit = Edit(waive=(gate,), reason=reason)
    core = confirm_act(
        context, lambda: proposed, lambda core: core.items.edit(id_, edit), reason, opens=True
    )
    core.items.edit(id_, edit)
    facets = context.core.overview.facets(id_)
    waived = next(present(entry) for entry in facets.gates if entry.name == gate)
    context.out.result(
        {"item": present_briefly(facets.item), "gate": waived},
        f"{status_line(facets.item)} (gate {gate} waived)",
    )


@click.command("reopen", epilog=examples("counterpoint reopen 4 --reason 'The colour is wrong'"))
@click.argument("item", metavar="ID", type=ITEM)
@click.option("--reason", default="", metavar="TEXT", help="Why; recorded in the ledger.")
@with_context
def reopen_command(context: CommandContext, *, item: str, reason: str) -> int:
    """Reopen an item that has ended.

    Exit code 1 if it is open, or if somebody holds it.
    """
    current = context.core.items.get(item_id(context.core, item))
    goal = current.reopened_status
    if current.status == goal or current.category == "open":
        context.out.result(
            {"item": present_briefly(current)},
            f"{status_line(current)}",
            "It is open: nothing changed.",
        )
        return 1
    claim = context.core.overview.find(Claim, current.id)
    if claim is not None and claim.is_held:
        raise Conflict(
            f"{current.id} has not ended: {claim.agent or claim.session} holds it",
            hint=f"Free it for others with `counterpoint release {current.id}`.",
        )
    proposed = ProposedAct(
        action="item.edited",
        subject=current.id,
        decision={"moved": [current.status, goal]},
        shown={"moved": f"{current.status} -> {goal}"},
    )
    edit = Edit(status=goal, reason=reason)
    core = confirm_act(
        context,
        lambda: proposed,
        lambda core: core.items.edit(current.id, edit),
        reason,
        offers=False,
    )
    after = core.items.edit(current.id, edit)
    context.out.result({"item": present_briefly(after)}, status_line(after))
    return 0
