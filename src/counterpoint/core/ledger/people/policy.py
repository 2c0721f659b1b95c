"""Whether reviews met the policy of the project, as far as entries show.

From the entry that sets `reviews` of the row of `projects` to `person`, until one that sets it to something else,

(1) only a person's entry sets `reviews` to something else, and its fact `policy` is that;
(2) a gate becomes `waived` only in a person's entry whose subject is the gate's item and whose fact `waived` names it;
(3) a gate of the kind `review` becomes `met` only in a person's entry whose subject is its item, and whose action is
    `item.approved` or `change.approved`; or in the entry that makes the item and the gate, of work that was done before;
(4) no other entry takes a gate of the kind `review` away, or writes it anew;
(5) an item does not come to the category `done` while a gate of the kind `review` that holds its end is neither met nor waived
    after that entry, unless the entry makes the item.

Whatever is asked, (6) rules 2 to 5 hold of each person's entry, which (7) meets no gate of another kind, and (8) sets `reviews` to its
fact `policy` alone. (9) Only a person's entry sets `reviews` to `self`.

That an entry is a person's, and that he signed its subject and these facts, is for confirmed.py. The kind of a gate, and what it holds,
are those with which it was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from counterpoint.core.model.work import Gate, Item, Project

_TABLES: Final = frozenset((Project.table, Gate.table, Item.table))
_APPROVED: Final = frozenset(("item.approved", "change.approved"))
_ASKS: Final = "person"
_OWN: Final = "self"
"""The policy under which people judge their own work."""
_OPEN: Final = ("met", "waived")

Row = Mapping[str, Any]
_Name = tuple[Any, Any]
"""A gate: its item, and its name."""


class Policy:
    """What is asked of reviews, and which gates are reviews, up to a place of the ledger."""

    def __init__(self) -> None:
        """Begin before the first entry."""
        self._is_asked = False
        self._reviews: dict[_Name, Any] = {}
        """Gates that are reviews, each with what it holds."""
        self._closed: dict[Any, set[Any]] = {}
        """By the item whose end they hold, those that are closed; the items that ever had a review."""

    def read(self, entry: Mapping[str, Any]) -> Iterator[str]:
        """Say in words what an entry does that takes a person, and is none's."""
        rows = [row for row in entry.get("r", ()) if row["t"] in _TABLES]
        if not rows:
            return
        ended = [row["k"].get("id") for row in rows if self._ends(row)]
        for row in rows:
            why = self._project(entry, row) if row["t"] == Project.table else None
            why = self._gate(entry, row) if row["t"] == Gate.table else why
            if why:
                yield why
        if self._is_asked or _is_persons(entry):
            for item in ended:
                if self._closed.get(item):
                    yield f"ends {item} past a review"

    def _ends(self, row: Row) -> bool:
        """Return whether a row moves an item that there was before to done."""
        is_end = row["t"] == Item.table and _columns(row).get("category") == "done"
        return is_end and ("c" in row or row["k"].get("id") in self._closed)

    def _project(self, entry: Mapping[str, Any], row: Row) -> str | None:
        columns: Row = _columns(row)
        if "v" not in row and "reviews" not in columns:
            return None
        reviews, was_asked = columns.get("reviews", ""), self._is_asked
        self._is_asked = reviews == _ASKS
        if _is_persons(entry):
            is_signed = entry.get("f", {}).get("policy") == reviews
            return None if is_signed else "asks for something else of reviews than was signed"
        if reviews == _OWN:
            return "lets people judge their own work, and no person signed that"
        is_less = was_asked and not self._is_asked
        return "asks for less of reviews, and no person signed that" if is_less else None

    def _gate(self, entry: Mapping[str, Any], row: Row) -> str | None:
        columns: Row = _columns(row)
        item, name = row["k"].get("item"), row["k"].get("name")
        was_review = (item, name) in self._reviews
        self._take_in((item, name), row)
        if not (self._is_asked or _is_persons(entry)):
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
        if status == "met" and _is_persons(entry):
            return f"meets {name}, which is no review"
        return f"takes {name} away" if was_review and "v" in row else None

    def _take_in(self, gate: _Name, row: Row) -> None:
        columns = _columns(row)
        if "v" in row:
            self._reviews.pop(gate, None)
            if columns.get("kind") == "review":
                self._reviews[gate] = columns.get("holds")
        elif "status" not in columns:
            return
        if self._reviews.get(gate) == "finish" and columns.get("status") not in _OPEN:
            self._closed.setdefault(gate[0], set()).add(gate[1])
        elif gate[0] in self._closed:
            self._closed[gate[0]].discard(gate[1])


def _columns(row: Row) -> Row:
    return row.get("v") or row.get("c") or {}


def _is_persons(entry: Mapping[str, Any]) -> bool:
    return entry["w"].get("i", {}).get("k") == "person"


def _makes(entry: Mapping[str, Any], item: Any) -> bool:
    return any(
        row["t"] == Item.table and row["k"] == {"id": item} and row.get("v") for row in entry["r"]
    )
