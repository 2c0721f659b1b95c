"""What a command has started, and its end.

Rule 1: this process adopts every orphan below it (PR_SET_CHILD_SUBREAPER), so that also who left its group, its session
or its parent stays below. Rule 2: all of them are killed again and again until the kernel says that there is no child left: what
one starts while it is killed is a child then too. Rule 3: where the kernel has neither, as macOS, the group of the command is
all that can be reached.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_IS_LINUX: Final = sys.platform == "linux"
_PATIENCE: Final = 10.0
"""Seconds for what is killed to be gone: a process in a call of the kernel that hangs is not."""
_PAUSE: Final = 0.05
_CHUNK: Final = 4096
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def prctl(option: int, value: int) -> None:
    """Tell the kernel about this process, where it is Linux."""
    if _IS_LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def adopt() -> None:
    """Become the parent of every orphan below."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int = 0) -> None:
    """Let the kernel kill this process when its parent ends; at once if that is another one than was said."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def below(top: int) -> dict[int, int]:
    """Return every process below one, with the bytes of memory that it holds."""
    children: dict[int, list[tuple[int, int]]] = {}
    for name in os.listdir("/proc") if _IS_LINUX else ():
        if name.isdecimal() and (status := _stat(name)) is not None:
            children.setdefault(status[0], []).append((int(name), status[1]))
    all_of_them: dict[int, int] = {}
    waiting = [top]
    while waiting:
        for pid, memory in children.get(waiting.pop(), ()):
            all_of_them[pid] = memory
            waiting.append(pid)
    return all_of_them


def _stat(pid: str) -> tuple[int, int] | None:
    """Return the parent and the memory of a process; None of one that has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in brackets may hold anything, brackets too.
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(words[1]), int(words[21]) * _PAGE


class Family:
    """A command and whatever it has started; `status` is how the command ended, None until then."""

    def __init__(self, leader: int, woken: int) -> None:
        """Know the process that the command is, and what can be read when a child has ended."""
        self.leader, self.status = leader, None
        self.woken = woken

    def collect(self) -> bool:
        """Collect those that have ended; answer whether any process is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return True
                if pid == self.leader:
                    self.status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return False

    def hear(self) -> None:
        """Take what says that children have ended."""
        with suppress(BlockingIOError):
            while os.read(self.woken, _CHUNK):
                pass

    def end(self) -> None:
        """Kill all of it, and collect it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, signal.SIGKILL)
        deadline = monotonic() + _PATIENCE
        while self.collect() and monotonic() < deadline:
            for pid in below(os.getpid()):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            select.select([self.woken], [], [], _PAUSE)
            self.hear()
