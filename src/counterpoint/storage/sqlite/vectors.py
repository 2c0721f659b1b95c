"""Vectors of a project in SQLite, and how much the words of a search weigh.

The documents of a project have numbers in a range of their own (search.py), and so have their vectors. A number may be
given again once its document is gone: a vector of that one says that it is gone, and is put over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import Any, Final

import apsw

from counterpoint.core.ports.store import Hit
from counterpoint.storage.link import DAY, VectorChange
from counterpoint.storage.search import Narrowed, is_long, telling
from counterpoint.storage.sqlite.search import SHELF_SIZE, stems
from counterpoint.storage.sqlite.searched import sums
from counterpoint.storage.statements import unhidden

_SHELF: Final = "SELECT shelf FROM shelves WHERE project = ?"
_MODEL: Final = "SELECT number FROM embedders WHERE name = ?"
_STALE: Final = """
SELECT d.id, d.source, d.key, d.item, d.kind FROM vectors AS v JOIN documents AS d ON d.id = v.document
WHERE v.shelf = ? AND v.model = ? AND v.state = 1 LIMIT ?
"""
_LAST: Final = """
SELECT document FROM vectors WHERE document BETWEEN ? AND ? AND model = ? AND state < 2
ORDER BY document DESC LIMIT 1
"""
_FRESH: Final = """
SELECT id, source, key, item, kind FROM documents WHERE id > ? AND id <= ? ORDER BY id LIMIT ?
"""
_TURN: Final = "SELECT coalesce(max(turn), 0) FROM vectors WHERE shelf = ? AND model = ?"
_CHANGED: Final = """
SELECT v.turn, v.document, v.vector, coalesce(d.item, ''), coalesce(d.kind, '')
FROM vectors AS v LEFT JOIN documents AS d ON d.id = v.document
WHERE v.shelf = ? AND v.model = ? AND v.turn > ? ORDER BY v.turn
"""
_PUT: Final = """
INSERT INTO vectors (document, model, shelf, turn, state, vector) VALUES (?, ?, ?, ?, 0, ?)
ON CONFLICT (document, model) DO UPDATE SET turn = excluded.turn, state = 0, vector = excluded.vector
"""
_RETIRE: Final = """
DELETE FROM vectors WHERE (document, model) IN
  (SELECT document, model FROM vectors WHERE document BETWEEN ? AND ? AND model <> ?
    AND model IN (SELECT number FROM embedders WHERE used <= unixepoch() - ?) LIMIT ?)
"""
_USE: Final = "UPDATE embedders SET used = unixepoch() WHERE number = ? AND used < unixepoch() - ?"
_MANY: Final = "SELECT count(*) FROM documents WHERE id BETWEEN ? AND ?"
_COVERED: Final = """
SELECT count(*) FROM vectors WHERE document BETWEEN ? AND ? AND model = ? AND state = 0
"""
_TERMS: Final = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, search, row)"
_HAVING: Final = "SELECT doc FROM temp.terms WHERE term = ?"
_BEGINNING: Final = "SELECT sum(doc) FROM temp.terms WHERE term >= ? AND term < ?"
_SUMS: Final = "SELECT block FROM search_data WHERE id = 1"
_MOST_OFTEN: Final = 2.2
"""By how much a word that stands often in a short text counts more than one that stands once in one of usual length."""
_LEAST: Final = 1e-6


class SqliteVectors:
    """The vectors of one project, in one transaction."""

    def __init__(self, connection: apsw.Connection, project: str) -> None:
        """Work in the transaction of a connection."""
        self._connection = connection
        self._project = project

    def waiting(self, model: str, limit: int) -> list[Hit]:
        """Return documents without a vector of a model: those that changed, then from the oldest on."""
        shelf, number = self._shelf(), self._model(model)
        if shelf is None:
            return []
        low, high = _range(shelf)
        rows = list(self._connection.execute(_STALE, (shelf, number, limit)))
        if len(rows) < limit:
            last = self._connection.execute(_LAST, (low, high, number)).get
            begin = low - 1 if last is None else last
            rows += self._connection.execute(_FRESH, (begin, high, limit - len(rows)))
        return [_hit(*row) for row in rows]

    def last_turn(self, model: str) -> int:
        """Return the number of the last change of a vector; 0 if there was none."""
        return self._connection.execute(_TURN, (self._shelf(), self._model(model))).get

    def changed(self, model: str, after: int) -> Iterator[VectorChange]:
        """Return what became of vectors after a change, in order."""
        values = self._shelf(), self._model(model), after
        return (VectorChange(*row) for row in self._connection.execute(_CHANGED, values))

    def likely(
        self, model: str, signs: str, query: tuple[Sequence[str], str, int]
    ) -> list[int] | None:
        """Return None: signs are compared by the process."""
        del model, signs, query

    def codes(self, model: str, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return the vectors of documents, of those that have one."""
        marks = ", ".join("?" * len(numbers))
        statement = f"SELECT document, vector FROM vectors WHERE model = ? AND document IN ({marks}) AND state = 0"
        rows = self._connection.execute(statement, (self._model(model), *numbers))
        return [(number, vector) for number, vector in rows]

    def documents(self, numbers: Sequence[int], narrowed: Narrowed) -> list[Hit]:
        """Return the documents of these numbers that are asked for, in any order, without scores."""
        values: list[Any] = [*numbers]
        only = ""
        if narrowed.kinds:
            only += f" AND d.kind IN ({', '.join('?' * len(narrowed.kinds))})"
            values += narrowed.kinds
        if narrowed.item:
            only += " AND d.item = ?"
            values.append(narrowed.item)
        if narrowed.hides:
            only += unhidden("d", "?")
            values.append(self._project)
        marks = ", ".join("?" * len(numbers))
        statement = (
            "SELECT d.id, d.source, d.key, d.item, d.kind FROM documents AS d"
            f" WHERE d.id IN ({marks}){only}"
        )
        return [_hit(*row) for row in self._connection.execute(statement, values)]

    def put(self, model: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep vectors of documents, in place of those they have."""
        shelf, number = self._shelf(), self._model(model)
        if number is None:
            self._connection.execute("INSERT INTO embedders (name) VALUES (?)", (model,))
            number = self._model(model)
        self._use(number)
        turn = self._connection.execute(_TURN, (shelf, number)).get
        rows = (
            (document, number, shelf, turn + offset, vector)
            for offset, (document, vector) in enumerate(vectors, 1)
        )
        self._connection.executemany(_PUT, rows)

    def retire(self, model: str, limit: int, idle: int) -> int:
        """Take so many vectors away of models that nobody used for so many seconds; return how many there were."""
        shelf, number = self._shelf(), self._model(model)
        if shelf is None or number is None:
            return 0
        self._use(number)
        self._connection.execute(_RETIRE, (*_range(shelf), number, idle, limit))
        return self._connection.changes()

    def coverage(self, model: str) -> tuple[int, int]:
        """Return how many documents have a vector, and how many there are."""
        shelf = self._shelf()
        if shelf is None:
            return 0, 0
        low, high = _range(shelf)
        covered = self._connection.execute(_COVERED, (low, high, self._model(model))).get
        return covered, self._connection.execute(_MANY, (low, high)).get

    def _use(self, number: int | None) -> None:
        self._connection.execute(_USE, (number, DAY))

    def _shelf(self) -> int | None:
        return self._connection.execute(_SHELF, (self._project,)).get

    def _model(self, name: str) -> int | None:
        return self._connection.execute(_MODEL, (name,)).get


def most(connection: apsw.Connection, words: Sequence[str], *, begun: bool = False) -> float:
    """Return about the score of a document that has all of the words often; 0 for no words.

    It is what bm25 counts for a word at most, by how many documents have it; those of all projects, as bm25 does.
    """
    searched = telling(words, begun=begun)
    if not searched:
        return 0.0
    connection.execute(_TERMS)
    size = sums(connection.execute(_SUMS).get)[0]
    total = 0.0
    for (word, may_begin), stem in zip(
        searched, stems(connection, [word for word, _ in searched]), strict=True
    ):
        for term in stem.split():
            is_beginning = may_begin and is_long(word)
            count = (
                connection.execute(_BEGINNING, (term, f"{term}\U0010ffff"))
                if is_beginning
                else connection.execute(_HAVING, (term,))
            ).get
            having = min(count or 0, size)
            total += max(log((size - having + 0.5) / (having + 0.5)), _LEAST)
    return _MOST_OFTEN * total


def _range(shelf: int) -> tuple[int, int]:
    return shelf * SHELF_SIZE, shelf * SHELF_SIZE + SHELF_SIZE - 1


def _hit(number: int, source: str, key: str, about: str, kind: str) -> Hit:
    return Hit(table=source, key=key, item=about, kind=kind, score=0.0, number=number)
