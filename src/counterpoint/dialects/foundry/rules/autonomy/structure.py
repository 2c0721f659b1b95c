"""The structure of a spec that a run works on, and what a change means.

The digest is SHA-256 over canonical JSON of the phases in their order and of each task with its phase, both by the ids of
their nodes: titles, metadata and states do not count. Everything below the root that is no phase is a task here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.numbering import natural_key
from counterpoint.dialects.foundry.rules.tree import Tree
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound

_SHOWN = 50


@dataclass(frozen=True, kw_only=True)
class Structure:
    """The phases of a spec in their order, and the phase of each task; it is empty for a task in none."""

    phases: tuple[str, ...] = ()
    tasks: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def digest(self) -> str:
        """What the structure is known by: 64 hex digits."""
        # Ids as values: a name of an object may only be ASCII.
        pairs = sorted([task, phase] for task, phase in self.tasks.items())
        return canonical.sha256(canonical.dump({"phases": list(self.phases), "tasks": pairs}))

    def tasks_of(self, phase: str) -> frozenset[str]:
        """Return the tasks of a phase."""
        return frozenset(task for task, own in self.tasks.items() if own == phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changed between two structures, in natural order.

    moved_tasks: those that are in another phase. completed_removed: completed tasks that are gone. is_reordered: whether phases that
    are in both have another order. kept_gates: the phases whose gates stay satisfied, for nothing in them changed.
    """

    added_phases: tuple[str, ...] = ()
    removed_phases: tuple[str, ...] = ()
    added_tasks: tuple[str, ...] = ()
    removed_tasks: tuple[str, ...] = ()
    moved_tasks: tuple[str, ...] = ()
    completed_removed: tuple[str, ...] = ()
    is_reordered: bool = False
    kept_gates: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether the two differ at all."""
        lists = (self.added_phases, self.removed_phases, self.added_tasks, self.removed_tasks)
        return any(lists) or bool(self.moved_tasks) or self.is_reordered

    def told(self) -> dict[str, Json]:
        """Return what the answer to a rebase says."""
        return {
            "result": "success" if self.is_change else "no_change",
            "added_phases": list(self.added_phases),
            "removed_phases": list(self.removed_phases),
            "added_tasks": list(self.added_tasks),
            "removed_tasks": list(self.removed_tasks),
            "completed_tasks_removed": len(self.completed_removed),
        }


def structure_of(document: Json) -> Structure:
    """Return the structure of a document of any shape."""
    tree = Tree(document)
    phases = tuple(tree.phases())
    tasks: dict[str, str] = {}
    for phase in phases:
        for name in tree.below(phase):
            if name != phase:
                tasks[name] = phase
    for name in tree.nodes:
        if name != ROOT and name not in tasks and name not in phases:
            tasks[name] = ""
    return Structure(phases=phases, tasks=tasks)


def difference(
    before: Structure,
    after: Structure,
    completed: Collection[str] = (),
    satisfied: Iterable[str] = (),
) -> Difference:
    """Return what changed; completed: tasks that the run completed; satisfied: phases whose gates are."""
    removed = before.tasks.keys() - after.tasks.keys()
    shared = before.tasks.keys() & after.tasks.keys()
    return Difference(
        added_phases=_ordered(set(after.phases) - set(before.phases)),
        removed_phases=_ordered(set(before.phases) - set(after.phases)),
        added_tasks=_ordered(after.tasks.keys() - before.tasks.keys()),
        removed_tasks=_ordered(removed),
        moved_tasks=_ordered(task for task in shared if before.tasks[task] != after.tasks[task]),
        completed_removed=_ordered(removed & frozenset(completed)),
        is_reordered=_shared(before.phases, after.phases) != _shared(after.phases, before.phases),
        kept_gates=_ordered(
            phase for phase in frozenset(satisfied) if is_untouched(phase, before, after)
        ),
    )


def is_untouched(phase: str, before: Structure, after: Structure) -> bool:
    """Whether a phase has the same tasks in both structures."""
    both = phase in before.phases and phase in after.phases
    return both and before.tasks_of(phase) == after.tasks_of(phase)


def rebase(
    before: Structure | None,
    after: Structure,
    completed: Collection[str] = (),
    satisfied: Iterable[str] = (),
    *,
    force: bool = False,
) -> Difference:
    """Return what a rebase has to do with; refuse one that would lose completed work, unless it is forced.

    before: the structure that the run knows, None if it cannot be found any more; then, with force, everything counts as added.
    Raises NotFound (REBASE_BACKUP_MISSING) and InvalidInput (REBASE_COMPLETED_TASKS_REMOVED).
    """
    if before is None and not force:
        raise NotFound(
            "the structure that the run knows cannot be found any more",
            hint="Give `force` to take the spec as it is: every gate is then judged afresh.",
            error_code="REBASE_BACKUP_MISSING",
        )
    changes = difference(before or Structure(), after, completed, satisfied)
    if changes.completed_removed and not force:
        names = ", ".join(changes.completed_removed[:_SHOWN])
        raise InvalidInput(
            f"completed tasks are not in the spec any more: {names}",
            hint="Bring them back, or give `force` to go on without them.",
            completed_tasks_removed=list(changes.completed_removed[:_SHOWN]),
            error_code="REBASE_COMPLETED_TASKS_REMOVED",
        )
    return changes


def _ordered(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=natural_key))


def _shared(phases: Iterable[str], others: Collection[str]) -> list[str]:
    return [phase for phase in phases if phase in others]
