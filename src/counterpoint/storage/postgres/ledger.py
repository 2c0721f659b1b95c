"""How a ledger lies in PostgreSQL: the same tables, one statement an append.

An append is one statement: the head grows only if it ends where the entry begins, and the entry and
the finished hashes of the tree are written only if it grew. So a wrong sequence writes nothing and
leaves the transaction as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from counterpoint.core.ports.store import Append, Head, Kept
from counterpoint.kernel.errors import LedgerBroken
from counterpoint.storage import packing, tree
from counterpoint.storage.postgres.dialect import Link, Row

EMPTY = Head(size=0, leaf="", time="", frontier=b"")
_HEAD = "SELECT size, leaf, time, frontier FROM heads WHERE project = %s"
_LOCK = (
    "SELECT size, leaf, time, frontier, clock_timestamp() FROM heads WHERE project = %s FOR UPDATE"
)
_OPEN = (
    "INSERT INTO heads (project, size, leaf, time, frontier) VALUES (%s, 0, '', '', '')"
    " ON CONFLICT (project) DO NOTHING"
)
_APPEND = """
WITH grown AS (
  UPDATE heads SET size = size + 1, leaf = %(hex)s, time = %(time)s, frontier = %(frontier)s::bytea
  WHERE project = %(project)s AND size = %(sequence)s RETURNING project
), completed AS (
  INSERT INTO nodes (project, level, position, hash)
  SELECT grown.project, n.level, n.position, n.hash FROM grown,
    unnest(%(levels)s::bigint[], %(positions)s::bigint[], %(hashes)s::bytea[])
      AS n (level, position, hash)
)
INSERT INTO entries (project, sequence, data, leaf, subject, action)
SELECT project, %(sequence)s, %(data)s, %(leaf)s, %(subject)s, %(action)s FROM grown
"""
_ENTRIES = (
    "SELECT sequence, data, leaf FROM entries"
    " WHERE project = %s AND sequence >= %s AND sequence < %s ORDER BY sequence LIMIT %s"
)
_KEPT = (
    "SELECT sequence, data, leaf, subject, action FROM entries"
    " WHERE project = %s AND sequence >= %s ORDER BY sequence LIMIT %s"
)
_LEAVES = (
    "SELECT leaf FROM entries WHERE project = %s AND sequence >= %s AND sequence < %s"
    " ORDER BY sequence"
)
_NODES = (
    "SELECT hash FROM nodes WHERE project = %s AND level = %s AND position >= %s AND position < %s"
    " ORDER BY position"
)
_END = 2**62
PAGE = 1000
"""How many rows are read at once where all are wanted."""


def head(link: Link, project: str) -> Head:
    """Return the end of a ledger."""
    return _head(link.execute(_HEAD, (project,)).fetchone())


def lock(link: Link, project: str, hear: Callable[[datetime], None]) -> Head:
    """Lock the head of a project until the transaction ends, made if it is not there; answer it.

    hear: is told what time it is on the server.
    """
    row = link.execute(_LOCK, (project,)).fetchone()
    if row is None:
        # Another server may make the row at this moment: then this one waits for it below.
        link.execute(_OPEN, (project,))
        row = link.execute(_LOCK, (project,)).fetchone()
    assert row is not None  # noqa: S101 - it was just made
    *cells, server_time = row
    hear(server_time)
    return _head(tuple(cells))


def _head(row: Row | None) -> Head:
    if row is None:
        return EMPTY
    size, leaf, time, frontier = row
    return Head(size=size, leaf=leaf, time=time, frontier=frontier)


def append(link: Link, project: str, entry: Append) -> None:
    """Append an entry; LedgerBroken unless its sequence is the next."""
    nodes = tree.to_store(entry.nodes)
    values = {
        "project": project,
        "sequence": entry.sequence,
        "data": packing.pack(entry.data, project, entry.sequence, entry.previous),
        "leaf": entry.leaf,
        "hex": entry.leaf.hex(),
        "time": entry.time,
        "subject": entry.subject,
        "action": entry.action,
        "frontier": entry.frontier,
        "levels": [level for level, _, _ in nodes],
        "positions": [position for _, position, _ in nodes],
        "hashes": [digest for _, _, digest in nodes],
    }
    if not link.execute(_APPEND, values).rowcount:
        raise LedgerBroken(f"entry {entry.sequence} is not the next of {project!r}")


def entries(link: Link, project: str, start: int, stop: int | None) -> Iterator[bytes]:
    """Return the bytes of entries in order."""
    # One entry more than asked for: each is packed without the hash of the one before it.
    rows = _rows(link, project, start - 1, _END if stop is None else stop)
    return packing.unpack_rows(rows, project, start)


def kept(link: Link, project: str) -> Iterator[Kept]:
    """Return every entry in order, with what stands beside its bytes."""
    return packing.unpack_kept(_kept(link, project), project)


def _kept(link: Link, project: str) -> Iterator[Row]:
    start = -_END
    while page := link.execute(_KEPT, (project, start, PAGE)).fetchall():
        yield from page
        start = page[-1][0] + 1


def _rows(link: Link, project: str, start: int, end: int) -> Iterator[Row]:
    """Return stored entries in order, page by page."""
    while page := link.execute(_ENTRIES, (project, start, end, PAGE)).fetchall():
        yield from page
        start = page[-1][0] + 1


def nodes(link: Link, project: str, level: int, start: int, stop: int) -> list[bytes]:
    """Return hashes of a level of the tree in order, those that are there."""
    stored, first, end = tree.sources(level, start, stop)
    if stored:
        rows = link.execute(_NODES, (project, stored, first, end)).fetchall()
    else:
        rows = link.execute(_LEAVES, (project, first, end)).fetchall()
    return tree.join([digest for (digest,) in rows], level)
