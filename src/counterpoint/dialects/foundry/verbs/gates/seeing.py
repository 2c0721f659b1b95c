"""Gathers what a reviewer sees of a phase.

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
class PhasePromises:
    """What the ledger says a phase promises.

    work: without the state of the tree. receipts: of the verifications that were run, by the ids of their nodes. measured: paths that
    ended claims have changed. start: the tree in which the work began; None if it never began.
    """

    work: PhaseWork
    receipts: Mapping[str, Receipt]
    measured: frozenset[str]
    start: StartPoint | None


def load_promises(view: Reading, shape: SpecShape, phase: Item) -> PhasePromises:
    """Load what the ledger says a phase promises."""
    items = shape.tasks[phase.id]
    names = shape.nodes.ids([phase.id, *(item.id for item in items)])
    tasks = [item for item in items if shape.types[item.id] not in _NO_TASKS]
    checks = [item for item in items if shape.types[item.id] == "verify"]
    pairs = [_load_verification(view, item, names[item.id]) for item in checks]
    work = PhaseWork(
        phase=names[phase.id],
        tasks=tuple(_tasks(view, tasks, names)),
        verifications=tuple(verification for verification, _ in pairs),
    )
    return PhasePromises(
        work=work,
        receipts={
            verification.id: receipt for verification, receipt in pairs if receipt is not None
        },
        measured=frozenset(_measured_paths(view, tasks)),
        start=_find_start(view, shape.nodes.root, tasks),
    )


def gather_work(context: Context, promises: PhasePromises) -> PhaseWork:
    """Return what a reviewer sees of a phase, with the state of the caller's tree; called while no transaction is open."""
    named_paths = tuple(dict.fromkeys(path for task in promises.work.tasks for path in task.files))
    paths = {
        *promises.measured,
        *(_changed_paths(context, snapshot_of(promises.start)) if promises.start else ()),
    }
    changed = frozenset(_touched_names(named_paths, paths))
    is_stale: dict[tuple[str, str], bool] = {}
    for receipt in promises.receipts.values():
        tree = receipt.commit, str(receipt.files)
        if tree not in is_stale:
            since = _changed_paths(context, snapshot_of(receipt)) if named_paths else ()
            is_stale[tree] = any(_touched_names(named_paths, since))
    checks = tuple(
        replace(verification, is_stale=is_stale[receipt.commit, str(receipt.files)])
        if (receipt := promises.receipts.get(verification.id)) is not None
        else verification
        for verification in promises.work.verifications
    )
    present = frozenset(
        path for path in named_paths if path not in changed and _is_present(context, path)
    )
    return replace(promises.work, verifications=checks, changed=changed, present=present)


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
            left=_skip_status(item),
            criteria=tuple(
                CriterionState(text=criterion.text, is_met=True if criterion.met else unmet)
                for criterion in sorted(criteria[item.id], key=lambda criterion: criterion.position)
            ),
            files=tuple(files[item.id]),
        )


def _load_verification(
    view: Reading, item: Item, name: str
) -> tuple[ReviewedVerification, Receipt | None]:
    attributes = {
        attribute.name: value_of(attribute) for attribute in view.select(Attribute, item=item.id)
    }
    line = text_of(attributes.get(COMMAND)).strip()
    argv = command_of(line)[0] if line else ()
    receipts = view.select(Receipt, item=item.id, order="number desc") if argv else []
    receipt = next((candidate for candidate in receipts if candidate.argv == argv), None)
    return ReviewedVerification(
        id=name,
        is_completed=item.category == "done",
        left=_skip_status(item),
        result=_last_result(attributes, receipt),
        has_command=bool(line),
        exit_code=receipt.exit_code if receipt else None,
    ), receipt


def _last_result(attributes: Mapping[str, Json], receipt: Receipt | None) -> str:
    """Return the last word about a verification: that of its receipt, unless somebody reported after that."""
    if receipt is not None and text_of(attributes.get(LAST_AT)) <= receipt.ended_at:
        return "FAILED" if receipt.timed_out else ""
    return text_of(attributes.get(LAST_RESULT))


def _skip_status(item: Item) -> str:
    return item.status if item.status in item.states.skips else ""


def _measured_paths(view: Reading, items: Iterable[Item]) -> Iterator[str]:
    """Yield every path that claims of some items have ended with, as far as it was recorded by name."""
    for some in chunks([item.id for item in items]):
        for outcome in view.select(Outcome, item=some):
            for file in items_of(load_object(outcome.evidence).get("files")):
                yield text_of(object_of(file).get("path"))


def _find_start(view: Reading, root: Item, items: Sequence[Item]) -> StartPoint | None:
    """Return the first of the trees in which a run of the spec, or work on some items, began."""
    points: list[StartPoint] = []
    for some in chunks([root.id, *(item.id for item in items)]):
        points += view.select(StartPoint, item=some)
    return min(points, key=lambda point: point.taken_at, default=None)


def _changed_paths(context: Context, start: Snapshot) -> list[str]:
    """Return the paths in which the caller's tree differs from an earlier one, by their present and previous names."""
    comparison = context.ports.evidence.compare(context.caller.root, start)
    return [
        path for change in comparison.changes for path in (change.path, change.previous) if path
    ]


def _touched_names(names: Iterable[str], paths: Iterable[str]) -> Iterator[str]:
    """Yield those of the named files, folders and patterns that some paths lie in."""
    lie_in = {lead for path in paths for lead in _prefixes(path)}
    for name in names:
        is_wild = not _WILD.isdisjoint(name)
        if _normalize(name) in lie_in or (is_wild and any(covers(name, path) for path in lie_in)):
            yield name


def _prefixes(path: str) -> Iterator[str]:
    """Yield a path and every folder that it lies in; the whole tree has an empty name."""
    parts = path.split("/")
    for end in range(len(parts) + 1):
        yield "/".join(parts[:end])


def _normalize(name: str) -> str:
    return "/".join(part for part in name.split("/") if part not in {"", "."})


def _is_present(context: Context, path: str) -> bool:
    """Return whether a file or folder exists; a pattern counts as present, since nothing can be said of it."""
    if not _WILD.isdisjoint(path):
        return True
    try:
        context.ports.evidence.load(context.caller.root, path, 0)
    except (NotFound, PathOutside):
        return False
    except InvalidInput:
        # It exists, and is a folder or larger than nothing.
        return True
    return True
