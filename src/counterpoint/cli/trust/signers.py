"""The signer as a program that others ask, over its standard streams."""

from __future__ import annotations

import os
import sys

import click

from counterpoint.cli.grouping import examples
from counterpoint.evidence.trust import signer_lines as lines
from counterpoint.evidence.trust.opening import own_signer
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.settings import load_settings


@click.command("signer", epilog=examples("counterpoint signer --place payments"))
@click.option(
    "--place",
    metavar="NAME",
    help="Always serve this database, whatever the client asks for.",
)
@click.option("--permit-epoch", "ledger", metavar="ID", help="Permit the next epoch of a ledger.")
def signer_command(place: str | None, ledger: str | None) -> None:
    """Sign for programs of other accounts or machines.

    It uses the key and the records of this account.

    It uses standard input and output (docs/service.md). On the other side set COUNTERPOINT_SIGNER to
    `command:ssh HOST counterpoint signer`.
    """
    signer = own_signer(load_settings(os.environ).signer, place or "", SystemClock())
    if ledger is not None:
        signer.permit_epoch(ledger)
        click.echo(f"The next epoch of {ledger} is signed, once.")
        return
    read, write = sys.stdin.buffer, sys.stdout.buffer
    is_known = False
    while line := read.readline(lines.LONGEST):
        if is_known:
            answer = lines.answer(signer, line)
        else:
            try:
                place_told = lines.place_of(line)
                signer.place = place or place_told
                is_known, answer = True, lines.accepted(lines.NUMBER)
            except CounterpointError as fault:
                answer = lines.refused(InvalidInput(fault.message))
        write.write(answer + b"\n")
        write.flush()
