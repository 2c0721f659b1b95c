"""Random changes to a live database, each by a seed, as somebody with the file would make them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import apsw
import orjson

from counterpoint.app import NOUNS
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.model.access import Actor
from counterpoint.core.operations.recording.context import Caller
from counterpoint.kernel.errors import CounterpointError
from counterpoint.storage.packing import pack
from counterpoint.storage.sqlite.store import open_sqlite
from counterpoint.storage.tree import to_store
from fakes.filled import fill
from fakes.studio import ROOT, Drawer, Studio

IMPOSSIBLE = frozenset(("rolled back", "another history", "entries chained anew", "end cut off"))
"""What only somebody who keeps a checkpoint elsewhere can find; docs/proofs.md says why."""

_UNWATCHED = frozenset(("meters",))
_OWN = frozenset((("search_docsize", "origin"),))
"""What the index notes for itself, and cannot be told from anything else."""
_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
)
_GUARDS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"

Change = Callable[[apsw.Connection, Random], str]
"""Changes a database and says how; empty if it would have changed nothing."""


@dataclass
class Field:
    """Finished databases to change, made once: the last, earlier ones, and another history of the same key."""

    folder: Path
    studio: Studio
    last: Path
    earlier: tuple[Path, ...]
    other: Path
    note: str

    def faults(self, file: Path, note: str = "") -> list[CounterpointError]:
        """Answer what a verification finds in a file, with a checkpoint kept elsewhere or without."""
        try:
            with closing(open_sqlite(file, NOUNS)) as store:
                ports = replace(self.studio.ports, store=store, anchors=Drawer())
                caller = Caller(actor=Actor(kind="system", name="system"), root=ROOT)
                return list(
                    Core(ports, caller).audit.verify((note,) if note else (), alone=True).faults
                )
        except CounterpointError as fault:
            # It cannot even be opened, and the answer says why.
            return [fault]


def laid_out(folder: Path) -> Field:
    """Answer databases with a row of every noun."""
    studio = Studio(folder / "store.db")
    earlier: list[Path] = []
    ada, _ = fill(studio)
    for number in range(2):
        earlier.append(_copied(studio, folder / f"earlier{number}.db"))
        ada = studio.core("ada")
        for value in range(3):
            ada.memory.put("project", f"late-{number}", value)
    note = studio.system.audit.checkpoint()
    last = _copied(studio, folder / "last.db")
    other = Studio(folder / "beside.db")
    other.clock.pass_by(minutes=1)
    fill(other)
    field = Field(folder, studio, last, tuple(earlier), _copied(other, folder / "other.db"), note)
    other.close()
    return field


def _copied(studio: Studio, target: Path) -> Path:
    studio.store.backup(target)
    return target


@dataclass(frozen=True)
class Tried:
    """One change: its kind, how it was done, and what was found without and with a witness."""

    seed: int
    kind: str
    how: str
    alone: list[CounterpointError]
    witnessed: list[CounterpointError]

    @property
    def escaped(self) -> str:
        """In words what nobody found; empty if it was found as it must be."""
        if not self.witnessed:
            return f"seed {self.seed}: {self.kind}: {self.how}: not found, not even with a witness"
        if not self.alone and self.kind not in IMPOSSIBLE:
            return f"seed {self.seed}: {self.kind}: {self.how}: not found without a witness"
        return ""


def tried(field: Field, seeds: range) -> Iterator[Tried]:
    """Change a fresh copy by each seed and verify it; what would change nothing is drawn anew."""
    for seed in seeds:
        random = Random(seed)
        file = field.folder / "changed.db"
        kind = how = ""
        while not how:
            for rest in ("", "-wal", "-shm", "-queue"):
                file.with_name(f"changed.db{rest}").unlink(missing_ok=True)
            kind = random.choice(KINDS)
            how = _replaced(field, file, kind, random) if kind in _FILES else ""
            if kind not in _FILES:
                shutil.copy(field.last, file)
                how = _changed(file, CHANGES[kind], random)
        alone = field.faults(file)
        yield Tried(seed, kind, how, alone, alone or field.faults(file, field.note))


def _changed(file: Path, change: Change, random: Random) -> str:
    """Change a file behind the back of its guards, which stand as before afterwards."""
    with closing(apsw.Connection(str(file))) as connection:
        guards = connection.execute(_GUARDS).fetchall()
        before = _image(connection)
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        try:
            how = change(connection, random)
        except apsw.Error:
            how = ""  # the database itself refused it
        if how:
            for name, made in guards:
                if name not in how:
                    connection.execute(made)
        return how if how and _image(connection) != before else ""


def _image(connection: apsw.Connection) -> dict[str, Any]:
    """Answer everything that a database holds, as a program that reads it would see it."""
    image: dict[str, Any] = {
        name: connection.execute(f'SELECT {_told(connection, name)} FROM "{name}"').fetchall()
        for (name,) in connection.execute(_TABLES).fetchall()
        if name not in _UNWATCHED and name != "search"
    }
    image["schema"] = set(
        connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    )
    return image


def _told(connection: apsw.Connection, table: str) -> str:
    columns = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
    return ", ".join(f'"{one[1]}"' for one in columns if (table, one[1]) not in _OWN)


def _table(connection: apsw.Connection, random: Random) -> tuple[str, list[str], list[str]]:
    """Answer a table with rows, its columns and those of its key."""
    # Of the index itself only what bears on what is found: its pages are the database's own.
    own = {"search", "search_data", "search_idx", "search_content", *_UNWATCHED}
    names = [name for (name,) in connection.execute(_TABLES).fetchall() if name not in own]
    while True:
        name = random.choice(names)
        if connection.execute(f'SELECT count(*) FROM "{name}"').get:
            break
    columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
    keys = [one[1] for one in sorted(columns, key=lambda one: one[5]) if one[5]]
    return name, [one[1] for one in columns], keys


def _row(
    connection: apsw.Connection, table: str, keys: list[str], random: Random
) -> tuple[Any, ...]:
    rows = connection.execute(
        f'SELECT {", ".join(keys)} FROM "{table}" ORDER BY {", ".join(keys)}'
    ).fetchall()
    return random.choice(rows)


def _where(keys: list[str]) -> str:
    return " AND ".join(f'"{key}" IS ?' for key in keys)


def _other(value: Any, random: Random) -> Any:
    if isinstance(value, int):
        return value + random.choice((-1, 1, 1000))
    if isinstance(value, bytes):
        if not value:
            return random.randbytes(32)
        place = random.randrange(len(value))
        return value[:place] + bytes([value[place] ^ 1 << random.randrange(8)]) + value[place + 1 :]
    return random.choice((value + "x", value[:-1], value.swapcase(), "", "ü"))


def cell(connection: apsw.Connection, random: Random) -> str:
    """One cell of any table."""
    table, columns, keys = _table(connection, random)
    key, column = _row(connection, table, keys, random), random.choice(columns)
    asked = f'SELECT "{column}" FROM "{table}" WHERE {_where(keys)}'
    value = connection.execute(asked, key).get
    other = _other(value, random)
    if other == value:
        return ""
    connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {_where(keys)}', (other, *key))
    return f"{table}.{column} of {key!r}: {value!r:.60} became {other!r:.60}"


def dropped(connection: apsw.Connection, random: Random) -> str:
    """One row of any table less."""
    table, _, keys = _table(connection, random)
    key = _row(connection, table, keys, random)
    connection.execute(f'DELETE FROM "{table}" WHERE {_where(keys)}', key)
    return f"{table} without {key!r}"


def doubled(connection: apsw.Connection, random: Random) -> str:
    """One row of any table once more, under another key."""
    table, columns, keys = _table(connection, random)
    key = _row(connection, table, keys, random)
    row = list(connection.execute(f'SELECT * FROM "{table}" WHERE {_where(keys)}', key).fetchone())
    place = columns.index(random.choice(keys))
    row[place] = _other(row[place], random)
    connection.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(row))})', row)
    return f"{table} with {row[place]!r} beside {key!r}"


def swapped(connection: apsw.Connection, random: Random) -> str:
    """What two rows of a table hold, exchanged."""
    table, columns, keys = _table(connection, random)
    one, two = (_row(connection, table, keys, random) for _ in range(2))
    rest = [column for column in columns if column not in keys]
    if one == two or not rest:
        return ""
    named = ", ".join(f'"{column}"' for column in rest)
    read = f'SELECT {named} FROM "{table}" WHERE {_where(keys)}'
    first, second = (connection.execute(read, key).fetchone() for key in (one, two))
    update = (
        f'UPDATE "{table}" SET {", ".join(f"{column} = ?" for column in rest)} WHERE {_where(keys)}'
    )
    connection.execute(update, (*second, *one))
    connection.execute(update, (*first, *two))
    return f"{table}: {one!r} and {two!r} exchanged"


def schema(connection: apsw.Connection, random: Random) -> str:
    """A trigger, an index, a view or a table more or less, or a column more."""
    name, _, _ = _table(connection, random)
    ours = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
    indexes = [one for (one,) in connection.execute(ours)]
    guard = random.choice(("entries_follow", "entries_stay", "entries_remain"))
    statement, how = random.choice(
        (
            (
                f"CREATE TRIGGER foreign_one AFTER INSERT ON {name} BEGIN SELECT 1; END",
                f"trigger on {name}",
            ),
            ("SELECT 1", f"without the trigger {guard}"),
            (f"DROP INDEX {random.choice(indexes)}", "an index less"),
            (f"CREATE INDEX foreign_index ON {name} (1)", f"an index on {name}"),
            (f"CREATE VIEW foreign_view AS SELECT * FROM {name}", f"a view of {name}"),
            ("CREATE TABLE foreign_table (a)", "a table more"),
            (f"ALTER TABLE {name} ADD COLUMN more TEXT", f"a column of {name} more"),
            ("DROP TABLE labels", "a table less"),
        )
    )
    connection.execute(statement)
    return how


def search(connection: apsw.Connection, random: Random) -> str:
    """What the search finds of a document."""
    ids = [one for (one,) in connection.execute("SELECT id FROM documents ORDER BY id")]
    number = random.choice(ids)
    connection.execute("DELETE FROM search WHERE rowid = ?", (number,))
    if random.random() < 0.5:
        connection.execute(
            "INSERT INTO search (rowid, title, body) VALUES (?, 'else', 'else')", (number,)
        )
    return f"document {number} of the search"


def chained(connection: apsw.Connection, random: Random) -> str:
    """A fact of an entry changed, and everything behind it hashed anew up to the head."""
    project = "demo"
    with closing(open_sqlite(connection.filename, NOUNS)) as store, store.reading(project) as view:
        entries = list(view.entries())
    chosen = random.randrange(len(entries))
    fields = orjson.loads(entries[chosen])
    fields["f"] = {**fields.get("f", {}), "seen": random.randrange(9)}
    entries[chosen] = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    _written(connection, project, entries)
    return f"entry {chosen} and all behind it"


def cut(connection: apsw.Connection, random: Random) -> str:
    """The last entries taken away, and the head set back; the rows stay."""
    with closing(open_sqlite(connection.filename, NOUNS)) as store, store.reading("demo") as view:
        entries = list(view.entries())
    left = random.randrange(1, len(entries))
    _written(connection, "demo", entries[:left])
    return f"{len(entries) - left} entries less"


def _written(connection: apsw.Connection, project: str, entries: list[bytes]) -> None:
    """Write entries in place of those that there are, chained and with the tree that they make."""
    for table in ("entries", "nodes"):
        connection.execute(f"DELETE FROM {table} WHERE project = ?", (project,))
    frontier, before = Frontier(), "0" * 64
    for place, data in enumerate(entries):
        fields = orjson.loads(data)
        fields["h"] = before
        written = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
        leaf = leaf_hash(written)
        frontier, nodes = frontier.append(leaf)
        row = (project, place, pack(written, project, place, before), leaf)
        beside = (fields.get("s", ""), fields["a"])
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*row, *beside))
        for node in to_store(nodes):
            connection.execute("INSERT INTO nodes VALUES (?, ?, ?, ?)", (project, *node))
        before = leaf.hex()
        head = (len(entries), before, fields["t"], frontier.to_bytes(), project)
    connection.execute(
        "UPDATE heads SET size = ?, leaf = ?, time = ?, frontier = ? WHERE project = ?", head
    )


def _replaced(field: Field, file: Path, kind: str, random: Random) -> str:
    """Put another file in the place of the database."""
    if kind == "rolled back":
        source = random.choice(field.earlier)
        shutil.copy(source, file)
        return source.name
    if kind == "another history":
        shutil.copy(field.other, file)
        return field.other.name
    data = bytearray(field.last.read_bytes())
    start = random.randrange(len(data))
    if kind == "bytes":
        data[start] ^= 1 << random.randrange(8)
    elif kind == "page":
        page = start // 4096 * 4096
        data[page : page + 4096] = random.choice((bytes(4096), random.randbytes(4096)))
    else:
        data = data[:start]
    file.write_bytes(data)
    how = f"{kind} at {start}"
    try:
        with (
            closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as changed,
            closing(apsw.Connection(str(field.last), flags=apsw.SQLITE_OPEN_READONLY)) as whole,
        ):
            # Bytes that hold nothing are no change: whoever reads sees the same.
            return "" if _image(changed) == _image(whole) else how
    except (apsw.Error, UnicodeDecodeError):
        return how


_FILES = frozenset(("rolled back", "another history", "bytes", "page", "truncated"))
CHANGES: dict[str, Change] = {
    "cell": cell,
    "dropped": dropped,
    "doubled": doubled,
    "swapped": swapped,
    "schema": schema,
    "search": search,
    "entries chained anew": chained,
    "end cut off": cut,
}
KINDS = (
    *("cell",) * 8,
    *("dropped", "doubled", "swapped", "schema") * 3,
    *("search", "bytes", "bytes", "page", "truncated"),
    *("entries chained anew", "end cut off", "rolled back", "another history"),
)
