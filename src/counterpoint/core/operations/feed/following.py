"""Following the ledger from a sequence on: in order, each entry once.

Entries are always read from the store; the feed only says when it is worth while. So whoever follows
needs to remember one number, can go on after any break, and costs nothing while he is slow.
"""

from __future__ import annotations

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.answers import ItemChange
from counterpoint.core.model.work import Kind
from counterpoint.core.operations.feed.concern import concerned
from counterpoint.core.operations.feed.touching import touches
from counterpoint.core.operations.recording.context import Context
from counterpoint.kernel.errors import InvalidInput

BEFORE_ALL = -1
"""The sequence to begin after in order to hear everything."""

MOST_ENTRIES = 1000


class Following:
    """Verbs for following."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def last(self) -> int:
        """Return the sequence of the last entry; -1 if there is none."""
        with self._context.reading() as view:
            return view.head().size - 1

    def entries(self, after: int, limit: int = 100, timeout: float = 0) -> list[Entry]:
        """Return the entries above a sequence in order; wait so many seconds for the first of them.

        Raises InvalidInput for a sequence that this ledger has not reached, and for a limit outside
        of 1 … 1000. The answer is empty when nothing came in time.
        """
        if not 1 <= limit <= MOST_ENTRIES:
            raise InvalidInput(f"limit is {limit}; it must be from 1 to {MOST_ENTRIES}")
        found = self._read(after, limit)
        if found or timeout <= 0:
            return found
        if self._context.unit is not None:
            raise AssertionError("a call that has begun to write cannot wait for others to write")
        ports = self._context.ports
        has_more = ports.store.wait(ports.project, after, timeout)
        return self._read(after, limit) if has_more else []

    def concerned(self, entry: Entry) -> tuple[str, ...]:
        """Return the items that an entry is about, those that hold them included."""
        with self._context.reading() as view:
            return concerned(view, entry)

    def touches(
        self, kind: Kind, after: int, limit: int = 100, timeout: float = 0
    ) -> tuple[int, list[ItemChange]]:
        """Return what the entries above a sequence did to trees with a root of a kind, in order.

        Looks at `limit` entries at most and answers the last one's sequence too: where to go on.
        Waits, and raises, as `entries` does.
        """
        found = self.entries(after, limit, timeout)
        with self._context.reading() as view:
            seen = [touch for entry in found for touch in touches(view, entry, kind)]
        return (found[-1].sequence if found else after), seen

    def _read(self, after: int, limit: int) -> list[Entry]:
        with self._context.reading() as view:
            last = view.head().size - 1
            if not BEFORE_ALL <= after <= last:
                raise InvalidInput(
                    f"this ledger has no entry {after}: its last is {last}",
                    hint=f"Go on after a sequence from {BEFORE_ALL} (everything) to {last}.",
                    last=last,
                )
            start = after + 1
            return [Entry.from_bytes(found) for found in view.entries(start, start + limit)]
