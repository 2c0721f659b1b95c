"""Begins and ends tasks, and runs their checks.

Starting, completing, blocking and unblocking nodes.
Rules: (1) whoever starts a node holds it: nobody else starts or completes it before it was given back. (2) A node that is
ready but was not started is taken up and completed in one. (3) The last task below a task completes that one too,
unless something of its own is in the way; phases close by themselves. (4) What is blocked is nobody's: it is given back
with the word, and pending once that is resolved. (5) A node that awaits a verdict was handed in, and is not completed.

Verifications: results are stored, and commands of nodes are run.
Rules: (1) a node's own command is run, and another only where the node has none. (2) It runs under the project's rules for
commands, without a shell, and leaves a signed receipt. (3) A node without a command is for people: it says `manual`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from counterpoint.core.model.evidence import Command, Comparison, Snapshot
from counterpoint.core.model.filters import Note, Report
from counterpoint.core.model.journal import Receipt, StartPoint
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Attribute, Criterion, Item, Label
from counterpoint.core.operations.claims import Claims
from counterpoint.core.operations.closing.part_status import (
    block,
    holder_context,
    open_blockers,
    refuse_other,
    unblock,
    walk,
)
from counterpoint.core.operations.gates import Gates, passed_checks
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.readiness import obstacles
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes, value_of
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.moves import closed_gates, follow
from counterpoint.core.operations.recording.unit import Unit, extend_entry, recording, transaction
from counterpoint.core.operations.tasks import FinishBasis, Tasks, look_at
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading, Writing
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.dialects.foundry.models.specs import ARCHIVED, ROOT, NodeType, Status, Tally
from counterpoint.dialects.foundry.models.tasks import (
    ACTUAL_HOURS,
    COMMAND,
    MANY_RESOLVED,
    RESOLVED,
    STARTED_AT,
    Blocker,
    CompletedNode,
    StartedNode,
    UnblockedNode,
)
from counterpoint.dialects.foundry.nodes.queries import Nodes, get_spec
from counterpoint.dialects.foundry.nodes.rules.progress import blocker_of, status_of, type_of
from counterpoint.dialects.foundry.nodes.rules.shape import items_of, quoted, text_of
from counterpoint.dialects.foundry.nodes.writing import lacking_of_node, perform
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.specs.operations import keep_pending
from counterpoint.dialects.foundry.tasks.rules import (
    fits,
    hours_between,
    newest,
    refuse_large,
    waits_text,
)
from counterpoint.dialects.foundry.tasks.tallies import SpecTallies
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json, text_digest
from counterpoint.kernel.errors import Conflict, CounterpointError, InvalidInput, NotReady


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCompletion:
    """What a completion needs to know beforehand.

    token: of the claim under which it ends; None if it is to be claimed first. looked: None where its starting point is unknown.
    """

    spec: str
    id: str
    root: Item
    item: Item
    session: str
    token: int | None
    met: tuple[int, ...]
    snapshot: Snapshot | None
    looked: FinishBasis | None


class Moving(Verbs):
    """Verbs that change the status of nodes."""

    def start(
        self, spec: str, task: str, note: str = "", *, snapshot: Snapshot | None = None
    ) -> StartedNode:
        """Start a node for the caller; a second start changes nothing. snapshot: the tree, if it was taken already.

        Raises NotFound, NotReady with what it waits for, AlreadyClaimed, Conflict for what is no task or has ended.
        """
        if snapshot is None:
            # Before the transaction: nobody waits to write while git runs.
            snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        with transaction(self._context):
            # Read in the transaction that writes, so that nothing is read twice.
            with recording(self._context, "task.started") as look:
                view = look.writing
                nodes = Nodes(view, get_spec(view, spec))
                item = nodes.get(task)
                refuse_unready(nodes, item)
                name, kind = nodes.id(item.id), type_in(view, item)
                context = holder_context(self._context, view, item.id)
                lacking = lacking_of_node(self._context, view, item.id, kind)
            started = Claims(context).start(item.id, snapshot=snapshot)
            with extend_entry(context, item.id) or recording(
                context, "task.noted", item.id
            ) as change:
                since = note_start(change, item, str(started.claim.claimed_at))
                keep_pending(change, nodes.root)
                if note:
                    _note_change(change, item, f"Task started: {item.title}", note)
                return StartedNode(
                    spec=nodes.spec,
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
        """Complete a node, also one that nobody has started but that is ready.

        is_counted: whether the answer has the progress of the spec.
        Raises NotFound, Conflict for what is no task or has ended, NotReady, AlreadyClaimed, GateClosed.
        """
        return self.complete_prepared(
            self.prepare_completion(spec, task), note, is_counted=is_counted
        )

    def prepare_completion(self, spec: str, task: str) -> PreparedCompletion:
        """Return what a completion needs to know; raises the refusals of `complete` that can be known before it.

        Read before anything is written, so that nobody waits to write while git runs.
        """
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            item = nodes.get(task)
            refuse_unready(nodes, item)
            session = holder_context(self._context, view, item.id).caller.actor.session
            claim = view.find(Claim, item.id)
            met = tuple(criterion.position for criterion in view.select(Criterion, item=item.id))
            point = view.find(StartPoint, item.id, claim.token) if claim else None
            passed, name = passed_checks(view, item.id), nodes.id(item.id)
        evidence, tree = self._context.ports.evidence, self._context.caller.root
        is_own = claim is not None and claim.is_held_by(session)
        snapshot = None if is_own else evidence.snapshot(tree)
        looked = None
        if claim is not None and point is not None and (is_own or item.category == "active"):
            looked = look_at(self._context, claim, point, passed)
        elif snapshot is not None:
            comparison = Comparison(start=snapshot, end=snapshot)
            looked = FinishBasis(comparison=comparison, since="", passed=passed)
        return PreparedCompletion(
            spec=nodes.spec,
            id=name,
            root=nodes.root,
            item=item,
            session=session,
            token=claim.token if is_own and claim else None,
            met=met,
            snapshot=snapshot,
            looked=looked,
        )

    def complete_prepared(
        self, prepared: PreparedCompletion, note: str, *, is_counted: bool = False
    ) -> CompletedNode:
        """Complete a node with what was prepared; raises the refusals of `complete`.

        is_counted: whether the answer has the progress of the spec, where this begins the transaction.
        """
        item, token = prepared.item, prepared.token
        report = Report(outcome="done", summary=note, met=prepared.met)
        with transaction(self._context) as unit:
            before = self._register_tallies(unit, prepared) if is_counted else None
            context = self._in_session(prepared.session)
            if token is None:
                token = Claims(context).start(item.id, snapshot=prepared.snapshot).claim.token
            Tasks(context).finish(item.id, token, report, looked=prepared.looked)
            return self._record_completion(context, prepared, note, before)

    def _in_session(self, session: str) -> Context:
        """Return the context of this call in a session."""
        is_own = session == self._context.caller.actor.session
        return self._context if is_own else self._context.in_session(session)

    def _register_tallies(self, unit: Unit, prepared: PreparedCompletion) -> dict[str, Tally]:
        """Return a mapping that gets the tallies of a spec, and of a parent node, once the transaction begins."""
        counted: dict[str, Tally] = {}
        tallies = self._context.ports.remember(SpecTallies)

        def look(view: Writing) -> None:
            counted.update(
                tallies.of(Nodes(view, prepared.root, prepared.spec), (prepared.item.id,))
            )

        unit.at_begin(look)
        return counted

    def _record_completion(
        self,
        context: Context,
        prepared: PreparedCompletion,
        note: str,
        before: Mapping[str, Tally] | None,
    ) -> CompletedNode:
        item = prepared.item
        with extend_entry(context, item.id) or recording(context, "task.noted", item.id) as change:
            after = change.get(Item, item.id)
            keep_pending(change, prepared.root)
            warnings: tuple[str, ...] = ()
            if after.category == "done":
                _record_hours(change, after)
                holders = tuple(_complete_ancestors(change, after))
            else:
                holders, warnings = (), ("It was handed in, and awaits a verdict.",)
            if note:
                _note_change(change, item, f"Task completed: {item.title}", note)
            nodes = Nodes(change.writing, change.get(Item, prepared.root.id), prepared.spec)
            phase = phase_of(change.writing, after)
            return CompletedNode(
                spec=prepared.spec,
                id=prepared.id,
                title=item.title,
                status=status_of(after.category),
                completed_at=after.closed_at,
                total=Tally() if before is None else _count_total(nodes, before, after),
                phase=nodes.id(phase.id) if phase else "",
                phase_title=phase.title if phase else "",
                phase_is_done=phase is not None and phase.category == "done",
                holders=tuple(nodes.ids(holders).values()),
                warnings=warnings,
            )

    def block(
        self, spec: str, task: str, reason: str, blocker_type: str = "dependency", ticket: str = ""
    ) -> tuple[str, str]:
        """Block a node, or a phase, for a reason; return the ids of spec and node.

        Raises NotFound, AlreadyClaimed, Conflict for what has ended, InvalidInput for a reason that is too long.
        """
        refuse_large(reason, "reason")
        with recording(self._context, "task.blocked") as change:
            change.open_session()
            nodes = Nodes(change.writing, get_spec(change.writing, spec))
            item = change.get(Item, nodes.get(task).id)
            change.subject = item.id
            name = nodes.id(item.id)
            if name == ROOT:
                raise Conflict(f"the spec {nodes.spec} is not blocked as a whole; block a phase")
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
            return nodes.spec, name

    def unblock(self, spec: str, task: str, resolution: str = "") -> UnblockedNode:
        """Resolve all blockers of a node, or let a failed one be tried again.

        Raises NotFound, Conflict if nothing blocks it, InvalidInput for a resolution that is too long.
        """
        refuse_large(resolution, "resolution")
        with recording(self._context, "task.unblocked") as change:
            change.open_session()
            nodes = Nodes(change.writing, get_spec(change.writing, spec))
            item = change.get(Item, nodes.get(task).id)
            change.subject = item.id
            blockers = open_blockers(change, item)
            has_failed = item.status == "failed"
            if not (blockers or has_failed):
                raise Conflict(
                    f"{nodes.id(item.id)} is not blocked: it is {status_of(item.category)}"
                )
            blocker: dict[str, Json] = {
                "blocker_type": "technical",
                "blocker_description": "it failed",
                "blocked_at": item.closed_at,
            }
            blocker = blocker_of(blockers[-1]) if blockers else blocker
            unblock(change, item, blockers, resolution)
            if has_failed:
                walk(change, change.get(Item, item.id), "open")
            _keep_resolved(change, item, {**blocker, "resolution": resolution})
            after = change.get(Item, item.id)
            return UnblockedNode(
                spec=nodes.spec,
                id=nodes.id(item.id),
                before=blocker_from(nodes.id(item.id), item.title, blocker),
                resolution=resolution,
                status=status_of(after.category),
            )

    def reopen(self, spec: str, task: str, note: str = "") -> str:
        """Set a node back to pending, whatever its status and blockers; return the id of the spec.

        Raises NotFound, AlreadyClaimed, Conflict for what is no task.
        """
        with recording(self._context, "task.reopened") as change:
            change.open_session()
            nodes = Nodes(change.writing, get_spec(change.writing, spec))
            item = change.get(Item, nodes.get(task).id)
            change.subject = item.id
            refuse_no_task(nodes, item)
            refuse_other(change, item)
            item = unblock(change, item, open_blockers(change, item), note or "it is pending again")
            if item.status != "open":
                change.add_facts(moved=[item.status, "open"])
                walk(change, item, "open")
            if note:
                _note_change(change, item, f"Task pending: {item.title}", note)
            return nodes.spec

    def set_status(self, spec: str, task: str, status: Status, note: str = "") -> str:
        """Set a node's status by calling the matching operation; return the id of the spec."""
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


def _count_total(nodes: Nodes, before: Mapping[str, Tally], after: Item) -> Tally:
    """Return the progress of a spec after one node ended. before: the tallies it was found with; empty if they were not read."""
    was = before.get(nodes.root.id)
    if was is None:
        return nodes.tallies()[nodes.root.id]
    # A node with children is counted by these.
    is_more = after.category == "done" and after.id not in before
    return Tally(was.total, was.completed + int(is_more))


def refuse_no_task(nodes: Nodes, item: Item) -> None:
    """Raise Conflict for a node that nobody works on itself: a phase, a group, the spec; and in an archived spec."""
    if nodes.view.find(Label, nodes.root.id, ARCHIVED) is not None:
        raise Conflict(f"the spec {nodes.spec} is archived", hint="Make it active first.")
    kind = type_in(nodes.view, item)
    if not (item.is_workable and item.parent) or kind == "group":
        raise Conflict(
            f"{nodes.id(item.id)} is a {kind}: it stands as what is below it does",
            hint=f"{Act.LIST_BELOW}.",
        )


def refuse_unready(nodes: Nodes, item: Item) -> None:
    """Raise NotReady or Conflict with the reasons why a node cannot be started, in the words of specs.

    Who holds it, and shared files, are left to the claim itself.
    """
    refuse_no_task(nodes, item)
    name = nodes.id(item.id)
    if item.category not in {"open", "active"}:
        act = {"done": Act.REOPEN, "dropped": Act.UNBLOCK}.get(item.category, Act.REVIEW)
        status = status_of(item.category)
        raise Conflict(f"{name} is {state_text(item)}", hint=f"{act}.", status=status)
    reasons = waiting_for(nodes, item)
    if nodes.view.exists(Item, parent=item.id, category=UNCLOSED):
        reasons.append(f"{name} has unfinished work below it")
    if reasons:
        is_blocked = any(obstacle.kind == "blocker" for obstacle in obstacles(nodes.view, item))
        hint = f"{Act.UNBLOCK}, or {Act.TAKE_OTHER_WORK}." if is_blocked else ""
        raise NotReady(
            f"{name} cannot start: {'; '.join(reasons)}", hint=hint, reasons=list[Json](reasons)
        )


def waiting_for(nodes: Nodes, item: Item) -> list[str]:
    """Return each obstacle of a node, in words with ids of nodes."""
    open_obstacles = list(obstacles(nodes.view, item))
    ids = [obstacle.item.id for obstacle in open_obstacles]
    ids += [obstacle.thing.id for obstacle in open_obstacles if isinstance(obstacle.thing, Item)]
    return [waits_text(obstacle, nodes.ids(ids)) for obstacle in open_obstacles]


def state_text(item: Item) -> str:
    """Return the status of an item that cannot be started, for a refusal."""
    words = {"done": "completed already", "review": "handed in, and awaits a verdict"}
    return words.get(item.category, "blocked: it failed")


def note_start(change: Change, item: Item, at: str) -> str:
    """Return when a node was first started; stored with it from the first start on."""
    attribute = change.find(Attribute, item.id, STARTED_AT)
    started_at = value_of(attribute) if attribute is not None else None
    if isinstance(started_at, str) and started_at:
        return started_at
    set_attributes(change, item, {STARTED_AT: at})
    return at


def _record_hours(change: Change, item: Item) -> None:
    attribute = change.find(Attribute, item.id, STARTED_AT)
    hours = hours_between(value_of(attribute), item.closed_at) if attribute is not None else None
    if hours is not None and change.find(Attribute, item.id, ACTUAL_HOURS) is None:
        set_attributes(change, item, {ACTUAL_HOURS: hours})


def _complete_ancestors(change: Change, item: Item) -> Iterator[str]:
    """Complete the tasks above a node of which it was the last; yield their ids."""
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


def _keep_resolved(change: Change, item: Item, blocker: dict[str, Json]) -> None:
    entries = attributes_of(change.writing, item.id).get(RESOLVED)
    before = cast("list[Json]", entries) if isinstance(entries, list) else []
    entry = {**blocker, "resolved_at": str(change.now)}
    if not fits(str(entry["blocker_description"])):
        # It was blocked in another dialect, where a reason may be longer: the record of the blocker has it whole.
        entry["blocker_description"] = "see the journal: too long to be kept here"
    set_attributes(change, item, {RESOLVED: newest([*before, entry], MANY_RESOLVED)})


def _note_change(change: Change, item: Item, title: str, text: str) -> None:
    """Write an entry of the journal about a node."""
    details: dict[str, Json] = {"entry_type": "status_change"}
    note = Note(kind="milestone", title=title, body=text, item=item.id, details=details)
    session = change.context.caller.actor.session
    change.put(Journal(change.context).draft(change, note, session, ()))


def blocker_from(name: str, title: str, details: dict[str, Json]) -> Blocker:
    """Build a node's blocker from its metadata."""
    return Blocker(
        id=name,
        title=title,
        type=str(details["blocker_type"]),
        description=str(details["blocker_description"]),
        at=str(details["blocked_at"]),
        ticket=str(details.get("blocker_ticket", "")),
    )


def type_in(view: Reading, item: Item) -> NodeType:
    """Return the type of a node."""
    above = view.find(Item, item.parent) if item.parent else None
    is_in_task = above is not None and above.is_workable and bool(above.parent)
    return type_of(item, attributes_of(view, item.id), is_in_task=is_in_task)


def phase_of(view: Reading, item: Item) -> Item | None:
    """Return the phase that an item is or is in; None without one."""
    current: Item | None = item
    while current is not None and current.kind != "phase":
        current = view.find(Item, current.parent) if current.parent else None
    return current


HISTORY: Final = "verification_history"
LAST_RESULT: Final = "last_result"
LAST_AT: Final = "last_verified_at"
_MAX_RESULTS: Final = 10
"""Results that a node keeps, if their texts are short."""
_OUTPUT_CHARS: Final = 10_000
"""Characters at the end of a run's output that are stored with a node; the receipt has all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result of a verification: PASSED, FAILED, PARTIAL, or `manual` where nothing could be run.

    command_hash: SHA-256 of the text of the command. receipt: None where nothing was run.
    """

    spec: str
    id: str
    result: str
    recorded: bool
    command: str = ""
    command_hash: str = ""
    receipt: Receipt | None = None
    said: Mapping[str, Json] = field(default_factory=dict[str, Json])


class Verifying(Verbs):
    """Verbs for verification nodes."""

    def add(
        self,
        spec: str,
        verify: str,
        result: str,
        texts: Mapping[str, str],
        *,
        dry_run: bool = False,
    ) -> Verified:
        """Store a reported result; texts: fields beside it. NotFound, InvalidInput for a node that is no verification."""

        def act(context: Context) -> Verified:
            with recording(context, "verification.noted") as change:
                change.open_session()
                nodes, item = _get_verification(change, spec, verify)
                _store_result(change, item, result, texts)
                return Verified(
                    spec=nodes.spec,
                    id=nodes.id(item.id),
                    result=result,
                    recorded=not dry_run,
                    said=dict(texts),
                )

        return perform(self._context, act, dry_run=dry_run)

    def execute(
        self,
        spec: str,
        verify: str,
        watch: Watch,
        *,
        command: str = "",
        folder: str = "",
        record: bool = False,
    ) -> Verified:
        """Run the command of a node here, and store a signed receipt; record: store the result with the node too.

        command: only for a node that has none. folder: where it runs, below the caller's tree.
        Raises NotFound, InvalidInput, PathOutside, CommandNotAllowed, NotTrusted, ProgramMissing.
        """
        workdir = self._resolve_folder(folder)
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            item = nodes.get(verify)
            name = nodes.id(item.id)
            _refuse_other_type(nodes, item)
            own = text_of(attributes_of(view, item.id).get(COMMAND))
        if own.strip() and command and command != own:
            raise InvalidInput(
                f"{name} has a command of its own: {quoted(own)}", hint="Leave `command` out."
            )
        line = own if own.strip() else command
        if not line.strip():
            return Verified(spec=nodes.spec, id=name, result="manual", recorded=False)
        argv, fault = command_of(line)
        if fault:
            raise InvalidInput(fault, hint="Mend the command of the node.")
        order = Command(argv=argv, folder=workdir)
        with transaction(self._context):
            receipt = Gates(self._context).run(item.id, [order], watch)[0]
            if isinstance(receipt, CounterpointError):
                raise receipt
            result = "PASSED" if receipt.exit_code == 0 and not receipt.timed_out else "FAILED"
            if record:
                with recording(self._context, "verification.noted", item.id) as change:
                    texts = {
                        "command": line,
                        "output": receipt.output[-_OUTPUT_CHARS:],
                        "receipt": receipt.id,
                    }
                    _store_result(change, change.get(Item, item.id), result, texts)
        return Verified(
            spec=nodes.spec,
            id=name,
            result=result,
            recorded=record,
            command=line,
            command_hash=text_digest(line),
            receipt=receipt,
        )

    def _resolve_folder(self, folder: str) -> str:
        """Resolve a folder that a caller names relative to the tree, as every other tool takes it; the tree without one."""
        if not folder:
            return "."
        path = self._context.ports.get(SpecsPlaces).within(folder)
        return self._context.ports.evidence.contain(self._context.caller.root, str(path))


def _get_verification(change: Change, spec: str, verify: str) -> tuple[Nodes, Item]:
    nodes = Nodes(change.writing, get_spec(change.writing, spec))
    item = change.get(Item, nodes.get(verify).id)
    change.subject = item.id
    _refuse_other_type(nodes, item)
    return nodes, item


def _refuse_other_type(nodes: Nodes, item: Item) -> None:
    kind = type_in(nodes.view, item)
    if kind != "verify":
        raise InvalidInput(
            f"{nodes.id(item.id)} is a {kind}, and no verification",
            hint="Name a node of the type verify.",
        )


def _store_result(change: Change, item: Item, result: str, texts: Mapping[str, str]) -> None:
    now = str(change.now)
    entry: dict[str, Json] = {"timestamp": now, "result": result}
    entry.update((name, text) for name, text in texts.items() if text)
    history = items_of(attributes_of(change.writing, item.id).get(HISTORY))
    values: dict[str, Json] = {
        LAST_RESULT: result,
        LAST_AT: now,
        HISTORY: newest([*history, entry], _MAX_RESULTS),
    }
    set_attributes(change, item, values)
    change.add_facts(result=result)
