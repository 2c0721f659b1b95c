"""Decide in which role somebody acts: a person, a maintainer, an agent, or nobody.

    program     what the product does of its own accord
    nobody      what a server of the ledger has started, whatever it brings, and whoever signs
    signed      a person whose key signs this act
    maintainer  a credential with the scope `maintain`
    agent       whoever connects; at the command line who is known as an agent, or may be one
    person      whoever else sits at the command line

Rule 1: the first line that holds. Rule 2: what a server starts is done for one of its callers, and the kernel does
not say for which; so it decides nothing, not with the key of a person who has unlocked it for something else. Rule 3: whom nothing attests may be any agent of the same boot, and so may a
process that one of them may have left behind (`rules.identity.may_be_left`). Taking a person for an agent costs one
signature; taking an agent for a person would let it decide. Rule 4: where no agent is known in this boot, nobody can be one of them.
Known is who has written, and who has connected: what an agent has started is that agent before it writes anything too.
Rule 5: who sees namespaces or a `/proc` of his own making is never a person without a key, whoever is known. Rule 6: who has written over HTTP, from this machine, is known as one whose process nobody saw, and so may be anybody of this boot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from counterpoint.core.model.access import MAINTAIN, Actor
from counterpoint.core.model.identity import COVERED, Authority, Connection, Origin
from counterpoint.core.rules.identity import is_below, may_be_left

PEOPLE: Final[AbstractSet[Authority]] = frozenset[Authority](("signed", "program", "person"))
"""Who decides what no agent may."""
ENTITLED: Final[AbstractSet[Authority]] = frozenset[Authority]((*PEOPLE, "maintainer"))
"""Who may loosen what others work on, and have what they hold."""


def authority(
    actor: Actor,
    scopes: Collection[str],
    origin: Origin,
    is_known: Callable[[], bool],
) -> Authority:
    """Return the role in which an actor acts.

    is_known: whether he is known as an agent or may be one; asked of the command line only.
    """
    if actor.kind == "system":
        return "program"
    if origin.doubt == "served":
        return "nobody"
    if actor.is_signed:
        return "signed"
    if MAINTAIN in scopes:
        return "maintainer"
    return "agent" if actor.kind == "agent" or is_known() else "person"


def may_loosen_all(role: Authority, *, has_worked: bool) -> bool:
    """Return whether somebody may take away what a project asks of all work, once any of it has begun."""
    return role in PEOPLE or (role in ENTITLED and not has_worked)


def is_agent(origin: Origin, agents: Iterable[Connection]) -> bool:
    """Return whether a caller is one of the agents that are known, or what one of them has started."""
    own = origin.process
    return own is not None and any(agent.id == own.id or is_below(own, agent) for agent in agents)


def may_be_agent(origin: Origin, agents: Collection[Connection]) -> bool:
    """Return whether a caller may be one of the agents that are known, or what one of them has left.

    agents: the processes of agents that were seen; those of another boot have left nobody.
    """
    if origin.doubt == "covered":
        # What he sees may be his own making, and so that nobody is known.
        return True
    near = [agent for agent in agents if agent.boot in {origin.boot, COVERED}]
    own = origin.process
    if own is None:
        return bool(near)
    return is_agent(origin, near) or any(may_be_left(own, agent) for agent in near)
