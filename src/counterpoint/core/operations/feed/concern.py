"""Which items an entry is about: judged by the rows that it wrote."""

from __future__ import annotations

from collections.abc import Iterator

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Reading


def concerned(view: Reading, entry: Entry) -> tuple[str, ...]:
    """Return the items that an entry touched, each before those above it, none twice.

    What happens to an item is seen in whatever shows the item that holds it, up to the root.
    """
    found: dict[str, None] = {}
    for touched in _touched(entry):
        item = touched
        while item and item not in found:
            found[item] = None
            holder = view.find(Item, item)
            item = holder.parent if holder else ""
    return tuple(found)


def _touched(entry: Entry) -> Iterator[str]:
    """Return the subject of an entry and the item of each row."""
    yield entry.subject
    for row in entry.rows:
        columns = {**(row.values or {}), **row.key}
        item = columns.get("id" if row.table == Item.table else "item")
        if isinstance(item, str):
            yield item
