"""Who has a task: taking it up, ending it, freeing it for others."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.present import present, present_briefly, stands
from counterpoint.cli.trust.confirming import confirmed
from counterpoint.cli.work.names import ITEM, item_id
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.sessions import Session


@click.command("release")
@click.argument("name", metavar="ID", type=ITEM)
@with_context
def release_command(context: CommandContext, *, name: str) -> None:
    """Free a task, or all that a session holds, for others."""
    claims = context.core.claims
    id_ = name if noun_of_id(name) is Session else item_id(context.core, name)
    core = confirmed(context, lambda: claims.proposed_release(id_))
    freed = core.claims.release(id_)
    context.out.result(
        {
            "released": [
                {"item": present_briefly(one), "claim": present(held)} for one, held in freed
            ]
        },
        *(
            f"{stands(one)} (was held by {held.agent or held.session} since {held.claimed_at})"
            for one, held in freed
        ),
    )
