"""Puts files below a root, whole or not at all, and takes them away.

A file is written under a passing name beside its place, made durable, then given its name, so that
nobody ever reads half of it. The way down from the root is gone folder by folder and follows no link.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from counterpoint.evidence.paths import contain, real_root
from counterpoint.kernel.errors import InvalidInput

_DOWN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def save(root: Path, path: str, content: bytes | None) -> None:
    """Write a file below the root, or take it away for None; PathOutside, InvalidInput."""
    relative = contain(root, path)
    *folders, name = PurePosixPath(relative).parts or (".",)
    try:
        with _folder(real_root(root), folders, make=content is not None) as place:
            if content is None:
                os.unlink(name, dir_fd=place)
            else:
                _replace(place, name, content)
    except FileNotFoundError:
        return
    except OSError as fault:
        raise InvalidInput(
            f"`{path}` cannot be written: {fault.strerror}", hint="Name a plain file."
        ) from fault


@contextmanager
def _folder(top: Path, folders: list[str], *, make: bool) -> Generator[int]:
    """Lend the folder of a file; those on the way are made if asked for."""
    place = os.open(top, _DOWN)
    try:
        for folder in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=place)
            below = os.open(folder, _DOWN, dir_fd=place)
            os.close(place)
            place = below
        yield place
    finally:
        os.close(place)


def _replace(place: int, name: str, content: bytes) -> None:
    passing = f".{os.urandom(8).hex()}.part"
    descriptor = os.open(passing, _FRESH, 0o644, dir_fd=place)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(passing, name, src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        os.unlink(passing, dir_fd=place)
        raise
    os.fsync(place)
