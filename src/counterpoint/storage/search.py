"""Full-text search over what people and agents wrote, in step with the rows.

Which columns are read, and how a hit is named, is said by each noun (`Searched` in core.model.rows).

Rules: (1) a row that is put whole is indexed; one of which columns are changed is indexed again only
if one of those above became another. (2) Indexing waits for the end of the transaction (or for its
first search), so rows and texts may come in any order.
(3) A searched word is quoted: nothing in it is syntax. (4) Words are joined by OR without the stop
words; the last one, or each if asked so, also matches as a beginning. (5) A title counts four times as much as a body.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import apsw

from counterpoint.core.model.rows import Cell, Noun
from counterpoint.core.ports.store import Hit
from counterpoint.storage.statements import keyed, listed, prose, row_key

_COMMON_WORDS = """
a about an and are as at be but by can do for from has have how i if in into is it its me my no not of
on or our so that the their then there these they this to was we were what when where which who why
will with you your
"""
STOP_WORDS = frozenset(_COMMON_WORDS.split())
"""Words that say too little to be searched for."""

_SHELF_SIZE = 2**40
_ENTER = f"""
INSERT INTO documents (id, shelf, source, key, item, kind)
SELECT 1 + coalesce(
    (SELECT max(d.id) FROM documents AS d
     WHERE d.id BETWEEN s.shelf * {_SHELF_SIZE} AND s.shelf * {_SHELF_SIZE} + {_SHELF_SIZE - 1}),
    s.shelf * {_SHELF_SIZE}
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
_MOST_WORDS = 32
_PREFIX_FROM = 3
_TITLE, _BODY = 4.0, 1.0


@cache
def watched(noun: type[Noun]) -> tuple[str, ...]:
    """Return the columns whose change makes a row be indexed again; none if it is not searched."""
    source = noun.searched
    if source is None:
        return ()
    return (*source.title, source.body, source.about, *([source.kind] if source.kind else ()))


@cache
def watched_row(noun: type[Noun]) -> str:
    """Return the statement that reads the watched columns of one row as they are kept."""
    return f"SELECT {listed(watched(noun))} FROM {noun.table} AS t WHERE {keyed(noun)}"


@cache
def holders(noun: type[Noun]) -> str:
    """Return the statement that finds the keys of rows with a text in the searched column."""
    body = noun.searched.body if noun.searched else ""
    return f'SELECT {listed(row_key(noun))} FROM {noun.table} WHERE project = ? AND "{body}" = ?'


@cache
def document(noun: type[Noun]) -> str:
    """Return the statement that reads what is indexed of one row: title, body, what about, kind."""
    source = noun.searched
    if source is None:
        raise AssertionError(f"{noun.table} is not searched")
    title = " || '\n' || ".join(f't."{name}"' for name in source.title) or "''"
    kind = f't."{source.kind}"' if source.kind else f"'{noun.__name__.lower()}'"
    return (
        f"""SELECT {title}, coalesce({prose(source.body)}, ''), t."{source.about}", {kind}"""
        f" FROM {noun.table} AS t WHERE {keyed(noun)}"
    )


def index(
    connection: apsw.Connection, project: str, noun: type[Noun], key: tuple[Cell, ...]
) -> None:
    """Bring the index in step with one row, there or gone."""
    place = (project, noun.table, "/".join(str(part) for part in key))
    row = connection.execute(document(noun), (project, *key)).fetchone()
    if row is None:
        number = connection.execute(_FOUND, place).get
        connection.execute("DELETE FROM search WHERE rowid = ?", (number,))
        connection.execute("DELETE FROM documents WHERE id = ?", (number,))
        return
    title, body, item, kind = row
    # Most documents are fresh: nothing is looked up for them.
    number = connection.execute(_ENTER, (*place, item, kind)).get
    if number is None:
        number = _known(connection, place, item, kind)
    connection.execute(
        "INSERT INTO search (rowid, title, body) VALUES (?, ?, ?)", (number, title, body)
    )


def _known(connection: apsw.Connection, place: tuple[str, str, str], item: str, kind: str) -> int:
    """Return the id of a document that has one, emptied to be written anew, or of a first one."""
    number = connection.execute(_FOUND, place).get
    if number is None:
        connection.execute("INSERT INTO shelves (project) VALUES (?)", place[:1])
        return connection.execute(_ENTER, (*place, item, kind)).get
    connection.execute("DELETE FROM search WHERE rowid = ?", (number,))
    changed = (item, kind, number)
    connection.execute("UPDATE documents SET item = ?, kind = ? WHERE id = ?", changed)
    return number


def stems(connection: apsw.Connection, words: Sequence[str]) -> list[str]:
    """Return the stem of each word as the index has it; a word without one stays as it is."""
    cut = connection.fts5_tokenizer("porter", ["unicode61"])
    flags = apsw.FTS5_TOKENIZE_QUERY
    found = (
        cut(word.encode(), flags, None, include_offsets=False, include_colocated=False)
        for word in words
    )
    return [" ".join(map(str, parts)) or word for word, parts in zip(words, found, strict=True)]


def expression(words: Sequence[str], *, begun: bool = False) -> str:
    """Return the FTS5 expression for searched words; empty if there are none.

    begun: every word also matches as a beginning, not only the last.
    """
    parts = [part for word in words for part in word.replace("\0", " ").split()]
    telling = [part for part in parts if part.lower() not in STOP_WORDS] or parts
    quoted = ['"' + part.replace('"', '""') + '"' for part in telling[:_MOST_WORDS]]
    first = 0 if begun else len(quoted) - 1
    return " OR ".join(
        f"{word} *" if place >= first and len(telling[place]) >= _PREFIX_FROM else word
        for place, word in enumerate(quoted)
    )


def hits(
    connection: apsw.Connection,
    project: str,
    words: Sequence[str],
    *,
    kinds: Sequence[str],
    item: str,
    begun: bool,
    limit: int,
    offset: int,
) -> list[Hit]:
    """Return the documents of a project that have any of the words, best first.

    The key of a hit is the row's key without the project, joined by `/`.
    """
    wanted = expression(words, begun=begun)
    shelf = connection.execute("SELECT shelf FROM shelves WHERE project = ?", (project,)).fetchone()
    if not wanted or shelf is None:
        return []
    low = shelf[0] * _SHELF_SIZE
    values: list[Any] = [wanted, low, low + _SHELF_SIZE - 1]
    narrowed = ""
    if kinds:
        narrowed += f" AND d.kind IN ({', '.join('?' * len(kinds))})"
        values += kinds
    if item:
        narrowed += " AND d.item = ?"
        values.append(item)
    joined = " JOIN documents AS d ON d.id = search.rowid" if narrowed else ""
    found = connection.execute(
        "SELECT d.source, d.key, d.item, d.kind, h.score FROM"
        f" (SELECT search.rowid AS id, -bm25(search, {_TITLE}, {_BODY}) AS score"
        f" FROM search{joined} WHERE search MATCH ? AND search.rowid BETWEEN ? AND ?{narrowed}"
        " ORDER BY score DESC, search.rowid LIMIT ? OFFSET ?) AS h"
        " JOIN documents AS d ON d.id = h.id ORDER BY h.score DESC, h.id",
        (*values, limit, offset),
    )
    return [
        Hit(table=source, key=key, item=about, kind=kind, score=score)
        for source, key, about, kind, score in found
    ]
