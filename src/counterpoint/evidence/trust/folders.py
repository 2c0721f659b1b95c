"""Folders of the user's own that hold what must not be shared.

A folder is used if and only if (1) it is a real folder and no link, (2) it belongs to this user, (3) nobody
else can write it. Files in it are opened without following links.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from counterpoint.kernel import places
from counterpoint.kernel.durable import make_folder, sync_names
from counterpoint.kernel.errors import SignerAway

_WRITE_FOR_OTHERS = 0o022
_TAIL = 65_536
_OWN_STATE = "Set XDG_STATE_HOME to a folder that only this account can write."


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return where this program keeps state of the user; SignerAway without a home, or in that of another account."""
    folder = Path(places.state_folder(environ))
    if not folder.is_absolute():
        raise SignerAway(
            "this account has no home for the state of the signer",
            hint=_OWN_STATE,
        )
    try:
        folder.lstat()
    except PermissionError as fault:
        raise SignerAway(
            f"{folder}, where this account's state would be, cannot be looked into: HOME is that of another account",
            hint=_OWN_STATE,
        ) from fault
    except OSError:
        pass  # It is made when something is put there.
    return folder


def check_private(folder: Path) -> None:
    """Pass if nobody else can put anything into a folder; SignerAway."""
    try:
        status = folder.lstat()
    except OSError as fault:
        raise SignerAway(f"{folder} cannot be read ({fault.strerror})") from fault
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise SignerAway(
            f"{folder} is a link, or belongs to somebody else",
            hint="Move it away, and look who could have put it there.",
        )
    if status.st_mode & _WRITE_FOR_OTHERS:
        raise SignerAway(
            f"others can write {folder}",
            hint=f"Run `chmod 700 {folder}`, and make sure that what is in it is still yours.",
        )


def make_private(folder: Path) -> None:
    """Make a folder for this user alone unless it is there; SignerAway."""
    try:
        make_folder(folder)
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
            content = file.read()
            # What a process left unfinished when it was killed was never given to anybody.
            return content[: _whole(content)].split(b"\n")[1 if start else 0 : -1]
    except FileNotFoundError:
        return []
    except OSError as fault:
        raise SignerAway(f"{path} cannot be read ({fault.strerror})") from fault


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines durably, after cutting off what was left unfinished; SignerAway.

    The caller holds the lock of the folder.
    """
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            whole = _whole_size(file.fileno(), size)
            if whole < size:
                # Before anything stands there: a cut of power must not leave the one among the other.
                file.truncate(whole)
                os.fsync(file.fileno())
            file.seek(whole)
            file.write(b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        if not whole:
            # The name of the file may be as fresh as its first line.
            sync_names(path.parent)
    except OSError as fault:
        raise SignerAway(f"{path} cannot be written ({fault.strerror})") from fault


def _whole_size(descriptor: int, size: int) -> int:
    """Return how many bytes of a file are whole lines."""
    for start in (max(0, size - _TAIL), 0):
        if whole := _whole(os.pread(descriptor, size - start, start)):
            return start + whole
    return 0


def _whole(content: bytes) -> int:
    """Return how many bytes at the beginning are whole lines; in none are zeros, which a cut of power leaves for what it took."""
    return content.partition(b"\0")[0].rfind(b"\n") + 1
