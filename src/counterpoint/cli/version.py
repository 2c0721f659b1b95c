"""The command that says which version this is."""

from __future__ import annotations

import platform

import click

from counterpoint import __version__
from counterpoint.cli.output import output_for


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def version_command(as_json: bool) -> None:
    """Say which version this is."""
    out = output_for(json=as_json)
    python = platform.python_version()
    if out.json:
        out.answer({"version": __version__, "python": python, "system": platform.system()})
    else:
        out.line(f"counterpoint {__version__} (Python {python} on {platform.system()})")
