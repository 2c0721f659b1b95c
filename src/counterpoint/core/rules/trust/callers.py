"""Decide in which role somebody acts: a person, a maintainer, an agent, or nobody.

    signed      a person whose key signs this act
    program     what the product does of its own accord
    nobody      what a server of the ledger has started, whatever it brings
    maintainer  a credential with the scope `maintain`
    agent       whoever connects; at the command line who is known as an agent, or may be one
    person      whoever else sits at the command line

Rule 1: the first line that holds. Rule 2: what a server starts is done for one of its callers, and the kernel does
not say for which; so it decides nothing. Rule 3: whom nothing attests may be any agent of the same boot, and so may a
process that one of them may have left behind (`rules.identity.may_be_left`). Taking a person for an agent costs one
signature; taking an agent for a person would let it decide. Rule 4: where no agent is known in this boot, nobody can be one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from counterpoint.core.model.access import MAINTAIN, Actor
from counterpoint.core.model.identity import Authority, Connection, Origin
from counterpoint.core.rules.identity import may_be_left

PEOPLE: Final[AbstractSet[Authority]] = frozenset[Authority](("signed", "program", "person"))
"""Who decides what no agent may."""
ENTITLED: Final[AbstractSet[Authority]] = frozenset[Authority]((*PEOPLE, "maintainer"))
"""Who may loosen what others work on, and have what they hold."""


def authority(
    actor: Actor,
    scopes: Collection[str],
    origin: Origin,
    is_agent: Callable[[], bool],
) -> Authority:
    """Return the role in which an actor acts.

    is_agent: whether he is known as an agent or may be one; asked of the command line only.
    """
    if actor.is_signed:
        return "signed"
    if actor.kind == "system":
        return "program"
    if origin.doubt == "served":
        return "nobody"
    if MAINTAIN in scopes:
        return "maintainer"
    return "agent" if actor.kind == "agent" or is_agent() else "person"


def may_be_agent(origin: Origin, known: Iterable[Connection]) -> bool:
    """Return whether a caller may be one of the agents that are known, or what one of them has left.

    known: the processes of agents that were seen in the same boot.
    """
    own = origin.process
    if own is None:
        return any(True for _ in known)
    return any(one.id == own.id or may_be_left(own, one) for one in known)
