"""The secret of a connection: kept for who is started again, and for nobody else."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from counterpoint.kernel.client_session import OLD, client_session, open_secret

WORDS = ("CLAUDE_CODE_SESSION_ID 7", "/somewhere/ledger.db", "native")
PROGRAM = """
import sys
from counterpoint.kernel.client_session import open_secret
print(open_secret(sys.argv[2:], {"XDG_STATE_HOME": sys.argv[1]}), flush=True)
sys.stdin.read()
"""


CLIENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {PROGRAM!r}, *sys.argv[1:]])
"""


class Window:
    """A connection in a process of its own."""

    def __init__(self, state: Path, *words: str) -> None:
        """Start it and hear its secret."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(state), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.secret = self._process.stdout.readline().strip()

    def end(self) -> None:
        """Let it end, however."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    """Give the folder of the secrets."""
    return tmp_path / "counterpoint" / "sessions"


def test_a_client_that_is_started_again_has_the_secret_of_before(
    tmp_path: Path, files: Path
) -> None:
    """It lies in a file that only the user can read, under a name that tells nothing."""
    first = Window(tmp_path, *WORDS)
    first.end()
    again = Window(tmp_path, *WORDS)
    again.end()
    assert open_secret(WORDS, {"XDG_STATE_HOME": str(tmp_path)}) == first.secret
    assert re.fullmatch("[0-9a-f]{64}", first.secret)
    assert again.secret == first.secret
    (file,) = files.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.stat().st_mode) == 0o700
    assert re.fullmatch("[0-9a-f]{32}", file.name)


def test_two_that_live_share_no_secret(tmp_path: Path) -> None:
    """Nor do those of another client's session, database or role."""
    first, beside = Window(tmp_path, *WORDS), Window(tmp_path, *WORDS)
    others = [Window(tmp_path, *WORDS[:place], "other", *WORDS[place + 1 :]) for place in range(3)]
    assert len({first.secret, beside.secret, *(one.secret for one in others)}) == 5
    for window in (first, beside, *others):
        window.end()


def test_who_says_nothing_has_a_secret_of_the_moment(tmp_path: Path, files: Path) -> None:
    """Nothing is kept of it."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    assert open_secret(("", "x"), environ) != open_secret(("", "x"), environ)
    assert not files.exists()


def test_a_client_says_by_its_run_or_its_variables_which_session_it_is_in() -> None:
    """The run that a launcher gives goes first."""
    environ = {"CODEX_THREAD_ID": "9", "CLAUDE_CODE_SESSION_ID": ""}
    assert client_session("12", environ) == "run 12"
    assert client_session("", environ) == "CODEX_THREAD_ID 9"
    assert client_session("", {}) == ""


def test_without_a_folder_of_the_state_it_is_that_of_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the specification of these folders says."""
    monkeypatch.setenv("HOME", str(tmp_path))
    open_secret(WORDS, {})
    assert len(list((tmp_path / ".local/state/counterpoint/sessions").iterdir())) == 1


@pytest.mark.parametrize("what", ["link", "folder", "nowhere"])
def test_what_is_no_file_of_the_users_own_is_not_used(
    tmp_path: Path, files: Path, what: str
) -> None:
    """A link that somebody laid there is not followed; there is a secret all the same."""
    target = tmp_path / "target"
    open_secret(WORDS, {"XDG_STATE_HOME": str(tmp_path)})
    (file,) = files.iterdir()
    file.unlink()
    if what == "link":
        file.symlink_to(target)
    elif what == "folder":
        os.mkfifo(file)
    else:
        files.rmdir()
        files.write_text("")
    found = open_secret(WORDS, {"XDG_STATE_HOME": str(tmp_path)})
    assert re.fullmatch("[0-9a-f]{64}", found)
    assert not target.exists()


def test_half_a_secret_is_made_anew_and_old_ones_are_removed(tmp_path: Path, files: Path) -> None:
    """What nobody has used for a month is nobody's any more."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    window = Window(tmp_path, *WORDS)
    window.end()
    (file,) = files.iterdir()
    file.write_text("abc")
    fresh = open_secret(WORDS, environ)
    assert file.read_text().split()[0] == fresh != window.secret
    now = file.stat().st_mtime
    os.utime(file, (now - OLD - 5, now - OLD - 5))
    open_secret(("run 1", "x"), environ)
    assert file.name not in {one.name for one in files.iterdir()}


def test_who_finds_a_locked_file_of_which_nothing_is_known_waits_for_nobody(
    tmp_path: Path, files: Path
) -> None:
    """Such as one that was just made; the secret is one of the moment. So it is beside somebody who lives."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    first = open_secret(WORDS, environ)
    (file,) = files.iterdir()
    kept = file.read_text()
    for words in ("", f"{first} 1 x", kept):
        file.write_text(words)
        assert open_secret(WORDS, environ) != first


def test_who_lost_its_client_is_waited_for(tmp_path: Path) -> None:
    """A client was killed and is started again before what it had started has ended: that has no parent now."""
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(tmp_path), *WORDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdin is not None
    assert client.stdout is not None
    secret = client.stdout.readline().strip()
    client.kill()
    client.wait()
    with ThreadPoolExecutor(1) as pool:
        again = pool.submit(open_secret, WORDS, {"XDG_STATE_HOME": str(tmp_path)})
        while not again.done() and not _holds_a_process():
            threading.Event().wait(0.01)
        assert not again.done()
        client.stdin.close()
        assert again.result(20) == secret
    client.stdout.close()


def _holds_a_process() -> bool:
    for place in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):
            if "pidfd" in str(place.readlink()):
                return True
    return False
