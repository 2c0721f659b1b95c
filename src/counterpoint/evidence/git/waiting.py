"""Refuses what git would wait for: a pipe, socket or device where it reads a file.

1. Git opens whatever lies under the names of its own files and of those of a tree that it reads, such as `.gitignore`. From a pipe
   nothing may ever come, and everybody who asks about the tree would wait for it.
2. What it reads in any case is looked at before each call. The folders of a tree, which are many, are looked through only once git has
   not answered for `PATIENCE` seconds; what is found is remembered, and refused before git is started while it lies there.
3. A folder of which git did not answer in time has `AGAIN` seconds for each further call of the next `WHILE`, so that whoever comes next
   does not wait as long.

The null device may lie anywhere: who takes a file from others' sight lays it there, and it ends at once.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Final, TypeVar

from counterpoint.kernel.errors import Unavailable

_T = TypeVar("_T")

PATIENCE = 2.0
"""Seconds after which it is looked for what git may be waiting for."""
AGAIN = 5.0
WHILE = 300.0
_LONGEST: Final = 10.0
"""Seconds that the folders of a tree are looked through at most."""
_OF_FOLDERS: Final = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
_OWN: Final = ("HEAD", "index", "config.worktree", "commondir", "info/sparse-checkout")
_COMMON: Final = (
    "config",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
)

FOUND: Final[dict[Path, Path]] = {}
"""What git waited for, by the folder that it was asked about."""
LATE: Final[dict[Path, float]] = {}
"""When git did not answer in time, by folder."""
_MOST: Final = 256


def refuse_waiting(folder: Path) -> None:
    """Raise Unavailable if git would wait for something that it reads of a folder in any case, or was found to wait for."""
    for path in _read_first(folder):
        refuse(path)
    if (blocking := FOUND.get(folder)) is not None:
        refuse(blocking)
        FOUND.pop(folder, None)


def refuse_below(folder: Path) -> None:
    """Raise Unavailable if a folder below has what git waits for; remember it."""
    if (path := _find(folder)) is not None:
        _keep(FOUND, folder, path)
        refuse(path)


def refuse(path: Path | str) -> None:
    """Raise Unavailable if a path leads to a pipe, a socket or a device."""
    if what := _waited_for(path):
        raise Unavailable(
            f"{path} is {what} where git reads a file: it would wait for that",
            hint=f"Take {path} away, or put a file in its place; then try again.",
            path=str(path),
        )


def limit(folder: Path, usual: float) -> float:
    """Return how many seconds git has for a call in a folder."""
    late = LATE.get(folder)
    return usual if late is None or monotonic() - late > WHILE else min(usual, AGAIN)


def was_late(folder: Path) -> None:
    """Remember that git did not answer in time."""
    _keep(LATE, folder, monotonic())


def _keep(facts: dict[Path, _T], folder: Path, fact: _T) -> None:
    facts[folder] = fact
    if len(facts) > _MOST:
        facts.pop(next(iter(facts)), None)


def read_plain(path: Path) -> bytes:
    """Return the bytes of a plain file, and wait for no other; OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        return file.read()


def git_folder(mark: Path) -> Path:
    """Return the folder that a `.git` is, or names; the path itself if it is neither."""
    if mark.is_dir():
        return mark
    try:
        content = os.fsdecode(read_plain(mark))
    except OSError:
        return mark
    return mark.parent / content.strip().removeprefix("gitdir: ")


def _read_first(folder: Path) -> Iterator[str]:
    # As texts: it is asked before each call of git, and most of the time would go into making paths.
    current, below = str(folder), ""
    while current != below:
        for name in _OF_FOLDERS:
            yield f"{current}/{name}"
        mark = f"{current}/.git"
        if os.path.lexists(mark):
            yield mark
            yield from _of_repository(mark if os.path.isdir(mark) else str(git_folder(Path(mark))))  # noqa: PTH112 - a path would cost more than the look
            return
        current, below = os.path.dirname(current), current  # noqa: PTH120 - a path would cost more than the look


def _of_repository(own: str) -> Iterator[str]:
    for name in _OWN:
        yield f"{own}/{name}"
    common = own
    if os.path.isfile(f"{own}/commondir"):  # noqa: PTH113 - a path would cost more than the look
        common = str(Path(own, os.fsdecode(read_plain(Path(own, "commondir"))).strip()))
    for name in _COMMON:
        yield f"{common}/{name}"


def _find(folder: Path) -> Path | None:
    until = monotonic() + _LONGEST
    waiting = deque([str(folder)])
    while waiting and monotonic() < until:
        try:
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
                    if entry.name in _OF_FOLDERS:
                        if _waited_for(entry.path):
                            return Path(entry.path)
                    elif entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue
    return None


def _waited_for(path: Path | str) -> str:
    """Return in words what lies at a path if it is none that ends by itself; else nothing."""
    try:
        state = os.stat(path)  # noqa: PTH116 - a path would cost more than the look
    except OSError:
        return ""
    mode = state.st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return ""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    is_null = stat.S_ISCHR(mode) and state.st_rdev == Path(os.devnull).stat().st_rdev
    return "" if is_null else "a device"
