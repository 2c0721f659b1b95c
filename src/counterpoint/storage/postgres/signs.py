"""The signs of vectors in a column of pgvector, where a database has it.

Rules: (1) they stand in a schema of their own, `counterpoint_near`, which no migration makes and nothing needs: without it, or without rights in it,
the process compares signs itself (nearness.py). (2) A trigger on `vectors` (migrations/015_nearness) writes and takes them away in the transaction of
the vector, whoever writes it. (3) Up to 50,000 vectors of a project and model are compared one by one; of more an index
(HNSW) finds the nearest, made without keeping a writer waiting. (4) Who asks for a kind or an item has all of them compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import psycopg
from psycopg import errors

from counterpoint.storage.postgres.dialect import Link

INDEXED: Final = 50_000
"""From how many vectors of a project and model on an index finds the nearest."""
_LEAST: Final = (0, 7)
"""The version of pgvector that first compared signs."""
_MOST_LOOKED_AT: Final = 1_000
"""The most that pgvector lets an index look at (hnsw.ef_search)."""
_LOCK: Final = 0x436E7472
"""The number that whoever makes an index locks meanwhile."""
_TAKEN: Final = """
SELECT pg_try_advisory_lock(%(number)s) OR NOT EXISTS (
  SELECT FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
  WHERE l.locktype = 'advisory' AND l.objid::bigint = %(number)s AND l.granted AND a.datname = current_database()
    AND has_schema_privilege(a.usesysid, 'counterpoint', 'USAGE')
)
"""
_MODEL: Final = "SELECT number FROM embedders WHERE name = %s"
_PLACE: Final = """
SELECT quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
JOIN pg_class AS c ON c.relname = 'signs' JOIN pg_namespace AS own ON own.oid = c.relnamespace
WHERE e.extname = 'vector' AND own.nspname = 'counterpoint_near' AND has_table_privilege(c.oid, 'SELECT')
  AND has_schema_privilege(own.oid, 'USAGE') AND has_schema_privilege(n.oid, 'USAGE')
"""
_THERE: Final = """
SELECT coalesce(installed_version, default_version), installed_version IS NULL,
  EXISTS (SELECT FROM pg_namespace WHERE nspname = 'counterpoint_near'), has_database_privilege(current_database(), 'CREATE')
FROM pg_available_extensions WHERE name = 'vector'
"""
_MADE: Final = """
CREATE SCHEMA counterpoint_near;
CREATE TABLE counterpoint_near.signs (
  document bigint NOT NULL,
  model bigint NOT NULL,
  project text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  signs bit varying NOT NULL,
  PRIMARY KEY (document, model)
);
CREATE INDEX signs_item ON counterpoint_near.signs (project, model, item);
CREATE FUNCTION counterpoint_near.signs_of(vector bytea) RETURNS bit varying LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(CASE WHEN get_byte(vector, n) BETWEEN 1 AND 127 THEN '1' ELSE '0' END, '' ORDER BY n)::bit varying
  FROM generate_series(0, octet_length(vector) - 1) AS n
$$;
INSERT INTO counterpoint_near.signs
SELECT v.document, v.model, v.project, d.kind, d.item, counterpoint_near.signs_of(v.vector)
FROM counterpoint.vectors AS v JOIN counterpoint.documents AS d ON d.id = v.document
WHERE v.state = 0 AND octet_length(v.vector) > 0;
"""
_INDEXES: Final = """
SELECT c.relname, i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'counterpoint_near'::regnamespace AND c.relname LIKE %s
"""
_MANY: Final = """
SELECT length(signs), count(*) FROM counterpoint_near.signs WHERE project = %s AND model = %s
GROUP BY length(signs) HAVING count(*) >= %s
"""


def arrange(link: Link) -> None:
    """Have signs kept in the database from now on, if pgvector is there and this user may."""
    row = link.execute(_THERE).fetchone()
    if row is None:
        return
    version, is_new, is_made, may_make = row
    if is_made or not may_make or _numbers(version) < _LEAST:
        return
    link.execute(b"BEGIN")
    try:
        link.execute(b"SET LOCAL statement_timeout TO 0")
        # Who is writing ends first, and who writes afterwards sees the schema: no vector is missed. Of several that make it one does.
        link.execute(b"LOCK TABLE counterpoint.vectors IN SHARE ROW EXCLUSIVE MODE")
        if is_new:
            link.execute(b"CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        link.execute(_MADE.encode())
        link.execute(b"COMMIT")
    except _REFUSALS:
        # Another server has made it meanwhile, or this one may not: signs are compared here then.
        link.execute(b"ROLLBACK")


_REFUSALS: Final[tuple[type[psycopg.Error], ...]] = (
    errors.InsufficientPrivilege,
    errors.ReadOnlySqlTransaction,
    errors.LockNotAvailable,
    errors.DuplicateSchema,
    errors.InvalidSchemaName,
    errors.FeatureNotSupported,
    errors.UndefinedFile,
)


def nearest(
    link: Link, project: str, model: int | None, signs: str, query: tuple[Sequence[str], str, int]
) -> list[int] | None:
    """Return the numbers of the documents whose signs differ least, in any order; None if the database has no signs.

    query: of which kinds, about which item, and how many.
    """
    schema_row = link.execute(_PLACE).fetchone()
    if schema_row is None or model is None:
        return None
    kinds, item, many = query
    size = len(signs)
    only = " AND kind = ANY(%(kinds)s::text[])" if kinds else ""
    only += " AND item = %(item)s" if item else ""
    # An index would look at the nearest of all kinds, and find none of those that are asked for.
    alone = " + 0" if only else ""
    looked_at = str(min(many, _MOST_LOOKED_AT))
    link.execute("SELECT set_config('hnsw.ef_search', %s, true)", (looked_at,))
    statement = (
        f"SELECT document FROM counterpoint_near.signs WHERE project = %(project)s AND model = {int(model)}"
        f" AND length(signs) = {size}{only}"
        f" ORDER BY (signs::bit({size}) OPERATOR({schema_row[0]}.<~>) %(signs)s::bit({size})){alone} LIMIT {int(many)}"
    )
    values = {"project": project, "signs": signs, "kinds": list(kinds), "item": item}
    # Planned anew each time: only with the project at hand is its index known to fit.
    return [number for (number,) in link.execute(statement.encode(), values, prepare=False)]


def tables(link: Link) -> tuple[str, ...]:
    """Return the table of the signs, if the database has it."""
    return ("counterpoint_near.signs",) if link.execute(_PLACE).fetchone() else ()


def settle(link: Link, project: str, model: str) -> None:
    """Make the index of a project's vectors of a model once there are many; nobody else waits for it.

    link: one outside of a transaction that may take as long as it likes.
    """
    schema_row, number = link.execute(_PLACE).fetchone(), link.execute(_MODEL, (model,)).fetchone()
    if schema_row is None or number is None:
        return
    name = f"near_{number[0]}_{sha256(project.encode()).hexdigest()[:16]}"
    if _is_there(link, name) or not _taken(link):
        return
    try:
        many: Any = link.execute(_MANY, (project, number[0], INDEXED)).fetchone()
        if many is not None and not _is_there(link, name):
            # One that was not finished is in the way.
            link.execute(f"DROP INDEX IF EXISTS counterpoint_near.{name}".encode())
            of = link.execute("SELECT quote_literal(%s)", (project,)).fetchone()
            link.execute(
                (
                    f"CREATE INDEX CONCURRENTLY {name} ON counterpoint_near.signs USING hnsw"
                    f" ((signs::bit({many[0]})) {schema_row[0]}.bit_hamming_ops) WHERE project = {of and of[0]}"
                    f" AND model = {int(number[0])} AND length(signs) = {many[0]}"
                ).encode()
            )
    finally:
        link.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def _is_there(link: Link, name: str) -> bool:
    return (name, True) in link.execute(_INDEXES, (name,)).fetchall()


def _taken(link: Link) -> bool:
    """Return whether nobody else makes one now; a role without rights in the schema, which may hold the number too, makes none."""
    return link.execute(_TAKEN, {"number": _LOCK}).fetchone() == (True,)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
