"""Files to change by a seed: copies of a ledger with a row of every noun, some of them open meanwhile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import apsw

from counterpoint.app import NOUNS
from counterpoint.core.coordinator import Core
from counterpoint.core.ports.store import Store
from counterpoint.core.ports.witnesses import Witness
from counterpoint.evidence.git.call import GitCall
from counterpoint.evidence.witnesses.gitref import GitRef
from counterpoint.kernel.errors import CounterpointError
from counterpoint.storage.sqlite.store import open_sqlite
from fakes.filled import fill
from fakes.seeding.changes import CHANGES, Row
from fakes.seeding.kinds import OF_COPIES, OF_FILES, OF_ROWS, UNSEEN
from fakes.seeding.rounds import Changed, faults
from fakes.studio import PROJECT, Studio

_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
)
# Of the index itself only what bears on what is found: its pages are the database's own.
_PAGES = {"search", "search_data", "search_idx", "search_content"}
_RESTS = ("", "-wal", "-shm", "-queue")


@dataclass
class Files:
    """Finished databases, made once: the last, earlier ones, and another history of the same key."""

    folder: Path
    studio: Studio
    last: Path
    earlier: tuple[Path, ...]
    other: Path
    witness: Witness
    entries: list[bytes] = field(init=False)
    image: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Read what every change begins with."""
        with closing(open_sqlite(self.last, NOUNS)) as store, store.reading(PROJECT) as view:
            self.entries = list(view.entries())
        with _read_only(self.last) as connection:
            self.image = _image(connection)

    def kinds(self) -> tuple[str, ...]:
        """Answer all kinds."""
        return OF_ROWS + OF_COPIES + OF_FILES

    @contextmanager
    def changed(self, kind: str, random: Random) -> Generator[Changed]:
        """Change a fresh copy; a part of them while a server has it open, a part only in its log."""
        file = self.folder / "changed.db"
        for rest in _RESTS:
            file.with_name(f"{file.name}{rest}").unlink(missing_ok=True)
        if kind in CHANGES:
            shutil.copyfile(self.last, file)
            connected = random.random() < 0.5
            with _opened(file if connected else None) as before:
                hands = FileHands(file, self.entries)
                with closing(hands):
                    how = hands.does(kind, random)
                if how and before is not None:
                    yield Changed(how, hands.note, before)
                    return
            note = hands.note
        else:
            how, note = self._replaced(file, kind, random), ""
        if not how:
            yield Changed("")
            return
        try:
            store = open_sqlite(file, NOUNS)
        except CounterpointError as fault:
            yield Changed(how, note, fault=fault)
            return
        with closing(store):
            yield Changed(how, note, store)

    def untouched(self) -> list[CounterpointError]:
        """Answer what is found in what nobody has changed."""
        with closing(open_sqlite(self.last, NOUNS)) as store:
            return faults(self, Changed("", store=store), witnessed=True)

    def _replaced(self, file: Path, kind: str, random: Random) -> str:
        """Put another file in the place of the database."""
        if kind in OF_COPIES:
            source = self.other if kind == "another history" else random.choice(self.earlier)
            shutil.copyfile(source, file)
            return source.name
        data = bytearray(self.last.read_bytes())
        start = random.randrange(len(data))
        if kind == "bytes":
            data[start] ^= 1 << random.randrange(8)
        elif kind == "page":
            page = start // 4096 * 4096
            data[page : page + 4096] = random.choice((bytes(4096), random.randbytes(4096)))
        else:
            data = data[:start]
        file.write_bytes(data)
        try:
            with _read_only(file) as connection:
                # Bytes that hold nothing are no change: whoever reads sees the same.
                return "" if _image(connection) == self.image else f"{kind} at {start}"
        except (apsw.Error, UnicodeDecodeError):
            return f"{kind} at {start}"


class FileHands:
    """Somebody with the file, for whom no trigger fires."""

    def __init__(self, file: Path, entries: list[bytes]) -> None:
        """Open the file as any program would."""
        self.note = ""
        self.entries = entries
        self._connection = apsw.Connection(str(file))
        self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        self._connection.execute(
            "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0"
        ).fetchall()

    def does(self, kind: str, random: Random) -> str:
        """Make a change; how, or nothing if it would be none."""
        self._connection.execute("BEGIN")
        try:
            how = CHANGES[kind](self, random)
            self._connection.execute("COMMIT" if how else "ROLLBACK")
        except apsw.Error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            return ""  # the database itself refused it
        return how

    def tables(self) -> list[str]:
        """Answer the tables with rows."""
        names = [name for (name,) in self.run(_TABLES) if name not in _PAGES | UNSEEN.keys()]
        return [name for name in names if self.run(f'SELECT 1 FROM "{name}" LIMIT 1')]

    def columns(self, table: str) -> tuple[list[str], list[str]]:
        """Answer the columns of a table, and those of its key."""
        columns = self.run(f'PRAGMA table_info("{table}")')
        keys = [one[1] for one in sorted(columns, key=lambda one: one[5]) if one[5]]
        return [one[1] for one in columns], keys

    def run(self, text: str, values: Row = ()) -> list[Row]:
        """Run a statement."""
        return self._connection.execute(text, values).fetchall()

    def schema(self, random: Random) -> str:
        """Change a trigger, an index, a view, a table, a column, or what the header says."""
        name = random.choice(self.tables())
        ours = "SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL ORDER BY name"
        index, guard = (random.choice(self.run(ours, (sort,)))[0] for sort in ("index", "trigger"))
        column = random.choice(self.columns(name)[0])
        statement = random.choice(
            (
                f"CREATE TRIGGER foreign_one AFTER INSERT ON {name} BEGIN SELECT 1; END",
                f"DROP TRIGGER {guard}",
                f"DROP INDEX {index}",
                f'CREATE INDEX foreign_index ON {name} ("{column}")',
                f"CREATE VIEW foreign_view AS SELECT * FROM {name}",
                "CREATE TABLE foreign_table (a)",
                f"ALTER TABLE {name} ADD COLUMN more TEXT",
                f'ALTER TABLE {name} RENAME COLUMN "{column}" TO "other"',
                f"ALTER TABLE {name} RENAME TO foreign_{name}",
                "DROP TABLE labels",
                "PRAGMA user_version = 11",
                "PRAGMA application_id = 7",
                f"INSERT INTO search (search, rank) VALUES ('automerge', {random.randrange(2, 9)})",
            )
        )
        self.run(statement)
        return statement

    def search(self, random: Random) -> str:
        """Take a document out of the index, or put another in its place."""
        (number,) = random.choice(self.run("SELECT id FROM documents ORDER BY id"))
        self.run("DELETE FROM search WHERE rowid = ?", (number,))
        if random.random() < 0.5:
            self.run(
                "INSERT INTO search (rowid, title, body) VALUES (?, 'else', 'else')", (number,)
            )
        return f"document {number} of the search"

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


@contextmanager
def _opened(file: Path | None) -> Iterator[Store | None]:
    """Have a server connected that has read the database before."""
    if file is None:
        yield None
        return
    with closing(open_sqlite(file, NOUNS)) as store:
        with store.reading(PROJECT) as view:
            view.head()
        yield store


@contextmanager
def _read_only(file: Path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        yield connection


def _image(connection: apsw.Connection) -> dict[str, Any]:
    """Answer everything that a database holds, as a program that reads it would see it."""
    image: dict[str, Any] = {}
    for (name,) in connection.execute(_TABLES).fetchall():
        if name not in UNSEEN and name != "search":
            columns = [
                one[1] for one in connection.execute(f'PRAGMA table_info("{name}")').fetchall()
            ]
            told = ", ".join(f'"{one}"' for one in columns if f"{name}.{one}" not in UNSEEN)
            image[name] = connection.execute(f'SELECT {told} FROM "{name}"').fetchall()
    # Without the sums of words, which may be too high.
    image["pages"] = connection.execute("SELECT * FROM search_data WHERE id <> 1").fetchall()
    image["schema"] = set(
        connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    )
    return image


def laid_out(folder: Path) -> Files:
    """Answer databases with a row of every noun."""
    studio = Studio(folder / "store.db")
    earlier: list[Path] = []
    fill(studio)
    for number in range(2):
        earlier.append(_copied(studio, folder / f"earlier{number}.db"))
        ada = studio.core("ada")
        for value in range(3):
            ada.memory.put("project", f"late-{number}", value)
    witness = _witness(folder / "elsewhere", studio)
    last = _copied(studio, folder / "last.db")
    other = Studio(folder / "beside.db")
    other.clock.pass_by(minutes=1)
    fill(other)
    there = _copied(other, folder / "other.db")
    other.close()
    return Files(folder, studio, last, tuple(earlier), there, witness)


def _witness(folder: Path, studio: Studio) -> Witness:
    """Answer a git ref that keeps the present end of the ledger, signed."""
    folder.mkdir()
    call = GitCall(folder=folder, environ=dict(os.environ))
    call.ask("init", "--quiet")
    witness = GitRef(git=call, clock=studio.clock)
    ports = replace(studio.ports, witnesses=lambda: (witness,))
    core = Core(ports, studio.system.caller)
    core.signing.renew()
    assert core.witnessing.tell().remarks == []
    return witness


def _copied(studio: Studio, target: Path) -> Path:
    studio.store.backup(target)
    return target
