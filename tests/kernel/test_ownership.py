"""What lies beside a database is this account's alone, and who answers is who is awaited."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from counterpoint.kernel import ownership
from counterpoint.kernel.ownership import (
    Untrusted,
    awaited_at,
    check_folder,
    check_peer,
    is_peer_alive,
)
from counterpoint.kernel.places import ForeignFolder, open_private

STRANGER = 61_003
"""A number that no account of a machine has."""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Answer the path of a database in a folder that others can enter and not write."""
    folder = tmp_path / "ledger"
    folder.mkdir(mode=0o755)
    made = folder / "ledger.db"
    made.touch(0o600)
    return made


def refused(database: Path) -> Untrusted:
    """Answer why a database is not trusted."""
    with pytest.raises(Untrusted) as caught:
        check_folder(str(database))
    return caught.value


def test_what_is_not_there_is_not_judged(tmp_path: Path, database: Path) -> None:
    """A folder that is still to be made, and one that is as it should be, with a socket in it."""
    check_folder(str(tmp_path / "none" / "ledger.db"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{database}-server.sock")
        check_folder(str(database))


def test_a_file_in_the_place_of_the_folder_is_called_one(tmp_path: Path) -> None:
    """And not a link, which it is not."""
    (tmp_path / "ledger").touch()
    assert refused(tmp_path / "ledger" / "ledger.db").message.endswith("where a folder is meant")


@pytest.mark.parametrize("mode", [0o770, 0o757, 0o1777])
def test_a_folder_that_others_can_write_is_refused(database: Path, mode: int) -> None:
    """By its group, by everybody, sticky or not; the answer says what to do."""
    database.parent.chmod(mode)
    fault = refused(database)
    assert str(database.parent) in fault.message
    assert "chmod go-w" in fault.hint or "a folder of its own" in fault.hint


@pytest.mark.parametrize("ending", ownership.BESIDE)
def test_each_file_that_is_a_link_or_that_others_can_write_is_refused(
    database: Path, ending: str
) -> None:
    file = Path(f"{database}{ending}")
    file.touch()
    file.chmod(0o666)
    assert str(file) in refused(database).message
    database.parent.chmod(0o700)
    check_folder(str(database))
    file.unlink()
    file.mkdir()
    assert f"{file} is a folder, where a file is meant" in refused(database).message
    file.rmdir()
    file.symlink_to(database.parent / "elsewhere")
    assert "is a link" in refused(database).message
    folder = database.parent.rename(database.parent.with_name("moved"))
    database.parent.symlink_to(folder)
    assert "--db" in refused(database).hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another account")
def test_what_is_another_accounts_is_refused(database: Path) -> None:
    """A file, the folder, and the folder for sockets."""
    file = Path(f"{database}-server.json")
    file.touch(0o600)
    os.chown(file, STRANGER, STRANGER)
    assert "another account" in refused(database).message
    os.chown(database.parent, STRANGER, STRANGER)
    assert f"uid {STRANGER}" in refused(database).message
    with pytest.raises(ForeignFolder):
        open_private(str(database.parent))
    own = database.parent.with_name("own")
    own.mkdir()
    own.chmod(0o777)
    with pytest.raises(ForeignFolder, match="others can write"):
        open_private(str(own))


def test_the_folder_of_a_socket_says_whose_answer_is_awaited(tmp_path: Path) -> None:
    """As long as nobody else can put a socket there, or another folder in its place."""
    folder = tmp_path / "above" / "run"
    folder.mkdir(parents=True)
    place = str(folder / "agents.sock")
    assert awaited_at(place) == os.getuid()
    folder.chmod(0o777)
    with pytest.raises(Untrusted, match="can write"):
        awaited_at(place)
    folder.chmod(0o755)
    folder.parent.chmod(0o777)
    with pytest.raises(Untrusted, match="can exchange"):
        awaited_at(place)
    folder.parent.chmod(0o1777)
    assert awaited_at(place) == os.getuid()


def test_who_listens_is_asked_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is said; where a system does not tell, the rights of the socket are all there is."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        check_peer(ours, os.getuid())
        if sys.platform == "linux":
            with pytest.raises(Untrusted, match="another account"):
                check_peer(ours, STRANGER)
        monkeypatch.setattr(sys, "platform", "freebsd")
        check_peer(ours, STRANGER)

    class Told:
        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            return (0).to_bytes(4, sys.byteorder) + STRANGER.to_bytes(4, sys.byteorder) + bytes(68)

    monkeypatch.setattr(sys, "platform", "darwin")
    check_peer(Told(), STRANGER)  # pyright: ignore[reportArgumentType] -- all that is asked of a socket


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who listened")
def test_a_peer_lives_until_its_process_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not somebody has waited for it; other systems do not tell."""
    path = str(tmp_path / "x.sock")
    program = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen();"
        "print(flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-S", "-c", program, path]
    with (
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as listener,
        socket.socket(socket.AF_UNIX) as ours,
    ):
        assert listener.stdout is not None
        assert listener.stdin is not None
        listener.stdout.readline()
        ours.connect(path)
        assert is_peer_alive(ours)
        listener.stdin.close()
        os.waitid(os.P_PID, listener.pid, os.WEXITED | os.WNOWAIT)
        assert not is_peer_alive(ours)
        listener.wait()
        assert not is_peer_alive(ours)
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert is_peer_alive(ours)
        monkeypatch.setattr(sys, "platform", "freebsd")
        assert not is_peer_alive(ours)
