"""Makes a file or the names in a folder durable before what follows, or says why not.

A file that was synced is found again only if its name is on the disk too, and so for each folder above it.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from counterpoint.kernel.errors import StoreFull, StoreReadOnly, Unavailable

_CANNOT: Final = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM}
"""What a system says of a folder that it syncs by itself, or that this user may pass through but not read."""
NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What a system says of a disk, a quota or a file that takes no more."""
_READ_ONLY: Final = "It lies on a file system that is mounted read-only: mount it for writing, or work in a copy of the folder."


def sync(path: Path) -> None:
    """Return when the disk has the content of a file; of a folder, the names in it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(folder: Path) -> None:
    """Return when the disk has the names in a folder, as far as it can be asked for that."""
    try:
        sync(folder)
    except OSError as fault:
        if fault.errno not in _CANNOT:
            raise


def make_folder(folder: Path) -> None:
    """Make a folder for this user alone, and those above it, unless they are there; return when the disk has them."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in missing:
        sync_names(path.parent)


def file_fault(fault: OSError, where: str, hint: str = "") -> Unavailable:
    """Return the product's error for a file or folder that the operating system refuses.

    hint: what to do if it is neither full nor read-only.
    """
    if fault.errno in NO_ROOM:
        return StoreFull(f"{where} cannot be written ({fault.strerror})", path=where)
    if fault.errno == errno.EROFS:
        words = f"{where} cannot be written ({fault.strerror})"
        return StoreReadOnly(words, hint=_READ_ONLY, path=where)
    if isinstance(fault, PermissionError):
        return StoreReadOnly(f"{where} cannot be written ({fault.strerror})", path=where)
    words = f"{where} cannot be used ({fault.strerror})"
    return Unavailable(words, hint=hint, path=where) if hint else Unavailable(words, path=where)
