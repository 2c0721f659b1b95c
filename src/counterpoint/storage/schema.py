"""The migrations that make a database, and which database this program opens.

A database is made by migrations, each noted with the SHA-256 of its text. They are files, one text for each
database (`sqlite/migrations`, `postgres/migrations`), and stand in `RELEASED`. Those of the number 13 are the first shape that was released: texts, entries, tree,
search, meters, and a table for each noun of the core; a noun of a dialect is a migration of its own, made when it is
first asked for. A database that has more of these than this program knows is sound, and they are left alone.

A database is opened if and only if (1) it is empty or ours, (2) its version, the highest number noted,
is neither above the last of this program nor below the first, which nobody can bring forward, (3) each
migration that both know has the digest noted.

Rules of the tables: (1) each begins with the project; nothing is found without it. (2) The columns are
the noun's fields in their order, nothing is NULL. (3) A prose column holds the first 16 bytes of the commitment
of its text, or none; text and salt stand in `texts` and are taken away together (a redaction). (4) `entries` only
grows, and only by the next sequence. (5) A migration that was released is never edited; what comes later is one
of a higher number, which adds tables, indexes, and columns at the end of a table (`scripts/tables.py` words them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from counterpoint.core.model.catalogue import by_table
from counterpoint.core.model.rows import Column, Noun
from counterpoint.core.model.rows import columns as columns_of
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.errors import StoreCorrupt, StoreNewer, StoreOlder
from counterpoint.kernel.frozen import frozen

FIRST: Final = 13
"""Those below it made the databases of the time before there was a release, which nobody brings forward."""
RELEASED: Final = (
    (FIRST, "first"),
    (FIRST, "actions"),
    (FIRST, "briefs"),
    (14, "unattended"),
    (15, "models"),
    (15, "search"),
    (15, "research"),
    (15, "writing"),
    (15, "nearness"),
    (16, "presence"),
)
"""Every migration by number and name, in the order in which they are made. Of the first number, what is not `first`
is the table of a noun that not every program asks for."""

Database = Literal["sqlite", "postgres"]
Noted = tuple[int, str, str]
"""A migration as a database notes it: number, name, SHA-256."""


@frozen
class Types:
    """How a database says what a column holds, and what ends a table; `small` one that is kept in its key's index where that can be."""

    text: str
    number: str
    bytes: str
    end: str = ""
    small: str = ""


TYPES: Final[Mapping[Database, Types]] = {
    "sqlite": Types(
        text="TEXT", number="INTEGER", bytes="BLOB", end=" STRICT", small=" STRICT, WITHOUT ROWID"
    ),
    # Texts compare byte by byte, so that keys come in the same order from every store.
    "postgres": Types(text='text COLLATE "C"', number="bigint", bytes="bytea"),
}


class Migration(NamedTuple):
    """One step of a database to the shape that this program knows."""

    number: int
    name: str
    sql: str

    @property
    def noted(self) -> Noted:
        """What the database notes of it."""
        return self.number, self.name, sha256(self.sql.encode())


def migrations(nouns: Sequence[type[Noun]], database: Database) -> tuple[Migration, ...]:
    """Return the migrations that make a database with tables for these nouns.

    Nouns of stores that pass away have none that was released, and their tables are made from their fields.
    """
    nouns_by_table = by_table(nouns)
    released = tuple(
        Migration(number, name, _text(database, f"{number:03}_{name}.sql"))
        for number, name in RELEASED
        if number > FIRST or name == "first" or name in nouns_by_table
    )
    released_tables = {
        part.partition(" ")[0]
        for migration in released
        for part in migration.sql.split("CREATE TABLE ")[1:]
    }
    passing = (
        Migration(FIRST, name, tables_of(nouns_by_table[name], TYPES[database]))
        for name in nouns_by_table
        if name not in released_tables
    )
    return *passing, *released


@cache
def _text(database: Database, file: str) -> str:
    return (Path(__file__).parent / database / "migrations" / file).read_text(encoding="utf-8")


@cache
def tables_of(noun: type[Noun], types: Types) -> str:
    """Return the statements that make the table and the indexes of a noun."""
    columns = columns_of(noun)
    lines = "".join(f'  "{column.name}" {_type(column, types)} NOT NULL,\n' for column in columns)
    # Rows that nothing but their key finds are kept in its index, where the database can. Rows with
    # other indexes are not: each of these would hold the key in place of a short number, and SQLite
    # would read all rows of a project by their key sooner than those of an index.
    end = types.end if noun.indexes or noun.unique or noun.partial else types.small
    table = f"CREATE TABLE {noun.table} (\n{lines}  PRIMARY KEY ({_quoted(noun.key)})\n){end};\n"
    return table + "".join(
        f"CREATE {kind} {noun.table}_{index.replace(',', '_')}"
        f" ON {noun.table} ({_quoted(('project', *index.split(',')))}){where};\n"
        for kind, indexes, where in (
            ("UNIQUE INDEX", noun.unique, ""),
            ("INDEX", noun.indexes, ""),
            ("INDEX", *_partial(noun)),
        )
        for index in indexes
    )


def _partial(noun: type[Noun]) -> tuple[tuple[str, ...], str]:
    """Return the indexes of some of the rows, and the condition that says of which."""
    if noun.partial is None:
        return (), ""
    partial = noun.partial
    # Apart by OR: of IN, SQLite does not see that one of the words is enough.
    where = " OR ".join(f"\"{partial.column}\" = '{word}'" for word in partial.words)
    return partial.indexes, f" WHERE {where}"


def _type(column: Column, types: Types) -> str:
    if column.is_prose:
        return types.bytes
    return types.number if column.sort == "int" else types.text


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def missing(
    noted: Iterable[Noted], migrations: tuple[Migration, ...], where: str
) -> tuple[Migration, ...]:
    """Return what a database still lacks; StoreNewer, StoreOlder, StoreCorrupt if it is not for us."""
    digests = {name: digest for _, name, digest in noted}
    for number, _, _ in noted:
        check_version(number, migrations, where)
    for migration in migrations:
        _, name, digest = migration.noted
        if digests.get(name, digest) != digest:
            raise StoreCorrupt(
                f"{where} has a schema that this program does not know: it was made with another text of {name}",
                hint="Use the release of Counterpoint that made the database, or its next one.",
                path=where,
            )
    return tuple(migration for migration in migrations if migration.name not in digests)


def check_version(version: int, migrations: tuple[Migration, ...], where: str) -> None:
    """Raise StoreNewer or StoreOlder for a version that this program cannot go on from."""
    last = migrations[-1].number
    if version > last:
        raise StoreNewer(
            f"{where} has version {version}; this program knows versions up to {last}",
            path=where,
            version=version,
            known=last,
        )
    if version < FIRST:
        raise StoreOlder(
            f"{where} has version {version}, from before the first release; this program begins"
            f" with version {FIRST}",
            path=where,
            version=version,
            known=FIRST,
        )
