"""Files of `/proc`, read so that nothing mounted over them is believed.

Whoever has a namespace of mounts of his own can lay a file over any other, over those of `/proc` too, and what reads them then
takes his word for the kernel's. So
1. every file is opened below one descriptor of `/proc`, which has to be the root of a procfs;
2. no mount is crossed on the way (openat2(2), `RESOLVE_NO_XDEV`), and no link is followed;
3. below `sys` a mount is passed that shows just that part of the same procfs, as systemd and Docker mount it to make it read-only:
   each folder on the way is then opened in turn, and has the number by which the folder above lists it. What is mounted over a file, even
   another file of the same procfs, has a number of its own;
4. what is covered raises Covered: nothing is known then of whoever looks.

What else is mounted over `/proc` does not matter. Without openat2, as with an old kernel or below a filter of calls, which anybody can
put up, every file is opened in the way of rule 3.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Final

PROC: Final = "/proc"
_OPENAT2: Final = 437
"""The number of the call, on every architecture."""
_NO_MOUNTS: Final = 0x01
_NO_LINKS: Final = 0x04
_MAGIC: Final = 0x9FA0
"""`PROC_SUPER_MAGIC` of magic.h."""
_ROOT_INODE: Final = 1
_MISSING: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.E2BIG})
"""What a kernel without the call answers, and a filter of calls that does not know it."""


class Covered(PermissionError):
    """Something is mounted over a file of the kernel's."""


class _How(ctypes.Structure):
    """`struct open_how` of openat2(2)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def read(path: str, limit: int = 1 << 22) -> bytes:
    """Return a file below `/proc`, up to a limit of bytes; OSError, Covered."""
    with _opened(path, os.O_RDONLY) as descriptor:
        pieces: list[bytes] = []
        size = 0
        while size < limit and (piece := os.read(descriptor, min(limit - size, 1 << 16))):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)


def read_link(path: str) -> str:
    """Return what a link below `/proc` says, which is not followed; OSError, Covered."""
    with _opened(path, os.O_PATH | os.O_NOFOLLOW) as descriptor:
        return os.readlink("", dir_fd=descriptor)


def read_owner(path: str) -> int:
    """Return the user of a folder below `/proc`; OSError, Covered."""
    with _opened(path, os.O_PATH) as descriptor:
        return os.fstat(descriptor).st_uid


def list_names(path: str = ".") -> list[str]:
    """List the names in a folder below `/proc`; OSError, Covered."""
    with _opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        return os.listdir(descriptor)  # noqa: PTH208 -- what is open, whatever its path is now


def list_links(path: str) -> Iterator[str]:
    """Return what each link in a folder below `/proc` says; OSError, Covered."""
    with _opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        for name in os.listdir(descriptor):  # noqa: PTH208 -- what is open, whatever its path is now
            with suppress(OSError):
                yield os.readlink(name, dir_fd=descriptor)


@contextmanager
def _opened(path: str, flags: int) -> Generator[int]:
    descriptor = _open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: str, flags: int) -> int:
    """Return a descriptor of what is at a path, in which no mount was crossed but those of rule 3."""
    root = _root()
    how = _How(flags, 0, _NO_MOUNTS | _NO_LINKS)
    descriptor = _libc().syscall(
        ctypes.c_long(_OPENAT2),
        ctypes.c_int(root),
        ctypes.c_char_p(os.fsencode(path)),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    if descriptor >= 0:
        return int(descriptor)
    number = ctypes.get_errno()
    if number == errno.EXDEV and not path.startswith("sys/"):
        raise Covered(number, "something is mounted over it", f"{PROC}/{path}")
    if number not in _MISSING and number != errno.EXDEV:
        raise OSError(number, os.strerror(number), f"{PROC}/{path}")
    return _walk(root, path, flags)


def _walk(root: int, path: str, flags: int) -> int:
    """Open each folder of a path in turn; each is what the folder above lists under its name. OSError, Covered."""
    listing = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(".", listing, dir_fd=root)
    if path == ".":
        return descriptor
    device = os.fstat(root).st_dev
    *folders, last = path.split("/")
    for name, how in (*((folder, listing) for folder in folders), (last, flags)):
        above = descriptor
        try:
            number = _listed_number(above, name)
            descriptor = os.open(name, how | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        finally:
            os.close(above)
        state = os.fstat(descriptor)
        if (state.st_dev, state.st_ino) != (device, number):
            os.close(descriptor)
            raise Covered(errno.EXDEV, "something is mounted over it", f"{PROC}/{path}")
    return descriptor


def _listed_number(folder: int, name: str) -> int:
    """Return the number of the file that a folder has under a name, whatever is mounted over it; FileNotFoundError."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == name:
                return entry.inode()
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


@cache
def _root() -> int:
    """Return a descriptor of `/proc`, once it is known to be the root of a procfs; Covered."""
    try:
        root = os.open(PROC, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as fault:
        raise Covered(fault.errno, "there is no procfs", PROC) from fault
    # struct statfs differs from system to system; the type is its first word on each.
    kind = (ctypes.c_long * 64)()
    is_asked = _libc().fstatfs(ctypes.c_int(root), ctypes.byref(kind)) == 0
    if not is_asked or kind[0] != _MAGIC or os.fstat(root).st_ino != _ROOT_INODE:
        os.close(root)
        raise Covered(errno.EXDEV, "this is not the root of a procfs", PROC)
    return root


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
