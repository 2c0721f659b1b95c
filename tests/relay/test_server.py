"""How a relay finds a server, or starts one, and what it says where it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.places import find_prefix
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.relay import server
from counterpoint.relay.server import Refused
from counterpoint.storage.sqlite.store import open_sqlite


def test_the_last_words_of_a_log_are_its_last_line(tmp_path):
    """One that is missing or empty said nothing."""
    log = tmp_path / "log"
    assert server._last_words(str(log)) == "it said nothing"
    log.write_text("\n\n")
    assert server._last_words(str(log)) == "it said nothing"
    log.write_text("first\n" + "x" * 5000 + "\nlast words \n\n")
    assert server._last_words(str(log)) == "last words"


def test_a_server_that_does_not_start_is_refused(tmp_path, monkeypatch):
    """Its log is begun anew when it has grown too long."""
    log = Path(find_prefix(str(tmp_path / "x.db")) + ".log")
    log.write_text("x" * 2_000_000)
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(Refused, match="does not start: it said nothing"):
        server.open_server(str(tmp_path / "x.db"), b"{}\n")
    assert log.stat().st_size == 0
    monkeypatch.setattr("sys.executable", "/not/there")
    with pytest.raises(Refused, match="No such file"):
        server.open_server(str(tmp_path / "x.db"), b"{}\n")


def test_a_path_that_sqlite_does_not_take_is_told_before_anything_is_made(tmp_path):
    """With its length and what to do, by relay and store alike; one that is just short enough is taken."""
    room = 504 - len(os.fsencode(tmp_path))
    names = ["d" * 100] * (room // 101) + ["d" * (room % 101 - 1 or 1)]
    fits = tmp_path.joinpath(*names)
    fits = fits if len(str(fits)) == 504 else Path(str(fits)[:504])
    fits.parent.mkdir(parents=True)
    long = Path(f"{fits}é")
    with pytest.raises(Refused, match="has 506 bytes, and SQLite takes at most 504") as relayed:
        server.open_server(str(long), b"{}\n")
    with pytest.raises(Unavailable, match="has 506 bytes") as opened:
        open_sqlite(long)
    assert "--db" in relayed.value.hint
    assert relayed.value.hint == opened.value.hint
    assert not [*fits.parent.iterdir()]
    open_sqlite(fits).close()


@pytest.mark.parametrize("starts", [1, 2, 3])
def test_a_server_that_is_gone_before_it_lets_anybody_in_is_started_once_more(
    tmp_path, monkeypatch, starts
):
    """And no more often: then the client is told, who may repeat what he asked."""
    started = []
    monkeypatch.setattr(server, "_start", lambda *_: started.append(1))
    there = object()
    monkeypatch.setattr(server, "_greeted", lambda *_: there if len(started) >= starts else None)
    if starts <= 2:
        assert server.open_server(str(tmp_path / "x.db"), b"{}\n") is there
    else:
        with pytest.raises(Refused, match="was started and is gone"):
            server.open_server(str(tmp_path / "x.db"), b"{}\n")
    assert len(started) == min(starts, 2)


def test_what_a_server_made_known_is_read_no_further_than_it_can_be_long(tmp_path):
    """A file of gigabytes in its place is none of a server's: it is told at once."""
    database = tmp_path / "x.db"
    known = find_rendezvous(database).file("json")
    known.write_bytes(b"{}")
    os.truncate(known, 3 << 30)
    assert server._greeted(find_prefix(str(database)), b"{}\n") is None
    assert find_rendezvous(database).known() is None


def test_a_server_of_another_account_is_never_started(tmp_path):
    """Where none listens that is said, and who can start it; nothing is made."""
    with pytest.raises(Refused, match="no server listens") as refused:
        server.open_server(f"unix:{tmp_path}/x.sock", b"{}\n")
    with pytest.raises(Refused, match="no server listens"):
        server.open_server(f"unix:{tmp_path}/none/x.sock", b"{}\n")
    assert "whoever runs it" in refused.value.hint
    (tmp_path / "y.sock").mkdir()
    with pytest.raises(Refused, match=r"no server listens|cannot be reached"):
        server.open_server(f"unix:{tmp_path}/y.sock", b"{}\n")
    assert [one.name for one in tmp_path.iterdir()] == ["y.sock"]


LISTENS = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen()
print("+", flush=True)
to, _ = listener.accept()
to.settimeout(5)
print(len(to.recv(100_000)), flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs processes of two accounts")
def test_nothing_is_said_to_a_socket_of_a_stranger(monkeypatch):
    """Whoever laid the file that names it: neither variables nor a secret, also as the server of another account."""
    with tempfile.TemporaryDirectory() as top:
        Path(top).chmod(0o711)
        (home := Path(top) / "home").mkdir(0o700)
        (theirs := Path(top) / "theirs").mkdir()
        os.chown(theirs, 61_003, 61_003)
        known = {"socket": str(theirs / "x.sock"), "protocol": 1}
        (home / "x.db-server.json").write_text(json.dumps(known))
        for awaited, named in (
            (os.getuid(), str(home / "x.db")),
            (61_002, f"unix:{theirs}/x.sock"),
        ):
            (theirs / "x.sock").unlink(missing_ok=True)
            listening = subprocess.Popen(
                [sys.executable, "-c", LISTENS, str(theirs / "x.sock"), "61003"],
                stdout=subprocess.PIPE,
                text=True,
            )
            with listening:
                assert listening.stdout is not None
                assert listening.stdout.readline() == "+\n"
                monkeypatch.setattr(server, "awaited_at", lambda _path, awaited=awaited: awaited)
                with pytest.raises(Refused, match="of another account"):
                    server.open_server(named, b'{"secret": "s"}\n')
                assert listening.stdout.readline() == "0\n"
        home.chmod(0o777)
        with pytest.raises(Refused, match="others can write"):
            server.open_server(str(home / "x.db"), b'{"secret": "s"}\n')


def test_a_lock_or_a_log_that_is_a_link_is_not_followed(tmp_path):
    """Somebody could have laid it there to have another file emptied."""
    victim = tmp_path / "victim"
    for ending in ("starting", "log"):
        link = tmp_path / f"x.db-server.{ending}"
        link.symlink_to(victim)
        with pytest.raises(Refused, match="is a link"):
            server.open_server(str(tmp_path / "x.db"), b"{}\n")
        link.unlink()
    assert not victim.exists()
