"""Who may go on with work of another, and move it.

Decides what each word that moves an item requires of its caller, as one table.
Rule 1: the table is about categories, so that every table of states is held to it. Rule 2: what is not in it asks
nothing: to give back, to reopen and to send back release nothing that waits.

    gates   those that hold the end are met, nothing blocks it; where work is left out they are loosened
    drop    the gates of a part of a whole in which work has begun are loosened: that work stays, and nobody would judge it
    judge   it is no work of one's own, unless somebody has judged it
    take    one did not loosen it
    part    it is a part in the work

Decide who may have a session or a claim that belongs to somebody else.

    person        a person may have any (`rules.trust.callers`)
    maintainer    so may a credential with the scope `maintain`
    capability    the same secret: who was started again, or connects anew
    principal     the same credential or process of an agent, once the connection that had it has ended; whoever
                  names the session need not show that, only it must not be connected right
                  now, nor over HTTP have called within the time of grace
    handed_over   a session that its holder has paused is for whoever names it first
    gone          the holder's connection ended, and the time of grace after that is over
    lapsed        every lease has run out

Rule 1: the first line that holds is the reason; without one it stays where it is. Rule 2: two that live are
never taken for one, for a line that asks for no time asks whether the holder is still there. Rule 3: where nobody
can tell whether he is there, as on another machine, the lease decides, and it always ends. Rule 4: names are
not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from counterpoint.core.model.access import Actor
from counterpoint.core.model.identity import Authority
from counterpoint.core.model.lifecycles import Category, Lifecycle
from counterpoint.core.model.sessions import Session
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.core.rules.trust.callers import PEOPLE
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

Ask = Literal["gates", "drop", "judge", "take", "part"]

ASKS: Final[Mapping[tuple[Category, Category], tuple[Ask, ...]]] = {
    ("open", "active"): ("take", "part"),
    ("open", "review"): ("take", "part"),
    ("open", "done"): ("gates", "take", "part"),
    ("open", "dropped"): ("drop",),
    ("active", "active"): ("part",),
    ("active", "review"): ("part",),
    ("active", "done"): ("gates", "part"),
    ("active", "dropped"): ("drop",),
    ("review", "done"): ("gates", "judge"),
    ("review", "dropped"): ("drop",),
    ("dropped", "done"): ("gates", "part"),
    ("dropped", "dropped"): ("drop",),
}


def asks(states: Lifecycle, origin: str, goal: str) -> tuple[Ask, ...]:
    """Return what a word asks by which something goes from one state to another."""
    requirements = ASKS.get((states.category(origin), states.category(goal)), ())
    # What failed still holds open what it is a part of, until somebody decides.
    if states.is_undecided(goal):
        return ()
    # Who leaves work out does not do it.
    return (
        tuple(ask for ask in requirements if ask != "take")
        if goal in states.skips
        else requirements
    )


Reason = Literal["person", "maintainer", "capability", "principal", "handed_over", "gone", "lapsed"]
"""Why somebody has what was another's."""
OWN: Final[tuple[Reason, ...]] = ("person", "maintainer", "capability", "principal")
"""Why it is his to decide about; for any other reason he may take it up, and not throw it away."""
SAME_WORKER: Final[tuple[Reason, ...]] = ("capability", "principal")
"""Why it is his own work that he goes on with; for any other reason he begins with the tree as he finds it."""


@frozen
class Asker:
    """Who asks for what belongs to somebody else.

    authority: as what it acts. capability: the SHA-256 of the secret that it brings; empty without one.
    is_naming: whether it asks for a session by its name, and not for a claim.
    """

    actor: Actor
    authority: Authority = "agent"
    capability: str = ""
    is_naming: bool = False


@frozen
class Holder:
    """Who has a session now, and what is known of that.

    is_here: whether it is connected to this very server, or has called it just now over HTTP. absence: seconds since its connection ended;
    None: it is there, or nobody can tell. lapses_at: when its last lease ends.
    """

    session: Session
    is_here: bool
    absence: float | None
    lapses_at: Timestamp


def succession(asker: Asker, holder: Holder, now: Timestamp, grace: float) -> Reason | None:
    """Return why somebody may have what belongs to another; None: he may not.

    grace: seconds that others wait after a connection has ended.
    """
    return next((why for why, holds in _TABLE.items() if holds(asker, holder, now, grace)), None)


def _is_same_principal(asker: Asker, holder: Holder, _now: Timestamp, _grace: float) -> bool:
    is_attested = asker.actor.principal is not None
    if not is_attested or principal_id_of(asker.actor) != holder.session.principal:
        return False
    return holder.absence is not None or (asker.is_naming and not holder.is_here)


_Line = Callable[[Asker, Holder, Timestamp, float], bool]

_TABLE: Final[Mapping[Reason, _Line]] = {
    "person": lambda asker, _holder, _now, _grace: asker.authority in PEOPLE,
    "maintainer": lambda asker, _holder, _now, _grace: asker.authority == "maintainer",
    "capability": lambda asker, holder, _now, _grace: bool(
        asker.capability and asker.capability == holder.session.capability
    ),
    "principal": _is_same_principal,
    "handed_over": lambda asker, holder, _now, _grace: (
        asker.is_naming and holder.session.status == "paused"
    ),
    "gone": lambda _asker, holder, _now, grace: (
        holder.absence is not None and holder.absence >= grace
    ),
    "lapsed": lambda _asker, holder, now, _grace: now >= holder.lapses_at,
}
