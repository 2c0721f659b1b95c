"""One transaction on a PostgreSQL connection, bound to a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from psycopg import Cursor

from counterpoint.core.model.rows import Cell, Noun
from counterpoint.core.ports.store import Append, Head, Hit
from counterpoint.storage.postgres import ledger, search
from counterpoint.storage.postgres.dialect import Link, Row, spoken
from counterpoint.storage.search import Document, Narrowed


class PostgresLink:
    """A connection inside a transaction."""

    def __init__(self, link: Link, project: str) -> None:
        """Bind a connection to a project."""
        self.project = project
        self._link = link
        self._changes = 0

    def execute(self, text: str, values: Sequence[Any] = ()) -> Cursor[Row]:
        """Run a statement of statements.py."""
        answer = self._link.execute(spoken(text), values)
        self._changes = answer.rowcount
        return answer

    def changes(self) -> int:
        """Return how many rows the last statement met."""
        return self._changes

    def head(self) -> Head:
        """Return the end of a ledger."""
        return ledger.head(self._link, self.project)

    def entries(self, start: int, stop: int | None) -> Iterator[bytes]:
        """Return the bytes of entries in order, from start and before stop."""
        return ledger.entries(self._link, self.project, start, stop)

    def node(self, level: int, position: int) -> bytes:
        """Return one hash of the tree; LedgerBroken if it is not there."""
        return ledger.node(self._link, self.project, level, position)

    def append(self, entry: Append) -> None:
        """Append an entry; LedgerBroken unless its sequence is the next."""
        ledger.append(self._link, self.project, entry)

    def index(self, noun: type[Noun], key: tuple[Cell, ...], document: Document | None) -> None:
        """Bring the search in step with one row; None: it is gone."""
        search.index(self._link, self.project, noun, key, document)

    def hits(self, words: Sequence[str], narrowed: Narrowed) -> list[Hit]:
        """Return the documents of a project that have any of the words, best first."""
        return search.hits(self._link, self.project, words, narrowed)

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return what the search keeps of each word."""
        return search.stems(self._link, words)
