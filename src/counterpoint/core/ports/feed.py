"""What the core asks of a database that tells when a ledger has grown.

A feed carries no entries. It only wakes whoever waits, who then reads the entries from the store
after the last sequence it has seen: so nothing is missed, nothing comes twice, and a reader that is
slow costs no memory. Woken too often is allowed, woken too late is not.
"""

from __future__ import annotations

from typing import Protocol


class Feed(Protocol):
    """A database that can be waited for."""

    def wait(self, project: str, after: int, timeout: float) -> bool:
        """Wait until the ledger has an entry with a sequence above `after`; -1 is before the first.

        Answers whether it has: at once if it has already, and also for entries that another process
        appended. False after `timeout` seconds, or when the database was closed meanwhile.
        """
        ...
