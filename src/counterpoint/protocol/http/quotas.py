"""What calls of tools cost: a share of a minute, and of a calendar month.

A call is let through if and only if (1) its tool has a call left for this token in this minute, and
there is one left this month (2) for the token, (3) for the project. One that is refused costs nothing.

Minutes are counted in memory. Months are counted in the store: some calls are drawn from it at
a time and spent here, one by one; what is left at the end is given back.
"""

from __future__ import annotations

import threading
from typing import Protocol

from counterpoint.kernel.errors import CounterpointError, QuotaExceeded, RateLimited
from counterpoint.protocol.http.grants import Grant, Limits

PROJECT = "project"
"""The subject of the month that all callers share."""


class QuotaUse(Protocol):
    """Calls that were drawn from a month: how many, how many are used now, when it ends."""

    @property
    def granted(self) -> int:
        """How many calls were drawn."""
        ...

    @property
    def used(self) -> int:
        """How many of the month are used, with these."""
        ...

    @property
    def month(self) -> str:
        """The month, such as `2026-11`."""
        ...

    @property
    def resets_at(self) -> str:
        """The first moment of the next month."""
        ...

    @property
    def resets_in(self) -> int:
        """The seconds until then."""
        ...


class QuotaStore(Protocol):
    """Where the calls of months are kept, for every server of a project."""

    @property
    def calls_a_month(self) -> int:
        """How many calls all callers together have in a month; 0 for no limit."""
        ...

    def draw(self, subject: str, most: int) -> QuotaUse:
        """Take some calls of this month, of which there are `most`."""
        ...

    def give_back(self, subject: str, month: str, calls: int) -> None:
        """Put back calls that were drawn from a month and not made."""
        ...


class Spending:
    """The calls that one server may still let through; asked by several threads."""

    def __init__(self, limits: Limits, store: QuotaStore | None) -> None:
        """Begin with nothing drawn. limits: where the minutes of tools are counted."""
        self._limits = limits
        self._store = store
        self._lock = threading.Lock()
        self._left: dict[str, tuple[str, int]] = {}

    def is_counted(self, grant: Grant) -> bool:
        """Whether calls of a grant are counted by months, so that the store may be asked."""
        return self._store is not None and bool(grant.calls_a_month or self._store.calls_a_month)

    def hurry(self, grant: Grant, tool: str) -> RateLimited | None:
        """Take a call of a tool from this minute; answer the refusal if there is none."""
        most = grant.tool_limits.get(tool, 0)
        wait = self._limits.take_of(f"{grant.id} {tool}", most)
        if not wait:
            return None
        return RateLimited(
            f"this token may call {tool} {most} times a minute", retry_after=wait, limit=most
        )

    def spend(self, grant: Grant) -> CounterpointError | None:
        """Take a call from the months; answer the refusal if there is none. Runs in a worker."""
        store = self._store
        if store is None:
            return None
        refusal = self._spend(store, grant.id, grant.calls_a_month)
        if refusal is None:
            refusal = self._spend(store, PROJECT, store.calls_a_month)
            # The token's call was taken before the project had none: a refusal costs nothing.
            if refusal is not None and grant.calls_a_month:
                self._put(grant.id, "", 1)
        return refusal

    def close(self) -> None:
        """Give back what was drawn and not spent; what cannot be given back is lost."""
        with self._lock:
            unspent, self._left = self._left, {}
        for subject, (month, calls) in unspent.items():
            if self._store is not None and calls:
                self._store.give_back(subject, month, calls)

    def _spend(self, store: QuotaStore, subject: str, most: int) -> QuotaExceeded | None:
        if not most or self._take(subject):
            return None
        # Outside of the lock: the store writes, and nobody else need wait for the disk.
        drawn = store.draw(subject, most)
        if drawn.granted:
            self._put(subject, drawn.month, drawn.granted - 1)
            return None
        whose = "this project" if subject == PROJECT else "this token"
        return QuotaExceeded(
            f"{whose} has made its {most} calls of {drawn.month}",
            used=drawn.used,
            limit=most,
            resets_at=drawn.resets_at,
            retry_after=drawn.resets_in,
        )

    def _take(self, subject: str) -> bool:
        with self._lock:
            month, calls_left = self._left.get(subject, ("", 0))
            self._left[subject] = (month, max(0, calls_left - 1))
            return calls_left > 0

    def _put(self, subject: str, month: str, calls: int) -> None:
        with self._lock:
            stored_month, calls_left = self._left.get(subject, ("", 0))
            self._left[subject] = (month or stored_month, calls_left + calls)
