"""Describes the result of the demonstration: work, evidence, trouble, proof."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from counterpoint.cli.demo.scenario import KILLED_AGENT
from counterpoint.cli.demo.summary import DemoResult, ProofResult, TaskRow
from counterpoint.cli.output import Output

_SHORT = 7
"""Characters of a hash that are shown."""


def print_all(out: Output, ended: DemoResult, kept: Path | None) -> None:
    """Tell everything; kept: where the repository stays, if it does."""
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
        agents = len(ended.history.agents)
        words = f"{ended.commits} commits by {agents} connected agents"
        out.line(f"All of it held: {words}, in {ended.seconds:.1f} seconds.", style="green")
    _print_section(out, "Try next", _further(kept))


def _print_section(out: Output, title: str, lines: Iterator[str]) -> None:
    out.line()
    out.line(title, style="bold")
    for line in lines:
        out.line(f"  {line}".rstrip())


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
        ", ".join(cells["files"]),
        f"+{cells['insertions']}",
        ", ".join(commit[:_SHORT] for commit in cells["commits"]),
        ", ".join(map(str, cells["exit_codes"])),
    )


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
    yield f"ledger    {proved.entries:,} entries, {proved.bundle_bytes:,} bytes exported"
    yield f"verified  {_word(proved.is_sound)}: its chain, Merkle tree, texts and checkpoint"
    yield f"rebuilt   {_word(proved.is_rebuilt)}: {proved.rows:,} rows are what its entries say"
    yield f"offline   {_word(proved.is_bundle_sound)}: the exported bundle, by the project's key"
    yield (
        f"decision  entry #{proved.decision} ({proved.words}) is in it:"
        f" {proved.path} hashes lead to the signed root"
    )
    yield f"key       {proved.key}"
    yield "checkpoint"
    yield from (f"  {line}" for line in proved.checkpoint.splitlines())


def _word(is_sound: bool) -> str:
    return "sound" if is_sound else "BROKEN"


def _further(kept: Path | None) -> Iterator[str]:
    if kept is None:
        yield "counterpoint demo --keep     the same, to look around in afterwards"
    else:
        yield f"cd {kept} && counterpoint log --limit 100"
    yield "counterpoint init            begin in a repository of your own"
    yield "counterpoint audit verify    prove your own ledger at any time"
