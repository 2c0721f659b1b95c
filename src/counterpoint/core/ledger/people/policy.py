"""Whether reviews were what a project asked of them, as far as its entries tell.

From the entry that sets `reviews` of the row of `projects` to `person`, until one that sets it to something else,

(1) only a person's entry sets `reviews` to something else, and its fact `policy` is that;
(2) a gate becomes `waived` only in a person's entry whose subject is the gate's item and whose fact `waived` names it;
(3) a gate of the kind `review` becomes `met` only in a person's entry whose subject is its item, and whose action is
    `item.approved` or `change.approved`; or in the entry that makes the item and the gate, of work that was done before;
(4) no other entry takes a gate of the kind `review` away, or writes it anew.

That an entry is a person's, and that he signed its subject and these facts, is for confirmed.py. The kind of a gate is that with
which it was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from counterpoint.core.model.work import Gate, Item, Project

_TABLES: Final = frozenset((Project.table, Gate.table))
_APPROVED: Final = frozenset(("item.approved", "change.approved"))
_ASKS: Final = "person"

Row = Mapping[str, Any]


class Policy:
    """What is asked of reviews, and which gates are reviews, up to a place of the ledger."""

    def __init__(self) -> None:
        """Begin before the first entry."""
        self._is_asked = False
        self._reviews: set[tuple[str, str]] = set()

    def read(self, entry: Mapping[str, Any]) -> Iterator[str]:
        """Say in words what an entry does that takes a person, and is none's."""
        for row in entry.get("r", ()):
            if row["t"] in _TABLES:
                why = self._project(entry, row) if row["t"] == Project.table else None
                why = self._gate(entry, row) if row["t"] == Gate.table else why
                if why:
                    yield why

    def _project(self, entry: Mapping[str, Any], row: Row) -> str | None:
        columns: Row = _columns(row)
        if "v" not in row and "reviews" not in columns:
            return None
        reviews, was_asked = columns.get("reviews", ""), self._is_asked
        self._is_asked = reviews == _ASKS
        if not was_asked or self._is_asked:
            return None
        if _is_persons(entry) and entry.get("f", {}).get("policy") == reviews:
            return None
        return "asks for less of reviews, and no person signed that"

    def _gate(self, entry: Mapping[str, Any], row: Row) -> str | None:
        columns: Row = _columns(row)
        item, name = row["k"].get("item"), row["k"].get("name")
        was_review = (item, name) in self._reviews
        if "v" in row:
            self._reviews.discard((item, name))
            if columns.get("kind") == "review":
                self._reviews.add((item, name))
        if not self._is_asked:
            return None
        facts: Row = entry.get("f", {})
        is_signed = _is_persons(entry) and entry.get("s") == item
        status = columns.get("status")
        if status == "waived":
            waived: Any = facts.get("waived")
            is_named = type(waived) is list and name in waived
            return None if is_signed and is_named else f"waives {name} without a person"
        if status == "met" and (was_review or columns.get("kind") == "review"):
            is_approved = is_signed and entry["a"] in _APPROVED
            is_made = not was_review and _makes(entry, item)
            return None if is_approved or is_made else f"meets {name} without a person"
        if was_review and "v" in row:
            return f"takes {name} away"
        return None


def _columns(row: Row) -> Row:
    return row.get("v") or row.get("c") or {}


def _is_persons(entry: Mapping[str, Any]) -> bool:
    return entry["w"].get("i", {}).get("k") == "person"


def _makes(entry: Mapping[str, Any], item: Any) -> bool:
    return any(
        row["t"] == Item.table and row["k"] == {"id": item} and row.get("v") for row in entry["r"]
    )
