"""One transaction on a SQLite connection, bound to a project."""

from __future__ import annotations

from functools import partial

import apsw

from counterpoint.storage.sqlite import ledger, search


class SqliteLink:
    """A connection inside a transaction; what runs statements is the connection's own."""

    def __init__(self, connection: apsw.Connection, project: str) -> None:
        """Bind a connection to a project."""
        self.project = project
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
