"""How often Python collects garbage in a process of ours.

Nearly all that a call makes is in use until its answer, and goes by itself then. At Python's own thresholds each large answer is
searched again and again while it grows: half of the time that it takes to write the document of a spec of 20,000 nodes. While a
command loads its modules nothing of them is garbage, and a twentieth of its time went into looking for some.

The allocator of glibc has a pool for each thread that allocates at the same time as another, up to eight for a core, and what one thread
freed in its own no other may take: each of 32 workers keeps what its largest answer once took. One pool is enough in a
server: Python lets one thread at a time run, and SQLite and numpy ask seldom. What is large goes back to the system when it is
freed; glibc would keep it for the next that is as large, once one was.
"""

from __future__ import annotations

import gc
import os
from typing import Final

THRESHOLDS: Final = (50_000, 20, 10)
"""Objects that are made before the young are searched, and how many such searches go before one of the older."""

_ARENAS: Final = -8
"""`M_ARENA_MAX` of malloc.h."""
_MAPPED: Final = -3
"""`M_MMAP_THRESHOLD` of malloc.h: once it is set, glibc does not raise it."""
_LARGE: Final = 2**20
"""Bytes from which on memory is asked of the system, and given back to it."""
_SET_BY_USER: Final = ("MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def settle() -> None:
    """Take what is loaded out of the search, have what is made from now on searched seldom, and threads share memory."""
    share_heap()
    gc.freeze()
    search_seldom()


def search_seldom() -> None:
    """Have what is made from now on searched seldom."""
    gc.set_threshold(*THRESHOLDS)


def share_heap() -> bool:
    """Have all threads share one pool of memory, and large parts go back to the system; return whether that could be said.

    It cannot be said where the C library is not glibc, and is not where whoever starts the process says otherwise.
    """
    if any(os.environ.get(name) for name in _SET_BY_USER):
        return False
    # Only servers need it, and it takes long to load.
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(
        mallopt(option, value) == 1 for option, value in ((_ARENAS, 1), (_MAPPED, _LARGE))
    )
