"""What is known of a workflow: phases, tasks, decisions, blockers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from counterpoint.core.model.journal import Outcome, Record, RecordKind
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.rows import REDACTED, load_object
from counterpoint.core.model.work import Attribute, Item
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import (
    attributes_of,
    item_named,
    kept_object,
    value_of,
)
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.dialects.workflow.nouns import (
    ContextFilter,
    LogView,
    PhaseView,
    TaskCounts,
    TaskView,
    WorkflowView,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms

PHASE: Final = "phase"
"""The scope of the names of phases: the workflow's id, `/`, the number."""
_CHUNK: Final = 200
_IN_PROGRESS: Final = ("backlog", "open", "active", "review")


class WorkflowQueries:
    """Verbs for looking at a workflow."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def head(self, workflow: str) -> WorkflowView:
        """Return a workflow in a few words; NotFound."""
        with self._context.reading() as view:
            found = of_kind(view, workflow, "workflow")
            phases = view.select(Item, parent=workflow, kind="phase", order="position,number")
            running = [phase for phase in phases if not phase.is_closed]
            current = (running or phases[-1:] or [None])[0]
            return WorkflowView(
                item=found,
                kept=attributes_of(view, workflow),
                phases=len(phases),
                current_phase=number_of(view, current) if current else 0,
            )

    def phase_numbered(self, workflow: str, number: int) -> Item | None:
        """Return the phase of a number, or None."""
        with self._context.reading() as view:
            return item_named(view, f"{workflow}/{number}", PHASE)

    def phase(self, phase: str) -> PhaseView:
        """Return a phase with its numbers; NotFound."""
        with self._context.reading() as view:
            found = of_kind(view, phase, "phase")
            return _line(view, found, _counted(view, found, _nested(view, found.root)))

    def phases(
        self, workflow: str, asked: ContextFilter, after: int = 0, limit: int = 50
    ) -> list[PhaseView]:
        """Return the phases of a workflow by their age, beyond an item's number.

        With an agent or a moment asked for: those that have such tasks, and the counts of these.
        """
        one: dict[str, Filter] = {"id": asked.phase} if asked.phase else {}
        with self._context.reading() as view:
            if asked.agent or asked.since:
                chosen = _by_phase(view, workflow, asked)
                one = {"id": tuple(chosen)}
            else:
                chosen = {}
            found = view.select(
                Item,
                parent=workflow,
                kind="phase",
                order="number",
                after=(after,),
                limit=limit,
                **one,
            )
            if chosen:
                return [_line(view, phase, chosen[phase.id]) for phase in found]
            nested = _nested(view, workflow)
            return [_line(view, phase, _counted(view, phase, nested)) for phase in found]

    def tasks(
        self, workflow: str, asked: ContextFilter, after: int = 0, limit: int = 50
    ) -> list[TaskView]:
        """Return tasks by their age, beyond an item's number."""
        with self._context.reading() as view:
            found = list(islice(_tasks(view, workflow, asked, after), limit))
            return _task_lines(view, found)

    def count_tasks(self, workflow: str, asked: ContextFilter) -> int:
        """Return how many tasks a filter finds."""
        with self._context.reading() as view:
            if asked.since:
                return sum(1 for _ in _tasks(view, workflow, asked, 0))
            return sum(view.counts(Item, "kind", **_columns(view, workflow, asked)).values())

    def log(
        self,
        workflow: str,
        kind: RecordKind,
        asked: ContextFilter,
        before: int = 0,
        limit: int = 50,
        **equal: str,
    ) -> list[LogView]:
        """Return records about tasks, the latest first, before a record's number."""
        with self._context.reading() as view:
            return list(islice(_log(view, workflow, kind, asked, before, equal), limit))

    def count_log(self, workflow: str, kind: RecordKind, asked: ContextFilter, **equal: str) -> int:
        """Return how many records a filter finds."""
        with self._context.reading() as view:
            return sum(1 for _ in _log(view, workflow, kind, asked, 0, equal))


def of_kind(view: Reading, name: str, kind: str) -> Item:
    """Return the item of an id and a kind below a workflow; NotFound, as if there were none."""
    found = view.find(Item, name)
    root = view.find(Item, found.root) if found is not None else None
    if found is None or found.kind != kind or root is None or root.kind != "workflow":
        raise missing(Item, name)
    return found


def number_of(view: Reading, phase: Item) -> int:
    """Return the number of a phase: as declared, else its place among the others."""
    declared = attributes_of(view, phase.id).get("number")
    return declared if isinstance(declared, int) else phase.position + 1


def phase_of(view: Reading, task: Item) -> Item:
    """Return the phase that a task is of, also through other tasks; else what is on top."""
    here: Item | None = task
    while here is not None and here.kind != "phase" and here.parent:
        here = view.find(Item, here.parent)
    return here or task


def find_below(view: Reading, task: str) -> list[Item]:
    """Return what is open directly below an item."""
    return view.select(Item, parent=task, category=UNCLOSED, order="position,number")


def running_below(view: Reading, item: Item) -> list[Item]:
    """Return the tasks below a workflow or a phase that somebody is at, by their age."""
    found = view.select(Item, root=item.root, kind="task", category="active", order="number")
    return found if item.id == item.root else [t for t in found if phase_of(view, t).id == item.id]


def metrics_of(view: Reading, workflow: Item) -> dict[str, Json]:
    """Return the numbers of a workflow: counts, seconds on the wall and summed up, tokens."""
    files: set[str] = set()
    spent = tokens = tasks = 0
    for task, _ in _tasks(view, workflow.id, ContextFilter(), 0):
        tasks += 1
        words = kept_object(view, task.id, "words")
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
    """Return the paths that an outcome kept; of a redacted one nobody can know any more."""
    if outcome.evidence == REDACTED:
        return set()
    return {
        file["path"] for file in cast("dict[str, Any]", canonical.load(outcome.evidence))["files"]
    }


def _lasted_ms(item: Item) -> int:
    return elapsed_ms(item.created_at, Timestamp(item.closed_at))


def _nested(view: Reading, workflow: str) -> dict[str, list[str]]:
    """Return the tasks that hold other tasks, by the phase that they are of."""
    found: dict[str, list[str]] = {}
    for parent in view.counts(Item, "parent", root=workflow, kind="task"):
        above = view.find(Item, parent)
        if above is not None and above.kind == "task":
            found.setdefault(phase_of(view, above).id, []).append(parent)
    return found


def _counted(view: Reading, phase: Item, nested: dict[str, list[str]]) -> Mapping[str, int]:
    """Return how many tasks of a phase are in each state."""
    held = (phase.id, *nested.get(phase.id, []))
    return view.counts(Item, "status", parent=held, kind="task")


def _by_phase(view: Reading, workflow: str, asked: ContextFilter) -> dict[str, Counter[str]]:
    """Return how many of the tasks that a filter finds are in each state, by phase."""
    found: dict[str, Counter[str]] = {}
    for task, phase in _tasks(view, workflow, asked, 0):
        found.setdefault(phase, Counter())[task.status] += 1
    return found


def _line(view: Reading, phase: Item, counts: Mapping[str, int]) -> PhaseView:
    kept = attributes_of(view, phase.id)
    return PhaseView(
        item=phase,
        number=number_of(view, phase),
        is_parallel=kept.get("is_parallel") is True,
        tasks=TaskCounts(
            total=sum(counts.values()),
            success=counts.get("done", 0) + counts.get("skipped", 0),
            partial=counts.get("partial", 0),
            failed=counts.get("failed", 0) + counts.get("cancelled", 0),
            in_progress=sum(counts.get(state, 0) for state in _IN_PROGRESS),
        ),
    )


def _columns(view: Reading, workflow: str, asked: ContextFilter) -> dict[str, Filter]:
    """Return what a filter asks of the columns of tasks."""
    chosen: dict[str, Filter] = {"root": workflow, "kind": "task"}
    if asked.phase:
        chosen["parent"] = (asked.phase, *_nested(view, workflow).get(asked.phase, ()))
    if asked.agent:
        chosen["assignee"] = asked.agent
    return chosen


def _tasks(
    view: Reading, workflow: str, asked: ContextFilter, after: int
) -> Iterator[tuple[Item, str]]:
    """Return tasks with the ids of their phases."""
    columns = _columns(view, workflow, asked)
    phases: dict[str, str] = {}
    while True:
        found = view.select(Item, order="number", after=(after,), limit=_CHUNK, **columns)
        for task in found:
            if task.parent not in phases:
                phases[task.parent] = phase_of(view, task).id
            if task.created_at >= asked.since:
                yield task, phases[task.parent]
        if len(found) < _CHUNK:
            return
        after = found[-1].number


def _task_lines(view: Reading, found: Sequence[tuple[Item, str]]) -> list[TaskView]:
    ids = tuple(task.id for task, _ in found)
    kept: dict[str, dict[str, Json]] = {name: {} for name in ids}
    for one in view.select(Attribute, item=ids) if ids else ():
        kept[one.item][one.name] = value_of(one)
    ended = {one.item: one for one in view.select(Outcome, item=ids, order="token")} if ids else {}
    return [
        TaskView(item=task, phase=phase, kept=kept[task.id], outcome=ended.get(task.id))
        for task, phase in found
    ]


def _log(
    view: Reading,
    workflow: str,
    kind: RecordKind,
    asked: ContextFilter,
    before: int,
    equal: dict[str, str],
) -> Iterator[LogView]:
    beyond: tuple[int, ...] = (before,) if before else ()
    phases: dict[str, str] = {}
    while True:
        found = view.select(
            Record, kind=kind, order="number desc", after=beyond, limit=_CHUNK, **equal
        )
        tasks = _subjects(view, found, workflow)
        for record in found:
            task = tasks.get(record.id)
            if record.created_at < asked.since:
                return
            if task is None or asked.agent not in {"", task.assignee}:
                continue
            if asked.phase:
                phase = phases.setdefault(task.id, phase_of(view, task).id)
                if phase != asked.phase:
                    continue
            yield LogView(record=record, task=task)
        if len(found) < _CHUNK:
            return
        beyond = (found[-1].number,)


def _subjects(view: Reading, records: Sequence[Record], workflow: str) -> dict[str, Item]:
    """Return the task that each record of a workflow is about, by the record's id."""
    about = {record.id: _present_task(record) or record.item for record in records}
    names = tuple({name for name in about.values() if name})
    items = {item.id: item for item in view.select(Item, id=names, root=workflow)} if names else {}
    return {record: items[name] for record, name in about.items() if name in items}


def _present_task(record: Record) -> str:
    """Return the task that a record names beside the item that it hangs on."""
    told = load_object(record.details).get("task")
    return told if isinstance(told, str) else ""
