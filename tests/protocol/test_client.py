"""The client for programs that are not async: answers, refusals, and servers that fail it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from counterpoint.kernel.errors import ProgramMissing, Unavailable
from counterpoint.protocol.client import ToolRefused, connect

PATIENCE = 20.0

pytestmark = pytest.mark.e2e


def is_running(pid: int) -> bool:
    """Tell whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def opened(program: str, folder: Path, *words: str):
    """Open a connection to the small surface."""
    return connect(
        [sys.executable, program, *words], folder=folder, environ=os.environ, patience=PATIENCE
    )


def test_a_call_answers_what_the_tool_answers(program: str, tmp_path: Path) -> None:
    """The structured answer comes back as a dictionary, call after call."""
    with opened(program, tmp_path) as connection:
        assert connection.call("echo", text="one")["text"] == "one"
        assert connection.call("echo", text="zwei …")["text"] == "zwei …"


def test_a_refusal_is_raised_with_its_envelope(program: str, tmp_path: Path) -> None:
    """What a server refuses is an exception with all that the server said."""
    with opened(program, tmp_path) as connection:
        with pytest.raises(ToolRefused) as refusal:
            connection.call("refuse")
        assert refusal.value.envelope["error"]["code"] == "already_claimed"
        assert "cp-7 is taken" in str(refusal.value)
        assert refusal.value.code == ""
        assert connection.call("echo", text="still there")["text"] == "still there"


def test_the_code_of_a_native_refusal_is_named() -> None:
    refusal = ToolRefused("start", "words", {"error": "claim_lost"})
    assert refusal.code == "claim_lost"


def test_a_server_that_is_apart_does_not_hear_what_its_caller_hears(
    program: str, tmp_path: Path
) -> None:
    """A Ctrl-C goes to the group of the caller; else both are in one."""
    argv = [sys.executable, program]
    for is_apart in (True, False):
        with connect(
            argv, folder=tmp_path, environ=os.environ, patience=PATIENCE, is_apart=is_apart
        ) as connection:
            assert connection.call("echo", text="here")["text"] == "here"
            assert (os.getpgid(connection.pid) == os.getpgrp()) is not is_apart


def test_the_end_of_the_block_ends_the_server(program: str, tmp_path: Path) -> None:
    """No server stays behind when its client has left."""
    with opened(program, tmp_path) as connection:
        pid = connection.pid
        assert is_running(pid)
    assert not is_running(pid)


def test_a_failure_in_the_block_ends_the_server_too(program: str, tmp_path: Path) -> None:
    """An exception passes through as it is, and the server is gone."""
    pids: list[int] = []

    def fail() -> None:
        with opened(program, tmp_path) as connection:
            pids.append(connection.pid)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert [is_running(pid) for pid in pids] == [False]


def test_a_server_that_does_not_leave_is_told_to(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that goes on after the end of its input is ended by a signal."""
    monkeypatch.setattr("counterpoint.protocol.client.EXIT_SECONDS", 0.2)
    stubborn = tmp_path / "stubborn.py"
    stubborn.write_text(
        "import runpy, signal, sys\n"
        f"sys.argv = [{program!r}]\n"
        f"sys.path.insert(0, {str(Path(program).parent)!r})\n"
        f"runpy.run_path({program!r}, run_name='__main__')\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "signal.pause()\n"
    )
    with opened(str(stubborn), tmp_path) as connection:
        pid = connection.pid
        assert connection.call("echo", text="one")["text"] == "one"
    assert not is_running(pid)


def test_a_call_to_a_killed_server_is_refused_at_once(program: str, tmp_path: Path) -> None:
    """A server that is gone is unavailable; the caller does not wait for it."""
    with opened(program, tmp_path) as connection:
        os.kill(connection.pid, signal.SIGKILL)
        with pytest.raises(Unavailable, match="did not answer echo"):
            connection.call("echo", text="one")


@pytest.mark.parametrize("program_text", ["", "import sys; sys.stdout.write(sys.stdin.readline())"])
def test_a_program_that_speaks_no_mcp_is_refused(program_text: str, tmp_path: Path) -> None:
    """One that ends, and one that says again what it hears, are both no servers."""
    argv = [sys.executable, "-c", program_text]
    with (
        pytest.raises(Unavailable, match="does not speak MCP"),
        connect(argv, folder=tmp_path, environ=os.environ, patience=PATIENCE),
    ):
        pytest.fail("there is no server")


def test_a_program_that_is_not_there_is_missing(tmp_path: Path) -> None:
    """The name that cannot be started is in the refusal."""
    with (
        pytest.raises(ProgramMissing, match="no-such-program"),
        connect(["no-such-program"], folder=tmp_path, environ={"PATH": ""}),
    ):
        pytest.fail("there is no program")


def test_what_a_server_says_aside_goes_to_a_file(program: str, tmp_path: Path) -> None:
    """Standard error is kept where the caller wants it."""
    log = tmp_path / "server.log"
    argv = [sys.executable, program]
    with connect(argv, folder=tmp_path, environ=os.environ, errors=log) as connection:
        connection.call("echo", text="one")
    assert "LEFT" in log.read_text()
