"""Lists of nodes in the order of their tree, and progress.

A list goes on after the last node that was shown, wherever it stands by then: its children come next, then what stands after
it, then what stands after what holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.links import padded
from counterpoint.dialects.foundry.models.specs import REMOVED, Node, Status, Tally
from counterpoint.dialects.foundry.models.tasks import Blocker, NodePage, Progressed
from counterpoint.dialects.foundry.nodes.queries import Nodes, chunks, get_spec, node_of, nodes_of
from counterpoint.dialects.foundry.nodes.rules.progress import (
    blocker_of,
    is_node,
    rolled_up,
    status_of,
)
from counterpoint.dialects.foundry.tasks.moving import blocker_from
from counterpoint.dialects.foundry.tasks.tallies import tallies_for
from counterpoint.kernel.errors import InvalidInput

_PAGE: Final = 50
_MAX_BLOCKED: Final = 200
"""Blocked nodes in one answer."""


class Listing(Verbs):
    """Verbs for looking at nodes."""

    def get(self, spec: str, task: str) -> tuple[str, Node]:
        """Return the id of a spec and a node of it; NotFound."""
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            return nodes.spec, node_of(nodes, nodes.get(task))

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
        """List tasks after the one of an item (empty: from the first); NotFound.

        status: only those with it. completed: whether completed ones are listed. parent: only its own children.
        """
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            last = _get_last(nodes, after)
            if parent:
                top = nodes.get(parent, "NOT_FOUND")
                line = _list_children(nodes, top.id, last)
            else:
                line = _walk(nodes, last)
            page_nodes: list[Node] = []
            working = (item for item in line if item.is_workable and item.parent)
            is_all = status == "" and completed
            # A filter is known only once nodes are read; without one, one node more than fits shows that there are more.
            for some in _split_pages(working, min(limit + 1, _PAGE) if is_all else _PAGE):
                page_nodes += [
                    node
                    for node in nodes_of(nodes, some)
                    if status in {"", node.status} and (completed or node.status != "completed")
                ]
                if len(page_nodes) > limit:
                    break
            return _make_page(nodes, page_nodes, limit)

    def hierarchy(self, spec: str, after: str, limit: int, max_depth: int) -> NodePage:
        """Return nodes down to a depth, the root having 0, after the one of an item; NotFound."""
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            last = _get_last(nodes, after)
            line = _walk(nodes, last, max_depth)
            items = list(islice(line, limit + 1))
            if last is None:
                items = [nodes.root, *items][: limit + 1]
            counts = view.counts(Item, "status", root=nodes.root.id)
            total = sum(counts.values()) - counts.get(REMOVED, 0)
            return _make_page(nodes, nodes_of(nodes, items), limit, total)

    def progress(self, spec: str, task: str, *, phases: bool = True) -> Progressed:
        """Return the progress of a node, and of each phase of the spec; NotFound."""
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            item = nodes.get(task)
            cache = tallies_for(self._context)
            lines = cache.phases(nodes) if phases or not item.is_workable else ()
            its_id = nodes.id(item.id)
            own = next((line for line in lines if line.id == its_id), None)
            if own is not None:
                status, tally, sort = own.status, own.tally, "phase"
            elif item.id == nodes.root.id:
                tally = cache.of(nodes)[item.id]
                status, sort = _root_status(nodes, item, tally), "spec"
            else:
                node = node_of(nodes, item)
                status, tally, sort = node.status, node.tally, node.type
            return Progressed(
                spec=nodes.spec,
                id=its_id,
                title=item.title,
                type=sort,  # pyright: ignore[reportArgumentType] -- one of the words
                status=status,
                tally=tally,
                phases=lines,
            )

    def blocked(self, spec: str) -> tuple[str, tuple[Blocker, ...]]:
        """Return the id of a spec and its blocked and failed nodes, with the reasons; NotFound."""
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            records = view.select(Record, kind="blocker", status="open", order="number")
            last = {record.item: record for record in records if record.item}
            items: list[Item] = []
            for some in chunks(sorted(last)):
                items += view.select(Item, id=some, root=nodes.root.id)
            failed = view.select(Item, root=nodes.root.id, status="failed", order="number")
            names = nodes.ids(item.id for item in (*items, *failed))
            blockers = [
                blocker_from(names[item.id], item.title, blocker_of(last[item.id]))
                for item in items
                if not item.is_closed
            ]
            blockers += [
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
            return nodes.spec, tuple(sorted(blockers, key=lambda blocker: blocker.at))[
                :_MAX_BLOCKED
            ]


def _root_status(nodes: Nodes, item: Item, tally: Tally) -> Status:
    own = status_of(item.category)
    gated = bool(nodes.gated((item.id,)))
    return rolled_up(own, tally, is_begun=False, is_gated=gated) if tally.total else own


def _get_last(nodes: Nodes, after: str) -> Item | None:
    last = nodes.view.find(Item, after) if after else None
    if after and (last is None or last.root != nodes.root.id):
        raise InvalidInput("the cursor is of another spec", error_code="INVALID_FORMAT")
    return last


def _walk(nodes: Nodes, last: Item | None, max_depth: int = 100) -> Iterator[Item]:
    """Return the nodes after one, in the order of the tree, down to a depth; from the first without one."""
    if last is None or last.id == nodes.root.id:
        yield from _walk_below(nodes, nodes.root.id, 1, max_depth)
        return
    line = [last]
    while line[-1].parent and (above := nodes.view.find(Item, line[-1].parent)) is not None:
        line.append(above)
    depth = len(line) - 1
    yield from _walk_below(nodes, last.id, depth + 1, max_depth)
    for ancestor in line[:-1]:
        yield from _walk_below(nodes, ancestor.parent, depth, max_depth, ancestor)
        depth -= 1


def _walk_below(
    nodes: Nodes, parent: str, depth: int, max_depth: int, after: Item | None = None
) -> Iterator[Item]:
    if depth > max_depth:
        return
    for some in _split_pages(_list_children(nodes, parent, after)):
        tasks = [item.id for item in some if item.is_workable]
        # Phases are not checked for children: they mostly have some.
        holding = nodes.view.counts(Item, "parent", parent=padded(tasks)) if tasks else {}
        for item in some:
            yield item
            if not item.is_workable or item.id in holding:
                yield from _walk_below(nodes, item.id, depth + 1, max_depth)


def _list_children(nodes: Nodes, parent: str, after: Item | None) -> Iterator[Item]:
    """Yield the children of an item, in order, after one of them."""
    position = (after.position, after.number) if after else ()
    while True:
        children = nodes.view.select(
            Item, parent=parent, order="position,number", after=position, limit=_PAGE
        )
        yield from (item for item in children if is_node(item))
        if len(children) < _PAGE:
            return
        position = (children[-1].position, children[-1].number)


def _split_pages(items: Iterator[Item], size: int = _PAGE) -> Iterator[Sequence[Item]]:
    while some := list(islice(items, size)):
        yield some


def _make_page(nodes: Nodes, page_nodes: Sequence[Node], limit: int, total: int = 0) -> NodePage:
    selected = tuple(page_nodes[:limit])
    after = selected[-1].item.id if len(page_nodes) > limit else ""
    return NodePage(spec=nodes.spec, nodes=selected, after=after, total=total)
