"""Asks several at once, and yields each answer as it comes.

Callers may cancel: then whoever waits for a turn is not asked, and whoever is asked learns of it at the next piece.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final, TypeVar

from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.kernel.errors import CounterpointError, Unavailable

T = TypeVar("T")

_LOOK: Final = 0.5
"""Seconds between reports of how many have answered."""


def side_by_side(
    names: Sequence[str],
    ask: Callable[[str, Listen], T],
    most: int,
    watch: Watch | None = None,
) -> Iterator[tuple[str, T | CounterpointError]]:
    """Yield each answer or refusal as it comes; what `watch` raises ends all of it.

    ask: called in a thread of its own, with a function to call with each piece. most: how many at once.
    """
    gone = threading.Event()

    def listen(_piece: str) -> None:
        if gone.is_set():
            raise Unavailable("whoever asked is gone")

    with ThreadPoolExecutor(max_workers=max(1, min(most, len(names)))) as pool:
        waiting: dict[Future[T], str] = {pool.submit(ask, name, listen): name for name in names}
        every = len(waiting)
        try:
            while waiting:
                done, _ = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in done:
                    name = waiting.pop(future)
                    try:
                        yield name, future.result()
                    except CounterpointError as fault:
                        yield name, fault
                if watch is not None:
                    watch(f"{every - len(waiting)} of {every} have answered")
        finally:
            gone.set() if waiting else None
            for future in waiting:
                future.cancel()
