"""Information of macOS about a process, through sysctl(3) and libproc.h.

`struct kinfo_proc` of sys/sysctl.h, on 64 bits, has 648 bytes; the fields that are read lie at

    0  p_starttime: seconds (8 bytes), microseconds (4)      420  cr_uid (4)
    40  p_pid (4)       243  p_comm (17, ended by a zero)     560  e_ppid (4)      572  e_tdev (4)

Unlike what libproc tells, it is there for the processes of every user.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from typing import Final, NamedTuple

from counterpoint.core.model.identity import Process

SIZE: Final = 648
"""Bytes of a `struct kinfo_proc`."""

_WHICH: Final = (1, 14, 1)
"""CTL_KERN, KERN_PROC, KERN_PROC_PID."""
_STARTED: Final = struct.Struct("=qi")
_NUMBER: Final = struct.Struct("=i")
_PID, _NAME, _USER, _PARENT, _DEVICE = 40, slice(243, 260), 420, 560, 572
_PATH_BYTES: Final = 4096
_NO_DEVICE: Final = -1
_SECOND: Final = 1_000_000


class _Libraries(NamedTuple):
    """The two libraries that macOS is asked through."""

    proc: ctypes.CDLL
    system: ctypes.CDLL


@cache
def _libraries() -> _Libraries:
    system = ctypes.CDLL(None, use_errno=True)
    return _Libraries(ctypes.CDLL("/usr/lib/libproc.dylib", use_errno=True), system)


def look(pid: int) -> Process | None:
    """Return what the kernel says of a process; None if it is not there."""
    info, path_buffer = ctypes.create_string_buffer(SIZE), ctypes.create_string_buffer(_PATH_BYTES)
    libraries, size = _libraries(), ctypes.c_size_t(SIZE)
    which = (ctypes.c_int * 4)(*_WHICH, pid)
    if libraries.system.sysctl(which, 4, info, ctypes.byref(size), None, 0) or size.value != SIZE:
        return None
    length = libraries.proc.proc_pidpath(pid, path_buffer, _PATH_BYTES)
    path = os.fsdecode(path_buffer.raw[:length]) if length > 0 else ""
    return parsed(info.raw, path, max(0, libraries.system.getsid(pid)))


def parsed(info: bytes, path: str, session: int) -> Process | None:
    """Return the process of a `struct kinfo_proc`; None for one that is empty."""
    pid, user, parent, device = (
        _NUMBER.unpack_from(info, at)[0] for at in (_PID, _USER, _PARENT, _DEVICE)
    )
    seconds, microseconds = _STARTED.unpack_from(info)
    if not pid:
        return None
    return Process(
        pid=pid,
        parent=parent,
        uid=user,
        session=session,
        has_terminal=device != _NO_DEVICE,
        started=seconds * _SECOND + microseconds,
        executable=path or os.fsdecode(info[_NAME].partition(b"\0")[0]),
    )


def boot() -> str:
    """Return what tells this boot of the machine from all others; empty if the kernel does not say."""
    buffer, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    name = b"kern.bootsessionuuid"
    failed = _libraries().system.sysctlbyname(name, buffer, ctypes.byref(size), None, 0)
    return "" if failed else buffer.value.decode("ascii", "replace")
