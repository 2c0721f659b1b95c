"""The command that shows the product at work in a throwaway repository.

What it needs is loaded after its first line: that takes longer than a reader waits for a sign of life.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click

from counterpoint.cli.grouping import examples
from counterpoint.cli.output import output_for

_FIRST_LINE = (
    "Six agents write a small library in a throwaway repository; it takes about half a minute."
)


@click.command("demo", epilog=examples("counterpoint demo"))
@click.option(
    "--keep/--no-keep",
    default=None,
    help="Keep the repository and its ledger.  [default: keep, and with --json do not]",
)
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON, at the end.")
def demo_command(*, keep: bool | None, as_json: bool) -> int:
    """Watch agents work on one plan in a throwaway repository.

    It ends with the tree of work, the evidence, a verified proof, and commands to look around in what it made.

    Six agents, each with its own MCP connection, write and commit a small library. Exit code 1 if anything
    went wrong.
    """
    out = output_for(json=as_json)
    if not out.json:
        out.line(_FIRST_LINE)
    from counterpoint.cli.demo.performance import NAME, perform, summarize
    from counterpoint.cli.demo.report import print_all

    is_kept = not out.json if keep is None else keep
    with _folder(keep=is_kept) as folder:
        ended = perform(out, folder)
        if out.json:
            out.answer(summarize(ended, folder if is_kept else None))
        else:
            print_all(out, ended, folder / NAME if is_kept else None)
    return 1 if ended.faults else 0


@contextmanager
def _folder(*, keep: bool) -> Generator[Path]:
    """Lend a folder; what was broken off is in nobody's way afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="counterpoint-demo-"))
    is_whole = False
    try:
        yield folder
        is_whole = True
    finally:
        if not (keep and is_whole):
            shutil.rmtree(folder, ignore_errors=True)
