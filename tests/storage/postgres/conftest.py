"""A stranger at a PostgreSQL database."""

from __future__ import annotations

import psycopg
import pytest

from fakes.servers import connected


@pytest.fixture
def shell(address):
    """Give a bare connection to a database with two entries, as a stranger would have."""
    connected(address).close()
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("SET search_path TO counterpoint")
        for sequence in (0, 1):
            link.execute("INSERT INTO entries VALUES ('p', %s, '', '', '', '')", (sequence,))
        yield link
