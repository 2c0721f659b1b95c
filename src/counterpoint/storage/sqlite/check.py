"""What is found wrong with a database file by looking through all of it.

Rules: (1) every page is sound, and every index has the rows of its table (SQLite's own checks). (2) The
schema is what the migrations make, word by word, and nothing else; a table of a dialect that this program
does not know is as its migration said. (3) The migrations noted are those, and the header says their
number. (4) The search is that of the rows (searched.py). Each is looked at, whatever came of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, cast

import apsw

from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.damage import UNRECKONED
from counterpoint.kernel.errors import CounterpointError, SchemaDiffers, StoreCorrupt
from counterpoint.storage.check import MOST, ledger_faults, migration_faults
from counterpoint.storage.rows import Tables
from counterpoint.storage.schema import Migration, Noted
from counterpoint.storage.sqlite import forward
from counterpoint.storage.sqlite.searched import search_faults

_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid"

_Object = tuple[str, str, str, str | None]
"""One object of a schema: type, name, table, the text that made it."""


def faults_of(
    connection: apsw.Connection, tables: Tables, migrations: tuple[Migration, ...]
) -> list[CounterpointError]:
    """Return what is wrong, inside one transaction; a file too broken to look through is a fault too."""

    def ask(text: str) -> Iterable[tuple[Any, ...]]:
        return connection.execute(text)

    looks: tuple[Callable[[], Iterable[CounterpointError]], ...] = (
        lambda: _pages(connection),
        lambda: _references(connection),
        lambda: _schema(connection, migrations),
        lambda: ledger_faults(ask, tables),
        lambda: search_faults(connection, tables),
    )
    faults: list[CounterpointError] = []
    for look in looks:
        try:
            # One by one: what was found before something could not be read is told.
            for fault in look():
                faults.append(fault)  # noqa: PERF402 - extend would lose them where the look ends
        except (apsw.Error, *UNRECKONED) as fault:
            unreadable = StoreCorrupt(f"the file cannot be read through: {fault}")
            if all(unreadable.message != other.message for other in faults):
                faults.append(unreadable)
    return faults


def _pages(connection: apsw.Connection) -> Iterator[StoreCorrupt]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({MOST})"):
        if line != "ok":
            yield StoreCorrupt(str(line))


def _references(connection: apsw.Connection) -> Iterator[StoreCorrupt]:
    rows = connection.execute("PRAGMA foreign_key_check").fetchall()
    for name, row, to, _ in rows[:MOST]:
        yield StoreCorrupt(f"row {row} of {name} points to nothing in {to}")


def _schema(
    connection: apsw.Connection, migrations: tuple[Migration, ...]
) -> Iterator[SchemaDiffers]:
    objects = cast("list[_Object]", connection.execute(_OBJECTS).fetchall())
    rows = connection.execute("SELECT number, name, sha256 FROM migrations").fetchall()
    noted = cast("list[Noted]", rows)
    expected = set(_make_schema(migrations))
    own_names = {migration.name for migration in migrations}
    for _, name, digest in noted:
        if name in own_names:
            continue
        # Of a dialect that this program does not know: its text must be the one that was noted.
        own = [
            definition
            for definition in objects
            if definition[2] == name and definition[0] in {"table", "index"}
        ]
        text = "".join(f"{sql};\n" for *_, sql in own if sql)
        if sha256(text.encode()) == digest:
            expected.update(own)
        else:
            yield SchemaDiffers(
                f"the migration {name} is noted, but its table is another", name=name
            )
    yield from _differences(set(objects), expected)
    yield from migration_faults(noted, migrations)
    marks = (forward.APPLICATION, migrations[-1].number)
    if (connection.pragma("application_id"), connection.pragma("user_version")) != marks:
        yield SchemaDiffers("the header of the file does not say what the migrations do")


def _differences(stored: set[_Object], expected: set[_Object]) -> Iterator[SchemaDiffers]:
    stored_names = {(sort, name) for sort, name, _, _ in stored}
    expected_names = {(sort, name) for sort, name, _, _ in expected}
    for sort, name, table, _ in sorted(stored ^ expected, key=str)[: 2 * MOST]:
        if (sort, name) not in expected_names:
            message = f"the {sort} {name} on {table} was not made by this program"
        elif (sort, name) not in stored_names:
            message = f"the {sort} {name} is missing"
        elif (sort, name, table) in {definition[:3] for definition in expected - stored}:
            message = f"the {sort} {name} is not as it was made"
        else:
            continue
        yield SchemaDiffers(message, sort=sort, name=name)


@cache
def _make_schema(migrations: tuple[Migration, ...]) -> tuple[_Object, ...]:
    """Return the schema that the migrations make in an empty database."""
    connection = apsw.Connection(":memory:")
    try:
        forward.bring_forward(connection, ":memory:", migrations)
        return tuple(cast("list[_Object]", connection.execute(_OBJECTS).fetchall()))
    finally:
        connection.close()
