"""The database of a ledger, in a file or on a server, for whoever can write all of it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from counterpoint.app import NOUNS
from counterpoint.core.ports.store import Store
from counterpoint.storage.drivers import postgres
from counterpoint.storage.sqlite.store import fresh_file, open_sqlite


class Stored(Protocol):
    """What somebody with the database does with the whole of it, while nobody is in it."""

    def open(self) -> Store:
        """Open it past the product, made if it is not there."""
        ...

    def copied(self) -> str:
        """Answer where a copy of it is."""
        ...

    def put(self, copy: str = "") -> None:
        """Put a copy of it in its place, or nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InFile:
    """A database in a file."""

    path: Path

    def open(self) -> Store:
        """Open it past the product, made if it is not there."""
        return open_sqlite(self.path, NOUNS)

    def copied(self) -> str:
        """Answer where a copy of it is."""
        return str(shutil.copy(self.path, self.path.with_name(f"copy-of-{self.path.name}")))

    def put(self, copy: str = "") -> None:
        """Put a copy of it in its place, or nothing."""
        for part in self.path.parent.glob(f"{self.path.name}*"):
            part.unlink()
        if copy:
            shutil.copy(copy, self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnServer:
    """A database on a PostgreSQL server; databases: what makes them there."""

    databases: Any
    address: str

    def open(self) -> Store:
        """Open it past the product, made if it is not there."""
        fresh = partial(fresh_file, nouns=NOUNS)
        return postgres().open_postgres(self.address, NOUNS, fresh_file=fresh)

    def copied(self) -> str:
        """Answer where a copy of it is."""
        return self.databases.copied(self.address)

    def put(self, copy: str = "") -> None:
        """Put a copy of it in its place, or nothing."""
        self.databases.put(self.address, copy)
