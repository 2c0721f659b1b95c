"""Who has a part in which work, and so does not judge it.

A part is written down where work is taken up, handed in or moved on. It is one in everything above the item, so
that one look at an item tells who may judge it.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.identity import Connection, Contribution
from counterpoint.core.model.journal import Outcome, Submission
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.rules.claims import Dependence, dependence, standing
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Forbidden

_WHY: Final[dict[Dependence, str]] = {
    "own": "{name} worked on {item} and cannot {act} it",
    "unattested": "nothing tells {name} from who worked on {item}, so that {name} cannot {act} it",
    "orphan": (
        "{name} may have been started by who worked on {item}, so that {name} cannot {act} it"
    ),
}


def contribute(change: Change, item: str) -> None:
    """Write down that the caller has a part in an item, and so in all above it."""
    principal = standing(change.context.caller.actor)
    while item:
        _take_part(change, item, principal)
        item = change.get(Item, item).parent


def inherit(change: Change, item: str, above: str) -> None:
    """Give everybody with a part in an item the same in what it has been put below."""
    parts = [one for one in change.select(Contribution, item=item) if one.how == "worked"]
    while above:
        for one in parts:
            _take_part(change, above, one.principal)
        above = change.get(Item, above).parent


def refuse_own(change: Change, item: str, act: str, instead: Act = Act.REVIEW) -> None:
    """Raise Forbidden if the caller worked on an item, or it cannot be told, and would `act` on it."""
    caller = change.context.caller
    parts = change.select(Contribution, item=item)
    others = change.select(Connection, id=tuple(one.principal for one in parts)) if parts else []
    marks: list[Claim | Outcome | Submission] = [
        *change.select(Claim, item=item),
        *change.select(Outcome, item=item),
        *change.select(Submission, item=item),
    ]
    sessions = {mark.session for mark in marks}
    why = dependence(caller.actor, parts, sessions, caller.connection, others)
    if why is not None:
        raise Forbidden(
            _WHY[why].format(name=caller.actor.name, item=item, act=act), hint=f"{instead}."
        )


def _take_part(change: Change, item: str, principal: str) -> None:
    known = change.find(Contribution, item, principal)
    if known is None or known.how != "worked":
        project = change.context.project
        change.put(Contribution(project=project, item=item, principal=principal, how="worked"))
