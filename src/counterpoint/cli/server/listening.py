"""The address of a server for HTTP, also where the server before it has it."""

from __future__ import annotations

import socket
from pathlib import Path

from counterpoint.cli.server.serving import end_server
from counterpoint.kernel.errors import Unavailable
from counterpoint.protocol.http.serving import listen
from counterpoint.protocol.rendezvous import find_rendezvous


def listen_for(database: Path, host: str, port: int, *, replace: bool) -> list[socket.socket]:
    """Return sockets that listen; Unavailable. replace: a server of this ledger ends if something has the address."""
    try:
        return listen(host, port)
    except Unavailable as fault:
        server = find_rendezvous(database).ask("status")
        if not server:
            raise
        if not replace:
            raise Unavailable(
                fault.message,
                hint=f"A server of this ledger runs (process {server['pid']}): `counterpoint up --replace` takes its place,"
                " `counterpoint down` ends it. If another program has the port, choose another.",
            ) from fault
        end_server(database)
        return listen(host, port)
