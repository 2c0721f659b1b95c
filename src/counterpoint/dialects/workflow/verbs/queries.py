"""What is known of a workflow: phases, tasks, decisions, blockers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Final, cast

from counterpoint.core.model.answers import ItemView, Progress, StateKey
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.journal import Outcome, Record, RecordKind
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.rows import REDACTED, load_object
from counterpoint.core.model.work import Item
from counterpoint.core.operations.readiness import areas_of
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import attribute_object, item_named, line_of
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.core.queries.overview import ItemReader
from counterpoint.core.rules.evidence import marked_paths
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.frozen import frozen

PHASE: Final = "phase"
"""The scope of the names of phases: the workflow's id, `/`, the number."""
_CHUNK: Final = 200


@frozen
class TaskLine:
    """A task with the id of its phase and the areas that it was begun with."""

    view: ItemView
    phase: str
    areas: tuple[str, ...]


class WorkflowQueries(Verbs):
    """Verbs for looking at a workflow."""

    def head(self, workflow: str, at: str = "") -> tuple[ItemView, int, int]:
        """Return a workflow with the progress of its phases, the number of the current one, and how many are expected.

        The current one is the first that runs, else the last; 0 if there is none. More than were told are expected
        where a phase has a higher number. at: how it was at a moment; empty: as it is. Raises NotFound.
        """
        with self._context.reading() as view:
            item = of_kind(view, workflow, "workflow")
            phases = stood(
                view.select(Item, parent=workflow, kind="phase", order="position,number"), at
            )
            running = [phase for phase in phases if not phase.is_closed]
            current = (running or phases[-1:] or [None])[0]
            reader = ItemReader(view)
            seen = reader.one(item, "attributes")
            progress = Progress(states=Counter(phase.state_key for phase in phases))
            numbers = {
                phase.item.id: phase_number(phase) for phase in reader.views(phases, "attributes")
            }
            declared = seen.attributes.get("total_phases", len(phases))
            most = max((declared if isinstance(declared, int) else 0, *numbers.values()))
            number = numbers[current.id] if current else 0
            return replace(seen, progress=progress), number, most

    def phase_numbered(self, workflow: str, number: int) -> Item | None:
        """Return the phase of a number, or None."""
        with self._context.reading() as view:
            return item_named(view, f"{workflow}/{number}", PHASE)

    def phase(self, phase: str, at: str = "") -> ItemView:
        """Return a phase with the progress of its tasks, as it is or at a moment; NotFound."""
        with self._context.reading() as view:
            item = of_kind(view, phase, "phase")
            nested = _nested(view, item.root)
            seen = _phases(view, [item], nested)[0]
            if not at:
                return seen
            parents = (phase, *nested.get(phase, ()))
            tasks = stood(view.select(Item, parent=parents, kind="task", order="number"), at)
            return replace(
                seen, progress=Progress(states=Counter(task.state_key for task in tasks))
            )

    def phases(self, item_filter: ItemFilter, after: int = 0, limit: int = 50) -> list[ItemView]:
        """Return the phases of a workflow by their age, beyond an item's number.

        item_filter: of the workflow that is its `root`, the phase that is its `parent`. With an assignee or a
            moment: those that have such tasks, and the progress of these.
        """
        by_id: dict[str, Filter] = {"id": item_filter.parent} if item_filter.parent else {}
        with self._context.reading() as view:
            chosen = None
            if item_filter.assignee or item_filter.since:
                chosen = _by_phase(view, item_filter)
                by_id = {"id": tuple(chosen)}
            items = view.select(
                Item,
                parent=item_filter.root,
                kind="phase",
                order="number",
                after=(after,),
                limit=limit,
                **by_id,
            )
            if chosen is None:
                return _phases(view, items, _nested(view, item_filter.root))
            return [
                replace(seen, progress=Progress(states=chosen[seen.item.id]))
                for seen in ItemReader(view).views(items, "attributes")
            ]

    def tasks(self, item_filter: ItemFilter, after: int = 0, limit: int = 50) -> list[TaskLine]:
        """Return tasks by their age, beyond an item's number."""
        with self._context.reading() as view:
            pairs = list(islice(_tasks(view, item_filter, after), limit))
            tasks = [task for task, _ in pairs]
            seen = ItemReader(view).views(tasks, "attributes", "outcome")
            areas = areas_of(view, [task.id for task in tasks])
            return [
                TaskLine(
                    view=view,
                    phase=phase,
                    areas=as_given(areas.get(view.item.id, ()), view.attributes.get("areas")),
                )
                for view, (_, phase) in zip(seen, pairs, strict=True)
            ]

    def areas(self, task: ItemView) -> tuple[str, ...]:
        """Return the areas that a task, seen with its attributes, was begun with."""
        with self._context.reading() as view:
            areas = areas_of(view, [task.item.id])[task.item.id]
            return as_given(areas, task.attributes.get("areas"))

    def count_tasks(self, item_filter: ItemFilter) -> int:
        """Return how many tasks a filter finds."""
        with self._context.reading() as view:
            if item_filter.since:
                return sum(1 for _ in _tasks(view, item_filter, 0))
            return ItemReader(view).count(_within(view, item_filter))

    def log(
        self,
        kind: RecordKind,
        item_filter: ItemFilter,
        before: int = 0,
        limit: int = 50,
        **equal: str,
    ) -> list[tuple[Record, Item]]:
        """Return records about tasks, each with its task, the latest first, before a record's number."""
        with self._context.reading() as view:
            return list(islice(_log(view, kind, item_filter, before, equal), limit))

    def count_log(self, kind: RecordKind, item_filter: ItemFilter, **equal: str) -> int:
        """Return how many records a filter finds."""
        with self._context.reading() as view:
            return sum(1 for _ in _log(view, kind, item_filter, 0, equal))


def as_given(areas: tuple[str, ...], listed: Json) -> tuple[str, ...]:
    """Return areas in the order in which they were given, unless others are there by now."""
    ordered = tuple(cast("list[str]", listed)) if isinstance(listed, list) else ()
    return ordered if set(ordered) == set(areas) else areas


def of_kind(view: Reading, name: str, kind: str) -> Item:
    """Return the item of an id and a kind below a workflow; NotFound, as if there were none."""
    item = view.find(Item, name)
    root = view.find(Item, item.root) if item is not None else None
    if item is None or item.kind != kind or root is None or root.kind != "workflow":
        raise missing(Item, name)
    return item


def phase_number(phase: ItemView) -> int:
    """Return the number of a phase: as it was declared, else its place among the others."""
    declared = phase.attributes.get("number")
    return declared if isinstance(declared, int) else phase.item.position + 1


def runs_parallel(phase: ItemView) -> bool:
    """Return whether the tasks of a phase may run beside each other."""
    return phase.attributes.get("is_parallel") is True


def phase_of(view: Reading, task: Item) -> Item:
    """Return the phase that a task is of, also through other tasks; else what is on top."""
    line = line_of(view, task.id)
    return next((item for item in line if item.kind == "phase" or not item.parent), task)


def find_below(view: Reading, task: str) -> list[Item]:
    """Return what is open directly below an item."""
    return view.select(Item, parent=task, category=UNCLOSED, order="position,number")


def running_below(view: Reading, item: Item) -> list[Item]:
    """Return the tasks below a workflow or a phase that somebody is at, by their age."""
    tasks = view.select(Item, root=item.root, kind="task", category="active", order="number")
    return tasks if item.id == item.root else [t for t in tasks if phase_of(view, t).id == item.id]


def waiting_below(view: Reading, item: Item) -> list[Item]:
    """Return the tasks below a workflow or a phase that are open or in review, by their age."""
    tasks = view.select(
        Item, root=item.root, kind="task", category=("open", "review"), order="number"
    )
    return tasks if item.id == item.root else [t for t in tasks if phase_of(view, t).id == item.id]


def metrics_of(view: Reading, workflow: Item) -> dict[str, Json]:
    """Return the numbers of a workflow: counts, seconds on the wall and summed up, tokens."""
    files: set[str] = set()
    spent = tokens = tasks = 0
    for task, _ in _tasks(view, ItemFilter(root=workflow.id), 0):
        tasks += 1
        words = attribute_object(view, task.id, "words")
        tokens += sum(words.get(name, 0) for name in ("tokens_input", "tokens_output"))
        for outcome in view.select(Outcome, item=task.id):
            files |= _files_of(outcome)
        spent += _lasted_ms(task) if task.is_closed else 0
    return {
        "total_phases": sum(view.counts(Item, "kind", parent=workflow.id, kind="phase").values()),
        "total_tasks": tasks,
        "duration": round(_lasted_ms(workflow) / 1000),
        "total_duration_seconds": round(spent / 1000),
        "total_tokens": tokens,
        "files_changed": len(files),
    }


def _files_of(outcome: Outcome) -> set[str]:
    """Return what stands for the paths of an outcome; of a redacted one nobody can know any more."""
    if outcome.evidence == REDACTED:
        return set()
    return marked_paths(cast("dict[str, Any]", canonical.load(outcome.evidence)))


def _lasted_ms(item: Item) -> int:
    return elapsed_ms(item.created_at, Timestamp(item.closed_at))


def stood(items: Sequence[Item], at: str) -> list[Item]:
    """Return items as they stood at a moment, those made later left out; empty: as they are.

    What is closed now and was not then is told as being worked on, as all is here that has not ended.
    """
    if not at:
        return list(items)
    return [
        replace(item, status="active", category="active", closed_at="")
        if item.is_closed and item.closed_at > at
        else item
        for item in items
        if item.created_at <= at
    ]


def _nested(view: Reading, workflow: str) -> dict[str, list[str]]:
    """Return the tasks that hold other tasks, by the phase that they are of."""
    parents_by_phase: dict[str, list[str]] = {}
    for parent in view.counts(Item, "parent", root=workflow, kind="task"):
        above = view.find(Item, parent)
        if above is not None and above.kind == "task":
            parents_by_phase.setdefault(phase_of(view, above).id, []).append(parent)
    return parents_by_phase


def _phases(
    view: Reading, phases: Sequence[Item], nested: Mapping[str, list[str]]
) -> list[ItemView]:
    """Return phases with the progress of their tasks, those below other tasks included."""
    reader = ItemReader(view)
    return [
        replace(
            seen,
            progress=reader.progress((seen.item.id, *nested.get(seen.item.id, ())), "task"),
        )
        for seen in reader.views(phases, "attributes")
    ]


def _by_phase(view: Reading, item_filter: ItemFilter) -> dict[str, Counter[StateKey]]:
    """Return how many of the tasks that a filter finds are in each state, by phase."""
    counts_by_phase: dict[str, Counter[StateKey]] = {}
    for task, phase in _tasks(view, item_filter, 0):
        counts_by_phase.setdefault(phase, Counter())[task.state_key] += 1
    return counts_by_phase


def _within(view: Reading, item_filter: ItemFilter) -> ItemFilter:
    """Return the filter of tasks for one whose `parent` is the phase that they are of."""
    parents = (str(item_filter.parent),) if item_filter.parent else ()
    nested = _nested(view, item_filter.root) if parents else {}
    return replace(
        item_filter, kind="task", parent=(*parents, *nested.get(str(item_filter.parent), ()))
    )


def _tasks(view: Reading, item_filter: ItemFilter, after: int) -> Iterator[tuple[Item, str]]:
    """Return tasks with the ids of their phases."""
    phases: dict[str, str] = {}
    pages = ItemReader(view).pages(_within(view, item_filter), after=(after,), size=_CHUNK)
    for task in chain.from_iterable(pages):
        if task.parent not in phases:
            phases[task.parent] = phase_of(view, task).id
        yield task, phases[task.parent]


def _log(
    view: Reading, kind: RecordKind, item_filter: ItemFilter, before: int, equal: dict[str, str]
) -> Iterator[tuple[Record, Item]]:
    beyond: tuple[int, ...] = (before,) if before else ()
    phases: dict[str, str] = {}
    while True:
        records = view.select(
            Record, kind=kind, order="number desc", after=beyond, limit=_CHUNK, **equal
        )
        tasks = _subjects(view, records, item_filter.root)
        for record in records:
            task = tasks.get(record.id)
            if record.created_at < item_filter.since:
                return
            if task is None or item_filter.assignee not in {"", task.assignee}:
                continue
            if item_filter.parent:
                phase = phases.setdefault(task.id, phase_of(view, task).id)
                if phase != item_filter.parent:
                    continue
            yield record, task
        if len(records) < _CHUNK:
            return
        beyond = (records[-1].number,)


def _subjects(view: Reading, records: Sequence[Record], workflow: str) -> dict[str, Item]:
    """Return the task that each record of a workflow is about, by the record's id."""
    about = {record.id: _present_task(record) or record.item for record in records}
    names = tuple({name for name in about.values() if name})
    items = {item.id: item for item in view.select(Item, id=names, root=workflow)} if names else {}
    return {record: items[name] for record, name in about.items() if name in items}


def _present_task(record: Record) -> str:
    """Return the task that a record names beside the item that it hangs on."""
    task = load_object(record.details).get("task")
    return task if isinstance(task, str) else ""
