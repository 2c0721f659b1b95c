"""Nodes in lists, in the order of their tree, and how far they are.

A list goes on after the last node that was shown, wherever it stands by then: its children come next, then what stands after
it, then what stands after what holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.links import padded
from counterpoint.dialects.foundry.nouns.nodes import REMOVED, Node, Status, Tally
from counterpoint.dialects.foundry.nouns.tasks import Blocker, NodePage, Progressed
from counterpoint.dialects.foundry.rules.nodes import blocker_of
from counterpoint.dialects.foundry.rules.standing import is_node, rolled_up, status_of
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks, spec_named
from counterpoint.dialects.foundry.verbs.reading import node_of, nodes_of
from counterpoint.dialects.foundry.verbs.tasks.moving import blocker_from
from counterpoint.dialects.foundry.verbs.tasks.tallies import tallies_for
from counterpoint.kernel.errors import InvalidInput

_PAGE: Final = 50
_MANY: Final = 200
"""How many blocked nodes are told."""


class Listing:
    """Verbs for looking at nodes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def get(self, spec: str, task: str) -> tuple[str, Node]:
        """Return the id of a spec and a node of it; NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            return known.spec, node_of(known, known.named(task))

    def tasks(
        self,
        spec: str,
        after: str,
        limit: int,
        *,
        status: Status | str = "",
        completed: bool = True,
        parent: str = "",
    ) -> NodePage:
        """Return tasks after the one of an item (empty: from the first); NotFound.

        status: only those that stand so. completed: whether those that are done are shown. parent: only its own children.
        """
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            last = _last(known, after)
            if parent:
                top = known.named(parent, "NOT_FOUND")
                line = _line(known, top.id, last)
            else:
                line = _walk(known, last)
            found: list[Node] = []
            working = (item for item in line if item.is_workable and item.parent)
            is_all = status == "" and completed
            # What passes no filter is not known before it is read; where all are shown, one more than fit tells that there are more.
            for some in _pages(working, min(limit + 1, _PAGE) if is_all else _PAGE):
                found += [
                    node
                    for node in nodes_of(known, some)
                    if status in {"", node.status} and (completed or node.status != "completed")
                ]
                if len(found) > limit:
                    break
            return _page(known, found, limit)

    def hierarchy(self, spec: str, after: str, limit: int, max_depth: int) -> NodePage:
        """Return nodes down to a depth, the root having 0, after the one of an item; NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            last = _last(known, after)
            line = _walk(known, last, max_depth)
            items = list(islice(line, limit + 1))
            if last is None:
                items = [known.root, *items][: limit + 1]
            counts = view.counts(Item, "status", root=known.root.id)
            total = sum(counts.values()) - counts.get(REMOVED, 0)
            return _page(known, nodes_of(known, items), limit, total)

    def progress(self, spec: str, task: str, *, phases: bool = True) -> Progressed:
        """Return how far a node is, and each phase of the spec; NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            item = known.named(task)
            kept = tallies_for(self._context)
            lines = kept.phases(known) if phases or not item.is_workable else ()
            its_id = known.id(item.id)
            own = next((line for line in lines if line.id == its_id), None)
            if own is not None:
                status, tally, sort = own.status, own.tally, "phase"
            elif item.id == known.root.id:
                tally = kept.of(known)[item.id]
                status, sort = _root_status(known, item, tally), "spec"
            else:
                node = node_of(known, item)
                status, tally, sort = node.status, node.tally, node.type
            return Progressed(
                spec=known.spec,
                id=its_id,
                title=item.title,
                type=sort,  # pyright: ignore[reportArgumentType] -- one of the words
                status=status,
                tally=tally,
                phases=lines,
            )

    def blocked(self, spec: str) -> tuple[str, tuple[Blocker, ...]]:
        """Return the id of a spec and what is blocked in it, with why; what failed too; NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            records = view.select(Record, kind="blocker", status="open", order="number")
            last = {record.item: record for record in records if record.item}
            items: list[Item] = []
            for some in chunks(sorted(last)):
                items += view.select(Item, id=some, root=known.root.id)
            failed = view.select(Item, root=known.root.id, status="failed", order="number")
            names = known.ids(item.id for item in (*items, *failed))
            found = [
                blocker_from(names[item.id], item.title, blocker_of(last[item.id]))
                for item in items
                if not item.is_closed
            ]
            found += [
                blocker_from(
                    names[item.id],
                    item.title,
                    {
                        "blocker_type": "technical",
                        "blocker_description": "it failed",
                        "blocked_at": item.closed_at,
                    },
                )
                for item in failed
            ]
            return known.spec, tuple(sorted(found, key=lambda one: one.at))[:_MANY]


def _root_status(known: Nodes, item: Item, tally: Tally) -> Status:
    own = status_of(item.category)
    gated = bool(known.gated((item.id,)))
    return rolled_up(own, tally, is_begun=False, is_gated=gated) if tally.total else own


def _last(known: Nodes, after: str) -> Item | None:
    found = known.view.find(Item, after) if after else None
    if after and (found is None or found.root != known.root.id):
        raise InvalidInput("the cursor is of another spec", error_code="INVALID_FORMAT")
    return found


def _walk(known: Nodes, last: Item | None, max_depth: int = 100) -> Iterator[Item]:
    """Return the nodes after one, in the order of the tree, down to a depth; from the first without one."""
    if last is None or last.id == known.root.id:
        yield from _under(known, known.root.id, 1, max_depth)
        return
    line = [last]
    while line[-1].parent and (above := known.view.find(Item, line[-1].parent)) is not None:
        line.append(above)
    depth = len(line) - 1
    yield from _under(known, last.id, depth + 1, max_depth)
    for here in line[:-1]:
        yield from _under(known, here.parent, depth, max_depth, here)
        depth -= 1


def _under(
    known: Nodes, parent: str, depth: int, max_depth: int, after: Item | None = None
) -> Iterator[Item]:
    if depth > max_depth:
        return
    for some in _pages(_line(known, parent, after)):
        tasks = [item.id for item in some if item.is_workable]
        # Of phases it is not asked whether they hold anything: they mostly do.
        holding = known.view.counts(Item, "parent", parent=padded(tasks)) if tasks else {}
        for item in some:
            yield item
            if not item.is_workable or item.id in holding:
                yield from _under(known, item.id, depth + 1, max_depth)


def _line(known: Nodes, parent: str, after: Item | None) -> Iterator[Item]:
    """Return the nodes directly below an item, in their places, after one of them."""
    place = (after.position, after.number) if after else ()
    while True:
        found = known.view.select(
            Item, parent=parent, order="position,number", after=place, limit=_PAGE
        )
        yield from (item for item in found if is_node(item))
        if len(found) < _PAGE:
            return
        place = (found[-1].position, found[-1].number)


def _pages(items: Iterator[Item], size: int = _PAGE) -> Iterator[Sequence[Item]]:
    while some := list(islice(items, size)):
        yield some


def _page(known: Nodes, found: Sequence[Node], limit: int, total: int = 0) -> NodePage:
    shown = tuple(found[:limit])
    after = shown[-1].item.id if len(found) > limit else ""
    return NodePage(spec=known.spec, nodes=shown, after=after, total=total)
