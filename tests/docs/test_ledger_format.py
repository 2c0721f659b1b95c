"""The page that describes the ledger says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from counterpoint.app import NOUNS
from counterpoint.core.ledger import bundle, entry, sealed
from counterpoint.core.ledger.derived import rules

PAGE = (Path(__file__).parents[2] / "docs" / "ledger-format.md").read_text("utf-8")


def test_the_page_names_every_column_that_a_row_may_leave_out() -> None:
    """Table by table, in the order of writing, each column with its rule."""
    found = re.findall(r"^\| `(\w+)` \| (.*) \| (`.*) \|$", PAGE, re.MULTILINE)
    told = [(noun, rules(noun, whole=True)) for noun in NOUNS]
    assert found == [
        (
            noun.table,
            ", ".join(f"`{name}`" for name in noun.key[1:]) or "–",
            ", ".join(f"`{name}`: {rule}" for name, rule in columns),
        )
        for noun, columns in told
        if columns
    ]


def test_the_page_is_of_the_versions_that_are_written() -> None:
    """Of entries and of both bundles."""
    assert f"| `v` | {entry.VERSION}, the version of this format |" in PAGE
    for sort in (bundle, sealed):
        assert f'"format": "{sort.FORMAT}"' in PAGE
        assert f'"version": {sort.VERSION}' in PAGE
    assert (bundle.VERSION, sealed.VERSION) == (2, 1)
