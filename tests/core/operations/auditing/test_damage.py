"""Whatever is wrong with a database, verification answers with faults, each with a code and a hint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from counterpoint.kernel.errors import CounterpointError
from fakes.seeding import sqlite
from fakes.seeding.rounds import Changed, faults
from fakes.seeding.sqlite import Files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Give databases of all kinds of work, made once."""
    return sqlite.laid_out(tmp_path_factory.mktemp("field"))


@pytest.fixture(scope="module")
def served(files: Files, databases: Any) -> Iterator[Any]:
    """Give a live database of the same work on a PostgreSQL server, with a store connected to it."""
    pytest.importorskip("psycopg")
    from fakes.seeding import postgres

    with closing(postgres.laid_out(files, databases.made())) as field:
        yield field


def told(field: Any) -> list[CounterpointError]:
    """Answer what is found now, each fault with what a person needs."""
    found = faults(field, Changed("", store=field.store))
    assert found
    assert all(fault.code and fault.message and fault.hint for fault in found)
    return found


AWAY = (
    "entries",
    "nodes",
    "heads",
    "texts",
    "items",
    "epochs",
    "projects",
    "documents",
    "migrations",
)


@pytest.mark.parametrize("table", AWAY)
def test_a_table_that_is_gone_is_a_fault(served: Any, table: str) -> None:
    """Of the ledger, of a noun, of the search; the other parts are looked at nevertheless."""
    served.hands.run(f"ALTER TABLE {table} SET SCHEMA away")
    try:
        words = " ".join(fault.message for fault in told(served))
    finally:
        served.hands.run(f"ALTER TABLE away.{table} SET SCHEMA counterpoint")
    assert table in words
    assert served.untouched() == []


TYPED = {
    "a text for bytes": (
        "entries",
        "data",
        "text",
        "encode(data, 'hex')",
        "decode(data, 'hex')",
        "bytea",
    ),
    "a text for a hash": (
        "entries",
        "leaf",
        "text",
        "encode(leaf, 'hex')",
        "decode(leaf, 'hex')",
        "bytea",
    ),
    "a text for a number": (
        "entries",
        "sequence",
        "text",
        "sequence::text",
        "sequence::bigint",
        "bigint",
    ),
    "bytes for a text": ("texts", "body", "bytea", "body::bytea", "encode(body, 'escape')", "text"),
    "a number for a text": ("items", "status", "integer", "length(status)", "'open'", "text"),
    "a text for a size": ("heads", "size", "text", "size::text", "size::bigint", "bigint"),
    "a text for the edge": (
        "heads",
        "frontier",
        "text",
        "encode(frontier, 'hex')",
        "decode(frontier, 'hex')",
        "bytea",
    ),
    "a list for a text": ("projects", "ledger", "text[]", "ARRAY[ledger]", "ledger[1]", "text"),
}


@pytest.mark.parametrize("change", TYPED.values(), ids=TYPED)
def test_a_column_of_another_type_is_a_fault(served: Any, change: tuple[str, ...]) -> None:
    """What comes out of it is nothing that anybody can reckon with."""
    table, column, sort, there, back, own = change
    asked = f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {{}} USING {{}}"
    served.hands.run(asked.format(sort, there))
    try:
        words = " ".join(fault.message for fault in told(served))
    finally:
        collated = f'{own} COLLATE "C"' if own == "text" else own
        served.hands.run(asked.format(collated, back))
        served.hands.put_back("last", (table,))
    assert f"the table {table} is not as it was made" in words
    assert served.untouched() == []


def test_a_migration_that_made_no_table_is_a_fault(served: Any) -> None:
    """Noted for a dialect that nobody knows; an empty name would let every table in."""
    for name in ("", "foreign"):
        served.hands.run("INSERT INTO migrations VALUES (12, ?, 'x')", (name,))
        words = " ".join(fault.message for fault in told(served))
        served.hands.undo()
        assert f"the migration {name!r} is noted, but it has no table" in words
