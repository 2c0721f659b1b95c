"""One transaction on a SQLite connection, bound to a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from counterpoint.core.model.rows import Cell, Noun
from counterpoint.core.ports.store import Append, Head, Hit
from counterpoint.storage.search import Document, Narrowed
from counterpoint.storage.sqlite import ledger, search


class SqliteLink:
    """A connection inside a transaction; what runs statements is the connection's own."""

    def __init__(self, connection: apsw.Connection, project: str) -> None:
        """Bind a connection to a project."""
        self.project = project
        self._connection = connection
        self.execute = connection.execute
        self.changes = connection.changes

    def head(self) -> Head:
        """Return the end of a ledger."""
        return ledger.head(self._connection, self.project)

    def entries(self, start: int, stop: int | None) -> Iterator[bytes]:
        """Return the bytes of entries in order, from start and before stop."""
        return ledger.entries(self._connection, self.project, start, stop)

    def node(self, level: int, position: int) -> bytes:
        """Return one hash of the tree; LedgerBroken if it is not there."""
        return ledger.node(self._connection, self.project, level, position)

    def append(self, entry: Append) -> None:
        """Append an entry; LedgerBroken unless its sequence is the next."""
        ledger.append(self._connection, self.project, entry)

    def index(self, noun: type[Noun], key: tuple[Cell, ...], document: Document | None) -> None:
        """Bring the search in step with one row; None: it is gone."""
        search.index(self._connection, self.project, noun, key, document)

    def hits(self, words: Sequence[str], narrowed: Narrowed) -> list[Hit]:
        """Return the documents of a project that have any of the words, best first."""
        return search.hits(self._connection, self.project, words, narrowed)

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return what the search keeps of each word."""
        return search.stems(self._connection, words)
