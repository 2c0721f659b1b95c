"""Makes a file, or the names in a folder, durable before what follows.

A file that was synced is found again only if its name is on the disk too, and so for each folder above it.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

_CANNOT: Final = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM}
"""What a system says of a folder that it syncs by itself, or that this user may pass through but not read."""


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
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for one in missing:
        sync_names(one.parent)
