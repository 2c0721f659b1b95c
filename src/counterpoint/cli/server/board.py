"""The command `board`: opens the browser as whoever typed it (start-up)."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from pathlib import Path

import click

from counterpoint.board.handover import ask_for_board, open_browser, start_board, write_page
from counterpoint.cli.context import open_here, project_options, require
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import output_for
from counterpoint.cli.server.up import PORT
from counterpoint.kernel.places import open_private, own_folder
from counterpoint.protocol.rendezvous import find_rendezvous


@click.command("board", epilog=examples("counterpoint board", "counterpoint board --no-open"))
@click.option(
    "--no-open", is_flag=True, help="Print the file that logs a browser in, and open none."
)
@project_options
def board_command(no_open: bool, db: str | None, project: str | None) -> None:
    """Open the board in a browser, logged in.

    What you do there is done as you. It starts the server that shows it (`counterpoint up`) where none runs;
    `counterpoint down` ends that.
    """
    out = output_for(json=False)
    with closing(open_here(db=db, project=project)) as app:
        require(app)
        name, title = app.person().caller.actor.name, app.project
    rendezvous = find_rendezvous(app.database)
    flags = {flag: text for flag, text in (("db", db), ("project", project)) if text}
    ask = partial(ask_for_board, rendezvous, name, flags, str(Path.cwd()))
    admitted = ask() or start_board(rendezvous, PORT, flags, ask)
    path = write_page(Path(open_private(own_folder())), admitted, title)
    if not no_open and open_browser(path, os.environ):
        out.line(f"The board of {title} is at {admitted['address']}/")
        return
    out.line(str(path))
    why = "" if no_open else "Nothing here opens a browser. "
    out.aside(f"{why}Open this file in a browser within {admitted['seconds']} seconds.")
