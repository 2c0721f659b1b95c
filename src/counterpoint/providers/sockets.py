"""Cuts connections that another thread is reading from, and says whom TLS trusts.

To close a socket leaves whoever waits for its bytes waiting, and the other side believing that somebody listens; to shut it down ends both.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Final

import httpx2

_OPENED: Final = (".connect_tcp.complete", ".start_tls.complete")
"""What an httpx2 client calls the moments at which it has another socket."""


def trust_store(*, is_from_environment: bool) -> ssl.SSLContext:
    """Return the context of TLS for a request; OSError if a file that the environment names is none of certificates.

    It takes 20 ms to load, more than a request on this machine, so that of the system is loaded once. A file that a
    person names is loaded again when it changes: a certificate that is added later counts at once.
    """
    file = os.environ.get("SSL_CERT_FILE") if is_from_environment else None
    if file:
        state = Path(file).stat()
        return _store_of(file, state.st_mtime_ns, state.st_size, state.st_ino)
    if is_from_environment and os.environ.get("SSL_CERT_DIR"):
        return httpx2.create_ssl_context()
    return _system_store()


@cache
def _system_store() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


@lru_cache(maxsize=2)
def _store_of(file: str, *_state: int) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=file)


class OpenSockets:
    """The sockets of a request, from the moment at which each is connected."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: list[socket.socket] = []
        self._is_over = False

    @property
    def extensions(self) -> dict[str, Any]:
        """What a request is sent with, so that its sockets are known."""
        return {"trace": self._hear}

    def end(self) -> None:
        """Cut every one of them, and whichever is still to come."""
        with self._lock:
            self._is_over = True
            for connection in self._open:
                _cut(connection)

    def _hear(self, name: str, info: Mapping[str, Any]) -> None:
        if not name.endswith(_OPENED):
            return
        opened: socket.socket = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._open.append(opened)
            if self._is_over:
                _cut(opened)


def _cut(connection: socket.socket) -> None:
    # It may have ended by itself, or be that of a layer below one of TLS by now.
    with suppress(OSError):
        # Not the method of a TLS socket, which takes away what its reader is using.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
