"""What people say to the signer: that a ledger goes on although it is another one."""

from __future__ import annotations

from collections.abc import Sequence

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.local_time import local_time_with_zone
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.core.model.trust.heads import Epoch
from counterpoint.kernel.canonical import Json
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
