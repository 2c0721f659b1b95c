"""What one entry of the ledger did to one item, or to a record about one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.work import Item
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """What one entry did to one item, or to a record about one.

    item: with the title and the state that the entry gave it; all else is as it is now, as are the
        `attributes`. above: the items that hold it, from the root down.
    record: the record that was written, as it is now; None if the item itself was.
    changed: the columns that were written of the item or the record. made: whether it is new.
    outcome: how the last claim of the item had ended by then, if one had.
    """

    sequence: int
    time: Timestamp
    item: Item
    above: tuple[Item, ...]
    record: Record | None
    changed: frozenset[str]
    made: bool
    attributes: Mapping[str, Json]
    outcome: Outcome | None
