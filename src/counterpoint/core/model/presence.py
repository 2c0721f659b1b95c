"""Connections as their servers know them: rows beside the ledger, of which no entry tells."""

from __future__ import annotations

from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen


@frozen
class ProcessMark:
    """What tells one process of one machine from all others; pid 0: none is known.

    started: as in `Process`. boot, namespace: as in `Peer`.
    """

    uid: int = -1
    pid: int = 0
    started: int = 0
    boot: str = ""
    namespace: str = ""


@frozen
class ServerBeat:
    """A server's last sign of life."""

    name: str
    process: ProcessMark
    beat_at: Timestamp


@frozen
class Presence:
    """A connection that has written, at the server that served it last.

    seat: the session that it came with. origin: a hash of the account, the folder and the client, the same for each start of
    that client there. process: what is at the other end. ended_at: when the server saw it end; empty while it is open.
    """

    seat: str
    origin: str
    process: ProcessMark
    server: ServerBeat
    ended_at: str = ""


@frozen
class Absence:
    """How long a connection has been gone, in seconds, since when, and the origin that it came from."""

    seconds: float
    since: Timestamp
    origin: str = ""


@frozen
class Departure:
    """That the holder of a claim is gone, as one caller sees it.

    since: when its connection ended. free_at: when everybody may take over what it holds. is_over: whether the caller may by now.
    was_own: whether it was the caller's own before. is_predecessor: whether the caller is the same client, started anew in
    the same folder by the same account.
    """

    since: Timestamp
    free_at: Timestamp
    is_over: bool
    was_own: bool = False
    is_predecessor: bool = False
