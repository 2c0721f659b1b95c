"""Cuts connections that another thread is reading from.

To close a socket leaves whoever waits for its bytes waiting, and the other side believing that somebody listens; to shut it down ends both.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, Final

_OPENED: Final = (".connect_tcp.complete", ".start_tls.complete")
"""What an httpx2 client calls the moments at which it has another socket."""


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
            for one in self._open:
                _cut(one)

    def _hear(self, name: str, told: Mapping[str, Any]) -> None:
        if not name.endswith(_OPENED):
            return
        found: socket.socket = told["return_value"].get_extra_info("socket")
        with self._lock:
            self._open.append(found)
            if self._is_over:
                _cut(found)


def _cut(one: socket.socket) -> None:
    # It may have ended by itself, or be that of a layer below one of TLS by now.
    with suppress(OSError):
        # Not the method of a TLS socket, which takes away what its reader is using.
        socket.socket.shutdown(one, socket.SHUT_RDWR)
