"""The tables of a database, drawn from the nouns that it is opened with.

A database is made by migrations, each noted with the SHA-256 of its text. The first is number 12 and
makes what every ledger has: texts, entries, tree, search, meters, and a table for each noun of the
core. A noun of a dialect is a migration of its own under the same number, made when it is first asked
for; a database that has more of these than this program knows is sound, and they are left alone.

A database is opened if and only if (1) it is empty or ours, (2) its version, the highest number noted,
is neither above the last of this program nor below the first, which nobody can bring forward, (3) each
migration that both know has the digest noted.

Rules of the tables: (1) each begins with the project; nothing is found without it. (2) The columns are
the noun's fields in their order, nothing is NULL. (3) A prose column holds the first 16 bytes of the commitment
of its text, or none; text and salt stand in `texts` and are taken away together (a redaction). (4) `entries` only
grows, and only by the next sequence. (5) A migration that was released is never edited.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from counterpoint.core.model.catalogue import NOUNS
from counterpoint.core.model.rows import Column, Noun
from counterpoint.core.model.rows import columns as columns_of
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.errors import StoreCorrupt, StoreNewer, StoreOlder

FIRST: Final = 12
"""Those below it made the databases of the time before there was a release."""

Noted = tuple[int, str, str]
"""A migration as a database notes it: number, name, SHA-256."""


class Types(NamedTuple):
    """How a database says what a column holds, and what ends a table; `small` one that is kept in its key's index where that can be."""

    text: str
    number: str
    bytes: str
    end: str = ""
    small: str = ""


class Migration(NamedTuple):
    """One step of a database to the shape that this program knows."""

    number: int
    name: str
    sql: str

    @property
    def noted(self) -> Noted:
        """What the database notes of it."""
        return self.number, self.name, sha256(self.sql.encode())


_LEDGER: Final = """
CREATE TABLE texts (
  project {text} NOT NULL,
  commitment {bytes} NOT NULL,
  salt {bytes} NOT NULL,
  body {text} NOT NULL,
  PRIMARY KEY (project, commitment)
){small};

CREATE TABLE entries (
  project {text} NOT NULL,
  sequence {number} NOT NULL,
  data {bytes} NOT NULL,
  leaf {bytes} NOT NULL,
  subject {text} NOT NULL,
  action {text} NOT NULL,
  PRIMARY KEY (project, sequence)
){small};

CREATE INDEX entries_subject ON entries (project, subject, sequence) WHERE subject <> '';
CREATE INDEX entries_action ON entries (project, action, sequence);

CREATE TABLE heads (
  project {text} NOT NULL PRIMARY KEY,
  size {number} NOT NULL,
  leaf {text} NOT NULL,
  time {text} NOT NULL,
  frontier {bytes} NOT NULL
){end};

-- Hashes of complete subtrees, every fourth level; level 0 of the tree is the column `leaf`.

CREATE TABLE nodes (
  project {text} NOT NULL,
  level {number} NOT NULL,
  position {number} NOT NULL,
  hash {bytes} NOT NULL,
  PRIMARY KEY (project, level, position)
){small};

-- What writers signed of their entries. No state either: it vouches for entries, and stands beside them.

CREATE TABLE signatures (
  project {text} NOT NULL,
  first {number} NOT NULL,
  writer {text} NOT NULL,
  delegation {text} NOT NULL,
  note {text} NOT NULL,
  PRIMARY KEY (project, first)
){small};

-- How often something was used. No state: the ledger says nothing of it, no replay makes it, and a
-- project that moves to another database begins to count anew.

CREATE TABLE meters (
  project {text} NOT NULL,
  subject {text} NOT NULL,
  measure {text} NOT NULL,
  used {number} NOT NULL,
  PRIMARY KEY (project, subject, measure)
){small};
"""


def migrations(nouns: Iterable[type[Noun]], types: Types, own: str) -> tuple[Migration, ...]:
    """Return the migrations for a database with tables for these nouns; `own` is the database's part."""
    core = "\n".join(tables_of(noun, types) for noun in NOUNS)
    first = Migration(FIRST, "first", _LEDGER.format(**types._asdict()) + own + core)
    further = (
        Migration(FIRST, noun.table, tables_of(noun, types)) for noun in nouns if noun not in NOUNS
    )
    return first, *further


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
    column, words, indexes = noun.partial
    # Apart by OR: of IN, SQLite does not see that one of the words is enough.
    return indexes, " WHERE " + " OR ".join(f"\"{column}\" = '{word}'" for word in words)


def _type(column: Column, types: Types) -> str:
    if column.is_prose:
        return types.bytes
    return types.number if column.sort == "int" else types.text


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def missing(
    noted: Iterable[Noted], known: tuple[Migration, ...], where: str
) -> tuple[Migration, ...]:
    """Return what a database still lacks; StoreNewer, StoreOlder, StoreCorrupt if it is not for us."""
    there = {name: digest for _, name, digest in noted}
    for number, _, _ in noted:
        check_version(number, known, where)
    for migration in known:
        _, name, digest = migration.noted
        if there.get(name, digest) != digest:
            raise StoreCorrupt(
                f"{where} was made with another text of {name} than this program has",
                hint="Use the release of Counterpoint that made the database, or its next one.",
                path=where,
            )
    return tuple(migration for migration in known if migration.name not in there)


def check_version(version: int, known: tuple[Migration, ...], where: str) -> None:
    """Raise StoreNewer or StoreOlder for a version that this program cannot go on from."""
    last = known[-1].number
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
