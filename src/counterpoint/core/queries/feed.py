"""Following the ledger from a sequence on: each entry once, and what it is about.

Entries are always read from the store; the feed only says when it is worth while. So whoever follows
needs to remember one number, can go on after any break, and costs nothing while he is slow.

What an entry did to items: (1) items and records stand in the order in which it first wrote them, each
once, (2) an item that is taken up as it is made is told of once, by the entry that made it, (3) the same
entry always gives the same items and records; only what is told of them may be fresher than the entry, (4) of a plan
that is made in slices, and of a tree that is closed in slices, the last entry tells of every item, and those before it of none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import cast

from counterpoint.core.ledger.derived import fill_columns, rules
from counterpoint.core.ledger.entry import Entry, RowImage, parse_reference
from counterpoint.core.model.answers import ItemChange
from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.lifecycles import Category, category_of
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import CREATED, THINNED, UNSEEN, Ending, Item, Kind, Staging
from counterpoint.core.operations.journal import with_texts
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import attributes_of, line_of
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput


def list_touched_items(view: Reading, entry: Entry) -> tuple[str, ...]:
    """Return the items that an entry touched, each before those above it, none twice.

    What happens to an item is seen in whatever shows the item that holds it, up to the root.
    """
    items: dict[str, None] = {}
    for touched in _touched(view, entry):
        if not touched or touched in items:
            continue
        # It may be no item: then nothing is above it.
        items[touched] = None
        for holder in islice(line_of(view, touched), 1, None):
            if holder.id in items:
                break
            items[holder.id] = None
    return tuple(items)


def _touched(view: Reading, entry: Entry) -> Iterator[str]:
    """Return the subject of an entry and the item of each row."""
    if entry.action in UNSEEN:
        return
    yield entry.subject
    for row in _rows(view, entry):
        columns = {**(row.values or {}), **row.key}
        item = columns.get("id" if row.table == Item.table else "item")
        if isinstance(item, str):
            yield item


_TOLD: Mapping[str, type[Item | Record]] = {Item.table: Item, Record.table: Record}
_ACCOUNTS = frozenset(name for noun in (Item, Record) for name, _ in rules(noun, whole=False))
"""Columns that follow from there being an entry at all, so that they are no news."""


class WrittenRow:
    """What an entry wrote of one row, its images laid over each other."""

    def __init__(self, time: str, *, is_new: bool = False) -> None:
        """Begin with nothing written, by an entry of that time. is_new: whether it makes the row seen."""
        self.values: dict[str, Json] = {}
        self.made = is_new
        self._time = time

    def add(self, values: Mapping[str, Json], *, whole: bool) -> None:
        """Lay another image over what was written before.

        A whole image alone does not say that the row is new: one that nobody read is written whole.
        """
        is_first = values.get("version", 1) == 1 and values.get("created_at") == self._time
        self.made = self.made or (whole and not self.values and is_first)
        self.values.update(values)


def item_changes(view: Reading, entry: Entry, kind: Kind) -> Iterator[ItemChange]:
    """Return what an entry did below roots of a kind, these included."""
    if entry.action in UNSEEN:
        return
    taken_up = entry.facts.get("made")
    for (table, name), written in (_written(view, entry) | _shown(view, entry, kind)).items():
        record = view.find(Record, name) if table == Record.table else None
        about = record.item if record is not None else name
        item = view.find(Item, about) if about and about != taken_up else None
        above = _above(view, item) if item is not None else ()
        if item is None or (above or (item,))[0].kind != kind:
            continue
        yield ItemChange(
            sequence=entry.sequence,
            time=entry.time,
            item=item if record is not None else _as_left(view, item, written),
            above=above,
            record=record,
            changed=frozenset(written.values) - _ACCOUNTS,
            made=written.made,
            attributes=attributes_of(view, item.id),
            outcome=_outcome(view, item, entry),
        )


def _shown(view: Reading, entry: Entry, kind: Kind) -> dict[tuple[str, str], WrittenRow]:
    """Return the items below roots of a kind that an entry lets all see: those of a plan that was made in slices."""
    written: dict[tuple[str, str], WrittenRow] = {}
    for row in entry.rows if entry.action == CREATED else ():
        staging = view.find(Staging, row.key["first"]) if row.table == Staging.table else None
        if staging is None:
            continue
        behind = (staging.first - 1,)
        items = view.select(
            Item, order="number", after=behind, limit=staging.last - staging.first + 1
        )
        top = view.find(Item, items[0].root) if items else None
        if top is not None and top.kind == kind:
            for item in items:
                written[Item.table, item.id] = WrittenRow(entry.time, is_new=True)
    return written


def _parts(view: Reading, entry: Entry) -> list[Entry]:
    """Return an entry and those that it tells of beside itself: the slices in which a tree was closed."""
    parts = [entry]
    for row in entry.rows:
        ending = view.find(Ending, row.key["since"]) if row.table == Ending.table else None
        if ending is not None:
            sequences = view.sequences(
                subject=ending.item, action=THINNED, after=ending.since, limit=_ALL
            )
            slices = (
                next(view.entries(sequence, sequence + 1))
                for sequence in sequences
                if sequence < entry.sequence
            )
            parts += map(Entry.from_bytes, slices)
    return parts


def _rows(view: Reading, entry: Entry) -> Iterator[RowImage]:
    return (row for part in _parts(view, entry) for row in part.rows)


def _written(view: Reading, entry: Entry) -> dict[tuple[str, str], WrittenRow]:
    """Return the items and records that an entry wrote, by table and id; neither is ever deleted once it was seen."""
    rows: dict[tuple[str, str], WrittenRow] = {}
    for part in _parts(view, entry):
        for row in part.rows:
            noun = _TOLD.get(row.table)
            values = (
                fill_columns(noun, row.key, row.values, part.origin, whole=row.whole)
                if noun
                else None
            )
            if values is not None:
                written = rows.setdefault((row.table, str(row.key["id"])), WrittenRow(part.time))
                written.add(values, whole=row.whole)
    return rows


def _above(view: Reading, item: Item) -> tuple[Item, ...]:
    return tuple(reversed([*line_of(view, item.parent)]))


def _as_left(view: Reading, item: Item, written: WrittenRow) -> Item:
    """Return an item with the title and the state that an entry left it with."""
    title = view.text(parse_reference(written.values.get("title")))
    status = str(written.values.get("status", ""))
    after = replace(item, title=Prose(title)) if title else item
    if not status:
        return after
    # What is closed was given its time by the same entry; what is open has none.
    closed_at = str(written.values.get("closed_at", ""))
    category = cast("Category", written.values.get("category")) or _category_then(item, status)
    return replace(after, status=status, category=category, closed_at=closed_at)


def _category_then(item: Item, status: str) -> Category:
    """Return the category of a state that an entry led to without another category."""
    return item.category if item.status == status else category_of(status)


def _outcome(view: Reading, item: Item, entry: Entry) -> Outcome | None:
    ended = view.select(Outcome, item=item.id, order="token desc")
    return next((outcome for outcome in ended if outcome.ended_at <= entry.time), None)


BEFORE_ALL = -1
"""The sequence to begin after in order to hear everything."""

MOST_ENTRIES = 1000
_ALL = 2**31


class EntryFeed(Verbs):
    """Verbs for following."""

    def last(self) -> int:
        """Return the sequence of the last entry; -1 if there is none."""
        with self._context.reading() as view:
            return view.head().size - 1

    def entries(self, after: int, limit: int = 100, timeout: float = 0) -> list[Entry]:
        """Return the entries above a sequence in order; wait so many seconds for the first of them.

        Raises InvalidInput for a sequence that this ledger has not reached, and for a limit outside
        of 1 … 1000. The answer is empty when nothing came in time.
        """
        if not 1 <= limit <= MOST_ENTRIES:
            raise InvalidInput(f"limit is {limit}; it must be from 1 to {MOST_ENTRIES}")
        entries = self._read(after, limit)
        if entries or timeout <= 0:
            return entries
        if self._context.unit is not None:
            raise AssertionError("a call that has begun to write cannot wait for others to write")
        ports = self._context.ports
        has_more = ports.store.wait(ports.project, after, timeout)
        return self._read(after, limit) if has_more else []

    def concerned(self, entry: Entry) -> tuple[str, ...]:
        """Return the items that an entry is about, those that hold them included."""
        with self._context.reading() as view:
            return list_touched_items(view, entry)

    def item_changes(
        self, kind: Kind, after: int, limit: int = 100, timeout: float = 0
    ) -> tuple[int, list[ItemChange]]:
        """Return what the entries above a sequence did to trees with a root of a kind, in order.

        Looks at `limit` entries at most and answers the last one's sequence too: where to go on.
        Waits, and raises, as `entries` does.
        """
        entries = self.entries(after, limit, timeout)
        with self._context.reading() as view:
            seen = [touch for entry in entries for touch in item_changes(view, entry, kind)]
        return (entries[-1].sequence if entries else after), seen

    def _read(self, after: int, limit: int) -> list[Entry]:
        with self._context.reading() as view:
            last = view.head().size - 1
            if not BEFORE_ALL <= after <= last:
                raise InvalidInput(
                    f"this ledger has no entry {after}: its last is {last}",
                    hint=f"Go on after a sequence from {BEFORE_ALL} (everything) to {last}.",
                    last=last,
                )
            start = after + 1
            entries = view.entries(start, start + limit)
            return [with_texts(view, Entry.from_bytes(entry)) for entry in entries]
