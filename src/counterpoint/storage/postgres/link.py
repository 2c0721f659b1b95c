"""One transaction on a PostgreSQL connection, bound to a project."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from psycopg import Cursor

from counterpoint.storage.postgres import ledger, search, vectors
from counterpoint.storage.postgres.dialect import Link, Row, spoken
from counterpoint.storage.postgres.vectors import PostgresVectors


class PostgresLink:
    """A connection inside a transaction."""

    def __init__(self, link: Link, project: str, near: dict[Any, Any] | None = None) -> None:
        """Bind a connection to a project. near: what the process knows of vectors."""
        self.project = project
        self.near: dict[Any, Any] = {} if near is None else near
        self._link = link
        self._changes = 0
        self.head = partial(ledger.head, link, project)
        self.entries = partial(ledger.entries, link, project)
        self.kept = partial(ledger.kept, link, project)
        self.nodes = partial(ledger.nodes, link, project)
        self.append = partial(ledger.append, link, project)
        self.index = partial(search.index, link, project)
        self.hits = partial(search.hits, link, project)
        self.stems = partial(search.stems, link)
        self.most = partial(vectors.most, link)
        self.vectors = PostgresVectors(link, project)

    def execute(self, text: str, values: Sequence[Any] = ()) -> Cursor[Row]:
        """Run a statement of statements.py."""
        answer = self._link.execute(spoken(text), values)
        self._changes = answer.rowcount
        return answer

    def execute_each(self, text: str, values: Sequence[Sequence[Any]]) -> int:
        """Run a statement that changes rows once for each values; return how many rows it met in all."""
        with self._link.cursor() as cursor:
            cursor.executemany(spoken(text), values)
            return cursor.rowcount

    def changes(self) -> int:
        """Return how many rows the last statement met."""
        return self._changes
