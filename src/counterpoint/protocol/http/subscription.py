"""One follower of events: from a place on, about some subjects, each once.

Events are read when those before them have been taken, so a slow follower costs no memory. Who wants
only some subjects still passes by the others: its place moves on with the ledger.

A place is behind one event, or behind a whole entry:

    12      behind everything that entry 12 of the ledger gave
    12.3    behind the third event of entry 12
    -1      before everything

Rules: (1) A text is a place if and only if it is `-1`, or an integer from 0 with at most 15 digits,
or such an integer, a dot, and an integer from 1 with at most 6 digits; none begins with a zero that is
not its only digit. (2) Places order as their numbers do, a whole entry after each of its events. (3)
The events of an entry count from 1, those that a reader does not want included, so that a place means
the same to everybody.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Collection
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.protocol.surface import Event, Tell, contained
from counterpoint.protocol.workers import Workers

C = TypeVar("C")

MOST_SUBJECTS: Final = 1000
LONGEST_SUBJECT: Final = 200
A_WHILE: Final = 1.0
"""Seconds that one look waits for something to happen."""
_PAGE: Final = 100
_ALL: Final = 10**6
"""Stands behind every event of an entry."""
_TEXT: Final = re.compile(r"(-1|0|[1-9][0-9]{0,14})(?:\.([1-9][0-9]{0,5}))?")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place between two events."""

    sequence: int
    number: int = _ALL

    @property
    def position(self) -> int:
        """The last entry that is wholly before this place."""
        return self.sequence if self.number == _ALL else self.sequence - 1

    def __str__(self) -> str:
        """Write it as a reader gives it back."""
        return str(self.sequence) if self.number == _ALL else f"{self.sequence}.{self.number}"


class Subscription(Generic[C]):
    """Where a follower is and what it wants."""

    def __init__(self, tell: Tell[C], call: Callable[[], C], workers: Workers) -> None:
        """Begin nowhere, wanting everything; `call` raises for who may not follow any more."""
        self._tell = tell
        self._call = call
        self._workers = workers
        self._place = Place(-1)
        self._offered: Place | None = None
        self.subjects: set[str] | None = None

    @property
    def place(self) -> Place:
        """Behind what has been taken, or passed by."""
        return self._place

    async def move(self, cursor: Place | None) -> None:
        """Go on from a place, None: the end; InvalidInput if the ledger has not come so far."""
        if cursor is not None:
            # The entry itself must be there, also when some of its events are still to be sent.
            await self._look(cursor.sequence, 1, 0)
        else:
            position, _ = await self._look(None, 1, 0)
            cursor = Place(position)
        # A copy: whoever follows sees by the object that somebody has moved, even to an equal
        # place.
        self._place, self._offered = replace(cursor), None

    def check(self, more: Collection[str]) -> None:
        """Raise InvalidInput for subjects that cannot be added."""
        if any(len(subject) > LONGEST_SUBJECT for subject in more):
            raise InvalidInput(f"an id has at most {LONGEST_SUBJECT} characters")
        if len((self.subjects or set()).union(more)) > MOST_SUBJECTS:
            raise InvalidInput(
                f"there can be {MOST_SUBJECTS} subscriptions at most",
                hint="Unsubscribe from what is over, or subscribe to the root of several.",
            )

    async def follow(self) -> AsyncGenerator[tuple[Place, Event | None]]:
        """Return each event that is wanted with its place, and (place, None) after each look.

        An event counts as taken when the next one is asked for. After a `move` meanwhile it goes on
        from there. Raises what ended it: a fault that does not pass by itself.
        """
        while True:
            began = self._place
            try:
                position, entries = await self._look(began.position, _PAGE, A_WHILE)
            except CounterpointError as fault:
                if not fault.retryable:
                    raise
                await asyncio.sleep(A_WHILE)
                continue
            for cursor, event in _placed(entries):
                # The very same one: to move to a place that is equal is a move too.
                if self._place is not began:
                    break
                if cursor > began and self._concerns(event):
                    self._offered = cursor
                    yield cursor, event
                    if self._place is began:
                        self._place = began = cursor
            if self._place is began:
                self._place = began = max(began, Place(position))
            yield self._place, None

    def wants(self, cursor: Place, event: Event) -> bool:
        """Whether an event that was just answered is still wanted: nothing was changed since."""
        return self._offered is cursor and self._concerns(event)

    def _concerns(self, event: Event) -> bool:
        return self.subjects is None or not self.subjects.isdisjoint(event.subjects)

    async def _look(
        self, position: int | None, limit: int, seconds: float
    ) -> tuple[int, list[Event]]:
        def look() -> tuple[int, list[Event]]:
            with contained("a surface's events"):
                return self._tell(self._call(), position, limit, seconds)

        return await self._workers.run(look)


def load_place(text: str) -> Place:
    """Return the place that a text names; InvalidInput if it names none."""
    match = _TEXT.fullmatch(text)
    if match is None or (match[1] == "-1" and match[2]):
        raise InvalidInput(
            "the place to go on from is none",
            hint="Give the id of the last event you have, such as 12.1, or -1 for everything.",
        )
    return Place(int(match[1]), int(match[2]) if match[2] else _ALL)


def _placed(events: list[Event]) -> list[tuple[Place, Event]]:
    """Return events with their places; those of one entry stand together."""
    placed: list[tuple[Place, Event]] = []
    number = 0
    for event in events:
        number = number + 1 if placed and placed[-1][0].sequence == event.sequence else 1
        placed.append((Place(event.sequence, number), event))
    return placed
