"""Starting, completing, blocking and unblocking nodes.

Rules: (1) whoever starts a node holds it: nobody else starts or completes it before it was given back. (2) A node that is
ready but was not started is taken up and completed in one. (3) The last task below a task completes that one too,
unless something of its own is in the way; phases close by themselves. (4) What is blocked is nobody's: it is given back
with the word, and pending once that is resolved. (5) A node that awaits a verdict was handed in, and is not completed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from counterpoint.core.model.evidence import Comparison, Snapshot
from counterpoint.core.model.filters import Note, Report
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Attribute, Criterion, Item, Label
from counterpoint.core.operations.claims import Claims
from counterpoint.core.operations.closing.standing import (
    block,
    held_in,
    open_blockers,
    refuse_other,
    unblock,
    walk,
)
from counterpoint.core.operations.gates import passed_checks
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.readiness import obstacles
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes, value_of
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.moves import closed_gates, follow
from counterpoint.core.operations.recording.unit import Unit, joined, recording, resumed
from counterpoint.core.operations.tasks import Looked, Tasks, look_at
from counterpoint.core.ports.store import Reading, Writing
from counterpoint.dialects.foundry.nouns.nodes import ARCHIVED, ROOT, NodeType, Status, Tally
from counterpoint.dialects.foundry.nouns.tasks import (
    ACTUAL_HOURS,
    MANY_RESOLVED,
    RESOLVED,
    STARTED_AT,
    Blocker,
    CompletedNode,
    StartedNode,
    UnblockedNode,
)
from counterpoint.dialects.foundry.rules.nodes import blocker_of
from counterpoint.dialects.foundry.rules.standing import status_of, type_of
from counterpoint.dialects.foundry.rules.working.keeping import fits, newest, refuse_large
from counterpoint.dialects.foundry.rules.working.waiting import hours_between, waits_text
from counterpoint.dialects.foundry.verbs.lifecycle import keep_pending
from counterpoint.dialects.foundry.verbs.queries import Nodes, spec_named
from counterpoint.dialects.foundry.verbs.tasks.tallies import SpecTallies
from counterpoint.dialects.foundry.verbs.unallowed import lacking_of_node
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput, NotReady


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredNode:
    """What the end of a node rests on.

    token: of the claim under which it ends; None if it is to be taken up first. looked: None where its start is not there.
    """

    spec: str
    id: str
    root: Item
    item: Item
    session: str
    token: int | None
    met: tuple[int, ...]
    snapshot: Snapshot | None
    looked: Looked | None


class Moving:
    """Verbs that move nodes along."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def start(
        self, spec: str, task: str, note: str = "", *, snapshot: Snapshot | None = None
    ) -> StartedNode:
        """Take a node up for the caller; a second time it only stays his. snapshot: the tree, where it was looked at already.

        Raises NotFound, NotReady with what it waits for, AlreadyClaimed, Conflict for what is no task or has ended.
        """
        if snapshot is None:
            # Before the transaction: nobody waits to write while git is asked.
            snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        with joined(self._context):
            # Looked at where it is written: what the last transaction has read is not read again.
            with recording(self._context, "task.started") as look:
                view = look.writing
                known = Nodes(view, spec_named(view, spec))
                item = known.named(task)
                refuse_unready(known, item)
                name, kind = known.id(item.id), type_in(view, item)
                context = held_in(self._context, view, item.id)
                lacking = lacking_of_node(self._context, view, item.id, kind)
            started = Claims(context).start(item.id, snapshot=snapshot)
            with resumed(context, item.id) or recording(context, "task.noted", item.id) as change:
                since = note_start(change, item, str(started.claim.claimed_at))
                keep_pending(change, known.root)
                if note:
                    _tell(change, item, f"Task started: {item.title}", note)
                return StartedNode(
                    spec=known.spec,
                    id=name,
                    title=item.title,
                    type=kind,
                    started_at=since,
                    warnings=started.warnings,
                    lacking=lacking,
                )

    def complete(
        self, spec: str, task: str, note: str, *, is_counted: bool = True
    ) -> CompletedNode:
        """End the work on a node as done, also of one that nobody has started but that is ready.

        is_counted: whether it is told how far the spec is then.
        Raises NotFound, Conflict for what is no task or has ended, NotReady, AlreadyClaimed, GateClosed.
        """
        return self.land(self.measured(spec, task), note, is_counted=is_counted)

    def measured(self, spec: str, task: str) -> MeasuredNode:
        """Return what the end of a node rests on; the refusals of `complete` that can be known before it.

        Looked at before anything is written, so that nobody waits to write while git is asked.
        """
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            item = known.named(task)
            refuse_unready(known, item)
            session = held_in(self._context, view, item.id).caller.actor.session
            claim = view.find(Claim, item.id)
            met = tuple(one.position for one in view.select(Criterion, item=item.id))
            point = view.find(StartPoint, item.id, claim.token) if claim else None
            passed, name = passed_checks(view, item.id), known.id(item.id)
        evidence, tree = self._context.ports.evidence, self._context.caller.root
        is_own = claim is not None and claim.is_held_by(session)
        snapshot = None if is_own else evidence.snapshot(tree)
        looked = None
        if claim is not None and point is not None and (is_own or item.category == "active"):
            looked = look_at(self._context, claim, point, passed)
        elif snapshot is not None:
            comparison = Comparison(start=snapshot, end=snapshot)
            looked = Looked(comparison=comparison, since="", passed=passed)
        return MeasuredNode(
            spec=known.spec,
            id=name,
            root=known.root,
            item=item,
            session=session,
            token=claim.token if is_own and claim else None,
            met=met,
            snapshot=snapshot,
            looked=looked,
        )

    def land(self, found: MeasuredNode, note: str, *, is_counted: bool = False) -> CompletedNode:
        """End the work on a node with what was measured before; the refusals of `complete`.

        is_counted: whether it is told how far the spec is then, where this begins the transaction.
        """
        item, token = found.item, found.token
        report = Report(outcome="done", summary=note, met=found.met)
        with joined(self._context) as unit:
            before = self._counted(unit, found) if is_counted else None
            context = self._in(found.session)
            if token is None:
                token = Claims(context).start(item.id, snapshot=found.snapshot).claim.token
            Tasks(context).finish(item.id, token, report, looked=found.looked)
            return self._completed(context, found, note, before)

    def _in(self, session: str) -> Context:
        """Return the context of this call in a session."""
        is_own = session == self._context.caller.actor.session
        return self._context if is_own else self._context.in_session(session)

    def _counted(self, unit: Unit, found: MeasuredNode) -> dict[str, Tally]:
        """Return what gets the tallies of a spec, and of a node in it that holds others, as the transaction finds them."""
        counted: dict[str, Tally] = {}
        kept = self._context.ports.remember(SpecTallies)

        def look(view: Writing) -> None:
            counted.update(kept.of(Nodes(view, found.root, found.spec), (found.item.id,)))

        unit.at_begin(look)
        return counted

    def _completed(
        self,
        context: Context,
        found: MeasuredNode,
        note: str,
        before: Mapping[str, Tally] | None,
    ) -> CompletedNode:
        item = found.item
        with resumed(context, item.id) or recording(context, "task.noted", item.id) as change:
            after = change.get(Item, item.id)
            keep_pending(change, found.root)
            warnings: tuple[str, ...] = ()
            if after.category == "done":
                _note_hours(change, after)
                holders = tuple(_complete_above(change, after))
            else:
                holders, warnings = (), ("It was handed in, and awaits a verdict.",)
            if note:
                _tell(change, item, f"Task completed: {item.title}", note)
            known = Nodes(change.writing, change.get(Item, found.root.id), found.spec)
            phase = phase_of(change.writing, after)
            return CompletedNode(
                spec=found.spec,
                id=found.id,
                title=item.title,
                status=status_of(after.category),
                completed_at=after.closed_at,
                total=Tally() if before is None else _total(known, before, after),
                phase=known.id(phase.id) if phase else "",
                phase_title=phase.title if phase else "",
                phase_is_done=phase is not None and phase.category == "done",
                holders=tuple(known.ids(holders).values()),
                warnings=warnings,
            )

    def block(
        self, spec: str, task: str, reason: str, blocker_type: str = "dependency", ticket: str = ""
    ) -> tuple[str, str]:
        """Say why a node, or a phase, cannot go on; answer the ids of spec and node.

        Raises NotFound, AlreadyClaimed, Conflict for what has ended, InvalidInput for a reason that is too long.
        """
        refuse_large(reason, "reason")
        with recording(self._context, "task.blocked") as change:
            change.open_session()
            known = Nodes(change.writing, spec_named(change.writing, spec))
            item = change.get(Item, known.named(task).id)
            change.subject = item.id
            name = known.id(item.id)
            if name == ROOT:
                raise Conflict(f"the spec {known.spec} is not blocked as a whole; block a phase")
            if item.is_closed:
                raise Conflict(
                    f"{name} is {status_of(item.category)}: nothing can block it",
                    hint=f"{Act.REOPEN} first.",
                )
            refuse_other(change, item)
            if item.is_workable and item.category == "active":
                item = walk(change, item, "open")
            details: dict[str, Json] = {"blocker_type": blocker_type}
            block(change, item, reason, {**details, "ticket": ticket} if ticket else details)
            return known.spec, name

    def unblock(self, spec: str, task: str, resolution: str = "") -> UnblockedNode:
        """Resolve all that blocks a node, or let one that failed be tried again.

        Raises NotFound, Conflict if nothing blocks it, InvalidInput for a resolution that is too long.
        """
        refuse_large(resolution, "resolution")
        with recording(self._context, "task.unblocked") as change:
            change.open_session()
            known = Nodes(change.writing, spec_named(change.writing, spec))
            item = change.get(Item, known.named(task).id)
            change.subject = item.id
            blockers = open_blockers(change, item)
            has_failed = item.status == "failed"
            if not (blockers or has_failed):
                raise Conflict(
                    f"{known.id(item.id)} is not blocked: it is {status_of(item.category)}"
                )
            told: dict[str, Json] = {
                "blocker_type": "technical",
                "blocker_description": "it failed",
                "blocked_at": item.closed_at,
            }
            told = blocker_of(blockers[-1]) if blockers else told
            unblock(change, item, blockers, resolution)
            if has_failed:
                walk(change, change.get(Item, item.id), "open")
            _keep_resolved(change, item, {**told, "resolution": resolution})
            after = change.get(Item, item.id)
            return UnblockedNode(
                spec=known.spec,
                id=known.id(item.id),
                before=blocker_from(known.id(item.id), item.title, told),
                resolution=resolution,
                status=status_of(after.category),
            )

    def reopen(self, spec: str, task: str, note: str = "") -> str:
        """Let a node be pending, however it stands, and whatever blocked it; answer the id of the spec.

        Raises NotFound, AlreadyClaimed, Conflict for what is no task.
        """
        with recording(self._context, "task.reopened") as change:
            change.open_session()
            known = Nodes(change.writing, spec_named(change.writing, spec))
            item = change.get(Item, known.named(task).id)
            change.subject = item.id
            refuse_no_task(known, item)
            refuse_other(change, item)
            item = unblock(change, item, open_blockers(change, item), note or "it is pending again")
            if item.status != "open":
                change.add_facts(moved=[item.status, "open"])
                walk(change, item, "open")
            if note:
                _tell(change, item, f"Task pending: {item.title}", note)
            return known.spec

    def set_status(self, spec: str, task: str, status: Status, note: str = "") -> str:
        """Bring a node to stand so, as the verb of that word does; answer the id of the spec."""
        if status == "blocked":
            if not note.strip():
                raise InvalidInput(
                    "a node is blocked with a reason",
                    hint="Say in `note` what it waits for.",
                    error_code="MISSING_REQUIRED",
                )
            return self.block(spec, task, note)[0]
        if status == "in_progress":
            return self.start(spec, task, note).spec
        if status == "completed":
            return self.complete(spec, task, note, is_counted=False).spec
        return self.reopen(spec, task, note)


def _total(known: Nodes, before: Mapping[str, Tally], after: Item) -> Tally:
    """Return how far a spec is after one node was ended. before: the tallies it was found with; empty if nobody looked."""
    was = before.get(known.root.id)
    if was is None:
        return known.tallies()[known.root.id]
    # What holds others counts by these.
    is_more = after.category == "done" and after.id not in before
    return Tally(was.total, was.completed + int(is_more))


def refuse_no_task(known: Nodes, item: Item) -> None:
    """Raise Conflict for a node that nobody works on itself: a phase, a group, the spec; and in a spec that was put away."""
    if known.view.find(Label, known.root.id, ARCHIVED) is not None:
        raise Conflict(f"the spec {known.spec} is archived", hint="Make it active first.")
    kind = type_in(known.view, item)
    if not (item.is_workable and item.parent) or kind == "group":
        raise Conflict(
            f"{known.id(item.id)} is a {kind}: it stands as what is below it does",
            hint=f"{Act.LIST_BELOW}.",
        )


def refuse_unready(known: Nodes, item: Item) -> None:
    """Raise NotReady or Conflict with what keeps a node from being taken up, in the words of specs.

    Whoever holds it, and files that somebody is at, are left to the claim itself.
    """
    refuse_no_task(known, item)
    name = known.id(item.id)
    if item.category not in {"open", "active"}:
        way = {"done": Act.REOPEN, "dropped": Act.UNBLOCK}.get(item.category, Act.REVIEW)
        status = status_of(item.category)
        raise Conflict(f"{name} is {state_text(item)}", hint=f"{way}.", status=status)
    reasons = waiting_for(known, item)
    if known.view.exists(Item, parent=item.id, category=UNCLOSED):
        reasons.append(f"{name} has unfinished work below it")
    if reasons:
        is_blocked = any(one.kind == "blocker" for one in obstacles(known.view, item))
        hint = f"{Act.UNBLOCK}, or {Act.TAKE_OTHER_WORK}." if is_blocked else ""
        raise NotReady(
            f"{name} cannot start: {'; '.join(reasons)}", hint=hint, reasons=list[Json](reasons)
        )


def waiting_for(known: Nodes, item: Item) -> list[str]:
    """Return each open thing in the way of a node, in words with ids of nodes."""
    found = list(obstacles(known.view, item))
    named = [one.item.id for one in found]
    named += [one.thing.id for one in found if isinstance(one.thing, Item)]
    return [waits_text(one, known.ids(named)) for one in found]


def state_text(item: Item) -> str:
    """Return how an item stands that is not taken up, for a refusal."""
    words = {"done": "completed already", "review": "handed in, and awaits a verdict"}
    return words.get(item.category, "blocked: it failed")


def note_start(change: Change, item: Item, at: str) -> str:
    """Return since when somebody is at a node, kept with it from the first start on."""
    found = change.find(Attribute, item.id, STARTED_AT)
    kept = value_of(found) if found is not None else None
    if isinstance(kept, str) and kept:
        return kept
    set_attributes(change, item, {STARTED_AT: at})
    return at


def _note_hours(change: Change, item: Item) -> None:
    begun = change.find(Attribute, item.id, STARTED_AT)
    hours = hours_between(value_of(begun), item.closed_at) if begun is not None else None
    if hours is not None and change.find(Attribute, item.id, ACTUAL_HOURS) is None:
        set_attributes(change, item, {ACTUAL_HOURS: hours})


def _complete_above(change: Change, item: Item) -> Iterator[str]:
    """Complete the tasks above a node of which it was the last; answer their ids."""
    while item.parent:
        item = change.get(Item, item.parent)
        is_held = Holders(change.writing, change.context).is_held(change.find(Claim, item.id))
        is_free = item.is_workable and item.parent and item.category in {"open", "active"}
        if not is_free or is_held or closed_gates(change, item.id):
            return
        if item.blockers > item.held or change.writing.exists(
            Item, parent=item.id, category=UNCLOSED
        ):
            return
        if item.category == "open":
            item = follow(change, item, "active")
        item = follow(change, item, "done")
        yield item.id


def _keep_resolved(change: Change, item: Item, told: dict[str, Json]) -> None:
    kept = attributes_of(change.writing, item.id).get(RESOLVED)
    before = cast("list[Json]", kept) if isinstance(kept, list) else []
    entry = {**told, "resolved_at": str(change.now)}
    if not fits(str(entry["blocker_description"])):
        # It was blocked elsewhere, where a reason may be longer: the record of the blocker has it whole.
        entry["blocker_description"] = "see the journal: too long to be kept here"
    set_attributes(change, item, {RESOLVED: newest([*before, entry], MANY_RESOLVED)})


def _tell(change: Change, item: Item, title: str, text: str) -> None:
    """Write an entry of the journal about a node."""
    details: dict[str, Json] = {"entry_type": "status_change"}
    note = Note(kind="milestone", title=title, body=text, item=item.id, details=details)
    session = change.context.caller.actor.session
    change.put(Journal(change.context).draft(change, note, session, ()))


def blocker_from(name: str, title: str, told: dict[str, Json]) -> Blocker:
    """Return a blocker of a node from what its metadata says of it."""
    return Blocker(
        id=name,
        title=title,
        type=str(told["blocker_type"]),
        description=str(told["blocker_description"]),
        at=str(told["blocked_at"]),
        ticket=str(told.get("blocker_ticket", "")),
    )


def type_in(view: Reading, item: Item) -> NodeType:
    """Return the type of a node."""
    above = view.find(Item, item.parent) if item.parent else None
    is_in_task = above is not None and above.is_workable and bool(above.parent)
    return type_of(item, attributes_of(view, item.id), is_in_task=is_in_task)


def phase_of(view: Reading, item: Item) -> Item | None:
    """Return the phase that an item is or is in; None without one."""
    here: Item | None = item
    while here is not None and here.kind != "phase":
        here = view.find(Item, here.parent) if here.parent else None
    return here
