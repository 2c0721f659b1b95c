"""Makes the full-text index anew from the rows and compares it.

Rules: (1) each row of a searched noun has one document, which says what it is about, and there is no other.
(2) An index that is made anew, of the same texts under the same numbers, has the same words at the same
places, the same lengths and the same sums. Both are read in the order of words, so memory does not
grow with them; the fresh one lies in a file that only this process sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import apsw

from counterpoint.kernel.errors import SearchDiffers
from counterpoint.storage.check import MOST
from counterpoint.storage.rows import Tables
from counterpoint.storage.search import all_documents

SEARCH: Final = """
CREATE VIRTUAL TABLE search USING fts5 (
  title,
  body,
  content = '',
  contentless_delete = 1,
  tokenize = 'porter unicode61'
);

-- A leaf that fills a page leaves no room beside it: each commit would move the rows of three pages.
INSERT INTO search (search, rank) VALUES ('pgsz', 1000);
"""
"""What makes the index, word by word as the first migration says it."""
_FOUND: Final = (
    "SELECT d.id, d.item, d.kind FROM documents AS d JOIN shelves AS s ON s.shelf = d.shelf"
    " WHERE s.project = ? AND d.source = ? AND d.key = ?"
)
_ENTER: Final = "INSERT INTO search (rowid, title, body) VALUES (?, ?, ?)"
_WORDS: Final = "SELECT term, doc, col, offset FROM temp.words"
_LENGTHS: Final = "SELECT id, sz FROM search_docsize ORDER BY id"
_SUMS: Final = "SELECT block FROM search_data WHERE id = 1"
_CONFIGURED: Final = "SELECT k, v FROM search_config ORDER BY k"
_WORD_COLUMNS: Final = 4
_FURTHER: Final = 0x80
_Row = tuple[Any, ...]


def search_faults(connection: apsw.Connection, tables: Tables) -> Iterator[SearchDiffers]:
    """Return in what the search differs from the rows of all projects."""
    fresh = apsw.Connection("")
    try:
        fresh.execute("PRAGMA journal_mode = OFF; PRAGMA cache_size = -65536").fetchall()
        fresh.execute(SEARCH)
        fresh.execute("BEGIN")
        yield from _documents(connection, fresh, tables)
        for link in (connection, fresh):
            link.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, search, instance)"
            )
        foreign = _foreign(connection, tables)
        for statement, what in ((_WORDS, "words"), (_LENGTHS, "lengths")):
            both = connection.execute(statement), fresh.execute(statement)
            yield from _differences(*both, what, foreign)
        stored, remade = (sums(link.execute(_SUMS).get) for link in (connection, fresh))
        if not foreign and not (stored[0] == remade[0] and stored >= remade):
            yield SearchDiffers("the sums of the search are not those of its documents")
        if connection.execute(_CONFIGURED).fetchall() != fresh.execute(_CONFIGURED).fetchall():
            yield SearchDiffers("the search is configured in another way than it was made")
    finally:
        fresh.close()


def _documents(
    connection: apsw.Connection, fresh: apsw.Connection, tables: Tables
) -> Iterator[SearchDiffers]:
    """Index every row anew, under the number that it has; say which have none, or another heading."""
    reported = 0
    for noun in (noun for noun in tables.values() if noun.searched):
        many = 0
        statement, width = all_documents(noun)
        for project, *cells in connection.execute(statement):
            key = "/".join(map(str, cells[:width]))
            title, body, about, kind = cells[width:]
            row = connection.execute(_FOUND, (project, noun.table, key)).fetchone()
            if row is not None:
                many += 1
                fresh.execute(_ENTER, (row[0], title, body))
            if (row is None or row[1:] != (about, kind)) and reported < MOST:
                reported += 1
                what = "is not found by the search" if row is None else "is another in the search"
                yield SearchDiffers(f"row {key} of {noun.table} {what}", table=noun.table, key=key)
        counted = connection.execute(
            "SELECT count(*) FROM documents WHERE source = ?", (noun.table,)
        ).get
        if counted != many:
            yield SearchDiffers(
                f"the search has {counted} documents of {many} rows of {noun.table}"
            )


def _foreign(connection: apsw.Connection, tables: Tables) -> set[int]:
    """Return the documents of tables that this program does not know; another dialect has them."""
    sources = [noun.table for noun in tables.values() if noun.searched]
    marks = ", ".join("?" * len(sources))
    statement = (
        f"SELECT id FROM documents WHERE source NOT IN ({marks})"
        " AND source IN (SELECT name FROM migrations)"
    )
    return {number for (number,) in connection.execute(statement, sources)}


def _differences(
    stored: Iterator[_Row], fresh: Iterator[_Row], what: str, foreign: set[int]
) -> Iterator[SearchDiffers]:
    """Walk two sorted lists side by side and name the documents in which they differ."""
    order = _place_of_word if what == "words" else _place_of_length
    wrong: dict[int, None] = {}
    stored_row, fresh_row = next(stored, None), next(fresh, None)
    while (stored_row is not None or fresh_row is not None) and len(wrong) < MOST:
        if stored_row == fresh_row:
            stored_row, fresh_row = next(stored, None), next(fresh, None)
            continue
        takes_stored = fresh_row is None or (
            stored_row is not None and order(stored_row) <= order(fresh_row)
        )
        takes_fresh = stored_row is None or (
            fresh_row is not None and order(fresh_row) <= order(stored_row)
        )
        if takes_stored and stored_row is not None:
            wrong[_document(stored_row)] = None
            stored_row = next(stored, None)
        if takes_fresh and fresh_row is not None:
            wrong[_document(fresh_row)] = None
            fresh_row = next(fresh, None)
    for number in wrong.keys() - foreign:
        yield SearchDiffers(
            f"the {what} of document {number} in the search are not those of its row",
            document=number,
        )


def sums(block: bytes | None) -> list[int]:
    """Return how many documents there are, and how many words in all titles and in all bodies.

    Numbers of seven bits a byte, the highest first. What a document had that was changed since stays in
    the second and the third.
    """
    numbers = [0]
    for byte in block or b"":
        numbers[-1] = numbers[-1] << 7 | byte & ~_FURTHER
        if not byte & _FURTHER:
            numbers.append(0)
    return [*numbers[:-1], 0, 0, 0][:3]


def _document(row: _Row) -> int:
    return row[1] if len(row) == _WORD_COLUMNS else row[0]


def _place_of_word(row: _Row) -> _Row:
    # The title is the first column: by its name it would come behind the body.
    term, document, column, offset = row
    return term, document, column != "title", offset


def _place_of_length(row: _Row) -> _Row:
    return row[:1]
