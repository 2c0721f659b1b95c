"""What verbs of handing over share: words on the item, its labels, its moves."""

from __future__ import annotations

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import RecordKind
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.core.operations.claims import refuse_held
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.contributions import note_part
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import follow
from counterpoint.core.rules.wording import spoken_of
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotClaimHolder


def note(change: Change, item: str, kind: RecordKind, body: str, **details: Json) -> str:
    """Write a record about an item as a part of a change; answer its id. A blocker is in the way."""
    draft = Note(kind=kind, item=item, body=body, details=details)
    record = Journal(change.context).draft(change, draft, change.open_session(), ())
    change.put(record)
    if kind == "blocker":
        shift(change, change.get(Item, item), 1)
    return record.id


def take_in_hand(change: Change, item: Item) -> None:
    """Let who holds an item hand it over, or was the last to, if it is in review; NotClaimHolder.

    A parked one is held by nobody: its texts are written there all the same, by whoever may work on it.
    """
    claim = change.find(Claim, item.id)
    is_own = claim is not None and claim.session == change.context.caller.actor.session
    if item.status in item.states.parked:
        refuse_held(change, item)
        note_part(change, item.id)
    elif claim is None or not is_own or not (claim.is_held or item.category == "review"):
        raise NotClaimHolder(
            f"{spoken_of(item.id)} is not yours to hand over: it is {item.status}",
            hint=f"{Act.START}.",
            state=item.status,
        )


def bring_to_review(change: Change, item: Item) -> Item:
    """Return an item that is in review; one that nobody holds at this moment goes there too."""
    if item.category == "review":
        return item
    if item.status in item.states.parked:
        item = follow(change, item, item.states.first)
    if item.category == "open":
        item = follow(change, item, "active")
    return follow(change, item, "review")
