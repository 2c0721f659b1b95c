"""Rows that say which connections are open: written by the servers, beside the ledger.

A row is made with the first entry of a connection (`recording/unit.py`), so that whoever only reads costs no write. A store
that nobody can write to now is tried again with the next look.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.sessions import Session
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.kernel.clock import later

_KEPT_SECONDS: Final = 30 * 86_400.0
"""How long a row is kept after the end of its connection."""


class Presences(Verbs):
    """Verbs with which a server tells of its connections."""

    def renew(self, seat: str) -> None:
        """Write that a connection is open which came again with a session that has written before."""
        ports = self._context.ports
        # Not as a look of the caller's, which counts when he judges.
        with ports.store.reading(ports.project) as view:
            is_known = view.exists(Session, id=seat)
        presence = (
            ports.host.unwritten(ports.project, seat, ports.clock.now()) if is_known else None
        )
        if presence is None:
            return
        with ports.store.writing(ports.project) as writing:
            writing.seat(presence)
        ports.host.note_written(ports.project, presence)

    def tend(self) -> None:
        """Write which connections have ended, and that this server lives, if it is time for either."""
        ports, now = self._context.ports, self._context.ports.clock.now()
        departures = ports.host.departures(ports.project)
        beat = ports.host.next_beat(now)
        if not (departures or beat):
            return
        with ports.store.writing(ports.project) as writing:
            for seat in departures:
                writing.unseat(seat, ports.host.server, ports.host.departed_at(seat, now))
            if beat is not None:
                writing.beat(beat)
        for seat in departures:
            if not ports.host.note_departure(ports.project, seat):
                self.renew(seat)

    def forget_old(self) -> None:
        """Forget connections that ended long ago."""
        ports = self._context.ports
        with ports.store.writing(ports.project) as writing:
            writing.forget_presences(later(ports.clock.now(), -_KEPT_SECONDS))
