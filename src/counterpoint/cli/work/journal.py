"""What is written down about work: notes, and blockers that are resolved."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.present import headline, present
from counterpoint.cli.trust.confirming import confirmed
from counterpoint.cli.work.names import ITEM, item_id
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.journal import Record


@click.command("unblock")
@click.argument("name", metavar="ID", type=ITEM)
@click.option("--reason", default="resolved by a person", metavar="TEXT", help="Why; it is kept.")
@with_context
def unblock_command(context: CommandContext, *, name: str, reason: str) -> int:
    """Resolve a blocker, or all blockers of an item.

    Exit code 1 if there is none.
    """
    core = context.core
    if noun_of_id(name) is Record:
        found = [core.overview.find(Record, name) or core.journal.resolve(name, reason)]
    else:
        found = core.overview.open_blockers(item_id(core, name), limit=1_000)
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
