"""Databases to test, and rows of every noun to put into them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.model.rows import Noun, columns, image_of
from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Append, Store, Writing
from counterpoint.kernel.clock import Timestamp
from counterpoint.storage.sqlite import SqliteStore

NOW = Timestamp("2026-11-20T10:00:00.000Z")
NOBODY = 65534


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Give each database that the contract holds for, empty."""
    place = ":memory:" if request.param == "memory" else tmp_path / "deep" / "store.db"
    opened = SqliteStore(place)
    yield opened
    opened.close()


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Give a database in a file, with little patience."""
    opened = SqliteStore(tmp_path / "store.db", patience=0.2)
    yield opened
    opened.close()


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
        texts: dict[str, str] = {}
        row = image_of(noun, texts)
        writing.keep(texts)
        writing.put(type(noun), row)


def _entry(sequence: int, **chosen: Any) -> Append:
    written = f"entry {sequence}".encode()
    values: dict[str, Any] = {
        "sequence": sequence,
        "data": written,
        "leaf": hashlib.sha256(written).digest(),
        "time": NOW,
        "subject": "T-1",
        "action": "item.put",
        "frontier": b"frontier %d" % sequence,
        "nodes": (),
    }
    return Append(**(values | chosen))
