"""Decide whose claims keep a caller out, and which holders are gone.

One rule for lists, offers and claims. A claim keeps others out while its lease runs, unless its holder's connection has ended and the caller succeeds it
(`rules.trust.succession`): at once if it was the caller's own before, after the time of grace for everybody.
Of connections that this process serves its memory tells, of all others their rows (`rules.presence`); a session without a
row is judged by its lease alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Final

from counterpoint.core.model.presence import Absence, Departure, Presence
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.operations.recording.context import Context, Ports
from counterpoint.core.ports.store import Query, Reading
from counterpoint.core.rules.presence import absence_of
from counterpoint.core.rules.trust.succession import OWN, Asker, Holder, Reason, succession
from counterpoint.kernel.clock import Timestamp, later


class Holders:
    """The sessions that hold work, within one look at the store."""

    def __init__(self, view: Reading, context: Context, *, session: str | None = None) -> None:
        """Look for a caller. session: whose claims are none of others; None: that of the caller."""
        self._view, self._context = view, context
        self.caller = context.caller
        self.session = context.caller.actor.session if session is None else session
        self.now = context.ports.clock.now()
        self._departures: dict[str, Departure | None] = {}
        """What is known of sessions already, by their ids."""

    def in_force(self) -> list[Claim]:
        """Return the claims of all other sessions that keep the caller out."""
        return [claim for claim in self._others() if self.other(claim)]

    def inherited(self) -> list[str]:
        """Return the items that the caller's predecessor left and the caller may take over."""
        departed = ((claim.item, self.departure(claim)) for claim in self._others())
        return [
            item
            for item, departure in departed
            if departure and departure.is_over and departure.is_predecessor
        ]

    def _others(self) -> list[Claim]:
        """Return what other sessions hold or held last, whatever their leases."""
        claims = [claim for claim in LIVE_CLAIMS.rows(self._view) if claim.session != self.session]
        self.load(claims)
        return claims

    def other(self, claim: Claim | None) -> Claim | None:
        """Return the claim if another session holds its item at this moment, and nobody may take it over; else None."""
        if claim is None or claim.session == self.session or not claim.is_live(self.now):
            return None
        return None if self._is_free(claim) else claim

    def is_held(self, claim: Claim | None) -> bool:
        """Return whether an item is held at this moment, by the caller or by somebody whom it cannot succeed yet."""
        if claim is None or not claim.is_live(self.now):
            return False
        return claim.session == self.session or not self._is_free(claim)

    def departure(self, claim: Claim | None) -> Departure | None:
        """Return since when the holder of a live claim is gone, and for whom it is free; None: it is there, or nobody can tell."""
        if claim is None or not claim.is_held or claim.session == self.session:
            return None
        self.load([claim])
        return self._departures[claim.session]

    def load(self, claims: Iterable[Claim]) -> None:
        """Read what is known of the holders of some claims, with two statements for all of them."""
        unknown = {
            claim.session
            for claim in claims
            if claim.session not in self._departures and claim.session != self.session
        }
        if not unknown:
            return
        self._departures |= dict.fromkeys(unknown)
        sessions = self._view.select(Session, id=tuple(sorted(unknown)))
        absences = absences_of(
            self._view, self._context.ports, [session.seat for session in sessions]
        )
        for session in sessions:
            absence = absences.get(session.seat)
            if absence is not None:
                self._departures[session.id] = self._judge(session, absence)

    def _is_free(self, claim: Claim) -> bool:
        departure = self.departure(claim)
        return departure is not None and departure.is_over

    def _judge(self, session: Session, absence: Absence) -> Departure:
        caller, grace = self.caller, self._context.ports.grace_seconds
        holder = Holder(session=session, is_here=False, absence=absence.seconds, lapses_at=_NEVER)
        asker = Asker(actor=caller.actor, capability=caller.capability)
        reason: Reason | None = succession(asker, holder, self.now, grace)
        own_origin = self._context.ports.host.origin(caller.own_seat)
        return Departure(
            since=absence.since,
            free_at=later(absence.since, grace),
            is_over=reason is not None,
            was_own=reason in OWN,
            is_predecessor=reason in OWN or bool(own_origin and own_origin == absence.origin),
        )


LIVE_CLAIMS: Final = Query(Claim, {"state": "live"})
"""Asks what anybody holds or held last."""
_NEVER: Final = Timestamp("9999-12-31T23:59:59.999Z")
"""When a lease ends that is not asked about."""


def absences_of(view: Reading, ports: Ports, seats: Collection[str]) -> dict[str, Absence]:
    """Return how long connections have been gone, by the sessions that they came with; of those that are."""
    absences: dict[str, Absence] = {}
    host, grace = ports.host, ports.grace_seconds
    away = [seat for seat in dict.fromkeys(seats) if not host.is_here(seat, grace)]
    if not away:
        return absences
    rows: defaultdict[str, list[Presence]] = defaultdict(list)
    for row in view.presences(away):
        rows[row.seat].append(row)
    now = ports.clock.now()
    for seat in away:
        seconds = host.absence(seat)
        absence = (
            absence_of(rows[seat], now, grace, host.has_ended)
            if seconds is None
            else Absence(
                seconds=seconds, since=host.departed_at(seat, now), origin=host.origin(seat)
            )
        )
        if absence is not None:
            absences[seat] = absence
    return absences
