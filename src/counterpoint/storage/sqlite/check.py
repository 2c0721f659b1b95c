"""What is found wrong with a database by looking through the whole file."""

from __future__ import annotations

import apsw

from counterpoint.storage.rows import Tables
from counterpoint.storage.search import unindexed

_MOST = 20


def faults_of(connection: apsw.Connection, tables: Tables) -> list[str]:
    """Return one sentence for each fault found; a file too broken to look through is one too."""
    try:
        return [*_pages(connection), *_references(connection), *_search(connection, tables)]
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as fault:
        return [f"the file cannot be read through: {fault}"]


def _pages(connection: apsw.Connection) -> list[str]:
    found = connection.execute(f"PRAGMA integrity_check({_MOST})").fetchall()
    return [str(row[0]) for row in found if row[0] != "ok"]


def _references(connection: apsw.Connection) -> list[str]:
    found = connection.execute("PRAGMA foreign_key_check").fetchall()
    return [f"row {row} of {name} points to nothing in {to}" for name, row, to, _ in found[:_MOST]]


def _search(connection: apsw.Connection, tables: Tables) -> list[str]:
    """Compare how much is indexed with how much there is to be indexed."""

    def count(text: str) -> int:
        return int(connection.execute(text).get)

    faults = unindexed(count, tables.values())
    documents = count("SELECT count(*) FROM documents")
    # The table that FTS5 keeps for bm25: one row for each document, and quick to count.
    words = count("SELECT count(*) FROM search_docsize")
    if documents != words:
        faults.append(f"{documents} documents, but {words} in the full-text index")
    return faults
