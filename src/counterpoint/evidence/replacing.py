"""Puts a file under its name: whole at every moment, on the disk, through no link.

Rules: (1) the draft lies beside the file under a name of its own, so that any number write at once, and is no link of anybody's. (2) Content,
then name, then folder are on the disk before this returns. (3) A draft that does not get there passes away. (4) What is published and not replaced is linked to its
name: a link is made only where there is none, so that of many who write at once one wins.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from counterpoint.kernel.durable import make_folder, sync
from counterpoint.kernel.errors import Unavailable


def replace_file(path: Path, content: bytes, *, mode: int = 0o600, what: str = "") -> None:
    """Put a file in the place of another, durably, in a folder that is made if need be; Unavailable.

    what: how a refusal calls it; empty: by its path.
    """
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        make_folder(path.parent)
        try:
            with os.fdopen(os.open(draft, flags, mode), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()
        sync(path.parent)
    except OSError as fault:
        raise Unavailable(
            f"{what or path} cannot be kept in {path.parent} ({fault.strerror})",
            hint="See that this user may write there and that the disk has room.",
        ) from fault


def publish_file(path: Path, content: bytes, *, mode: int) -> None:
    """Put a whole file under its name, durably, unless there is one already; OSError."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    sync(path.parent)
