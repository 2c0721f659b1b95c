"""Which callers may act, judge, and count as independent.

Decide in which role somebody acts: a person, a maintainer, an agent, or nobody.

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

Decide how surely a judge is somebody else, and who may ask for less.
Rule 1: a person is one whom a key attests, and independent of every agent. Rule 2: two principals are attested to be two
only if something attests each of them. Rule 3: everything else is declared: the names differ, no more is known.
Rule 4: where a project asks for `self`, people may judge their own work, and the verdict says so; of everybody else such a
project asks what a project does by default.

Whether a verdict is of what lies there, and of what its author can have read.
Rule 1: a hash or commit that somebody names is one that is there now, whole or in its first letters. Rule 2: an approval that names none is of
what was handed in, and not if that came after its author last looked. Where no look is known nothing is refused.

What an item waits for at its end: submission, review or fixes.
Rule 1: what was sent back is to be mended until it is handed in anew; nothing else of it counts before. Rule 2: what is in
review waits for a verdict while a gate asks for one. Rule 3: a part whose work is all done is to be handed in if a review
or an artifact is asked for; a task is handed in by the end of its claim.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from counterpoint.core.model.access import MAINTAIN, Actor, Independence
from counterpoint.core.model.answers import Step
from counterpoint.core.model.identity import COVERED, Authority, Connection, Contribution, Origin
from counterpoint.core.model.journal import Submission, Verdict
from counterpoint.core.model.work import GateKind, Item
from counterpoint.core.rules.claims import is_declared, name_of
from counterpoint.core.rules.identity import is_below, may_be_left
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, StaleVersion

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


SHORTEST: Final = 7
"""Letters of a hash or a commit that are enough to name it."""


def refuse_unseen(on: Submission, looked: Timestamp | None) -> None:
    """Raise StaleVersion if what stands came after the author of an approval that names nothing last looked."""
    if looked is not None and on.updated_at > looked:
        raise StaleVersion(
            f"{on.item} was handed in anew since you last looked",
            hint=f"{Act.READ_AGAIN}, then repeat the call.",
            submission=on.id,
        )


def refuse_stale(subject: str, current: tuple[str, ...], submission: Submission | None) -> None:
    """Refuse a verdict on something else than what lies there now."""
    if subject and len(subject) < SHORTEST:
        raise InvalidInput(f"{subject!r} is too short to name a hash or a commit")
    marks = [mark for mark in current if mark]
    kind = submission.of if submission is not None else "artifact"
    if kind == "branch" and submission is not None:
        subject = subject or submission.commit
    if subject and not any(mark.startswith(subject.lower()) for mark in marks):
        facts_by_kind: dict[str, dict[str, Json]] = {
            "artifact": {"current": list[Json](marks)},
            "phase": {"actual_hash": current[0]},
            "branch": {"head": current[0]},
        }
        raise StaleVersion(
            f"you reviewed {subject[:12]}, but now there is {' and '.join(m[:12] for m in marks)}",
            hint="Look at it again and pass the hash or commit that is there now.",
            **facts_by_kind[kind],
        )


def step_of(
    item: Item, closed: Collection[GateKind], rejection: Verdict | None, *, is_whole: bool
) -> Step | None:
    """Return what an item waits for; None if for nothing of this.

    closed: the kinds of gates that hold back its end. is_whole: nothing below it is open.
    """
    if item.is_closed:
        return None
    if rejection is not None:
        return "mend"
    if item.category == "review":
        return "review" if "review" in closed else None
    is_asked = "review" in closed or "artifact" in closed
    return "submit" if is_asked and is_whole and not item.is_workable else None


def rejection_of(item: Item, last: Verdict | None, handed: Submission | None) -> Verdict | None:
    """Return the last verdict on an item if it sent it back, and nothing was handed in since.

    handed: the last submission of the item.
    """
    if last is None or last.decision != "reject" or item.category not in {"open", "active"}:
        return None
    is_anew = (
        handed is not None and handed.id != last.submission and handed.created_at >= last.created_at
    )
    return None if is_anew else last
