"""Whether a process is a server of a ledger, from the kernel and its command line.

Rule 1: whoever holds the lock of the server open is one (protocol/rendezvous.py), also when the file has been
removed: the kernel goes on naming it. Rule 2: so is who was started with the words of one, for this ledger or without
naming any; a process cannot change the words of those above it, so that moving the files away hides nothing.
Rule 3: who sees other mounts than that process, or may not look into it, cannot say that it has another ledger: paths mean
something else there (mount_namespaces(7)), and whoever is below in a user namespace of his own is shown no files. There
the words of a server are enough, whatever ledger they name. Rule 4: where the kernel shows neither, as on macOS, it is the
process that the server has made known.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from counterpoint.evidence import procfs

_GONE: Final = " (deleted)"
_PROGRAMS: Final = frozenset({"counterpoint", "cpt"})
"""The names that this program is installed under."""
_SERVING: Final = frozenset(("serve", "up"))
_LEDGER: Final = "--db"


def is_server(pid: int, database: str, lock: str) -> bool:
    """Return whether a process is a server of the ledger in a database, which holds a lock while it lives."""
    if sys.platform == "darwin":
        return _known(lock) == pid
    words = words_of(pid)
    if says_it_serves(words, database) or _holds(pid, lock):
        return True
    return not _SERVING.isdisjoint(said(words)) and sees_other_files(pid)


def says_it_serves(words: list[str], database: str) -> bool:
    """Return whether a process with these words was started to serve a ledger."""
    after = said(words)
    if _SERVING.isdisjoint(after):
        return False
    # From which folder a path that does not begin at the root was meant, nobody knows any more.
    return not any(
        Path(ledger).is_absolute() and ledger != database for ledger in named_ledgers(after)
    )


def words_of(pid: int) -> list[str]:
    """Return the words that a process was started with; none if it is not there. Covered."""
    try:
        return os.fsdecode(procfs.read(f"{pid}/cmdline")).split("\0")
    except procfs.Covered:
        raise
    except OSError:
        return []


def said(words: list[str]) -> list[str]:
    """Return what was said to this program by the words of a process; nothing if those are of another one."""
    position = next((n for n, word in enumerate(words) if is_program(word)), None)
    return [] if position is None else words[position + 1 :]


def is_program(word: str) -> bool:
    """Return whether a word names this program."""
    return word.rpartition("/")[2] in _PROGRAMS


def named_ledgers(words: list[str]) -> list[str]:
    """Return each ledger that words name, the last of which counts."""
    ledgers = [after for word, after in pairwise(words) if word == _LEDGER]
    return ledgers + [word.partition("=")[2] for word in words if word.startswith(f"{_LEDGER}=")]


def _holds(pid: int, lock: str) -> bool:
    path = os.path.realpath(lock)
    names = {path, f"{path}{_GONE}"}
    # Every command looks at all above it, which may have thousands of files open: a path object for each took most of the look.
    # Whoever is of another user, or has ended, shows nothing.
    with suppress(OSError):
        return any(link in names for link in procfs.list_links(f"{pid}/fd"))
    return False


def sees_other_files(pid: int) -> bool:
    """Return whether paths may mean something else to a process than here."""
    try:
        return procfs.read_link(f"{pid}/ns/mnt") != procfs.read_link(f"{os.getpid()}/ns/mnt")
    except PermissionError:
        return True
    except OSError:
        return False


def _known(lock: str) -> int:
    try:
        record: Any = json.loads(Path(lock).with_suffix(".json").read_bytes())
        return int(record["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0
