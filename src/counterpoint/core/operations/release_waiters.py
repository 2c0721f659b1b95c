"""Letting go of those who wait for an issue that is never finished here."""

from __future__ import annotations

from counterpoint.core.model.filters import Note
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import Dependency, Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.links import undepend
from counterpoint.core.rules.identifiers import spoken_of


def open_issues(change: Change, top: Item) -> list[str]:
    """Return the ids of an item and all below it that are issues and not closed."""
    below = change.select(Item, parent=top.id, category=UNCLOSED)
    mine = [top.id] if top.kind == "issue" else []
    return mine + [name for child in below for name in open_issues(change, child)]


def let_go(change: Change, issue: Item, why: str) -> list[str]:
    """Let nothing wait for an issue any more; each that waited hears why. Answer their ids."""
    waiting = change.select(Dependency, needs=issue.id)
    journal = Journal(change.context)
    for edge in waiting:
        undepend(change, change.get(Item, edge.item), issue.id)
        text = f"This does not wait for {spoken_of(issue.id)} any more: {why}"
        note = Note(kind="comment", item=edge.item, body=text, tags=("warning",))
        change.put(journal.draft(change, note, change.open_session(), ()))
    return [edge.item for edge in waiting]
