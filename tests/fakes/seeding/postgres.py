"""A PostgreSQL database to change by a seed, while one server is connected to it all the time.

What was changed is put back from copies of the tables beside, so that the same live database is changed each time.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from counterpoint.app import NOUNS
from counterpoint.core.ports.store import Store
from counterpoint.core.ports.witnesses import Witness
from counterpoint.kernel.errors import CounterpointError
from counterpoint.storage.move import move_project
from counterpoint.storage.sqlite.store import open_sqlite
from databases import Databases
from fakes.seeding import sqlite
from fakes.seeding.changes import CHANGES, Row
from fakes.seeding.kinds import OF_COPIES, OF_ROWS, UNSEEN
from fakes.seeding.rounds import Changed, faults
from fakes.servers import connected
from fakes.studio import PROJECT, Studio

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'counterpoint' ORDER BY tablename"
_COLUMNS = """
SELECT a.attname, a.attnum = ANY (i.indkey), a.attidentity <> '' FROM pg_attribute AS a
LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = ('counterpoint.' || ?)::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_MADE = {
    "index": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'counterpoint'"
    " AND indexname NOT LIKE '%_pkey' ORDER BY indexname",
    "trigger": "SELECT t.tgname, pg_get_triggerdef(t.oid) FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
    " WHERE c.relnamespace = 'counterpoint'::regnamespace AND NOT t.tgisinternal ORDER BY t.tgname",
    "function": "SELECT proname, pg_get_functiondef(oid) FROM pg_proc"
    " WHERE pronamespace = 'counterpoint'::regnamespace ORDER BY proname",
}


@dataclass
class Served:
    """One live database with a store connected to it, and copies of what it holds, has held or might hold."""

    studio: Studio
    witness: Witness
    store: Store
    hands: ServedHands
    copies: tuple[str, ...]

    def kinds(self) -> tuple[str, ...]:
        """Answer all kinds but those of files."""
        return OF_ROWS + OF_COPIES

    @contextmanager
    def changed(self, kind: str, random: Random) -> Generator[Changed]:
        """Change the database behind the back of its server, and put it back."""
        self.hands.note = ""
        try:
            if kind in OF_COPIES:
                earlier, other = self.copies[:-1], self.copies[-1]
                how = other if kind == "another history" else random.choice(earlier)
                self.hands.put_back(how)
            else:
                how = self.hands.does(kind, random)
            yield Changed(how, self.hands.note, self.store)
        finally:
            self.hands.undo()

    def untouched(self) -> list[CounterpointError]:
        """Answer what is found after all was put back."""
        return faults(self, Changed("", store=self.store), witnessed=True)

    def close(self) -> None:
        """Let go of the database."""
        self.hands.close()
        self.store.close()


class ServedHands:
    """Somebody who may do everything in the database, for whom no trigger fires."""

    def __init__(self, address: str, entries: list[bytes]) -> None:
        """Connect as a program of his own."""
        self.note = ""
        self.entries = entries
        self._touched: set[str] = set()
        self._undoing: list[str] = []
        self._link = psycopg.connect(address, autocommit=True)
        self._link.execute("SET search_path TO counterpoint")
        self._link.execute("SET session_replication_role TO replica")

    def does(self, kind: str, random: Random) -> str:
        """Make a change; how, or nothing if it would be none."""
        try:
            with self._link.transaction() as block:
                how = CHANGES[kind](self, random)
                if not how:
                    raise psycopg.Rollback(block)
        except psycopg.Error:
            return ""  # the database itself refused it
        return how

    @cached_property
    def _names(self) -> list[str]:
        return [name for (name,) in self.run(_TABLES) if name not in UNSEEN]

    @cached_property
    def _filled(self) -> list[str]:
        return [name for name in self._names if self.run(f'SELECT 1 FROM "{name}" LIMIT 1')]

    def tables(self) -> list[str]:
        """Answer the tables with rows; each time the same, since all is put back."""
        return self._filled

    def columns(self, table: str) -> tuple[list[str], list[str]]:
        """Answer the columns of a table that can be written, and those of its key."""
        columns = self.run(_COLUMNS, (table,))
        return [name for name, _, own in columns if not own], [
            name for name, key, _ in columns if key
        ]

    def run(self, text: str, values: Row = ()) -> list[Row]:
        """Run a statement."""
        if found := re.match(r'(?:UPDATE|DELETE FROM|INSERT INTO) "?(\w+)', text):
            self._touched.add(found[1])
        asked = text.replace("IS ?", "IS NOT DISTINCT FROM ?").replace("%", "%%").replace("?", "%s")
        cursor = self._link.execute(asked.encode(), values)
        return [tuple(map(_plain, row)) for row in cursor.fetchall()] if cursor.description else []

    def schema(self, random: Random) -> str:
        """Change a trigger, an index, a view, a table, a column, a function, a rule, or how words are cut."""
        name = random.choice(self.tables())
        column = random.choice(self.columns(name)[0])
        (index, made_index), (trigger, made_trigger), (function, made_function) = (
            random.choice(self.run(asked)) for asked in _MADE.values()
        )
        foreign = f"foreign_one AFTER INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION tell_entry()"
        returns = "trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"
        guard = f"ALTER TABLE entries {{}} TRIGGER {trigger}"
        words = "ALTER TEXT SEARCH CONFIGURATION words ALTER MAPPING FOR asciiword WITH {}"
        statement, undoing = random.choice(
            (
                (f"CREATE TRIGGER {foreign}", f"DROP TRIGGER foreign_one ON {name}"),
                (f"DROP TRIGGER {trigger} ON entries", made_trigger),
                (guard.format("DISABLE"), guard.format("ENABLE")),
                (guard.format("ENABLE REPLICA"), guard.format("ENABLE")),
                (f"DROP INDEX {index}", made_index),
                (f'CREATE INDEX foreign_index ON {name} ("{column}")', "DROP INDEX foreign_index"),
                (f"CREATE VIEW foreign_view AS SELECT * FROM {name}", "DROP VIEW foreign_view"),
                ("CREATE TABLE foreign_table (a int)", "DROP TABLE foreign_table"),
                (
                    f"ALTER TABLE {name} ADD COLUMN more text",
                    f"ALTER TABLE {name} DROP COLUMN more",
                ),
                (
                    f"ALTER TABLE {name} SET SCHEMA away",
                    f"ALTER TABLE away.{name} SET SCHEMA counterpoint",
                ),
                (
                    f'ALTER TABLE {name} ALTER COLUMN "{column}" DROP NOT NULL',
                    f'ALTER TABLE {name} ALTER COLUMN "{column}" SET NOT NULL',
                ),
                (
                    f'ALTER TABLE {name} RENAME COLUMN "{column}" TO other',
                    f'ALTER TABLE {name} RENAME COLUMN other TO "{column}"',
                ),
                (f"CREATE OR REPLACE FUNCTION {function}() RETURNS {returns}", made_function),
                (f"CREATE FUNCTION foreign_f() RETURNS {returns}", "DROP FUNCTION foreign_f"),
                (
                    f"CREATE RULE foreign_rule AS ON DELETE TO {name} DO INSTEAD NOTHING",
                    f"DROP RULE foreign_rule ON {name}",
                ),
                (words.format("pg_catalog.english_stem"), words.format("stems")),
                (words.format("pg_catalog.simple"), words.format("stems")),
            )
        )
        self.run(statement)
        self._undoing.append(undoing)
        return statement

    def search(self, random: Random) -> str:
        """Take the words of a document away, or put another in their place."""
        words = random.choice(("", "'else':1A 'else':2B"))
        (number,) = random.choice(self.run("SELECT id FROM documents ORDER BY id"))
        asked = "UPDATE documents SET words = ?::tsvector WHERE id = ? AND words <> ?::tsvector"
        if not self.run(f"{asked} RETURNING id", (words, number, words)):
            return ""
        return f"document {number} of the search: {words!r}"

    def keep(self, copy: str) -> None:
        """Keep what all tables hold under a name."""
        self.run(f"CREATE SCHEMA {copy}")
        for name in self._names:
            self.run(f'CREATE TABLE {copy}."{name}" AS SELECT * FROM "{name}"')

    def empty(self) -> None:
        """Take all rows away but the migrations."""
        for name in self._names:
            if name != "migrations":
                self.run(f'DELETE FROM "{name}"')

    def put_back(self, copy: str, names: Iterable[str] = ()) -> None:
        """Let tables hold what they held when it was kept."""
        with self._link.transaction():
            for name in list(names or self._names):
                self.run(f'DELETE FROM "{name}"')
                self.run(
                    f'INSERT INTO "{name}" OVERRIDING SYSTEM VALUE SELECT * FROM {copy}."{name}"'
                )

    def undo(self) -> None:
        """Put back what was changed since it was kept."""
        while self._undoing:
            self.run(self._undoing.pop())
        if self._touched:
            self.put_back("last", sorted(self._touched))
        self.forget()

    def forget(self) -> None:
        """Let what was done so far be no change."""
        self._touched.clear()

    def close(self) -> None:
        """Let go of the database."""
        self._link.close()


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Answer a live database with a row of every noun, on a server of its own."""
    files = sqlite.laid_out(folder)
    with (
        closing(Databases(folder / "server")) as databases,
        closing(laid_out(files, databases.made())) as field,
    ):
        yield field


def laid_out(files: sqlite.Files, address: str) -> Served:
    """Answer a live database at an empty address; the copies come from files of the same histories."""
    store = connected(address)
    hands = ServedHands(address, files.entries)
    hands.run("CREATE SCHEMA away")
    names: list[str] = []
    for file in (*files.earlier, files.other, files.last):
        hands.empty()
        with closing(open_sqlite(file, NOUNS)) as source:
            move_project(source, store, PROJECT)
        hands.keep(file.stem)
        names.append(file.stem)
    hands.forget()
    return Served(files.studio, files.witness, store, hands, tuple(names[:-1]))
