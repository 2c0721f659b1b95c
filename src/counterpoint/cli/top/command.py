"""The command that shows the live view of a project in a terminal."""

from __future__ import annotations

import os
import sys
from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.extras import install_hint

_BROKEN: Final = 3
"""The exit code of a view that ended by itself."""


@click.command("top", epilog=examples("counterpoint top"))
@with_context
def top_command(context: CommandContext) -> int:
    """Watch agents, claims, work and reviews as they change, and decide.

    It follows the ledger and needs no server. To approve, reject, release or unblock, it runs the command of that
    name, with the same questions. Press `?` for all keys.
    """
    if context.out.json or not _has_screen():
        raise click.UsageError(
            "`top` needs a terminal: `status` says the same once, and `log --follow` goes on anywhere."
        )
    try:
        from counterpoint.cli.top.view import TopView
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] != "textual":
            raise
        raise Unavailable(
            "`top` draws with the library Textual, which is not installed",
            hint=f"{install_hint('top')} Or use `counterpoint status` and `counterpoint log --follow`.",
        ) from missing
    view = TopView(context, where=_where(context))
    view.run()
    # What ended it was told where it was drawn.
    return _BROKEN if view.return_code else 0


def _where(context: CommandContext) -> tuple[str, ...]:
    """Return the options by which another command finds the same project."""
    app = context.app
    options = (f"--db={app.settings.db}",) if app.settings.db else ()
    return (*options, f"--project={app.project}")


def _has_screen() -> bool:
    """Return whether there is a keyboard and a screen that can be drawn on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
