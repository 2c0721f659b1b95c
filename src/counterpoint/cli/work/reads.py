"""The record of reads, listed and checked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.local_time import DAY_AND_SECOND, local_time, time_heading
from counterpoint.cli.trust.reads import mark_fault
from counterpoint.cli.work.names import item_id
from counterpoint.core.coordinator import Core
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.operations.reads import Reads, Switch
from counterpoint.core.ports.reads import ReadHead, ReadPolicy
from counterpoint.dialects.nouns import NOUNS
from counterpoint.evidence.reads import find_mark, find_marked_log, logs_of, read_lines
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import stamp
from counterpoint.kernel.plurals import counted

_SHOWN_IDS = 6


@click.command(
    "reads",
    epilog=examples("counterpoint audit reads", "counterpoint audit reads --item shop-3 --json"),
)
@click.option("--item", metavar="ID", help="Only reads of this item, record or other thing.")
@click.option("--by", "who", metavar="WHO", help="Only by this principal, session or name.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only from this time on, such as 2026-11-29 or 2026-11-29T14:30.",
)
@click.option(
    "--limit",
    default=50,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="So many of the latest.",
)
@with_context
def reads_command(
    context: CommandContext, *, item: str | None, who: str | None, since: str | None, limit: int
) -> int:
    """List who read what, and check the record.

    Reads are recorded once a person has called `counterpoint policy --reads on`. Exit code 1 if the record was changed, cut off or switched
    off past the ledger.
    """
    # To find an item is to read it; to look at the record is not, so that nobody is shut out of it.
    item, since = _id_of(context.app.person(), item), _time_of(since)
    context.app.records_reads = False
    reads, folder = context.core.use(Reads), context.app.folder
    policy, anchors = reads.policy(), {head.log: head for head in reads.anchors()}
    faults = list(filter(None, [mark_fault(policy, find_mark(folder, context.app.ledger))]))
    remarks = [
        f"what was read from {gap.since or 'the beginning'} to {gap.time} on a machine that did not record"
        for gap in reads.gaps()
    ]
    lines: deque[Mapping[str, Any]] = deque(maxlen=limit)
    for log in sorted({*logs_of(folder), *anchors}):
        if log not in logs_of(folder):
            shortfall = (
                f"the ledger knows of {counted(anchors[log].lines, 'line')} of the record {log}"
            )
            # A database on a server is used from many machines, each with a record of its own.
            if context.app.is_remote and log != find_marked_log(folder):
                remarks.append(f"{shortfall}, which is on another machine")
            else:
                faults.append(f"{shortfall}, which is gone from {folder / 'reads'}")
            continue
        checked = _Checked(log, anchors.get(log))
        for line in checked.read(read_lines(folder, log)):
            if _is_asked(line, item, who, since):
                lines.append(line)
        faults += checked.faults
        remarks += checked.remarks
    _print(context, policy, [*lines], faults, remarks, reads.switches())
    return 1 if faults else 0


class _Checked:
    """One record as it is read: what is wrong with it, and what it says is missing."""

    def __init__(self, log: str, anchor: ReadHead | None) -> None:
        self._log, self._anchor = log, anchor
        self.faults: list[str] = []
        self.remarks: list[str] = []

    def read(
        self, lines: Iterator[tuple[str, Mapping[str, Any] | None]]
    ) -> Iterator[Mapping[str, Any]]:
        """Answer the lines that go on from those before them."""
        number, anchored = 0, False
        for number, (digest, line) in enumerate(lines, 1):
            if line is None:
                self.faults.append(
                    f"line {number} of the record {self._log} does not go on from the one before it: lines were changed, taken out"
                    " or put in there"
                )
                # The rest of the chain is told by its next fault alone.
                continue
            if self._anchor is not None and number == self._anchor.lines:
                anchored = digest == self._anchor.hash
            if lost := line.get("lost"):
                self.remarks.append(
                    f"{counted(lost, 'read')} before line {number} of the record {self._log} could not be recorded"
                )
            yield line
        if self._anchor is None:
            return
        if number < self._anchor.lines:
            self.faults.append(
                f"the record {self._log} ends with line {number}, and the ledger knows of {counted(self._anchor.lines, 'line')}:"
                " the others were cut off"
            )
        elif not anchored:
            self.faults.append(
                f"line {self._anchor.lines} of the record {self._log} is not the one that the ledger knows: lines up to it were"
                " written anew"
            )


def _id_of(core: Core, name: str | None) -> str | None:
    """Return the id under which reads of what a person names are recorded; NotFound for an item that there is not."""
    return item_id(core, name) if name is not None and noun_of_id(name, NOUNS) is None else name


def _time_of(since: str | None) -> str | None:
    """Return a time that was typed as the record has it; one without an offset is of this machine's zone."""
    if since is None:
        return None
    try:
        return stamp(datetime.fromisoformat(since).astimezone(UTC))
    except (ValueError, OverflowError) as fault:
        raise click.BadParameter(
            f"{since!r} is no time. Give a day, or a day and a time, such as 2026-11-29T14:30.",
            param_hint="--since",
        ) from fault


def _is_asked(
    line: Mapping[str, Any], item: str | None, who: str | None, since: str | None
) -> bool:
    by: Mapping[str, Any] = line["by"]
    names = {by.get("principal"), by.get("session"), by.get("name")}
    is_of_item = (
        item is None
        or bool(line.get("all"))
        or any(item in {subject, *str(subject).split(" ")} for subject in line["ids"])
    )
    return is_of_item and (who is None or who in names) and (since is None or line["time"] >= since)


def _print(
    context: CommandContext,
    policy: ReadPolicy,
    lines: list[Mapping[str, Any]],
    faults: list[str],
    remarks: list[str],
    switches: list[Switch],
) -> None:
    reads: list[Json] = [dict(line) for line in lines]
    if context.out.json:
        context.out.answer(
            {
                "policy": policy,
                "reads": reads,
                "faults": [*faults],
                "remarks": [*remarks],
                "switches": [
                    {"time": switch.time, "policy": switch.policy, "by": switch.name}
                    for switch in switches
                ],
            }
        )
        return
    times = [local_time(line["time"], DAY_AND_SECOND) for line in lines]
    rows = [(line["by"]["name"], line["entrance"], _words_of(line)) for line in lines]
    table = [(time, *row) for time, row in zip(times, rows, strict=True)]
    context.out.table((time_heading("when"), "who", "through", "what"), table)
    for switch in reversed(switches):
        context.out.line(
            f"{local_time(switch.time, DAY_AND_SECOND)}  {switch.name} set recording of reads to {switch.policy}."
        )
    for remark in remarks:
        context.out.line(f"Missing: {remark}.")
    for fault in faults:
        context.out.line(f"Wrong: {fault}.", style="red")
    if not lines and policy == "off":
        context.out.line("Reads are not recorded: `counterpoint policy --reads on`.")


def _words_of(line: Mapping[str, Any]) -> str:
    if line.get("all"):
        return "the whole ledger"
    ids = [str(subject) for subject in line["ids"]]
    more = len(ids) - _SHOWN_IDS + int(line.get("more", 0))
    return ", ".join(ids[:_SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")
