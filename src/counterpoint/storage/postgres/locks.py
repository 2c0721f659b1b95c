"""Locks of a database on a server, and who holds them.

Rules: (1) only what a role needs rights in our schema for is locked: rows and tables. An advisory lock can be held by every role that may
connect, and would keep all writers out. (2) The line of a project is the lock of its row in `projects`, which is hardly ever changed: those
who wait for a row that stays are let in as they came. The row in `heads` is locked after it, by servers of every version, so that two never
write at once. (3) Who has the tables open is told by the names of connections, of roles that may use the schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import stamp
from counterpoint.kernel.errors import StoreBusy
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.pool import SCHEMA

_COLUMNS: Final = (
    "DISTINCT a.pid, a.usename, a.application_name, coalesce(a.xact_start, a.backend_start)"
)
_USERS: Final = f"""
SELECT {_COLUMNS} FROM pg_stat_activity AS a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.application_name LIKE 'counterpoint %'
  AND has_schema_privilege(a.usesysid, '{SCHEMA}', 'USAGE')
  AND NOT EXISTS (
    SELECT FROM pg_locks AS w
    WHERE w.pid = a.pid AND NOT w.granted AND w.relation = '{SCHEMA}.migrations'::regclass
  )
"""
"""Whoever waits to read which version the tables have does not use them yet."""
_OF_TABLES: Final = f"""
SELECT {_COLUMNS} FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
WHERE l.granted AND l.pid <> pg_backend_pid() AND a.datname = current_database()
  AND l.relation IN (SELECT oid FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace)
  AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
"""
_OF_ROWS: Final = f"""
SELECT {_COLUMNS} FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
WHERE l.granted AND l.pid <> pg_backend_pid() AND l.locktype = 'transactionid' AND l.transactionid IN (
  SELECT xmax FROM projects WHERE project = %(project)s
  UNION ALL SELECT xmax FROM heads WHERE project = %(project)s
)
"""


class Holder(NamedTuple):
    """A session of the server. since: when its transaction began, or it; None for roles that may not see that of others."""

    pid: int
    user: str
    application: str
    since: datetime | None

    def __str__(self) -> str:
        """Return it in words."""
        since = f" since {stamp(self.since.astimezone(UTC))}" if self.since else ""
        name = self.application or "a program without a name"
        return f"{name}, session {self.pid} of the user {self.user}{since}"

    def to_json(self) -> Json:
        """Return it for programs."""
        since = stamp(self.since.astimezone(UTC)) if self.since else ""
        return {
            "pid": self.pid,
            "user": self.user,
            "application": self.application,
            "since": since,
        }


def turn_of(project: str) -> str:
    """Return the statement that waits for a project's turn and has it until the transaction ends.

    A project that is not there yet has no line: its writers meet at the head.
    """
    # Sent together with BEGIN, where nothing can be bound; in hexadecimals no name ends the text.
    name = f"convert_from(decode('{project.encode().hex()}', 'hex'), 'UTF8')"
    return f"SELECT FROM projects WHERE project = {name} FOR UPDATE"


def users_of(link: Link) -> list[Holder]:
    """Return the other programs that have the tables open."""
    # What a transaction has seen of the sessions it would see again.
    link.execute(b"SELECT pg_stat_clear_snapshot()")
    return _holders(link.execute(_USERS.encode()))


def holders_of_tables(link: Link) -> list[Holder]:
    """Return who keeps writers from tables as a whole."""
    return _holders(link.execute(_OF_TABLES.encode()))


def holders_of(link: Link, project: str) -> list[Holder]:
    """Return who keeps writers from a project; empty if they have just ended."""
    # Where a table is locked its rows cannot be looked at.
    return holders_of_tables(link) or _holders(link.execute(_OF_ROWS, {"project": project}))


def busy(what: str, holders: Iterable[Holder], hint: str = "") -> StoreBusy:
    """Return the refusal that names who holds what is waited for, and how it is ended."""
    named = sorted(holders)
    if not named:
        return StoreBusy(what, hint="Repeat the call; whoever held it has just ended.")
    ends = ", ".join(f"`SELECT pg_terminate_backend({holder.pid})`" for holder in named)
    return StoreBusy(
        f"{what}: it is held by {'; '.join(map(str, named))}",
        hint=hint or f"End what that program does and repeat the call, or end its session: {ends}.",
        holders=[holder.to_json() for holder in named],
    )


def _holders(rows: Iterable[tuple[int, str | None, str | None, datetime | None]]) -> list[Holder]:
    return [
        Holder(pid=pid, user=user or "", application=application or "", since=since)
        for pid, user, application, since in rows
    ]
