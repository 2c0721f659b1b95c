"""What macOS says of a process, through libproc (libproc.h, sys/proc_info.h)."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Final, NamedTuple

from counterpoint.core.model.identity import Process


class _BsdProcess(ctypes.Structure):
    """struct proc_bsdinfo of sys/proc_info.h."""

    _fields_ = (
        ("flags", ctypes.c_uint32),
        ("status", ctypes.c_uint32),
        ("xstatus", ctypes.c_uint32),
        ("pid", ctypes.c_uint32),
        ("ppid", ctypes.c_uint32),
        ("uid", ctypes.c_uint32),
        ("gid", ctypes.c_uint32),
        ("ruid", ctypes.c_uint32),
        ("rgid", ctypes.c_uint32),
        ("svuid", ctypes.c_uint32),
        ("svgid", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("comm", ctypes.c_char * 16),
        ("name", ctypes.c_char * 32),
        ("files", ctypes.c_uint32),
        ("pgid", ctypes.c_uint32),
        ("jobc", ctypes.c_uint32),
        ("tdev", ctypes.c_uint32),
        ("tpgid", ctypes.c_uint32),
        ("nice", ctypes.c_int32),
        ("start_seconds", ctypes.c_uint64),
        ("start_microseconds", ctypes.c_uint64),
    )


_BSD_INFO: Final = 3
_PATH_BYTES: Final = 4096
_NO_DEVICE: Final = 0xFFFFFFFF
_SECOND: Final = 1_000_000


class _Libproc(NamedTuple):
    """The two libraries that macOS is asked through."""

    proc: ctypes.CDLL
    system: ctypes.CDLL


@cache
def _libproc() -> _Libproc:
    system = ctypes.CDLL(None, use_errno=True)
    return _Libproc(ctypes.CDLL("/usr/lib/libproc.dylib", use_errno=True), system)


def look(pid: int) -> Process | None:
    """Return what the kernel says of a process; None if it is not there."""
    told, room = _BsdProcess(), ctypes.create_string_buffer(_PATH_BYTES)
    libraries = _libproc()
    size = ctypes.sizeof(told)
    if libraries.proc.proc_pidinfo(pid, _BSD_INFO, 0, ctypes.byref(told), size) != size:
        return None
    length = libraries.proc.proc_pidpath(pid, room, _PATH_BYTES)
    return Process(
        pid=pid,
        parent=told.ppid,
        uid=told.uid,
        session=max(0, libraries.system.getsid(pid)),
        has_terminal=told.tdev != _NO_DEVICE,
        started=told.start_seconds * _SECOND + told.start_microseconds,
        executable=os.fsdecode(room.raw[:length]) if length > 0 else "",
    )
