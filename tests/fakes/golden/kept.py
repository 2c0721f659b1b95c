"""Golden ledgers as they lie in the repository: how they are written once, and opened for ever.

A folder has one format's, by the number of its first migration: `ledger.db.gz`, a file of SQLite; `ledger.sql.gz`, what made a
database of PostgreSQL, and its rows; a bundle of the ledger, and one of a sealed session; a cosigned checkpoint; and
`told.json`, what each of them is known to hold.
"""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import apsw
import psycopg
from psycopg import sql

from counterpoint.app import NOUNS
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.merkle import Frontier
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosign
from counterpoint.core.model.rows import columns
from counterpoint.core.ports.store import Reading, Store
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.kernel import canonical
from counterpoint.storage import schema
from fakes.golden.scenes import play
from fakes.golden.stage import Stage, staged
from fakes.studio import FixedKey

FOLDER: Final = Path(__file__).parents[2] / "golden"
FILE, DUMP, TOLD = "ledger.db.gz", "ledger.sql.gz", "told.json"
BUNDLE, SESSION, CHECKPOINT = "ledger.bundle.gz", "session.bundle.gz", "checkpoint.txt"
WITNESS: Final = FixedKey(b"\x02" * 32)
WITNESS_KEY: Final = CosignerKey(name="witness.example.org/w", public_key=WITNESS.public_key)
SEEN_AT: Final = 1_767_323_045
STAGED: Final = Path(tempfile.gettempdir()) / "golden-ledger"
"""Where the repository of the story stands, by a name that says nothing of a machine: an entry has it."""
_COLUMNS: Final = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = 'counterpoint'"
    " AND table_name = %s AND is_identity = 'NO' ORDER BY ordinal_position"
)
_TABLES: Final = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'counterpoint' ORDER BY 1"
_KEY: Final = (
    "SELECT a.attname FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
    " WHERE i.indisprimary AND i.indrelid = ('counterpoint.' || %s)::regclass ORDER BY array_position(i.indkey, a.attnum)"
)
_END: Final = "\\."


def seen(view: Reading, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Answer what a project holds. known: of which tables and columns; None: of all there are."""
    tables: dict[str, Any] = {}
    nouns = {noun.table: noun for noun in NOUNS}
    for table in known or nouns:
        every = [column.name for column in columns(nouns[table])]
        named = known[table]["columns"] if known else every
        places = [every.index(name) for name in named]
        rows = [[row[place] for place in places] for row in view.table(nouns[table])]
        tables[table] = {
            "columns": named,
            "rows": len(rows),
            "sha256": canonical.text_digest(canonical.dump_any(rows)),
        }
    head = view.head()
    texts = sorted((kept.commitment, kept.body) for _, kept in view.texts())
    written = [Entry.from_bytes(data) for data in view.entries()]
    return {
        "size": head.size,
        "leaf": head.leaf,
        "root": Frontier.from_bytes(head.frontier).root().hex(),
        "actions": dict(sorted(Counter(one.action for one in written).items())),
        "strengths": sorted(
            {one.actor.principal.strength if one.actor.principal else "" for one in written}
        ),
        "texts": canonical.text_digest(canonical.dump_any(texts)),
        "signatures": len(list(view.signatures())),
        "tables": tables,
    }


def write(number: int, databases: Any) -> Path:
    """Make the ledgers of a format in its folder; FileExistsError if they are there. databases: makes them on a server."""
    target, made = FOLDER / f"{number:03}", STAGED / "made"
    if target.exists():
        raise FileExistsError(target)
    made.mkdir(parents=True)
    told = {
        "sqlite": _write_file(made, STAGED / "file") | {"made": digests("sqlite")},
        "postgres": _write_dump(made, STAGED / "server", databases) | {"made": digests("postgres")},
        "witness": WITNESS_KEY.to_text(),
        "witnessed_at": SEEN_AT,
    }
    (made / TOLD).write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    shutil.copytree(made, target)
    shutil.rmtree(STAGED)
    return target


def _write_file(target: Path, folder: Path) -> dict[str, Any]:
    from counterpoint.storage.sqlite.store import open_sqlite

    folder.mkdir()
    place = folder / "ledger.db"
    store = open_sqlite(place, NOUNS)
    with staged(folder, store) as stage:
        play(stage)
        told = _told(stage)
        _pack(target / BUNDLE, b"".join(stage.system.audit.export()))
        _pack(target / SESSION, b"".join(stage.system.use(Seals).export(_sealed(stage))))
        note = stage.system.audit.checkpoint()
        text, _, _ = note.rpartition("\n\n")
        line = cosign(f"{text}\n", WITNESS_KEY, WITNESS.sign, SEEN_AT)
        (target / CHECKPOINT).write_text(f"{note}{line}")
    store.close()
    link = apsw.Connection(str(place))
    link.pragma("journal_mode", "delete")
    link.execute("VACUUM")
    link.close()
    _pack(target / FILE, place.read_bytes())
    return told


def _write_dump(target: Path, folder: Path, databases: Any) -> dict[str, Any]:
    from fakes.servers import connected

    folder.mkdir()
    address = databases.empty()
    store = connected(address)
    with staged(folder, store) as stage:
        play(stage)
        told = _told(stage)
    store.close()
    _pack(target / DUMP, "".join(_dumped(address)).encode())
    databases.drop(address)
    return told


def _told(stage: Stage) -> dict[str, Any]:
    found = stage.system.audit.verify()
    assert (found.faults, found.unsigned) == ((), 0), found
    key = stage.system.audit.key.to_text()
    return {"key": key, "confirmed": found.confirmed, "projects": everything(stage.store)}


def _sealed(stage: Stage) -> str:
    return max(stage.system.use(Seals).list(), key=lambda one: one.sealed_at).session


def _pack(file: Path, content: bytes) -> None:
    file.write_bytes(gzip.compress(content, mtime=0))


def unpack(file: Path) -> bytes:
    """Answer what a file of the repository holds."""
    return gzip.decompress(file.read_bytes())


def _dumped(address: str) -> Iterator[str]:
    """Answer the statements that made a database, and all of its rows, line by line."""
    yield from (f"{line}\n" for line in ("CREATE SCHEMA counterpoint;", _END))
    yield "CREATE TABLE migrations (number bigint NOT NULL, name text PRIMARY KEY, sha256 text NOT NULL);\n"
    yield f"{_END}\n"
    for migration in schema.migrations(NOUNS, "postgres"):
        yield f"{migration.sql}\n{_END}\n"
    with psycopg.connect(address) as link:
        link.execute("SET search_path TO counterpoint")
        for (table,) in link.execute(_TABLES).fetchall():
            named = [name for (name,) in link.execute(_COLUMNS, (table,))]
            key = [name for (name,) in link.execute(_KEY, (table,))]
            listed, order = (sql.SQL(", ").join(map(sql.Identifier, some)) for some in (named, key))
            asked = sql.SQL("COPY (SELECT {} FROM {} ORDER BY {}) TO STDOUT").format(
                listed, sql.Identifier(table), order
            )
            with link.cursor() as cursor, cursor.copy(asked) as rows:
                content = b"".join(map(bytes, rows)).decode()
            words = ", ".join(f'"{name}"' for name in named)
            yield f'COPY "{table}" ({words}) FROM STDIN\n{content}{_END}\n'


def load(dump: bytes, address: str) -> None:
    """Make the database of a dump at an address that has no tables."""
    with psycopg.connect(address) as link:
        # The ledger's guards hold for what is written, and this was.
        link.execute("SET session_replication_role TO replica")
        for part in dump.decode().split(f"\n{_END}\n")[:-1]:
            head, _, rows = part.partition("\n")
            if head.startswith("COPY "):
                with link.cursor() as cursor, cursor.copy(head.encode()) as target:
                    target.write(f"{rows}\n" if rows else "")
            else:
                link.execute(part.encode())
                link.execute("SET search_path TO counterpoint")


def told_of(number: int) -> dict[str, Any]:
    """Answer what the ledgers of a format are known to hold."""
    return json.loads((FOLDER / f"{number:03}" / TOLD).read_text())


def plain(folder: Path) -> dict[str, bytes]:
    """Answer every file of a folder as it is when it is unpacked."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    return {
        file.name: unpack(file) if file.suffix == ".gz" else file.read_bytes() for file in files
    }


def digests(database: schema.Database) -> dict[str, str]:
    """Answer the hash of each text that makes a database, by its name."""
    return {
        f"{number:03} {name}": digest
        for number, name, digest in (one.noted for one in schema.migrations(NOUNS, database))
    }


def everything(store: Store, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Answer what each project of a store holds. known: what the same was known to hold."""
    found: dict[str, Any] = {}
    for project in store.projects():
        with store.reading(project.project) as view:
            tables = known[project.project]["tables"] if known else None
            found[project.project] = seen(view, tables)
    return found
