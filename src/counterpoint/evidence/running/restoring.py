"""Puts aside what a command has made, and makes links as they were, whatever hinders it.

1. Each path is a matter of its own: what cannot be done for one is told, and the others are tried.
2. A path is looked for from the root of the file system, folder by folder over descriptors, and no link is followed. It had none on its way
   when it was guarded, so a link on its way is put aside instead.
3. A folder on the way that belongs to this account, and denies what is needed, gets the rights of its owner (`u+rwx`).
4. Nothing is ever deleted: who made a login while a command ran is not known, and it may have been the person. What is put aside is `NAME.left-by-a-check`,
   then `NAME.left-by-a-check-2`, and so on; a name that anything has is never taken.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple, TypeVar

from counterpoint.core.model.journal import ASIDE

_Result = TypeVar("_Result")
_MAX_NUMBER: Final = 100
_MAX_ATTEMPTS: Final = 5
"""How often something is put aside that is made again at once."""
_FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_CURES: Final = {
    errno.EBUSY: "something is mounted there: `umount` it, then move it away",
    errno.EROFS: "its file system is read-only: move it away once that can be written",
}
_CURE: Final = "move it away by hand, before a program uses it"
_IMMUTABLE: Final = (
    "it may be immutable (`lsattr -d`): `sudo chattr -i` it and its folder, then move it away"
)
_FOREIGN: Final = "it, or its folder, belongs to another account: have root move it away"


class Restored(NamedTuple):
    """What was put back. paths: what a command had changed. asides: where that is now. leftovers: what stayed, why, and what to do."""

    paths: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()


def restore(links: Iterable[tuple[str, str]], absent: Iterable[str]) -> Restored:
    """Make links as they were, and put aside what was absent; both by paths that had no link on their way."""
    paths, asides, leftovers = list[str](), list[str](), list[str]()
    # First the links: what was absent is absent where they lead.
    tasks = [partial(_restore_link, Path(name), target, asides) for name, target in links]
    tasks += [partial(_clear, Path(name), asides) for name in absent]
    for task in tasks:
        path, count = str(task.args[0]), len(asides)
        try:
            if task():
                paths.append(path)
        except OSError as fault:
            leftovers.append(_describe(path, fault))
        paths += [aside.rpartition(ASIDE)[0] for aside in asides[count:]]
    return Restored(tuple(dict.fromkeys(paths)), tuple(asides), tuple(leftovers))


def _restore_link(path: Path, target: str, asides: list[str]) -> bool:
    """Return whether a link had to be made as it was. OSError."""
    with suppress(OSError), _enter(path) as (folder, entry):
        # Behind a link on the way the same words may lead to another place.
        if entry == path and os.readlink(entry.name, dir_fd=folder) == target:
            return False
    _clear(path, asides)
    with _enter(path) as (folder, entry):
        _with_rights(folder, lambda: os.symlink(target, entry.name, dir_fd=folder))
    return True


def _clear(path: Path, asides: list[str]) -> bool:
    """Put aside whatever has a path, or the link that leads there, and write down where it is. OSError."""
    for _ in range(_MAX_ATTEMPTS):
        try:
            # Hardly ever is anything there, and one look tells.
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            pass
        try:
            with _enter(path) as (folder, entry):
                asides.append(str(entry.with_name(_put_aside(folder, entry.name))))
        except (FileNotFoundError, NotADirectoryError):
            return False
    raise FileExistsError(errno.EEXIST, "it is made again at once")


@contextmanager
def _enter(path: Path) -> Generator[tuple[int, Path]]:
    """Yield the folder of a path, as a descriptor, and the path; or those of the first link on its way. OSError."""
    folder = os.open("/", _FOLDER)
    entry = Path("/")
    try:
        for name in path.parts[1:-1]:
            entry /= name
            status = _with_rights(folder, partial(_look, folder, name))
            if stat.S_ISLNK(status.st_mode):
                break
            inner = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        else:
            entry = path
        yield folder, entry
    finally:
        os.close(folder)


def _look(folder: int, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _with_rights(folder: int, act: Callable[[], _Result]) -> _Result:
    """Return what an act in a folder answers, which is given the rights of its owner if it lacks them. OSError."""
    try:
        return act()
    except PermissionError:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid() or status.st_mode & stat.S_IRWXU == stat.S_IRWXU:
            raise
        mode = stat.S_IMODE(status.st_mode) | stat.S_IRWXU
        # A descriptor that is only a place takes no mode but by its name.
        os.chmod(f"/proc/self/fd/{folder}" if sys.platform == "linux" else folder, mode)  # noqa: PTH101 - a descriptor has no path
        return act()


def _put_aside(folder: int, name: str) -> str:
    """Return the name under which something in a folder is now. OSError."""
    for number in range(1, _MAX_NUMBER):
        aside = f"{name}{ASIDE}" + (f"-{number}" if number > 1 else "")
        with suppress(FileExistsError):
            _with_rights(folder, partial(_move, folder, name, aside))
            return aside
    aside = f"{name}{ASIDE}-{token_hex(8)}"
    _with_rights(folder, partial(_move, folder, name, aside))
    return aside


def _move(folder: int, name: str, aside: str) -> None:
    """Give something a name that nothing has. OSError, FileExistsError if something has it."""
    is_folder = stat.S_ISDIR(_look(folder, name).st_mode)
    try:
        if is_folder:
            os.mkdir(aside, 0o700, dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            os.close(os.open(aside, flags, 0o600, dir_fd=folder))
    except OSError as fault:
        # A full disk can take no name before, and can change one all the same.
        if fault.errno not in _FULL:
            raise
    try:
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            (os.rmdir if is_folder else os.unlink)(aside, dir_fd=folder)
        raise


def _describe(path: str, fault: OSError) -> str:
    """Return what stayed where it was, why, and what to do about it."""
    cure = _CURES.get(fault.errno or 0, _CURE)
    if isinstance(fault, PermissionError):
        cure = _IMMUTABLE if _is_own(path) else _FOREIGN
    return f"{path} ({fault.strerror or fault}): {cure}"


def _is_own(path: str) -> bool:
    """Return whether this account has a path and the folder that it lies in."""
    with suppress(OSError):
        statuses = [location.lstat() for location in (Path(path), Path(path).parent)]
        return all(status.st_uid == os.geteuid() for status in statuses)
    return False
