"""Whether rows are sorted, or read from an index that has them in their order."""

from __future__ import annotations

import pytest

from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Attribute, Dependency, Item
from counterpoint.core.ports.store import Filter
from counterpoint.storage.statements import is_sorted, ordering, shaped


@pytest.mark.parametrize(
    ("noun", "equal", "order", "expected"),
    [
        # No index has those of a parent, or of some parents, by their ids.
        (Item, {"parent": "x"}, "", True),
        (Item, {"parent": ("x", "y")}, "", True),
        (Item, {"root": "x"}, "number", True),
        (Dependency, {"needs": ("x", "y")}, "", True),
        (Record, {"item": ("x", "y"), "kind": "k", "status": "open"}, "", True),
        (Item, {"parent": "x"}, "position desc,number", True),
        # Of these there is one.
        (Item, {"parent": "x"}, "position,number", False),
        (Item, {"parent": "x"}, "position desc", False),
        (Item, {"id": ("x", "y")}, "", False),
        (Item, {"kind": "k", "category": "open", "blockers": 0}, "priority,number", False),
        (Dependency, {"needs": "x"}, "", False),
        (Dependency, {"item": "x"}, "", False),
        (Record, {"kind": "blocker", "status": "open"}, "number", False),
        (Record, {"item": "x", "kind": "k"}, "number desc", False),
        (Claim, {"state": "live"}, "", False),
        # Nothing leads to these but a look at all rows.
        (Attribute, {"name": "x"}, "", False),
        (Item, {}, "number", False),
        (Claim, {"state": "released"}, "", False),
    ],
)
def test_rows_are_sorted_where_an_index_finds_them_and_none_has_their_order(
    noun: type[Noun], equal: dict[str, Filter], order: str, expected: bool
) -> None:
    shape, _ = shaped(noun, equal)
    assert is_sorted(noun, shape, ordering(noun, order)) is expected
