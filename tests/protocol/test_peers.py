"""Which process is at the other end of a socket, while it is there and when it has ended."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from counterpoint.protocol import peers
from counterpoint.protocol.peers import PeerProcess, held_peer

CONNECTS = """
import socket, sys
to = socket.socket(socket.AF_UNIX)
to.connect(sys.argv[1])
sys.stdin.read()
"""


@pytest.mark.parametrize("is_new", [True, False])
def test_a_process_is_held_from_the_moment_it_is_let_in(
    tmp_path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    """On a kernel that gives its descriptor with the socket, and on one that does not."""
    if not is_new:
        monkeypatch.setattr(peers, "_SO_PEERPIDFD", 9999)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        with subprocess.Popen(
            [sys.executable, "-c", CONNECTS, str(tmp_path / "s")], stdin=subprocess.PIPE
        ) as process:
            to, _ = listener.accept()
            with to, held_peer(to, {os.getuid()}) as held:
                assert held.pid == process.pid
                assert not held.has_ended()
                process.communicate()
                # Where no system gives a descriptor, it is supposed to be there.
                assert held.has_ended(within=20) == sys.platform.startswith("linux")


def test_who_cannot_be_held_is_supposed_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number alone is all that some systems tell."""
    assert not PeerProcess(pid=7, user=0).has_ended()
    one, other = socket.socketpair()
    with one, other:
        monkeypatch.setattr(peers, "_SO_PEERPIDFD", 9999)
        monkeypatch.setattr(peers.os, "pidfd_open", lambda pid: os.close(-1), raising=False)
        with held_peer(one, {os.getuid()}) as held:
            assert (held.pid, held.descriptor) == (os.getpid(), -1)
