"""Which process is at the other end of a socket, from when it is let in.

A number alone may be another's by the time somebody looks at it, for it is given again when its process has ended.
So the kernel is asked for a descriptor of the process itself (SO_PEERPIDFD of Linux 6.5, before that pidfd_open(2));
as long as that process has not ended, its number is its own.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
from collections.abc import Collection, Generator
from dataclasses import dataclass, field
from typing import Final

from counterpoint.kernel.errors import Forbidden

_CREDENTIALS: Final = struct.Struct("3i")
"""struct ucred of unix(7): process, user, group."""
_XUCRED: Final = struct.Struct("2Ih16I")
"""struct xucred of sys/ucred.h on macOS: version, user, number of groups, groups."""
_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
_SO_PEERPIDFD: Final = 77
_NONE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerProcess:
    """A process at the other end of a socket; 0 where the system names none. user: whose it is."""

    pid: int
    user: int
    descriptor: int = field(default=_NONE, compare=False)

    def has_ended(self, within: float = 0) -> bool:
        """Return whether it ends within so many seconds; no where no descriptor of it is to be had."""
        if self.descriptor == _NONE:
            return False
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return bool(poll.poll(within * 1000))


@contextlib.contextmanager
def held_peer(to: socket.socket, users: Collection[int]) -> Generator[PeerProcess]:
    """Hold the process at the other end during the block; Forbidden for that of a user not among these."""
    pid, user = _peer(to, users)
    descriptor = _descriptor(to, pid)
    try:
        yield PeerProcess(pid=pid, user=user, descriptor=descriptor)
    finally:
        if descriptor != _NONE:
            os.close(descriptor)


@contextlib.contextmanager
def held_process(pid: int) -> Generator[PeerProcess | None]:
    """Hold the process of a number during the block; None for this one, and where none can be held."""
    try:
        descriptor = os.pidfd_open(pid) if pid not in {0, os.getpid()} else _NONE
    except (AttributeError, OSError):
        descriptor = _NONE
    if descriptor == _NONE:
        yield None
        return
    try:
        yield PeerProcess(pid=pid, user=os.getuid(), descriptor=descriptor)
    finally:
        os.close(descriptor)


def _descriptor(to: socket.socket, pid: int) -> int:
    if not pid or not sys.platform.startswith("linux"):
        return _NONE
    try:
        return to.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError:
        # An older kernel, or nobody is left at the other end.
        pass
    try:
        return os.pidfd_open(pid)
    except OSError:
        return _NONE


def _peer(to: socket.socket, users: Collection[int]) -> tuple[int, int]:
    """Return process and user at the other end, 0 for a process that the system does not name; Forbidden."""
    if sys.platform == "darwin":
        credentials = to.getsockopt(_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
        user = _XUCRED.unpack_from(credentials)[1]
        pid = int.from_bytes(to.getsockopt(_LOCAL, _LOCAL_PEERPID, 4), sys.byteorder)
    elif hasattr(socket, "SO_PEERCRED"):
        credentials = to.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, user, _ = _CREDENTIALS.unpack(credentials)
    else:
        return 0, os.getuid()
    # The mode of the socket keeps others out already; not every system looks at it.
    if user not in users:
        raise Forbidden("this server belongs to another user", hint="Use a database of your own.")
    return pid, user
