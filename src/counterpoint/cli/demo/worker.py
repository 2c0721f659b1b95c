"""One agent of the demonstration, as a process with its own MCP connection."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from counterpoint.cli.demo.agents import Reviewer, Worker, write_too_late
from counterpoint.cli.demo.pipes import WakeSignal
from counterpoint.cli.demo.repository import Tree
from counterpoint.kernel.starting.programs import own_command
from counterpoint.protocol.client import connect

ROLES = ("worker", "killed", "reviewer", "late")


def server_argv(agent: str, session: str = "") -> list[str]:
    """Return the command that an agent's MCP configuration would have."""
    argv = own_command("mcp", "--agent", agent)
    return [*argv, "--session", session] if session else argv


def main(arguments: Sequence[str] | None = None) -> None:
    """Play one role until told to leave; the arguments are the program's own unless given."""
    parser = ArgumentParser(description="An agent of `counterpoint demo`.")
    parser.add_argument("role", choices=ROLES)
    parser.add_argument("agent")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--session", default="")
    parser.add_argument("--item", default="")
    parser.add_argument("--token", type=int, default=0)
    options = parser.parse_args(arguments)
    tree = Tree(folder=options.folder, environ=dict(os.environ))
    argv = server_argv(options.agent, options.session)
    with connect(argv, folder=options.folder, environ=tree.environ) as connection:
        if options.role == "late":
            write_too_late(connection, options.item, options.token)
        elif options.role == "reviewer":
            Reviewer(
                name=options.agent, connection=connection, tree=tree, wakes=WakeSignal()
            ).work()
        else:
            Worker(
                name=options.agent,
                connection=connection,
                tree=tree,
                wakes=WakeSignal(),
                is_killed=options.role == "killed",
            ).work()


if __name__ == "__main__":
    main()
