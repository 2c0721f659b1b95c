"""What a project asks of those who review: shown, and changed by people."""

from __future__ import annotations

from typing import Final, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.trust.confirming import confirmed
from counterpoint.core.model.access import Independence
from counterpoint.core.model.identity import ProposedAct

POLICIES: Final[tuple[Independence, ...]] = get_args(Independence)
_NOBODY: Final = (
    "Nobody has a key in this project, so nobody can approve or waive anything now. Make yours in a terminal:"
    " `counterpoint key add`."
)


@click.command(
    "policy", epilog=examples("counterpoint policy", "counterpoint policy --reviews person")
)
@click.option(
    "--reviews",
    type=click.Choice(POLICIES),
    help="Who may approve: any other name, another attested principal, or a person.",
)
@click.option("--reason", default="", metavar="TEXT", help="Why; recorded in the ledger.")
@with_context
def policy_command(context: CommandContext, *, reviews: Independence | None, reason: str) -> None:
    """Show or change who may review in this project.

    An agent cannot change it.
    """
    if reviews is None:
        found = context.core.items.project()
    else:
        before = context.core.items.project().reviews
        proposed = ProposedAct(
            action="policy.changed",
            decision={"policy": reviews},
            shown={"policy": f"{before} -> {reviews}"},
        )
        core = (
            context.core
            if before == reviews
            else confirmed(
                context,
                lambda: proposed,
                lambda core: core.projects.ask_of_reviews(reviews, reason),
                reason,
            )
        )
        found = core.projects.ask_of_reviews(reviews, reason)
    context.out.result({"reviews": found.reviews}, f"Reviews: {found.reviews}")
    if found.reviews == "person" and not any(key.is_in_force for key in context.core.people.list()):
        # Not refused: until there is a key this only keeps gates shut, and the order of the two commands is free.
        context.out.aside(_NOBODY, style="yellow")
