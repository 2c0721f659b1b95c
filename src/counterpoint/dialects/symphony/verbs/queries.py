"""Looking at a board: issues by any of their names, in lists, and whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from counterpoint.core.model.journal import Outcome, Record, RecordKind
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Alias, Dependency, Item, Label
from counterpoint.core.operations.readiness import has_open_children
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.facets import (
    attributes_of,
    item_named,
    labels_of,
    names_of,
)
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules import identifiers
from counterpoint.dialects.symphony.nouns.issues import IssueDetails, IssueFilter, IssueView
from counterpoint.kernel.canonical import object_of

IDENTIFIER: Final = "identifier"
"""The scope of names that an issue had in other projects, as they are kept."""
MOVED_TO: Final = "moved_to"
"""The attribute of an issue that goes on elsewhere."""
_RUNS: Final = 20
_CHILDREN: Final = 50
_BATCH: Final = 100


def find_issue(view: Reading, name: str) -> Item:
    """Return the workable item of an id, of the form people say, or of another name; NotFound."""
    plain = identifiers.kept(name) or name
    found = view.find(Item, plain) or item_named(view, name)
    if found is None:
        alias = view.find(Alias, IDENTIFIER, plain)
        found = view.find(Item, alias.item) if alias else None
    if found is None or not found.is_workable:
        raise missing(Item, name[:80])
    return found


def is_blocked(view: Reading, item: Item) -> bool:
    """Return whether a blocker of an issue is open, or a sub-task."""
    if item.is_closed:
        return False
    has_blocker = view.exists(Record, item=item.id, kind="blocker", status="open")
    return has_blocker or has_open_children(view, item)


def line_of(view: Reading, item: Item) -> IssueView:
    """Return an issue as a list shows it."""
    return IssueView(item=item, labels=labels_of(view, item.id), is_blocked=is_blocked(view, item))


def lines(view: Reading, sought: IssueFilter, after: int, limit: int) -> list[IssueView]:
    """Return issues by number, beyond a number."""
    return list(islice(_lines(view, sought, after), limit))


def _lines(view: Reading, sought: IssueFilter, after: int) -> Iterator[IssueView]:
    only: dict[str, Any] = {"status": sought.states} if sought.states else {}
    if sought.label:
        named = tuple(label.item for label in view.select(Label, name=sought.label))
        if not named:
            return
        only["id"] = named
    while True:
        batch = view.select(
            Item, order="number", after=(after,), limit=_BATCH, kind="issue", **only
        )
        for item in batch:
            line = line_of(view, item)
            if sought.is_blocked in {None, line.is_blocked}:
                yield line
        if len(batch) < _BATCH:
            return
        after = batch[-1].number


def sheet_of(view: Reading, item: Item) -> IssueDetails:
    """Return an issue with everything small about it."""
    needs = [view.find(Item, edge.needs) for edge in view.select(Dependency, item=item.id)]
    children = view.select(Item, parent=item.id, order="number", limit=_CHILDREN)
    kept = attributes_of(view, item.id)
    moved = object_of(kept.get(MOVED_TO))
    return IssueDetails(
        line=line_of(view, item),
        needs=tuple(needed for needed in needs if needed is not None),
        parent=view.find(Item, item.parent) if item.parent else None,
        children=tuple(line_of(view, child) for child in children),
        blockers=tuple(
            view.select(Record, item=item.id, kind="blocker", status="open", order="number")
        ),
        runs=tuple(view.select(Outcome, item=item.id, order="token desc", limit=_RUNS)),
        claim=view.find(Claim, item.id),
        size=str(kept.get("size") or ""),
        names=tuple(names_of(view, item.id).values()),
        moved_to=(moved["project"], moved["item"]) if moved else None,
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
    depth, here = 1, item
    while here.parent and (above := view.find(Item, here.parent)) is not None and above.is_workable:
        depth, here = depth + 1, above
    return depth
