"""Decide who holds an item, and who may write under its claim.

Rule 1: a claim is in force while its lease runs; after that it stays good until somebody else takes the
item over. Rule 2: a write under a claim is proved by the session that made it and by its token. Rule 3:
a lower token, or the token of another's claim, has lost it: somebody took the item over. Rule 4: work is
one's own if it was done in one's session, or under one's name if one is an agent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from counterpoint.core.model.access import Actor
from counterpoint.core.model.journal import Outcome, Submission
from counterpoint.core.model.sessions import Claim
from counterpoint.kernel.clock import Timestamp

Proof = Literal["proved", "not_held", "lost", "ended", "no_token", "wrong_token"]
"""What comes of asking whether a caller may write under a claim."""

OwnBy = Literal["session", "name"]
"""What shows that somebody did a piece of work."""


def prove(claim: Claim | None, session: str, token: int | None) -> Proof:
    """Return whether a session with a token may write under a claim, or else what is wrong."""
    if claim is None or (claim.session != session and token is None):
        return "not_held"
    if claim.session != session or (token is not None and token < claim.token):
        return "lost"
    if not claim.is_held:
        return "ended"
    if token is None:
        return "no_token"
    return "proved" if token == claim.token else "wrong_token"


def own_by(actor: Actor, marks: Iterable[Claim | Outcome | Submission]) -> OwnBy | None:
    """Return what makes the work that left these marks the caller's own, who must not judge it; None: nothing.

    A principal, once marks name one, is compared here too: one principal may speak as several agents.
    """
    for mark in marks:
        if actor.session and mark.session == actor.session:
            return "session"
        if actor.kind == "agent" and mark.agent == actor.name:
            return "name"
    return None


def other_claim(claim: Claim | None, session: str, now: Timestamp) -> Claim | None:
    """Return the claim if another session holds its item at this moment, else None."""
    is_other = claim is not None and claim.is_live(now) and claim.session != session
    return claim if is_other else None


def holder_of(claim: Claim) -> str:
    """Return who holds or held an item: the agent's name, or the session of one without a name."""
    return claim.agent or claim.session


def held_until(claim: Claim) -> str:
    """Return in words by whom and until when an item is held."""
    return f"held by {holder_of(claim)} until {claim.leased_until}"
