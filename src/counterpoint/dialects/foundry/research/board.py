"""The queue of this process's studies: whose turn is next (start-up).

Rule 1: a turn is one act: a question to a model, a search, some of its pages. Rule 2: callers have turns one after the other, and so have the studies of each; whoever has
ten studies slows his own. Rule 3: nothing of this is kept: what is under way stands in the ledger, and is put here again.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

Key = tuple[str, str]
"""A project and the id of a study."""


@dataclass(slots=True)
class Board:
    """The waiting studies, by caller. is_served: whether a worker of this process takes them."""

    is_served: bool = False
    _waiting: dict[str, deque[Key]] = field(default_factory=dict[str, "deque[Key]"])
    _turns: deque[str] = field(default_factory=deque[str])
    _known: dict[Key, str] = field(default_factory=dict[Key, str])
    _stopped: set[Key] = field(default_factory=set[Key])
    _looks: dict[Key, int] = field(default_factory=dict[Key, int])
    _changed: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def add(self, key: Key, caller: str) -> None:
        """Queue a study, unless it waits already or is at work."""
        with self._changed:
            self._stopped.discard(key)
            if key not in self._known:
                self._known[key] = caller
                self._wait(key, caller)

    def _wait(self, key: Key, caller: str) -> None:
        if caller not in self._waiting:
            self._waiting[caller] = deque()
            self._turns.append(caller)
        self._waiting[caller].append(key)
        self._changed.notify()

    def take(self, seconds: float) -> Key | None:
        """Return the study whose turn it is, waiting for so many seconds; None if there is none."""
        with self._changed:
            if not self._turns:
                self._changed.wait(seconds)
            if not self._turns:
                return None
            caller = self._turns.popleft()
            queue = self._waiting[caller]
            key = queue.popleft()
            if queue:
                self._turns.append(caller)
            else:
                del self._waiting[caller]
            return key

    def put_back(self, key: Key, *, goes_on: bool) -> None:
        """Queue a study again that was taken, or forget it."""
        with self._changed:
            if goes_on and key not in self._stopped:
                self._wait(key, self._known[key])
            else:
                self._known.pop(key, None)
                self._stopped.discard(key)

    def stop(self, key: Key) -> None:
        """Tell the worker of a study to stop."""
        with self._changed:
            if key in self._known:
                self._stopped.add(key)

    def is_stopped(self, key: Key) -> bool:
        """Return whether work on a study has to stop."""
        return key in self._stopped

    def is_busy(self) -> bool:
        """Return whether any study waits or is at work."""
        return bool(self._known)

    def look(self, key: Key) -> int:
        """Count and return how often a study was looked at."""
        with self._changed:
            self._looks[key] = self._looks.get(key, 0) + 1
            return self._looks[key]

    def wake(self) -> None:
        """Wake the workers that wait for a turn."""
        with self._changed:
            self._changed.notify_all()
