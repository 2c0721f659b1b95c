"""The secret of a connection: kept for who is started again, and for nobody else."""

from __future__ import annotations

import io
import os
import re
import select
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from counterpoint.kernel.client_session import (
    OLD,
    client_session,
    find_credential,
    find_secret,
    forget_secret,
    open_client,
    open_secret,
    starter,
)

WORDS = ("CLAUDE_CODE_SESSION_ID 7", "/somewhere/ledger.db", "native")
PROGRAM = """
import sys
from counterpoint.kernel.client_session import (
    OLD,
    client_session,
    forget_secret,
    open_secret,
    starter,
)
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
def files(tmp_path: Path) -> Path:
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


def test_one_that_was_killed_is_taken_up_beside_another_of_its_process(tmp_path: Path) -> None:
    """Both were started by the same one, which is all that is known of them; each has its own secret."""
    words = ("process 7 8 boot", *WORDS[1:])
    first, beside = Window(tmp_path, *words), Window(tmp_path, *words)
    beside.end()
    again, third = Window(tmp_path, *words), Window(tmp_path, *words)
    assert again.secret == beside.secret
    assert len({first.secret, again.secret, third.secret}) == 3
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    again.end()
    forget_secret(again.secret, words, environ)
    fresh = Window(tmp_path, *words)
    assert fresh.secret not in {first.secret, again.secret, third.secret}
    for window in (first, third, fresh):
        window.end()


def test_who_says_nothing_has_a_secret_of_the_moment(tmp_path: Path, files: Path) -> None:
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


def stat_line(name: str, parent: int) -> bytes:
    """Answer what the kernel says of a process that began at the 77th tick."""
    return f"1 ({name}) S {parent} {'0 ' * 17}77 0".encode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({5: ("codex", 1)}, "process 5 77 a-boot"),
        ({5: ("uv", 4), 4: ("a) b", 1)}, "process 4 77 a-boot"),
        ({5: ("systemd", 1)}, ""),
        ({5: ("uv", 1), 1: ("sh", 0)}, ""),
        ({5: ("uv", 5)}, ""),
        ({}, ""),
        ({0: ("no boot", 0), 5: ("codex", 1)}, ""),
    ],
)
def test_whose_client_says_nothing_is_known_by_the_process_that_started_it(
    monkeypatch: pytest.MonkeyPatch, line: dict[int, tuple[str, int]], expected: str
) -> None:
    """What only stands between is passed over; what starts all orphans, or cannot be seen, is nobody's."""

    def opened(path: str, *_words: object, **_more: object) -> io.BytesIO | io.StringIO:
        if path.endswith("boot_id"):
            if 0 in line:
                raise FileNotFoundError(path)
            return io.StringIO("a-boot\n")
        pid = int(path.split("/")[2])
        if pid not in line:
            raise FileNotFoundError(path)
        return io.BytesIO(stat_line(*line[pid]))

    monkeypatch.setattr("os.getppid", lambda: 5)
    monkeypatch.setattr("builtins.open", opened)
    assert starter() == expected


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux has such a descriptor")
def test_the_end_of_the_client_is_awaited_by_its_number_and_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is awaited of what many have in common, of one that is gone, and of another that has got its number."""
    client = subprocess.Popen(["sleep", "60"])
    starts: list[str] = []

    def opened(path: str, *_words: object) -> io.BytesIO:
        line = stat_line("systemd" if path.split("/")[2] == "1" else "codex", 1)
        return io.BytesIO(line.replace(b"77", starts.pop(0).encode()) if starts else line)

    monkeypatch.setattr("builtins.open", opened)
    parents = {"client": client.pid, "common": 1, "gone": 2**22 + 1}
    try:
        for name, pid in parents.items():
            monkeypatch.setattr("os.getppid", lambda pid=pid: pid)
            descriptor = open_client()
            assert (descriptor >= 0) is (name == "client"), name
            if descriptor >= 0:
                assert select.select([descriptor], [], [], 0)[0] == []
                client.kill()
                assert select.select([descriptor], [], [], 30)[0] == [descriptor]
                os.close(descriptor)
        monkeypatch.setattr("os.getppid", os.getpid)
        starts += ["77", "78"]
        assert open_client() == -1
    finally:
        client.kill()
        client.wait()


def test_a_secret_is_read_by_its_own_account_and_through_no_link(
    tmp_path: Path, files: Path
) -> None:
    """Whoever holds it; nothing is made by that."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    assert find_secret(WORDS, environ) == ""
    assert [*tmp_path.iterdir()] == []
    secret = open_secret(WORDS, environ)
    assert find_secret(WORDS, environ) == secret
    (file,) = files.iterdir()
    if os.geteuid() == 0:
        os.chown(file, 65534, 65534)
        assert find_secret(WORDS, environ) == ""
        os.chown(file, 0, 0)
    moved = file.rename(tmp_path / "moved")
    file.symlink_to(moved)
    assert find_secret(WORDS, environ) == ""


def test_who_ends_in_order_leaves_no_secret_and_takes_none_from_others(
    tmp_path: Path, files: Path
) -> None:
    """What is kept is removed by whoever has it, and by nobody else."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    words = ("process 5 77 a-boot", "x")
    secret = open_secret(words, environ)
    forget_secret("another", words, environ)
    assert len([*files.iterdir()]) == 1
    forget_secret(secret, words, environ)
    assert [*files.iterdir()] == []
    forget_secret(secret, words, environ)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "$COUNTERPOINT_CREDENTIAL", "${COUNTERPOINT_CREDENTIAL}"),
        *(
            "${COUNTERPOINT_CREDENTIAL:-}",
            "${env:COUNTERPOINT_CREDENTIAL}",
            "%COUNTERPOINT_CREDENTIAL%",
        ),
    ],
)
def test_what_a_client_hands_on_for_an_unset_credential_is_none(text: str) -> None:
    """Its reference, word for word, or nothing: neither tells one client from another."""
    assert find_credential({"COUNTERPOINT_CREDENTIAL": text}) == ""
    assert client_session("", {"COUNTERPOINT_CREDENTIAL": text}) == ""
    given = {"COUNTERPOINT_CREDENTIAL": " cpt_1\n"}
    assert (find_credential(given), client_session("", given)) == (
        "cpt_1",
        "COUNTERPOINT_CREDENTIAL cpt_1",
    )


def goes_on(_client: int) -> str:
    """Answer that a client was started to go on."""
    return "--continue"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--resume", "7", "-p"), "CLAUDE_CODE_SESSION_ID 7"),
        (("-r", "7"), "CLAUDE_CODE_SESSION_ID 7"),
        (("--continue", "-p", "go on"), "CLAUDE_CODE_SESSION_ID before"),
        (("-c",), "CLAUDE_CODE_SESSION_ID before"),
        (("-p", "go on"), "CLAUDE_CODE_SESSION_ID mine"),
        (("--resume", "-p"), "CLAUDE_CODE_SESSION_ID mine"),
        (("--continue", "--fork-session"), "CLAUDE_CODE_SESSION_ID mine"),
    ],
)
def test_a_client_that_goes_on_is_known_by_its_words_and_not_by_what_it_says_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: str
) -> None:
    """Claude Code starts us before it has found the session that it was asked to go on with."""
    environ = {"XDG_STATE_HOME": str(tmp_path), "CLAUDE_CODE_SESSION_ID": "before"}
    client_session("", environ, ("ledger.db", "native"))
    environ["CLAUDE_CODE_SESSION_ID"] = "mine"
    program = tmp_path / "claude"
    program.write_text("input('here\\n')")
    ran = (sys.executable, str(program), *words)
    with subprocess.Popen(ran, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"here\n"
        monkeypatch.setattr("os.getppid", lambda: client.pid)
        found = client_session("", environ, ("ledger.db", "native"))
        client.kill()
    assert found == expected
    # The last one there is what it was then; elsewhere, and with other flags, there was none.
    monkeypatch.setattr("counterpoint.kernel.client_session._asked", goes_on)
    environ["CLAUDE_CODE_SESSION_ID"] = "next"
    assert client_session("", environ, ("ledger.db", "native")) == expected
    assert client_session("", environ, ("ledger.db", "agentic")) == "CLAUDE_CODE_SESSION_ID next"
    assert client_session("", environ) == "CLAUDE_CODE_SESSION_ID next"


def test_a_client_whose_words_cannot_be_read_says_itself_who_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where there is no /proc."""
    monkeypatch.setattr("os.getppid", lambda: 2**30)
    environ = {"XDG_STATE_HOME": str(tmp_path), "CLAUDE_CODE_SESSION_ID": "7"}
    assert client_session("", environ, ("ledger.db",)) == "CLAUDE_CODE_SESSION_ID 7"
