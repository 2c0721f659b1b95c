"""A breaker before what the core asks: while that fails, callers are refused.

    closed     every call goes through; the fifth fault within 120 s opens it
    open       every call is refused; the first that comes 60 s later is the trial
    half open  it is time for the trial, or it is under way; the others are refused

Rules: (1) Only what was asked counts, by what it raises itself of the kinds unavailable and integrity; a
caller's mistake, a refusal of the core and whatever else a block raises never does. (2) The trial is
one call of one thread, with all calls inside it. If it was served, be it with a refusal of the
core, the breaker is closed and its count cleared; a fault opens it for another 60 s; a trial that
ended without either is given to the next caller. (3) A call that began before the breaker opened
or closed decides nothing any more. (4) Time is monotonic and is looked at by calls: nobody waits.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, Literal, TypeVar

from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    LedgerGone,
    ProgramMissing,
    StoreReplaced,
    Unexpected,
)
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.plurals import counted

MOST_FAULTS: Final = 5
WINDOW: Final = 120.0
REST: Final = 60.0

T = TypeVar("T")

_FOREIGN: Final = (CircuitOpen, LedgerGone, ProgramMissing, StoreReplaced, Unexpected)
"""Refusals of these kinds that say nothing of what was asked, or for good, so that it is not tried again."""


@frozen
class CircuitState:
    """How a breaker stands at a moment.

    failures: faults within the window, or those that opened it. opened, refused: how many times
    since the process began. retry_after: seconds until a trial; 0 unless it is open.
    last: the code of the last fault that counted; empty if there was none.
    """

    state: Literal["closed", "half_open", "open"]
    failures: int
    opened: int
    refused: int
    retry_after: int
    last: str


def rest_reason(circuit: CircuitState) -> tuple[str, int]:
    """Return why what is asked is left alone, and for how many seconds; nothing and 0 if it is not."""
    wait = circuit.retry_after
    return (
        f"it failed {counted(circuit.failures, 'time')} and is left alone for {wait} s"
        if wait
        else ""
    ), wait


class Permit:
    """One call on its way through a breaker; it may be blamed on what is asked."""

    __slots__ = ("depth", "era", "fault", "thread")

    def __init__(self, era: int, thread: int) -> None:
        """Begin a call in an era of the breaker."""
        self.era = era
        self.thread = thread
        self.depth = 1
        self.fault: CounterpointError | None = None

    def blame(self, refusal: CounterpointError) -> None:
        """Note what was raised by what is asked, if it says that this is in trouble."""
        if refusal.kind in {"unavailable", "integrity"} and not isinstance(refusal, _FOREIGN):
            self.fault = refusal


class Breaker:
    """Counts the faults of one thing that is asked, in one process; all threads share it."""

    def __init__(
        self,
        *,
        seconds: Callable[[], float] = time.monotonic,
        most: int = MOST_FAULTS,
        window: float = WINDOW,
        rest_seconds: float = REST,
        what: str = "the database",
    ) -> None:
        """Begin closed.

        seconds: tells a time that never goes back. most: the fault that opens it. window: seconds
        for which a fault counts. rest_seconds: seconds from a fault that opens it to a trial. what: is asked, in words.
        """
        self._what = what
        self._seconds = seconds
        self._most = most
        self._window = window
        self._rest = rest_seconds
        self._lock = threading.Lock()
        # So many open it: which came before these need not be known.
        self._faults: deque[float] = deque(maxlen=most)
        self._until: float | None = None
        """When a trial may begin; None while it is closed."""
        self._trial: Permit | None = None
        self._era = 0
        """Rises whenever it opens or closes."""
        self._opened = 0
        self._refused = 0
        self._last = ""

    @contextmanager
    def passing(self) -> Generator[Permit]:
        """Let the block through to what is asked, or refuse it; CircuitOpen."""
        permit = self._enter()
        answered = False
        try:
            yield permit
            answered = True
        except CounterpointError:
            answered = True
            raise
        finally:
            self._leave(permit, answered=answered)

    def opening(self, make: Callable[[], T]) -> T:
        """Return what a call answers, whose every refusal is that of what is asked; CircuitOpen."""
        with self.passing() as permit:
            try:
                return make()
            except CounterpointError as refusal:
                permit.blame(refusal)
                raise

    def circuit(self) -> CircuitState:
        """Return how it stands."""
        with self._lock:
            now = self._seconds()
            self._forget(now)
            wait = 0 if self._until is None else self._wait(now)
            return CircuitState(
                state="closed" if self._until is None else "open" if wait else "half_open",
                failures=len(self._faults),
                opened=self._opened,
                refused=self._refused,
                retry_after=wait,
                last=self._last,
            )

    def _enter(self) -> Permit:
        thread = threading.get_ident()
        with self._lock:
            if self._until is None:
                return Permit(self._era, thread)
            if self._trial is not None and self._trial.thread == thread:
                self._trial.depth += 1
                return self._trial
            wait = self._wait(self._seconds())
            if not wait and self._trial is None:
                self._trial = Permit(self._era, thread)
                return self._trial
            self._refused += 1
            # While somebody tries, a moment is all that can be said.
            raise CircuitOpen(
                f"{self._what} failed {counted(len(self._faults), 'time')} and is left alone for a while",
                retry_after=wait or 1,
                failures=len(self._faults),
                last_failure=self._last,
            )

    def _leave(self, permit: Permit, *, answered: bool) -> None:
        """Draw the conclusion from a call; answered: whether what is asked or the core gave an answer."""
        with self._lock:
            permit.depth -= 1
            if permit.depth or permit.era != self._era:
                return
            now = self._seconds()
            if permit.fault is not None:
                self._count(permit.fault, now)
            elif permit is self._trial and answered:
                self._close()
            if permit is self._trial:
                self._trial = None

    def _count(self, fault: CounterpointError, now: float) -> None:
        self._last = fault.code
        self._forget(now)
        self._faults.append(now)
        # While it is open the count stays, so that the fault of a trial is one too many.
        if len(self._faults) >= self._most:
            self._until = now + self._rest
            self._trial = None
            self._era += 1
            self._opened += 1

    def _close(self) -> None:
        self._faults.clear()
        self._until = None
        self._era += 1

    def _forget(self, now: float) -> None:
        """Let go of the faults that are too old; those that opened it stay until it is closed."""
        while self._until is None and self._faults and now - self._faults[0] >= self._window:
            self._faults.popleft()

    def _wait(self, now: float) -> int:
        """Return the whole seconds until a trial may begin."""
        return 0 if self._until is None else max(0, math.ceil(self._until - now))
