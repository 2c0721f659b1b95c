"""The witness that others ask, and clients that keep it waiting."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from builders import HandClock
from counterpoint.cli.trust import witness
from counterpoint.evidence.witnesses.local import open_local


def test_a_client_that_drips_has_one_time_for_its_whole_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it says something; its place is for others then."""
    monkeypatch.setattr(witness, "_PATIENCE", 0.5)
    with witness._Server(("127.0.0.1", 0), open_local(tmp_path, [], HandClock())) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        client = socket.create_connection(("127.0.0.1", server.server_port), timeout=0.1)
        client.sendall(b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
        said, answer = 0, b"?"
        while answer and said < 100:
            try:
                client.sendall(b"x")
                said += 1
                answer = client.recv(100)
            except TimeoutError:
                continue
            except OSError:
                answer = b""
        client.close()
        server.shutdown()
        serving.join()
    assert 1 < said < 100
    assert server._room.acquire(blocking=False)
