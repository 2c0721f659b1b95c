"""Where what a surface lists is kept: in the wheel, or in the cache of the user.

What a surface lists follows from the source of the product and from the protocol's packages. A wheel
brings the lists along, with the versions of these packages that they were made with. Where others are
installed, and in a checkout, a command of its own works a list out once for each state of the source,
and it is only read then; that of another package is kept as null, for a name that nobody has nothing. The name of the folder says which
state: the version, and a checksum over the names, sizes and times of the files that the lists come
from, and over the names of these packages. Whatever goes wrong here only costs the relay: the command
line takes the call then and asks its own server.

The relay imports this, so it is the standard library only, and little of that.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import zlib
from contextlib import contextmanager, suppress

from counterpoint import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from typing import Any, Final, TypeGuard

SOURCES: Final = ("dialects", "protocol", os.path.join("core", "model"))
"""The folders that the lists come from."""
PACKAGES: Final = ("mcp-", "mcp_types-")

_TOP: Final = os.path.dirname(os.path.dirname(__file__))


def find_listing(surface: str, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what a surface lists, worked out now if it never was; None if it cannot be known."""
    if not surface.isidentifier():
        return None
    packed = _read(os.path.join(_TOP, "listings", f"{surface}.json"))
    if packed and packed.get("packages") == protocol_packages():
        return packed
    folder = cache_folder(environ)
    if not folder:
        return None
    path = os.path.join(folder, f"{surface}.json")
    # Without posix_spawn there is no relay that would read it.
    if not os.path.exists(path) and hasattr(os, "posix_spawn"):
        _write(path, environ)
    return _read(path)


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            parsed: object = json.load(file)
    except (OSError, ValueError):
        return None
    return parsed if _is_object(parsed) else None


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def cache_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the lists of this very source; empty where a user has no cache."""
    cache = cache_home(environ)
    return cache and os.path.join(cache, f"listings-{__version__}-{_checksum():08x}")


def cache_home(environ: Mapping[str, str]) -> str:
    """Return where this program keeps what it can work out anew; empty where a user has no cache."""
    home = environ.get("HOME")
    cache = environ.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else "")
    return os.path.join(cache, "counterpoint") if os.path.isabs(cache) else ""


def protocol_packages() -> list[str]:
    """Return the protocol's packages that are installed, each with its version."""
    return [
        name
        for folder in sys.path
        if folder.endswith("site-packages") and os.path.isdir(folder)
        for name in sorted(os.listdir(folder))
        if name.startswith(PACKAGES)
    ]


def _checksum() -> int:
    seen = sorted(line for name in SOURCES for line in _files(os.path.join(_TOP, name)))
    return zlib.crc32("\n".join(seen + protocol_packages()).encode())


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path) if entry.name != "__pycache__" else ()
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"


def _write(path: str, environ: Mapping[str, str]) -> None:
    """Have a list written, by a process that may import what it needs, and wait for it.

    One at a time: many agents that begin at once would else keep a machine busy with the same work.
    """
    from counterpoint.kernel.starting.programs import own_command

    with _alone(os.path.dirname(path)):
        if os.path.exists(path):
            return
        nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
        words = own_command("listings", path)
        pid = os.posix_spawn(words[0], words, dict(environ), file_actions=nothing)
        os.waitpid(pid, 0)


@contextmanager
def _alone(folder: str) -> Generator[None]:
    """Hold the lock of a folder of lists; where no file can be locked, nobody waits."""
    lock = -1
    with suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        lock = os.open(
            f"{folder}/lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if lock >= 0:
            os.close(lock)
