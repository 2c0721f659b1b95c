"""Sends the report of a hook to the server, or counts it as lost.

A client runs this after each call of its agent, which waits for it: so it loads little, parses nothing, starts no server and never
waits for the ledger, only until the server has the event in its memory. It says nothing and ends well whatever happens, for some
ends stop an agent. Nothing is written by it but a letter in `<prefix>.lost` (kernel/places.py): what it was told is not masked
yet, and so never touches the disk.

    {"counterpoint": 1, "event": CLIENT, "size": BYTES, "kept": BYTES, "flags": {}, "environ", "folder", "version"}
    as many bytes as were kept: all or, of what is too large to be masked at once, none

The answer is `{"ok": true, …}` if and only if the server has it.
"""

from __future__ import annotations

import _socket
import os
import stat
from contextlib import suppress

from counterpoint import __version__
from counterpoint.kernel.ownership import Untrusted, check_folder, check_peer
from counterpoint.kernel.places import (
    SOCKET,
    ForeignFolder,
    add_lost,
    find_database,
    find_prefix,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

LIMIT: Final = 1_000_000
"""Bytes of an event that are sent at most."""
PATIENCE: Final = 0.25
"""Seconds that an agent waits for one at most."""
_PROTOCOL: Final = 1
_CHUNK: Final = 65536
_PASSED: Final = "COUNTERPOINT_"
_TAKEN: Final = b'{"ok":true'


def main(client: str, environ: Mapping[str, str]) -> int:
    """Report one event of a client, from standard input; always 0."""
    body, size = _told(0)
    try:
        _report(client, body, size, environ)
    except (OSError, ValueError, ForeignFolder, Untrusted):
        # There is no ledger of ours here, or nothing can be counted beside it.
        pass
    return 0


def _report(client: str, body: bytes, size: int, environ: Mapping[str, str]) -> None:
    address, folder = environ.get("COUNTERPOINT_DB", ""), os.getcwd()
    reads = environ.get("COUNTERPOINT_MODE", "").upper() == "READONLY"
    if reads or address.startswith(SOCKET) or "://" in address:
        # Nothing may be written, or the server is of another account, or there is none.
        return
    database = find_database(folder, address)
    if not os.path.exists(database):
        return
    # Before anything there is believed: a folder can come with a repository.
    check_folder(database)
    prefix = find_prefix(database)
    if not _is_taken(prefix, _head(client, size, len(body), folder, environ) + body):
        add_lost(prefix)


def _told(source: int) -> tuple[bytes, int]:
    """Return what the client says, nothing if it is too large, and how large it is; who writes it is always heard out."""
    parts: list[bytes] = []
    size = 0
    while piece := os.read(source, _CHUNK):
        size += len(piece)
        if size <= LIMIT:
            parts.append(piece)
    return (b"".join(parts) if size <= LIMIT else b""), size


def _head(client: str, size: int, sent_size: int, folder: str, environ: Mapping[str, str]) -> bytes:
    variables = ",".join(
        f"{_text(name)}:{_text(environ[name])}" for name in environ if name.startswith(_PASSED)
    )
    return (
        f'{{"counterpoint":{_PROTOCOL},"event":{_text(client)},"size":{size},"kept":{sent_size},"flags":{{}},'
        f'"environ":{{{variables}}},"folder":{_text(folder)},"version":{_text(__version__)}}}\n'
    ).encode()


def _text(words: str) -> str:
    """Return a text as JSON; the module `json` around this would take a third of the time."""
    try:
        from _json import encode_basestring_ascii as text
    except ImportError:
        # Another Python than that of most.
        from json import dumps as text
    return text(words)


def _is_taken(prefix: str, sent: bytes) -> bool:
    """Return whether the server has what is sent to it; no if none is there, or it does not answer in time."""
    to = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    to.settimeout(PATIENCE)
    try:
        to.connect(_socket_of(prefix))
        check_peer(to, os.getuid())
        to.sendall(sent)
        return to.recv(_CHUNK).startswith(_TAKEN)
    except (OSError, Untrusted, ValueError, KeyError, TypeError):
        return False
    finally:
        to.close()


def _socket_of(prefix: str) -> str:
    """Return where the server listens: nearly always beside its files."""
    beside = f"{prefix}.sock"
    with suppress(OSError):
        # Empty, it only keeps others from laying one there.
        if stat.S_ISSOCK(os.stat(beside).st_mode):
            return beside
    with open(f"{prefix}.json", "rb") as file:
        text = file.read(_CHUNK)
    import json

    path: str = json.loads(text)["socket"]
    return path
