"""What verbs of handing over share: authors, words on the item, its moves."""

from __future__ import annotations

from typing import Protocol

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import RecordKind
from counterpoint.core.model.work import Item, Label
from counterpoint.core.operations.claims import refuse_own
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import move
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Forbidden


class Authored(Protocol):
    """What somebody handed in."""

    @property
    def session(self) -> str:
        """The session it was handed in from."""
        ...

    @property
    def agent(self) -> str:
        """Who handed it in."""
        ...


def refuse_author(change: Change, item: str, handed: Authored, act: str) -> None:
    """Raise Forbidden if the caller did the work or handed it in, and would `act` on it."""
    actor = change.context.caller.actor
    is_own = bool(actor.session) and handed.session == actor.session
    if is_own or (actor.kind == "agent" and handed.agent == actor.name):
        raise Forbidden(
            f"{actor.name} handed this in and cannot {act} it",
            hint="Ask another session, with another agent's name, or a person.",
        )
    refuse_own(change, item, act)


def note(change: Change, item: str, kind: RecordKind, body: str, **details: Json) -> str:
    """Write a record about an item as a part of a change; answer its id. A blocker is in the way."""
    asked = Note(kind=kind, item=item, body=body, details=details)
    record = Journal(change.context).draft(change, asked, change.open_session(), ())
    change.put(record)
    if kind == "blocker":
        shift(change, change.get(Item, item), 1)
    return record.id


def relabel(change: Change, item: str, *, add: str = "", drop: str = "") -> None:
    """Give an item a label and take another one away; what is so already stays."""
    if drop and (found := change.find(Label, item, drop)) is not None:
        change.drop(found)
    if add and change.find(Label, item, add) is None:
        change.put(Label(project=change.context.project, item=item, name=add))


def bring_to_review(change: Change, item: Item) -> Item:
    """Return an item that is in review; one that nobody holds at this moment goes there too."""
    if item.category == "review":
        return item
    if item.status in item.states.parked:
        item = move(change, item, item.states.first)
    if item.category == "open":
        item = move(change, item, "active")
    return move(change, item, "review")
