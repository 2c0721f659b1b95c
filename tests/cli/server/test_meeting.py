"""What servers that leave, or are gone, leave behind at the place where they are met."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from counterpoint.app import App
from counterpoint.cli.server import serving
from counterpoint.cli.server.serving import end_server
from counterpoint.kernel.errors import Unavailable
from counterpoint.protocol import rendezvous as meeting_module
from counterpoint.protocol.peers import PeerProcess
from counterpoint.protocol.rendezvous import find_rendezvous


def test_a_server_removes_the_sockets_of_servers_that_are_gone(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the user's own folder alone; not one that somebody listens at, nor one that is being made."""
    own = tmp_path / "r" / "counterpoint"
    own.mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(own.parent))
    with ExitStack() as held:
        for name in ("left", "live", "made"):
            one = held.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(str(own / f"{name}.sock"))
            if name == "live":
                one.listen()
            if name != "made":
                os.utime(own / f"{name}.sock", (1, 1))
        (own / "mine.sock").write_text("no socket")
        os.utime(own / "mine.sock", (1, 1))
        meeting = find_rendezvous(app.database)
        with meeting.turn("lock"):
            meeting.listen().close()
            meeting.clear()
    assert {one.name for one in own.iterdir()} == {"live.sock", "made.sock", "mine.sock"}


def test_down_answers_only_after_the_process_of_the_server_has_ended(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it does without the lock, after its answer, is done too; one that stays is a refusal."""
    meeting = find_rendezvous(ledger / ".counterpoint" / "ledger.db")
    with meeting.turn("lock"):
        meeting.listen().close()
    ended = threading.Event()
    asked: list[float] = []

    class Slow(PeerProcess):
        def has_ended(self, within: float = 0) -> bool:
            asked.append(within)
            return ended.is_set()

    @contextmanager
    def held(pid: int) -> Iterator[PeerProcess]:
        yield Slow(pid=pid, user=os.getuid())

    said = {"pid": os.getpid(), "version": "0", "clients": 0}
    monkeypatch.setattr(serving, "held_process", held)
    monkeypatch.setattr(meeting_module.Rendezvous, "ask", lambda _, question: said)
    with pytest.raises(Unavailable, match="does not leave"):
        end_server(meeting.database)
    ended.set()
    assert end_server(meeting.database) == said
    assert asked == [meeting_module.PATIENCE] * 2
