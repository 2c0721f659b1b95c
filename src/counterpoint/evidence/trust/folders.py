"""Folders of the user's own that hold what must not be shared.

A folder is used if and only if (1) it is a real folder and no link, (2) it belongs to this user, (3) nobody
else can write it. Files in it are opened without following links.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from counterpoint.kernel import places
from counterpoint.kernel.errors import SignerAway

_WRITE_FOR_OTHERS = 0o022


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return where this program keeps state of the user; SignerAway without a home."""
    folder = Path(places.state_folder(environ))
    if not folder.is_absolute():
        raise SignerAway(
            "this account has no home for the state of the signer",
            hint="Set XDG_STATE_HOME to a folder that only this account can write.",
        )
    return folder


def check_private(folder: Path) -> None:
    """Pass if nobody else can put anything into a folder; SignerAway."""
    try:
        found = folder.lstat()
    except OSError as fault:
        raise SignerAway(f"{folder} cannot be read ({fault.strerror})") from fault
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise SignerAway(
            f"{folder} is a link, or belongs to somebody else",
            hint="Move it away, and look who could have put it there.",
        )
    if found.st_mode & _WRITE_FOR_OTHERS:
        raise SignerAway(
            f"others can write {folder}",
            hint=f"Run `chmod 700 {folder}`, and make sure that what is in it is still yours.",
        )


def make_private(folder: Path) -> None:
    """Make a folder for this user alone unless it is there; SignerAway."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise SignerAway(
            f"{folder} cannot be made ({fault.strerror})",
            hint="Set XDG_STATE_HOME to a folder that this user may write.",
        ) from fault
    check_private(folder)


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Let no other process, nor thread, into this block for the folder; SignerAway."""
    try:
        lock = os.open(
            folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    except OSError as fault:
        raise SignerAway(f"{folder} cannot be locked ({fault.strerror})") from fault
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def read_lines(path: Path, *, tail: int = 0) -> list[bytes]:
    """Return the lines of a file that are whole, without their ends; none if there is no file.

    tail: only those in so many bytes at the end.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - tail) if tail else 0
            file.seek(start)
            # What a process left unfinished when it was killed was never given to anybody.
            return file.read().split(b"\n")[1 if start else 0 : -1]
    except FileNotFoundError:
        return []
    except OSError as fault:
        raise SignerAway(f"{path} cannot be read ({fault.strerror})") from fault


def append_line(path: Path, line: bytes) -> None:
    """Append a line durably, after cutting off what was left unfinished; SignerAway.

    The caller holds the lock of the folder.
    """
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "r+b") as file:
            whole = _whole(file.fileno(), file.seek(0, os.SEEK_END))
            file.truncate(whole)
            file.seek(whole)
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as fault:
        raise SignerAway(f"{path} cannot be written ({fault.strerror})") from fault


def _whole(descriptor: int, size: int) -> int:
    """Return how many bytes of a file are whole lines."""
    end = size
    while end:
        start = max(0, end - 4096)
        cut = os.pread(descriptor, end - start, start).rfind(b"\n")
        if cut >= 0:
            return start + cut + 1
        end = start
    return 0
