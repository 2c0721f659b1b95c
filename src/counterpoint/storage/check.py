"""What is found wrong with a database by looking through the whole file."""

from __future__ import annotations

import apsw

from counterpoint.core.model.catalogue import NOUNS

_MOST = 20


def faults_of(connection: apsw.Connection) -> list[str]:
    """Return one sentence for each fault found; a file too broken to look through is one too."""
    try:
        return [*_pages(connection), *_references(connection), *_search(connection)]
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as fault:
        return [f"the file cannot be read through: {fault}"]


def _pages(connection: apsw.Connection) -> list[str]:
    found = connection.execute(f"PRAGMA integrity_check({_MOST})").fetchall()
    return [str(row[0]) for row in found if row[0] != "ok"]


def _references(connection: apsw.Connection) -> list[str]:
    found = connection.execute("PRAGMA foreign_key_check").fetchall()
    return [f"row {row} of {name} points to nothing in {to}" for name, row, to, _ in found[:_MOST]]


def _search(connection: apsw.Connection) -> list[str]:
    """Compare how much is indexed with how much there is to be indexed."""
    faults: list[str] = []
    for noun in (noun for noun in NOUNS if noun.searched):
        rows = _count(connection, f"SELECT count(*) FROM {noun.table}")
        indexed = _count(
            connection, f"SELECT count(*) FROM documents WHERE source = '{noun.table}'"
        )
        if rows != indexed:
            faults.append(f"{rows} rows of {noun.table}, but {indexed} of them in the search")
    documents = _count(connection, "SELECT count(*) FROM documents")
    words = _count(connection, "SELECT count(*) FROM search_docsize")
    if documents != words:
        faults.append(f"{documents} documents, but {words} in the full-text index")
    return faults


def _count(connection: apsw.Connection, text: str) -> int:
    return int(connection.execute(text).get)
