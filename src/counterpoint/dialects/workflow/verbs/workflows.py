"""Workflows: declared when their parts begin, measured when they end.

Rule 1: a workflow and its phases end by word only; what has ended takes up nothing more.
Rule 2: a phase has a number in its workflow; whoever opens it again hears of the one that is there.
Rule 3: a task is made and claimed in one transaction. Its id ends it over whichever connection of the principal
that began it; of another only as `rules.trust.succession` allows. The agent that a caller names is a label.
Rule 4: a task is measured in the tree that it began in, wherever the one who ends it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os.path import relpath
from typing import Final, cast

from counterpoint.core.model.answers import Finished, ItemView
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note, Report
from counterpoint.core.model.journal import NEEDS_PERSON, Receipt, Record, StartPoint
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Area, Item
from counterpoint.core.operations.claims import Claims
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.readiness import areas_of, busy_areas
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import (
    attribute_object,
    attributes_of,
    item_named,
    line_of,
    set_attributes,
)
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.moves import move
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.tasks import Tasks
from counterpoint.core.ports.store import Reading
from counterpoint.core.queries.overview import ItemReader
from counterpoint.core.rules.areas import overlap_reasons
from counterpoint.core.rules.sessions import may_write
from counterpoint.core.rules.shared_tree import apart_json, apart_remarks
from counterpoint.core.rules.wording import few, first_line
from counterpoint.dialects.workflow.nouns import (
    BegunTask,
    ClosedWork,
    EndedTask,
    OpenedPhase,
    TaskWords,
)
from counterpoint.dialects.workflow.rules import Ended, Verification, files_changed, verify_task
from counterpoint.dialects.workflow.verbs.queries import (
    PHASE,
    find_below,
    metrics_of,
    of_kind,
    phase_of,
    running_below,
    runs_parallel,
    waiting_below,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, GateClosed

_NAMED: Final = 5
_TITLE: Final = 120
_LINES_KEPT: Final = 100
_BYTES_KEPT: Final = 20_000
"""The most that is kept of unexpected files, and of warnings: a task must end whatever it changed."""


class Workflows(Verbs):
    """Verbs for work that is declared as it goes."""

    def open(self, name: str, objective: str, attributes: dict[str, Json]) -> Item:
        """Return a workflow that has begun; with these attributes. InvalidInput."""
        draft = Draft(
            kind="workflow",
            title=name,
            body=objective,
            lifecycle="declared",
            status="active",
            attributes=attributes,
        )
        return Plans(self._context).create(draft).root

    def open_phase(self, workflow: str, number: int, phase_draft: Draft) -> OpenedPhase:
        """Return the phase of a number, made if there is none yet; NotFound, Conflict."""
        name = f"{workflow}/{number}"
        with transaction(self._context):
            with recording(self._context, "phase.opened") as change:
                above = of_kind(change.writing, workflow, "workflow")
                earlier = item_named(change.writing, name, PHASE)
                if earlier is not None:
                    return OpenedPhase(phase=earlier, was_there=True)
                _refuse_closed(above)
            begun = {"needs": (), "lifecycle": "declared", "status": "active"}
            draft = replace(phase_draft, **begun, aliases=((PHASE, name),))
            item = Plans(self._context).create(draft, workflow).root
            return OpenedPhase(phase=item, was_there=False)

    def close_phase(self, phase: str, status: str, summary: str) -> ClosedWork:
        """End a phase as `done` or `failed`; tasks that still run go on, and are told of.

        Raises NotFound, Conflict if it has ended, GateClosed.
        """
        with recording(self._context, "phase.closed", phase) as change:
            change.open_session()
            item = of_kind(change.writing, phase, "phase")
            _refuse_closed(item)
            return self._close(change, item, status, {"summary": summary})

    def close(self, workflow: str, status: str, words: dict[str, Json]) -> ClosedWork:
        """End a workflow as `done`, `partial` or `failed`; the same words again change nothing.

        Raises NotFound, Conflict if it has ended with other words, GateClosed.
        """
        with recording(self._context, "workflow.closed", workflow) as change:
            change.open_session()
            item = of_kind(change.writing, workflow, "workflow")
            if item.is_closed:
                return _closed_before(change, item, status, words)
            closed = self._close(change, item, status, {"words": words})
            metrics = metrics_of(change.writing, closed.item)
            warnings = (*closed.warnings, *_unresolved(change.writing, workflow))
            outcome: Json = {"words": words, "metrics": metrics, "warnings": list(warnings)}
            set_attributes(change, closed.item, {"outcome": outcome})
            return replace(closed, metrics=metrics, warnings=warnings)

    def _close(
        self, change: Change, item: Item, status: str, outcome: dict[str, Json]
    ) -> ClosedWork:
        running = running_below(change.writing, item)
        waiting = waiting_below(change.writing, item)
        parts = [part for part in find_below(change.writing, item.id) if part.kind != "task"]
        set_attributes(change, item, {"outcome": outcome})
        after = move(change, change.get(Item, item.id), status)
        change.add_facts(status=status)
        warnings = (
            *_warn_of("tasks are still running", running),
            *_warn_of("tasks are not done, and stay for whoever takes them up", waiting),
            *_warn_of(f"phases were not ended and are {after.status} with it", parts),
        )
        return ClosedWork(item=after, metrics={}, warnings=warnings)

    def begin_task(
        self, workflow: str, phase: str, task_draft: Draft, *, parent: str = "", tree: str = ""
    ) -> BegunTask:
        """Make a task below a phase and claim it, measuring its tree; the assignee is a label.

        parent: the task of the phase that it is a part of. tree: the working tree that it is measured in,
            below the caller's; empty: the caller's.
        Raises NotFound, Conflict for a part that has ended, PathOutside for the tree.
        """
        caller, evidence = self._context.caller, self._context.ports.evidence
        root = caller.root / (evidence.contain(caller.root, tree) if tree else "")
        tree = relpath(root, self._context.caller.main_tree)
        with self._context.reading() as view:
            within = _parts(view, workflow, phase, parent)
            seen = ItemReader(view).one(within, "attributes")
            warnings = _warn_of_others(view, self._context, seen, task_draft.areas, parent)
        draft = replace(task_draft, attributes={**task_draft.attributes, "tree": tree})
        context = self._at(self._context.caller.actor.session, tree)
        started = Claims(context).begin(draft, parent or phase)
        return BegunTask(started=started, phase=within, warnings=(*started.warnings, *warnings))

    def end_task(self, task: str, report: Report, words: TaskWords) -> EndedTask:
        """End a task that runs, and answer what the evidence says of it.

        Raises NotFound, Conflict if it does not run, GateClosed with sub-tasks that are open, AlreadyClaimed for
        what somebody else is at.
        """
        with transaction(self._context):
            with self._context.reading() as view:
                item = of_kind(view, task, "task")
                attributes = attributes_of(view, task)
                claim = view.find(Claim, task)
                children = find_below(view, task)
            if claim is None or not claim.is_held:
                raise Conflict(
                    f"{task} is not in progress: it is {item.status}",
                    hint="A task is completed once; start another one for more work.",
                    state=item.status,
                )
            if children:
                raise GateClosed(
                    f"{task} has sub-tasks that are open: {', '.join(c.title for c in children[:_NAMED])}",
                    hint="Complete them first.",
                    items=[child.id for child in children[:_NAMED]],
                )
            caller = self._context.caller
            with self._context.reading() as view:
                session = view.find(Session, claim.session)
            # A task's id ends it over whichever connection (decision 0020): tools of this dialect carry no token.
            if session is None or not may_write(session, caller.actor, caller.capability):
                claim = Claims(self._context).succeed(task)
            context = self._at(claim.session, cast("str | None", attributes.get("tree")))
            finished = Tasks(context).finish(
                task, claim.token, replace(report, open_at_end=NEEDS_PERSON)
            )
            return self._ended(context, finished, claim, words)

    def _ended(
        self, context: Context, finished: Finished, claim: Claim, words: TaskWords
    ) -> EndedTask:
        item = finished.item
        with recording(context, "task.verified", item.id) as change:
            point = change.get(StartPoint, item.id, claim.token)
            measured = _verify(change.writing, finished, point, words)
            warnings = (*_waiting_for_person(change.writing, item), *measured.warnings)
            verification: Json = {
                "scope_match": measured.scope_match,
                "unexpected_files": _first_lines(measured.unexpected_files),
                "warnings": _first_lines(warnings),
            }
            set_attributes(change, item, {"verification": verification, "words": words.details})
            phase = phase_of(change.writing, item)
        files = files_changed(finished.changes)
        return EndedTask(
            finished=finished,
            began_at=point.taken_at,
            added=files.added,
            modified=files.modified,
            deleted=files.deleted,
            scope_match=measured.scope_match,
            unexpected_files=measured.unexpected_files,
            warnings=warnings,
            phase=phase,
        )

    def log(self, note: Note) -> Record:
        """Write down something about a task, also one that has ended; a blocker needs a place.

        A blocker of a task that has ended stands in the way of its phase, or of the workflow.
        """
        with transaction(self._context):
            with self._context.reading() as view:
                task = of_kind(view, note.item, "task")
                about = task
                if note.kind == "blocker":
                    line = line_of(view, task.id)
                    about = next(item for item in line if not item.is_closed or not item.parent)
            details = {**note.details, "task": task.id}
            return Journal(self._context).append(replace(note, item=about.id, details=details))

    def resolve(self, task: str, blocker: str, resolution: str) -> Record:
        """Resolve a blocker of the workflow that a task is of; NotFound, InvalidInput."""
        with transaction(self._context):
            with self._context.reading() as view:
                within = of_kind(view, task, "task")
                record = view.find(Record, blocker)
                about = view.find(Item, record.item) if record is not None else None
                if about is None or about.root != within.root:
                    raise missing(Record, blocker)
            return Journal(self._context).resolve(blocker, resolution)

    def _at(self, session: str, tree: str | None) -> Context:
        """Return a context of this call in a session and a working tree; None: in the caller's."""
        within = self._context.in_session(session)
        root = within.caller.root if tree is None else within.caller.main_tree / tree
        return replace(within, caller=replace(within.caller, root=root))


def _waiting_for_person(view: Reading, task: Item) -> Iterator[str]:
    """Return a warning for each issue of a task that waits for a person."""
    if task.blockers > task.held:
        for record in view.select(
            Record, item=task.id, kind="blocker", status="open", order="number"
        ):
            yield (
                f"{record.id} waits for a person ({first_line(record.title, _TITLE)}): what depends on {task.id} does not"
                f" begin before `counterpoint unblock {record.id}`"
            )


def _warn_of(what: str, items: Sequence[Item]) -> tuple[str, ...]:
    """Return the warning of what was left when something ended; none if nothing was."""
    names = [f"{item.id} ({item.title})" for item in items]
    return (f"{what}: {few(names, _NAMED)}",) if items else ()


def _first_lines(lines: Sequence[str]) -> list[Json]:
    """Return as many of the first lines as are kept with a task."""
    listed: list[Json] = []
    bytes_left = _BYTES_KEPT
    for line in lines[:_LINES_KEPT]:
        bytes_left -= len(canonical.dump_any(line).encode())
        if bytes_left < 0:
            break
        listed.append(line)
    return listed


def _unresolved(view: Reading, workflow: str) -> Iterator[str]:
    """Return a warning if blockers of a workflow are open."""
    records = view.select(Record, kind="blocker", status="open", order="number")
    about = {record.item for record in records if record.item}
    below = {item.id for item in view.select(Item, id=tuple(about), root=workflow)} if about else ()
    names = [record.id for record in records if record.item in below]
    if names:
        yield f"blockers are still open: {', '.join(names[:_NAMED])}"


def _closed_before(change: Change, item: Item, status: str, words: dict[str, Json]) -> ClosedWork:
    """Return what the same end answered the first time; Conflict for another."""
    outcome = attribute_object(change.writing, item.id, "outcome")
    if (outcome.get("words"), item.status) != (words, status):
        raise Conflict(
            f"{item.id} has ended already: it is {item.status}",
            hint="Read what it ended with; start another workflow for more work.",
            state=item.status,
        )
    return ClosedWork(item=item, metrics=outcome["metrics"], warnings=tuple(outcome["warnings"]))


def _refuse_closed(item: Item) -> None:
    if item.is_closed:
        raise Conflict(
            f"{item.id} has ended: it is {item.status}",
            hint=f"What has ended is not reopened by this: start another {item.kind}.",
            state=item.status,
        )


def _parts(view: Reading, workflow: str, phase: str, parent: str) -> Item:
    """Return the phase that a task begins in, if all is right with it and what it is a part of."""
    above = of_kind(view, workflow, "workflow")
    _refuse_closed(above)
    within = of_kind(view, phase, "phase")
    if within.root != above.root:
        raise Conflict(f"{phase} is no phase of {workflow}", hint="Name the phase's own workflow.")
    _refuse_closed(within)
    if parent:
        task = of_kind(view, parent, "task")
        if phase_of(view, task).id != phase:
            raise Conflict(f"{parent} is no task of {phase}", hint="Name a task of the same phase.")
        _refuse_closed(task)
    return within


def _warn_of_others(
    view: Reading, context: Context, phase: ItemView, areas: Sequence[str], parent: str
) -> tuple[str, ...]:
    """Return warnings of what else goes on: in a phase in which one comes after the other, and areas."""
    warnings: list[str] = []
    running = [task for task in running_below(view, phase.item) if task.id != parent]
    if running and not runs_parallel(phase) and not parent:
        warnings.append(
            f"{running[0].id} still runs in this phase, which is not declared as parallel"
        )
    busy = busy_areas(view, Holders(view, context, session=""))
    return (*warnings, *overlap_reasons(areas, busy, but=parent))


def _verify(view: Reading, finished: Finished, point: StartPoint, words: TaskWords) -> Verification:
    item, measured = finished.item, finished.measured
    claims = view.select(Claim, state="live")
    busy = areas_of(view, [claim.item for claim in claims if claim.is_live(point.taken_at)])
    receipts = view.select(Receipt, item=item.id, order="number")
    return verify_task(
        Ended(
            changes=finished.changes,
            measuring=(*measured.warnings, *apart_remarks(apart_json(measured.apart)))
            if measured
            else (),
            areas=tuple(area.pattern for area in view.select(Area, item=item.id)),
            tests=words.tests,
            receipts=[receipt for receipt in receipts if receipt.started_at >= point.taken_at],
            packages_added=words.packages_added,
            others={name: areas for name, areas in busy.items() if areas and name != item.id},
        )
    )
