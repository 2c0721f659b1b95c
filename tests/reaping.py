"""Runs a worker of the tests, and takes up what its tests leave without a parent: `python reaping.py ARGUMENTS-OF-PYTHON`.

The first process of a container may be an agent itself. Were an orphaned relay its child, whatever is below it would be that
agent's: the tests of other workers too, which then are refused what only a person decides. Linux only: prctl(2), PR_SET_CHILD_SUBREAPER.

It is a copy of the interpreter under the name of a program that takes up orphans, so that they are orphans here as anywhere. Between
it and the worker stand two other processes: the lower one counts as the person of the tests, and must be younger than what has no
parent but the one that takes up orphans; else it might have left every agent below.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

_PARENT_DEATH_SIGNAL: Final = 1
_CHILD_SUBREAPER: Final = 36
_NAME: Final = "tini"
_ARGUMENTS: Final = "COUNTERPOINT_TEST_WORKER"
_PROGRAM: Final = "COUNTERPOINT_TEST_PROGRAM"
_LEVEL: Final = "COUNTERPOINT_TEST_LEVEL"


def main() -> None:
    """Run the worker to its end, and end as it does."""
    if sys.argv[1:]:
        # The words of a parent tell what it is, and `-c` is one of Claude Code's too.
        words = {_ARGUMENTS: json.dumps(sys.argv[1:]), _PROGRAM: sys.executable}
        copy = f"{tempfile.mkdtemp(prefix='reaping-')}/{_NAME}"
        shutil.copy(Path(sys.executable).resolve(), copy)
        os.execve(copy, [copy, __file__], {**os.environ, **words, "PYTHONHOME": sys.base_prefix})  # noqa: S606 -- it is this very program
    program = os.environ[_PROGRAM]
    libc = ctypes.CDLL(None)
    words, level = [__file__], os.environ.pop(_LEVEL, "top")
    if level == "top":
        del os.environ["PYTHONHOME"]
        libc.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
        os.environ[_LEVEL] = "between"
    elif level == "between":
        os.environ[_LEVEL] = "person"
    else:
        words = json.loads(os.environ.pop(_ARGUMENTS))
        del os.environ[_PROGRAM]
    _await_next_tick()
    child = os.fork()
    if not child:
        libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.execv(program, [program, *words])  # noqa: S606 -- it is this very program
    # The worker answers an interrupt; whoever waits for it does not.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ended = 0
    while ended != child:
        ended, status = os.wait()
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _await_next_tick() -> None:
    """Return once whatever is started is younger than this process: the kernel counts starts in ticks (proc(5))."""
    stat = Path("/proc/self/stat").read_text()
    started = int(stat.rpartition(") ")[2].split()[19])
    while time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") <= started + 1:
        pass


if __name__ == "__main__":
    main()
