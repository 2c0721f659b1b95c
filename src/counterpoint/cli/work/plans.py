"""Keeping plans in order: pruning what was put away, ending what nobody ended."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group
from counterpoint.cli.present import counted
from counterpoint.cli.trust.erasing import close
from counterpoint.core.operations.trust.erasing import Erased
from counterpoint.dialects.agentic.nouns.plans import RETENTION_DAYS, Pruned
from counterpoint.dialects.agentic.verbs.pruning import Pruning
from counterpoint.dialects.agentic.verbs.sessions import PlanSessions
from counterpoint.kernel.canonical import Json


@click.group("plans", cls=Group)
def plans_command() -> None:
    """Take the texts of old plans away."""


@plans_command.command("prune")
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(min=0, max=36_500),
    metavar="DAYS",
    default=RETENTION_DAYS,
    show_default=True,
    help="Archived more than so many days ago.",
)
@click.option("--yes", is_flag=True, help="Do it; without this nothing is changed.")
@with_context
def prune_command(context: CommandContext, *, days: int, yes: bool) -> None:
    """Take the texts of plans away that were archived long ago.

    Titles, states and every proof stay. Texts that something else has too stay as well. Without
    --yes it only says what would go.
    """
    found = context.core.use(Pruning).prune(days) if yes else context.core.use(Pruning).look(days)
    receipts = [one.receipt for one in found if one.receipt]
    if receipts:
        context.app.store.purge()
    for receipt in receipts:
        close(context, Erased(receipt=receipt), 0, ())
    verb = "Pruned" if yes else "Would prune"
    context.out.result(
        {"pruned": yes, "plans": [_present(one) for one in found]},
        *(f"{one.slug}  archived {one.archived_at[:10]}  {one.texts:,} texts" for one in found),
        f"{verb} {counted(len(found), 'plan')} archived more than {days} days ago.",
    )
    if found and not yes and not context.out.json:
        context.out.aside("Nothing was changed: repeat it with --yes.")


def _present(one: Pruned) -> Json:
    return {
        "slug": one.slug,
        "id": one.item.id,
        "title": one.item.title,
        "archived_at": one.archived_at,
        "texts": one.texts,
        **({"receipt": one.receipt} if one.receipt else {}),
    }


@click.group("sessions", cls=Group)
def sessions_command() -> None:
    """End the sessions that were forgotten."""


@sessions_command.command("sweep")
@with_context
def sweep_command(context: CommandContext) -> None:
    """End the sessions from which nothing came for a day, as failed."""
    ended = context.core.use(PlanSessions).sweep()
    context.out.result(
        {"ended": [session.id for session in ended]},
        *(f"{one.id}  {one.agent}  since {one.started_at[:16]}" for one in ended),
        f"Ended {len(ended):,} sessions.",
    )
