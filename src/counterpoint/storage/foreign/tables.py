"""Reads tables of SQLite files of others: read-only, and nothing of theirs runs.

The file is opened as one that nobody changes, so that nothing is ever written beside it and no journal of it is played back. Only
plain tables are read: a view or a virtual table would run what its file says. Whoever is asked has so many steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from counterpoint.kernel.errors import MalformedDocument

Value = str | int | float | bytes | None
_STEPS: Final = 200_000_000
_STEP: Final = 1_000_000
_LENGTH: Final = 20_000_000


class ForeignTables:
    """The plain tables of one file."""

    def __init__(self, path: Path) -> None:
        """Open a file; MalformedDocument if it is no database of SQLite."""
        self._name = path.name
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
        uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        try:
            self._database = apsw.Connection(uri, flags=flags)
            self._guard()
            self._columns = dict(self._tables())
        except apsw.Error as fault:
            raise self._refused(fault) from fault

    def _guard(self) -> None:
        database = self._database
        database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _LENGTH)
        database.execute("PRAGMA cell_size_check = ON")
        steps_left = [_STEPS // _STEP]

        def count() -> bool:
            steps_left[0] -= 1
            return steps_left[0] < 0

        database.set_progress_handler(count, _STEP)

    def _tables(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        tables = self._database.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND upper(sql) LIKE 'CREATE TABLE%'"
        )
        for (name,) in list(tables):
            columns = self._database.execute("SELECT name FROM pragma_table_info(?)", (name,))
            yield str(name), tuple(str(column) for (column,) in columns)

    def has(self, table: str) -> bool:
        """Return whether there is a plain table of a name."""
        return table in self._columns

    def rows(self, table: str, columns: Sequence[str], order: str) -> list[dict[str, Value]]:
        """Return the rows of a table by columns, None for those it does not have; none without the table."""
        if table not in self._columns:
            return []
        present = [column for column in columns if column in self._columns[table]]
        words = ", ".join(f'"{column}"' for column in present)
        by = f' ORDER BY "{order}"' if order in self._columns[table] else ""
        try:
            rows = list(self._database.execute(f'SELECT {words} FROM "{table}"{by}'))
        except apsw.Error as fault:
            raise self._refused(fault) from fault
        empty: dict[str, Value] = dict.fromkeys(columns)
        return [{**empty, **dict(zip(present, row, strict=True))} for row in rows]

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _refused(self, fault: apsw.Error) -> MalformedDocument:
        return MalformedDocument(
            f"this cannot be imported: {self._name}: SQLite says: {fault}",
            hint="Name the database file of the other program, as it left it.",
            faults=[{"where": self._name, "problem": str(fault)}],
        )
