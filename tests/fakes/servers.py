"""The store on a PostgreSQL server as the product opens it."""

from __future__ import annotations

from functools import partial
from typing import Any

from counterpoint.app import NOUNS
from counterpoint.storage.postgres.store import PostgresStore
from counterpoint.storage.sqlite.store import fresh_file


def connected(address: str, **chosen: Any) -> PostgresStore:
    """Answer the store at an address, with tables for every noun; backups are written into files."""
    fresh = partial(fresh_file, nouns=NOUNS)
    return PostgresStore(address, fresh_file=fresh, **({"nouns": NOUNS} | chosen))
