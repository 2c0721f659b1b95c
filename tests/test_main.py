"""Where the program starts: on a system that lacks what it needs it says so, and where it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("lacking", ["fcntl", "pwd", "resource"])
@pytest.mark.parametrize("words", [["--help"], ["mcp"], ["serve"], ["status"]])
def test_a_system_that_it_does_not_run_on_is_told_so(lacking: str, words: list[str]) -> None:
    """As on Windows: two lines and exit code 3, in place of a traceback."""
    program = (
        f"import sys; sys.modules[{lacking!r}] = None; sys.argv = ['counterpoint', *{words!r}];"
        " from counterpoint.__main__ import main; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )  # fmt: skip
    assert ran.returncode == 3
    assert ran.stdout == ""
    assert ran.stderr.splitlines() == [
        f"counterpoint: it runs on Linux and macOS, and this system has no `{lacking}`",
        "On Windows run it, and the agents, inside WSL 2.",
    ]


@pytest.mark.parametrize(("registers", "ends"), [(False, ""), (True, "over\n")])
def test_a_process_that_nobody_waits_for_is_not_taken_down_piece_by_piece(
    registers: bool, ends: str
) -> None:
    """What a command has loaded goes with its process; whoever asked for an end by `atexit` has one."""
    program = (
        "import sys; sys.argv = ['counterpoint', 'version']\n"
        "class Last:\n"
        "    def __del__(self): print('taken down', file=sys.stderr)\n"
        "last = Last()\n"
        f"if {registers}:\n"
        "    import atexit; atexit.register(lambda: print('over', file=sys.stderr))\n"
        "from counterpoint.__main__ import main; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )  # fmt: skip
    assert ran.stdout.startswith("counterpoint ")
    assert ran.stderr.removesuffix("taken down\n") == ends
    assert ("taken down" in ran.stderr) is registers


@pytest.mark.parametrize(
    ("words", "module"), [(["status"], "counterpoint.cli.main"), (["serve"], "counterpoint.cli.server.serving")]
)  # fmt: skip
def test_an_interrupt_while_it_loads_is_no_traceback(words: list[str], module: str) -> None:
    """Ctrl-C in the first tenths of a second: one word and the code of a command that was stopped."""
    program = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        f"sys.meta_path.insert(0, Finder()); sys.argv = ['counterpoint', *{words!r}]\n"
        "from counterpoint.__main__ import main; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "Stopped.\n")
