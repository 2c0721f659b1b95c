"""How a ledger lies in SQLite: entries, where they end, the tree's hashes.

    entries  (project, sequence)         the bytes of each entry and its leaf hash; only grows
    heads    (project)                   how many entries there are, the last leaf, the frontier
    nodes    (project, level, position)  hashes of complete subtrees from level 1 upward

The triggers of the schema hold the first rule of the ledger even against a stranger with a SQL
shell: nothing is changed or deleted, and only the next sequence can be appended.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from counterpoint.core.ports.store import Append, Head
from counterpoint.kernel.errors import LedgerBroken

_EMPTY = Head(size=0, leaf="", time="", frontier=b"")
_HEAD = "SELECT size, leaf, time, frontier FROM heads WHERE project = ?"
_ENTRIES = (
    "SELECT data FROM entries WHERE project = ? AND sequence >= ? AND sequence < ?"
    " ORDER BY sequence"
)
_LEAF = "SELECT leaf FROM entries WHERE project = ? AND sequence = ?"
_NODE = "SELECT hash FROM nodes WHERE project = ? AND level = ? AND position = ?"
_GROW = """
INSERT INTO heads (project, size, leaf, time, frontier) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (project) DO UPDATE SET
  size = excluded.size, leaf = excluded.leaf, time = excluded.time, frontier = excluded.frontier
"""
_ENTRY = """
INSERT INTO entries (project, sequence, data, leaf, time, subject, action)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_COMPLETE = "INSERT INTO nodes (project, level, position, hash) VALUES (?, ?, ?, ?)"
_END = 2**62


def head(connection: apsw.Connection, project: str) -> Head:
    """Return the end of a ledger."""
    row = connection.execute(_HEAD, (project,)).fetchone()
    if row is None:
        return _EMPTY
    size, leaf, time, frontier = row
    return Head(size=size, leaf=leaf, time=time, frontier=frontier)


def append(connection: apsw.Connection, project: str, entry: Append) -> None:
    """Append an entry; LedgerBroken unless its sequence is the next."""
    row = (
        project,
        entry.sequence,
        entry.data,
        entry.leaf,
        entry.time,
        entry.subject,
        entry.action,
    )
    try:
        connection.execute(_ENTRY, row)
    except apsw.ConstraintError as fault:
        raise LedgerBroken(f"entry {entry.sequence} is not the next of {project!r}") from fault
    size = entry.sequence + 1
    connection.execute(_GROW, (project, size, entry.leaf.hex(), entry.time, entry.frontier))
    for level, position, digest in entry.nodes:
        if level > 0:
            connection.execute(_COMPLETE, (project, level, position, digest))


def entries(
    connection: apsw.Connection, project: str, start: int, stop: int | None
) -> Iterator[bytes]:
    """Return the bytes of entries in order."""
    for row in connection.execute(_ENTRIES, (project, start, _END if stop is None else stop)):
        yield row[0]


def node(connection: apsw.Connection, project: str, level: int, position: int) -> bytes:
    """Return one hash of the tree; LedgerBroken if it is not there."""
    if level:
        row = connection.execute(_NODE, (project, level, position)).fetchone()
    else:
        row = connection.execute(_LEAF, (project, position)).fetchone()
    if row is None:
        raise LedgerBroken(f"the ledger of {project!r} has no hash {position} at level {level}")
    return row[0]
