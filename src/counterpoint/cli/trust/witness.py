"""The command that runs a witness of our own for the logs of others."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any, Final, cast

import click

from counterpoint.cli.grouping import examples
from counterpoint.cli.output import output_for
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.evidence.trust.folders import state_folder
from counterpoint.evidence.witnesses.local import LocalWitness, open_local
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import CounterpointError, Kind, StaleVersion, Unavailable

_CALL: Final = "/add-checkpoint"
_LARGEST: Final = 65_536
_PATIENCE: Final = 10.0
"""Seconds that a client may take for a whole request, however slowly it says it."""
_MOST: Final = 32
"""Connections at once."""
_STATUS: Final[dict[Kind, int]] = {
    "invalid": 400,
    "not_found": 404,
    "forbidden": 403,
    "conflict": 409,
    "integrity": 422,
    "unavailable": 503,
}


@click.command("witness", epilog=examples("counterpoint witness --state keys --port 8383"))
@click.option("--log", "logs", multiple=True, metavar="VKEY", help="Cosign this log; repeatable.")
@click.option("--state", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="The folder for the key and the heads.")  # fmt: skip
@click.option(
    "--name", default="", metavar="NAME", help="The name of the witness's key; needed once."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen at this address.")
@click.option(
    "--port",
    default=8383,
    show_default=True,
    type=click.IntRange(0, 65_535),
    help="The port to listen on; 0 takes any free one.",
)
@click.option(
    "--forget", metavar="ORIGIN", help="Forget this log so that it can begin anew, then exit."
)
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def witness_command(
    logs: tuple[str, ...],
    state: Path | None,
    name: str,
    host: str,
    port: int,
    forget: str | None,
    as_json: bool,
) -> None:
    """Run a witness of ledgers.

    It cosigns heads of ledgers as long as they only grow. Run it on another machine.

    It implements C2SP tlog-witness, and refuses a head that does not extend the last one it saw. VKEY is the key that
    `counterpoint audit verify` shows. It needs no ledger.
    """
    out = output_for(json=as_json)
    folder = state or state_folder(os.environ) / "witness"
    keys = [VerifierKey.from_text(log) for log in logs]
    witness = open_local(folder, keys, SystemClock(), name)
    if forget is not None:
        witness.forget(forget)
        out.result({"forgotten": forget}, f"{forget} may begin anew.")
        return
    if not keys:
        raise click.UsageError(
            "Say whose ledgers it watches and signs: --log VKEY, the key that `counterpoint audit verify` shows."
        )
    try:
        server = _Server((host, port), witness)
    except OSError as fault:
        raise Unavailable(
            f"nothing can listen at {host}:{port} ({fault.strerror})",
            hint="Give another --host or --port.",
        ) from fault
    with server:
        url = f"http://{host}:{server.server_port}"
        key = witness.key.to_text()
        names = sorted({log.name for log in keys})
        if out.json:
            # A line by itself: whoever started this reads it while it serves.
            out.answer_line({"key": key, "url": url, "logs": [*names]})
        else:
            out.line(f"Witness {key}")
            out.line(f"  cosigns {', '.join(names)}; state in {folder}")
            out.line("Tell the server of a ledger to ask it:")
            out.line(f"  COUNTERPOINT_WITNESSES='{key} {url}'")
        server.serve_forever()


class _Server(ThreadingHTTPServer):
    """Answers add-checkpoint, each request in a thread, and not too many at once."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], witness: LocalWitness) -> None:
        self.witness = witness
        self._room = threading.BoundedSemaphore(_MOST)
        super().__init__(address, _Request)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection, or close it at once if there are too many."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Say nothing: whoever left in the middle knows."""


class _Request(BaseHTTPRequestHandler):
    """One request to a witness."""

    protocol_version = "HTTP/1.1"
    server_version = "counterpoint"
    sys_version = ""
    timeout = _PATIENCE

    def handle_one_request(self) -> None:
        """Take a request and answer it, or let the connection go when its time is over."""
        over = threading.Timer(_PATIENCE, self._let_go)
        over.daemon = True
        over.start()
        try:
            super().handle_one_request()
        finally:
            over.cancel()

    def _let_go(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(SHUT_RDWR)

    def do_POST(self) -> None:
        """Cosign what is submitted, or say why not."""
        length = self.headers.get("Content-Length", "")
        if self.path != _CALL or not length.isdecimal() or int(length) > _LARGEST:
            # What was not read must not be taken for the next request.
            self.close_connection = True
            self._answer(404 if self.path != _CALL else 400, "text/plain", "not understood\n")
            return
        try:
            line = cast("_Server", self.server).witness.cosign(self.rfile.read(int(length)))
        except StaleVersion as refused:
            self._answer(409, "text/x.tlog.size", f"{refused.facts['size']}\n")
        except CounterpointError as refused:
            status = 409 if refused.code == "fork_refused" else _STATUS.get(refused.kind, 400)
            self._answer(status, "text/plain", f"{refused.message}\n")
        else:
            self._answer(200, "text/plain", line)

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind if kind != "text/plain" else f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
        """Log nothing: who asks is nobody's business, and the state says what was cosigned."""
