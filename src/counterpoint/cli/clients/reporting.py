"""The command that clients run after each call of a tool, to report it."""

from __future__ import annotations

import os

import click

from counterpoint.cli.clients.sending import main
from counterpoint.cli.grouping import examples


@click.command("event", epilog=examples("counterpoint event --hook claude"))
@click.option(
    "--hook", "client", required=True, metavar="CLIENT", help="The client whose hook it is."
)
def event_command(client: str) -> None:
    """Report one call of a tool that a client's hook tells of on standard input.

    It prints nothing and always ends well. The server that is there masks what it was told and writes it down; what cannot be
    sent is counted. `counterpoint init --events` has clients run this.
    """
    # As hooks call it, `counterpoint.__main__` runs the same before anything is loaded.
    main(client, os.environ)
