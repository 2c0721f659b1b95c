"""What entries did to the items of certain trees, and to the records about them.

Rule 1: items and records stand in the order in which an entry first wrote them, each once. Rule 2: an
item that is taken up as it is made is told of once, by the entry that made it. Rule 3: the same entry
always gives the same items and records; only what is told of them may be fresher than the entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from counterpoint.core.ledger.derived import rules, told
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.answers import ItemChange
from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.work import Item, Kind
from counterpoint.core.operations.recording.facets import attributes_of
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.canonical import Json

_TOLD: Mapping[str, type[Item | Record]] = {Item.table: Item, Record.table: Record}
_ACCOUNTS = frozenset(name for noun in (Item, Record) for name, _ in rules(noun, whole=False))
"""Columns that follow from there being an entry at all, so that they are no news."""


class Written:
    """What an entry wrote of one row, its images laid over each other."""

    def __init__(self, time: str) -> None:
        """Begin with nothing written, by an entry of that time."""
        self.values: dict[str, Json] = {}
        self.made = False
        self._time = time

    def add(self, values: Mapping[str, Json], *, whole: bool) -> None:
        """Lay another image over what was written before.

        A whole image alone does not say that the row is new: one that nobody read is written whole.
        """
        is_first = values.get("version", 1) == 1 and values.get("created_at") == self._time
        self.made = self.made or (whole and not self.values and is_first)
        self.values.update(values)


def touches(view: Reading, entry: Entry, kind: Kind) -> Iterator[ItemChange]:
    """Return what an entry did below roots of a kind, these included."""
    taken_up = entry.facts.get("made")
    for (table, name), written in _written(entry).items():
        record = view.find(Record, name) if table == Record.table else None
        about = record.item if record is not None else name
        item = view.find(Item, about) if about and about != taken_up else None
        above = _above(view, item) if item is not None else ()
        if item is None or (above or (item,))[0].kind != kind:
            continue
        yield ItemChange(
            sequence=entry.sequence,
            time=entry.time,
            item=item if record is not None else _as_left(item, written),
            above=above,
            record=record,
            changed=frozenset(written.values) - _ACCOUNTS,
            made=written.made,
            attributes=attributes_of(view, item.id),
            outcome=_outcome(view, item, entry),
        )


def _written(entry: Entry) -> dict[tuple[str, str], Written]:
    """Return the items and records that an entry wrote, by table and id; neither is ever deleted."""
    found: dict[tuple[str, str], Written] = {}
    for row in entry.rows:
        noun = _TOLD.get(row.table)
        values = told(noun, row.key, row.values, entry.origin, whole=row.whole) if noun else None
        if values is not None:
            written = found.setdefault((row.table, str(row.key["id"])), Written(entry.time))
            written.add(values, whole=row.whole)
    return found


def _above(view: Reading, item: Item) -> tuple[Item, ...]:
    above: list[Item] = []
    while item.parent and (holder := view.find(Item, item.parent)) is not None:
        above.append(holder)
        item = holder
    return tuple(reversed(above))


def _as_left(item: Item, written: Written) -> Item:
    """Return an item with the title and the state that an entry left it with."""
    title, status = (str(written.values.get(name, "")) for name in ("title", "status"))
    left = replace(item, title=title or item.title)
    if not status:
        return left
    # What is closed was given its time by the same entry; what is open has none.
    closed_at = str(written.values.get("closed_at", ""))
    category = item.states.category(status)
    return replace(left, status=status, category=category, closed_at=closed_at)


def _outcome(view: Reading, item: Item, entry: Entry) -> Outcome | None:
    ended = view.select(Outcome, item=item.id, order="token desc")
    return next((one for one in ended if one.ended_at <= entry.time), None)
