"""The head of the ledger for the message of a commit: printed, or added by a hook."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.core.ledger.witnesses.trailer import render_trailer
from counterpoint.evidence.witnesses.trailers import install_hook, remove_hook
from counterpoint.kernel.errors import Unavailable


@click.command("trailer", epilog=examples("counterpoint audit trailer --install"))
@click.option("--install", is_flag=True, help="Install a git hook that adds it to each commit.")
@click.option("--remove", is_flag=True, help="Remove that hook.")
@with_context
def trailer_command(context: CommandContext, *, install: bool, remove: bool) -> None:
    """Print the signed end of the ledger for `git commit --trailer "$(counterpoint audit trailer)"`.

    `audit verify` and `doctor` compare the ledger with the trailers in commits. The hook is `commit-msg`; an existing
    hook is never changed.
    """
    if install and remove:
        raise click.UsageError("Give --install or --remove.")
    app, core, out = context.app, context.core, context.out
    if remove:
        gone = remove_hook(app.places.tree, app.environ)
        out.result({"removed": str(gone)}, f"Took {gone} away. Commits keep the heads they have.")
        return
    ledger = core.items.project().ledger
    if install:
        note = app.checkpoints / f"{app.project}.note"
        hook = install_hook(app.places.tree, app.environ, ledger, note.resolve())
        out.result(
            {"installed": str(hook)},
            f"{hook} adds the head that was signed last to each commit.",
            "`counterpoint audit trailer --remove` takes it away.",
        )
        return
    core.signing.renew()
    head = core.signing.last()
    if head is None:
        raise Unavailable("nothing of this ledger was signed yet", hint="Let a server sign it.")
    trailer = render_trailer(head.note, ledger)
    out.result({"trailer": trailer, "size": head.size}, trailer)
