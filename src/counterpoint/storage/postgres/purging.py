"""Tables written anew, so that no data file has a row that was deleted.

PostgreSQL writes a deleted row over into the new file too as long as any transaction may still see it: of this
database, or a writing one of another. Whether one was is told by VERBOSE alone, in a notice whose words follow the
server's language; its first number is that of the rows (commands/cluster.c, copy_table_data).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import monotonic
from typing import Final

from psycopg import errors

from counterpoint.kernel.errors import StoreBusy
from counterpoint.storage.postgres.dialect import Link

_WITH_OLD_VIEWS: Final = """
SELECT pid, coalesce(backend_xid, backend_xmin)::text FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL AND datname = current_database())
"""
_NUMBER: Final = re.compile(r"\d+")


def rewrite(link: Link, tables: Sequence[str], patience: float) -> None:
    """Write tables anew until none has a deleted row left; each for as long as somebody may see its rows.

    link: one outside of a transaction. patience: seconds to wait for whoever still sees deleted rows.
    Raises StoreBusy when somebody still does then.
    """
    end = monotonic() + patience
    for table in tables:
        while _rows_kept(link, table):
            if not _outwait(link, end):
                raise StoreBusy(
                    "an older transaction, or a replica, may still read what was deleted",
                    hint="The texts are gone from all tables and stay in the data files; repeat the command when it has ended.",
                )


def _rows_kept(link: Link, table: str) -> int:
    """Write a table anew; return how many deleted rows its new file still has."""
    details: list[str] = []

    def take(notice: errors.Diagnostic) -> None:
        details.append(notice.message_detail or "")

    link.add_notice_handler(take)
    try:
        link.execute(f"VACUUM (FULL, VERBOSE) {table}".encode())
    finally:
        link.remove_notice_handler(take)
    counts = [_NUMBER.match(detail) for detail in details]
    return max(int(count[0]) for count in counts if count)


def _outwait(link: Link, end: float) -> bool:
    """Return whether every transaction that is open now has ended in time, up to a moment of the process's clock."""
    open_now = set(link.execute(_WITH_OLD_VIEWS.encode()))
    while open_now and monotonic() < end:
        link.execute("SELECT pg_sleep(0.05)")
        open_now &= set(link.execute(_WITH_OLD_VIEWS.encode()))
    return monotonic() < end
