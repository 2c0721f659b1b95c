"""Vectors of a project's documents in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from counterpoint.core.ports.store import Hit
from counterpoint.storage.link import DAY, VectorChange
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.search import questions
from counterpoint.storage.postgres.signs import nearest
from counterpoint.storage.search import Narrowed
from counterpoint.storage.statements import unhidden

_MODEL: Final = "SELECT number FROM embedders WHERE name = %s"
_STALE: Final = """
SELECT d.id, d.source, d.key, d.item, d.kind
FROM vectors AS v JOIN documents AS d ON d.project = v.project AND d.id = v.document
WHERE v.project = %s AND v.model = %s AND v.state = 1 LIMIT %s
"""
_LAST: Final = """
SELECT document FROM vectors WHERE project = %s AND model = %s AND state < 2 ORDER BY document DESC LIMIT 1
"""
_FRESH: Final = """
SELECT id, source, key, item, kind FROM documents WHERE project = %s AND id > %s ORDER BY id LIMIT %s
"""
_TURN: Final = "SELECT coalesce(max(turn), 0) FROM vectors WHERE project = %s AND model = %s"
_CHANGED: Final = """
SELECT v.turn, v.document, v.vector, coalesce(d.item, ''), coalesce(d.kind, '')
FROM vectors AS v LEFT JOIN documents AS d ON d.project = v.project AND d.id = v.document
WHERE v.project = %s AND v.model = %s AND v.turn > %s ORDER BY v.turn
"""
_CODES: Final = """
SELECT document, vector FROM vectors WHERE document = ANY(%s::bigint[]) AND model = %s AND state = 0
"""
_PUT: Final = """
INSERT INTO vectors (document, model, project, turn, state, vector)
SELECT document, %s, %s, %s + turn, 0, vector
FROM unnest(%s::bigint[], %s::bytea[]) WITH ORDINALITY AS made (document, vector, turn)
ON CONFLICT (document, model) DO UPDATE SET turn = excluded.turn, state = 0, vector = excluded.vector
"""
_RETIRE: Final = """
DELETE FROM vectors WHERE (document, model) IN
  (SELECT document, model FROM vectors WHERE project = %s AND model <> %s
    AND model IN (SELECT number FROM embedders WHERE used <= extract(epoch FROM now())::bigint - %s) LIMIT %s)
"""
_USE: Final = """
UPDATE embedders SET used = extract(epoch FROM now())::bigint
WHERE number = %s AND used < extract(epoch FROM now())::bigint - %s
"""
_MANY: Final = "SELECT count(*) FROM documents WHERE project = %s"
_COVERED: Final = "SELECT count(*) FROM vectors WHERE project = %s AND model = %s AND state = 0"


class PostgresVectors:
    """The vectors of one project, in one transaction."""

    def __init__(self, link: Link, project: str) -> None:
        """Work in the transaction of a connection."""
        self._link = link
        self._project = project

    def waiting(self, model: str, limit: int) -> list[Hit]:
        """Return documents without a vector of a model: those that changed, then from the oldest on."""
        key = self._project, self._model(model)
        rows = self._link.execute(_STALE, (*key, limit)).fetchall()
        if len(rows) < limit:
            last = self._fetch_value(_LAST, *key) or 0
            remaining = limit - len(rows)
            rows += self._link.execute(_FRESH, (self._project, last, remaining)).fetchall()
        return [_hit(*row) for row in rows]

    def last_turn(self, model: str) -> int:
        """Return the number of the last change of a vector; 0 if there was none."""
        return self._fetch_value(_TURN, self._project, self._model(model))

    def changed(self, model: str, after: int) -> Iterator[VectorChange]:
        """Return what became of vectors after a change, in order."""
        values = self._project, self._model(model), after
        return (VectorChange(*row) for row in self._link.execute(_CHANGED, values))

    def likely(
        self, model: str, signs: str, query: tuple[Sequence[str], str, int]
    ) -> list[int] | None:
        """Return the documents whose signs differ least, in any order; None where pgvector is not there."""
        return nearest(self._link, self._project, self._model(model), signs, query)

    def codes(self, model: str, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return the vectors of documents, of those that have one."""
        rows = self._link.execute(_CODES, (list(numbers), self._model(model)))
        return [(number, codes) for number, codes in rows]

    def documents(self, numbers: Sequence[int], narrowed: Narrowed) -> list[Hit]:
        """Return the documents of these numbers that are asked for, in any order, without scores."""
        only = " AND d.kind = ANY(%(kinds)s::text[])" if narrowed.kinds else ""
        only += " AND d.item = %(item)s" if narrowed.item else ""
        only += unhidden("d", "%(project)s") if narrowed.hides else ""
        values = {
            "project": self._project,
            "numbers": list(numbers),
            "kinds": list(narrowed.kinds),
            "item": narrowed.item,
        }
        statement = (
            "SELECT d.id, d.source, d.key, d.item, d.kind FROM documents AS d"
            f" WHERE d.project = %(project)s AND d.id = ANY(%(numbers)s::bigint[]){only}"
        )
        return [_hit(*row) for row in self._link.execute(statement.encode(), values)]

    def put(self, model: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep vectors of documents, in place of those they have."""
        statement = "INSERT INTO embedders (name) VALUES (%s) ON CONFLICT (name) DO NOTHING"
        if self._model(model) is None:
            self._link.execute(statement, (model,))
        number, turn = self._model(model), self.last_turn(model)
        self._link.execute(_USE, (number, DAY))
        documents, codes = [document for document, _ in vectors], [code for _, code in vectors]
        self._link.execute(_PUT, (number, self._project, turn, documents, codes))

    def retire(self, model: str, limit: int, idle: int) -> int:
        """Take so many vectors away of models that nobody used for so many seconds; return how many there were."""
        number = self._model(model)
        if number is None:
            return 0
        self._link.execute(_USE, (number, DAY))
        return self._link.execute(_RETIRE, (self._project, number, idle, limit)).rowcount

    def coverage(self, model: str) -> tuple[int, int]:
        """Return how many documents have a vector, and how many there are."""
        covered = self._fetch_value(_COVERED, self._project, self._model(model))
        return covered, self._fetch_value(_MANY, self._project)

    def _model(self, name: str) -> int | None:
        return self._fetch_value(_MODEL, name)

    def _fetch_value(self, statement: str, *values: Any) -> Any:
        row = self._link.execute(statement.encode(), values).fetchone()
        return None if row is None else row[0]


def most(link: Link, words: Sequence[str], *, begun: bool = False) -> float:
    """Return about the score of a document that has all of the words often; 0 for no words."""
    del link
    queries = questions(words, begun=begun)
    # Each word counts one, and what all of them weigh together less than one (search.py).
    return len(queries) + 1.0 if queries else 0.0


def _hit(number: int, source: str, key: str, about: str, kind: str) -> Hit:
    return Hit(table=source, key=key, item=about, kind=kind, score=0.0, number=number)
