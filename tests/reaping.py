"""Runs a worker of the tests, and takes up what its tests leave without a parent: `python reaping.py ARGUMENTS-OF-PYTHON`.

The first process of a container may be an agent itself. Were an orphaned relay its child, whatever is below it would be that
agent's: the tests of other workers too, which then are refused what only a person decides. Linux only: prctl(2), PR_SET_CHILD_SUBREAPER.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Final

_PARENT_DEATH_SIGNAL: Final = 1
_CHILD_SUBREAPER: Final = 36
_ARGUMENTS: Final = "COUNTERPOINT_TEST_WORKER"


def main() -> None:
    """Run the worker to its end, and end as it does."""
    if sys.argv[1:]:
        # The words of a parent tell what it is, and `-c` is one of Claude Code's too.
        os.environ[_ARGUMENTS] = json.dumps(sys.argv[1:])
        os.execv(sys.executable, [sys.executable, __file__])  # noqa: S606 -- it is this very program
    arguments: list[str] = json.loads(os.environ.pop(_ARGUMENTS))
    libc = ctypes.CDLL(None)
    libc.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    worker = os.fork()
    if not worker:
        libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 -- it is this very program
    # The worker answers an interrupt; whoever waits for it does not.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ended = 0
    while ended != worker:
        ended, status = os.wait()
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()
