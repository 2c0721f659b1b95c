"""Decide how surely a judge is somebody else, and who may ask for less.

Rule 1: a person is one whom a key attests, and independent of every agent. Rule 2: two principals are attested to be two
only if something attests each of them. Rule 3: everything else is declared: the names differ, no more is known.
Rule 4: where a project asks for `self`, people may judge their own work, and the verdict says so; of everybody else such a
project asks what a project does by default.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from counterpoint.core.model.access import Actor, Independence
from counterpoint.core.model.identity import Authority, Connection, Contribution
from counterpoint.core.rules.claims import is_declared, name_of
from counterpoint.core.rules.trust.callers import PEOPLE

_ORDER: Final[tuple[Independence, ...]] = ("self", "declared", "attested", "person")


def independence(actor: Actor, contributions: Iterable[Contribution]) -> Independence:
    """Return how surely an actor is none of those who worked on something."""
    if actor.principal is None:
        return "declared"
    if actor.is_signed:
        return "person"
    worked = (
        contribution.principal for contribution in contributions if contribution.how == "worked"
    )
    return "declared" if any(map(is_declared, worked)) else "attested"


def has_same_name(
    actor: Actor, contributions: Iterable[Contribution], others: Iterable[Connection]
) -> bool:
    """Return whether one of those who worked on something called himself what an actor does.

    others: the connections behind the contributions.
    """
    return actor.name in worker_names(contributions, others)


def worker_names(
    contributions: Iterable[Contribution], others: Iterable[Connection]
) -> frozenset[str]:
    """Return what those called themselves who worked on something; empty names are none.

    others: the connections behind the contributions.
    """
    worked = {part.principal for part in contributions if part.how == "worked"}
    agents = (connection.agent for connection in others if connection.id in worked)
    return frozenset(filter(None, (*agents, *map(name_of, worked))))


def asked_of(policy: Independence, role: Authority) -> Independence:
    """Return what a project asks of a judge who acts in a role: to judge one's own work is for people alone."""
    return "attested" if policy == "self" and role not in PEOPLE else policy


def suffices(actual: Independence, policy: Independence) -> bool:
    """Return whether a verdict that is so independent counts where a project asks for this."""
    return _ORDER.index(actual) >= _ORDER.index(policy)


def may_ask_for(asker: Authority, before: Independence, after: Independence) -> bool:
    """Return whether somebody may change what a project asks of reviews.

    Where it asks for a person, only one who signs may ask for less; and nobody else lets people judge their own work.
    """
    if after == "self" or (before == "person" and not suffices(after, before)):
        return asker == "signed"
    return asker in PEOPLE
