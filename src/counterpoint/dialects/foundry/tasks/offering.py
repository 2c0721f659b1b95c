"""Offers tasks, one by one and in batches.

Nodes that can be started next, with their context.
Rules: (1) tasks, subtasks, verifications and research are offered, the children of a task before the task itself. (2) Phases
that were begun come before those that are pending, each in its order, and so do the nodes in them: by their places in
the tree, never by their ids. (3) Nothing is offered that waits, that is blocked, or that anybody holds. (4) Only what is
offered and its context are read: the cost is not that of the spec.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice
from typing import Any, Final, cast

from counterpoint.core.model.filters import Report
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import UNCLOSED, Category
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import WORKABLE, Area, Attribute, Dependency, Gate, Item, Label
from counterpoint.core.operations.claims import Claims
from counterpoint.core.operations.closing.part_status import holder_context, refuse_other, walk
from counterpoint.core.operations.readiness import (
    judge_for_caller,
    open_children_query,
    ready_among,
)
from counterpoint.core.operations.recording.connection_sessions import caller_queries
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import relaxed_by, relaxed_query
from counterpoint.core.operations.recording.facets import (
    attributes_of,
    items_by_id,
    set_attributes,
    value_of,
)
from counterpoint.core.operations.recording.handover import DROPPED
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.unit import extend_entry, recording, transaction
from counterpoint.core.operations.tasks import Tasks
from counterpoint.core.ports.store import Filter, Query, Reading
from counterpoint.core.rules.areas import list_overlaps
from counterpoint.dialects.foundry.journal.operations import latest
from counterpoint.dialects.foundry.journal.rules import SHOWN
from counterpoint.dialects.foundry.models.specs import ARCHIVED, DEPENDS, REMOVED, TYPE, Node, Tally
from counterpoint.dialects.foundry.models.tasks import (
    COMMAND,
    FAILED_AT,
    FAILURE,
    RETRIES,
    Around,
    BatchResult,
    Beside,
    Ended,
    Holder,
    Offered,
    Prepared,
    PreparedBatch,
    ResetBatch,
    StartedBatch,
    Waits,
)
from counterpoint.dialects.foundry.nodes.queries import (
    Nodes,
    get_spec,
    in_words,
    node_of,
    nodes_of,
    spec_id_query,
    texts_in_words,
)
from counterpoint.dialects.foundry.nodes.rules.progress import (
    document_node,
    is_node,
    rolled_up,
    status_of,
)
from counterpoint.dialects.foundry.nodes.rules.shape import awaits_text, is_finished, text_of
from counterpoint.dialects.foundry.nodes.writing import lacking_of_line, lacking_of_node
from counterpoint.dialects.foundry.specs.operations import keep_pending
from counterpoint.dialects.foundry.tasks.editing import soft_of
from counterpoint.dialects.foundry.tasks.moving import (
    Moving,
    note_start,
    phase_of,
    refuse_no_task,
    refuse_unready,
    state_text,
    type_in,
    waiting_for,
)
from counterpoint.dialects.foundry.tasks.rules import Candidate, choose, dependency_graph, is_stale
from counterpoint.dialects.foundry.tasks.tallies import SpecTallies, tallies_for
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import Conflict, CounterpointError

_PHASES: Final[tuple[Category, ...]] = "active", "open"
"""Of phases those that were begun come first."""
_BOTH_WAYS: Final = "position desc,number desc", "position,number"
_FIRST_PAGE: Final = 8
_PAGE: Final = 50
_NEAREST: Final = 5
"""Siblings on each side that are shown with a node."""
_MAX_WAITING: Final = 30
"""Dependents that are named with a node."""
_MAX_CANDIDATES: Final = 40
"""Candidates that a batch is chosen from."""
_MAX_ENTRIES: Final = 3


class Offering(Verbs):
    """Verbs that find nodes to start."""

    def next(self, spec: str) -> Offered:
        """Return the first node that the caller can start; NotFound for the spec."""
        with self._context.reading() as view:
            return self._find_next(self._open(view, spec))

    def prepare(self, spec: str, task: str = "") -> Prepared:
        """Return a node, or the next one, with its context; NotFound."""
        with self._context.reading() as view:
            nodes = self._open(view, spec)
            if task:
                item = nodes.get(task)
                view.fetch(_around_queries(item))
                offered = self._offer(nodes, node_of(nodes, item))
            else:
                offered = self._find_next(nodes, is_whole=True)
            if offered.node is None:
                return Prepared(offered=offered)
            waits = self._list_waits(nodes, offered.node.item)
            around = _load_around(nodes, offered.node, tallies_for(self._context))
            return Prepared(offered=offered, waits=waits, around=around)

    def _open(self, view: Reading, spec: str) -> Nodes:
        root = get_spec(view, spec)
        queries = (
            spec_id_query(root.id),
            Query(Label, {"item": root.id, "name": ARCHIVED}, limit=1),
            *(_unblocked_query(root.id, (category,), (), _FIRST_PAGE) for category in _PHASES),
            *(DROPPED, relaxed_query(self._context.caller)),
        )
        view.fetch(chain(queries, caller_queries(self._context.caller)))
        return Nodes(view, root)

    def waits(self, spec: str, task: str) -> Waits:
        """Return the dependencies and dependents of a node; NotFound."""
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            return self._list_waits(nodes, nodes.get(task))

    def batch(self, spec: str, max_tasks: int, token_budget: int) -> PreparedBatch:
        """Return nodes that can be worked on at the same time, within both limits; NotFound."""
        with self._context.reading() as view:
            spec_nodes = Nodes(view, get_spec(view, spec))
            items = list(islice(self._list_free(spec_nodes), _MAX_CANDIDATES))
            nodes = {node.id: node for node in nodes_of(spec_nodes, items)}
            chosen = choose(map(_make_candidate, nodes.values()), max_tasks, token_budget)
            chosen_nodes = [nodes[candidate.id] for candidate in chosen.chosen]
            cache = tallies_for(self._context)
            prepared = tuple(
                Prepared(
                    offered=self._offer(spec_nodes, node),
                    waits=self._list_waits(spec_nodes, node.item),
                    around=_load_around(spec_nodes, node, cache),
                )
                for node in chosen_nodes
            )
            is_complete = not chosen_nodes and _is_complete(spec_nodes)
            return PreparedBatch(
                spec=spec_nodes.spec,
                prepared=prepared,
                is_complete=is_complete,
                all_blocked=not (chosen_nodes or is_complete),
                stale=self.stale(spec_nodes),
                graph=_build_graph(prepared),
                tokens=chosen.tokens,
                why=chosen.why,
            )

    def stale(self, nodes: Nodes, hours: float = 1.0) -> tuple[tuple[str, str, str], ...]:
        """Return nodes that were begun longer ago than so many hours: id, title, and when."""
        now = self._context.ports.clock.now()
        active = nodes.view.select(
            Item, root=nodes.root.id, kind=WORKABLE, category="active", order="number"
        )
        claims = {item.id: nodes.view.find(Claim, item.id) for item in active}
        begun = {name: claim.claimed_at if claim else "" for name, claim in claims.items()}
        stale_items = [item for item in active if is_stale(begun[item.id], now, hours)]
        names = nodes.ids(item.id for item in stale_items)
        return tuple((names[item.id], item.title, str(begun[item.id])) for item in stale_items)

    def _find_next(self, nodes: Nodes, *, is_whole: bool = False) -> Offered:
        if nodes.view.find(Label, nodes.root.id, ARCHIVED) is not None:
            words = "The spec is archived: move it to pending or active first"
            return Offered(spec=nodes.spec, node=None, is_complete=False, message=words)
        item = next(self._list_free(nodes), None)
        if item is not None:
            if is_whole:
                nodes.view.fetch(_around_queries(item))
            return self._offer(nodes, node_of(nodes, item))
        done = _is_complete(nodes)
        words = "The spec is complete" if done else _describe_rest(nodes)
        return Offered(spec=nodes.spec, node=None, is_complete=done, message=words)

    def _offer(self, nodes: Nodes, node: Node) -> Offered:
        item = node.item.id
        line = text_of(node.metadata.get(COMMAND)) if node.type == "verify" else ""
        lacking = lacking_of_line(self._context, nodes.view, item, line)
        return Offered(spec=nodes.spec, node=node, is_complete=False, message="", lacking=lacking)

    def _list_free(self, nodes: Nodes) -> Iterator[Item]:
        """Yield the nodes that the caller can start and nobody holds, in the order in which they are offered."""
        view, holders = nodes.view, Holders(nodes.view, self._context)
        relaxed = relaxed_by(view, self._context.caller)
        inherited = tuple(holders.inherited())
        if inherited:
            inherited_items = view.select(
                Item, id=inherited, root=nodes.root.id, category="active", blockers=0
            )
            yield from ready_among(view, inherited_items, holders, relaxed)
        unheld = (
            item for item in _list_leaves(view, nodes.root.id) if not _is_held(view, item, holders)
        )
        others = (item for item in unheld if item.id not in inherited)
        yield from ready_among(view, others, holders, relaxed)

    def _list_waits(self, nodes: Nodes, item: Item) -> Waits:
        view, holders = nodes.view, Holders(nodes.view, self._context)
        edges = view.select(Dependency, item=item.id)
        after = view.select(Dependency, needs=item.id, limit=_MAX_WAITING + 1)
        more = 0
        if len(after) > _MAX_WAITING:
            more = sum(view.counts(Dependency, "needs", needs=item.id).values()) - _MAX_WAITING
        soft = soft_of(view, item.id)
        ids = [*(edge.needs for edge in edges), *soft]
        ids += [edge.item for edge in after[:_MAX_WAITING]]
        nodes_by_item = _summarize(nodes, items_by_id(view, ids).values())
        needs = [nodes_by_item[edge.needs] for edge in edges if edge.needs in nodes_by_item]
        readiness = judge_for_caller(view, item, holders)
        # What is neither a blocker nor a dependency only the core knows: the holder, and shared files.
        reasons = waiting_for(nodes, item) or (
            [] if readiness.is_ready else texts_in_words(nodes, readiness.reasons)
        )
        return Waits(
            spec=nodes.spec,
            id=nodes.id(item.id),
            can_start=readiness.is_ready,
            blocked_by=tuple(need for need in needs if need.status != "completed"),
            depends=tuple(nodes_by_item[item_id] for item_id in soft if item_id in nodes_by_item),
            blocks=tuple(
                nodes_by_item[edge.item]
                for edge in after[:_MAX_WAITING]
                if edge.item in nodes_by_item
            ),
            more=more,
            reasons=tuple(reasons),
        )


def _list_leaves(view: Reading, root: str) -> Iterator[Item]:
    """Yield the nodes with nothing unfinished below them, those of phases that were begun first."""
    for category in _PHASES:
        for item in _list_unblocked_children(view, root, (category,)):
            yield from _leaves_of(view, item)


def _leaves_of(view: Reading, item: Item) -> Iterator[Item]:
    attribute = Query(Attribute, {"item": item.id, "name": TYPE}, limit=1)
    children = _unblocked_query(item.id, ("active", "open"), (), _FIRST_PAGE)
    view.fetch((open_children_query(item.id), children, attribute))
    if view.exists(Item, parent=item.id, category=UNCLOSED):
        for child in _list_unblocked_children(view, item.id, ("active", "open")):
            yield from _leaves_of(view, child)
    elif item.is_workable and _type_of(view, item) != "group":
        yield item


def _type_of(view: Reading, item: Item) -> str:
    attribute = view.find(Attribute, item.id, TYPE)
    return text_of(value_of(attribute)) if attribute else ""


def _list_unblocked_children(
    view: Reading, parent: str, categories: tuple[Category, ...]
) -> Iterator[Item]:
    """Yield the children of an item that nothing blocks, in order."""
    after: tuple[int, ...] = ()
    size = _FIRST_PAGE
    while True:
        children = _unblocked_query(parent, categories, after, size).rows(view)
        yield from children
        if len(children) < size:
            return
        after, size = (children[-1].position, children[-1].number), _PAGE


def _unblocked_query(
    parent: str, categories: tuple[Category, ...], after: tuple[int, ...], limit: int
) -> Query[Item]:
    equal: dict[str, Filter] = {"parent": parent, "category": categories, "blockers": 0}
    return Query(Item, equal, "position,number", after, limit)


def _is_held(view: Reading, item: Item, holders: Holders) -> bool:
    return item.category == "active" and holders.is_held(view.find(Claim, item.id))


def _is_complete(nodes: Nodes) -> bool:
    """Return whether nothing of a spec is left to do."""
    # Two look-ups first; nodes that await a verdict or have failed need counting.
    for category in ("open", "active"):
        if nodes.view.exists(Item, root=nodes.root.id, kind=WORKABLE, category=category):
            return False
    tally = nodes.tallies().get(nodes.root.id, Tally())
    return is_finished(tally) and not nodes.awaiting()


def _describe_rest(nodes: Nodes) -> str:
    """Return why no node of a spec can be started."""
    tally = nodes.tallies().get(nodes.root.id, Tally())
    if is_finished(tally):
        return awaits_text(nodes.awaiting())
    if not tally.total:
        return "It has no tasks yet: authoring phase-add, task add"
    return "Nothing can be taken up now: see list-blocked"


def _summarize(nodes: Nodes, rows: Collection[Item]) -> dict[str, Beside]:
    """Summarize nodes by item; removed ones are left out."""
    inside = [item for item in rows if is_node(item) and item.is_workable]
    summaries = {node.item.id: beside(node) for node in nodes_of(nodes, inside, ("attributes",))}
    # Phases are summarized without reading their nodes.
    for item in rows:
        if is_node(item) and not item.is_workable:
            status = status_of(item.category)
            summary = Beside(id=nodes.id(item.id), title=item.title, status=status, type="phase")
            summaries[item.id] = summary
    return summaries


def beside(node: Node) -> Beside:
    """Summarize a node for its neighbours."""
    return Beside(
        id=node.id,
        title=node.item.title,
        status=node.status,
        type=node.type,
        file=text_of(node.metadata.get("file_path")),
    )


def _load_around(nodes: Nodes, node: Node, cache: SpecTallies) -> Around:
    view, item = nodes.view, node.item
    parent = view.find(Item, item.parent) or nodes.root
    phase = phase_of(view, item)
    before, after = (_list_siblings(view, item, order) for order in _BOTH_WAYS)
    nearest = [sibling for pair in _pair_up(before, after) for sibling in pair]
    summaries = _summarize(nodes, nearest)
    # Grouped as the index has them; removed items are among the dropped ones.
    counts = view.counts(Item, "category", parent=parent.id)
    siblings = sum(counts.values())
    if "dropped" in counts:
        gone = view.counts(Item, "status", parent=parent.id, category="dropped")
        siblings -= gone.get(REMOVED, 0)
    tallies = cache.of(nodes, (parent.id, phase.id) if phase else (parent.id,))
    holder = _describe_parent(nodes, parent, tallies)
    return Around(
        before=summaries.get(before[0].id) if before else None,
        parent=holder,
        nearest=tuple(summaries[sibling.id] for sibling in nearest if sibling.id in summaries),
        siblings=siblings,
        # Places of removed items are not given away.
        place=min(item.position + 1, siblings),
        phase=_describe_parent(nodes, phase, tallies)
        if phase and phase != parent
        else phase and holder,
        phase_place=phase.position + 1 if phase else 0,
        blocked=_list_blockers(view, phase) if phase else (),
        journal=tuple(latest(nodes, [item.id], limit=_MAX_ENTRIES)),
        entries=sum(view.counts(Record, "kind", item=item.id, kind=SHOWN).values()),
    )


def _list_blockers(view: Reading, item: Item) -> tuple[str, ...]:
    return tuple(record.body for record in _blockers_query(item.id).rows(view))


def _blockers_query(item: str) -> Query[Record]:
    equal: dict[str, Filter] = {"item": item, "kind": "blocker", "status": "open"}
    return Query(Record, equal, "number", limit=_MAX_ENTRIES)


def _around_queries(item: Item) -> tuple[Query[Any], ...]:
    """Return what is asked about a node that is prepared, besides what makes it a node."""
    return (
        Query(Dependency, {"item": item.id}),
        Query(Dependency, {"needs": item.id}, limit=_MAX_WAITING + 1),
        Query(Attribute, {"item": item.id, "name": DEPENDS}, limit=1),
        Query(Attribute, {"item": item.parent}),
        Query(Area, {"item": item.id}),
        Query(Gate, {"item": (item.id,), "kind": "check", "status": "closed"}),
        _blockers_query(item.parent),
        *(_siblings_query(item, order) for order in _BOTH_WAYS),
    )


def _list_siblings(view: Reading, item: Item, order: str) -> list[Item]:
    """Return the siblings of a node on one side, the nearest first."""
    siblings = _siblings_query(item, order).rows(view)
    return [sibling for sibling in siblings if is_node(sibling)][:_NEAREST]


def _siblings_query(item: Item, order: str) -> Query[Item]:
    after = (item.position, item.number)
    return Query(Item, {"parent": item.parent}, order, after, limit=2 * _NEAREST)


def _pair_up(before: Sequence[Item], after: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    for index in range(max(len(before), len(after))):
        yield (*before[index : index + 1], *after[index : index + 1])


def _describe_parent(nodes: Nodes, item: Item, tallies: Mapping[str, Tally]) -> Holder:
    tally = tallies.get(item.id, Tally())
    own = status_of(item.category, is_blocked=bool(_list_blockers(nodes.view, item)))
    # A phase whose nodes were begun counts as begun.
    gated = bool(nodes.gated((item.id,)))
    status = rolled_up(own, tally, is_begun=False, is_gated=gated) if tally.total else own
    return Holder(
        id=nodes.id(item.id),
        title=item.title,
        type=type_in(nodes.view, item),
        status=status,
        description=item.body,
        tally=tally,
    )


def _make_candidate(node: Node) -> Candidate:
    return Candidate(
        id=node.id,
        file_path=text_of(node.metadata.get("file_path")),
        needs=frozenset((*node.blocked_by, *node.depends)),
        letters=len(dump_any(document_node(node))),
    )


def _build_graph(prepared: Sequence[Prepared]) -> dict[str, Json]:
    nodes: dict[str, dict[str, Json]] = {}
    edges: list[tuple[str, str]] = []
    for task in prepared:
        node, waits = task.offered.node, task.waits
        if node is None or waits is None:
            continue
        for neighbour in (
            beside(node),
            *waits.depends,
            *waits.blocked_by,
            *waits.blocks[:_NEAREST],
        ):
            nodes.setdefault(
                neighbour.id,
                {
                    "id": neighbour.id,
                    "title": neighbour.title,
                    "status": neighbour.status,
                    "file_path": neighbour.file,
                },
            )
        edges += [(first.id, node.id) for first in (*waits.blocked_by, *waits.depends)]
        edges += [(node.id, after.id) for after in waits.blocks[:_NEAREST]]
    targets = [task.offered.node.id for task in prepared if task.offered.node]
    return dependency_graph(targets, list(nodes.values()), edges)


HOURS: Final = 1.0
"""Hours after which work that was begun counts as stale, by default."""


class Batches(Verbs):
    """Verbs for several nodes of one spec."""

    def start(self, spec: str, tasks: Sequence[str]) -> StartedBatch:
        """Start several nodes for the caller, all of them or none.

        Raises NotFound for the spec, Conflict with the obstacles of each.
        """
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            errors = _find_obstacles(nodes, tasks)
        if errors:
            raise _refuse_batch(errors)
        # One snapshot for all, before anything is written.
        snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        with transaction(self._context):
            started: list[str] = []
            at = ""
            lacking: dict[str, Lacking] = {}
            for task in dict.fromkeys(tasks):
                with self._context.reading() as view:
                    nodes = Nodes(view, get_spec(view, spec))
                    item = nodes.get(task)
                    name = nodes.id(item.id)
                    context = holder_context(self._context, view, item.id)
                    lacks = lacking_of_node(self._context, view, item.id, type_in(view, item))
                    if lacks is not None:
                        lacking[name] = lacks
                try:
                    claim = Claims(context).start(item.id, snapshot=snapshot).claim
                except CounterpointError as fault:
                    with self._context.reading() as view:
                        message = in_words(Nodes(view, nodes.root), fault).message
                    raise _refuse_batch({name: message}) from fault
                with extend_entry(context, item.id) or recording(
                    context, "task.noted", item.id
                ) as change:
                    note_start(change, item, str(claim.claimed_at))
                    keep_pending(change, nodes.root)
                    at = at or str(change.now)
                started.append(name)
            return StartedBatch(spec=nodes.spec, started=tuple(started), at=at, lacking=lacking)

    def complete(self, spec: str, ended: Sequence[Ended]) -> tuple[str, list[BatchResult]]:
        """End several nodes, each by itself; a failed one is pending again, and its attempts are counted.

        The id of the spec comes first; NotFound for the spec.
        """
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
        return nodes.spec, [self._end_task(nodes, task) for task in ended]

    def reset(self, spec: str, tasks: Sequence[str] = (), hours: float | None = None) -> ResetBatch:
        """Set nodes in progress back to pending: those named, or those begun longer ago than so many hours.

        Nodes that others hold stay theirs, and are reported. NotFound for the spec.
        """
        now = self._context.ports.clock.now()
        reset: list[str] = []
        errors: dict[str, str] = {}
        with recording(self._context, "task.reset") as change:
            change.open_session()
            nodes = Nodes(change.writing, get_spec(change.writing, spec))
            change.subject = nodes.root.id
            for item in _list_begun(nodes, tasks, errors):
                name = nodes.id(item.id)
                claim = change.find(Claim, item.id)
                since = claim.claimed_at if claim else ""
                if not tasks and not is_stale(since, now, HOURS if hours is None else hours):
                    continue
                try:
                    refuse_other(change, item)
                except CounterpointError as fault:
                    errors[name] = in_words(nodes, fault).message
                    continue
                walk(change, change.get(Item, item.id), "open")
                reset.append(name)
            if reset:
                change.add_facts(reset=list[Json](reset[:50]))
        return ResetBatch(spec=nodes.spec, reset=tuple(reset), errors=errors)

    def _end_task(self, nodes: Nodes, ended: Ended) -> BatchResult:
        try:
            if ended.success:
                moving = Moving(self._context)
                done = moving.complete(nodes.spec, ended.id, ended.note, is_counted=False)
                return BatchResult(id=ended.id, status=done.status, completed_at=done.completed_at)
            return self._fail_task(nodes.spec, ended)
        except CounterpointError as fault:
            with self._context.reading() as view:
                message = in_words(Nodes(view, nodes.root), fault).message
            return BatchResult(id=ended.id, status="error", error=message)

    def _fail_task(self, spec: str, ended: Ended) -> BatchResult:
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            item = nodes.get(ended.id)
            refuse_no_task(nodes, item)
            if item.category not in {"open", "active"}:
                raise Conflict(f"{ended.id} is {state_text(item)}")
            session = holder_context(self._context, view, item.id).caller.actor.session
            claim = view.find(Claim, item.id)
        with transaction(self._context):
            own = self._context.caller.actor.session
            context = self._context if session == own else self._context.in_session(session)
            if claim is not None and claim.is_held_by(session):
                report = Report(outcome="partial", summary=ended.note or "It failed")
                Tasks(context).finish(item.id, claim.token, report)
            with recording(context, "task.failed", item.id) as change:
                change.open_session()
                now = change.get(Item, item.id)
                refuse_other(change, now)
                if now.category == "active":
                    now = walk(change, now, "open")
                failures = attributes_of(change.writing, item.id).get(RETRIES)
                retries = 1 + (failures if isinstance(failures, int) else 0)
                values: dict[str, Json] = {
                    RETRIES: retries,
                    FAILED_AT: str(change.now),
                    FAILURE: ended.note or None,
                }
                set_attributes(change, now, values)
                return BatchResult(
                    id=ended.id, status="failed", retries=retries, failed_at=str(change.now)
                )


def _list_begun(nodes: Nodes, tasks: Sequence[str], errors: dict[str, str]) -> list[Item]:
    """Return the named nodes that were begun, or all; the others are added to `errors`."""
    if not tasks:
        return nodes.view.select(
            Item, root=nodes.root.id, kind=WORKABLE, category="active", order="number"
        )
    items: list[Item] = []
    for task in dict.fromkeys(tasks):
        item = nodes.find(task)
        if item is None:
            errors[task] = f"the spec {nodes.spec} has no node {task!r}"
        elif not item.is_workable or item.category != "active":
            errors[task] = f"{task} is not in progress"
        else:
            items.append(item)
    return items


def _find_obstacles(nodes: Nodes, tasks: Sequence[str]) -> dict[str, str]:
    """Return why nodes cannot be started, alone or beside the others, by their ids."""
    errors: dict[str, str] = {}
    items: dict[str, Item] = {}
    for task in dict.fromkeys(tasks):
        try:
            item = nodes.get(task)
            refuse_unready(nodes, item)
            items[nodes.id(item.id)] = item
        except CounterpointError as fault:
            errors[task] = fault.message
    areas = {
        name: [area.pattern for area in nodes.view.select(Area, item=item.id)]
        for name, item in items.items()
    }
    for first, other in combinations(items, 2):
        shared = list_overlaps(areas[first], areas[other])
        if shared:
            errors[other] = f"{shared[0][1]} overlaps with {shared[0][0]} of {first}"
    return errors


def _refuse_batch(errors: dict[str, str]) -> Conflict:
    words = "; ".join(errors.values())
    return Conflict(
        f"none was started: {words}",
        hint="Leave these out, or start them later.",
        error_code="OPERATION_FAILED",
        errors=cast("dict[str, Json]", errors),
    )
