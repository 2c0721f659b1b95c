"""What every change of nodes does and refuses.

Protects what others hold: it keeps its place and its texts, and can be finished.
Holders, and people, are refused nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from posixpath import normpath

from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Dependency, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.connection_sessions import (
    claims_of_others,
    refuse_foreign_claims,
)
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import attributes_of, line_of
from counterpoint.core.operations.recording.links import undepend
from counterpoint.core.operations.recording.moves import move, refuse_dropping
from counterpoint.core.operations.recording.unallowed import find_unallowed_checks
from counterpoint.core.operations.recording.unit import perform
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.dialects.foundry.models.specs import REMOVED, NodeType
from counterpoint.dialects.foundry.models.tasks import COMMAND
from counterpoint.dialects.foundry.nodes.rules.drafting import Place, as_written
from counterpoint.dialects.foundry.nodes.rules.shape import text_of
from counterpoint.kernel.errors import InvalidInput

__all__ = ["perform"]


def placed(context: Context, path: str) -> str:
    """Return the path of a file in the worktree, links followed, whether or not it exists; PathOutside, InvalidInput."""
    if not path.strip():
        return path
    return context.ports.evidence.contain(context.caller.root, normpath(path))


def placing(context: Context, paths: Collection[str] | None = None) -> Place:
    """Return a function that maps paths of documents as `placed` does, and to nothing where that refuses.

    paths: those to resolve, all without any: each takes a while, and unchanged ones need none.
    """
    placed_paths: dict[str, str] = {}

    def place(path: str) -> str:
        if paths is not None and path not in paths:
            return as_written(path)
        if path not in placed_paths:
            try:
                placed_paths[path] = placed(context, path)
            except InvalidInput:
                placed_paths[path] = ""
        return placed_paths[path]

    return place


def refuse_held_at(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if another agent holds an item, or something below it."""
    refuse_foreign_claims(change, _list_claims_below(change, (item.id,)))


def refuse_held_over(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if another agent holds an item, or one above it: its end would wait for new children."""
    claims = [change.find(Claim, above.id) for above in line_of(change, item.id)]
    refuse_foreign_claims(change, [claim for claim in claims if claim is not None])


def refuse_reordered(change: Change, before: Sequence[str], after: Sequence[str]) -> None:
    """Raise AlreadyClaimed if a new order of items moves what another agent holds, or something below that.

    Held items stay in their order: all others may be put anywhere between.
    """
    places = set(before)
    claims: dict[str, Claim] = {}
    for claim in claims_of_others(change, _list_claims_below(change, places)):
        claims.update(
            (ancestor.id, claim)
            for ancestor in line_of(change, claim.item)
            if ancestor.id in places
        )
    if [item_id for item_id in before if item_id in claims] != [
        item_id for item_id in after if item_id in claims
    ]:
        refuse_foreign_claims(change, list(claims.values()))


def _list_claims_below(change: Change, items: Collection[str]) -> list[Claim]:
    """Return the claims of some items, and of all below these."""
    live = change.select(Claim, state="live", order="item")
    return [
        claim
        for claim in live
        if any(ancestor.id in items for ancestor in line_of(change, claim.item))
    ]


def take_out(change: Change, top: Item, reason: str) -> None:
    """Cancel an item with all below it, and remove the dependencies on these from outside.

    Raises AlreadyClaimed, Conflict below a closed item, Forbidden for work whose gate the caller may not skip.
    """
    refuse_held_at(change, top)
    everything = list(_walk(change, top))
    refuse_dropping(change, top)
    inside = {item.id for item in everything}
    for item in everything:
        for edge in change.select(Dependency, needs=item.id):
            if edge.item not in inside:
                undepend(change, change.get(Item, edge.item), item.id)
    # Parents first: closing the last child would close the parent as done.
    for item in everything:
        # Completed tasks stay completed: their place shows that they are no nodes any more.
        if item is everything[0] or item.category != "done" or not item.is_workable:
            _cancel(change, item.id, reason)


def _walk(change: Change, top: Item) -> Iterator[Item]:
    waiting = [change.get(Item, top.id)]
    while waiting:
        current = waiting.pop(0)
        yield current
        waiting += change.select(Item, parent=current.id, order="position,number")


def _cancel(change: Change, name: str, reason: str) -> None:
    item = change.get(Item, name)
    for state in item.states.way(item.status, REMOVED) if item.status != REMOVED else ():
        move(change, change.get(Item, name), state, reason)


def lacking_of_node(context: Context, view: Reading, item: str, kind: NodeType) -> Lacking | None:
    """Return the commands of a node that would be refused; None if none would, or it has none."""
    attributes = attributes_of(view, item) if kind == "verify" else {}
    return lacking_of_line(context, view, item, text_of(attributes.get(COMMAND)))


def lacking_of_line(context: Context, view: Reading, item: str, line: str) -> Lacking | None:
    """Return the same for the command line of a verification; empty without one."""
    argv, fault = command_of(line) if line.strip() else ((), "")
    own: Mapping[str, tuple[str, ...]] = {item: argv} if argv and not fault else {}
    return find_unallowed_checks(context, view, [item], own).get(item)
