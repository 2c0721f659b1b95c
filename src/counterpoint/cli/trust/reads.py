"""The record of reads, switched on and off, and whether this machine goes by what was decided."""

from __future__ import annotations

from contextlib import suppress
from secrets import token_hex

from counterpoint.cli.context import CommandContext
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.core.operations.reads import Reads
from counterpoint.core.ports.reads import ReadPolicy
from counterpoint.evidence.reads import find_mark, last_time, switch_log


def switch_reads(context: CommandContext, policy: ReadPolicy, reason: str) -> None:
    """Say in the ledger and on this machine whether reads are recorded; Forbidden to agents, Unavailable."""
    # A record that cannot be written must not keep a person from switching it off.
    context.app.records_reads = False
    reads, folder = context.core.use(Reads), context.app.folder
    core = context.core
    if reads.policy() != policy:
        core = confirm_act(
            context,
            lambda: reads.proposed(policy),
            lambda core: core.use(Reads).switch(policy, reason),
            reason,
            offers=False,
        )
    before, ledger = core.use(Reads).switch(policy, reason), context.app.ledger
    mark = find_mark(folder, ledger)
    if before == policy != mark:
        reads.tell_gap(last_time(folder))
    log = context.app.read_log
    # What was recorded until now can be changed unnoticed no more.
    with suppress(OSError):
        if policy == "off" and log is not None and (head := log.head()):
            context.app.itself().use(Reads).anchor(head)
            log.anchored(head)
    ledgers = [project.ledger for project in context.app.store.projects()]
    switch_log(folder, policy, token_hex(8), ledger, ledgers)
    context.app.records_reads = True


def mark_fault(policy: ReadPolicy, mark: ReadPolicy) -> str:
    """Return in words how this machine departs from what a person decided; empty if it does not."""
    if policy == mark:
        return ""
    return (
        f"the ledger says that recording of reads is {policy}, and on this machine it is {mark}: what was read meanwhile"
        f" may stand nowhere. A person sets it right: `counterpoint policy --reads {policy}`"
    )
