"""The commands that start and end the one server of a database."""

from __future__ import annotations

from pathlib import Path

import click

from counterpoint.cli.context import open_here, project_options
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import output_for
from counterpoint.cli.server.serving import end_server, serve


@click.command("serve", epilog=examples("counterpoint serve"))
@click.option(
    "--socket", "at", metavar="PATH", help="Listen on this socket, for agents of other accounts."
)
@click.option(
    "--allow-user",
    "users",
    multiple=True,
    envvar="COUNTERPOINT_ALLOW_USERS",
    metavar="NAME",
    help="An account whose agents may connect; repeatable.",
)
@click.option("--ready-fd", type=int, hidden=True)
@click.option("--turn-fd", type=int, hidden=True)
@project_options
def serve_command(
    at: str | None,
    users: tuple[str, ...],
    ready_fd: int | None,
    turn_fd: int | None,
    db: str | None,
    project: str | None,
) -> None:
    """Serve agents over a socket, as a service does.

    It runs in the foreground (docs/service.md).

    Without --socket it serves the agents of this account and stops when none is connected for a while; relays start it so.
    """
    if users and at is None:
        raise click.UsageError("--allow-user goes with --socket.")
    from counterpoint.cli.server.foreign import open_socket

    app = open_here(db=str(Path(db).expanduser().resolve()) if db else None, project=project)
    others = open_socket(Path(at).absolute(), users) if at is not None else None
    serve(app, ready_fd, turn_fd, others)


@click.command("down", epilog=examples("counterpoint down"))
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@project_options
def down_command(as_json: bool, db: str | None, project: str | None) -> None:
    """Stop the server of this ledger.

    Connected agents start a new one with their next call.
    """
    out = output_for(json=as_json)
    app = open_here(db=db, project=project)
    was = end_server(app.database)
    if out.json:
        out.answer({"ended": was})
    elif was:
        out.line(f"Ended the server {was['pid']}.")
    else:
        out.line("No server runs.")
