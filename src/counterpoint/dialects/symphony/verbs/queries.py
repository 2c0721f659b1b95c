"""Looking at a board: issues by any of their names, in lists, and whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import islice, takewhile
from typing import Any, Final

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.filters import ItemFilter, Note
from counterpoint.core.model.journal import Outcome, Record, RecordKind
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Alias, Item
from counterpoint.core.operations.claims import refuse_held
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.readiness import has_open_children
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.contributions import note_part
from counterpoint.core.operations.recording.facets import item_named, line_of
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import follow
from counterpoint.core.ports.store import Reading
from counterpoint.core.queries.overview import ItemReader
from counterpoint.core.rules import wording
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.nouns import IssueDetails, IssueView
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotClaimHolder

IDENTIFIER: Final = "identifier"
"""The scope of names that an issue had in other projects, as they are kept."""
MOVED_TO: Final = "moved_to"
"""The attribute of an issue that goes on elsewhere."""
_RUNS: Final = 20
_CHILDREN: Final = 50


def find_issue(view: Reading, name: str) -> Item:
    """Return the workable item of an id, of the form people say, or of another name; NotFound."""
    plain = wording.id_of_name(name) or name
    item = view.find(Item, plain) or item_named(view, name)
    if item is None:
        alias = view.find(Alias, IDENTIFIER, plain)
        item = view.find(Item, alias.item) if alias else None
    if item is None or not item.is_workable:
        raise missing(Item, name[:80])
    return item


def views(
    view: Reading, item_filter: ItemFilter, after: int, limit: int, *, blocked: bool | None = None
) -> list[IssueView]:
    """Return issues by number, beyond a number; `blocked`: only those that are, or are not."""
    only = replace(item_filter, kind="issue")
    item_views = ItemReader(view).find(only, "labels", "blockers", after=(after,))
    issues = (_issue(view, seen) for seen in item_views)
    return list(islice((issue for issue in issues if blocked in {None, issue.is_blocked}), limit))


def blocked(view: Reading, items: Sequence[Item]) -> frozenset[str]:
    """Return the ids of those issues of some in whose way a blocker or a sub-task is."""
    seen = ItemReader(view).views([*items], "blockers")
    return frozenset(
        issue.item.id for issue in (_issue(view, each) for each in seen) if issue.is_blocked
    )


def _issue(view: Reading, seen: ItemView) -> IssueView:
    stands = bool(seen.blockers) or has_open_children(view, seen.item)
    return IssueView(**_parts(seen), is_blocked=stands and not seen.item.is_closed)


def _parts(seen: ItemView) -> dict[str, Any]:
    return {part.name: getattr(seen, part.name) for part in fields(seen)}


def details_of(view: Reading, item: Item) -> IssueDetails:
    """Return an issue with everything small about it."""
    reader = ItemReader(view)
    seen = reader.one(item, "labels", "names", "attributes", "needs", "blockers")
    below = view.select(Item, parent=item.id, order="number", limit=_CHILDREN)
    return IssueDetails(
        **_parts(_issue(view, seen)),
        parent=view.find(Item, item.parent) if item.parent else None,
        children=tuple(_issue(view, child) for child in reader.views(below, "labels", "blockers")),
        runs=tuple(view.select(Outcome, item=item.id, order="token desc", limit=_RUNS)),
        claim=view.find(Claim, item.id),
    )


def records(
    view: Reading, item: str, kind: RecordKind, after: int, limit: int, *, last: bool = False
) -> list[Record]:
    """Return records about an item by number, beyond a number; `last`: the latest ones first."""
    if last:
        return view.select(Record, item=item, kind=kind, order="number desc", limit=limit)
    return view.select(Record, item=item, kind=kind, order="number", after=(after,), limit=limit)


def depth_of(view: Reading, item: Item) -> int:
    """Return on which level of issues one stands; 1 at the top."""
    above = takewhile(lambda ancestor: ancestor.is_workable, line_of(view, item.parent))
    return 1 + sum(1 for _ in above)


def note(change: Change, item: str, kind: RecordKind, body: str, **details: Json) -> str:
    """Write a record about an item as a part of a change; answer its id. A blocker is in the way."""
    draft = Note(kind=kind, item=item, body=body, details=details)
    record = Journal(change.context).draft(change, draft, change.open_session(), ())
    change.put(record)
    if kind == "blocker":
        shift(change, change.get(Item, item), 1)
    return record.id


def take_in_hand(change: Change, item: Item) -> None:
    """Let who holds an item hand it over, or was the last to, if it is in review; NotClaimHolder.

    A parked one is held by nobody: its texts are written there all the same, by whoever may work on it.
    """
    claim = change.find(Claim, item.id)
    is_own = claim is not None and claim.session == change.context.caller.actor.session
    if item.status in item.states.parked:
        refuse_held(change, item)
        note_part(change, item.id)
    elif claim is None or not is_own or not (claim.is_held or item.category == "review"):
        raise NotClaimHolder(
            f"{spoken_of(item.id)} is not yours to hand over: it is {item.status}",
            hint=f"{Act.START}.",
            state=item.status,
        )


def bring_to_review(change: Change, item: Item) -> Item:
    """Return an item that is in review; one that nobody holds at this moment goes there too."""
    if item.category == "review":
        return item
    if item.status in item.states.parked:
        item = follow(change, item, item.states.first)
    if item.category == "open":
        item = follow(change, item, "active")
    return follow(change, item, "review")
