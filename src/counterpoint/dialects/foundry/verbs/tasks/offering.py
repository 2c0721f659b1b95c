"""What may be taken up next, with what lies around it.

Rules: (1) tasks, subtasks, verifications and research are offered, what is below a task before the task itself. (2) Phases
that somebody is at come before those that are pending, each in its order, and so do the nodes in them: by their places in
the tree, never by their ids. (3) Nothing is offered that waits, that is blocked, or that anybody holds. (4) What is looked at
is what is offered and what lies around it: the cost is not that of the spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import UNCLOSED, Category
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import WORKABLE, Attribute, Dependency, Item, Label
from counterpoint.core.operations.readiness import judged_for, ready_among
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.contributions import relaxed_by
from counterpoint.core.operations.recording.facets import value_of
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.nodes import ARCHIVED, REMOVED, TYPE, Node, Tally
from counterpoint.dialects.foundry.nouns.tasks import (
    COMMAND,
    Around,
    Beside,
    Holder,
    Offered,
    Prepared,
    PreparedBatch,
    Waits,
)
from counterpoint.dialects.foundry.rules.entries import SHOWN
from counterpoint.dialects.foundry.rules.folders import awaits_text, is_finished
from counterpoint.dialects.foundry.rules.nodes import document_node
from counterpoint.dialects.foundry.rules.shape import text_of
from counterpoint.dialects.foundry.rules.standing import is_node, rolled_up, status_of
from counterpoint.dialects.foundry.rules.working.batching import (
    Candidate,
    choose,
    dependency_graph,
)
from counterpoint.dialects.foundry.rules.working.waiting import is_stale
from counterpoint.dialects.foundry.verbs.journal import latest
from counterpoint.dialects.foundry.verbs.queries import Nodes, spec_named
from counterpoint.dialects.foundry.verbs.reading import node_of, nodes_of
from counterpoint.dialects.foundry.verbs.tasks.edges import soft_of
from counterpoint.dialects.foundry.verbs.tasks.moving import phase_of, type_in, waiting_for
from counterpoint.dialects.foundry.verbs.tasks.naming import texts_in_words
from counterpoint.dialects.foundry.verbs.tasks.tallies import SpecTallies, tallies_for
from counterpoint.dialects.foundry.verbs.unallowed import lacking_of_line
from counterpoint.kernel.canonical import Json, dump_any

_FIRST: Final = 8
_PAGE: Final = 50
_NEAREST: Final = 5
"""How many nodes on each side of one are shown with it."""
_MANY: Final = 30
"""How many nodes that wait for one are named."""
_LOOKED_AT: Final = 40
"""Among how many candidates a batch is chosen."""
_ENTRIES: Final = 3


class Offering:
    """Verbs that find out what can be done."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def next(self, spec: str) -> Offered:
        """Return the first node that the caller may take up; NotFound for the spec."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            return self._next(known)

    def prepare(self, spec: str, task: str = "") -> Prepared:
        """Return a node, or the next one, with what lies around it; NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            if task:
                found = self._offered(known, node_of(known, known.named(task)))
            else:
                found = self._next(known)
            if found.node is None:
                return Prepared(offered=found)
            waits = self._waits(known, found.node.item)
            around = _around(known, found.node, tallies_for(self._context))
            return Prepared(offered=found, waits=waits, around=around)

    def waits(self, spec: str, task: str) -> Waits:
        """Return what a node waits for, and what waits for it; NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            return self._waits(known, known.named(task))

    def batch(self, spec: str, max_tasks: int, token_budget: int) -> PreparedBatch:
        """Return nodes that can be worked on at the same time, within both limits; NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            items = list(islice(self._free(known), _LOOKED_AT))
            nodes = {node.id: node for node in nodes_of(known, items)}
            chosen = choose(map(_candidate, nodes.values()), max_tasks, token_budget)
            picked = [nodes[one.id] for one in chosen.chosen]
            kept = tallies_for(self._context)
            prepared = tuple(
                Prepared(
                    offered=self._offered(known, node),
                    waits=self._waits(known, node.item),
                    around=_around(known, node, kept),
                )
                for node in picked
            )
            is_complete = not picked and _is_complete(known)
            return PreparedBatch(
                spec=known.spec,
                prepared=prepared,
                is_complete=is_complete,
                all_blocked=not (picked or is_complete),
                stale=self.stale(known),
                graph=_graph(prepared),
                tokens=chosen.tokens,
                why=chosen.why,
            )

    def stale(self, known: Nodes, hours: float = 1.0) -> tuple[tuple[str, str, str], ...]:
        """Return nodes that were begun longer ago than so many hours: id, title, and when."""
        now = self._context.ports.clock.now()
        active = known.view.select(
            Item, root=known.root.id, kind=WORKABLE, category="active", order="number"
        )
        claims = {item.id: known.view.find(Claim, item.id) for item in active}
        begun = {name: claim.claimed_at if claim else "" for name, claim in claims.items()}
        found = [item for item in active if is_stale(begun[item.id], now, hours)]
        names = known.ids(item.id for item in found)
        return tuple((names[item.id], item.title, str(begun[item.id])) for item in found)

    def _next(self, known: Nodes) -> Offered:
        if known.view.find(Label, known.root.id, ARCHIVED) is not None:
            words = "The spec is archived: move it to pending or active first"
            return Offered(spec=known.spec, node=None, is_complete=False, message=words)
        item = next(self._free(known), None)
        if item is not None:
            return self._offered(known, node_of(known, item))
        done = _is_complete(known)
        words = "The spec is complete" if done else _left(known)
        return Offered(spec=known.spec, node=None, is_complete=done, message=words)

    def _offered(self, known: Nodes, node: Node) -> Offered:
        item = node.item.id
        line = text_of(node.metadata.get(COMMAND)) if node.type == "verify" else ""
        lacking = lacking_of_line(self._context, known.view, item, line)
        return Offered(spec=known.spec, node=node, is_complete=False, message="", lacking=lacking)

    def _free(self, known: Nodes) -> Iterator[Item]:
        """Return what the caller may take up and nobody holds, in the order in which it is offered."""
        view, holders = known.view, Holders(known.view, self._context)
        relaxed = relaxed_by(view, self._context.caller)
        inherited = tuple(holders.inherited())
        if inherited:
            left = view.select(
                Item, id=inherited, root=known.root.id, category="active", blockers=0
            )
            yield from ready_among(view, left, holders, relaxed)
        unheld = (
            item for item in _leaves(view, known.root.id) if not _is_held(view, item, holders)
        )
        others = (item for item in unheld if item.id not in inherited)
        yield from ready_among(view, others, holders, relaxed)

    def _waits(self, known: Nodes, item: Item) -> Waits:
        view, holders = known.view, Holders(known.view, self._context)
        edges = view.select(Dependency, item=item.id)
        after = view.select(Dependency, needs=item.id, limit=_MANY + 1)
        more = 0
        if len(after) > _MANY:
            more = sum(view.counts(Dependency, "needs", needs=item.id).values()) - _MANY
        soft = soft_of(view, item.id)
        found = _besides(
            known, [*(one.needs for one in edges), *soft, *(one.item for one in after[:_MANY])]
        )
        needs = [found[one.needs] for one in edges if one.needs in found]
        readiness = judged_for(view, item, holders)
        # What neither blocks a node nor comes before it says the core: who holds it, and whose files it shares.
        reasons = waiting_for(known, item) or (
            [] if readiness.is_ready else texts_in_words(known, readiness.reasons)
        )
        return Waits(
            spec=known.spec,
            id=known.id(item.id),
            can_start=readiness.is_ready,
            blocked_by=tuple(one for one in needs if one.status != "completed"),
            depends=tuple(found[one] for one in soft if one in found),
            blocks=tuple(found[one.item] for one in after[:_MANY] if one.item in found),
            more=more,
            reasons=tuple(reasons),
        )


def _leaves(view: Reading, root: str) -> Iterator[Item]:
    """Return the nodes with nothing unfinished below them, those of phases that were begun first."""
    begun: tuple[Category, ...] = ("active",)
    pending: tuple[Category, ...] = ("open",)
    for categories in (begun, pending):
        for item in _below(view, root, categories):
            yield from _leaves_of(view, item)


def _leaves_of(view: Reading, item: Item) -> Iterator[Item]:
    if view.exists(Item, parent=item.id, category=UNCLOSED):
        for child in _below(view, item.id, ("active", "open")):
            yield from _leaves_of(view, child)
    elif item.is_workable and _type_of(view, item) != "group":
        yield item


def _type_of(view: Reading, item: Item) -> str:
    found = view.find(Attribute, item.id, TYPE)
    return text_of(value_of(found)) if found else ""


def _below(view: Reading, parent: str, categories: tuple[Category, ...]) -> Iterator[Item]:
    """Return what nothing is in the way of directly below an item, in its place."""
    after: tuple[int, ...] = ()
    size = _FIRST
    while True:
        found = view.select(
            Item,
            parent=parent,
            category=categories,
            blockers=0,
            order="position,number",
            after=after,
            limit=size,
        )
        yield from found
        if len(found) < size:
            return
        after, size = (found[-1].position, found[-1].number), _PAGE


def _is_held(view: Reading, item: Item, holders: Holders) -> bool:
    return item.category == "active" and holders.is_held(view.find(Claim, item.id))


def _is_complete(known: Nodes) -> bool:
    """Return whether nothing of a spec is left to do."""
    # These two are looked up; what awaits a verdict, or failed, is counted.
    for category in ("open", "active"):
        if known.view.exists(Item, root=known.root.id, kind=WORKABLE, category=category):
            return False
    tally = known.tallies().get(known.root.id, Tally())
    return is_finished(tally) and not known.awaiting()


def _left(known: Nodes) -> str:
    """Return why nothing of a spec can be taken up."""
    tally = known.tallies().get(known.root.id, Tally())
    if is_finished(tally):
        return awaits_text(known.awaiting())
    if not tally.total:
        return "It has no tasks yet: authoring phase-add, task add"
    return "Nothing can be taken up now: see list-blocked"


def _besides(known: Nodes, items: Sequence[str]) -> dict[str, Beside]:
    """Return nodes as others name them, by item; what is no node any more is left out."""
    wanted = tuple(dict.fromkeys(items))
    rows = known.view.select(Item, id=wanted) if wanted else []
    inside = [item for item in rows if is_node(item) and item.is_workable]
    found = {node.item.id: beside(node) for node in nodes_of(known, inside)}
    # Phases are told without a look at all that is in them.
    for item in rows:
        if is_node(item) and not item.is_workable:
            status = status_of(item.category)
            named = Beside(id=known.id(item.id), title=item.title, status=status, type="phase")
            found[item.id] = named
    return found


def beside(node: Node) -> Beside:
    """Return a node as others name it."""
    return Beside(
        id=node.id,
        title=node.item.title,
        status=node.status,
        type=node.type,
        file=text_of(node.metadata.get("file_path")),
    )


def _around(known: Nodes, node: Node, kept: SpecTallies) -> Around:
    view, item = known.view, node.item
    parent = view.find(Item, item.parent) or known.root
    phase = phase_of(view, item)
    before = _siblings(view, item, "position desc,number desc")
    after = _siblings(view, item, "position,number")
    nearest = [one for pair in _pairs(before, after) for one in pair]
    named = _besides(known, [one.id for one in nearest])
    # Grouped as an index has them; what was removed is looked for among what is over.
    counts = view.counts(Item, "category", parent=parent.id)
    gone = view.counts(Item, "status", parent=parent.id, category="dropped")
    siblings = sum(counts.values()) - gone.get(REMOVED, 0)
    tallies = kept.of(known, (parent.id, phase.id) if phase else (parent.id,))
    return Around(
        before=named.get(before[0].id) if before else None,
        parent=_holder(known, parent, tallies),
        nearest=tuple(named[one.id] for one in nearest if one.id in named),
        siblings=siblings,
        # Places of what is no node any more are not given away.
        place=min(item.position + 1, siblings),
        phase=_holder(known, phase, tallies) if phase else None,
        phase_place=phase.position + 1 if phase else 0,
        blocked=_blockers(view, phase) if phase else (),
        journal=tuple(latest(known, [item.id], limit=_ENTRIES)),
        entries=sum(view.counts(Record, "kind", item=item.id, kind=SHOWN).values()),
    )


def _blockers(view: Reading, item: Item) -> tuple[str, ...]:
    found = view.select(
        Record, item=item.id, kind="blocker", status="open", order="number", limit=_ENTRIES
    )
    return tuple(record.body for record in found)


def _siblings(view: Reading, item: Item, order: str) -> list[Item]:
    """Return nodes beside one, on one side of it, the nearest first."""
    found = view.select(
        Item,
        parent=item.parent,
        order=order,
        after=(item.position, item.number),
        limit=2 * _NEAREST,
    )
    return [one for one in found if is_node(one)][:_NEAREST]


def _pairs(before: Sequence[Item], after: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    for place in range(max(len(before), len(after))):
        yield (*before[place : place + 1], *after[place : place + 1])


def _holder(known: Nodes, item: Item, tallies: Mapping[str, Tally]) -> Holder:
    tally = tallies.get(item.id, Tally())
    own = status_of(item.category, is_blocked=bool(_blockers(known.view, item)))
    # What is begun below a phase has begun the phase.
    gated = bool(known.gated((item.id,)))
    status = rolled_up(own, tally, is_begun=False, is_gated=gated) if tally.total else own
    return Holder(
        id=known.id(item.id),
        title=item.title,
        type=type_in(known.view, item),
        status=status,
        description=item.body,
        tally=tally,
    )


def _candidate(node: Node) -> Candidate:
    return Candidate(
        id=node.id,
        file_path=text_of(node.metadata.get("file_path")),
        needs=frozenset((*node.blocked_by, *node.depends)),
        letters=len(dump_any(document_node(node))),
    )


def _graph(prepared: Sequence[Prepared]) -> dict[str, Json]:
    nodes: dict[str, dict[str, Json]] = {}
    edges: list[tuple[str, str]] = []
    for one in prepared:
        node, waits = one.offered.node, one.waits
        if node is None or waits is None:
            continue
        for named in (beside(node), *waits.depends, *waits.blocked_by, *waits.blocks[:_NEAREST]):
            nodes.setdefault(
                named.id,
                {
                    "id": named.id,
                    "title": named.title,
                    "status": named.status,
                    "file_path": named.file,
                },
            )
        edges += [(first.id, node.id) for first in (*waits.blocked_by, *waits.depends)]
        edges += [(node.id, after.id) for after in waits.blocks[:_NEAREST]]
    targets = [one.offered.node.id for one in prepared if one.offered.node]
    return dependency_graph(targets, list(nodes.values()), edges)
