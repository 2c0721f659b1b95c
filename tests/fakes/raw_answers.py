"""A server on this machine that answers with bytes as a test has them, and may take its time."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any, Self


class RawServer:
    """Use it as a context manager. said: bytes, and events that are waited for before it goes on. asked: the requests, by line, heads and body."""

    def __init__(self, *said: bytes | threading.Event) -> None:
        """Listen on a free port."""
        self.said = said
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._released = threading.Event()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        """Begin to answer."""
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        for one in self.said:
            if isinstance(one, threading.Event):
                one.set()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            with peer, peer.makefile("rb") as sent:
                line = sent.readline().decode().strip()
                heads: dict[str, str] = {}
                while head := sent.readline().decode().strip():
                    name, _, value = head.partition(":")
                    heads[name.lower()] = value.strip()
                body = sent.read(int(heads.get("content-length", 0)))
                self.asked.append((line, heads, json.loads(body) if body else None))
                try:
                    for one in self.said:
                        if isinstance(one, threading.Event):
                            one.wait(30)
                        else:
                            peer.sendall(one)
                except OSError:
                    continue


def answered(*events: dict[str, Any], named: bool = False, status: str = "200 OK") -> bytes:
    """Answer events as a provider sends them, with their names before them if it does so."""
    lines = (
        f"event: {one['type']}\ndata: {json.dumps(one)}\n\n"
        if named
        else f"data: {json.dumps(one)}\n\n"
        for one in events
    )
    return head(status) + "".join(lines).encode()


def head(status: str = "200 OK") -> bytes:
    """Answer the beginning of an answer that ends with its connection."""
    return f"HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".encode()
