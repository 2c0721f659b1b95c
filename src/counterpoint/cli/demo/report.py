"""What the demonstration proves at its end, and shows.

The end of the demonstration: what was done, its evidence, and the proof.
The proof is made the way a stranger would check it: the ledger is verified and replayed, exported
into a bundle, the bundle is verified with nothing but its bytes and the project's public key, and
the first decision that an agent wrote down is shown to be one of the bundle's entries by an
inclusion proof under the root that the key has signed.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from counterpoint.cli.demo.display import COLUMNS
from counterpoint.cli.demo.scenario import KILLED_AGENT, LEAD, ROLES_BY_AGENT, Scenario
from counterpoint.cli.output import Output, wrap_text
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.bundle import BundleHeader, verify_bundle
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.merkle import leaf_hash, verify_inclusion
from counterpoint.core.model.journal import Outcome, Receipt, Verdict
from counterpoint.core.model.work import Item
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import ProofMismatch
from counterpoint.kernel.plurals import agree, counted

_PAGE = 1000
_TASKS = 20
_REVIEWED = 2
"""Phases of the plan that need a review."""
_REFUSAL = "claim_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One item of the tree of work, with its evidence if it is a task."""

    depth: int
    item: Item
    outcome: Outcome | None
    receipts: tuple[Receipt, ...]

    @property
    def evidence(self) -> dict[str, Any]:
        """What git showed when the task was finished."""
        return canonical.load(self.outcome.evidence) if self.outcome else {}

    @property
    def is_repaired(self) -> bool:
        """Whether its check failed first and passed at last."""
        codes = [receipt.exit_code for receipt in self.receipts]
        return len(codes) > 1 and codes[0] != 0 and codes[-1] == 0

    def shape(self) -> dict[str, Json]:
        """Return the line as JSON."""
        evidence = self.evidence
        return {
            "id": self.item.id,
            "kind": self.item.kind,
            "title": self.item.title,
            "status": self.item.status,
            "depth": self.depth,
            "agent": self.outcome.agent if self.outcome else "",
            "outcome": self.outcome.outcome if self.outcome else "",
            "files": [file["path"] for file in evidence.get("files", [])],
            "insertions": evidence.get("insertions", 0),
            "commits": evidence.get("commits", []),
            "exit_codes": [receipt.exit_code for receipt in self.receipts],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofResult:
    """What was proved about the ledger, and how large it is."""

    entries: int
    bundle_bytes: int
    rows: int
    is_sound: bool
    is_rebuilt: bool
    is_bundle_sound: bool
    root: str
    key: str
    checkpoint: str
    decision: int
    words: str
    path: int


def tree_of(core: Core, root: str) -> list[TaskRow]:
    """Return the tree of work from its root down."""
    return list(_lines(core, core.items.get(root), 0))


def _lines(core: Core, item: Item, depth: int) -> Iterator[TaskRow]:
    outcomes = core.overview.outcomes(item.id)
    receipts = core.overview.rows(Receipt, item=item.id, limit=_PAGE)
    yield TaskRow(
        depth=depth,
        item=item,
        outcome=outcomes[-1] if outcomes else None,
        receipts=tuple(receipts),
    )
    for child in core.overview.children(item.id):
        yield from _lines(core, child, depth + 1)


def prove(play: Scenario, bundle: Path) -> ProofResult:
    """Verify, replay and export the ledger, and check the export without it; ProofMismatch."""
    audit = play.core.audit
    play.core.signing.renew()
    verified = audit.verify()
    rebuilt = audit.rebuild()
    with bundle.open("wb") as sink:
        sink.writelines(audit.export())
    with bundle.open("rb") as lines:
        report = verify_bundle(lines, audit.key)
    decision = audit.log(action="decision.recorded", after=-1, limit=1)[0]
    path = [bytes.fromhex(part) for part in audit.inclusion(decision.sequence, verified.size).path]
    checkpoint = _require_included(bundle, decision.sequence, path, play.core)
    return ProofResult(
        entries=verified.size,
        bundle_bytes=bundle.stat().st_size,
        rows=sum(rebuilt.rows.values()),
        is_sound=verified.sound,
        is_rebuilt=not rebuilt.differences,
        is_bundle_sound=report.sound and report.trusted and report.root == verified.root,
        root=verified.root,
        key=audit.key.to_text(),
        checkpoint=checkpoint,
        decision=decision.sequence,
        words=f"{decision.actor.name} on {decision.subject}",
        path=len(path),
    )


def _require_included(bundle: Path, sequence: int, path: list[bytes], core: Core) -> str:
    """Return the bundle's checkpoint if its entry is under the signed root; ProofMismatch."""
    with bundle.open("rb") as lines:
        header = BundleHeader.from_bytes(next(lines).rstrip(b"\n"))
        entry = next(islice(lines, sequence, None)).rstrip(b"\n")
    if Entry.from_bytes(entry).action != "decision.recorded":
        raise ProofMismatch("the entry in the bundle is no decision")
    signed = checkpoints.verify(header.checkpoint, core.audit.key)
    verify_inclusion(sequence, signed.size, leaf_hash(entry), path, signed.root)
    return header.checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What the ledger tells: how often each action stands in it, and who was connected.

    agents: the name of each session's agent, by session; one session is one connection.
    """

    counts: Counter[str]
    agents: dict[str, str]

    @property
    def names(self) -> frozenset[str]:
        """The agents that worked; who comes back with another session is no further one."""
        return frozenset(self.agents.values())


def history_of(core: Core) -> History:
    """Return what the whole ledger tells."""
    history = History(counts=Counter(), agents={})
    last = -1
    while entries := core.audit.log(after=last, limit=_PAGE):
        last = entries[-1].sequence
        history.counts.update(entry.action for entry in entries)
        actors = (entry.actor for entry in entries)
        history.agents.update({actor.session: actor.name for actor in actors if actor.session})
    return history


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What there is to say at the end.

    verdicts: of the reviewer, in order. refused: the code that a late write was refused with.
    races: how often somebody else got a task first. commits: without merges.
    """

    verdicts: list[Verdict]
    refused: str
    races: int
    lines: list[TaskRow]
    proved: ProofResult
    history: History
    faults: list[str]
    seconds: float
    commits: int


def faults_of(
    play: Scenario, lines: list[TaskRow], proved: ProofResult, history: History
) -> list[str]:
    """Return everything that is not as the demonstration promises; nothing if all held."""
    tasks = [line for line in lines if line.item.kind == "task"]
    repaired = [line for line in tasks if line.is_repaired]
    counts = history.counts
    expected = {
        "the ledger verifies": proved.is_sound,
        "the tables are what the ledger says": proved.is_rebuilt,
        "the bundle verifies offline": proved.is_bundle_sound,
        "every agent worked": set(history.names) == {LEAD, *ROLES_BY_AGENT},
        f"at least {_TASKS} tasks": len(tasks) >= _TASKS,
        "everything is done": all(line.item.category == "done" for line in lines),
        "every task has commits": all(line.evidence.get("commits") for line in tasks),
        "a check failed and then passed": len(repaired) == 1,
        f"{KILLED_AGENT} was killed": play.agents.killed == {KILLED_AGENT},
        "one claim was taken over": counts["task.taken_over"] == 1,
        f"the late write was refused ({_REFUSAL})": play.refused == _REFUSAL,
        "one phase was rejected": counts["item.rejected"] == 1,
        "two phases were approved": counts["item.approved"] == _REVIEWED,
    }
    return [promise for promise, is_kept in expected.items() if not is_kept]


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
