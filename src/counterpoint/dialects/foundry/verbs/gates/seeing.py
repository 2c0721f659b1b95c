"""Gathers what a reviewer is to see of a phase.

That is what its nodes promise, and what this server knows of them. Rules: (1) whether a task is completed and its criteria are met is what its items say. A criterion that is not met counts as not met
once somebody has reported the work, and as open before. (2) A file was changed if it differs from the tree in which the work began, or a
claim of a task of the phase has ended with it. (3) A verification is proved by the last receipt of the command that it has now.
(4) Such a receipt is stale once a file that a task of the phase names was changed after it: other edits in the same tree may be others' (0012).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from counterpoint.core.model.evidence import Snapshot
from counterpoint.core.model.journal import Outcome, Receipt, StartPoint
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.work import Area, Attribute, Criterion, Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import value_of
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.areas import covers
from counterpoint.core.rules.evidence import snapshot_of
from counterpoint.core.rules.planning.commands import command_of
from counterpoint.dialects.foundry.nouns.tasks import COMMAND
from counterpoint.dialects.foundry.rules.autonomy.reviewer import (
    CriterionState,
    PhaseWork,
    ReviewedTask,
    ReviewedVerification,
)
from counterpoint.dialects.foundry.rules.shape import items_of, text_of
from counterpoint.dialects.foundry.verbs.queries import chunks
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape
from counterpoint.dialects.foundry.verbs.tasks.verifying import LAST_AT, LAST_RESULT
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside

_WILD: Final = frozenset("*?")
_NO_TASKS: Final = frozenset({"group", "verify", "phase"})
"""Types of nodes that promise nothing of their own, or are looked at as verifications."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """What the ledger says of a phase.

    work: without what only the tree tells. receipts: of the verifications that were run, by the ids of their nodes. measured: paths that
    ended claims have changed. start: the tree in which the work began; None if nobody ever began.
    """

    work: PhaseWork
    receipts: Mapping[str, Receipt]
    measured: frozenset[str]
    start: StartPoint | None


def promised(view: Reading, shape: SpecShape, phase: Item) -> Promised:
    """Return what the ledger says of a phase."""
    items = shape.tasks[phase.id]
    names = shape.known.ids([phase.id, *(item.id for item in items)])
    tasks = [item for item in items if shape.types[item.id] not in _NO_TASKS]
    checks = [item for item in items if shape.types[item.id] == "verify"]
    found = [_check(view, item, names[item.id]) for item in checks]
    work = PhaseWork(
        phase=names[phase.id],
        tasks=tuple(_tasks(view, tasks, names)),
        verifications=tuple(one for one, _ in found),
    )
    return Promised(
        work=work,
        receipts={one.id: receipt for one, receipt in found if receipt is not None},
        measured=frozenset(_measured(view, tasks)),
        start=_start(view, shape.known.root, tasks),
    )


def seen(context: Context, said: Promised) -> PhaseWork:
    """Return what a reviewer is to see of a phase, with what the caller's tree tells; asked while no transaction is open."""
    named = tuple(dict.fromkeys(path for task in said.work.tasks for path in task.files))
    paths = {*said.measured, *(_changed(context, snapshot_of(said.start)) if said.start else ())}
    changed = frozenset(_reached(named, paths))
    later: dict[tuple[str, str], bool] = {}
    for receipt in said.receipts.values():
        place = receipt.commit, str(receipt.files)
        if place not in later:
            since = _changed(context, snapshot_of(receipt)) if named else ()
            later[place] = any(_reached(named, since))
    checks = tuple(
        replace(one, is_stale=later[receipt.commit, str(receipt.files)])
        if (receipt := said.receipts.get(one.id)) is not None
        else one
        for one in said.work.verifications
    )
    present = frozenset(path for path in named if path not in changed and _is_there(context, path))
    return replace(said.work, verifications=checks, changed=changed, present=present)


def _tasks(
    view: Reading, items: Sequence[Item], names: Mapping[str, str]
) -> Iterator[ReviewedTask]:
    ids = [item.id for item in items]
    criteria: dict[str, list[Criterion]] = defaultdict(list)
    files: dict[str, list[str]] = defaultdict(list)
    reported: set[str] = set()
    for some in chunks(ids):
        for sentence in view.select(Criterion, item=some):
            criteria[sentence.item].append(sentence)
        for area in view.select(Area, item=some):
            files[area.item].append(area.pattern)
        reported.update(name for (name,) in view.cells(Outcome, ("item",), item=some))
    for item in items:
        unmet = False if item.id in reported else None
        yield ReviewedTask(
            id=names[item.id],
            title=item.title,
            is_completed=item.category == "done",
            left=_left(item),
            criteria=tuple(
                CriterionState(text=one.text, is_met=True if one.met else unmet)
                for one in sorted(criteria[item.id], key=lambda one: one.position)
            ),
            files=tuple(files[item.id]),
        )


def _check(view: Reading, item: Item, name: str) -> tuple[ReviewedVerification, Receipt | None]:
    kept = {one.name: value_of(one) for one in view.select(Attribute, item=item.id)}
    line = text_of(kept.get(COMMAND)).strip()
    argv = command_of(line)[0] if line else ()
    ran = view.select(Receipt, item=item.id, order="number desc") if argv else []
    receipt = next((one for one in ran if one.argv == argv), None)
    return ReviewedVerification(
        id=name,
        is_completed=item.category == "done",
        left=_left(item),
        result=_result(kept, receipt),
        has_command=bool(line),
        exit_code=receipt.exit_code if receipt else None,
    ), receipt


def _result(kept: Mapping[str, Json], receipt: Receipt | None) -> str:
    """Return the last word about a verification: that of its receipt, unless somebody said something after that."""
    if receipt is not None and text_of(kept.get(LAST_AT)) <= receipt.ended_at:
        return "FAILED" if receipt.timed_out else ""
    return text_of(kept.get(LAST_RESULT))


def _left(item: Item) -> str:
    return item.status if item.status in item.states.skips else ""


def _measured(view: Reading, items: Iterable[Item]) -> Iterator[str]:
    """Answer every path that claims of some items have ended with, as far as it was kept by name."""
    for some in chunks([item.id for item in items]):
        for outcome in view.select(Outcome, item=some):
            for one in items_of(load_object(outcome.evidence).get("files")):
                yield text_of(object_of(one).get("path"))


def _start(view: Reading, root: Item, items: Sequence[Item]) -> StartPoint | None:
    """Return the first of the trees in which a run of the spec, or work on some items, began."""
    points: list[StartPoint] = []
    for some in chunks([root.id, *(item.id for item in items)]):
        points += view.select(StartPoint, item=some)
    return min(points, key=lambda one: one.taken_at, default=None)


def _changed(context: Context, start: Snapshot) -> list[str]:
    """Return the paths in which the caller's tree differs from one before, by their names of now and then."""
    found = context.ports.evidence.compare(context.caller.root, start)
    return [path for one in found.changes for path in (one.path, one.previous) if path]


def _reached(named: Iterable[str], paths: Iterable[str]) -> Iterator[str]:
    """Answer those of the named files, folders and patterns in which one of some paths lies."""
    lie_in = {lead for path in paths for lead in _leads(path)}
    for name in named:
        is_wild = not _WILD.isdisjoint(name)
        if _plain(name) in lie_in or (is_wild and any(covers(name, path) for path in lie_in)):
            yield name


def _leads(path: str) -> Iterator[str]:
    """Answer a path and every folder that it lies in, the whole tree with an empty name."""
    parts = path.split("/")
    for end in range(len(parts) + 1):
        yield "/".join(parts[:end])


def _plain(name: str) -> str:
    return "/".join(part for part in name.split("/") if part not in {"", "."})


def _is_there(context: Context, path: str) -> bool:
    """Return whether a file or folder is there; of a pattern that cannot be said, and nobody is blamed."""
    if not _WILD.isdisjoint(path):
        return True
    try:
        context.ports.evidence.load(context.caller.root, path, 0)
    except (NotFound, PathOutside):
        return False
    except InvalidInput:
        # It is there, and is larger than nothing, or a folder.
        return True
    return True
