"""Keeps the paths that callers give below a root, and reads and writes there.

A path is accepted if and only if (1) it is not empty, has no NUL and is valid Unicode, (2) no part
is `..` or longer than 255 bytes, nor the whole longer than 4,096, (3) once every symbolic link on
the way is followed, links that lead nowhere included, it lies at or below the root with its own
links followed. The answer is the place it really names, with `/`, relative to the root. It need
not exist yet. Reading goes down from the root folder by folder and follows no link, so that a link
put in the way after the check is not followed either.

A file is written whole or not at all: under a passing name beside its place, made durable, then given
its name, so that nobody ever reads half of it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside

_LONGEST_PART = 255
_LONGEST_PATH = 4096
_CHUNK = 1 << 20
_DOWN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: to open a pipe that nobody writes to would wait for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def contain(root: Path, path: str) -> str:
    """Return the path relative to the root, links followed; PathOutside, InvalidInput, NotFound."""
    _check_text(path)
    top = real_root(root)
    real = Path(_real(top / path))
    if not real.is_relative_to(top):
        raise PathOutside(f"`{path}` leads outside the project")
    return real.relative_to(top).as_posix()


def digest(root: Path, path: str) -> tuple[str, int]:
    """Return SHA-256 and size of a plain file below the root; NotFound, PathOutside."""
    with _opened(root, path) as descriptor:
        return _read(descriptor)


def load(root: Path, path: str, limit: int) -> bytes:
    """Return the content of a plain file below the root; NotFound, PathOutside.

    InvalidInput if it has more than `limit` bytes.
    """
    with _opened(root, path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        # One byte more tells that there is more, without reading all of it.
        content = file.read(limit + 1)
    if len(content) > limit:
        raise InvalidInput(
            f"`{path}` has more than {limit} bytes",
            hint="Make it shorter, or make it several files.",
        )
    return content


@contextmanager
def _opened(root: Path, path: str) -> Generator[int]:
    """Open a plain file below the root for reading; NotFound, PathOutside, InvalidInput."""
    relative = contain(root, path)
    try:
        descriptor = _open_below(real_root(root), relative)
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise NotFound(f"there is no file `{path}`", hint="Check the path.") from fault
    except OSError as fault:
        raise InvalidInput(f"`{path}` cannot be read: {fault.strerror}") from fault
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidInput(f"`{path}` is not a plain file", hint="Name a file.")
        yield descriptor
    finally:
        os.close(descriptor)


def below(root: Path, folder: str, limit: int) -> list[str]:
    """Return the paths of the files, relative to the root, by name; empty without the folder.

    Raises PathOutside, InvalidInput if there are more than the limit.
    """
    top = real_root(root)
    start = top / contain(root, folder)
    paths: list[str] = []
    for parent, folders, files in os.walk(start):
        folders.sort()
        for name in sorted(files):
            file = Path(parent, name)
            # A link may lead out of the root.
            if file.is_file() and not file.is_symlink():
                paths.append(file.relative_to(top).as_posix())
            if len(paths) > limit:
                raise InvalidInput(
                    f"`{folder}` has more than {limit} files", hint="Take out what is no artifact."
                )
    return paths


def save(root: Path, path: str, content: bytes | None) -> None:
    """Write a file below the root, or take it away for None; PathOutside, InvalidInput."""
    relative = contain(root, path)
    *folders, name = PurePosixPath(relative).parts or (".",)
    try:
        with _folder_below(real_root(root), folders, make=content is not None) as folder:
            if content is None:
                os.unlink(name, dir_fd=folder)
            else:
                _replace(folder, name, content)
    except FileNotFoundError:
        return
    except OSError as fault:
        raise InvalidInput(
            f"`{path}` cannot be written: {fault.strerror}", hint="Name a plain file."
        ) from fault


def real_root(root: Path) -> Path:
    """Return the root with its links followed; NotFound unless it is a folder."""
    try:
        top = root.resolve(strict=True)
    except (OSError, RuntimeError) as fault:
        raise NotFound("the root folder does not exist", hint="Check the path.") from fault
    if not top.is_dir():
        raise NotFound("the root is not a folder", hint="Name the folder of the project.")
    return top


def _check_text(path: str) -> None:
    try:
        length = len(path.encode())
    except UnicodeEncodeError as fault:
        raise InvalidInput("the path is not valid Unicode") from fault
    if not path or "\0" in path:
        raise InvalidInput("the path is empty or has a NUL character")
    parts = PurePosixPath(path).parts
    if length > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_PART for part in parts):
        raise InvalidInput("the path, or a name in it, is too long for the file system")
    if ".." in parts:
        raise PathOutside(
            f"`{path}` has a `..` in it", hint="Give the plain path below the project root."
        )


def _real(path: Path) -> str:
    """Follow links strictly while everything exists, loosely where something does not yet."""
    try:
        return os.path.realpath(path, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        return os.path.realpath(path)
    except OSError as fault:
        reason = "its links go in a circle" if fault.errno == errno.ELOOP else fault.strerror
        raise InvalidInput(f"the path cannot be followed: {reason}") from fault


def _read(descriptor: int) -> tuple[str, int]:
    state = hashlib.sha256()
    size = 0
    while chunk := os.read(descriptor, _CHUNK):
        state.update(chunk)
        size += len(chunk)
    return state.hexdigest(), size


def _open_below(top: Path, relative: str) -> int:
    """Open for reading, step by step from the root, refusing every link."""
    *folders, name = PurePosixPath(relative).parts or (".",)
    descriptor = os.open(top, _DOWN)
    try:
        for folder in folders:
            below = os.open(folder, _DOWN, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        return os.open(name, _READ, dir_fd=descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _folder_below(top: Path, folders: list[str], *, make: bool) -> Generator[int]:
    """Lend the folder of a file; those on the way are made if asked for."""
    descriptor = os.open(top, _DOWN)
    try:
        for folder in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=descriptor)
            below = os.open(folder, _DOWN, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _replace(folder: int, name: str, content: bytes) -> None:
    # A name that nobody can guess, so that nobody can lay a link there before us.
    passing = f".{os.urandom(8).hex()}.part"
    descriptor = os.open(passing, _FRESH, 0o644, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(passing, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(passing, dir_fd=folder)
        raise
    # The name is an entry of the folder, and is durable only with it.
    os.fsync(folder)
