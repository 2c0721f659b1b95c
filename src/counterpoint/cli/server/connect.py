"""What agents connect to: the MCP server on standard streams, and its tools."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from counterpoint.cli.context import open_here
from counterpoint.cli.grouping import RenamedOption, examples
from counterpoint.cli.output import Output, one_line, output_for
from counterpoint.cli.server.background import Checkpoints
from counterpoint.cli.server.serving import Connection, served_connection
from counterpoint.dialects import registry
from counterpoint.dialects.call import Call
from counterpoint.kernel.canonical import dump_any
from counterpoint.kernel.client_session import client_session, forget_secret, open_secret, starter
from counterpoint.kernel.errors import InvalidInput, NotFound
from counterpoint.kernel.places import find_git_fault
from counterpoint.kernel.starting.garbage import settle
from counterpoint.protocol.surface import Surface
from counterpoint.protocol.tools import Tool
from counterpoint.settings import Settings, load_settings

_LOG = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., object])


@click.command("mcp", epilog=examples("counterpoint mcp --dialect native --agent ada"))
@click.option(
    "--dialect",
    "surface",
    cls=RenamedOption,
    before="--surface",
    metavar="NAME",
    help="The dialect to speak.  [default: native]",
)
@click.option("--db", metavar="PATH", help="The database.  [default: .counterpoint/ledger.db]")
@click.option(
    "--project",
    "--project-id",
    metavar="NAME",
    help="The project.  [default: that of the item, else the folder's name]",
)
@click.option("--item", "--issue-id", metavar="ID", help="The item this connection is for.")
@click.option("--agent", metavar="NAME", help="The agent's name.  [default: the client's own name]")
@click.option("--profile", "--agent-type", metavar="NAME", help="The agent's role.")
@click.option(
    "--tool-scope",
    "--tool-scope-file",
    metavar="FILE",
    help="A file with a JSON list: offer only these tools.",
)
@click.option("--worktree", "--worktree-path", metavar="FOLDER", help="The tree it works in.")
@click.option("--run", "--run-id", metavar="ID", help="The run that its records belong to.")
@click.option("--project-slug", metavar="NAME", help="Names the folder of its memory.")
@click.option("--symphony-dir", metavar="FOLDER", help="The folder that holds the memory folders.")
@click.option("--session", metavar="ID", help="The session to continue.  [default: a new one]")
@click.option("--mode", metavar="NAME", help="FULL, READONLY, TEST or MINIMAL.  [default: FULL]")
@click.option("--colibri-proofs", "proofs", flag_value="1", help="Also offer the tools for proofs.")
@click.option(
    "--tool-dependencies",
    metavar="FILE",
    help="A file that says which tools need another call first.",
)
@click.option(
    "--in-process",
    is_flag=True,
    envvar="COUNTERPOINT_IN_PROCESS",
    help="Serve in this process instead of the shared server.",
)
def mcp_command(in_process: bool, **flags: str | None) -> None:
    """Serve MCP on stdin and stdout, for an agent's settings.

    It forwards calls to the server of the ledger, and starts that server if none runs.

    Each option can also be set by a variable: COUNTERPOINT_DIALECT, COUNTERPOINT_DB, and so on. The first call
    opens the ledger; if that fails, each call says why.
    """
    del in_process  # whoever comes here is: `counterpoint.relay` takes the other calls
    from counterpoint.evidence.trust.connected import agents_above
    from counterpoint.protocol.stdio import serve_stdio

    app = open_here(**flags)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    if fault := find_git_fault(str(app.places.tree)):
        _LOG.warning("evidence is a comparison of file hashes until this is mended: %s", fault)
    settings = app.settings
    own = (settings.surface, settings.agent, settings.profile, settings.item, settings.worktree)
    address = (str(app.database), *own)
    if settings.is_read_only:
        # Nothing of it is kept, in the user's state neither: it has no work to be taken up.
        session_name = client_session(settings.run, app.environ)
        names_kept = ("", *address)
    else:
        session_name = client_session(settings.run, app.environ, address)
        names_kept = (session_name or starter(), *address)
    secret = open_secret(names_kept, app.environ)
    checkpoints = Checkpoints()
    own_peer = app.own_peer
    # No server tells of others: what an agent has started is that agent, also where that one writes nothing.
    for agent in agents_above(app.clock.now()):
        app.connected.add(agent)
    presence = served_connection(app, own_peer, os.getuid(), str(Path.cwd()))
    connection = Connection(
        app,
        own_peer,
        secret,
        has_run=bool(session_name),
        checkpoints=checkpoints,
        presence=presence,
    )
    surface = surface_named(app.settings.surface, app.settings)
    settle()
    try:
        serve_stdio(surface, connection.call)
    finally:
        connection.leave()
        checkpoints.close()
        if names_kept[0] and not session_name:
            forget_secret(secret, names_kept, app.environ)


def surface_named(name: str, settings: Settings | None = None) -> Surface[Call]:
    """Return a surface by its name for settings; a name or settings that open none are wrong usage."""
    try:
        return registry.surface(name, settings)
    except (NotFound, InvalidInput) as refused:
        raise click.UsageError(f"{refused.message}. {refused.hint}") from None


@click.command(
    "tools", epilog=examples("counterpoint tools", "counterpoint tools --dialect foundry")
)
@click.option(
    "--dialect",
    "dialect",
    cls=RenamedOption,
    before="--surface",
    metavar="NAME",
    help="The dialect.  [default: native]",
)
@click.option("--where", metavar="NAME", help="Show only the file and line of a tool's source.")
@click.option("--sizes", is_flag=True, help="Show how many bytes each tool takes in the list.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON: what `tools/list` answers.")
def tools_command(dialect: str | None, where: str | None, sizes: bool, as_json: bool) -> None:
    """List the tools that agents are offered.

    Without --dialect they are those of COUNTERPOINT_DIALECT, if that is set.
    """
    out = output_for(json=as_json)
    surface = surface_named(load_settings(os.environ, surface=dialect).surface)
    if where is not None:
        file, line = surface.tool(where).where
        out.result({"name": where, "file": file, "line": line}, f"{file}:{line}")
    elif sizes:
        _print_sizes(out, surface)
    else:
        rows = [(tool.name, _access(tool), one_line(tool.description)) for tool in surface.tools]
        out.rows(surface.listed(), ("tool", "access", "does"), rows)


def _print_sizes(out: Output, surface: Surface[Call]) -> None:
    sizes = {tool.name: len(dump_any(tool.listed()).encode()) for tool in surface.tools}
    total = surface.listed_size
    rows = [(name, f"{size:>7,}") for name, size in sizes.items()]
    out.rows(
        {"surface": surface.name, "tools": sizes, "total": total},
        ("tool", "  bytes"),
        [*rows, ("the whole list", f"{total:>7,}")],
    )


def _access(tool: Tool[Call]) -> str:
    return "reads" if tool.reads else "writes"
