"""Databases to test, and rows of every noun to put into them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterpoint.app import NOUNS, open_app
from counterpoint.core.model.filters import Note, Report
from counterpoint.core.model.rows import Noun, columns, image_of
from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Append, Store, Writing
from counterpoint.kernel.clock import Timestamp
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.texts import Kept

NOW = Timestamp("2026-11-20T10:00:00.000Z")
NOBODY = 65534

collect_ignore = [] if importlib.util.find_spec("psycopg") else ["postgres"]
"""What cannot be imported; the contract says loudly what is not tested then."""


@pytest.fixture(params=["memory", "file", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Give each database that the contract holds for, empty."""
    if request.param == "postgres":
        yield request.getfixturevalue("lent_store")
        return
    place = ":memory:" if request.param == "memory" else tmp_path / "deep" / "store.db"
    opened = SqliteStore(place, nouns=NOUNS)
    yield opened
    opened.close()


@pytest.fixture
def address(databases: Any) -> Iterator[str]:
    """Give the address of a PostgreSQL database with empty tables."""
    made = databases.made()
    yield made
    databases.drop(made)


@pytest.fixture
def bare_address(databases: Any) -> Iterator[str]:
    """Give the address of a PostgreSQL database without tables."""
    made = databases.empty()
    yield made
    databases.drop(made)


@pytest.fixture
def postgres_store(address: str) -> Iterator[Any]:
    """Give a database on a PostgreSQL server, with some patience."""
    from fakes.servers import connected

    opened = connected(address, patience=5)
    yield opened
    opened.close()


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Give a database in a file, with little patience."""
    opened = SqliteStore(tmp_path / "store.db", nouns=NOUNS, patience=0.2)
    yield opened
    opened.close()


@pytest.fixture
def other(file_store: SqliteStore, tmp_path: Path) -> Iterator[SqliteStore]:
    """Give the same database as another process has it."""
    opened = SqliteStore(tmp_path / "store.db", patience=0.2)
    yield opened
    opened.close()


@pytest.fixture
def reads(file_store: SqliteStore) -> list[str]:
    """Give the list that every statement goes into by which the writer reads."""
    heard: list[str] = []

    def hear(event: dict[str, str]) -> None:
        if event["sql"].startswith("SELECT"):
            heard.append(event["sql"])

    file_store._writer.trace_v2(apsw.SQLITE_TRACE_STMT, hear)
    return heard


@pytest.fixture
def lent_store(databases: Any) -> Iterator[Any]:
    """Give an empty database on a PostgreSQL server for a test that leaves its tables as they are."""
    from fakes.servers import connected

    address = databases.lent()
    opened = connected(address, patience=5)
    yield opened
    opened.close()
    databases.take_back(address)


@pytest.fixture
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Store], None]:
    """Give what lets an agent work a project called demo in a store."""

    def work(store: Store) -> None:
        app = open_app(tmp_path_factory.mktemp("demo"), {}, project="demo")
        app.store = store
        core = app.core(app.agent())
        made = core.plans.create(core.plans.read("# Orchard\n- [ ] Walnut\n- [ ] Pear\n"))
        token = core.claims.start(made.ready[0]).claim.token
        core.journal.append(Note(kind="finding", body="two walnut trees", item=made.ready[0]))
        core.tasks.finish(made.ready[0], token, Report(outcome="done", summary="planted"))
        core.memory.put("project", "season", "autumn")

    return work


@pytest.fixture
def example() -> Callable[..., Any]:
    """Give what makes a noun with a value in every field, some of them chosen."""
    return _example


@pytest.fixture
def task() -> Callable[..., Item]:
    """Give what makes an open task of a number, some of its fields chosen."""
    return _task


@pytest.fixture
def save() -> Callable[..., None]:
    """Give what puts nouns and their texts into a transaction."""
    return _save


@pytest.fixture
def entry() -> Callable[..., Append]:
    """Give what makes an entry of a sequence, some of its fields chosen."""
    return _entry


@pytest.fixture
def ordinary() -> Iterator[None]:
    """Take the privileges of root away, for whom no file is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)


def _example(noun: type[Noun], **chosen: Any) -> Any:
    values: dict[str, Any] = {"project": "p"}
    for place, column in enumerate(columns(noun)):
        values.setdefault(
            column.name,
            {
                "text": f"{column.name}-1",
                "int": place % 2,
                "list": ("one", "two"),
                "prose": f"the {column.name} in full",
                "hash": "5" * 64,
                "proses": (f"first {column.name}", "second"),
            }[column.sort],
        )
    return noun(**(values | chosen))


def _task(number: int, **chosen: Any) -> Item:
    values: dict[str, Any] = {
        "id": f"T-{number}",
        "number": number,
        "kind": "task",
        "title": f"Task {number}",
        "lifecycle": "task",
        "status": "open",
        "category": "open",
        "parent": "",
        "root": "T-1",
        "position": number,
        "priority": 2,
        "blockers": 0,
        "body": "",
        "created_at": NOW,
        "updated_at": NOW,
        "closed_at": "",
    }
    return _example(Item, **(values | chosen))


def _save(writing: Writing, *nouns: Noun) -> None:
    for noun in nouns:
        texts = Kept()
        row = image_of(noun, texts.keep)
        writing.keep(texts)
        writing.put(type(noun), row)


def _entry(sequence: int, **chosen: Any) -> Append:
    written = f"entry {sequence}".encode()
    values: dict[str, Any] = {
        "sequence": sequence,
        "previous": "",
        "data": written,
        "leaf": hashlib.sha256(written).digest(),
        "time": NOW,
        "subject": "T-1",
        "action": "item.put",
        "frontier": b"frontier %d" % sequence,
        "nodes": (),
    }
    return Append(**(values | chosen))
