"""How a ledger lies in SQLite: entries, where they end, the tree's hashes.

    entries  (project, sequence)         each entry, packed (see packing.py), and its leaf hash; only grows
    heads    (project)                   how many entries there are, the last leaf, the frontier
    nodes    (project, level, position)  hashes of complete subtrees, every fourth level (see tree.py)

The triggers of the schema hold the first rule of the ledger even against a stranger with a SQL
shell: nothing is changed or deleted, and only the next sequence can be appended.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from counterpoint.core.ports.store import Append, Head, Kept
from counterpoint.kernel.errors import LedgerBroken
from counterpoint.storage import packing, tree

_EMPTY = Head(size=0, leaf="", time="", frontier=b"")
_HEAD = "SELECT size, leaf, time, frontier FROM heads WHERE project = ?"
_ENTRIES = (
    "SELECT sequence, data, leaf FROM entries WHERE project = ? AND sequence >= ? AND sequence < ?"
    " ORDER BY sequence"
)
_KEPT = (
    "SELECT sequence, data, leaf, subject, action FROM entries WHERE project = ? ORDER BY sequence"
)
_LEAVES = (
    "SELECT leaf FROM entries WHERE project = ? AND sequence >= ? AND sequence < ?"
    " ORDER BY sequence"
)
_NODES = (
    "SELECT hash FROM nodes WHERE project = ? AND level = ? AND position >= ? AND position < ?"
    " ORDER BY position"
)
_GROW = """
INSERT INTO heads (project, size, leaf, time, frontier) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (project) DO UPDATE SET
  size = excluded.size, leaf = excluded.leaf, time = excluded.time, frontier = excluded.frontier
"""
_ENTRY = """
INSERT INTO entries (project, sequence, data, leaf, subject, action) VALUES (?, ?, ?, ?, ?, ?)
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
        packing.pack(entry.data, project, entry.sequence, entry.previous),
        entry.leaf,
        entry.subject,
        entry.action,
    )
    try:
        connection.execute(_ENTRY, row)
    # The schema's trigger aborts with a broken constraint, as a sequence that is taken does.
    except apsw.ConstraintError as fault:
        raise LedgerBroken(f"entry {entry.sequence} is not the next of {project!r}") from fault
    size = entry.sequence + 1
    connection.execute(_GROW, (project, size, entry.leaf.hex(), entry.time, entry.frontier))
    for node in tree.to_store(entry.nodes):
        connection.execute(_COMPLETE, (project, *node))


def entries(
    connection: apsw.Connection, project: str, start: int, stop: int | None
) -> Iterator[bytes]:
    """Return the bytes of entries in order."""
    # One entry more than asked for: each is packed without the hash of the one before it.
    bound = (project, start - 1, _END if stop is None else stop)
    return packing.unpack_rows(connection.execute(_ENTRIES, bound), project, start)


def kept(connection: apsw.Connection, project: str) -> Iterator[Kept]:
    """Return every entry in order, with what stands beside its bytes."""
    return packing.unpack_kept(connection.execute(_KEPT, (project,)), project)


def nodes(
    connection: apsw.Connection, project: str, level: int, start: int, stop: int
) -> list[bytes]:
    """Return hashes of a level of the tree in order, those that are there."""
    stored, first, end = tree.sources(level, start, stop)
    if stored:
        rows = connection.execute(_NODES, (project, stored, first, end))
    else:
        rows = connection.execute(_LEAVES, (project, first, end))
    return tree.join([digest for (digest,) in rows], level)
