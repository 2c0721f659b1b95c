"""A person runs the checks of an item, as an agent does with `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.phrases import name_item_in_hints
from counterpoint.cli.present import present
from counterpoint.cli.work.claims import token_of
from counterpoint.cli.work.names import GATE, ITEM, item_id
from counterpoint.cli.work.terminal_session import in_terminal_session
from counterpoint.core.model.filters import Check
from counterpoint.core.model.sessions import Claim
from counterpoint.core.rules.planning.commands import command_line
from counterpoint.kernel.plurals import counted

if TYPE_CHECKING:
    from counterpoint.core.coordinator import Core
    from counterpoint.core.model.journal import Receipt

_SHOWN: Final = 20
"""Lines of what a check that failed has said: a failure stands at the end."""


@click.command(
    "check", epilog=examples("counterpoint check 4", "counterpoint check 4 --gate tests")
)
@click.argument("name", metavar="ID", type=ITEM)
@click.option(
    "--gate", "gates", multiple=True, metavar="NAME", type=GATE, help="Only this one; repeatable."
)
@with_context
def check_command(context: CommandContext, *, name: str, gates: tuple[str, ...]) -> int:
    """Run the checks of an item and keep signed receipts.

    It runs only commands that counterpoint.toml allows. Exit code 1 if a check fails.
    """
    core, out = in_terminal_session(context.core), context.out
    item = item_id(core, name)
    token = _token(core, item)
    with out.counting("Checks that are running"), name_item_in_hints(item):
        done = core.gates.verify(Check(item=item, gates=gates), token)
    out.result(
        {"passed": done.passed, "receipts": [present(receipt) for receipt in done.receipts]},
        *(line for receipt in done.receipts for line in _lines(receipt)),
    )
    if not out.json:
        passed = sum(_passed(receipt) for receipt in done.receipts)
        out.aside(f"{passed} of {counted(len(done.receipts), 'check')} passed.")
        if done.passed and token is not None:
            out.aside(f"End it with `counterpoint finish {item} --summary TEXT`.")
    return 0 if done.passed else 1


def _token(core: Core, item: str) -> int | None:
    """Return the token of the caller's claim, or None where nobody holds it; NotClaimHolder."""
    claim = core.overview.find(Claim, item)
    return token_of(core, item) if claim is not None and claim.is_held else None


def _lines(receipt: Receipt) -> list[str]:
    how = "passed" if _passed(receipt) else "ran out of time" if receipt.timed_out else "failed"
    code = "" if _passed(receipt) or receipt.timed_out else f" with exit code {receipt.exit_code}"
    head = f"{receipt.gate} {how}{code}: {command_line(receipt.argv)} ({receipt.id})"
    output = [] if _passed(receipt) else receipt.output.rstrip().splitlines()[-_SHOWN:]
    return [head, *(f"  {line}" for line in output)]


def _passed(receipt: Receipt) -> bool:
    return receipt.exit_code == 0 and not receipt.timed_out
