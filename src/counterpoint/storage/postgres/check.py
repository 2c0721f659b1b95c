"""What is found wrong with a PostgreSQL database by looking through its tables.

Rules: (1) the schema is what the migrations say: each table's columns and key, each index, function and
trigger, and nothing else. What they say is read from their own text, which is of one form (schema.py). (2) The
migrations noted are those. (3) The search of each row is what its texts make. Each is looked at, whatever
came of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from counterpoint.core.model.rows import Noun
from counterpoint.kernel.damage import fault_of
from counterpoint.kernel.errors import (
    CounterpointError,
    SchemaDiffers,
    SearchDiffers,
    StoreCorrupt,
)
from counterpoint.storage.check import MOST, Ask, ledger_faults, migration_faults
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.faults import translate_errors
from counterpoint.storage.postgres.search import plain_words
from counterpoint.storage.rows import Tables
from counterpoint.storage.schema import Migration
from counterpoint.storage.search import all_documents

_UNSOUND: Final = """
SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'counterpoint'::regnamespace AND NOT (i.indisvalid AND i.indisready)
"""
_COLUMNS: Final = """
SELECT c.relname, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
  || CASE WHEN a.attnotnull THEN '' ELSE ' NULL' END, ', ' ORDER BY a.attnum)
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'counterpoint'::regnamespace AND c.relkind NOT IN ('i', 'S', 't')
GROUP BY c.relname
"""
_INDEXES: Final = """
SELECT i.relname, pg_get_indexdef(x.indexrelid)
FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
WHERE i.relnamespace = 'counterpoint'::regnamespace
"""
_TRIGGERS: Final = """
SELECT t.tgname, pg_get_triggerdef(t.oid), t.tgenabled::text FROM pg_trigger AS t
JOIN pg_class AS c ON c.oid = t.tgrelid
WHERE c.relnamespace = 'counterpoint'::regnamespace AND NOT t.tgisinternal
"""
_FUNCTIONS: Final = """
SELECT p.proname, p.prosrc FROM pg_proc AS p WHERE p.pronamespace = 'counterpoint'::regnamespace
"""
_RULES: Final = (
    "SELECT tablename || '.' || rulename FROM pg_rules WHERE schemaname = 'counterpoint'"
)
_NOTED: Final = "SELECT number, name, sha256 FROM migrations"

_MADE_TABLE: Final = re.compile(r"CREATE TABLE (\w+) \(\n(.*?)\n\);", re.DOTALL)
_MADE_INDEX: Final = re.compile(
    r"CREATE (UNIQUE )?INDEX (\w+) ON (\w+) (?:USING \w+ )?\((.*?)\)(?: WHERE (.*?))?;"
)
_ADDED_COLUMN: Final = re.compile(r'ALTER TABLE (\w+) ADD COLUMN "?(\w+)"? (\w+)')
_MADE_FUNCTION: Final = re.compile(r"CREATE FUNCTION (\w+)\(\).*?AS \$\$(.*?)\$\$;", re.DOTALL)
_MADE_TRIGGER: Final = re.compile(r"CREATE TRIGGER (\w+) ([^;]*);")
_COLUMN: Final = re.compile(r'  "?(\w+)"? (\w+)')
_WORD: Final = re.compile(r"'([^']*)'")
_BATCH: Final = 500
_DIFFERENT: Final = """
SELECT w.key FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[])
  AS w (key, title, body, item, kind)
LEFT JOIN documents AS d ON d.project = %s AND d.source = %s AND d.key = w.key
WHERE d.words IS DISTINCT FROM setweight(to_tsvector('words', w.title), 'A')
    || setweight(to_tsvector('words', w.body), 'B')
  OR d.item IS DISTINCT FROM w.item OR d.kind IS DISTINCT FROM w.kind
"""


def faults_of(
    link: Link, tables: Tables, migrations: tuple[Migration, ...], where: str
) -> list[CounterpointError]:
    """Return what is wrong, inside one transaction; what cannot be looked at is a fault too."""

    def ask(text: str) -> Iterable[tuple[Any, ...]]:
        return link.execute(text.encode()).fetchall()

    looks: tuple[Callable[[], Iterator[CounterpointError]], ...] = (
        lambda: _unsound(ask),
        lambda: _schema(ask, migrations),
        lambda: ledger_faults(ask, tables),
        lambda: _search(link, tables),
    )
    faults: list[CounterpointError] = []
    for look in looks:
        link.execute(b"SAVEPOINT look")
        if (fault := fault_of(partial(_look, look, faults, where))) is not None:
            faults.append(fault)
            link.execute(b"ROLLBACK TO SAVEPOINT look")
    return faults


def _look(
    look: Callable[[], Iterator[CounterpointError]], faults: list[CounterpointError], where: str
) -> None:
    with translate_errors(where):
        faults.extend(look())


def _unsound(ask: Ask) -> Iterator[StoreCorrupt]:
    for (name,) in ask(_UNSOUND):
        yield StoreCorrupt(f"the index {name} is not valid")


def _schema(ask: Ask, migrations: tuple[Migration, ...]) -> Iterator[SchemaDiffers]:
    made_sql = "\n".join(migration.sql for migration in migrations)
    noted = [(number, name, digest) for number, name, digest in ask(_NOTED)]
    foreign = {name for _, name, _ in noted} - {migration.name for migration in migrations}
    yield from migration_faults(noted, migrations)
    tables = {name: _columns(body) for name, body in _MADE_TABLE.findall(made_sql)}
    for name, column, sort in _ADDED_COLUMN.findall(made_sql):
        tables[name] += f", {column} {sort}"
    tables["migrations"] = "number bigint, name text, sha256 text"
    stored_tables = dict(ask(_COLUMNS))
    for name in sorted(foreign - stored_tables.keys()):
        yield SchemaDiffers(f"the migration {name!r} is noted, but it has no table", name=name)
    yield from _compare_objects("table", tables, stored_tables, foreign)
    yield from _compare_objects(
        "function", dict(_MADE_FUNCTION.findall(made_sql)), dict(ask(_FUNCTIONS)), ()
    )
    stored_indexes = {name: _in_form(text) for name, text in ask(_INDEXES)}
    yield from _compare_objects("index", _indexes(made_sql, tables), stored_indexes, foreign)
    triggers = {name: _sorted(definition) for name, definition in _MADE_TRIGGER.findall(made_sql)}
    guards = {
        name: _sorted(text.split(name, 1)[1]) if enabled == "O" else "switched off"
        for name, text, enabled in ask(_TRIGGERS)
    }
    yield from _compare_objects("trigger", triggers, guards, ())
    for (name,) in ask(_RULES):
        yield SchemaDiffers(f"the rule {name} was not made by this program", name=name)


def _search(link: Link, tables: Tables) -> Iterator[SearchDiffers]:
    """Make the document of each row anew and have the server compare it with the one it keeps."""
    sources = [noun.table for noun in tables.values() if noun.searched]
    for noun in (noun for noun in tables.values() if noun.searched):
        reported, rows = 0, 0
        for project, page in _pages(link, noun):
            rows += len(page)
            columns = [list(column) for column in zip(*page, strict=True)]
            for (key,) in link.execute(_DIFFERENT, (*columns, project, noun.table)).fetchall():
                reported += 1
                if reported <= MOST:
                    yield SearchDiffers(
                        f"row {key} of {noun.table} is another in the search",
                        table=noun.table,
                        key=key,
                    )
        counted = link.execute(
            "SELECT count(*) FROM documents WHERE source = %s", (noun.table,)
        ).fetchone()
        if counted != (rows,):
            many = counted[0] if counted else 0
            yield SearchDiffers(f"the search has {many} documents of {rows} rows of {noun.table}")
    foreign = link.execute(
        "SELECT DISTINCT source FROM documents WHERE NOT source = ANY(%s::text[])"
        " AND source NOT IN (SELECT name FROM migrations)",
        (sources,),
    )
    for (source,) in foreign.fetchall():
        yield SearchDiffers(f"the search has documents of {source!r}, which is no table")


def _pages(link: Link, noun: type[Noun]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Return what is to be indexed of all rows: key, words of title and body, what about, kind."""
    statement, width = all_documents(noun)
    # A cursor of the server's: the rows of a noun may be more than fit here.
    with link.cursor(name="documents") as rows:
        rows.itersize = _BATCH
        rows.execute(statement.encode())
        page: list[tuple[str, ...]] = []
        last = ""
        for project, *cells in rows:
            if page and (project != last or len(page) >= _BATCH):
                yield last, page
                page = []
            last = project
            key = "/".join(map(str, cells[:width]))
            title, body, about, kind = cells[width:]
            page.append((key, plain_words(title), plain_words(body), about, kind))
        if page:
            yield last, page


def _compare_objects(
    sort: str, expected: Mapping[str, str], stored: Mapping[str, str], foreign: Iterable[str]
) -> Iterator[SchemaDiffers]:
    """Say in what objects of a sort are not those that were made; of what is foreign only tables count."""
    for name in sorted({*expected, *stored}):
        if name not in expected and not any(name.startswith(other) for other in foreign):
            message = f"the {sort} {name} was not made by this program"
        elif name in expected and name not in stored:
            message = f"the {sort} {name} is missing"
        elif name in expected and expected[name] != stored[name]:
            message = f"the {sort} {name} is not as it was made"
        else:
            continue
        yield SchemaDiffers(message, sort=sort, name=name)


def _columns(body: str) -> str:
    """Return the columns that the body of a table has, as the catalogue tells them."""
    lines = [line for line in body.split("\n") if not line.startswith("  PRIMARY KEY")]
    return ", ".join(" ".join(match.groups()) for line in lines if (match := _COLUMN.match(line)))


def _indexes(made_sql: str, tables: Iterable[str]) -> dict[str, str]:
    indexes = {
        name: _in_form(f"{unique}{name} {table} {columns} {where or ''}")
        for unique, name, table, columns, where in _MADE_INDEX.findall(made_sql)
    }
    keys = dict(_MADE_TABLE.findall(made_sql))
    for name in tables:
        key = re.search(r"PRIMARY KEY \((.*?)\)", keys.get(name, ""))
        alone = re.search(r"  (\w+) [^\n]*PRIMARY KEY", keys.get(name, "  name PRIMARY KEY"))
        columns = key[1] if key else alone[1] if alone else ""
        indexes[f"{name}_pkey"] = _in_form(f"UNIQUE {name}_pkey {name} {columns}")
    return indexes


def _sorted(text: str) -> str:
    """Return the words of a trigger; the catalogue names what it is called by in an order of its own."""
    return " ".join(sorted(_in_form(text).split()))


def _in_form(text: str) -> str:
    """Return the names and words of a definition, without what the catalogue spells in its own way."""
    plain = re.sub(r"::\w+|USING \w+|CREATE|INDEX|ON ONLY|counterpoint\.", " ", text)
    words = re.findall(r"'[^']*'|\w+", plain)
    return " ".join(word for word in words if word not in {"ON", "WHERE"})
