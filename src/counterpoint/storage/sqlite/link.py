"""One transaction on a SQLite connection, bound to a project."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw

from counterpoint.storage.sqlite import ledger, search, vectors
from counterpoint.storage.sqlite.vectors import SqliteVectors


class SqliteLink:
    """A connection inside a transaction; what runs statements is the connection's own."""

    def __init__(
        self, connection: apsw.Connection, project: str, near: dict[Any, Any] | None = None
    ) -> None:
        """Bind a connection to a project. near: what the process knows of vectors."""
        self.project = project
        self.near: dict[Any, Any] = {} if near is None else near
        self._connection = connection
        self.execute = connection.execute
        self.changes = connection.changes
        self.head = partial(ledger.head, connection, project)
        self.entries = partial(ledger.entries, connection, project)
        self.kept = partial(ledger.kept, connection, project)
        self.nodes = partial(ledger.nodes, connection, project)
        self.append = partial(ledger.append, connection, project)
        self.index = partial(search.index, connection, project)
        self.hits = partial(search.hits, connection, project)
        self.stems = partial(search.stems, connection)
        self.most = partial(vectors.most, connection)
        self.vectors = SqliteVectors(connection, project)

    def execute_each(self, text: str, values: Sequence[Sequence[Any]]) -> int:
        """Run a statement that changes rows once for each values; return how many rows it met in all."""
        before = self._connection.total_changes()
        self._connection.executemany(text, values)
        return self._connection.total_changes() - before
