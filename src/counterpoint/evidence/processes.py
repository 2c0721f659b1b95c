"""What the kernel says of a process and of those that started it.

    lineage   the process, its parent, the parent of that one … up to the first that has none or cannot be seen
    started   when a process began, as the kernel counts it: with its number it names the process, since a number
              is given again only after its process has ended
    boot      what the machine has been up since: numbers and starts are told apart by it

Linux is asked through /proc (proc(5)), macOS through libproc (libproc.h, sys/proc_info.h). A process that
ends while it is looked at, or one that a parent's number names by accident, ends the lineage: no parent begins
after its child. Whoever looks at a peer of a socket looks at it again after the walk, for the number that the
socket named may be another's by then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from counterpoint.core.model.identity import Peer, Process

MOST: Final = 64
"""How many ancestors are looked at: more than any terminal, editor or launcher has above it."""

_PROC: Final = Path("/proc")
_AFTER_NAME: Final = b") "


def lineage(pid: int) -> tuple[Process, ...]:
    """Return a process and its ancestors, the process first; nothing if it is not there."""
    found: list[Process] = []
    while pid > 0 and len(found) < MOST:
        process = look(pid)
        if process is None or (found and process.started > found[-1].started):
            break
        found.append(process)
        pid = process.parent
    return tuple(found)


def peer(pid: int) -> Peer:
    """Return who is at the other end of a socket that names a process; without lineage if that has ended.

    After the walk everybody must still be who he was, and his parent the same.
    """
    found = lineage(pid)
    if any(_mark(look(process.pid)) != _mark(process) for process in found):
        found = ()
    return Peer(lineage=found, boot=boot())


def _mark(process: Process | None) -> tuple[int, int] | None:
    return None if process is None else (process.started, process.parent)


def look(pid: int) -> Process | None:
    """Return what the kernel says of a process; None if it is not there."""
    return _reader()(pid)


@cache
def boot() -> str:
    """Return what tells this boot of the machine from all others; empty if the kernel does not say."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        # Where a process is named by the time at which it began, no boot needs to be told.
        return ""


@cache
def _reader() -> Callable[[int], Process | None]:
    if sys.platform == "darwin":
        from counterpoint.evidence import libproc

        return libproc.look
    return _look_linux


def _look_linux(pid: int) -> Process | None:
    folder = _PROC / str(pid)
    try:
        # The name in the second field may hold anything, brackets too: what counts comes after the last.
        fields = (folder / "stat").read_bytes().rpartition(_AFTER_NAME)[2].split()
        uid = folder.stat().st_uid
    except OSError:
        return None
    try:
        executable = str((folder / "exe").readlink())
    except OSError:
        executable = ""
    return Process(
        pid=pid,
        parent=int(fields[1]),
        uid=uid,
        session=int(fields[3]),
        has_terminal=fields[4] != b"0",
        started=int(fields[19]),
        executable=executable.removesuffix(" (deleted)"),
    )
