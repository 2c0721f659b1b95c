"""Decide who holds an item, who writes under its claim, and who may judge it.

Rule 1: a claim is in force while its lease runs; after that it stays good until somebody else takes the
item over. Rule 2: a write under a claim is proved by the session that made it and by its token. Rule 3:
a lower token, or the token of another's claim, has lost it: somebody took the item over. Where others whom nothing tells from the
caller write in the same session, the token alone proves it, and nothing is said of how another number differs.

Of judging: rule 4: who acts is the principal behind him, and where nothing attests one, the name that he gives.
Rule 5: nobody judges what he worked on, or what has something below it that he worked on; nor what was worked on
in his session. Rule 6: a name proves nothing about a principal: whoever is not attested may be anybody. So he judges
no work of one who is, and who is attested none of his, but for a person with a key. Rule 7: neither does a process
judge that may be one with who worked, since one of them may have left the other (`rules.identity.may_be_one`). Rule 8: a
credential tells its bearer from others, not from the process that he hides: where nothing attests that process, it judges
no work of one of the same boot that is known by its process alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, Literal, NamedTuple

from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.identity import COVERED, Connection, Contribution
from counterpoint.core.model.presence import Departure
from counterpoint.core.model.sessions import Claim
from counterpoint.core.rules.identity import is_below, may_be_one
from counterpoint.kernel.clock import Timestamp

Proof = Literal["proved", "not_held", "lost", "ended", "no_token", "wrong_token"]
"""What comes of asking whether a caller may write under a claim."""


Dependence = Literal["own", "unattested", "orphan"]
"""Why somebody may not judge."""

_DECLARED: Final = "?"


class Past(NamedTuple):
    """Who somebody was before: the principals that he is, started again, and sessions that were another's."""

    principals: Collection[str] = ()
    sessions: Collection[str] = ()


NO_PAST: Final = Past()


def prove(
    claim: Claim | None, session: str, token: int | None, *, is_shared: bool = False
) -> Proof:
    """Return whether a session with a token may write under a claim, or else what is wrong.

    is_shared: whether others write in that session too.
    """
    if claim is None or (claim.session != session and token is None):
        return "not_held"
    if is_shared and claim.session == session and token not in {None, claim.token}:
        return "wrong_token"
    if claim.session != session or (token is not None and token < claim.token):
        return "lost"
    if not claim.is_held:
        return "ended"
    if token is None:
        return "no_token"
    return "proved" if token == claim.token else "wrong_token"


def other_claim(claim: Claim | None, session: str, now: Timestamp) -> Claim | None:
    """Return the claim if another session holds its item at this moment, else None."""
    is_other = claim is not None and claim.is_live(now) and claim.session != session
    return claim if is_other else None


def holder_of(claim: Claim) -> str:
    """Return who holds or held an item: the agent's name, or the session of one without a name."""
    return claim.agent or claim.session


def held_until(claim: Claim, departure: Departure | None = None) -> str:
    """Return in words by whom and until when an item is held; departure: that the holder is gone."""
    words = f"held by {holder_of(claim)} until {claim.leased_until}"
    if departure is None or departure.is_over:
        return words
    free_at = min(departure.free_at, claim.leased_until)
    return f"{words}, who is gone since {departure.since}: others may take it over at {free_at}"


def principal_id_of(actor: Actor) -> str:
    """Return whom an actor's work is put down to: the principal, or `?` and the name without one."""
    return actor.principal.id if actor.principal else f"{_DECLARED}{actor.name}"


def is_declared(principal: str) -> bool:
    """Return whether somebody who has a part in work was known by a name alone."""
    return principal.startswith(_DECLARED)


def name_of(principal: str) -> str:
    """Return the name that somebody who is known by it alone was known by; empty for any other."""
    return principal.removeprefix(_DECLARED) if is_declared(principal) else ""


def dependence(
    actor: Actor,
    contributions: Iterable[Contribution],
    sessions: Collection[str],
    own: Connection | None = None,
    others: Iterable[Connection] = (),
    *,
    past: Past = NO_PAST,
    boot: str = "",
) -> Dependence | None:
    """Return why an actor may not judge what others contributed to; None: he may.

    sessions: those in which it was worked on. own: the connection behind the actor. others: those behind
    the contributions. past: whom he succeeds. boot: that of the machine he calls from; empty if nobody knows.
    """
    # Two credentials tell apart what one process hosts; without one, a host may be any of those he has hosted.
    counted = {"worked"} if _has_credential(actor) else {"worked", "hosted"}
    worked = {
        contribution.principal for contribution in contributions if contribution.how in counted
    }
    selves = {principal_id_of(actor), *past.principals, *([own.id] if own else ())}
    if selves & worked or {actor.session, *past.sessions}.intersection(filter(None, sessions)):
        return "own"
    if not actor.is_signed and _is_unattested(actor.principal, worked):
        return "unattested"
    connections = [connection for connection in others if connection.id in worked]
    if own is None:
        is_hidden = _has_credential(actor) and any(
            boot in {connection.boot, COVERED} for connection in connections
        )
        return "unattested" if is_hidden else None
    # What runs a person's command may have agents below it that are not the person's doing.
    is_above = actor.kind == "agent" and any(
        is_below(connection, own) for connection in connections
    )
    if is_above or any(is_below(own, connection) for connection in connections):
        return "own"
    return "orphan" if any(may_be_one(own, connection) for connection in connections) else None


def _has_credential(actor: Actor) -> bool:
    return actor.principal is not None and actor.principal.strength == "credential"


def _is_unattested(judge: Principal | None, workers: Collection[str]) -> bool:
    """Return whether somebody may be two of those involved: one by a principal, and one by a name."""
    declared = sum(worker.startswith(_DECLARED) for worker in workers)
    return declared < len(workers) if judge is None else declared > 0
