"""Full-text search in SQLite: FTS5 over documents that are numbered by project.

A project has a shelf; the ids of its documents are shelf * 2^40 + 1 and upward, so that a search
touches the range of one project only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from counterpoint.core.model.rows import Cell, Noun
from counterpoint.core.ports.store import Hit
from counterpoint.storage.search import Document, Narrowed, is_long, telling
from counterpoint.storage.statements import unhidden

SHELF_SIZE = 2**40
"""How many numbers the documents of a project may have."""
_ENTER = f"""
INSERT INTO documents (id, shelf, source, key, item, kind)
SELECT 1 + coalesce(
    (SELECT max(d.id) FROM documents AS d
     WHERE d.id BETWEEN s.shelf * {SHELF_SIZE} AND s.shelf * {SHELF_SIZE} + {SHELF_SIZE - 1}),
    s.shelf * {SHELF_SIZE}
  ), s.shelf, ?2, ?3, ?4, ?5
FROM shelves AS s WHERE s.project = ?1
ON CONFLICT (shelf, source, key) DO NOTHING
RETURNING id
"""
"""Takes the next id of a shelf; answers none if the document has one, or there is no shelf yet."""
_FOUND = """
SELECT d.id FROM documents AS d JOIN shelves AS s ON s.shelf = d.shelf
WHERE s.project = ? AND d.source = ? AND d.key = ?
"""
_TITLE, _BODY = 4.0, 1.0


def index(
    connection: apsw.Connection,
    project: str,
    noun: type[Noun],
    key: tuple[Cell, ...],
    document: Document | None,
) -> None:
    """Bring the index in step with one row; None: it is gone."""
    document_key = (project, noun.table, "/".join(map(str, key)))
    if document is None:
        number = connection.execute(_FOUND, document_key).get
        connection.execute("DELETE FROM search WHERE rowid = ?", (number,))
        connection.execute("DELETE FROM documents WHERE id = ?", (number,))
        return
    title, body, item, kind = document
    # Most documents are fresh: nothing is looked up for them.
    number = connection.execute(_ENTER, (*document_key, item, kind)).get
    if number is None:
        number = _reset_document(connection, document_key, item, kind)
    connection.execute(
        "INSERT INTO search (rowid, title, body) VALUES (?, ?, ?)", (number, title, body)
    )


def _reset_document(
    connection: apsw.Connection, document_key: tuple[str, str, str], item: str, kind: str
) -> int:
    """Return the id of a document that has one, emptied to be written anew, or of a first one."""
    number = connection.execute(_FOUND, document_key).get
    if number is None:
        connection.execute("INSERT INTO shelves (project) VALUES (?)", document_key[:1])
        return connection.execute(_ENTER, (*document_key, item, kind)).get
    connection.execute("DELETE FROM search WHERE rowid = ?", (number,))
    changed = (item, kind, number)
    connection.execute("UPDATE documents SET item = ?, kind = ? WHERE id = ?", changed)
    return number


def stems(connection: apsw.Connection, words: Sequence[str]) -> list[str]:
    """Return the stem of each word as the index has it; a word without one stays as it is."""
    cut = connection.fts5_tokenizer("porter", ["unicode61"])
    flags = apsw.FTS5_TOKENIZE_QUERY
    tokens = (
        cut(word.encode(), flags, None, include_offsets=False, include_colocated=False)
        for word in words
    )
    return [" ".join(map(str, parts)) or word for word, parts in zip(words, tokens, strict=True)]


def expression(words: Sequence[str], *, begun: bool = False) -> str:
    """Return the FTS5 expression for searched words; empty if there are none.

    begun: every word also matches as a beginning, not only the last.
    """
    return " OR ".join(
        '"' + word.replace('"', '""') + ('" *' if may_begin and is_long(word) else '"')
        for word, may_begin in telling(words, begun=begun)
    )


def hits(
    connection: apsw.Connection,
    project: str,
    words: Sequence[str],
    narrowed: Narrowed,
) -> list[Hit]:
    """Return the documents of a project that have any of the words, best first.

    The key of a hit is the row's key without the project, joined by `/`.
    """
    query = expression(words, begun=narrowed.begun)
    shelf = connection.execute("SELECT shelf FROM shelves WHERE project = ?", (project,)).fetchone()
    if not query or shelf is None:
        return []
    low = shelf[0] * SHELF_SIZE
    values: list[Any] = [query, low, low + SHELF_SIZE - 1]
    only = ""
    if narrowed.kinds:
        only += f" AND d.kind IN ({', '.join('?' * len(narrowed.kinds))})"
        values += narrowed.kinds
    if narrowed.item:
        only += " AND d.item = ?"
        values.append(narrowed.item)
    if narrowed.hides:
        only += unhidden("d", "?")
        values.append(project)
    joined = " JOIN documents AS d ON d.id = search.rowid" if only else ""
    rows = connection.execute(
        # Cut to a page before the join, so that only its documents are looked up. SQLite's bm25 is
        # the lower the better a document fits.
        "SELECT d.source, d.key, d.item, d.kind, h.score, h.id FROM"
        f" (SELECT search.rowid AS id, -bm25(search, {_TITLE}, {_BODY}) AS score"
        f" FROM search{joined} WHERE search MATCH ? AND search.rowid BETWEEN ? AND ?{only}"
        " ORDER BY score DESC, search.rowid LIMIT ? OFFSET ?) AS h"
        " JOIN documents AS d ON d.id = h.id ORDER BY h.score DESC, h.id",
        (*values, narrowed.limit, narrowed.offset),
    )
    return [
        Hit(table=source, key=key, item=about, kind=kind, score=score, number=number)
        for source, key, about, kind, score, number in rows
    ]
