"""Whether a process is a server of a ledger, as the kernel and its own words tell.

Rule 1: whoever holds the lock of the server open is one (protocol/rendezvous.py), also when the file has been
removed: the kernel goes on naming it. Rule 2: so is who was started with the words of one, for this ledger or without
naming any; a process cannot change the words of those above it, so that moving the files away hides nothing.
Rule 3: where the kernel shows neither, as on macOS, it is the process that the server has made known.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

_PROC: Final = Path("/proc")
_GONE: Final = " (deleted)"
_PROGRAM: Final = "counterpoint"
_SERVING: Final = frozenset(("serve", "up"))
_LEDGER: Final = "--db"


def is_server(pid: int, database: str, lock: str) -> bool:
    """Return whether a process is a server of the ledger in a database, which holds a lock while it lives."""
    if sys.platform == "darwin":
        return _known(lock) == pid
    folder = _PROC / str(pid)
    return says_it_serves(_words(folder), database) or _holds(folder, lock)


def says_it_serves(words: list[str], database: str) -> bool:
    """Return whether a process with these words was started to serve a ledger."""
    place = next((n for n, word in enumerate(words) if Path(word).name == _PROGRAM), None)
    if place is None or _SERVING.isdisjoint(words[place + 1 :]):
        return False
    named = [after for word, after in pairwise(words) if word == _LEDGER]
    named += [word.partition("=")[2] for word in words if word.startswith(f"{_LEDGER}=")]
    # From which folder a path that does not begin at the root was meant, nobody knows any more.
    return not any(Path(one).is_absolute() and one != database for one in named)


def _words(folder: Path) -> list[str]:
    try:
        return os.fsdecode((folder / "cmdline").read_bytes()).split("\0")
    except OSError:
        return []


def _holds(folder: Path, lock: str) -> bool:
    names = {os.path.realpath(lock), f"{os.path.realpath(lock)}{_GONE}"}
    # Whoever is of another user, or has ended, shows nothing.
    with suppress(OSError):
        for entry in (folder / "fd").iterdir():
            with suppress(OSError):
                if str(entry.readlink()) in names:
                    return True
    return False


def _known(lock: str) -> int:
    try:
        told: Any = json.loads(Path(lock).with_suffix(".json").read_bytes())
        return int(told["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0
