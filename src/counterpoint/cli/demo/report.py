"""Describes the result of the demonstration: work, evidence, trouble, proof."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from counterpoint.cli.demo.display import COLUMNS
from counterpoint.cli.demo.scenario import KILLED_AGENT
from counterpoint.cli.demo.summary import DemoResult, ProofResult, TaskRow
from counterpoint.cli.output import Output, wrap_text
from counterpoint.kernel.plurals import agree, counted

_SHORT = 7
"""Characters of a hash that are shown."""


def print_all(out: Output, ended: DemoResult, repository: Path | None) -> None:
    """Tell everything; repository: where the repository stays, if it does."""
    _print_section(out, "The work", map(_branch, ended.lines))
    out.line()
    out.line("The evidence, measured by the server", style="bold")
    headings = ("task", "by", "files", "lines", "commits", "exit codes")
    out.table(headings, [_row(line) for line in ended.lines if line.outcome])
    _print_section(out, "What went wrong, and what became of it", _trouble(ended))
    _print_section(out, "The proof", _proof(ended.proved))
    out.line()
    if ended.faults:
        out.line(f"Not as promised: {'; '.join(ended.faults)}.", style="red")
    else:
        words = (
            f"{counted(ended.commits, 'commit')} by {counted(len(ended.history.names), 'agent')}"
        )
        out.line(f"All of it held: {words}, in {ended.seconds:.1f} seconds.", style="green")
    if repository is not None:
        out.line()
        out.line("Look around in what it made", style="bold")
        # Whole, however long: they are there to be copied.
        for line in _further(repository, ended):
            out.line(f"  {line}")


def _print_section(out: Output, title: str, lines: Iterator[str]) -> None:
    out.line()
    out.line(title, style="bold")
    for line in lines:
        indent = " " * (2 + len(line) - len(line.lstrip()))
        for part in wrap_text(line.strip(), COLUMNS - len(indent) - 2):
            out.line(f"{indent}{part}".rstrip())
            indent = f"{indent:<4}"


def _branch(line: TaskRow) -> str:
    item, outcome = line.item, line.outcome
    mark = "x" if item.category == "done" else " "
    state = f"{outcome.outcome} by {outcome.agent}" if outcome else item.status
    return f"{'  ' * line.depth}[{mark}] {item.id}  {item.title}  ({state})"


def _row(line: TaskRow) -> tuple[str, ...]:
    cells = line.shape()
    return (
        cells["id"],
        cells["agent"],
        _first(cells["files"], 1),
        f"+{cells['insertions']}",
        _first([commit[:_SHORT] for commit in cells["commits"]], 2),
        ", ".join(map(str, cells["exit_codes"])),
    )


def _first(names: Sequence[str], count: int) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - count
    return ", ".join(names[:count]) + (f" and {more} more" if more > 0 else "")


def _trouble(ended: DemoResult) -> Iterator[str]:
    for line in ended.lines:
        if line.is_repaired and line.outcome:
            agent, receipt = line.outcome.agent, line.receipts[0]
            yield f"{line.item.id}: the check failed for {agent} ({receipt.id}), and then passed"
        if line.outcome and line.outcome.token > 1:
            yield (
                f"{line.item.id}: {KILLED_AGENT} was killed, {line.outcome.agent} took over;"
                f" {KILLED_AGENT}'s late write was refused: {ended.refused}"
            )
    for verdict in ended.verdicts:
        bound = f", bound to {verdict.subject[:_SHORT]}"
        yield f"{verdict.item}: {verdict.agent} said {verdict.decision}{bound}: {verdict.reason}"
    yield f"{ended.races} times two agents wanted the same task, and one of them got it"


def _proof(proved: ProofResult) -> Iterator[str]:
    yield f"ledger    {counted(proved.entries, 'entry')}, {proved.bundle_bytes:,} bytes exported"
    yield f"verified  {_word(proved.is_sound)}: its chain, Merkle tree, texts and checkpoint"
    yield f"rebuilt   {_word(proved.is_rebuilt)}: {agree(proved.rows, 'row', 'is')} what its entries say"
    yield f"offline   {_word(proved.is_bundle_sound)}: the exported bundle, by the project's key"
    yield (
        f"decision  entry #{proved.decision} ({proved.words}) is in it:"
        f" {proved.path} hashes lead to the signed root"
    )
    yield f"key       {proved.key}"
    origin, size, root, *_ = proved.checkpoint.splitlines()
    yield f"signed    {size} entries of {origin}, root {root}"


def _word(is_sound: bool) -> str:
    return "sound" if is_sound else "BROKEN"


def _further(repository: Path, ended: DemoResult) -> Iterator[str]:
    taken_over = next(
        line.item.id for line in ended.lines if line.outcome and line.outcome.token > 1
    )
    folder = shlex.quote(str(repository))
    yield f"# the task that was taken over, its evidence and its history; {KILLED_AGENT} had it first"
    yield f"cd {folder} && counterpoint show {taken_over}"
    yield "# the last entries of the ledger"
    yield f"cd {folder} && counterpoint log --limit 20"
    yield "# prove all of it once more"
    yield f"cd {folder} && counterpoint audit verify"
    yield "# all of it may go"
    yield f"rm -rf {shlex.quote(str(repository.parent))}"
