"""Databases whose driver is loaded only where somebody has one."""

from __future__ import annotations

from types import ModuleType

from counterpoint.kernel.errors import Unavailable


def postgres() -> ModuleType:
    """Return the store on PostgreSQL, which few need; Unavailable if its driver is missing."""
    try:
        from counterpoint.storage.postgres import store
    except ImportError as missing:
        from counterpoint.kernel.extras import install_hint

        raise Unavailable(
            "a database on a PostgreSQL server needs the driver psycopg, which is not installed",
            hint=install_hint("postgres"),
        ) from missing
    return store
