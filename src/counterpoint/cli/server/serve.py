"""The commands that start and end the one server of a database."""

from __future__ import annotations

from pathlib import Path

import click

from counterpoint.cli.context import open_here, project_options
from counterpoint.cli.output import output_for
from counterpoint.cli.server.serving import end_server, serve


@click.command("serve", hidden=True)
@click.option("--db", metavar="PATH", help="The database.")
@click.option("--ready-fd", type=int, help="Where to write one byte when the socket listens.")
@click.option("--turn-fd", type=int, help="The lock of who starts a server; closed then.")
def serve_command(db: str | None, ready_fd: int | None, turn_fd: int | None) -> None:
    """Serve the relays of a database until none was there for a while: what a relay starts."""
    serve(open_here(db=str(Path(db).expanduser().resolve()) if db else None), ready_fd, turn_fd)


@click.command("down")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@project_options
def down_command(as_json: bool, db: str | None, project: str | None) -> None:
    """End the server of this database; agents that are connected start another one."""
    out = output_for(json=as_json)
    app = open_here(db=db, project=project)
    was = end_server(app.database)
    if out.json:
        out.answer({"ended": was})
    elif was:
        out.line(f"Ended the server {was['pid']}.")
    else:
        out.line("No server runs.")
